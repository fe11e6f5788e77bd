"""Rows of the functions that make tensors, and of questions about tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Dtype, OpCase, Raises, Sample, sample

INTEGER, SMALL, HALF, BFLOAT, DOUBLE, BOOL, COMPLEX = (
    Dtype(name) for name in "int64 uint8 float16 bfloat16 float64 bool complex64".split()
)
NO_GRADIENTS = "Only Tensors of floating point and complex dtype can require gradients"


def row(name: str, *samples: Sample, errors: tuple[Raises, ...] = (), **claims: Any) -> OpCase:
    """Return a row without gradients whose calls need no random numbers."""
    claims.setdefault("differentiable", False)
    claims.setdefault("dtypes", ("float32",))
    return OpCase(name, lambda rng: samples, errors=errors, **claims)


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


MATRIX = np.arange(6.0).reshape(2, 3)
COLUMN = np.arange(2.0).reshape(2, 1)

FILLED = [
    row(
        "zeros",
        sample(2, 3),
        sample((2, 3)),
        sample([]),
        sample(size=(2, 0)),
        sample(3, dtype=INTEGER, device="cpu"),
        sample(2, requires_grad=True),
        errors=(
            fails(RuntimeError, "zeros: Dimension size must be non-negative.", 2, -3),
            fails(TypeError, "argument 'size' (position 1) must be tuple of ints, not float", 2.0),
            fails(TypeError, "must be tuple of ints, but found element of type float", (2.0,)),
            fails(TypeError, "failed to unpack the object at pos 2 with error", (2, 3.0)),
            fails(TypeError, "zeros() missing 1 required positional arguments"),
            fails(TypeError, "got multiple values for argument 'size'", 2, size=(2,)),
            fails(TypeError, "argument 'dtype' must be torch.dtype, not str", 2, dtype="int"),
            fails(RuntimeError, NO_GRADIENTS, 2, dtype=INTEGER, requires_grad=True),
            fails(AssertionError, "Torch not compiled with CUDA enabled", 2, device="cuda"),
            fails(RuntimeError, "pin_memory=True requires a CUDA", 2, pin_memory=True),
            fails(TypeError, "argument 'layout' must be torch.layout, not int", 2, layout=3),
        ),
        out=True,
    ),
    row(
        "ones",
        sample(2, 3),
        sample((2, 3), dtype=COMPLEX),
        sample(2, dtype=BOOL),
        sample(()),
        errors=(fails(TypeError, "argument 'size' (position 1) must be tuple of ints", "a"),),
        out=True,
    ),
    row(
        "empty",
        sample(0, 3),
        sample((2, 0), dtype=BFLOAT),
        errors=(
            fails(RuntimeError, "Trying to create tensor with negative dimension -1: [-1]", -1),
            fails(TypeError, 'empty() missing 1 required positional arguments: "size"'),
        ),
    ),
    row(
        "full",
        sample((2, 3), 1.5),
        sample((2,), 1),
        sample((), True),
        sample((1,), 1j),
        sample((2,), -1, dtype=SMALL),
        sample((2,), 1.9, dtype=INTEGER),
        sample((2,), np.array(3)),
        errors=(
            fails(
                RuntimeError, "converted to type uint8_t without overflow", (1,), 300, dtype=SMALL
            ),
            fails(RuntimeError, "to type c10::Half without overflow", (2,), 7e4, dtype=HALF),
            fails(
                TypeError, "argument 'fill_value' (position 2) must be Number, not str", (2,), "a"
            ),
            fails(TypeError, "argument 'size' (position 1) must be tuple of ints, not int", 2, 1),
            fails(RuntimeError, NO_GRADIENTS, (2,), 1, requires_grad=True),
        ),
        out=True,
    ),
    row(
        "empty_strided",
        sample((2, 0), (1, 1)),
        errors=(
            fails(RuntimeError, "dimensionality of sizes (2) must match", (2, 3), (1,)),
            fails(RuntimeError, "Storage size calculation overflowed", (2, 3), (-1, 1)),
        ),
    ),
    row(
        "empty_permuted",
        sample((0, 3), (1, 0)),
        errors=(
            fails(RuntimeError, "Duplicate dim not allowed", (2, 3), (0, 0)),
            fails(RuntimeError, "len(physical_layout) = 1", (2, 3), (0,)),
            fails(TypeError, "argument 'size' (position 1) must be tuple of ints", 2, (0,)),
        ),
    ),
    row(
        "scalar_tensor",
        sample(3),
        sample(3.5, dtype=INTEGER),
        sample(True),
        errors=(fails(RuntimeError, "to type float without overflow", 1j),),
    ),
    row(
        "eye",
        sample(3),
        sample(2, 3),
        sample(3, 2, dtype=INTEGER),
        sample(0),
        errors=(
            fails(RuntimeError, "n must be greater or equal to 0, got -1", -1),
            fails(RuntimeError, "m must be greater or equal to 0, got -1", 2, -1),
            fails(TypeError, "argument 'n' (position 1) must be int, not float", 2.0),
        ),
        out=True,
    ),
]

LIKE_ERRORS = (fails(TypeError, "argument 'input' (position 1) must be Tensor, not list", [1]),)

LIKE = [
    row("zeros_like", sample(MATRIX), sample(MATRIX, dtype=INTEGER), errors=LIKE_ERRORS),
    row("ones_like", sample(MATRIX), sample(np.array(2)), errors=LIKE_ERRORS),
    row("empty_like", sample(np.zeros((0, 2))), errors=LIKE_ERRORS),
    row("full_like", sample(MATRIX, 1.5), sample(np.array([1, 2]), 2.5)),
    row("Tensor.new_zeros", sample(MATRIX, 2, 3), sample(MATRIX, (2,), dtype=INTEGER)),
    row("Tensor.new_ones", sample(MATRIX, 2, 3), sample(np.array([1]), size=(2,))),
    row("Tensor.new_empty", sample(MATRIX, 0, 3)),
    row("Tensor.new_full", sample(MATRIX, (2,), 7), sample(np.array([1]), (2,), 7.5)),
    row("Tensor.new_tensor", sample(MATRIX, [1, 2]), sample(np.array([1]), 2.5)),
    row("Tensor.new_empty_strided", sample(MATRIX, (0, 3), (3, 1))),
    row("Tensor.new", sample(MATRIX, [1, 2]), sample(MATRIX, 0, 2), sample(MATRIX)),
]

DATA = [
    row(
        "tensor",
        sample([[1.0, 2.0], [3.0, 4.0]]),
        sample(3),
        sample(True),
        sample([1, 2.5]),
        sample([1, 2j]),
        sample([]),
        sample([[], []]),
        sample((1, (2))),
        sample([1.7, 2], dtype=INTEGER),
        sample([-1], dtype=SMALL),
        sample([1.0], requires_grad=True),
        errors=(
            fails(ValueError, "expected sequence of length 2 at dim 1 (got 1)", [[1, 2], [3]]),
            fails(TypeError, "not a sequence", [[1, 2], 3]),
            fails(TypeError, "'list' object cannot be interpreted as an integer", [1, [2, 3]]),
            fails(TypeError, "new(): invalid data type 'str'", "abc"),
            fails(ValueError, "too many dimensions 'str'", ["a"]),
            fails(RuntimeError, "Could not infer dtype of NoneType", None),
            fails(RuntimeError, "Could not infer dtype of dict", {}),
            fails(RuntimeError, "to type uint8 without overflow", [300], dtype=SMALL),
            fails(ValueError, "Overflow when unpacking long long", 2**63),
            fails(TypeError, "must be real number, not complex", 1j, dtype=DOUBLE),
            fails(RuntimeError, NO_GRADIENTS, [1, 2], requires_grad=True),
            fails(TypeError, "takes 1 positional argument but 2 were given", [1], INTEGER),
        ),
    ),
    row("as_tensor", sample([1, 2]), sample(MATRIX), sample(MATRIX, dtype=INTEGER)),
    row(
        "asarray",
        sample([1, 2], dtype=DOUBLE, requires_grad=True),
        sample(MATRIX, copy=True),
        sample(bytearray(8)),
        errors=(
            fails(ValueError, "can't alias arbitrary sequence into a tensor.", [1], copy=False),
            fails(ValueError, "can't alias tensor with dtype", MATRIX, copy=False, dtype=INTEGER),
        ),
    ),
    row(
        "frombuffer",
        sample(bytearray(b"abcdefgh"), dtype=INTEGER),
        sample(bytearray(b"abcdefgh"), dtype=SMALL, count=3, offset=2),
        errors=(
            fails(ValueError, "requested buffer length", bytearray(8), dtype=INTEGER, count=3),
            fails(ValueError, "must be a multiple of element size", bytearray(9), dtype=INTEGER),
            fails(ValueError, "does not implement Python buffer protocol", [1], dtype=INTEGER),
            fails(ValueError, "offset (8 bytes)", bytearray(8), dtype=INTEGER, offset=8),
            fails(ValueError, "must not be 0", bytearray(8), dtype=INTEGER, count=0),
        ),
    ),
]

RANGES = [
    row(
        "arange",
        sample(5),
        sample(2, 5.5),
        sample(0, 1, 0.1),
        sample(5, 0, -2),
        sample(start=1, end=4, step=2),
        sample(end=3),
        sample(0.5, 4.5, 1.5, dtype=INTEGER),
        sample(300, dtype=SMALL),
        sample(0, 100, 7, dtype=BFLOAT),
        errors=(
            fails(RuntimeError, "upper bound and lower bound inconsistent with step sign", 5, 0),
            fails(RuntimeError, "step must be nonzero", 0, 5, 0),
            fails(RuntimeError, "unsupported range: 0 -> inf", float("inf")),
            fails(NotImplementedError, "\"arange_cpu\" not implemented for 'Bool'", 2, dtype=BOOL),
            fails(RuntimeError, NO_GRADIENTS, 5, requires_grad=True),
        ),
        out=True,
    ),
    row(
        "linspace",
        sample(0, 1, 5),
        sample(-3, 11, steps=13),
        sample(3, -3, 6, dtype=DOUBLE),
        sample(0, 10, 1),
        sample(0, 10, 0),
        sample(0, 10, 5, dtype=INTEGER),
        sample(1 + 1j, 2 - 1j, 3),
        sample(np.array(0), 1, 3),
        sample(0, 1, 7, dtype=HALF),
        errors=(
            fails(RuntimeError, "number of steps must be non-negative", 0, 1, -1),
            fails(RuntimeError, "only supports 0-dimensional start and end", np.array([0]), 1, 3),
            fails(RuntimeError, "can't be safely cast to passed dtype", 0, 1j, 3, dtype=DOUBLE),
        ),
        out=True,
    ),
    row(
        "logspace",
        sample(0, 2, 3),
        sample(-3, 3, steps=13),
        sample(0, 2, 5, base=2),
        sample(0, 2, 3, dtype=INTEGER),
        out=True,
    ),
    OpCase(
        "vander",
        lambda rng: [
            sample(rng.uniform(0.5, 2.0, 3)),
            sample(rng.uniform(0.5, 2.0, 3), 5, increasing=True),
            sample(rng.uniform(0.5, 2.0, 2), 1),
            sample(np.array([1, 2]), 3),
        ],
        forward_dtypes=("complex64", "float16"),
        differentiable=False,  # PyTorch's backward fails
        errors=(
            fails(RuntimeError, "x must be a one-dimensional tensor.", MATRIX),
            fails(RuntimeError, "N must be non-negative.", np.array([1.0]), -1),
        ),
    ),
]

WINDOW_ERRORS = (
    fails(RuntimeError, "requires non-negative window_length, got window_length=-1", -1),
    fails(RuntimeError, "expects floating point dtypes", 5, dtype=INTEGER),
)
WINDOWS = [
    row(
        name,
        sample(5),
        sample(6, False),
        sample(1),
        sample(0),
        sample(8, periodic=True, dtype=DOUBLE),
        errors=WINDOW_ERRORS,
    )
    for name in (
        "hann_window",
        "hamming_window",
        "bartlett_window",
        "blackman_window",
        "kaiser_window",
    )
]

QUESTIONS = [
    row("is_nonzero", sample(np.array(0.0)), sample(np.array([[2]]))),
    row("is_tensor", sample(MATRIX), sample([1.0])),
    row("is_storage", sample(MATRIX)),
    row("is_floating_point", sample(MATRIX), sample(np.array([1]))),
    row("is_complex", sample(MATRIX), complex=True),
    row("is_signed", sample(MATRIX), sample(np.array([1], np.uint8))),
    row("is_inference", sample(MATRIX)),
    row("is_same_size", sample(MATRIX, MATRIX), sample(MATRIX, COLUMN)),
    row("numel", sample(MATRIX), errors=(fails(TypeError, "must be Tensor, not int", 3),)),
    row("get_device", sample(MATRIX)),
    row(
        "result_type",
        sample(np.array([1], np.int8), 1.5),
        sample(np.array([1], np.int8), np.array(1.0)),
        sample(1, 2),
    ),
    row("promote_types", sample(INTEGER, HALF), sample(SMALL, Dtype("int8"))),
    row("can_cast", sample(DOUBLE, HALF), sample(HALF, INTEGER)),
    row("typename", sample(MATRIX), sample("a"), sample(int)),
    row(
        "Tensor.item",
        sample(np.array([2.5])),
        errors=(
            fails(RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar", MATRIX),
        ),
    ),
    row("Tensor.tolist", sample(np.array([[1, 2], [3, 4]])), sample(np.array(True))),
    row("Tensor.as_subclass", errors=(fails(TypeError, "cls must be a type", MATRIX, 3),)),
]

CASES = [*FILLED, *LIKE, *DATA, *RANGES, *WINDOWS, *QUESTIONS]
