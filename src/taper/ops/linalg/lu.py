"""LU factors: `linalg.lu`, `lu_factor`, `lu_solve`, and PyTorch's older names for them.

Owns: the three operators and their derivatives.  A = P L U; the pivots are LAPACK's.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from taper import return_types
from taper.arrays import lapack
from taper.arrays.reduction import scalar_type
from taper.arrays.strides import Shape
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import (
    check_equation,
    check_floating,
    check_info,
    check_kernel,
    check_square,
    check_tensors,
    common_batch,
    write_out,
)
from taper.ops.linalg.matrices import columns, constant, joined, mh, mt, product, rows
from taper.ops.linalg.triangular import solved_triangular
from taper.ops.shape.triangle import tril, triu
from taper.tensor import Tensor, array_of
from taper.userwarning import warn_once

# --- shared by the formulas ------------------------------------------------------------------


def lu_gradient(grad_l: Any, grad_u: Any, P: Any, L: Any, U: Any) -> Any:
    """Compute the gradient of A = P L U from those of L and U; one of the two may be None."""
    size = L.shape[-1]
    tall, wide = L.shape[-2] > size, U.shape[-1] > size
    top, square = (rows(L, None, size), U) if tall else (L, columns(U, None, size))
    inner = _lower_part(grad_l, grad_u, top, U, size, wide)
    upper = _upper_part(grad_l, grad_u, L, square, size, tall)
    inner = upper if inner is None else inner if upper is None else inner + upper
    first = solved_triangular(mh(top), inner, True, unit=True)
    first = solved_triangular(mh(square), first, False, left=False)
    if wide:
        rest = columns(grad_u, size, None) if grad_u is not None else None
        rest = (
            _zeros(L, U, size) if rest is None else solved_triangular(mh(L), rest, True, unit=True)
        )
        return product(P, joined([first, rest], -1))
    if tall:
        below = rows(grad_l, size, None) if grad_l is not None else None
        if below is None:
            below = mh(_zeros(mh(U), mh(L), size))
        else:
            below = solved_triangular(mh(U), below, False, left=False)
        return product(P, joined([first, below], -2))
    return product(P, first)


def _zeros(L: Any, U: Any, size: int) -> Any:
    shape = (*L.shape[:-1], U.shape[-1] - size)
    return constant(np.zeros(shape, array_of(L).dtype), L)


def _lower_part(grad_l: Any, grad_u: Any, top: Any, U: Any, size: int, wide: bool) -> Any:
    inner = None
    if grad_l is not None:
        inner = product(mh(top), rows(grad_l, None, size))
    if wide and grad_u is not None:
        part = product(columns(grad_u, size, None), mh(columns(U, size, None)))
        inner = -part if inner is None else inner - part
    return None if inner is None else tril(inner, -1)


def _upper_part(grad_l: Any, grad_u: Any, L: Any, square: Any, size: int, tall: bool) -> Any:
    inner = None
    if grad_u is not None:
        inner = product(columns(grad_u, None, size), mh(square))
    if tall and grad_l is not None:
        part = product(mh(rows(L, size, None)), rows(grad_l, size, None))
        inner = -part if inner is None else inner - part
    return None if inner is None else triu(inner)


def lu_tangent(tangent: Any, P: Any, L: Any, U: Any) -> tuple[Any, Any]:
    """Compute the tangents of L and U from that of A."""
    size = L.shape[-1]
    moved = product(mt(P), tangent)
    if L.shape[-2] > size:
        top = rows(L, None, size)
        inner = solved_triangular(top, rows(moved, None, size), False, unit=True)
        inner = solved_triangular(U, inner, True, left=False)
        below = solved_triangular(U, rows(moved, size, None), True, left=False)
        below = below - product(rows(L, size, None), triu(inner))
        return joined([product(top, tril(inner, -1)), below], -2), product(triu(inner), U)
    square = columns(U, None, size)
    solved = solved_triangular(L, moved, False, unit=True)
    inner = solved_triangular(square, columns(solved, None, size), True, left=False)
    lower, upper = product(L, tril(inner, -1)), product(triu(inner), square)
    if U.shape[-1] > size:
        rest = columns(solved, size, None) - product(tril(inner, -1), columns(U, size, None))
        upper = joined([upper, rest], -1)
    return lower, upper


def _unpacked(LU: Any, pivots: Any) -> tuple[Any, Any, Any]:
    """Unpack P, L and U, as arrays or Tensors."""
    return lu_unpack_all(LU, pivots, True, True)


def _packed(lower: Any, upper: Any) -> Any:
    """Pack L without its diagonal and U into one matrix; one may be longer than the other."""
    size = lower.shape[-1]
    lower = tril(lower, -1)
    if lower.shape[-2] > size:
        return joined([rows(lower, None, size) + upper, rows(lower, size, None)], -2)
    if upper.shape[-1] > size:
        return joined([lower + columns(upper, None, size), columns(upper, size, None)], -1)
    return lower + upper


# --- lu_factor_ex ----------------------------------------------------------------------------


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@op(
    name="linalg_lu_factor_ex",
    outputs=("LU", "pivots", "info"),
    nondifferentiable=(1, 2),
    returns=return_types.linalg_lu_factor_ex,
    public=False,
    method=False,
)
def lu_factors(A: Array, pivot: bool = True) -> Array:
    """Compute LU factors in one matrix, pivots, and the number of U's first zero pivot."""
    if A.ndim < 2:
        raise RuntimeError(
            "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(A.shape)} instead"
        )
    check_kernel("lu_cpu", A, empty=False)
    _check_pivot(pivot)
    return lapack.lu_factor(A)


@derivative(lu_factors, wrt="A")
def lu_factor_ex_grad(grad, LU, pivots, pivot):
    P, L, U = _unpacked(LU, pivots)
    size = L.shape[-1]
    return lu_gradient(tril(columns(grad, None, size), -1), triu(rows(grad, None, size)), P, L, U)


@tangent_of(lu_factors)
def lu_factor_ex_tangent(A_t, LU, pivots):
    return _packed(*lu_tangent(A_t, *_unpacked(LU, pivots))), None, None


def _zero_pivot(code: int) -> str:
    return (
        f"U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. "
        "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )


def linalg_lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """Factor A = P L U: both factors in one matrix, LAPACK's pivots, `info` (where U has a zero).

    >>> import taper
    >>> taper.linalg.lu_factor_ex(taper.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=torch.int32)
    """
    check_tensors("linalg_lu_factor_ex", A=A)
    if out is not None:
        returns = return_types.linalg_lu_factor_ex
        return write_out("linalg_lu_factor_ex", lu_factors, (A, pivot), out, returns)
    found = lu_factors(A, pivot)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", found.info, _zero_pivot, RuntimeError)
    return found


def linalg_lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """Factor A = P L U for `linalg.lu_solve`: both factors in one matrix, and LAPACK's pivots.

    >>> import taper
    >>> taper.linalg.lu_factor(taper.tensor([[1.0, 2.0], [4.0, 0.0]])).LU
    tensor([[4.0000, 0.0000],
            [0.2500, 2.0000]])
    """
    check_tensors("linalg_lu_factor", A=A)
    if out is not None:
        returns = return_types.linalg_lu_factor
        return write_out("linalg_lu_factor_ex", linalg_lu_factor, (A,), out, returns)
    LU, pivots, info = lu_factors(A, pivot)
    check_info("torch.linalg.lu_factor", info, _zero_pivot, RuntimeError)
    return return_types.linalg_lu_factor((LU, pivots))


@overload
def lu(
    A: Tensor, pivot: bool = True, get_infos: Literal[False] = False, out: Any = None
) -> tuple[Tensor, Tensor]: ...
@overload
def lu(
    A: Tensor, pivot: bool = True, *, get_infos: Literal[True], out: Any = None
) -> tuple[Tensor, Tensor, Tensor]: ...
@composite(method=False)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Factor A = P L U: both factors in one matrix, and pivots; `linalg.lu_factor` is newer.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu(taper.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
    check_tensors("_lu_with_info", input=A)
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex "
        "and will be removed in a future PyTorch release.\nLU, pivots = torch.lu(A, "
        "compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, "
        "compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
        "should be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    found = return_types._lu_with_info(lu_factors(A, pivot))
    result = found if get_infos else tuple(found[:2])
    if out is not None:
        if not isinstance(out, (tuple, list)) or not all(isinstance(each, Tensor) for each in out):
            raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        if len(out) != len(result):
            raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
        for each, value in zip(out, result, strict=True):
            each.resize_as_(value).copy_(value)
        return out
    return result


@composite(public=False, name="lu")
def lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Factor as the function does, into a plain tuple."""
    found: Any = lu(self, pivot, get_infos=get_infos)  # type: ignore[call-overload]
    return tuple(found)


# --- lu --------------------------------------------------------------------------------------


@op(
    label="linalg_lu",
    node="LinalgLuBackward0",
    outputs=("P", "L", "U"),
    nondifferentiable=(0,),
    returns=return_types.linalg_lu,
    public=False,
    method=False,
)
def linalg_lu_factors(A: Array, pivot: bool = True) -> Array:
    """Compute P, L and U of A = P L U."""
    if A.ndim < 2:
        raise RuntimeError(
            "linalg.lu: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(A.shape)} instead"
        )
    check_kernel("lu_cpu", A, empty=False)
    _check_pivot(pivot)
    LU, pivots, _ = lapack.lu_factor(A)
    return lu_unpack_all.op.kernel(LU, pivots, True, True)


@derivative(linalg_lu_factors, wrt="A")
def lu_grad(L, P, U, pivot, grad_L=None, grad_U=None):
    return lu_gradient(grad_L, grad_U, P, L, U)


@tangent_of(linalg_lu_factors)
def lu_factors_tangent(A_t, P, L, U):
    return None, *lu_tangent(A_t, P, L, U)


def linalg_lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """Factor A = P L U: a permutation, a lower and an upper triangle.

    >>> import taper
    >>> taper.linalg.lu(taper.tensor([[1.0, 2.0], [4.0, 0.0]])).L
    tensor([[1.0000, 0.0000],
            [0.2500, 1.0000]])
    """
    check_tensors("linalg_lu", A=A)
    if out is not None:
        return write_out("linalg_lu", linalg_lu_factors, (A, pivot), out, return_types.linalg_lu)
    return linalg_lu_factors(A, pivot)


# --- lu_unpack -------------------------------------------------------------------------------


@op(
    name="lu_unpack_all",
    label="lu_unpack",
    node="LuUnpackBackward0",
    outputs=("P", "L", "U"),
    nondifferentiable=(0,),
    returns=return_types.lu_unpack,
    saved_sizes={"LU_data": (-1, -2)},
    public=False,
    method=False,
)
def lu_unpack_all(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> Array:
    """Unpack P, L and U from what `linalg.lu_factor` returns; those not asked for are empty."""
    if LU_data.ndim < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(LU_data.shape)} instead"
        )
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    *lead, height, width = LU_data.shape
    size, dtype = min(height, width), LU_data.dtype
    P = L = U = np.empty(0, dtype)
    if unpack_data:
        L = np.ascontiguousarray(np.tril(LU_data[..., :, :size], -1))
        L[..., range(size), range(size)] = 1
        U = np.ascontiguousarray(np.triu(LU_data[..., :size, :]))
    if unpack_pivots:
        if LU_pivots.size and not 1 <= LU_pivots.min() <= LU_pivots.max() <= height:
            raise RuntimeError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you "
                "properly pass the result of lu_factor?"
            )
        P = lapack.permutation_matrix(LU_pivots, height, dtype)
        P = np.array(np.broadcast_to(P, (*lead, height, height)), order="C")
    return P, L, U


@derivative(lu_unpack_all, wrt="LU_data")
def lu_unpack_grad(LU_data_shape, grad_L=None, grad_U=None):
    height, width = LU_data_shape[-2:]
    size = min(height, width)
    if (grad_L if grad_L is not None else grad_U).ndim < 2:  # nothing was unpacked
        return None
    lower = upper = None
    if grad_L is not None:
        lower = _padded(tril(grad_L, -1), LU_data_shape, size)
    if grad_U is not None:
        upper = _padded(triu(grad_U), LU_data_shape, size)
    return lower if upper is None else upper if lower is None else lower + upper


def _padded(part: Any, shape: Shape, size: int) -> Any:
    """Pad a part with zeros below or to the right, up to the shape of the whole."""
    for dim in (-2, -1):
        missing = shape[dim] - part.shape[dim]
        if missing:
            zeros = list(part.shape)
            zeros[dim] = missing
            empty = constant(np.zeros(zeros, array_of(part).dtype), part)
            part = joined([part, empty], dim)
    return part


@tangent_of(lu_unpack_all)
def lu_unpack_tangent(LU_data_t, unpack_data):
    if LU_data_t is None or not unpack_data:
        return None, None, None
    size = min(LU_data_t.shape[-2:])
    return None, tril(columns(LU_data_t, None, size), -1), triu(rows(LU_data_t, None, size))


@composite(method=False)
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> Any:
    """Unpack P, L and U from what `linalg.lu_factor` returns.

    >>> import taper
    >>> taper.lu_unpack(*taper.linalg.lu_factor(taper.tensor([[1.0, 2.0], [4.0, 0.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    check_tensors("lu_unpack", LU_data=LU_data, LU_pivots=LU_pivots)
    arguments = (LU_data, LU_pivots, unpack_data, unpack_pivots)
    if out is not None:
        return write_out("lu_unpack", lu_unpack_all, arguments, out, return_types.lu_unpack)
    return lu_unpack_all(*arguments)


# --- lu_solve --------------------------------------------------------------------------------


@op(
    name="linalg_lu_solve",
    label="linalg_lu_solve",
    node="LinalgLuSolveBackward0",
    public=False,
    method=False,
)
def lu_solved(
    LU: Array, pivots: Array, B: Array, left: bool = True, adjoint: bool = False
) -> Array:
    """Solve A X = B or X A = B with the LU factors of A."""
    _check_lu_solve(LU, pivots, B, left)
    if B.size:
        check_kernel("linalg.lu_solve_cpu", LU)
    common_batch(LU, B)
    found = lapack.lu_solve(LU, pivots, B, left, adjoint)
    found = found.astype(B.dtype, copy=False)  # NumPy forgets bfloat16 if there are no elements
    return lapack.by_columns(found) if left else lapack.by_columns(mt(found)).swapaxes(-1, -2)


def _check_lu_solve(LU: Any, pivots: Any, B: Any, left: bool) -> None:
    check_floating("torch.linalg.lu_solve", LU)
    if LU.dtype != B.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{scalar_type(LU.dtype)} and B of type {scalar_type(B.dtype)} instead"
        )
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_square("torch.linalg.lu_solve", LU)
    check_equation("linalg.lu_solve", LU, B, left)
    if pivots.shape[-1:] != LU.shape[-1:]:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix"
        )
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots.shape)} instead"
        )
    if pivots.size and pivots.min() < 1:
        raise RuntimeError(
            "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass "
            "the result of lu_factor?"
        )
    if pivots.size and pivots.max() > LU.shape[-2]:
        raise RuntimeError(
            "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you "
            "properly pass the result of lu_factor?"
        )


@derivative(lu_solved, wrt="LU")
def lu_solve_lu(grad, LU, pivots, result, left, adjoint):
    back = lu_solved(LU, pivots, grad, left, not adjoint)
    if left:
        of_matrix = product(result, mh(back)) if adjoint else product(back, mh(result))
    else:
        of_matrix = product(mh(back), result) if adjoint else product(mh(result), back)
    P, L, U = _unpacked(LU, pivots)
    moved = -product(mt(P), of_matrix)
    return tril(product(moved, mh(U)), -1) + triu(product(mh(L), moved))


@derivative(lu_solved, wrt="B")
def lu_solve_b(grad, LU, pivots, left, adjoint):
    return lu_solved(LU, pivots, grad, left, not adjoint)


@tangent_of(lu_solved)
def lu_solve_tangent(LU, pivots, result, left, adjoint, LU_t, B_t):
    right = B_t
    if LU_t is not None:
        P, L, U = _unpacked(LU, pivots)
        moved = product(P, product(tril(LU_t, -1), U) + product(L, triu(LU_t)))
        moved = mh(moved) if adjoint else moved
        change = product(moved, result) if left else product(result, moved)
        right = -change if right is None else right - change
    return lu_solved(LU, pivots, right, left, adjoint)


def linalg_lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Any:
    """Solve A X = B, or X A = B without `left`, with what `linalg.lu_factor` returns.

    >>> import taper
    >>> factors = taper.linalg.lu_factor(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> taper.linalg.lu_solve(*factors, taper.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
    check_tensors("linalg_lu_solve", LU=LU, pivots=pivots, B=B)
    arguments = (LU, pivots, B, left, adjoint)
    if out is not None:
        return write_out("linalg_lu_solve", lu_solved, arguments, out)
    return lu_solved(*arguments)


@composite()
def lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Any:
    """Solve A X = B with LU factors: `linalg.lu_solve` with its arguments in another order.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.lu_solve(taper.ones(2, 1), *taper.linalg.lu_factor(taper.eye(2)))
    tensor([[1.],
            [1.]])
    """
    check_tensors("lu_solve", input=input, LU_data=LU_data, LU_pivots=LU_pivots)
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a "
        "future PyTorch release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX "
        "= torch.lu_solve(B, LU, pivots)\nshould be replaced with\nX = torch.linalg.lu_solve(LU, "
        "pivots, B)"
    )
    return linalg_lu_solve(LU_data, LU_pivots, input, out=out)
