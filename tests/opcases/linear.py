"""Rows of the affine maps of layers."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, Sample, sample


def linears(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    weight, bias = normal((4, 3)), normal(4)
    shapes = [(3,), (2, 3), (5, 2, 3), (2, 2, 2, 3), (0, 3), (0, 2, 3)]
    found = [sample(normal(shape), weight) for shape in shapes]
    found += [sample(normal(shape), weight, bias) for shape in shapes]
    found += [
        sample(normal((2, 3)), weight, normal((2, 4))),
        sample(normal((5, 2, 3)), weight, normal((2, 4))),
        sample(normal((5, 2, 3)), weight, bias=normal(1)),
        sample(normal((2, 3)), normal(3)),
    ]
    return found


def np_linear(input, weight, bias=0.0):
    return np.matmul(input, weight.T) + bias


def bilinears(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    weight, bias = normal((2, 4, 5)), normal(2)
    return [
        sample(normal((7, 4)), normal((7, 5)), weight),
        sample(normal((3, 2, 4)), normal((3, 2, 5)), weight, bias),
        sample(normal(4), normal(5), weight, bias=bias),
    ]


def np_bilinear(input1, input2, weight, bias=0.0):
    return np.einsum("...i,oij,...j->...o", input1, weight, input2) + bias


def fails(error, text, *shapes, **kwargs):
    return Raises(error, text, sample(*[np.zeros(shape) for shape in shapes], **kwargs))


CASES = [
    OpCase(
        "nn.functional.linear",
        linears,
        reference=np_linear,
        complex=True,
        forward_dtypes=("float16", "bfloat16"),
        errors=(
            fails(RuntimeError, "(2x3 and 5x4)", (2, 3), (4, 5)),
            fails(RuntimeError, "(14x3 and 5x4)", (7, 2, 3), (4, 5), (4,)),
            fails(RuntimeError, "The expanded size of the tensor (4)", (2, 3), (4, 3), (5,)),
            fails(RuntimeError, "at least 1D, but they are 0D and 2D", (), (4, 5)),
            fails(RuntimeError, "t() expects a tensor with <= 2 dimensions", (2, 3), (4, 5, 3)),
        ),
    ),
    OpCase(
        "nn.functional.bilinear",
        bilinears,
        reference=np_bilinear,
        forward_dtypes=("int64", "bool"),
        errors=(
            fails(RuntimeError, "batch dimensions do not match", (3, 4), (2, 5), (2, 4, 5)),
            fails(RuntimeError, "input2 size does not match", (3, 4), (3, 4), (2, 4, 5)),
            fails(RuntimeError, "bias size does not match", (3, 4), (3, 5), (2, 4, 5), (3,)),
        ),
    ),
]
