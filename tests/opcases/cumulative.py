"""Rows of running sums, products, extrema, and of differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Dtype, OpCase, Raises, Sample, sample

DOUBLE = Dtype("float64")
INTEGERS = ("int64", "uint8", "bool")
OUT_OF_RANGE = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"


def along_dims(rng: np.random.Generator) -> list[Sample]:
    calls = [((3,), 0), ((2, 3), 1), ((2, 3), -2), ((2, 3, 2), 1), ((), 0), ((), -1), ((0, 3), 0)]
    return [sample(rng.standard_normal(shape), dim) for shape, dim in calls]


def with_zeros(rng: np.random.Generator) -> list[Sample]:
    return [
        *along_dims(rng),
        sample(np.array([2.0, 0.0, 3.0, 4.0]), 0),
        sample(np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]), 1),
        sample(np.zeros(3), 0),
    ]


def far_apart(rng: np.random.Generator) -> list[Sample]:
    return [*along_dims(rng), sample(np.array([-1000.0, 3.0, 1000.0, 999.0]), 0)]


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def np_running(ufunc: np.ufunc) -> Any:
    def reference(array: np.ndarray, dim: int) -> np.ndarray:
        return ufunc.accumulate(array, dim) if array.ndim else array

    return reference


def row(name: str, samples: Any, *errors: Raises, **claims: Any) -> OpCase:
    wrong_dim = fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2)
    return OpCase(name, samples, errors=(wrong_dim, *errors), out=True, **claims)


RUNNING = [
    row(
        "cumsum",
        along_dims,
        reference=np_running(np.add),
        complex=True,
        forward_dtypes=("float16", *INTEGERS),
        inplace="cumsum_",
    ),
    OpCase(
        "Tensor.cumsum",
        lambda rng: [sample(rng.standard_normal((2, 3)), dim=0, dtype=DOUBLE)],
        forward_dtypes=INTEGERS,
    ),
    row(
        "cumprod",
        with_zeros,
        reference=np_running(np.multiply),
        complex=True,
        forward_dtypes=("float16", *INTEGERS),
        inplace="cumprod_",
    ),
    row(
        "cummax",
        along_dims,
        fails(NotImplementedError, '"cummax_cpu" not implemented', np.ones(2, np.complex128), 0),
        forward_dtypes=("float16", *INTEGERS),
    ),
    row(
        "cummin",
        along_dims,
        fails(NotImplementedError, '"cummin_cpu" not implemented', np.ones(2, np.complex128), 0),
        forward_dtypes=("float16", *INTEGERS),
    ),
    row(
        "logcumsumexp",
        far_apart,
        fails(
            NotImplementedError,
            "\"logcumsumexp_out_cpu\" not implemented for 'Long'",
            np.ones(2, int),
            0,
        ),
        reference=np_running(np.logaddexp),
        forward_dtypes=("float16",),
    ),
]


def differences(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal(4)),
        sample(normal((2, 4)), 2),
        sample(normal((3, 2)), 1, 0),
        sample(normal((2, 4)), n=9),
        sample(normal((2, 3)), prepend=normal((2, 1)), append=normal((2, 2))),
        sample(normal((2, 3)), 2, 0, append=normal((1, 3))),
        sample(normal(0)),
    ]


DIFFERENCES = OpCase(
    "diff",
    differences,
    complex=True,
    forward_dtypes=("int64", "bool"),
    out=True,
    errors=(
        fails(RuntimeError, "diff expects input to be at least one-dimensional", zeros()),
        fails(RuntimeError, "order must be non-negative but got -1", zeros(2), -1),
        fails(RuntimeError, "to be the same dimension as input", zeros(2), prepend=zeros(1, 2)),
        fails(RuntimeError, "input.size(0) = 2, but got", zeros(2, 2), prepend=zeros(3, 2)),
    ),
)

CASES = [*RUNNING, DIFFERENCES]
