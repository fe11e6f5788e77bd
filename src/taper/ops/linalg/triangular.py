"""Triangular systems: `linalg.solve_triangular` and the older `triangular_solve`.

Owns: the operators, which many derivatives of linear algebra are made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.arrays.reduction import scalar_type
from taper.opdef import SAME, Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import (
    check_equation,
    check_kernel,
    check_square,
    check_tensors,
    common_batch,
    write_out,
)
from taper.ops.linalg.matrices import conj, mh, mt, product
from taper.ops.shape.triangle import tril, triu
from taper.tensor import Tensor
from taper.userwarning import warn_once

# --- solve_triangular ------------------------------------------------------------------------


@op(
    name="linalg_solve_triangular",
    promote=SAME,
    public=False,
    method=False,
)
def triangular_solution(
    self: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """Solve A X = B or X A = B with a triangular A."""
    check_equation("linalg.solve_triangular", self, B, left)
    check_kernel("triangular_solve_cpu", self)
    batch = common_batch(self, B)
    return _column_major_solution(self, B, batch, upper, left, unitriangular)


def _column_major_solution(
    A: ndarray, B: ndarray, batch: tuple[int, ...], upper: bool, left: bool, unit: bool
) -> ndarray:
    B = np.broadcast_to(B, (*batch, *B.shape[-2:]))
    if left:
        return lapack.by_columns(lapack.solve_triangular(A, B, upper, unit))
    turned = lapack.solve_triangular(A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper, unit)
    return lapack.by_columns(turned.swapaxes(-1, -2))


def solved_triangular(A: Any, B: Any, upper: bool, *, left: bool = True, unit: bool = False) -> Any:
    """Solve a triangular system in formulas: on arrays or Tensors."""
    return triangular_solution(A, B, upper, left, unit)


def _triangle(matrix: Any, upper: bool, unit: bool) -> Any:
    return triu(matrix, 1 if unit else 0) if upper else tril(matrix, -1 if unit else 0)


@derivative(triangular_solution, wrt=("self", "B"))
def triangular_solution_all(grad, self, result, upper, left, unitriangular, needs):
    back = triangular_solution(mh(self), grad, not upper, left, unitriangular)
    of_matrix = None
    if needs[0]:
        outer = product(back, mh(result)) if left else product(mh(result), back)
        of_matrix = -_triangle(outer, upper, unitriangular)
    return of_matrix, back


@tangent_of(triangular_solution)
def triangular_solution_tangent(self, result, upper, left, unitriangular, self_t, B_t):
    right = B_t
    if self_t is not None:
        moved = _triangle(self_t, upper, unitriangular)
        change = product(moved, result) if left else product(result, moved)
        right = -change if right is None else right - change
    return triangular_solution(self, right, upper, left, unitriangular)


def linalg_solve_triangular(
    input: Tensor,
    B: Tensor,
    *,
    upper: bool | None = None,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Any:
    """Solve A X = B or, without `left`, X A = B, reading only a triangle of A, the input.

    >>> import taper
    >>> A = taper.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> taper.linalg.solve_triangular(A, taper.tensor([[3.0], [4.0]]), upper=True)
    tensor([[1.],
            [1.]])
    """
    check_tensors("linalg_solve_triangular", input=input, B=B)
    if upper is None:
        raise TypeError(
            'linalg_solve_triangular() missing 1 required positional arguments: "upper"'
        )
    arguments = (input, B, upper, left, unitriangular)
    if out is not None:
        check = _check_scalar_type
        return write_out(
            "linalg_solve_triangular", triangular_solution, arguments, out, None, check
        )
    return triangular_solution(*arguments)


def _check_scalar_type(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type(result.dtype)} but found {scalar_type(out.dtype)}"
        )


# --- triangular_solve ------------------------------------------------------------------------


@op(
    name="triangular_solve_ex",
    label="triangular_solve",
    node="TriangularSolveBackward0",
    outputs=("solution", "cloned_coefficient"),
    returns=return_types.triangular_solve,
    public=False,
    method=False,
)
def older_solution(
    self: Array,
    A: Array,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Array:
    """Solve A X = B with a triangular A or its transpose; also return a copy of A."""
    for name, matrix in (("b", self), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                f"has {matrix.ndim} dimensions instead"
            )
    check_pair("triangular_solve", self, A)
    check_kernel("triangular_solve_cpu", A)
    batch = common_batch(A, self)
    matrix, reads_upper = (A.swapaxes(-1, -2), not upper) if transpose else (A, upper)
    solution = _column_major_solution(matrix, self, batch, reads_upper, True, unitriangular)
    return solution, lapack.by_columns(np.broadcast_to(A, (*batch, *A.shape[-2:])))


def check_pair(name: str, B: ndarray, A: ndarray) -> None:
    """Check shapes and dtypes for the older solvers."""
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type "
            f"{scalar_type(B.dtype)} and A of type {scalar_type(A.dtype)} instead."
        )
    check_square("", A)
    if A.shape[-1] != B.shape[-2]:
        sizes = [f"{each.shape[-2]} by {each.shape[-1]}" for each in (A, B)]
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {sizes[0]} but each b matrix "
            f"is {sizes[1]}"
        )


@derivative(older_solution, wrt=("self", "A"))
def older_solution_all(
    self,
    A,
    solution,
    upper,
    transpose,
    unitriangular,
    needs,
    grad_solution=None,
    grad_cloned_coefficient=None,
):
    if grad_solution is None:
        return self * 0, grad_cloned_coefficient
    # The adjoint of op(A): of A itself, or of its transpose.
    back = older_solution(grad_solution, conj(A), upper, not transpose, unitriangular)[0]
    of_matrix = None
    if needs[1]:
        if transpose:
            outer = product(conj(solution), mt(back))
        else:
            outer = product(back, mh(solution))
        of_matrix = -_triangle(outer, upper, unitriangular)
        if grad_cloned_coefficient is not None:
            of_matrix = of_matrix + grad_cloned_coefficient
    return back, of_matrix


@tangent_of(older_solution)
def older_solution_tangent(A, solution, upper, transpose, unitriangular, self_t, A_t):
    right = self_t
    if A_t is not None:
        moved = _triangle(A_t, upper, unitriangular)
        change = product(mt(moved) if transpose else moved, solution)
        right = -change if right is None else right - change
    found = older_solution(right, A, upper, transpose, unitriangular)[0]
    return found, A_t


@composite()
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Any = None,
) -> Any:
    """Solve A X = B with a triangular A, and copy A; `linalg.solve_triangular` is newer.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.triangular_solve(taper.ones(2, 1), 2 * taper.eye(2)).solution
    tensor([[0.5000],
            [0.5000]])
    """
    check_tensors("triangular_solve", input=input, A=A)
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will "
        "be removed in a future PyTorch release.\ntorch.linalg.solve_triangular has its arguments "
        "reversed and does not return a copy of one of the inputs.\nX = torch.triangular_solve(B, "
        "A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    )
    arguments = (input, A, upper, transpose, unitriangular)
    if out is not None:
        returns = return_types.triangular_solve
        return write_out("triangular_solve", older_solution, arguments, out, returns)
    return older_solution(*arguments)
