"""Rows of copies, conversions and writes, and of operators with a mask."""

from __future__ import annotations

import numpy as np

from op_case import Dtype, OpCase, Raises, sample
from opcases.shape import KINDS, fails, row

MASK = np.array([[True, False, True], [False, True, True]])


def converts(name: str, target: str) -> OpCase:
    return row(
        f"Tensor.{name}", ((2, 3),), ((),), complex=False, differentiable=target == "float64"
    )


COPIES = [
    row("clone", ((2, 3),), ((),), ((0, 2),), reference=np.copy),
    row("Tensor.contiguous", ((2, 3),), ((),)),
    row("Tensor.is_contiguous", ((2, 3),), differentiable=False),
    OpCase(
        "Tensor.to",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), Dtype("float64")),
            sample(rng.standard_normal((2, 3)), Dtype("complex128")),
            sample(rng.standard_normal((2, 3)), "cpu"),
            sample(rng.standard_normal((2, 3)), "cpu", Dtype("float64"), False, True),
            sample(rng.standard_normal((2, 3)), np.zeros(1, np.float64)),
            sample(rng.standard_normal(3), dtype=Dtype("float64"), copy=True),
            sample(np.arange(3), Dtype("uint8")),
        ],
        errors=(
            Raises(AssertionError, "Torch not compiled with CUDA", sample(np.zeros(2), "cuda")),
            Raises(RuntimeError, "Expected one of cpu, cuda", sample(np.zeros(2), "foo")),
        ),
    ),
    row("Tensor.cpu", ((2, 3),)),
    OpCase(
        "Tensor.cuda",
        lambda rng: [],
        differentiable=False,
        errors=(Raises(AssertionError, "Torch not compiled with CUDA", sample(np.zeros(2))),),
    ),
    OpCase(
        "Tensor.type_as",
        lambda rng: [sample(rng.standard_normal((2, 3)), np.zeros(1))],
    ),
    converts("double", "float64"),
    converts("float", "float32"),
    converts("int", "int32"),
    converts("long", "int64"),
    converts("short", "int16"),
    converts("char", "int8"),
    converts("bool", "bool"),
]

WRITES = [
    OpCase(
        "fill",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), 2.5),
            sample(rng.standard_normal((2, 3)), np.array(1.5)),
            sample(rng.standard_normal(()), 1),
        ],
        inplace="fill_",
        errors=(
            Raises(
                RuntimeError,
                "fill_ only supports 0-dimension value tensor",
                sample(np.zeros(2), np.zeros(2)),
            ),
            Raises(RuntimeError, "without overflow", sample(np.zeros(2), 1j)),
        ),
    ),
    row("fill_", ((2, 3), 2.5), ((), 1), differentiable=False, forward_dtypes=KINDS),
    row("zero_", ((2, 3),), ((),), differentiable=False),
    OpCase(
        "Tensor.copy_",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.standard_normal(3)),
            sample(rng.standard_normal((2, 3)), np.arange(3)),
        ],
        differentiable=False,
        errors=(
            Raises(
                RuntimeError,
                "output with shape [3] doesn't match the broadcast shape [2, 3]",
                sample(np.zeros(3), np.zeros((2, 3))),
            ),
            Raises(RuntimeError, "The size of tensor a (3)", sample(np.zeros(3), np.zeros(4))),
            Raises(TypeError, "must be Tensor, not str", sample(np.zeros(3), "a")),
        ),
    ),
    row("Tensor.resize_", ((2, 3), 3, 2), ((2, 3), (2, 2)), ((6,), 2, 3), differentiable=False),
    OpCase(
        "resize_as_",
        lambda rng: [sample(rng.standard_normal((2, 3)), np.zeros((2, 2), np.int64))],
        differentiable=False,
    ),
    OpCase(
        "Tensor.set_",
        lambda rng: [sample(np.zeros(3), rng.standard_normal((2, 2))), sample(np.zeros(3))],
        differentiable=False,
    ),
    row(
        "Tensor.fill_diagonal_",
        ((3, 3), 2.0),
        ((2, 3), 1),
        ((7, 3), 5, True),
        ((3, 3, 3), 1),
        differentiable=False,
        complex=False,
        errors=(fails(RuntimeError, "dimensions must larger than 1", (3,), 1),),
    ),
]

MASKED = [
    OpCase(
        "masked_fill",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), MASK, 2.5),
            sample(rng.standard_normal((2, 3)), MASK[0], np.array(1.5)),
            sample(rng.standard_normal(3), MASK, 0),
            sample(rng.standard_normal(()), np.array(True), 1.0),
        ],
        complex=True,
        inplace="masked_fill_",
        errors=(
            Raises(
                RuntimeError,
                "masked_fill_ only supports boolean masks, but got mask with dtype long int",
                sample(np.zeros(2), np.array([0, 1]), 1.0),
            ),
            Raises(
                RuntimeError,
                "masked_fill_ only supports a 0-dimensional value tensor",
                sample(np.zeros(2), np.array([True, False]), np.zeros(1)),
            ),
        ),
    ),
    OpCase(
        "masked_select",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), MASK),
            sample(rng.standard_normal((2, 3)), MASK[0]),
            sample(rng.standard_normal(3), MASK),
            sample(rng.standard_normal(()), np.array(True)),
        ],
        complex=True,
        forward_dtypes=KINDS,
        out=True,
        errors=(
            Raises(
                RuntimeError,
                "masked_select: expected BoolTensor for mask",
                sample(np.zeros(2), np.array([0, 1])),
            ),
        ),
    ),
    OpCase(
        "masked_scatter",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), MASK, rng.standard_normal(5)),
            sample(rng.standard_normal((2, 3)), MASK[0], rng.standard_normal((2, 3))),
        ],
        complex=True,
        inplace="masked_scatter_",
        errors=(
            Raises(
                RuntimeError,
                "Number of elements of source < number of ones in mask",
                sample(np.zeros((2, 3)), MASK, np.zeros(2)),
            ),
        ),
    ),
]

CASES = [*COPIES, *WRITES, *MASKED]
