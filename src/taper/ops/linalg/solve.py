"""Linear systems and inverses: `linalg.solve`, `linalg.inv`, `tensorsolve`, `tensorinv`.

Owns: the two operators. They never raise for singular matrices; the public functions look at `info`
and raise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.arrays.reduction import scalar_type
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import (
    check_equation,
    check_floating,
    check_info,
    check_kernel,
    check_square,
    check_tensors,
    common_batch,
    singular,
    unsolvable,
    write_out,
)
from taper.ops.linalg.matrices import mh, product
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.ops.shape.reshape import reshape
from taper.ops.shape.transpose import movedim
from taper.tensor import Tensor

# --- solve -----------------------------------------------------------------------------------


def is_vector(A: Any, B: Any) -> bool:
    """Tell whether B is one vector, or one for each matrix, instead of matrices of columns."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


@op(
    label="linalg_solve",
    outputs=("result", "LU", "pivots", "info"),
    nondifferentiable=(1, 2, 3),
    public=False,
    method=False,
)
def _linalg_solve_ex(A: Array, B: Array, left: bool = True) -> Array:
    """Solve A X = B or X A = B; also return LU factors, pivots and the first zero pivot."""
    check_square("linalg.solve", A)
    check_floating("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{scalar_type(A.dtype)} and B of type {scalar_type(B.dtype)} instead"
        )
    vector = is_vector(A, B)
    right = B[..., None] if vector else B
    check_equation("linalg.solve", A, right, left)
    check_kernel("lu_cpu", A, empty=False)
    common_batch(A, right)
    LU, pivots, info = lapack.lu_factor(A)
    found = _from_factors(A, LU, pivots, info, right, left)
    if vector:
        found = np.ascontiguousarray(found[..., 0])
        found = found if found.ndim == 1 else lapack.by_columns(found)
    return found, LU, pivots, info


def _from_factors(
    A: ndarray, LU: ndarray, pivots: ndarray, info: ndarray, right: ndarray, left: bool
) -> ndarray:
    """Solve with LAPACK, which is faster, where no matrix is singular; else with infinities."""
    if not A.size or not right.size:
        batch = np.broadcast_shapes(A.shape[:-2], right.shape[:-2])
        found = np.zeros((*batch, *right.shape[-2:]), A.dtype)
    elif info.any():
        found = lapack.lu_solve(LU, pivots, right, left)
    elif left:
        found = np.linalg.solve(A, right)
    else:
        found = np.linalg.solve(A.swapaxes(-1, -2), right.swapaxes(-1, -2)).swapaxes(-1, -2)
    return lapack.by_columns(found) if left else np.ascontiguousarray(found)


def solved(A: Any, B: Any, left: bool = True) -> Any:
    """Solve A X = B in formulas, where B is matrices: on arrays or Tensors."""
    if type(A) is not ndarray:
        return _linalg_solve_ex(A, B, left)[0]
    try:
        if left:
            return np.linalg.solve(A, B)
        return np.linalg.solve(A.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        LU, pivots, _ = lapack.lu_factor(A)
        return lapack.lu_solve(LU, pivots, B, left)


@derivative(_linalg_solve_ex, wrt=("A", "B"))
def solve_all(grad, A, LU, pivots, result, left, needs):
    vector = is_vector(A, result)
    if vector:
        grad, result = unsqueeze(grad, -1), unsqueeze(result, -1)
    if type(A) is ndarray:
        back = lapack.lu_solve(LU, pivots, grad, left, True)
    else:
        back = solved(mh(A), grad, left)
    of_matrix = None
    if needs[0]:
        of_matrix = -(product(back, mh(result)) if left else product(mh(result), back))
    return of_matrix, squeeze_dim(back, -1) if vector else back


@tangent_of(_linalg_solve_ex)
def solve_tangent(A, result, left, A_t, B_t):
    vector = is_vector(A, result)
    right = B_t
    if A_t is not None:
        known = unsqueeze(result, -1) if vector else result
        change = product(A_t, known) if left else product(known, A_t)
        change = squeeze_dim(change, -1) if vector else change
        right = -change if right is None else right - change
    return _linalg_solve_ex(A, right, left)[0], None, None, None


def _result_and_info(A: Tensor, B: Tensor, left: bool) -> tuple[Any, Any]:
    result, _, _, info = _linalg_solve_ex(A, B, left)
    return result, info


def linalg_solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """Solve as `linalg.solve`, but report singular matrices in `info` instead of raising.

    >>> import taper
    >>> taper.linalg.solve_ex(taper.zeros(2, 2), taper.ones(2)).info
    tensor(1, dtype=torch.int32)
    """
    check_tensors("linalg_solve_ex", A=A, B=B)
    if out is not None:
        returns = return_types.linalg_solve_ex
        return write_out("_linalg_solve_ex", _result_and_info, (A, B, left), out, returns)
    result, info = _result_and_info(A, B, left)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, unsolvable)
    return return_types.linalg_solve_ex((result, info))


def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Any:
    """Solve A X = B or, without `left`, X A = B. B may be a vector.

    >>> import taper
    >>> taper.linalg.solve(taper.tensor([[2.0, 0.0], [0.0, 4.0]]), taper.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    check_tensors("linalg_solve", A=A, B=B)
    if out is not None:
        return write_out("_linalg_solve_ex", _checked_solution, (A, B, left), out)
    return _checked_solution(A, B, left)


def _checked_solution(A: Tensor, B: Tensor, left: bool) -> Any:
    result, info = _result_and_info(A, B, left)
    check_info("torch.linalg.solve", info, unsolvable)
    return result


# --- inv -------------------------------------------------------------------------------------


@op(
    name="linalg_inv_ex",
    label="linalg_inv",
    outputs=("inverse", "info"),
    nondifferentiable=(1,),
    returns=return_types.linalg_inv_ex,
    public=False,
    method=False,
)
def inverse_ex(A: Array) -> Array:
    """Invert each matrix, and return the number of the first zero pivot."""
    check_square("linalg.inv", A)
    check_floating("linalg.inv", A, low=False)
    try:
        info = lapack.zeros(A, A.shape[:-2], np.int32)
        return lapack.by_columns(np.linalg.inv(A)), info
    except np.linalg.LinAlgError:
        LU, pivots, info = lapack.lu_factor(A)
        found = lapack.lu_solve(LU, pivots, lapack.identity(A.shape, A.dtype))
        return lapack.by_columns(found), info


@derivative(inverse_ex, wrt="A")
def inverse_grad(grad, inverse):
    turned = mh(inverse)
    return -product(turned, grad, turned)


@tangent_of(inverse_ex)
def inverse_tangent(inverse, A_t):
    return -product(inverse, A_t, inverse), None


def linalg_inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """Invert as `linalg.inv`, but report singular matrices in `info` instead of raising.

    >>> import taper
    >>> taper.linalg.inv_ex(taper.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    check_tensors("linalg_inv_ex", A=A)
    if out is not None:
        return write_out("linalg_inv_ex", inverse_ex, (A,), out, return_types.linalg_inv_ex)
    found = inverse_ex(A)
    if check_errors:
        check_info("linalg.inv_ex", found.info, singular)
    return found


def linalg_inv(A: Tensor, *, out: Tensor | None = None) -> Any:
    """Invert each square matrix.

    >>> import taper
    >>> taper.linalg.inv(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_tensors("linalg_inv", A=A)
    if out is not None:
        return write_out("linalg_inv_ex", _checked_inverse, (A,), out)
    return _checked_inverse(A)


def _checked_inverse(A: Tensor, name: str = "linalg.inv") -> Any:
    found, info = inverse_ex(A)
    check_info(name, info, singular)
    return found


@composite()
def inverse(input: Tensor, *, out: Tensor | None = None) -> Any:
    """Invert matrices: another name of `linalg.inv`.

    >>> import taper
    >>> taper.inverse(taper.tensor([[2.0]]))
    tensor([[0.5000]])
    """
    check_tensors("inverse", input=input)
    return linalg_inv(input, out=out)


# --- tensors as matrices ---------------------------------------------------------------------


def linalg_tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Any:
    """Invert the linear map that `tensordot` over the last dimensions is.

    The first `ind` dimensions are the rows of the matrix, the others its columns.

    >>> import taper
    >>> taper.linalg.tensorinv(taper.eye(4).reshape(4, 2, 2), ind=1).shape
    torch.Size([2, 2, 4])
    """
    check_tensors("linalg_tensorinv", input=input)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = tuple(input.shape)
    first, rest = math.prod(shape[:ind]), math.prod(shape[ind:])
    if first != rest:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {rest} != {first}"
        )

    def compute(given: Tensor) -> Any:
        found = _checked_inverse(reshape(given, (first, rest)), "inv")
        return reshape(found, (*shape[ind:], *shape[:ind]))

    if out is None:
        return compute(input)
    return write_out(None, lambda given: compute(given).contiguous(), (input,), out)


def linalg_tensorsolve(
    input: Tensor, other: Tensor, dims: Any = None, *, out: Tensor | None = None
) -> Any:
    """Solve `tensordot(A, X, X.ndim)` = B; `dims` of A are moved to its end first.

    >>> import taper
    >>> taper.linalg.tensorsolve(2 * taper.eye(4).reshape(2, 2, 4), taper.ones(2, 2))
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    check_tensors("linalg_tensorsolve", input=input, other=other)

    def compute(A: Tensor, B: Tensor) -> Any:
        if dims is not None:
            A = movedim(A, tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
        shape = tuple(A.shape)
        result_shape = shape[B.dim() :]
        count, size = math.prod(result_shape), math.prod(shape[: B.dim()])
        if count != size:
            raise RuntimeError(
                "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                f"prod(self.shape[:other.ndim]), but got {count} != {size}"
            )
        matrix = reshape(A, (count, count))
        return reshape(_checked_solution(matrix, reshape(B, (count,)), True), result_shape)

    if out is not None:
        return write_out(None, compute, (input, other), out)
    return compute(input, other)
