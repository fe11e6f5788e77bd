"""Rows of sorting, picking by rank, distinct elements, counting and searching, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

INTEGERS = ("int64", "uint8")
OUT_OF_RANGE = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
COMPLEX_INPUT = np.ones(2, np.complex128)
NO_LENGTH = "Expected reduction dim 0 to have non-zero size"


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return different numbers, far enough apart for differences and for every dtype."""
    count = int(np.prod(shape))
    return np.asarray(rng.permutation(count).reshape(shape) + 1.0)


def of_shapes(*calls: Any) -> Any:
    """Return samples of one tensor: its shape, further arguments, keywords as a dict at the end."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found = []
        for shape, *rest in calls:
            keywords = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            found.append(Sample((distinct(rng, *shape), *rest), keywords))
        return found

    return samples


def exactly(*samples: Sample) -> Any:
    return lambda rng: list(samples)


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


WRONG_DIM = fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2)


def np_sort(array: np.ndarray, dim: int = -1, descending: bool = False, stable: Any = None) -> Any:
    if not array.ndim:
        return array, np.zeros((), np.int64)
    order = np.argsort(-array if descending else array, dim, kind="stable")
    return np.take_along_axis(array, order, dim), order


SORTED = [
    OpCase(
        "sort",
        of_shapes(
            ((4,),),
            ((2, 3), 0),
            ((2, 3), 1, True),
            ((2, 3), {"dim": -1, "descending": True, "stable": True}),
            ((2, 3, 2), {"dim": 1, "stable": False}),
            ((),),
            ((0,),),
        ),
        reference=np_sort,
        forward_dtypes=("float16", "bfloat16", *INTEGERS, "bool"),
        out=True,
        errors=(WRONG_DIM, fails(RuntimeError, "Sort does not support complex", COMPLEX_INPUT)),
    ),
    OpCase(
        "argsort",
        of_shapes(((4,),), ((2, 3), 0, True), ((2, 3), {"stable": True, "descending": True})),
        differentiable=False,
        forward_dtypes=("float16", *INTEGERS),
        errors=(WRONG_DIM,),
    ),
    OpCase(
        "msort",
        of_shapes(((4,),), ((3, 2),), ((),), ((0,),)),
        reference=lambda array: np.sort(array, 0) if array.ndim else array,
        forward_dtypes=INTEGERS,
        out=True,
    ),
]

RANKED = [
    OpCase(
        "topk",
        of_shapes(
            ((5,), 2),
            ((2, 4), 1, 0),
            ((2, 4), 3, -1, False),
            ((2, 4), 2, {"largest": False, "dim": 1}),
            ((2, 400), 5),
            ((2, 400), 3, 1, False),
            ((2, 4), 0),
            ((), 1),
        ),
        forward_dtypes=("float16", "int64"),
        gradgrad=False,
        out=True,
        errors=(
            fails(RuntimeError, "selected index k out of range", zeros(3), 4),
            fails(RuntimeError, "topk does not support bool dtypes", np.ones(2, bool), 1),
            fails(RuntimeError, "topk does not support complex dtypes", COMPLEX_INPUT, 1),
            fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 1, 2),
        ),
    ),
    OpCase(
        "kthvalue",
        of_shapes(((5,), 2), ((2, 4), 1, 0), ((2, 4), 3, 1, True), ((), 1), ((0, 3), 1, 1)),
        forward_dtypes=("float16", "int64", "bool", "complex128"),
        out=True,
        errors=(
            fails(RuntimeError, "selected number k out of range for dimension 0", zeros(3), 4),
            fails(IndexError, f"kthvalue(): {NO_LENGTH}", zeros(0), 1),
            fails(NotImplementedError, '"kthvalue_cpu" not implemented', np.ones(2, bool), 1),
        ),
    ),
    *[
        OpCase(
            name,
            of_shapes(((5,),), ((2, 4),), ((),)),
            forward_dtypes=("float16", "int64"),
            errors=(fails(NotImplementedError, '"median_cpu" not', np.ones(2, bool)),),
        )
        for name in ("Tensor.median", "Tensor.nanmedian")
    ],
    *[
        OpCase(
            name,
            of_shapes(((5,), 0), ((2, 4), 1), ((2, 5), -1, True), ((), 0), ((0, 3), 1)),
            forward_dtypes=("float16", "int64"),
            out=True,
            errors=(WRONG_DIM, fails(IndexError, f"median(): {NO_LENGTH}", zeros(0), 0)),
        )
        for name in ("median", "nanmedian")
    ],
    OpCase(
        "mode",
        lambda rng: [
            *of_shapes(((4,),), ((2, 3), 0, True), ((),), ((0, 3), 1))(rng),
            sample(np.array([3, 1, 2, 2, 3, 1])),
            sample(np.array([[5, 4, 5, 4, 4, 5], [1, 1, 2, 2, 3, 3]]), 1),
        ],
        forward_dtypes=("int64", "bool", "complex128"),
        out=True,
        errors=(WRONG_DIM, fails(IndexError, f"mode(): {NO_LENGTH}", zeros(0))),
    ),
]

INTS = np.array([3, 1, 2, 3, 1, 1])
ROWS = np.array([[1, 2], [3, 4], [1, 2]])
DISTINCT = [
    OpCase(
        "unique",
        exactly(
            sample(INTS),
            sample(INTS, True, True),
            sample(ROWS, return_counts=True, return_inverse=True),
            sample(ROWS, return_counts=True, dim=0),
            sample(ROWS, return_inverse=True, return_counts=True, dim=1),
            sample(np.array([3.0, 1.0, np.nan, 3.0, np.nan])),
            sample(np.array(2.0)),
            sample(np.empty(0)),
        ),
        differentiable=False,
        errors=(
            fails(IndexError, "[-2, 1], but got 2", ROWS, dim=2),
            fails(NotImplementedError, '"unique" not implemented', COMPLEX_INPUT),
        ),
    ),
    OpCase(
        "unique_consecutive",
        exactly(
            sample(INTS),
            sample(INTS, True, True),
            sample(ROWS, dim=0),
            sample(ROWS.repeat(2, 0), True, True, 0),
            sample(np.array([1.0, 1.0, 2.0])),
            sample(np.empty(0)),
        ),
        differentiable=False,
    ),
]

EDGES = np.array([1.0, 3.0, 5.0])
INT_EDGES = np.array([1, 2, 3])
TWO_EDGES = np.array([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
VALUES = np.array([3.0, 1.0, 2.0, 7.0, -1.0])
SEARCHED = [
    OpCase(
        "searchsorted",
        exactly(
            sample(EDGES, VALUES),
            sample(EDGES, 2),
            sample(EDGES, 2.5, right=True),
            sample(EDGES, VALUES.reshape(5, 1), side="right"),
            sample(EDGES, VALUES, out_int32=True),
            sample(TWO_EDGES, np.array([[2.0], [4.0]])),
            sample(EDGES[::-1].copy(), VALUES, sorter=np.array([2, 1, 0])),
            sample(EDGES, np.array(np.nan)),
            sample(np.empty(0), VALUES),
            sample(EDGES, np.empty(0)),
            sample(INT_EDGES, 2.5),
            sample(INT_EDGES, VALUES / 2),
            sample(INT_EDGES, np.array(2.5)),
            sample(EDGES, np.array([3, 4])),
            sample(INT_EDGES.astype(np.uint8), -1),
            sample(np.array([False, True]), 1),
        ),
        differentiable=False,
        forward_dtypes=("float16", "bool", "complex128"),
        out=True,
        errors=(
            fails(RuntimeError, "the first N-1 dimensions of boundaries", TWO_EDGES, VALUES),
            fails(RuntimeError, "side can only be 'left' or 'right'", EDGES, VALUES, side="up"),
            fails(RuntimeError, "can't be set to opposites", EDGES, 1, right=True, side="left"),
            fails(RuntimeError, "can be a scalar only when boundaries", TWO_EDGES, 2),
            fails(RuntimeError, "must have the same size", EDGES, VALUES, sorter=np.array([0])),
            fails(RuntimeError, "sorter must be a tensor of long", EDGES, VALUES, sorter=EDGES),
            fails(RuntimeError, "index out of range", EDGES, 1, sorter=np.array([0, 1, 9])),
        ),
    ),
    OpCase(
        "bucketize",
        exactly(
            sample(VALUES, EDGES),
            sample(2, EDGES),
            sample(VALUES, EDGES, right=True, out_int32=True),
            sample(np.empty((0, 2)), EDGES),
            sample(2.5, INT_EDGES),
        ),
        differentiable=False,
        forward_dtypes=("int64", "bool", "complex128"),
        out=True,
        errors=(fails(RuntimeError, "boundaries tensor must be 1 dimension", VALUES, TWO_EDGES),),
    ),
]

COUNTED = [
    OpCase(
        "bincount",
        exactly(
            sample(INTS),
            sample(INTS, minlength=7),
            sample(INTS, Fixed(np.arange(6.0))),
            sample(np.empty(0, np.int64)),
            sample(np.empty(0, np.int64), minlength=2),
            sample(INTS.astype(np.uint8)),
        ),
        differentiable=False,
        errors=(
            fails(RuntimeError, "only supports 1-d non-negative integral", np.array([-1])),
            fails(RuntimeError, "only supports 1-d non-negative integral", ROWS),
            fails(RuntimeError, "weights should be 1-d", INTS, zeros(2)),
            fails(RuntimeError, "minlength should be >= 0", INTS, minlength=-1),
            fails(NotImplementedError, "\"bincount_cpu\" not implemented for 'Double'", zeros(2)),
        ),
    ),
    OpCase(
        "histc",
        lambda rng: [
            sample(VALUES),
            sample(VALUES, 4),
            sample(VALUES, bins=3, min=0, max=4),
            sample(np.ones(3), 3),
            sample(np.empty(0), 3),
            sample(rng.standard_normal((20, 10)), 7),
        ],
        differentiable=False,
        out=True,
        errors=(
            fails(RuntimeError, "bins must be > 0, but got 0", VALUES, 0),
            fails(RuntimeError, "max must be larger than min", VALUES, 3, 2, 1),
            fails(RuntimeError, "range of [1, inf] is not finite", np.array([1.0, np.inf]), 3),
            fails(NotImplementedError, "\"histogram_cpu\" not implemented for 'Long'", INTS),
        ),
    ),
]

RANKS = Fixed(np.array([0.1, 0.6]))
QUANTILES = of_shapes(
    ((5,), 0.5),
    ((3, 4), 0.3),
    ((3, 4), 0.3, 0),
    ((3, 4), RANKS, 1),
    ((3, 4), RANKS, 0, True),
    ((3, 4), 0.7, None, True),
    ((3, 4), 0.35, 1, {"interpolation": "lower"}),
    ((3, 4), 0.35, 0, {"interpolation": "higher"}),
    ((3, 4), 0.35, {"interpolation": "nearest"}),
    ((3, 4), 0.35, 1, {"interpolation": "midpoint", "keepdim": True}),
    ((), 0.5),
    ((5,), 1),
)
INTERPOLATED = [
    OpCase(
        name,
        QUANTILES,
        out=True,
        errors=(
            fails(RuntimeError, "q must be in the range [0, 1] but got 1.5", zeros(2), 1.5),
            fails(RuntimeError, "q values must be in the range", zeros(2), np.array([1.5])),
            fails(RuntimeError, "q must be a scalar or 1D", zeros(2), np.array([[0.5]])),
            fails(RuntimeError, "input tensor must be non-empty", zeros(0), 0.5),
            fails(RuntimeError, "must be either float or double dtype", np.ones(2, int), 0.5),
            fails(RuntimeError, "but got up", zeros(2), 0.5, interpolation="up"),
            fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 0.5, 2),
        ),
    )
    for name in ("quantile", "nanquantile")
]

CASES = [*SORTED, *RANKED, *DISTINCT, *SEARCHED, *COUNTED, *INTERPOLATED]
