"""Rows of linear systems, inverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Fixed, OpCase, Sample, sample
from opcases.linalg_factors import (
    OTHERS,
    RANK2,
    RECTANGLES,
    SECOND,
    SHAPES,
    fails,
    of_matrices,
    regular,
    square_errors,
    zeros,
)

SINGULAR = (
    "The diagonal element 1 is zero, the inversion could not be completed because the input "
    "matrix is singular."
)
UNSOLVABLE = "The solver failed because the input matrix is singular."
INT = np.eye(3, dtype=np.int64)


def systems(*calls: Any, make: Any = regular, **options: Any) -> Any:
    """Return samples of a square matrix and a right side."""
    return lambda rng: [
        Sample((make(rng, A), rng.standard_normal(B)), {**options, **(more[0] if more else {})})
        for A, B, *more in calls
    ]


PAIRS = (
    ((3, 3), (3, 2)),
    ((2, 3, 3), (2, 3, 2)),
    ((2, 1, 3, 3), (4, 3, 2)),
    ((3, 3), (2, 3), {"left": False}),
    ((0, 0), (0, 2)),
    ((3, 3), (3, 0)),
    ((0, 3, 3), (0, 3, 2)),
)
VECTORS = (((3, 3), (3,)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (3,)), ((3, 3, 3), (3, 3)))

SOLVE = [
    OpCase(
        name,
        systems(*PAIRS, *VECTORS),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "A must have at least 2 dimensions", zeros(3), zeros(3, 2)),
            fails(RuntimeError, "they are 2 by 3 matrices", zeros(2, 3), zeros(3, 2)),
            fails(RuntimeError, "AX = B (3x3 and 2x2)", zeros(3, 3), zeros(2, 2)),
            fails(RuntimeError, "XA = B (3x3 and 3x2)", zeros(3, 3), zeros(3, 2), left=False),
            fails(RuntimeError, "A of type Double and B of type Long", zeros(3, 3), INT),
            fails(RuntimeError, "must match the size", zeros(2, 3, 3) + np.eye(3), zeros(3, 3, 2)),
            fails(TypeError, "argument 'B' (position 2) must be Tensor", zeros(3, 3), 1.0),
            *more,
        ),
    )
    for name, more in (
        (
            "linalg.solve",
            (
                fails(RuntimeError, f"torch.linalg.solve: {UNSOLVABLE}", zeros(3, 3), zeros(3, 2)),
                fails(RuntimeError, f"(Batch element 1): {UNSOLVABLE}", SECOND, zeros(3, 2)),
            ),
        ),
        (
            "linalg.solve_ex",
            (fails(RuntimeError, UNSOLVABLE, zeros(3, 3), zeros(3, 2), check_errors=True),),
        ),
    )
]

INVERSES = [
    OpCase(
        name,
        of_matrices(*SHAPES),
        reference=reference,
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(*square_errors("linalg.inv", position=position), *more),
    )
    for name, position, reference, more in (
        (
            "linalg.inv",
            "A",
            np.linalg.inv,
            (
                fails(RuntimeError, f"linalg.inv: {SINGULAR}", zeros(3, 3)),
                fails(RuntimeError, f"linalg.inv: (Batch element 1): {SINGULAR}", SECOND),
                fails(RuntimeError, "The diagonal element 3 is zero", RANK2),
            ),
        ),
        ("inverse", "input", np.linalg.inv, (fails(RuntimeError, SINGULAR, zeros(3, 3)),)),
        (
            "linalg.inv_ex",
            "A",
            None,
            (fails(RuntimeError, f"linalg.inv_ex: {SINGULAR}", zeros(3, 3), check_errors=True),),
        ),
    )
] + [
    OpCase(
        "linalg.tensorinv",
        lambda rng: [
            sample(regular(rng, (4, 4)).reshape(4, 2, 2), ind=1),
            sample(regular(rng, (6, 6)).reshape(2, 3, 6)),
        ],
        forward_dtypes=("int64",),
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "positive integer for 'ind', but got 0", zeros(2, 2), 0),
            fails(RuntimeError, "but got 4 != 6", zeros(2, 3, 4)),
            fails(RuntimeError, "inv: The diagonal element 1 is zero", zeros(4, 2, 2), 1),
        ),
    ),
    OpCase(
        "linalg.tensorsolve",
        lambda rng: [
            sample(regular(rng, (6, 6)).reshape(2, 3, 6), rng.standard_normal((2, 3))),
            sample(
                regular(rng, (6, 6)).reshape(2, 3, 6).transpose(1, 2, 0),
                rng.standard_normal((3, 2)),
                dims=(1,),
            ),
        ],
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "but got 4 != 6", zeros(2, 3, 4), zeros(2, 3)),
            fails(IndexError, "but got 7", zeros(2, 3, 6), zeros(2, 3), (7,)),
            fails(RuntimeError, UNSOLVABLE, zeros(2, 3, 6), zeros(2, 3)),
        ),
    ),
    OpCase(
        "linalg.pinv",
        lambda rng: [
            *of_matrices((3, 3), *RECTANGLES)(rng),
            sample(regular(rng, (3, 3)), atol=0.1, rtol=0.01),
            sample(regular(rng, (4, 3)), 0.001),
        ],
        reference=lambda x, *_, **__: np.linalg.pinv(x),
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "linalg.pinv(Double{[3]}): expected a tensor", zeros(3)),
            fails(RuntimeError, "linalg.eigh: A must be", zeros(2, 3), hermitian=True),
            fails(TypeError, "linalg_pinv() received an invalid combination", 1.0),
        ),
    ),
    OpCase(
        "pinverse",
        of_matrices((3, 3), *RECTANGLES),
        reference=np.linalg.pinv,
        forward_dtypes=OTHERS,
        complex=True,
        tolerance=1e-4,
    ),
    OpCase(
        "linalg.matrix_rank",
        lambda rng: [
            *of_matrices(*SHAPES, *RECTANGLES)(rng),
            sample(Fixed(RANK2)),
            sample(Fixed(SECOND)),
            sample(Fixed(np.eye(3)), 2.0),
            sample(Fixed(np.eye(3)), atol=0.5, rtol=0.5),
            sample(Fixed(-np.eye(3)), hermitian=True),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        differentiable=False,
        out=True,
        errors=(
            fails(RuntimeError, "The input tensor input must have at least 2", zeros(3)),
            fails(RuntimeError, "linalg.eigh: A must be", zeros(2, 3), hermitian=True),
            fails(TypeError, "linalg_matrix_rank() received an invalid", 1.0),
        ),
    ),
]


def triangles(rng: np.random.Generator) -> list[Sample]:
    found = []
    for A, B, *_ in PAIRS:
        if A == (3, 3) and B == (2, 3):
            continue
        for upper in (True, False):
            for unit in (True, False):
                options = {"upper": upper, "unitriangular": unit}
                found.append(Sample((regular(rng, A), rng.standard_normal(B)), options))
    right = Sample((regular(rng, (3, 3)), rng.standard_normal((2, 3))), {})
    return [*found, Sample(right.args, {"upper": True, "left": False})]


def larger(rng: np.random.Generator) -> list[Sample]:
    """Return systems that are too large to be solved in one piece."""
    A = np.tril(rng.standard_normal((2, 150, 150))) * 0.05 + np.eye(150)
    return [Sample((A, rng.standard_normal((2, 150, 3))), {"upper": False})]


TRIANGULAR = [
    OpCase(
        "linalg.solve_triangular",
        lambda rng: [*triangles(rng), *larger(rng)],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "A must have at least", zeros(3), zeros(3, 2), upper=True),
            fails(RuntimeError, "B must have at least", zeros(3, 3), zeros(3), upper=True),
            fails(RuntimeError, "2 by 3 matrices", zeros(2, 3), zeros(3, 2), upper=True),
            fails(RuntimeError, "(3x3 and 2x2)", zeros(3, 3), zeros(2, 2), upper=True),
        ),
    ),
    OpCase(
        "triangular_solve",
        lambda rng: [
            sample(rng.standard_normal(B), regular(rng, A), upper, turned, unit)
            for A, B in (((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((2, 1, 3, 3), (4, 3, 2)))
            for upper in (True, False)
            for turned in (True, False)
            for unit in (True, False)
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "Expected b to have at least 2", zeros(3), zeros(3, 3)),
            fails(RuntimeError, "Expected A to have at least 2", zeros(3, 2), zeros(3)),
            fails(RuntimeError, "2 by 3 matrices", zeros(3, 2), zeros(2, 3)),
            fails(RuntimeError, "each b matrix is 2 by 2", zeros(2, 2), zeros(3, 3)),
            fails(RuntimeError, "b of type Long and A of type Double", INT, zeros(3, 3)),
        ),
    ),
    OpCase(
        "cholesky_solve",
        lambda rng: [
            sample(rng.standard_normal(B), regular(rng, A), upper)
            for A, B in (((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((0, 0), (0, 2)))
            for upper in (True, False)
        ],
        forward_dtypes=OTHERS,
        differentiable=False,
        out=True,
        errors=(
            fails(RuntimeError, "b should have at least 2", zeros(3), zeros(3, 3)),
            fails(RuntimeError, "u should have at least 2", zeros(3, 2), zeros(3)),
            fails(RuntimeError, "each b matrix is 2 by 2", zeros(2, 2), zeros(3, 3)),
            fails(RuntimeError, "b of type Long and A of type Double", INT, zeros(3, 3)),
        ),
    ),
]

PIVOTS = np.array([2, 3, 3], np.int32)


def factored(swap: bool, *flags: dict[str, Any]) -> Any:
    def samples(rng: np.random.Generator) -> list[Sample]:
        found = []
        for lead in ((), (2,)):
            pivots = np.broadcast_to(PIVOTS, (*lead, 3)).copy()
            for options in flags:
                B = (*lead, 3, 2) if options.get("left", True) else (*lead, 2, 3)
                args = (regular(rng, (*lead, 3, 3)), pivots, rng.standard_normal(B))
                found.append(Sample((args[2], *args[:2]) if swap else args, options))
        return found

    return samples


LU = [
    OpCase(
        "linalg.lu_solve",
        factored(
            False,
            {},
            {"adjoint": True},
            {"left": False},
            {"left": False, "adjoint": True},
        ),
        forward_dtypes=("float16", "int64"),
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "B must have at least 2", np.eye(3), PIVOTS, zeros(3)),
            fails(RuntimeError, "AX = B (3x3 and 2x2)", np.eye(3), PIVOTS, zeros(2, 2)),
            fails(RuntimeError, "scalar type torch.int32", np.eye(3), INT[0], zeros(3, 2)),
            fails(RuntimeError, "Number of pivots per batch", np.eye(3), PIVOTS[:2], zeros(3, 2)),
            fails(RuntimeError, "greater or equal to 1", np.eye(3), PIVOTS * 0, zeros(3, 2)),
            fails(RuntimeError, "smaller or equal to LU", np.eye(3), PIVOTS + 5, zeros(3, 2)),
            fails(RuntimeError, "LU of type Double and B of", np.eye(3), PIVOTS, INT),
        ),
    ),
    OpCase("lu_solve", factored(True, {}), forward_dtypes=("float16",), complex=True, out=True),
    OpCase(
        "linalg.ldl_solve",
        factored(False, {}, {"hermitian": True}),
        forward_dtypes=("float16", "int64"),
        complex=True,
        differentiable=False,
        errors=(
            fails(IndexError, "Dimension out of range", np.eye(3), PIVOTS, zeros(3)),
            fails(RuntimeError, "each b matrix is 2 by 2", np.eye(3), PIVOTS, zeros(2, 2)),
            fails(RuntimeError, "pivots with shape [2]", np.eye(3), PIVOTS[:2], zeros(3, 2)),
            fails(RuntimeError, "to be integers. Got Double", np.eye(3), zeros(3), zeros(3, 2)),
        ),
    ),
]

LEAST_SQUARES = [
    OpCase(
        "linalg.lstsq",
        tolerance=1e-3,
        samples=lambda rng: [
            *(
                sample(regular(rng, A), rng.standard_normal(B), driver=driver)
                for driver in (None, "gels", "gelsd", "gelss")
                for A, B in (((4, 3), (4, 2)), ((3, 4), (3, 2)), ((2, 4, 3), (2, 4, 2)))
            ),
            sample(regular(rng, (4, 3)), rng.standard_normal(4)),
            sample(regular(rng, (2, 4, 3)), rng.standard_normal((2, 4))),
            sample(zeros(0, 3), zeros(0, 2)),
            sample(zeros(3, 0), zeros(3, 2)),
            sample(zeros(3, 0), zeros(3, 2), driver="gelsd"),
            sample(zeros(0, 3, 3), zeros(0, 3, 2)),
        ],
        forward_dtypes=OTHERS,
        complex=True,
        out=True,
        errors=(
            fails(RuntimeError, "input must have at least 2", zeros(3), zeros(3, 2)),
            fails(RuntimeError, "other must have at least 1", zeros(3, 3), np.array(1.0)),
            fails(RuntimeError, "input.size(-2) should match", zeros(4, 3), zeros(3, 2)),
            fails(RuntimeError, "dtype Double and other's dtype Long", zeros(3, 3), INT),
            fails(RuntimeError, "`driver` should be one of", zeros(3, 3), zeros(3, 2), driver="x"),
            fails(RuntimeError, "tensor a (2) must match", zeros(2, 4, 3), zeros(5, 4, 2)),
        ),
    ),
]

CASES = [*SOLVE, *INVERSES, *TRIANGULAR, *LU, *LEAST_SQUARES]
