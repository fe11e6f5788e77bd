"""Rows of the reductions: sums, moments, extrema, norms, logical ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from op_case import Dtype, OpCase, Raises, Sample, sample

INTEGERS = ("int64", "uint8", "bool")
HALF = ("float16", "bfloat16")
DOUBLE, INTEGER, COMPLEX = Dtype("float64"), Dtype("int64"), Dtype("complex64")
OUT_OF_RANGE = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
TWICE = "dim 0 appears multiple times in the list of dims"
NO_ELEMENTS = "Expected reduction dim to be specified for input.numel() == 0"
NO_LENGTH = "Expected reduction dim 0 to have non-zero size"
SHARED = "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1"

Samples = Callable[[np.random.Generator], list[Sample]]


def of_shapes(*calls: Any) -> Samples:
    """Return samples of one normal tensor: its shape, arguments, keywords as a dict at the end."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        found = []
        for shape, *rest in calls:
            keywords = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            found.append(Sample((rng.standard_normal(shape), *rest), keywords))
        return found

    return samples


def both(*parts: Samples) -> Samples:
    return lambda rng: [each for part in parts for each in part(rng)]


def exactly(*samples: Sample) -> Samples:
    return lambda rng: list(samples)


def row(name: str, samples: Samples, **claims: Any) -> OpCase:
    return OpCase(name, samples, **claims)


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def ints(*shape: int) -> np.ndarray:
    return np.ones(shape, np.int64)


def np_mean(array: np.ndarray, axis: Any, keepdims: bool) -> Any:
    with np.errstate(invalid="ignore"):
        return np.sum(array, axis, keepdims=keepdims) / np.sum(
            np.ones_like(array), axis, keepdims=keepdims
        )


def np_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy reduction with PyTorch's argument names; an empty `dim` means all."""

    def reference(array: np.ndarray, dim: Any = None, keepdim: bool = False) -> Any:
        axis = tuple(dim) if isinstance(dim, list | tuple) else dim
        if array.ndim == 0:
            axis = None
        return function(array, axis=None if axis == () else axis, keepdims=keepdim)

    return reference


WHOLE = of_shapes(((),), ((3,),), ((2, 3),), ((0,),), ((2, 0, 3),))
FILLED = of_shapes(((),), ((3,),), ((2, 3),), ((2, 3, 2),))
ALONG = of_shapes(
    ((3,), 0),
    ((2, 3), 1),
    ((2, 3), -2),
    ((2, 3), (0, 1)),
    ((2, 3), [1], True),
    ((2, 3), ()),
    ((2, 3), None),
    ((2, 3), None, True),
    ((2, 3, 4), (0, -1), {"keepdim": True}),
    ((), 0),
    ((), -1, True),
    ((0, 3), 1),
)
NOTHING = of_shapes(((0, 3), 0), ((2, 0), (0, 1)))
ALONG_ERRORS = (
    fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),
    fails(RuntimeError, TWICE, zeros(2, 3), (0, -2)),
    fails(IndexError, "[-1, 0], but got 1", zeros(), 1),
)

SUMS = [
    row(
        "Tensor.sum",
        both(
            WHOLE, of_shapes(((2, 3), {"dtype": DOUBLE}), ((2, 3), {"axis": 0, "keepdims": True}))
        ),
        forward_dtypes=(*HALF, *INTEGERS),
    ),
    row(
        "sum",
        both(ALONG, NOTHING),
        reference=np_axis(np.sum),
        complex=True,
        forward_dtypes=(*HALF, *INTEGERS),
        out=True,
        errors=ALONG_ERRORS,
    ),
    row(
        "Tensor.mean",
        both(FILLED, of_shapes(((2, 3), {"dtype": DOUBLE}), ((2, 3), 1, {"dtype": DOUBLE}))),
        forward_dtypes=HALF,
    ),
    row(
        "mean",
        ALONG,
        reference=np_axis(np_mean),
        complex=True,
        forward_dtypes=HALF,
        out=True,
        errors=(
            *ALONG_ERRORS,
            fails(RuntimeError, "Input dtype must be either a floating point or", ints(2)),
            fails(RuntimeError, "Optional dtype must be", zeros(2), dtype=INTEGER),
        ),
    ),
    row(
        "nansum",
        both(ALONG, NOTHING, exactly(sample(np.array([1.0, np.nan, 2.0]), 0))),
        reference=np_axis(np.nansum),
        forward_dtypes=HALF,
        out=True,
    ),
    row(
        "nanmean",
        both(
            of_shapes(((2, 3),), ((2, 3), 0), ((2, 3), (0, 1), True), ((),)),
            exactly(sample(np.array([[1.0, np.nan], [2.0, 3.0]]), 1)),
        ),
        reference=np_axis(np.nanmean),
        out=True,
        errors=(fails(RuntimeError, "nanmean(): expected input to have floating point", ints(2)),),
    ),
    row(
        "Tensor.sum_to_size",
        of_shapes(((2, 3), 3), ((2, 3), (1, 3)), ((2, 3), 2, 1), ((4, 2, 3), 1, 3), ((2, 3), ())),
        errors=(
            fails(RuntimeError, "size {[2]} is not expandable to size {[2, 3]}", zeros(2, 3), 2),
        ),
    ),
]

WITH_ZEROS = exactly(
    sample(np.array([2.0, 0.0, 3.0])),
    sample(np.array([0.0, 4.0, 0.0, 2.0])),
    sample(np.array([0.0, 0.0, 0.0])),
)
PRODUCTS = [
    row(
        "Tensor.prod",
        both(WHOLE, WITH_ZEROS, of_shapes(((2, 3), {"dtype": DOUBLE}))),
        forward_dtypes=INTEGERS,
    ),
    row(
        "prod",
        both(
            of_shapes(((2, 3), 0), ((2, 3), -1, True), ((), 0), ((0, 3), 0), ((0, 3), 1)),
            exactly(sample(np.array([[2.0, 0.0, 3.0], [0.0, 5.0, 0.0]]), 1)),
        ),
        reference=np_axis(np.prod),
        complex=True,
        forward_dtypes=INTEGERS,
        out=True,
        errors=(fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),),
    ),
    row(
        "logsumexp",
        both(
            of_shapes(
                ((3,), 0), ((2, 3), 1), ((2, 3), (0, -1), True), ((), 0), ((2, 3), [0]), ((0, 3), 1)
            ),
            exactly(sample(np.array([[1000.0, 1000.0], [-1000.0, -1001.0]]), 1)),
        ),
        complex=True,
        forward_dtypes=("int64", "float16"),
        out=True,
        errors=(
            fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),
            fails(
                TypeError, "argument 'dim' must be tuple of ints, not NoneType", zeros(2), dim=None
            ),
        ),
    ),
]


def np_moment(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(array, dim=None, unbiased=True, keepdim=False, correction=None):
        less = (1 if unbiased else 0) if correction is None else correction
        axis = tuple(dim) if isinstance(dim, list | tuple) else dim
        return function(array, axis=axis, ddof=less, keepdims=keepdim)

    return reference


MOMENTS = of_shapes(
    ((4,),),
    ((2, 3),),
    ((2, 3), 0),
    ((2, 3), (0, 1), False),
    ((2, 3), -1, True, True),
    ((2, 3), [0], {"unbiased": False}),
    ((2, 3), {"correction": 0}),
    ((3, 4), 1, {"correction": 2, "keepdim": True}),
    ((3, 4), None, {"correction": 1.5}),
    ((2, 3, 2), (0, -1), {"keepdim": True}),
)
FEW_FORMS = of_shapes(((2, 3), False), ((2, 3), {"unbiased": True}), ((1, 3), 1))
MOMENT_ERRORS = (
    fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),
    fails(RuntimeError, "std and var only support floating point and complex dtypes", ints(2)),
)
SPREADS = [
    row(
        "var",
        MOMENTS,
        reference=np_moment(np.var),
        complex=True,
        forward_dtypes=HALF,
        out=True,
        errors=MOMENT_ERRORS,
    ),
    row("Tensor.var", FEW_FORMS),
    row(
        "std",
        MOMENTS,
        reference=np_moment(np.std),
        complex=True,
        forward_dtypes=HALF,
        out=True,
        errors=MOMENT_ERRORS,
    ),
    row("Tensor.std", FEW_FORMS),
    row("var_mean", both(MOMENTS, FEW_FORMS), complex=True, forward_dtypes=HALF),
    row("std_mean", both(MOMENTS, FEW_FORMS), complex=True, forward_dtypes=HALF),
]

ONE_DIM = of_shapes(
    ((3,), 0), ((2, 3), 1), ((2, 3), -2, True), ((2, 3, 2), 1), ((), 0), ((0, 3), 1)
)
SEVERAL_DIMS = of_shapes(
    ((2, 3),),
    ((2, 3), 0),
    ((2, 3), (0, 1)),
    ((2, 3), ()),
    ((2, 3, 2), (0, -1), True),
    ((),),
    ((), 0),
    ((0, 3), 1),
)
COMPLEX_INPUT = np.ones(2, np.complex128)


def extremum(name: str, reference: Callable[..., Any]) -> list[OpCase]:
    """Return the forms of max and min."""
    return [
        row(
            f"Tensor.{name}",
            FILLED,
            reference=reference,
            forward_dtypes=(*HALF, *INTEGERS),
            errors=(
                fails(RuntimeError, f"{name}(): {NO_ELEMENTS}", zeros(0)),
                fails(NotImplementedError, f'"{name}_all" not implemented for', COMPLEX_INPUT),
            ),
        ),
        row(
            name,
            both(ONE_DIM, of_shapes(((2, 3), {"dim": 1, "keepdim": True}))),
            forward_dtypes=(*HALF, *INTEGERS),
            out=True,
            errors=(
                fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),
                fails(IndexError, f"{name}(): {NO_LENGTH}", zeros(0, 2), 0),
                fails(RuntimeError, f"{name}(): does not support complex input", COMPLEX_INPUT, 0),
            ),
        ),
        row(
            f"a{name}",
            SEVERAL_DIMS,
            reference=np_axis(reference),
            forward_dtypes=(*HALF, *INTEGERS),
            out=True,
            errors=(
                fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),
                fails(RuntimeError, f"a{name}(): {NO_ELEMENTS}", zeros(0)),
                fails(IndexError, f"a{name}(): {NO_LENGTH}", zeros(0, 2), 0),
            ),
        ),
        row(
            f"arg{name}",
            both(ONE_DIM, of_shapes(((2, 3),), ((2, 3), {"keepdim": True}))),
            differentiable=False,
            forward_dtypes=(*HALF, "int64"),
            out=True,
            errors=(
                fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),
                fails(IndexError, f"arg{name}(): {NO_ELEMENTS}", zeros(0)),
                fails(RuntimeError, f"arg{name}(): does not support bool", np.ones(2, bool)),
            ),
        ),
    ]


EXTREMA = [
    *extremum("max", np.max),
    *extremum("min", np.min),
    row(
        "aminmax",
        of_shapes(((2, 3),), ((2, 3), {"dim": 0}), ((2, 3), {"dim": -1, "keepdim": True}), ((),)),
        forward_dtypes=INTEGERS,
        out=True,
        errors=(
            fails(RuntimeError, "aminmax(): cannot compute aminmax over an empty", zeros(0)),
            fails(IndexError, "aminmax: Expected reduction dim 0", zeros(0, 2), dim=0),
        ),
    ),
]

LOGIC = [
    row(
        name,
        both(ALONG, NOTHING, of_shapes(((2, 3), {"keepdim": True}))),
        differentiable=False,
        complex=True,
        forward_dtypes=INTEGERS,
        out=True,
        errors=(fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),),
    )
    for name in ("any", "all")
] + [
    row(
        "count_nonzero",
        of_shapes(((2, 3),), ((2, 3), 0), ((2, 3), (0, 1)), ((2, 3), ()), ((),), ((0, 3), 1)),
        differentiable=False,
        complex=True,
        forward_dtypes=INTEGERS,
        errors=(fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2),),
    )
]

NORMS = [
    row(
        "norm",
        both(
            of_shapes(
                ((2, 3),),
                ((3,), "fro"),
                ((2, 3), 2, 0),
                ((2, 3), 1, (0, 1)),
                ((2, 3), math.inf, -1, True),
                ((2, 3), -math.inf, 0),
                ((2, 3), 3, 1),
                ((2, 3), 1.5),
                ((2, 3), 0.5, [0]),
                ((2, 3), -1, 0),
                ((2, 3), None),
                ((2, 3), {"dim": (), "keepdim": True}),
                ((2, 3), {"p": 2, "dtype": DOUBLE}),
                ((),),
                ((0, 3), 2, 0),
            ),
            exactly(sample(np.array([[3.0, -4.0], [6.0, 8.0]]), 2, 1)),
        ),
        complex=False,
        forward_dtypes=HALF,
        errors=(
            fails(IndexError, OUT_OF_RANGE, zeros(2, 3), 2, 2),
            fails(RuntimeError, "linalg.vector_norm: Expected a floating point", ints(2)),
            fails(RuntimeError, "linalg.matrix_norm: Order bad not supported", zeros(2), "bad"),
            fails(RuntimeError, "cannot compute the inf norm on an empty", zeros(0), math.inf),
            fails(RuntimeError, "dtype should be floating point", zeros(2), 2, dtype=INTEGER),
            fails(RuntimeError, "dtype should be real for real", zeros(2), 2, dtype=COMPLEX),
        ),
        gradgrad=True,
    ),
    row("Tensor.norm", of_shapes(((2, 3), 2), ((2, 3), 2, 1, True)), complex=True),
    row(
        "dist",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.standard_normal(shape), *order)
            for shape, order in (
                ((2, 3), ()),
                ((3,), (1,)),
                ((2, 1), (math.inf,)),
                ((), (3,)),
                ((2, 3), (1.5,)),
            )
        ],
        forward_dtypes=("float16",),
        errors=(
            fails(RuntimeError, SHARED, zeros(2, 3), zeros(2)),
            fails(RuntimeError, "input dtype should be either floating point", ints(2), ints(2)),
        ),
    ),
    row(
        "cosine_similarity",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3))),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), 0),
            sample(rng.standard_normal((2, 3)), rng.standard_normal(3), dim=-1, eps=1e-6),
            sample(np.array([1, 2, 3]), rng.standard_normal(3), dim=0),
        ],
        forward_dtypes=("bool", "complex128"),
        errors=(
            fails(RuntimeError, "common dtype is Long", ints(2, 3), ints(2, 3)),
            fails(IndexError, OUT_OF_RANGE, zeros(2, 3), zeros(2, 3), 2),
        ),
    ),
    row(
        "pairwise_distance",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3))),
            sample(rng.standard_normal((2, 3)), rng.standard_normal(3), p=1.0, keepdim=True),
            sample(rng.standard_normal(3), rng.standard_normal(3), 3.0, 1e-3),
        ],
        errors=(fails(RuntimeError, SHARED, zeros(2, 3), zeros(2)),),
        forward_dtypes=("int64", "bool", "complex128"),
    ),
]

CASES = [*SUMS, *PRODUCTS, *SPREADS, *EXTREMA, *LOGIC, *NORMS]
