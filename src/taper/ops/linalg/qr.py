"""QR factors and Householder reflectors: `linalg.qr`, `geqrf`, `householder_product`, `ormqr`.

Owns: the operators.  Reflectors are stored as LAPACK stores them: H_i = I - tau_i v_i v_i^H, with
v_i below the diagonal of column i.  Signs are those of NumPy's LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.arrays.foreign import refuse_without_elements
from taper.arrays.reduction import scalar_type
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.complexes import conj
from taper.ops.linalg.checks import (
    check_floating,
    check_kernel,
    check_matrices,
    check_tensors,
    missing_tangent,
    no_formula,
    write_out,
)
from taper.ops.linalg.matrices import (
    columns,
    constant,
    diagonal_matrix,
    diagonal_of,
    joined,
    mh,
    product,
    real_of,
    symmetric,
    upper_with_half_diagonal,
)
from taper.ops.linalg.triangular import solved_triangular
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.triangle import tril
from taper.tensor import Tensor, array_of
from taper.userwarning import warn_once

# --- qr --------------------------------------------------------------------------------------


@op(
    name="linalg_qr",
    label="linalg_qr",
    outputs=("Q", "R"),
    returns=return_types.linalg_qr,
    public=False,
    method=False,
)
def qr_factors(A: Array, mode: str = "reduced") -> Array:
    """Compute Q and R of A = Q R."""
    check_matrices("linalg.qr", A)
    check_floating("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    check_kernel("geqrf_cpu", A)
    if not A.size:
        return _qr_of_nothing(A, mode)
    factor: Any = np.linalg.qr
    if mode == "r":
        return lapack.zeros(A, (0,)), lapack.by_columns(factor(A, "r"))
    Q, R = factor(A, mode)
    return lapack.by_columns(Q), lapack.by_columns(R)


def _qr_of_nothing(A: ndarray, mode: str) -> tuple[ndarray, ndarray]:
    *lead, height, width = A.shape
    size = height if mode == "complete" else min(height, width)
    R = lapack.zeros(A, (*lead, size, width))
    if mode == "r":
        return lapack.zeros(A, (0,)), R
    return lapack.by_columns(lapack.identity((*lead, height, size), A.dtype, A)), R


def _check_differentiable(mode: str, height: int, width: int) -> None:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and height > width:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )


@derivative(qr_factors, wrt="A")
def qr_grad(Q, R, mode, grad_Q=None, grad_R=None):
    height, width = (Q.shape[-2] if mode != "r" else R.shape[-2]), R.shape[-1]
    _check_differentiable(mode, height, width)
    if grad_Q is None and grad_R is None:
        return None
    if height >= width:
        return _qr_grad_of_tall(Q, R, grad_Q, grad_R)
    square = columns(R, None, height)
    if grad_R is None:
        first = _qr_grad_of_tall(Q, square, grad_Q, None)
        zeros = np.zeros((*R.shape[:-1], width - height), array_of(R).dtype)
        return joined([first, constant(zeros, R)], -1)
    rest = columns(grad_R, height, None)
    # A = (X, Y) and R = (S, Q^H Y): through the second part Q gets Y rest^H.
    through = product(Q, columns(R, height, None), mh(rest))
    grad_Q = through if grad_Q is None else grad_Q + through
    first = _qr_grad_of_tall(Q, square, grad_Q, columns(grad_R, None, height))
    return joined([first, product(Q, rest)], -1)


def _qr_grad_of_tall(Q: Any, R: Any, grad_Q: Any, grad_R: Any) -> Any:
    inner = None if grad_R is None else product(R, mh(grad_R))
    if grad_Q is not None:
        part = product(mh(grad_Q), Q)
        inner = -part if inner is None else inner - part
    lower = tril(inner, -1)
    inner = lower + mh(lower) + diagonal_matrix(real_of(diagonal_of(inner)))
    right = product(Q, inner)
    right = right if grad_Q is None else right + grad_Q
    return solved_triangular(mh(R), right, False, left=False)


@tangent_of(qr_factors)
def qr_tangent(A_t, Q, R, mode):
    height, width = A_t.shape[-2:]
    _check_differentiable(mode, height, width)
    size = min(height, width)
    square = columns(R, None, size)
    moved = solved_triangular(square, columns(A_t, None, size), True, left=False)
    turned = upper_with_half_diagonal(symmetric(product(mh(Q), moved)))
    of_q = moved - product(Q, turned)
    of_r = product(turned, square)
    if width > size:
        rest = columns(A_t, size, None) - product(of_q, columns(R, size, None))
        of_r = joined([of_r, product(mh(Q), rest)], -1)
    return of_q, of_r


def linalg_qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """Factor A = Q R: orthonormal columns times an upper triangle.

    >>> import taper
    >>> taper.linalg.qr(taper.tensor([[3.0], [4.0]])).R.abs()
    tensor([[5.]])
    """
    check_tensors("linalg_qr", A=A)
    if out is not None:
        return write_out("linalg_qr", qr_factors, (A, mode), out, return_types.linalg_qr)
    return qr_factors(A, mode)


@composite()
def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Factor A = Q R; `linalg.qr` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.qr(taper.tensor([[3.0], [4.0]])).R.abs()
    tensor([[5.]])
    """
    check_tensors("qr", input=input)
    if out is not None and not isinstance(out, (tuple, list)):
        raise TypeError(f"qr(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future "
        "PyTorch release.\nThe boolean parameter 'some' has been replaced with a string parameter "
        "'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\nQ, R = torch.linalg.qr(A, "
        "'reduced' if some else 'complete')"
    )
    mode = "reduced" if some else "complete"
    if out is not None:
        return write_out("linalg_qr", qr_factors, (input, mode), out, return_types.qr)
    return return_types.qr(qr_factors(input, mode))


# --- geqrf -----------------------------------------------------------------------------------


@op(
    name="geqrf_all",
    label="geqrf",
    node="GeqrfBackward0",
    outputs=("a", "tau"),
    returns=return_types.geqrf,
    public=False,
    method=False,
)
def reflectors(self: Array) -> Array:
    """Compute R and the reflectors whose product is Q, as LAPACK stores them."""
    if self.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_kernel("geqrf_cpu", self)
    if not self.size:
        return self.copy(), np.zeros((*self.shape[:-2], min(self.shape[-2:])), self.dtype)
    stored, scales = np.linalg.qr(self, "raw")
    stored = stored.swapaxes(-1, -2).astype(self.dtype, copy=False)
    return lapack.by_columns(stored), scales.astype(self.dtype, copy=False)


@derivative(reflectors, wrt="self")
def reflectors_self(grad_a=None, grad_tau=None):
    raise no_formula("geqrf")


@tangent_of(reflectors)
def reflectors_tangent(self_t):
    raise missing_tangent("geqrf")


@composite()
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """Compute R and the reflectors whose product is Q, as LAPACK stores them, for `ormqr`.

    >>> import taper
    >>> taper.geqrf(taper.tensor([[3.0], [4.0]])).a[0].abs()
    tensor([5.])
    """
    check_tensors("geqrf", input=input)
    refuse_without_elements(input._array, "geqrf")
    if out is not None:
        return write_out("geqrf", reflectors, (input,), out, return_types.geqrf, None)
    return reflectors(input)


# --- products of reflectors ------------------------------------------------------------------


def _reflector_gradients(
    vectors: Any, scales: Any, applied: Any, grad: Any, order: Any
) -> tuple[Any, Any]:
    """Compute gradients of v_i and tau_i for `applied` = H_a H_b ... X, where `order` is a, b, ...

    Each reflector is taken off `applied` by its inverse, and put on `grad` by its adjoint.
    """
    count = scales.shape[-1]
    of_vectors: list[Any] = [None] * count
    of_scales: list[Any] = [None] * count
    for step in order:
        v, scale = columns(vectors, step, step + 1), columns(scales, step, step + 1)
        scale = unsqueeze(scale, -1)
        length = (v * conj(v)).sum((-2, -1))
        length = unsqueeze(unsqueeze(length, -1), -1)
        inverse = scale / (scale * length - 1)
        before = applied - inverse * product(v, product(mh(v), applied))
        left, right = product(grad, product(mh(before), v)), product(before, product(mh(grad), v))
        of_vectors[step] = -(conj(scale) * left + scale * right)
        of_scales[step] = -product(mh(v), left)[..., 0]
        applied = before
        grad = grad - conj(scale) * product(v, product(mh(v), grad))
    return joined(of_vectors, -1), joined(of_scales, -1)


def _vectors_of(stored: Any, count: int) -> Any:
    """Return the vectors of the first reflectors, with ones on the diagonal."""
    height = stored.shape[-2]
    ones = lapack.identity((height, count), array_of(stored).dtype)
    return tril(columns(stored, None, count), -1) + constant(ones, stored)


def _stored_gradient(of_vectors: Any, stored: Any) -> Any:
    """Keep the gradient of the stored vectors: below the diagonal, zero elsewhere."""
    found = tril(of_vectors, -1)
    missing = stored.shape[-1] - of_vectors.shape[-1]
    if missing:
        zeros = np.zeros((*stored.shape[:-1], missing), array_of(stored).dtype)
        found = joined([found, constant(zeros, stored)], -1)
    return found


@op(
    name="linalg_householder_product",
    label="linalg_householder_product",
    public=False,
    method=False,
)
def reflectors_product(input: Array, tau: Array) -> Array:
    """Compute the first columns of the product of reflectors."""
    _check_reflectors(input, tau)
    check_kernel("orgqr_cpu", input)
    start = lapack.identity(input.shape, input.dtype)
    return lapack.by_columns(lapack.apply_reflectors(input, tau, start))


def _check_reflectors(stored: ndarray, scales: ndarray) -> None:
    name = "torch.linalg.householder_product"
    if stored.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if stored.shape[-2] < stored.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if not scales.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if scales.shape[-1] > stored.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if scales.ndim != stored.ndim - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {scales.ndim} and input.ndim is equal to {stored.ndim}"
        )
    if scales.shape[:-1] != stored.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(scales.shape[:-1])}"
        )
    if scales.dtype != stored.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {scalar_type(scales.dtype)} does not match input dtype "
            f"{scalar_type(stored.dtype)}"
        )


@derivative(reflectors_product, wrt=("input", "tau"))
def reflectors_product_all(grad, input, tau, result):
    count = tau.shape[-1]
    if not count or not array_of(input).size:
        return None, None
    vectors = _vectors_of(input, count)
    of_vectors, of_scales = _reflector_gradients(vectors, tau, result, grad, range(count))
    return _stored_gradient(of_vectors, input), of_scales


@tangent_of(reflectors_product)
def reflectors_product_tangent(input, tau, input_t, tau_t):
    count = tau.shape[-1]
    vectors = _vectors_of(input, count)
    moved = None if input_t is None else tril(columns(input_t, None, count), -1)
    identity = lapack.identity(tuple(input.shape), array_of(input).dtype)
    value, change = constant(identity, input), None
    for step in reversed(range(count)):
        v, scale = columns(vectors, step, step + 1), unsqueeze(columns(tau, step, step + 1), -1)
        inner = product(mh(v), value)
        parts = []
        if tau_t is not None:
            parts.append(product(unsqueeze(columns(tau_t, step, step + 1), -1) * v, inner))
        if moved is not None:
            dv = columns(moved, step, step + 1)
            parts.append(product(scale * dv, inner))
            parts.append(product(scale * v, product(mh(dv), value)))
        if change is not None:
            change = change - product(scale * v, product(mh(v), change))
        for part in parts:
            change = -part if change is None else change - part
        value = value - product(scale * v, inner)
    return constant(identity, input) * 0 if change is None else change


def linalg_householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Any:
    """Compute Q from what `geqrf` returns: the first columns of the product of the reflectors.

    >>> import taper
    >>> A = taper.tensor([[3.0], [4.0]])
    >>> taper.linalg.householder_product(*taper.geqrf(A)).abs()
    tensor([[0.6000],
            [0.8000]])
    """
    check_tensors("linalg_householder_product", input=input, tau=tau)
    if out is not None:
        label = "linalg_householder_product"
        return write_out(label, reflectors_product, (input, tau), out, None, None)
    return reflectors_product(input, tau)


@composite()
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Any:
    """Compute Q from reflectors: another name of `linalg.householder_product`.

    >>> import taper
    >>> taper.orgqr(*taper.geqrf(taper.tensor([[3.0], [4.0]]))).abs()
    tensor([[0.6000],
            [0.8000]])
    """
    check_tensors("orgqr", input=input, input2=input2)
    return linalg_householder_product(input, input2, out=out)


# --- ormqr -----------------------------------------------------------------------------------


@op(name="ormqr_all", label="ormqr", node="OrmqrBackward0", public=False, method=False)
def multiplied_by_q(
    self: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False
) -> Array:
    """Multiply a matrix by Q or Q^H, from the left or the right, where Q is given as reflectors."""
    _check_ormqr(self, input2, input3, left)
    check_kernel("ormqr_cpu", self)
    if left:
        found = lapack.apply_reflectors(self, input2, input3, transpose)
    else:
        turned = lapack.adjoint(input3)
        found = lapack.adjoint(lapack.apply_reflectors(self, input2, turned, not transpose))
    return lapack.by_columns(found)


def _check_ormqr(stored: ndarray, scales: ndarray, other: ndarray, left: bool) -> None:
    for name, matrix in (("input", stored), ("other", other)):
        if matrix.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] != stored.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if not scales.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if scales.shape[-1] != min(other.shape[side], stored.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    _check_ormqr_stacks(stored, scales, other)
    for name, matrix in (("tau", scales), ("other", other)):
        if matrix.dtype != stored.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has "
                f"dtype{scalar_type(stored.dtype)} and {name} has dtype {scalar_type(matrix.dtype)}"
            )


def _check_ormqr_stacks(stored: ndarray, scales: ndarray, other: ndarray) -> None:
    if scales.ndim != stored.ndim - 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {scales.ndim} and input.ndim is equal to {stored.ndim}"
        )
    if other.ndim != stored.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim is equal to {stored.ndim}"
        )
    for name, lead in (("tau", scales.shape[:-1]), ("other", other.shape[:-2])):
        if lead != stored.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to "
                f"input.shape[:-2], but got {list(lead)}"
            )


@derivative(multiplied_by_q, wrt=("self", "input2", "input3"))
def multiplied_by_q_all(grad, self, input2, input3, result, left, transpose, needs):
    of_other = multiplied_by_q(self, input2, grad, left, not transpose) if needs[2] else None
    count = input2.shape[-1]
    if not (needs[0] or needs[1]) or not count:
        return None, None, of_other
    if not left:  # (C Q)^H = Q^H C^H
        grad, result, transpose = mh(grad), mh(result), not transpose
    scales, order = input2, range(count)
    if transpose:
        scales, order = conj(input2), range(count - 1, -1, -1)
    vectors = _vectors_of(self, count)
    of_vectors, of_scales = _reflector_gradients(vectors, scales, result, grad, order)
    if transpose:
        of_scales = conj(of_scales)
    return _stored_gradient(of_vectors, self), of_scales, of_other


@tangent_of(multiplied_by_q)
def multiplied_by_q_tangent(self_t, input2_t, input3_t):
    raise missing_tangent("ormqr")


@composite()
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Any:
    """Multiply the third argument by Q or its adjoint, where Q is what `geqrf` returns.

    >>> import taper
    >>> A = taper.tensor([[3.0], [4.0]])
    >>> taper.ormqr(*taper.geqrf(A), A, transpose=True).abs().round()
    tensor([[5.],
            [0.]])
    """
    check_tensors("ormqr", input=input, input2=input2, input3=input3)
    arguments = (input, input2, input3, left, transpose)
    if out is not None:
        return write_out("ormqr", multiplied_by_q, arguments, out, None, _check_ormqr_out)
    return multiplied_by_q(*arguments)


def _check_ormqr_out(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError(
            "torch.ormqr: Expected input and result to have the same dtype, but input has dtype"
            f"{scalar_type(result.dtype)} and result has dtype {scalar_type(out.dtype)}"
        )
