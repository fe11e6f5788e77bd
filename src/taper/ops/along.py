"""Elements picked along one dimension by an index array, and put back: what max, sort, topk,
kthvalue, median, mode, cummax and the losses differentiate with.

Owns: two linear primitives that are each other's derivative, and the mask helper of formulas.
Everything takes arrays and Tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.opdef import LINEAR, Array, derivative, op
from taper.reduction import Shape
from taper.tensor import Tensor, wrap_dim


@op(tangent=LINEAR, public=False, method=False)
def take_along(self: Array, dim: int, indices: Array, keepdim: bool = True) -> Array:
    """The elements at `indices` along `dim`; without `keepdim` the indices lack that dimension."""
    if not self.ndim:
        return self.copy()
    dim = wrap_dim(dim, self.ndim)
    if keepdim:
        return np.take_along_axis(self, indices, dim)
    return np.take_along_axis(self, np.expand_dims(indices, dim), dim).squeeze(dim)


@derivative(take_along, wrt="self")
def take_along_self(grad: Any, self_shape: Shape, dim: int, indices: Any, keepdim: bool) -> Any:
    return put_along(grad, self_shape, dim, indices, keepdim, False)


@op(tangent=LINEAR, public=False, method=False)
def put_along(
    self: Array, shape: Shape, dim: int, indices: Array, keepdim: bool = True, unique: bool = True
) -> Array:
    """Zeros of `shape` with the elements of `self` added at `indices` along `dim`.

    `unique` promises that no place is named twice.
    """
    if not shape:
        return np.reshape(self, ())
    dim = wrap_dim(dim, len(shape))
    if not keepdim:
        self, indices = np.expand_dims(self, dim), np.expand_dims(indices, dim)
    result = np.zeros(shape, self.dtype)
    if unique:
        np.put_along_axis(result, indices, self, dim)
    else:
        np.add.at(result, open_index(indices, dim), self)
    return result


@derivative(put_along, wrt="self")
def put_along_self(grad: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    return take_along(grad, dim, indices, keepdim)


def open_index(indices: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """An index tuple that names, for each element of `indices`, its place along `dim`."""
    grid = list(np.ogrid[tuple(slice(length) for length in indices.shape)])
    grid[dim] = indices
    return tuple(grid)


def in_dtype_of(value: Any, other: Any) -> Any:
    """`value` in the dtype of `other`, both arrays or both Tensors."""
    if isinstance(value, Tensor):
        return value if value.dtype is other.dtype else value.to(other.dtype)
    if value.dtype is other.dtype:
        return value
    if value.dtype.kind == "c" and other.dtype.kind != "c":
        value = value.real
    return value.astype(other.dtype)


def filled(value: Any, mask: Any, number: float) -> Any:
    """`value` with a number where `mask` is true."""
    if isinstance(value, Tensor):
        return value.masked_fill(mask, number)
    return np.where(mask, np.asarray(value).dtype.type(number), value)
