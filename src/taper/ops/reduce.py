"""Sums, means and products over all or some dimensions.

Owns: the reductions that add or multiply.  PyTorch's overloads are separate primitives with nodes
of their own (`SumBackward0` over everything, `SumBackward1` over dimensions); the public function
picks one.  Knows no other family.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.tensor import Tensor, wrap_dim

Dims = tuple[int, ...] | None

ABSENT: Any = object()
"""The dimension argument that was not given; None is given and means all, with another node."""

_FLOAT32 = np.dtype(np.float32)
_add = np.add.reduce


def dims_of(dim: Any) -> Dims:
    """A `dim` argument as what operators take: a tuple, or None for all dimensions."""
    if dim is None:
        return None
    if type(dim) is int:
        return (dim,)
    return tuple(dim) if isinstance(dim, (tuple, list)) else (int(dim),)


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front and checked; none given means all."""
    if not dim:
        return tuple(range(ndim))
    axes = tuple([wrap_dim(each, ndim) for each in dim])
    for position, each in enumerate(axes):
        if each in axes[:position]:
            raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return axes if ndim else ()


def expand_reduced(grad: Any, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Any:
    """The gradient of a reduction, repeated along what was reduced.  Takes arrays and Tensors."""
    if isinstance(grad, Tensor):
        if not keepdim:
            for axis in sorted(axes_of(dim, len(shape))):
                grad = grad.unsqueeze(axis)
        return grad.expand(shape)
    if not grad.ndim or not dim:
        # Every element is the one: 0.4 us, np.broadcast_to takes 3.
        return np.ndarray(shape, grad.dtype, grad, 0, (0,) * len(shape))
    if not keepdim:
        grad = np.expand_dims(grad, axes_of(dim, len(shape)))
    return np.broadcast_to(grad, shape)


@op(name="sum_all", node="SumBackward0", tangent=LINEAR, public=False, method=False)
def sum_all(self: Array, dtype: Any = None) -> Array:
    """The sum of all elements."""
    return _add(self, axis=None)


@derivative(sum_all, wrt="self")
def sum_all_self(grad: Any, self_shape: Any) -> Any:
    return expand_reduced(grad, self_shape, None, False)


@op(name="sum_dim", node="SumBackward1", tangent=LINEAR, public=False, method=False)
def sum_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: Any = None) -> Array:
    """The sum along dimensions."""
    return _add(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


@derivative(sum_dim, wrt="self")
def sum_dim_self(grad: Any, self_shape: Any, dim: Dims, keepdim: bool) -> Any:
    return expand_reduced(grad, self_shape, dim, keepdim)


@composite()
def sum(input: Any, dim: Any = ABSENT, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or along dimensions."""
    if dim is ABSENT:
        return sum_all(input, dtype)
    return sum_dim(input, dims_of(dim), keepdim, dtype)


@op(name="mean_all", node="MeanBackward0", tangent=LINEAR, public=False, method=False)
def mean_all(self: Array, dtype: Any = None) -> Array:
    """The mean of all elements."""
    return _add(self, axis=None) / self.dtype.type(self.size)


@derivative(mean_all, wrt="self")
def mean_all_self(grad: Any, self_shape: Any, self_numel: int) -> Any:
    return expand_reduced(grad / self_numel, self_shape, None, False)


@op(name="mean_dim", node="MeanBackward1", tangent=LINEAR, public=False, method=False)
def mean_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: Any = None) -> Array:
    """The mean along dimensions."""
    axes = axes_of(dim, self.ndim)
    return np.mean(self, axis=axes, keepdims=keepdim)


@derivative(mean_dim, wrt="self")
def mean_dim_self(
    grad: Any, self_shape: Any, self_numel: int, dim: Dims, keepdim: bool
) -> Any:
    count = 1
    for axis in axes_of(dim, len(self_shape)):
        count *= self_shape[axis]
    return expand_reduced(grad, self_shape, dim, keepdim) / count


@composite()
def mean(input: Any, dim: Any = ABSENT, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of all elements, or along dimensions."""
    if dim is ABSENT:
        return mean_all(input, dtype)
    return mean_dim(input, dims_of(dim), keepdim, dtype)


@op(public=False, method=False, node="VarBackward0", name="var_correction")
def var_correction(
    self: Array, dim: Dims, correction: float | None, keepdim: bool = False
) -> Array:
    """The variance along dimensions."""
    axes = axes_of(dim, self.ndim)
    return np.var(self, axis=axes, ddof=1 if correction is None else correction, keepdims=keepdim)


@derivative(var_correction, wrt="self")
def var_self(grad: Any, self: Any, dim: Dims, correction: float | None, keepdim: bool) -> Any:
    count = 1
    for axis in axes_of(dim, self.ndim):
        count *= self.shape[axis]
    scale = 2.0 / (count - (1 if correction is None else correction))
    grad = expand_reduced(grad, tuple(self.shape), dim, keepdim)
    return scale * grad * (self - mean_dim(self, dim, True))


@composite()
def var(
    input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = 1
) -> Any:
    """The variance of all elements, or along dimensions."""
    return var_correction(input, dims_of(dim), correction if unbiased else 0, keepdim)
