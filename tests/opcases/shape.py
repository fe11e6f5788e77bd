"""Rows of the views: another shape, another order, dimensions of length 1, parts, any strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Dtype, OpCase, Raises, Sample, sample

KINDS = ("float16", "bfloat16", "int64", "bool")


def calls(*given: Any):
    """Return samples: the first entry of each is the shape of a tensor, the rest are arguments."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found = []
        for shape, *rest in given:
            keywords = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            found.append(Sample((rng.standard_normal(shape), *rest), keywords))
        return found

    return samples


def fails(error: type[Exception], text: str, shape: Any, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(np.zeros(shape), *args, **kwargs))


def row(name: str, *given: Any, **claims: Any) -> OpCase:
    claims.setdefault("complex", True)
    claims.setdefault("forward_dtypes", KINDS)
    return OpCase(name, calls(*given), **claims)


OUT_OF_RANGE = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"

ALL_ELEMENTS = [
    row(
        "Tensor.view",
        ((2, 3), 6),
        ((2, 3), (3, -1)),
        ((2, 3), [3, 2]),
        ((), 1, 1),
        ((0, 3), 3, -1),
        ((2, 3), {"size": (6,)}),
        errors=(
            fails(RuntimeError, "shape '[5]' is invalid for input of size 6", (2, 3), 5),
            fails(RuntimeError, "only one dimension can be inferred", (2, 3), -1, -1),
            fails(RuntimeError, "invalid shape dimension -2 at index 0", (2, 3), -2, 3),
            fails(RuntimeError, "cannot reshape tensor of 0 elements", (0,), -1, 0),
            fails(TypeError, "view() received an invalid combination", (2, 3), 2.0),
            fails(TypeError, "failed to unpack the object at pos 2", (2, 3), 2, 3.0),
        ),
    ),
    OpCase(
        "Tensor.view_as",
        lambda rng: [sample(rng.standard_normal((2, 3)), np.zeros((3, 2), np.int64))],
        complex=True,
        errors=(
            Raises(
                RuntimeError,
                "shape '[4]' is invalid",
                sample(np.zeros((2, 3)), np.zeros(4, np.int64)),
            ),
        ),
    ),
    row(
        "reshape",
        ((2, 3), (6,)),
        ((2, 3), (-1, 2)),
        ((), (1, 1)),
        ((2, 0), (0, 5)),
        ((2, 3), (2, 3)),
        reference=lambda array, shape: array.reshape(shape),
        errors=(
            fails(RuntimeError, "shape '[4, 2]' is invalid for input of size 6", (6,), (4, 2)),
        ),
    ),
    OpCase(
        "Tensor.reshape_as",
        lambda rng: [sample(rng.standard_normal((2, 3)), np.zeros((3, 2), np.int64))],
        complex=True,
    ),
    row(
        "flatten",
        ((2, 3, 4),),
        ((2, 3, 4), 1),
        ((2, 3, 4), 0, 1),
        ((),),
        ((3,),),
        ((2, 0, 3), -2),
        errors=(
            fails(RuntimeError, "start_dim cannot come after end_dim", (2, 3), 1, 0),
            fails(IndexError, OUT_OF_RANGE, (2, 3), 2),
        ),
    ),
    row(
        "unflatten",
        ((2, 6), 1, (2, 3)),
        ((2, 6), -1, (-1, 2)),
        ((4,), 0, (2, 2)),
        errors=(
            fails(RuntimeError, "don't multiply up to the size of dim 1 (6)", (2, 6), 1, (4, 2)),
            fails(RuntimeError, "unflatten: sizes must be non-empty", (2, 6), 1, ()),
        ),
    ),
    row("ravel", ((2, 3),), ((),), ((0, 2),)),
    row("detach", ((2, 3),), ((),), differentiable=False),
    row(
        "Tensor.expand",
        ((2, 1), 2, 3),
        ((3,), (2, 3)),
        ((2, 1), -1, 4),
        ((), 2, 3),
        ((1, 3), 0, 3),
        ((2, 3), 1, 2, 3),
        errors=(
            fails(RuntimeError, "The expanded size of the tensor (4) must match", (2, 3), 2, 4),
            fails(RuntimeError, "the number of sizes provided (1) must be greater", (2, 3), 3),
            fails(RuntimeError, "isn't allowed in a leading, non-existing", (3,), -1, 3),
        ),
    ),
    OpCase(
        "Tensor.expand_as",
        lambda rng: [sample(rng.standard_normal((3, 1)), np.zeros((2, 3, 4), np.int64))],
        complex=True,
    ),
    row("broadcast_to", ((3,), (2, 3)), ((), (2,)), reference=np.broadcast_to),
    OpCase(
        "broadcast_tensors",
        lambda rng: [
            sample(rng.standard_normal((2, 1)), rng.standard_normal(3)),
            sample(rng.standard_normal(3), rng.standard_normal(3)),
        ],
        reference=np.broadcast_arrays,
        errors=(
            Raises(RuntimeError, "The size of tensor a (2)", sample(np.zeros(2), np.zeros(3))),
        ),
    ),
    OpCase(
        "broadcast_shapes",
        lambda rng: [sample((2, 1), (3,)), sample(3, (2, 1)), sample()],
        differentiable=False,
        errors=(
            Raises(RuntimeError, "Attempting to broadcast a dimension", sample((2,), (3,))),
            Raises(ValueError, "negative length", sample((2, -1))),
        ),
    ),
]

ORDER = [
    row(
        "transpose",
        ((2, 3, 4), 0, 2),
        ((2, 3), -1, 0),
        ((), 0, 0),
        ((0, 2), 0, 1),
        reference=lambda array, a, b: array.swapaxes(a, b) if array.ndim else array,
        errors=(fails(IndexError, OUT_OF_RANGE, (2, 3), 0, 2),),
    ),
    row("swapaxes", ((2, 3, 4), 0, 1), reference=np.swapaxes),
    row("swapdims", ((2, 3, 4), 0, -1), reference=np.swapaxes),
    row(
        "t",
        ((2, 3),),
        ((3,),),
        ((),),
        reference=np.transpose,
        errors=(fails(RuntimeError, "t() expects a tensor with <= 2 dimensions", (2, 3, 4)),),
    ),
    row(
        "permute",
        ((2, 3, 4), (2, 0, 1)),
        ((2, 3), (-1, 0)),
        ((), ()),
        reference=np.transpose,
        errors=(
            fails(RuntimeError, "duplicate dims are not allowed", (2, 3), (0, 0)),
            fails(RuntimeError, "input.dim() = 2 is not equal to len(dims) = 1", (2, 3), (0,)),
        ),
    ),
    row(
        "movedim",
        ((2, 3, 4), 0, 2),
        ((2, 3, 4), (0, 1), (1, 2)),
        ((), 0, 0),
        reference=lambda array, a, b: np.moveaxis(array, a, b) if array.ndim else array,
        errors=(
            fails(RuntimeError, "movedim: repeated dim in `source`", (2, 3), (0, 0), (0, 1)),
            fails(RuntimeError, "movedim: Invalid source or dest", (2, 3), (0, 1), (0,)),
        ),
    ),
    row("moveaxis", ((2, 3, 4), 0, -1), reference=np.moveaxis),
    row(
        "adjoint",
        ((2, 3),),
        ((2, 3, 4),),
        errors=(fails(RuntimeError, "only supported on matrices or batches", (3,)),),
    ),
    row(
        "unsqueeze",
        ((2, 3), 0),
        ((2, 3), -1),
        ((), 0),
        ((0,), 1),
        reference=np.expand_dims,
        errors=(fails(IndexError, "range of [-3, 2], but got 3", (2, 3), 3),),
    ),
    row(
        "squeeze",
        ((1, 2, 1),),
        ((1, 2, 1), 0),
        ((1, 2, 1), 1),
        ((1, 2, 1), (0, -1)),
        ((),),
        ((), 0),
        errors=(
            fails(IndexError, OUT_OF_RANGE, (1, 2), 2),
            fails(RuntimeError, "dim 0 appears multiple times", (1, 2), (0, 0)),
        ),
    ),
]

PARTS = [
    row(
        "select",
        ((2, 3), 0, 1),
        ((2, 3), -1, -1),
        ((2, 3, 4), 1, 0),
        reference=lambda array, dim, index: np.take(array, index, dim),
        errors=(
            fails(IndexError, "index 5 out of range for tensor of size [2, 3]", (2, 3), 0, 5),
            fails(IndexError, "select() cannot be applied to a 0-dim tensor", (), 0, 0),
        ),
    ),
    row(
        "narrow",
        ((4, 3), 0, 1, 2),
        ((4, 3), 1, -1, 1),
        ((4,), 0, 4, 0),
        errors=(
            fails(RuntimeError, "start (2) + length (2) exceeds dimension size (3)", (3,), 0, 2, 2),
            fails(RuntimeError, "length must be non-negative", (3,), 0, 0, -1),
            fails(IndexError, "start out of range", (3,), 0, 4, 0),
            fails(RuntimeError, "cannot be applied to a 0-dim tensor", (), 0, 0, 1),
        ),
    ),
    row(
        "diagonal",
        ((3, 3),),
        ((2, 3), 1),
        ((3, 2), -1),
        ((2, 3, 4), 0, 0, 2),
        ((2, 3, 4), 1, -1, 0),
        ((2, 3), 5),
        reference=np.diagonal,
        errors=(
            fails(RuntimeError, "diagonal dimensions cannot be identical 1, 1", (2, 3), 0, 1, 1),
        ),
    ),
    row(
        "Tensor.unfold",
        ((5,), 0, 2, 1),
        ((5,), 0, 2, 3),
        ((2, 5), -1, 3, 1),
        ((2, 3, 4), 1, 2, 1),
        ((), 0, 1, 1),
        ((4,), 0, 0, 1),
        errors=(
            fails(RuntimeError, "maximum size for tensor at dimension 0 is 3", (3,), 0, 4, 1),
            fails(RuntimeError, "step is 0 but must be > 0", (3,), 0, 1, 0),
            fails(RuntimeError, "size is -1 but must be >= 0", (3,), 0, -1, 1),
        ),
    ),
    row(
        "as_strided",
        ((6,), (2, 3), (1, 2)),
        ((6,), (2, 2), (2, 1), 1),
        ((2, 3), (3, 3), (1, 1)),
        ((4,), (), (), 2),
        ((4,), (0, 2), (2, 1)),
        errors=(
            fails(RuntimeError, "mismatch in length of strides and shape", (4,), (2, 2), (1,)),
            fails(RuntimeError, "are out of bounds for storage of size", (4,), (5,), (1,)),
            fails(RuntimeError, "Negative strides are not supported", (4,), (2,), (-1,)),
        ),
    ),
    row("as_strided_", ((6,), (2, 3), (1, 2)), differentiable=False),
]

SPLITS = [
    row(
        "split",
        ((5, 2), 2),
        ((2, 5), 3, {"dim": 1}),
        ((5,), [1, 4]),
        ((0, 2), 2),
        errors=(
            fails(
                RuntimeError, "split_with_sizes expects split_sizes to sum exactly", (5,), [1, 1]
            ),
            fails(RuntimeError, "split_size can only be 0 if dimension size is 0", (5,), 0),
            fails(RuntimeError, "split expects at least a 1-dimensional tensor", (), 1),
        ),
    ),
    row("split_with_sizes", ((5, 2), [2, 3]), ((2, 5), (1, 0, 4), 1)),
    row("unsafe_split", ((5, 2), 2)),
    row("unsafe_split_with_sizes", ((5, 2), [2, 3])),
    row(
        "chunk",
        ((5, 2), 2),
        ((2, 5), 4, 1),
        ((0, 2), 3),
        errors=(fails(RuntimeError, "chunk expects `chunks` to be greater than 0", (5,), 0),),
    ),
    row("unsafe_chunk", ((5, 2), 2)),
    row(
        "tensor_split",
        ((5, 2), 3),
        ((5, 2), (1, 3)),
        ((2, 5), 2, 1),
        reference=np.array_split,
        errors=(fails(RuntimeError, "number of sections must be larger than 0", (5,), 0),),
    ),
    row(
        "hsplit",
        ((2, 4), 2),
        ((4,), (1,)),
        reference=np.hsplit,
        errors=(fails(RuntimeError, "is not divisible by the split_size 3", (2, 4), 3),),
    ),
    row("vsplit", ((4, 2), 2), ((4, 2), (1, 2)), reference=np.vsplit),
    row("dsplit", ((2, 2, 4), 2), reference=np.dsplit),
    row(
        "unbind",
        ((3, 2),),
        ((3, 2), 1),
        ((0, 2),),
        reference=lambda array, dim=0: list(np.moveaxis(array, dim, 0)),
        errors=(fails(IndexError, "Dimension specified as 0 but tensor has no dimensions", ()),),
    ),
]

BYTES = [
    OpCase(
        "Tensor.type",
        lambda rng: [sample(rng.standard_normal(3), Dtype("float64")), sample(np.zeros(2))],
        forward_dtypes=("int64",),
    ),
]

CASES = [*ALL_ELEMENTS, *ORDER, *PARTS, *SPLITS, *BYTES]
