"""Rows of softmax and its logarithm, as functions of the package and of `nn.functional`."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Dtype, OpCase, Raises, Sample, sample

DOUBLE, FLOAT = Dtype("float64"), Dtype("float32")
OUT_OF_RANGE = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"


def along_dims(rng: np.random.Generator) -> list[Sample]:
    calls = [
        ((3,), 0),
        ((2, 3), 1),
        ((2, 3), -2),
        ((2, 3, 2), 1),
        ((20, 5), -1),
        ((3, 40), 1),
        ((2, 1100), 1),
        ((), 0),
        ((0, 3), 0),
        ((2, 0), 1),
    ]
    return [sample(rng.standard_normal(shape), dim) for shape, dim in calls]


def with_dtype(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        *along_dims(rng),
        sample(normal((2, 3)), 1, dtype=DOUBLE),
        sample(normal((2, 3)) * 1000, 0),
        sample(np.array([[1.0, -np.inf, 2.0]]), 1),
    ]


def functional(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 3)), 0),
        sample(normal((2, 3)), dim=-1),
        sample(normal((2, 3)), 1, 3, DOUBLE),
    ]


def np_softmax(array: np.ndarray, dim: int, dtype: Any = None) -> np.ndarray:
    if not array.size:
        return array
    powers = np.exp(array - array.max(dim, keepdims=True)) if array.ndim else np.ones(())
    return powers / powers.sum(dim, keepdims=True) if array.ndim else powers


def np_log_softmax(array: np.ndarray, dim: int, dtype: Any = None) -> np.ndarray:
    if not array.size or not array.ndim:
        return array * 0
    shifted = array - array.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def errors(name: str) -> tuple[Raises, ...]:
    last = f"\"{name}_lastdim_kernel_impl\" not implemented for 'Long'"
    return (
        Raises(IndexError, OUT_OF_RANGE, sample(np.zeros((2, 3)), 2)),
        Raises(NotImplementedError, last, sample(np.ones((2, 3), int), 1)),
        Raises(NotImplementedError, f'"{name}_kernel_impl"', sample(np.ones((2, 3), int), 0)),
    )


CASES = [
    OpCase(
        "softmax",
        with_dtype,
        reference=np_softmax,
        forward_dtypes=("float16", "bfloat16"),
        out=True,
        errors=errors("softmax"),
    ),
    OpCase(
        "log_softmax",
        along_dims,
        reference=np_log_softmax,
        forward_dtypes=("float16", "bfloat16"),
        out=True,
        errors=errors("log_softmax"),
    ),
    OpCase("nn.functional.softmax", functional),
    OpCase("nn.functional.log_softmax", functional),
    OpCase("nn.functional.softmin", functional),
]
