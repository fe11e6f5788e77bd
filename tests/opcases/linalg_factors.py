"""Rows of factors and eigenvalues.

Where signs of vectors differ between builds of LAPACK, or a derivative exists for Hermitian
matrices only, a row compares values without vectors; `linalg_programs` has the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

OTHERS = ("float16", "bfloat16", "int64", "bool")
SHAPES = ((3, 3), (2, 3, 3), (1, 1), (0, 0), (2, 0, 0), (0, 3, 3))
RECTANGLES = ((4, 3), (3, 4), (2, 4, 3), (0, 3), (3, 0))


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def regular(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return matrices that are far from singular."""
    found = rng.standard_normal(shape)
    return found + 2 * np.eye(*shape[-2:])


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    found = rng.standard_normal(shape) * 0.3
    return found @ found.swapaxes(-1, -2) + 2 * np.eye(shape[-1])


def of_matrices(*shapes: tuple[int, ...], make: Any = regular, **options: Any) -> Any:
    return lambda rng: [Sample((make(rng, shape),), dict(options)) for shape in shapes]


def square_errors(name: str, argument: str = "A", position: str = "A") -> tuple[Raises, ...]:
    text = f"{name}: A must be batches of square matrices, but they are 2 by 3 matrices"
    return (
        fails(RuntimeError, text, zeros(2, 3)),
        fails(RuntimeError, f"{name}: The input tensor {argument} must have at", zeros(3)),
        fails(TypeError, f"argument '{position}' (position 1) must be Tensor, not float", 1.0),
    )


NOT_POSITIVE = "is not positive-definite (the leading minor of order 1 is not positive-definite)."
SECOND = np.stack([np.eye(3), zeros(3, 3)])
RANK2 = np.array([[1.0, 2, 3], [2, 4, 6], [0, 1, 7]])

DETERMINANTS = [
    OpCase(
        "linalg.det",
        of_matrices(*SHAPES),
        reference=np.linalg.det,
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=square_errors("linalg.det"),
    ),
    OpCase(
        "det",
        of_matrices(*SHAPES),
        forward_dtypes=OTHERS,
        complex=True,
        errors=square_errors("linalg.det", position="input"),
    ),
    OpCase(
        "linalg.slogdet",
        of_matrices(*SHAPES),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=square_errors("linalg.slogdet"),
    ),
    OpCase(
        "slogdet",
        of_matrices(*SHAPES),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=square_errors("linalg.slogdet", position="input"),
    ),
    OpCase(
        "logdet",
        of_matrices(*SHAPES, make=positive),
        reference=lambda x: np.log(np.linalg.det(x)),
        forward_dtypes=OTHERS,
        complex=True,
        errors=square_errors("logdet", position="input"),
    ),
]

LU = [
    OpCase(
        "linalg.lu",
        of_matrices(*SHAPES, *RECTANGLES),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "LU without pivoting is not implemented", zeros(2, 2), pivot=False),
            fails(RuntimeError, "linalg.lu: Expected tensor with 2 or more", zeros(3)),
        ),
    ),
    OpCase(
        "linalg.lu_factor",
        of_matrices(*SHAPES, *RECTANGLES),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "LU without pivoting is not implemented", zeros(2, 2), pivot=False),
            fails(RuntimeError, "torch.lu_factor: Expected tensor with 2 or", zeros(3)),
            fails(RuntimeError, "torch.linalg.lu_factor: U[1,1] is zero and", zeros(3, 3)),
            fails(RuntimeError, "(Batch element 1): U[1,1] is zero", SECOND),
        ),
    ),
    OpCase(
        "linalg.lu_factor_ex",
        lambda rng: [
            *of_matrices(*SHAPES, *RECTANGLES)(rng),
            sample(Fixed(SECOND)),
            sample(Fixed(RANK2)),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(
                RuntimeError, "torch.linalg.lu_factor_ex: U[1,1]", zeros(2, 2), check_errors=True
            ),
        ),
    ),
    OpCase("lu", of_matrices(*SHAPES, *RECTANGLES), forward_dtypes=OTHERS, complex=True),
    OpCase(
        "lu_unpack",
        lambda rng: [
            sample(rng.standard_normal((3, 3)), np.array([2, 3, 3], np.int32)),
            sample(rng.standard_normal((2, 4, 3)), np.array([[4, 2, 3], [1, 2, 3]], np.int32)),
            sample(rng.standard_normal((3, 4)), np.array([3, 2, 3], np.int32)),
            sample(Fixed(rng.standard_normal((3, 3))), np.array([2, 3, 3], np.int32), False),
            sample(rng.standard_normal((3, 3)), np.array([2, 3, 3], np.int32), True, False),
        ],
        forward_dtypes=("float16", "int64"),
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "of torch.int32 dtype", zeros(2, 2), np.array([1, 2])),
            fails(
                RuntimeError, "between 1 and LU.size(-2)", zeros(2, 2), np.array([0, 2], np.int32)
            ),
            fails(RuntimeError, "Got size: [3] instead", zeros(3), np.array([1], np.int32)),
        ),
    ),
]

CHOLESKY = [
    OpCase(
        name,
        lambda rng: [
            *of_matrices(*SHAPES, make=positive)(rng),
            *of_matrices((3, 3), (2, 3, 3), make=positive, upper=True)(rng),
        ],
        forward_dtypes=OTHERS,
        complex=False,
        differentiable=False,
        out=True,
        errors=(*square_errors("linalg.cholesky", position="input"), *more),
    )
    for name, more in (
        (
            "linalg.cholesky",
            (
                fails(RuntimeError, "linalg.cholesky: The fact", zeros(3, 3)),
                fails(RuntimeError, NOT_POSITIVE, -np.eye(3)),
                fails(RuntimeError, "linalg.cholesky: (Batch element 1): The", SECOND),
            ),
        ),
        (
            "linalg.cholesky_ex",
            (fails(RuntimeError, NOT_POSITIVE, zeros(3, 3), check_errors=True),),
        ),
    )
] + [
    OpCase(
        "cholesky",
        of_matrices((3, 3), (2, 3, 3), (1, 1), (0, 0), make=positive),
        forward_dtypes=OTHERS,
        differentiable=False,
        out=True,
        errors=(
            *square_errors("cholesky", position="input"),
            fails(RuntimeError, NOT_POSITIVE, zeros(3, 3)),
        ),
    ),
    OpCase(
        "cholesky_inverse",
        lambda rng: [
            *of_matrices(*SHAPES)(rng),
            *of_matrices((3, 3), (2, 3, 3), upper=True)(rng),
        ],
        forward_dtypes=(*OTHERS, "complex128"),
        differentiable=False,
        out=True,
        errors=(
            *square_errors("cholesky_inverse", position="input"),
            fails(RuntimeError, "The diagonal element 1 is zero", zeros(3, 3)),
        ),
    ),
    OpCase(
        "linalg.ldl_factor",
        of_matrices(*SHAPES, make=positive),
        forward_dtypes=OTHERS,
        complex=True,
        differentiable=False,
        out=True,
        errors=square_errors("torch.linalg.ldl_factor_ex", position="input"),
    ),
    OpCase(
        "linalg.ldl_factor_ex",
        lambda rng: [
            *of_matrices(*SHAPES)(rng),
            *of_matrices((5, 5), (2, 4, 4), hermitian=True)(rng),
            sample(Fixed(SECOND)),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        differentiable=False,
        out=True,
        errors=square_errors("torch.linalg.ldl_factor_ex", position="input"),
    ),
]

QR = [
    OpCase(
        "linalg.qr",
        lambda rng: [
            *of_matrices(*SHAPES, *RECTANGLES)(rng),
            *of_matrices((3, 3), (3, 4), (2, 3, 4), mode="complete")(rng),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "qr received unrecognized mode 'x'", zeros(2, 2), "x"),
            fails(RuntimeError, "linalg.qr: The input tensor A must have", zeros(3)),
        ),
    ),
    OpCase(
        "qr",
        of_matrices(*SHAPES, *RECTANGLES),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
    ),
    OpCase(
        "geqrf",
        of_matrices(*SHAPES, *RECTANGLES),
        forward_dtypes=OTHERS,
        complex=True,
        differentiable=False,
        out=True,
        errors=(fails(RuntimeError, "torch.geqrf: input must have at least 2", zeros(3)),),
    ),
]


def of_reflectors(rng: np.random.Generator) -> list[Sample]:
    shapes = ((3, 3), (4, 3), (2, 4, 3), (3, 0))
    found = [
        sample(rng.standard_normal(each), rng.random((*each[:-2], each[-1])) * 0.2)
        for each in shapes
    ]
    return [*found, sample(rng.standard_normal((4, 3)), rng.random(2) * 0.2)]


REFLECTORS = [
    OpCase(
        "linalg.householder_product",
        of_reflectors,
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "input must have at least 2 dim", zeros(3), zeros(3)),
            fails(RuntimeError, "input.shape[-2] must be greater", zeros(2, 3), zeros(2)),
            fails(RuntimeError, "input.shape[-1] must be greater", zeros(4, 3), zeros(4)),
            fails(RuntimeError, "tau.ndim equal to 2 and input.ndim", zeros(4, 3), zeros(2, 3)),
            fails(RuntimeError, "input.shape[:-2], but got [3]", zeros(2, 4, 3), zeros(3, 3)),
            fails(RuntimeError, "tau dtype Long does not", zeros(3, 3), np.ones(3, int)),
        ),
    ),
    OpCase("orgqr", of_reflectors, forward_dtypes=OTHERS, complex=True, out=True),
    OpCase(
        "ormqr",
        lambda rng: [
            sample(
                rng.standard_normal((*lead, 4, 3)),
                rng.random((*lead, 3)) * 0.2,
                rng.standard_normal((*lead, 4, 2) if left else (*lead, 2, 4)),
                left,
                turned,
            )
            for lead in ((), (2,))
            for left in (True, False)
            for turned in (True, False)
        ],
        forward_dtypes=OTHERS,
        complex=True,
        forward_ad=False,
        out=True,
        errors=(
            fails(RuntimeError, "input must have at", zeros(3), zeros(3), zeros(3, 3)),
            fails(RuntimeError, "other must have at", zeros(3, 3), zeros(3), zeros(3)),
            fails(RuntimeError, "other.shape[-2] must be", zeros(4, 3), zeros(3), zeros(3, 2)),
            fails(RuntimeError, "tau has dtype Long", zeros(3, 3), np.ones(3, int), zeros(3, 3)),
        ),
    ),
]

EIGENVALUES = [
    OpCase(
        "linalg.eigvalsh",
        lambda rng: [
            *of_matrices(*SHAPES, make=positive)(rng),
            *of_matrices((3, 3), UPLO="U")(rng),
        ],
        forward_dtypes=OTHERS,
        differentiable=False,
        complex=True,
        out=True,
        errors=(
            *square_errors("linalg.eigh", position="input"),
            fails(RuntimeError, "UPLO argument to be 'L' or 'U', but got X", zeros(2, 2), "X"),
            fails(TypeError, "argument 'UPLO' must be str, not int", zeros(2, 2), UPLO=1),
        ),
    ),
    OpCase(
        "linalg.eigh",
        lambda rng: [sample(zeros(0, 0)), sample(zeros(2, 0, 0)), sample(np.eye(3))],
        forward_dtypes=OTHERS,
        differentiable=False,
        out=True,
        errors=square_errors("linalg.eigh", position="input"),
    ),
    OpCase(
        "linalg.eigvals",
        lambda rng: [sample(np.triu(regular(rng, shape))) for shape in SHAPES],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        differentiable=False,
        errors=square_errors("linalg.eigvals", position="input"),
    ),
    OpCase(
        "linalg.eig",
        lambda rng: [sample(zeros(0, 0)), sample(zeros(2, 0, 0)), sample(np.eye(3))],
        forward_dtypes=OTHERS,
        differentiable=False,
        out=True,
        errors=(
            *square_errors("linalg.eig", position="input"),
            fails(RuntimeError, "should not contain infs or NaNs", np.full((2, 2), np.nan)),
        ),
    ),
    OpCase(
        "linalg.svdvals",
        of_matrices(*SHAPES, *RECTANGLES),
        reference=lambda x: (
            np.linalg.svd(x, compute_uv=False)
            if x.size
            else np.zeros((*x.shape[:-2], min(x.shape[-2:])))
        ),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "is only supported on CUDA", zeros(2, 2), driver="gesvd"),
            fails(RuntimeError, "contained non-finite values", np.full((2, 2), np.nan)),
            fails(RuntimeError, "linalg.svd: The input tensor A must have", zeros(3)),
        ),
    ),
    OpCase(
        "linalg.svd",
        lambda rng: [
            sample(zeros(0, 0)),
            sample(zeros(0, 3)),
            sample(zeros(3, 0)),
            sample(zeros(2, 0, 3), False),
        ],
        forward_dtypes=OTHERS,
        differentiable=False,
        out=True,
        errors=(
            fails(RuntimeError, "is only supported on CUDA", zeros(2, 2), driver="gesvd"),
            fails(RuntimeError, "linalg.svd: The input tensor A must have", zeros(3)),
        ),
    ),
    OpCase(
        "svd",
        of_matrices(*SHAPES, *RECTANGLES, compute_uv=False),
        forward_dtypes=OTHERS,
        complex=True,
        errors=(fails(RuntimeError, "at least 2 dimensions, but has 1", zeros(3)),),
    ),
]

CASES = [*DETERMINANTS, *LU, *CHOLESKY, *QR, *REFLECTORS, *EIGENVALUES]
