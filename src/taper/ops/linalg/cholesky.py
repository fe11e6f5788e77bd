"""Factors of symmetric matrices: Cholesky's, LDL, and solving with them.

Owns: `linalg.cholesky`, `cholesky_solve`, `cholesky_inverse`, `linalg.ldl_factor`, `ldl_solve`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack, ldl
from taper.arrays.reduction import scalar_type
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import (
    check_floating,
    check_info,
    check_kernel,
    check_square,
    check_tensors,
    common_batch,
    no_derivative,
    not_positive_definite,
    singular,
    write_out,
)
from taper.ops.linalg.matrices import lower_with_half_diagonal, mh, product, symmetric
from taper.ops.linalg.triangular import check_pair, solved_triangular
from taper.ops.shape.triangle import tril
from taper.tensor import Tensor
from taper.userwarning import warn_once

# --- cholesky --------------------------------------------------------------------------------


def _factor(A: ndarray, upper: bool) -> tuple[ndarray, ndarray]:
    factor, info = lapack.cholesky(lapack.adjoint(A) if upper else A)
    return lapack.by_columns(lapack.adjoint(factor) if upper else factor), info


def cholesky_gradient(grad: Any, factor: Any, upper: bool) -> Any:
    """Compute the gradient of A = L L^H from that of L.

    As in PyTorch, the imaginary part of the diagonal of L^H grad is kept; but for that the gradient
    is Hermitian.
    """
    L, grad = (mh(factor), mh(grad)) if upper else (factor, grad)
    inner = tril(product(mh(L), grad))
    inner = (inner + mh(tril(inner, -1))) * 0.5
    first = solved_triangular(mh(L), inner, True)
    return solved_triangular(L, first, False, left=False)


@op(
    name="linalg_cholesky_ex",
    label="linalg_cholesky",
    outputs=("L", "info"),
    nondifferentiable=(1,),
    returns=return_types.linalg_cholesky_ex,
    public=False,
    method=False,
)
def cholesky_factor(self: Array, upper: bool = False) -> Array:
    """Compute Cholesky's factor, and the order of the first minor that is not positive-definite."""
    check_square("linalg.cholesky", self)
    check_floating("linalg.cholesky", self)
    check_kernel("cholesky_cpu", self, empty=False)
    return _factor(self, upper)


@derivative(cholesky_factor, wrt="self")
def cholesky_factor_self(grad, L, upper):
    return cholesky_gradient(grad, L, upper)


@tangent_of(cholesky_factor)
def cholesky_factor_tangent(self_t, L, upper):
    lower = mh(L) if upper else L
    inner = solved_triangular(lower, self_t, False)
    inner = solved_triangular(mh(lower), inner, True, left=False)
    found = product(lower, lower_with_half_diagonal(tril(inner)))
    return mh(found) if upper else found, None


def linalg_cholesky_ex(
    input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """Factor as `linalg.cholesky`, and report in `info` what is not positive-definite.

    >>> import taper
    >>> taper.linalg.cholesky_ex(taper.tensor([[1.0, 0.0], [0.0, -1.0]])).info
    tensor(2, dtype=torch.int32)
    """
    check_tensors("linalg_cholesky_ex", input=input)
    if out is not None:
        returns = return_types.linalg_cholesky_ex
        return write_out("linalg_cholesky_ex", cholesky_factor, (input, upper), out, returns)
    found = cholesky_factor(input, upper)
    if check_errors:
        check_info("linalg.cholesky_ex", found.info, not_positive_definite)
    return found


def linalg_cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Any:
    """Factor positive-definite matrices as A = L L^H; return L or its adjoint.

    >>> import taper
    >>> taper.linalg.cholesky(taper.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    check_tensors("linalg_cholesky", input=input)
    if out is not None:
        return write_out("linalg_cholesky_ex", _checked_factor, (input, upper), out)
    return _checked_factor(input, upper)


def _checked_factor(input: Tensor, upper: bool) -> Any:
    factor, info = cholesky_factor(input, upper)
    check_info("linalg.cholesky", info, not_positive_definite)
    return factor


_OLDER = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a "
    "future PyTorch release.\nL = torch.cholesky(A)\nshould be replaced with\nL = "
    "torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\nshould be replaced "
    "with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results "
    "for all valid (symmetric positive definite) inputs."
)


@op(name="cholesky_older", label="cholesky", node="CholeskyBackward0", public=False, method=False)
def older_cholesky(self: Array, upper: bool = False) -> Array:
    """Compute Cholesky's factor, under its older name."""
    warn_once(_OLDER)
    if not self.size and self.ndim > 1:
        return self.copy()
    check_square("cholesky", self)
    check_kernel("cholesky_cpu", self)
    factor, info = _factor(self, upper)
    check_info("cholesky", info, not_positive_definite)
    return factor


@derivative(older_cholesky, wrt="self")
def older_cholesky_self(grad, result, upper):
    return cholesky_gradient(grad, result, upper)


@composite()
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Any:
    """Factor matrices as A = L L^H; `linalg.cholesky` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.cholesky(taper.tensor([[4.0]]))
    tensor([[2.]])
    """
    check_tensors("cholesky", input=input)
    if out is not None:

        def row_major(*given: Any) -> Any:
            warn_once(_OLDER)  # PyTorch's function with `out` calls the one without
            return older_cholesky(*given).contiguous()

        return write_out("cholesky", row_major, (input, upper), out, None, None)
    return older_cholesky(input, upper)


# --- solving with a factor -------------------------------------------------------------------


def _solve_with(factor: ndarray, right: ndarray, upper: bool) -> ndarray:
    turned = lapack.adjoint(factor)
    if upper:
        first = lapack.solve_triangular(turned, right, False, False)
        return lapack.solve_triangular(factor, first, True, False)
    first = lapack.solve_triangular(factor, right, False, False)
    return lapack.solve_triangular(turned, first, True, False)


def _factor_gradient(inner: Any, factor: Any, upper: bool) -> Any:
    """Compute the change of L (or of U) that belongs to a change of A = L L^H by -inner."""
    inner = symmetric(inner)
    return -product(factor, inner) if upper else -product(inner, factor)


@op(
    name="cholesky_solution",
    label="cholesky_solve",
    node="CholeskySolveBackward0",
    public=False,
    method=False,
)
def cholesky_solution(self: Array, input2: Array, upper: bool = False) -> Array:
    """Solve A X = B with Cholesky's factor of A."""
    for name, matrix in (("b", self), ("u", input2)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {matrix.ndim} dimensions "
                "instead"
            )
    check_pair("cholesky_solve", self, input2)
    check_kernel("cholesky_solve_cpu", self)
    common_batch(input2, self)
    return lapack.by_columns(_solve_with(input2, self, upper))


@derivative(cholesky_solution, wrt=("self", "input2"))
def cholesky_solution_all(grad, self, input2, result, upper, needs):
    back = cholesky_solution(grad, input2, upper)
    if not needs[1]:
        return back, None
    return back, _factor_gradient(product(back, mh(result)), input2, upper)


@tangent_of(cholesky_solution)
def cholesky_solution_tangent(input2, result, upper, self_t, input2_t):
    right = self_t
    if input2_t is not None:
        half = product(mh(input2_t), input2) if upper else product(input2_t, mh(input2))
        change = product(symmetric(half), result)
        right = -change if right is None else right - change
    return cholesky_solution(right, input2, upper)


@composite()
def cholesky_solve(
    input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Any:
    """Solve A X = B with Cholesky's factor of A, the second argument.

    >>> import taper
    >>> taper.cholesky_solve(taper.tensor([[4.0]]), taper.tensor([[2.0]]))
    tensor([[1.]])
    """
    check_tensors("cholesky_solve", input=input, input2=input2)
    if out is not None:
        arguments = (input, input2, upper)
        return write_out("cholesky_solve", cholesky_solution, arguments, out, None, None)
    return cholesky_solution(input, input2, upper)


@op(
    name="inverse_from_factor",
    label="cholesky_inverse",
    node="CholeskyInverseBackward0",
    public=False,
    method=False,
)
def inverse_from_factor(self: Array, upper: bool = False) -> Array:
    """Invert A with its Cholesky factor."""
    check_square("cholesky_inverse", self)
    check_kernel("cholesky_inverse_out_cpu", self)
    diagonal = np.diagonal(self, axis1=-2, axis2=-1)
    zeros = diagonal == 0
    info = np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0) if zeros.size else np.zeros((), int)
    check_info("cholesky_inverse", np.asarray(info), singular)
    identity = lapack.identity(self.shape, self.dtype)
    if self.dtype.kind == "c" and diagonal.imag.any():
        return lapack.by_columns(_inverse_by_real_diagonal(self, identity, upper))
    return lapack.by_columns(_solve_with(self, identity, upper))


def _inverse_by_real_diagonal(factor: ndarray, identity: ndarray, upper: bool) -> ndarray:
    """Compute what LAPACK makes of a matrix that is no factor, as its diagonal is not real.

    LAPACK inverts the triangle, then multiplies with the real part of the diagonal alone; only the
    last element of the diagonal keeps an imaginary part.
    """
    inverse = lapack.solve_triangular(factor, identity, upper, False)
    diagonal = np.einsum("...ii->...i", inverse)
    last = diagonal[..., -1].copy()
    diagonal[...] = diagonal.real
    turned = lapack.adjoint(inverse)
    result = np.matmul(inverse, turned) if upper else np.matmul(turned, inverse)
    result[..., -1, -1] += 1j * (last.real * last.imag)
    return result


@derivative(inverse_from_factor, wrt="self")
def inverse_from_factor_self(grad, self, result, upper):
    # The sum comes first: with a factor whose diagonal is not real, the result is not Hermitian.
    inner = product(result, symmetric(grad), result)
    return -product(self, inner) if upper else -product(inner, self)


@tangent_of(inverse_from_factor)
def inverse_from_factor_tangent(self, self_t, result, upper):
    half = product(mh(self_t), self) if upper else product(self_t, mh(self))
    return -product(result, symmetric(half), result)


@composite()
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Any:
    """Invert A with its Cholesky factor.

    >>> import taper
    >>> taper.cholesky_inverse(taper.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    check_tensors("cholesky_inverse", input=input)
    if out is not None:
        arguments = (input, upper)
        return write_out("cholesky_inverse", inverse_from_factor, arguments, out, None, None)
    return inverse_from_factor(input, upper)


# --- LDL -------------------------------------------------------------------------------------


@op(
    name="linalg_ldl_factor_ex",
    label="linalg_ldl_factor_ex",
    node="NotImplemented",
    outputs=("LD", "pivots", "info"),
    nondifferentiable=(1, 2),
    returns=return_types.linalg_ldl_factor_ex,
    public=False,
    method=False,
)
def ldl_factors(self: Array, hermitian: bool = False) -> Array:
    """Compute L and D in one matrix, pivots, and the number of the first zero block."""
    check_square("torch.linalg.ldl_factor_ex", self)
    check_floating("torch.linalg.ldl_factor_ex", self)
    check_kernel("ldl_factor_kernel_cpu", self, empty=False)
    return ldl.ldl_factor(self, hermitian and self.dtype.kind == "c")


@derivative(ldl_factors, wrt="self")
def ldl_factors_self(grad):
    raise no_derivative("linalg_ldl_factor_ex")


def _zero_block(code: int) -> str:
    return (
        f"The block {code} of D is zero, the factorization could not be completed because the "
        "input matrix is singular."
    )


def linalg_ldl_factor_ex(
    input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """Factor matrices as A = L D L^T (or L D L^H): both in one matrix, LAPACK's pivots, `info`.

    >>> import taper
    >>> taper.linalg.ldl_factor_ex(taper.tensor([[2.0, 0.0], [0.0, 3.0]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    check_tensors("linalg_ldl_factor_ex", input=input)
    if out is not None:
        returns = return_types.linalg_ldl_factor_ex
        return write_out(None, ldl_factors, (input, hermitian), out, returns)
    found = ldl_factors(input, hermitian)
    if check_errors:
        check_info("torch.linalg.ldl_factor_ex", found.info, _zero_block, RuntimeError)
    return found


def linalg_ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """Factor matrices as A = L D L^T (or L D L^H): both in one matrix, and LAPACK's pivots.

    >>> import taper
    >>> taper.linalg.ldl_factor(taper.tensor([[2.0, 2.0], [2.0, 3.0]])).LD
    tensor([[2., 0.],
            [1., 1.]])
    """
    check_tensors("linalg_ldl_factor", input=input)
    if out is not None:
        returns = return_types.linalg_ldl_factor
        return write_out(None, _checked_ldl, (input, hermitian), out, returns)
    return _checked_ldl(input, hermitian)


def _checked_ldl(input: Tensor, hermitian: bool) -> Any:
    LD, pivots, info = ldl_factors(input, hermitian)
    check_info("torch.linalg.ldl_factor", info, _zero_block, RuntimeError)
    return return_types.linalg_ldl_factor((LD, pivots))


@op(name="linalg_ldl_solve", node="NotImplemented", public=False, method=False)
def ldl_solution(LD: Array, pivots: Array, B: Array, hermitian: bool = False) -> Array:
    """Solve A X = B with the LDL factors of A."""
    check_square("torch.linalg.ldl_solve", LD)
    check_floating("torch.linalg.ldl_solve", LD)
    if B.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    check_pair("torch.linalg.ldl_solve", B, LD)
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
            f"got pivots with shape {list(pivots.shape)} instead"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected pivots to be integers. Got "
            f"{scalar_type(pivots.dtype)}"
        )
    check_kernel("ldl_solve_kernel_cpu", LD)
    common_batch(LD, B)
    return ldl.ldl_solve(LD, pivots, B, hermitian and LD.dtype.kind == "c")


@derivative(ldl_solution, wrt=("LD", "B"))
def ldl_solution_all(grad):
    raise no_derivative("linalg_ldl_solve")


def linalg_ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: bool = False,
    out: Tensor | None = None,
) -> Any:
    """Solve A X = B with what `linalg.ldl_factor` returns.

    >>> import taper
    >>> factors = taper.linalg.ldl_factor(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> taper.linalg.ldl_solve(*factors, taper.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
    check_tensors("linalg_ldl_solve", LD=LD, pivots=pivots, B=B)
    arguments = (LD, pivots, B, hermitian)
    return (
        ldl_solution(*arguments) if out is None else write_out(None, ldl_solution, arguments, out)
    )
