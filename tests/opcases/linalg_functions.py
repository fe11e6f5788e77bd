"""Rows of norms, products and functions of matrices, distances, covariances, integrals."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import taper
from op_case import Dtype, Fixed, OpCase, Sample, sample
from opcases.linalg_factors import (
    OTHERS,
    SHAPES,
    fails,
    regular,
    square_errors,
    zeros,
)

HALF = ("float16", "bfloat16")
INT = np.arange(6).reshape(2, 3)
ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def normal(*shapes: tuple[int, ...], **options: Any) -> Any:
    return lambda rng: [Sample((rng.standard_normal(shape),), dict(options)) for shape in shapes]


def of_norms(rng: np.random.Generator) -> list[Sample]:
    return [
        *(sample(rng.standard_normal((3, 4)), order) for order in ORDERS),
        *(sample(rng.standard_normal((2, 3, 4)), order, keepdim=True) for order in ORDERS),
        *(sample(rng.standard_normal((2, 3, 4)), order, (2, 0)) for order in ORDERS),
    ]


NORMS = [
    OpCase(
        "linalg.matrix_norm",
        lambda rng: [*of_norms(rng), sample(zeros(0, 3)), sample(zeros(2, 0, 3), 1)],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "Order x not supported", zeros(2, 2), "x"),
            fails(RuntimeError, "Order 3 not supported", zeros(2, 2), 3),
            fails(RuntimeError, "A must have at least 2 dimensions", zeros(3)),
            fails(RuntimeError, "dims must be different. Got (0, 0)", zeros(2, 2), dim=(0, 0)),
            fails(RuntimeError, "dim must be a 2-tuple. Got 0", zeros(2, 2), dim=(0,)),
            fails(IndexError, "but got 5", zeros(2, 2), dim=(0, 5)),
            fails(TypeError, "received an invalid combination of", zeros(2, 2), 2, dim=1),
            fails(RuntimeError, "without narrowing", zeros(2, 2), dtype=Dtype("float16")),
            fails(RuntimeError, "real for real inputs", zeros(2, 2), dtype=Dtype("complex64")),
            fails(IndexError, "amin(): Expected reduction dim", zeros(3, 0), -1),
        ),
    ),
    OpCase(
        "linalg.norm",
        lambda rng: [
            *(sample(rng.standard_normal((3, 4)), order) for order in (*ORDERS, None)),
            *(sample(rng.standard_normal(4), order) for order in (2, 3, 0.5, math.inf, None)),
            sample(rng.standard_normal((2, 3, 4))),
            sample(rng.standard_normal((2, 3, 4)), 2, 1),
            sample(rng.standard_normal((2, 3, 4)), 2, (0, 1), True),
            sample(rng.standard_normal((2, 3, 4)), None, (0, 1)),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "the input must be 1D or 2D. Got 3D.", zeros(2, 2, 2), 2),
            fails(RuntimeError, "of length 1 or 2. Got [0, 1, 2]", zeros(2, 2, 2), dim=(0, 1, 2)),
            fails(RuntimeError, "A must have at least 2 dimensions", zeros(3), "fro"),
        ),
    ),
    OpCase(
        "linalg.vector_norm",
        lambda rng: [
            *(sample(rng.standard_normal((3, 4)), order) for order in (1, 2, 3, math.inf)),
            sample(rng.standard_normal((2, 3, 4)), 2, (0, 2), True),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(fails(TypeError, "argument 'input' (position 1) must be Tensor", 1.0),),
    ),
    OpCase(
        "linalg.cond",
        lambda rng: [
            *(sample(regular(rng, (3, 3)), order) for order in (None, 2, -2, "nuc")),
            sample(rng.standard_normal((2, 4, 3))),
            sample(Fixed(zeros(0, 0))),
            sample(Fixed(zeros(2, 2)), 1),
            *(sample(Fixed(regular(rng, (3, 3))), order) for order in (1, -1, "fro", math.inf)),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "linalg.cond: The input tensor must have", zeros(3)),
            fails(RuntimeError, "linalg.cond got an invalid norm type: 3", zeros(2, 2), 3),
            fails(RuntimeError, "linalg.cond got an invalid norm type: x", zeros(2, 2), "x"),
            fails(RuntimeError, "linalg.cond(ord=fro): A must be batches", zeros(2, 3), "fro"),
        ),
    ),
    OpCase(
        "nuclear_norm",
        lambda rng: [
            sample(rng.standard_normal((3, 4))),
            sample(rng.standard_normal((2, 3, 4)), (0, 2), True),
        ],
        complex=True,
        out=True,
    ),
    OpCase(
        "frobenius_norm",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), (0, 1)),
            sample(rng.standard_normal((2, 3, 4)), 1, True),
        ],
        forward_dtypes=("int64", "bool"),
        complex=True,
        out=True,
        errors=(fails(RuntimeError, "at most 2 dimensions, but got 3", zeros(1, 1, 1), (0, 1, 2)),),
    ),
    OpCase(
        "renorm",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), 2, 0, 1.0),
            sample(rng.standard_normal((3, 4)), 1, 1, 2.0),
            sample(rng.standard_normal((2, 3, 4)), 3, -1, 1.5),
            sample(Fixed(rng.standard_normal((3, 4))), math.inf, 0, 1.0),
            sample(zeros(0, 3), 2, 0, 1.0),
        ],
        forward_dtypes=(*HALF, "int64"),
        complex=True,
        inplace="renorm_",
        out=True,
        errors=(
            fails(RuntimeError, "non-positive-norm not supported", zeros(2, 2), 0, 0, 1.0),
            fails(RuntimeError, "to be >= 0 but got -1", zeros(2, 2), 2, 0, -1.0),
            fails(RuntimeError, "needs at least 2 dimensions", zeros(2), 2, 0, 1.0),
            fails(IndexError, "but got 5", zeros(2, 2), 2, 5, 1.0),
            fails(RuntimeError, "p must be real-valued", zeros(2, 2), 1j, 0, 1.0),
            fails(RuntimeError, "maxnorm must be real-valued", zeros(2, 2), 2, 0, 1j),
        ),
    ),
]


def of_powers(rng: np.random.Generator) -> list[Sample]:
    numbers = (0, 1, 2, 3, 5, 6, 7, -1, -3)
    return [
        *(sample(regular(rng, (3, 3)), number) for number in numbers),
        sample(regular(rng, (2, 3, 3)), 4),
        sample(zeros(0, 0), 3),
    ]


FUNCTIONS = [
    OpCase(
        "linalg.matrix_exp",
        lambda rng: [*normal(*SHAPES)(rng), sample(rng.standard_normal((4, 4)) * 9)],
        complex=True,
        tolerance=1e-4,
        errors=square_errors("linalg.matrix_exp", position="input"),
    ),
    OpCase("matrix_exp", normal(*SHAPES), complex=True, tolerance=1e-4),
    *(
        OpCase(
            name,
            of_powers,
            forward_dtypes=("int64",),
            complex=True,
            out=True,
            tolerance=1e-4,
            errors=(
                fails(RuntimeError, "A must be batches of square", zeros(2, 3), 2),
                fails(RuntimeError, "A must have at least 2 dim", zeros(3), 2),
                fails(TypeError, "argument 'n' (position 2) must be int", zeros(2, 2), 2.0),
                fails(RuntimeError, "The diagonal element 1 is zero", zeros(2, 2), -2),
            ),
        )
        for name in ("linalg.matrix_power", "matrix_power")
    ),
    OpCase(
        "linalg.multi_dot",
        lambda rng: [
            sample([rng.standard_normal(shape) for shape in shapes])
            for shapes in (
                ((3, 4), (4, 2)),
                ((4, 3), (3, 5), (5, 2)),
                ((3,), (3, 4), (4,)),
                ((3,), (3, 4), (4, 2)),
                ((2, 3), (3, 4), (4,)),
                ((2, 9), (9, 3), (3, 8), (8, 2)),
            )
        ],
        reference=lambda arrays: np.linalg.multi_dot(arrays),
        forward_dtypes=("int64",),
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "expected at least 2 tensors but got 1", [zeros(2, 2)]),
            fails(RuntimeError, "first tensor must be 1D or 2D", [zeros(1, 1, 1), zeros(1, 1)]),
            fails(RuntimeError, "last tensor must be 1D or 2D", [zeros(1, 1), zeros(1, 1, 1)]),
            fails(
                RuntimeError, "tensor 1 must be 2D but got 1D", [zeros(1, 1), zeros(1), zeros(1)]
            ),
            fails(RuntimeError, "cannot be multiplied", [zeros(2, 3), zeros(2, 3)]),
            fails(TypeError, "must be tuple of Tensors, not Tensor", zeros(2, 2)),
            fails(TypeError, "expected Tensor as element 1", [zeros(2, 2), 1]),
        ),
    ),
    OpCase(
        "linalg.vecdot",
        lambda rng: [
            sample(rng.standard_normal(3), rng.standard_normal(3)),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3))),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), dim=0),
            sample(rng.standard_normal((2, 3)), rng.standard_normal(3)),
            sample(np.array(2.0), np.array(3.0)),
        ],
        forward_dtypes=(*HALF, "int64", "bool"),
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "x of type Double and y of type Long", zeros(2, 3), INT),
            fails(RuntimeError, "inconsistent tensor size", zeros(2), zeros(3)),
        ),
    ),
    OpCase(
        "linalg.cross",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3))),
            sample(rng.standard_normal((3, 2)), rng.standard_normal((3, 2)), dim=0),
        ],
        forward_dtypes=(*HALF, "int64", "bool"),
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "same number of dimensions", zeros(3), zeros(2, 3)),
            fails(RuntimeError, "must have length 3. Got 2 and 2", zeros(2), zeros(2)),
        ),
    ),
    OpCase(
        "linalg.matmul",
        lambda rng: [sample(rng.standard_normal((2, 3)), rng.standard_normal((3, 2)))],
        reference=np.matmul,
        complex=True,
        out=True,
    ),
    OpCase(
        "linalg.diagonal",
        lambda rng: [
            sample(rng.standard_normal((2, 3, 4))),
            sample(rng.standard_normal((2, 3, 4)), offset=1, dim1=0, dim2=1),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        errors=(fails(IndexError, "Dimension out of range", zeros(3)),),
    ),
    OpCase(
        "linalg.vander",
        lambda rng: [
            sample(rng.standard_normal(3)),
            sample(rng.standard_normal((2, 3)), N=4),
            sample(INT),
        ],
        forward_dtypes=(*HALF, "int64", "bool"),
        complex=True,
        errors=(
            fails(RuntimeError, "N must be greater than 1.", zeros(3), N=1),
            fails(RuntimeError, "N must be greater than 1.", np.array(1.0)),
        ),
    ),
]


def of_points(rng: np.random.Generator) -> list[Sample]:
    found = []
    for order in (2.0, 1.0, 3.0, 0.5, math.inf, 0.0):
        found.append(sample(rng.standard_normal((4, 3)), rng.standard_normal((5, 3)), order))
    mode = {"compute_mode": "use_mm_for_euclid_dist"}
    return [
        *found,
        Sample((rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 5, 3))), mode),
        Sample((rng.standard_normal((4, 3)), rng.standard_normal((5, 3))), mode),
        sample(rng.standard_normal((30, 3)), rng.standard_normal((4, 3))),
        sample(rng.standard_normal((2, 1, 3, 2)), rng.standard_normal((4, 5, 2))),
        sample(zeros(0, 3), zeros(2, 3)),
        sample(zeros(3, 0), zeros(2, 0)),
    ]


DISTANCES = [
    OpCase(
        "cdist",
        of_points,
        forward_dtypes=("float16", "int64"),
        gradgrad=False,
        forward_ad=False,
        errors=(
            fails(RuntimeError, "X1 got: 1D", zeros(3), zeros(3, 3)),
            fails(RuntimeError, "X1: 3 X2: 2", zeros(3, 3), zeros(3, 2)),
            fails(RuntimeError, "X2 got: Long", zeros(2, 3), INT),
            fails(RuntimeError, "non-negative p values", zeros(2, 3), zeros(2, 3), -1.0),
            fails(ValueError, "x is not a valid value", zeros(2, 3), zeros(2, 3), 2.0, "x"),
            fails(RuntimeError, "tensor a (2) must match", zeros(2, 3, 2), zeros(3, 5, 2)),
        ),
    ),
]

WEIGHTS = np.array([1, 2, 3, 4, 1])

STATISTICS = [
    OpCase(
        "cov",
        lambda rng: [
            sample(rng.standard_normal((3, 5))),
            sample(rng.standard_normal(5)),
            sample(rng.standard_normal((3, 5)), correction=0),
            sample(rng.standard_normal((3, 5)), fweights=WEIGHTS),
            sample(rng.standard_normal((3, 5)), aweights=Fixed(rng.random(5))),
            sample(rng.standard_normal((3, 5)), fweights=WEIGHTS, aweights=Fixed(rng.random(5))),
            sample(rng.standard_normal((3, 5)), aweights=Fixed(rng.random(5)), correction=0),
        ],
        forward_dtypes=("int64", "bool"),
        complex=True,
        errors=(
            fails(RuntimeError, "but got an input with 3 dimensions", zeros(1, 1, 1)),
            fails(RuntimeError, "have integral dtype", zeros(3, 5), fweights=zeros(5)),
            fails(RuntimeError, "have floating point dtype", zeros(3, 5), aweights=WEIGHTS),
            fails(RuntimeError, "but got 4 != 5", zeros(3, 5), fweights=WEIGHTS[:4]),
            fails(RuntimeError, "fweights cannot be negative", zeros(3, 5), fweights=-WEIGHTS),
            fails(RuntimeError, "weights sum to zero", zeros(3, 5), aweights=zeros(5)),
            fails(TypeError, "argument 'correction' must be int", zeros(3, 5), correction=1.5),
        ),
    ),
    OpCase(
        "corrcoef",
        normal((3, 5), (2, 4)),
        forward_dtypes=("int64",),
        differentiable=False,
        complex=True,
        errors=(fails(RuntimeError, "but got an input with 3 dimensions", zeros(1, 1, 1)),),
    ),
    *(
        OpCase(
            name,
            lambda rng: [
                sample(rng.standard_normal(4)),
                sample(rng.standard_normal((2, 3)), dx=0.5),
                sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3))),
                sample(rng.standard_normal((2, 3)), rng.standard_normal(3)),
                sample(rng.standard_normal((2, 3)), rng.standard_normal(2), dim=0),
                sample(rng.standard_normal((2, 3, 4)), rng.standard_normal((3, 4)), dim=1),
                sample(rng.standard_normal((2, 3)), dim=0),
                sample(INT),
            ],
            forward_dtypes=(*HALF, "int64", "bool"),
            complex=True,
            errors=(
                fails(RuntimeError, "There must be one `x` value", zeros(2, 3), zeros(2)),
                *more,
            ),
        )
        for name, more in (
            ("trapz", ()),
            ("trapezoid", (fails(RuntimeError, "dx as a real number", zeros(3), dx=1j),)),
            (
                "cumulative_trapezoid",
                (fails(RuntimeError, "dx as a real number", zeros(3), dx=1j),),
            ),
        )
    ),
]


def of_nothing(rng: np.random.Generator) -> list[Sample]:
    return [sample(Fixed(zeros(0, 3))), sample(Fixed(zeros(3, 0))), sample(Fixed(zeros(2, 0, 0)))]


LOW_RANK = [
    OpCase("svd_lowrank", of_nothing, differentiable=False, random=True),
    OpCase(
        "pca_lowrank",
        of_nothing,
        differentiable=False,
        random=True,
        errors=(
            fails(ValueError, "not greater than min(m, n)=3", zeros(4, 3), 9),
            fails(ValueError, "niter(=-1) must be non-negative", zeros(4, 3), niter=-1),
        ),
    ),
    OpCase(
        "lobpcg",
        lambda rng: [],
        differentiable=False,
        errors=(
            fails(ValueError, "is not applicable when the number", zeros(5, 5), 2),
            fails(AssertionError, "A must be square", zeros(4, 3), 1),
        ),
    ),
]

CASES = [*NORMS, *FUNCTIONS, *DISTANCES, *STATISTICS, *LOW_RANK]

# PyTorch calls these deprecated, once in a process.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ONE = taper.ones(1, 1)
    for _function in (taper.cholesky, taper.lu, taper.qr, taper.nuclear_norm):
        _function(ONE)
    taper.triangular_solve(ONE, ONE)
    taper.frobenius_norm(ONE, 0)
    taper.lu_solve(ONE, *taper.linalg.lu_factor(ONE))
