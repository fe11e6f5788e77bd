"""Determinants: `linalg.det`, `linalg.slogdet`, `logdet`.

Owns: the two operators. They keep the LU factors for their derivatives; of a real matrix that lies
by rows in memory those of its transpose, as PyTorch does to save a copy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.complexes import conj
from taper.ops.linalg.checks import (
    check_floating,
    check_kernel,
    check_square,
    check_tensors,
    write_out,
)
from taper.ops.linalg.matrices import (
    diagonal_matrix,
    diagonal_of,
    mh,
    product,
    real_of,
    scaled_columns,
)
from taper.ops.linalg.solve import solved
from taper.ops.linalg.svd import _linalg_svd
from taper.ops.shape.ones import reshape, unsqueeze
from taper.ops.shape.reshape import expand
from taper.tensor import Tensor, array_of, is_complex, wrap


def _reads_transpose(A: ndarray) -> bool:
    return A.dtype.kind != "c" and bool(A.flags.c_contiguous)


def _factors(A: ndarray) -> tuple[ndarray, ndarray]:
    LU, pivots, _ = lapack.lu_factor(A.swapaxes(-1, -2) if _reads_transpose(A) else A)
    return LU, pivots


def _multiple_of_inverse_adjoint(A: ndarray, LU: ndarray, pivots: ndarray, factor: Any) -> ndarray:
    """Multiply the inverse of A^H by `factor`, from LU factors without a zero on the diagonal."""
    size = A.shape[-1]
    right = np.zeros(A.shape, A.dtype)
    right[..., range(size), range(size)] = np.asarray(factor)[..., None]
    return lapack.lu_solve(LU, pivots, right, True, not _reads_transpose(A))


def _without_zeros(LU: ndarray) -> ndarray:
    """Replace zeros on U's diagonal by the machine's precision."""
    diagonal = LU[..., range(LU.shape[-1]), range(LU.shape[-1])]
    if not (diagonal == 0).any():
        return LU
    changed = LU.copy()
    tiny = np.finfo(LU.dtype).eps
    changed[..., range(LU.shape[-1]), range(LU.shape[-1])] = np.where(diagonal == 0, tiny, diagonal)
    return changed


# --- det -------------------------------------------------------------------------------------


@op(
    label="linalg_det",
    outputs=("result", "LU", "pivots"),
    nondifferentiable=(1, 2),
    public=False,
    method=False,
)
def _linalg_det(A: Array) -> Array:
    """Compute the determinant, with the LU factors and pivots."""
    check_square("linalg.det", A)
    check_floating("linalg.det", A)
    check_kernel("lu_cpu", A, empty=False)
    LU, pivots = _factors(A)
    return _product_of_diagonal(LU, pivots), LU, pivots


def _product_of_diagonal(LU: ndarray, pivots: ndarray) -> ndarray:
    size = LU.shape[-1]
    product_ = np.multiply.reduce(LU[..., range(size), range(size)], axis=-1)
    signs = np.where(lapack.is_odd(pivots), -1, 1).astype(LU.dtype)
    return np.asarray(product_ * signs)


@derivative(_linalg_det, wrt="A")
def det_grad(grad, result, A, LU, pivots):
    if A.shape[-1] == 1:
        return reshape(grad, tuple(A.shape))
    if (array_of(result) == 0).any():
        return _det_grad_of_singular(grad, A)
    if type(A) is ndarray:
        return _multiple_of_inverse_adjoint(A, LU, pivots, grad * np.conjugate(result))
    factor = expand(unsqueeze(grad * conj(result), -1), tuple(A.shape[:-1]))
    return solved(mh(A), diagonal_matrix(factor))


def _det_grad_of_singular(grad: Any, A: Any) -> Any:
    """Compute the gradient by singular values: det A = det U s_1 ... s_n det V^H, no division."""
    U, S, Vh = _linalg_svd(A, True, True)
    phase = conj(_linalg_det(U)[0] * _linalg_det(Vh)[0]) * grad
    others = _products_of_others(S)
    return unsqueeze(unsqueeze(phase, -1), -1) * product(scaled_columns(U, others), Vh)


def _products_of_others(values: Any) -> Any:
    """Compute for each value the product of all others."""
    own = np.eye(values.shape[-1], dtype=bool)
    if type(values) is ndarray:
        return np.where(own, 1, values[..., None, :]).prod(-1)
    return where(wrap(own), 1.0, unsqueeze(values, -2)).prod(-1)


@tangent_of(_linalg_det)
def det_tangent(A, result, A_t):
    if not (array_of(result) == 0).any():
        return result * diagonal_of(solved(A, A_t)).sum(-1), None, None
    gradient = _det_grad_of_singular(result.new_ones(result.shape), A)
    return (conj(gradient) * A_t).sum((-2, -1)), None, None


def linalg_det(A: Tensor, *, out: Tensor | None = None) -> Any:
    """Compute the determinant of each square matrix.

    >>> import taper
    >>> taper.linalg.det(taper.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_tensors("linalg_det", A=A)
    if out is not None:
        return write_out("_linalg_det", linalg_det, (A,), out)
    return _linalg_det(A)[0]


@composite()
def det(input: Tensor) -> Any:
    """Compute determinants: another name of `linalg.det`.

    >>> import taper
    >>> taper.det(taper.eye(2))
    tensor(1.)
    """
    check_tensors("det", input=input)
    return _linalg_det(input)[0]


# --- slogdet ---------------------------------------------------------------------------------


@op(
    label="linalg_slogdet",
    outputs=("sign", "logabsdet", "LU", "pivots"),
    nondifferentiable=(2, 3),
    public=False,
    method=False,
)
def _linalg_slogdet(A: Array, name: str = "linalg.slogdet") -> Array:
    """Compute the determinant's sign and the logarithm of its size, with LU factors and pivots."""
    check_square(name, A)
    check_floating(name, A, low=False)
    LU, pivots = _factors(A)
    diagonal = LU[..., range(A.shape[-1]), range(A.shape[-1])]
    size = np.abs(diagonal)
    signs = np.where(lapack.is_odd(pivots), -1, 1).astype(LU.dtype)
    if A.dtype.kind == "c":
        directions = np.where(size == 0, 0, diagonal / np.where(size == 0, 1, size))
    else:
        directions = (diagonal > 0).astype(A.dtype) - (diagonal < 0)
    sign = np.asarray(np.multiply.reduce(directions, axis=-1) * signs)
    return sign.astype(A.dtype), np.asarray(np.add.reduce(np.log(size), axis=-1)), LU, pivots


@derivative(_linalg_slogdet, wrt="A")
def slogdet_grad(A, LU, pivots, sign, grad_sign=None, grad_logabsdet=None):
    factor = _slogdet_factor(grad_sign, grad_logabsdet, sign)
    if factor is None:
        return None
    if type(A) is ndarray:
        return _multiple_of_inverse_adjoint(A, _without_zeros(LU), pivots, factor)
    return solved(mh(A), diagonal_matrix(expand(unsqueeze(factor, -1), tuple(A.shape[:-1]))))


def _slogdet_factor(grad_sign: Any, grad_logabsdet: Any, sign: Any) -> Any:
    """Compute the factor of the inverse of A^H; the sign of a real determinant is constant."""
    if not is_complex(sign):
        return grad_logabsdet
    factor = None if grad_logabsdet is None else grad_logabsdet + 0j
    if grad_sign is not None:
        turned = grad_sign * conj(sign)
        turn = turned - turned.real
        factor = turn if factor is None else factor + turn
    return factor


@tangent_of(_linalg_slogdet)
def slogdet_tangent(A, sign, A_t):
    trace = diagonal_of(solved(A, A_t)).sum(-1)
    if is_complex(A):
        return sign * (trace - trace.real), real_of(trace), None, None
    return sign.detach() * 0, trace, None, None


def _sign_and_logarithm(A: Tensor) -> Any:
    return return_types.linalg_slogdet(_linalg_slogdet(A)[:2])


def linalg_slogdet(A: Tensor, *, out: Any = None) -> Any:
    """Compute the sign of each determinant and the logarithm of its absolute value.

    >>> import taper
    >>> taper.linalg.slogdet(taper.tensor([[0.0, 1.0], [1.0, 0.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    check_tensors("linalg_slogdet", A=A)
    if out is not None:
        returns = return_types.linalg_slogdet
        return write_out("_linalg_slogdet", _sign_and_logarithm, (A,), out, returns)
    return _sign_and_logarithm(A)


@composite()
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Compute sign and logarithm of determinants: another name of `linalg.slogdet`.

    >>> import taper
    >>> taper.slogdet(taper.eye(2)).sign
    tensor(1.)
    """
    check_tensors("slogdet", input=input)
    if out is not None:
        if not isinstance(out, (tuple, list)):
            raise TypeError(
                "slogdet(): argument 'out' must be tuple of Tensors, not " + type(out).__name__
            )
        return return_types.slogdet.out_type(linalg_slogdet(input, out=out))
    return return_types.slogdet(_linalg_slogdet(input)[:2])


@composite()
def logdet(input: Tensor) -> Any:
    """Compute the logarithm of each determinant; nan where it is negative.

    >>> import taper
    >>> taper.logdet(taper.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(0.)
    """
    check_tensors("logdet", input=input)
    sign, logarithm = _linalg_slogdet(input, "logdet")[:2]
    if is_complex(input):
        return sign.log() + logarithm
    return where(sign == -1.0, math.nan, logarithm)
