"""Distances between the rows of two matrices: `cdist`.

Owns: two operators, as in PyTorch. One takes distances one by one, for every order; the other takes
Euclidean ones by a matrix product, which is faster and less exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.reduction import row_products, scalar_type
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import check_tensors, common_batch, missing_tangent, no_formula
from taper.ops.linalg.matrices import mt, product
from taper.ops.reduction.along import filled
from taper.ops.reduction.sums import sum_dim
from taper.ops.shape.reshape import expand_to, reshape, view_as_shape
from taper.tensor import Tensor

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}
_MANY = 25  # rows from which on PyTorch uses the matrix product
_BLOCK = 1 << 20  # differences that are held at a time


def _in_blocks(x1: ndarray, x2: ndarray) -> Any:
    """Cut the rows of `x1` into slices whose differences to all rows of `x2` fit in memory."""
    each = max(1, x2.size)
    step = max(1, _BLOCK // each)
    for start in range(0, x1.shape[-2], step):
        yield slice(start, start + step)


# --- one by one ------------------------------------------------------------------------------


@op(name="_cdist_forward", label="cdist", node="CdistBackward0", public=False, method=False)
def distances(x1: Array, x2: Array, p: float) -> Array:
    """Compute the norm of order `p` of each difference of a row of one and a row of the other."""
    if x1.dtype != x2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type(x1.dtype)} but found {scalar_type(x2.dtype)}"
        )
    if x1.dtype.char not in "fd" and x1.size and x2.size:
        raise no_kernel("cdist", x1.dtype)
    batch = _common_batch(x1, x2)
    x1, x2 = (np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (x1, x2))
    result = np.zeros((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    if x1.shape[-1]:
        for rows in _in_blocks(x1, x2):
            size = np.abs(x1[..., rows, None, :] - x2[..., None, :, :])
            result[..., rows, :] = _norm(size, p)
    return result


def _common_batch(x1: ndarray, x2: ndarray) -> tuple[int, ...]:
    return common_batch(x2, x1)


def _norm(size: ndarray, p: float) -> Any:
    if p == 0:
        return np.add.reduce(np.where(np.isnan(size), size, size != 0), axis=-1)
    if p == 1:
        return np.add.reduce(size, axis=-1)
    if p == 2:
        return np.sqrt(row_products(size, size))
    if math.isinf(p):
        return np.fmax.reduce(size, axis=-1, initial=0)  # NaN is passed over, as in PyTorch
    return np.power(np.add.reduce(np.power(size, p), axis=-1), 1 / p)


@op(name="_cdist_backward", node="CdistBackwardBackward0", public=False, method=False)
def distances_gradient(grad: Array, x1: Array, x2: Array, p: float, cdist: Array) -> Array:
    """Compute the gradient of the distances with respect to `x1`."""
    batch = cdist.shape[:-2]
    x1, x2 = (np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (x1, x2))
    result = np.zeros(x1.shape, x1.dtype)
    if p == 0 or not x1.size or not x2.size:
        return result
    for rows in _in_blocks(x1, x2):
        change = x1[..., rows, None, :] - x2[..., None, :, :]
        slope = _slope(change, cdist[..., rows, :, None], p)
        result[..., rows, :] = np.einsum("...ij,...ijk->...ik", grad[..., rows, :], slope)
    return result


def _slope(change: ndarray, distance: ndarray, p: float) -> Any:
    """Compute the derivative of the distance; zero where the distance is zero."""
    zero = distance == 0
    safe = np.where(zero, 1, distance)
    if p == 1:
        return np.sign(change)
    if p == 2:
        return np.where(zero, 0, change / safe)
    if math.isinf(p):
        return np.sign(change) * (np.abs(change) == distance)
    size = np.abs(change)
    if p < 1:
        powers = np.where(change == 0, 0, np.power(np.where(change == 0, 1, size), p - 1))
    else:
        powers = np.power(size, p - 1)
    return np.where(zero, 0, np.sign(change) * powers / np.power(safe, p - 1))


@derivative(distances_gradient, wrt=("grad", "x1", "x2", "cdist"))
def distances_gradient_all(grad):
    raise no_formula("_cdist_backward")


@tangent_of(distances_gradient)
def distances_gradient_tangent(grad_t):
    raise missing_tangent("_cdist_backward")


@derivative(distances, wrt="x1")
def distances_x1(grad, x1, x2, p, result):
    return distances_gradient(grad, x1, x2, p, result)


@derivative(distances, wrt="x2")
def distances_x2(grad, x1, x2, p, result):
    return distances_gradient(_contiguous(mt(grad)), x2, x1, p, _contiguous(mt(result)))


def _contiguous(value: Any) -> Any:
    return np.ascontiguousarray(value) if type(value) is ndarray else value.contiguous()


@tangent_of(distances)
def distances_tangent(x1_t, x2_t):
    raise missing_tangent("_cdist_forward")


# --- by a product ----------------------------------------------------------------------------


@op(
    name="_euclidean_dist",
    label="cdist",
    node="EuclideanDistBackward0",
    upcast=True,
    public=False,
    method=False,
)
def euclidean_distances(x1: Array, x2: Array) -> Array:
    """Compute Euclidean distances of rows by |a|^2 - 2ab + |b|^2."""
    squares = [np.einsum("...i,...i->...", each, each) for each in (x1, x2)]
    inner = x1 @ x2.swapaxes(-1, -2)
    inner *= -2
    inner += squares[0][..., :, None]
    inner += squares[1][..., None, :]
    return np.sqrt(np.maximum(inner, 0))


@derivative(euclidean_distances, wrt=("x1", "x2"))
def euclidean_distances_all(grad, x1, x2, result, needs):
    ratio = filled(grad / result, result == 0, 0.0)
    first = second = None
    if needs[0]:
        first = x1 * sum_dim(ratio, (-1,), True) - product(ratio, x2)
    if needs[1]:
        turned = mt(ratio)
        second = x2 * sum_dim(turned, (-1,), True) - product(turned, x1)
    return first, second


@tangent_of(euclidean_distances)
def euclidean_distances_tangent(x1_t, x2_t):
    raise missing_tangent("_euclidean_dist")


# --- cdist -----------------------------------------------------------------------------------


@composite(method=False)
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Any:
    """Compute the distance of order `p` of each row of `x1` and each of `x2`, for stacks, too.

    >>> import taper
    >>> taper.cdist(taper.tensor([[0.0, 0.0]]), taper.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    check_tensors("cdist", x1=x1, x2=x2)
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, tensor in (("X1", x1), ("X2", x2)):
        if not tensor.dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {tensor.dtype.scalar_type}"
            )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    for name, tensor in (("X1", x1), ("X2", x2)):
        if tensor.dim() < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {tensor.dim()}D"
            )
    widths = x1.shape[-1], x2.shape[-1]
    if widths[0] != widths[1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {widths[0]} X2: {widths[1]}"
        )
    heights = x1.shape[-2], x2.shape[-2]
    by_product = _MODES[compute_mode]
    if by_product is None:
        by_product = max(heights) > _MANY
    if p == 2 and by_product and x1.numel() and x2.numel():
        return _by_product(x1, x2)
    return distances(x1, x2, float(p))


def _by_product(x1: Tensor, x2: Tensor) -> Any:
    if x1.dtype is not x2.dtype:
        return distances(x1, x2, 2.0)
    batch = _common_batch(x1._array, x2._array)
    shape = (*batch, x1.shape[-2], x2.shape[-2])
    if batch:
        stack = math.prod(batch)
        x1, x2 = (
            reshape(expand_to(each, (*batch, *each.shape[-2:])), (stack, *each.shape[-2:]))
            for each in (x1, x2)
        )
    return view_as_shape(euclidean_distances(x1, x2), shape)
