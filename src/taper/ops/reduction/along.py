"""Elements picked along one dimension by an index array, and put back.

The derivatives of max, sort, topk, kthvalue, median, mode, cummax and the losses use them. Owns:
two linear primitives that are each other's derivative, and the mask helper of formulas. Everything
takes arrays and Tensors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.arrays.reduction import Shape
from taper.arrays.strides import wrap_dim
from taper.opdef import LINEAR, Array, derivative, op
from taper.tensor import Tensor


@op(tangent=LINEAR, public=False, method=False)
def take_along(self: Array, dim: int, indices: Array, keepdim: bool = True) -> Array:
    """Take the elements at `indices` along `dim`, which the indices lack without `keepdim`."""
    if not self.ndim:
        return self.copy()
    return taken(self, indices, wrap_dim(dim, self.ndim))


@derivative(take_along, wrt="self")
def take_along_self(grad: Any, self_shape: Shape, dim: int, indices: Any, keepdim: bool) -> Any:
    return put_along(grad, self_shape, dim, indices, keepdim, False)


@op(tangent=LINEAR, public=False, method=False)
def put_along(
    self: Array, shape: Shape, dim: int, indices: Array, keepdim: bool = True, unique: bool = True
) -> Array:
    """Make zeros of `shape` and add the elements of `self` at `indices` along `dim`.

    `unique` promises that no place is named twice.
    """
    if not shape:
        return np.reshape(self, ())
    result = np.zeros(shape, self.dtype)
    places = flat_index(indices, shape, wrap_dim(dim, len(shape)))
    if unique:
        result.reshape(-1)[places] = self.reshape(places.shape)
    else:
        np.add.at(result.reshape(-1), places, self.reshape(places.shape))
    return result


@derivative(put_along, wrt="self")
def put_along_self(grad: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    return take_along(grad, dim, indices, keepdim)


def taken(array: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    """Take the elements at `indices` along a dimension, in the shape of `indices`.

    `indices` has the other dimensions of `array`; it may lack `axis`. Takes 2 us for a 5 x 5 array,
    where np.take_along_axis takes 8.
    """
    if native is not None and axis == array.ndim - 1:
        found: np.ndarray | None = native.pick_along(array, indices)
        if found is not None:
            return found
    places = flat_index(indices, array.shape, axis)
    return array.reshape(-1)[places].reshape(indices.shape)


def flat_index(indices: np.ndarray, shape: Shape, axis: int) -> np.ndarray:
    """Convert positions along one dimension to positions in the flattened array."""
    if len(shape) == 1:
        return indices
    inner = math.prod(shape[axis + 1 :])
    outer = math.prod(shape[:axis])
    if not indices.size:
        return indices.reshape(-1)
    if inner == 1:
        start = np.arange(0, outer * shape[axis], shape[axis])
        return indices.reshape(outer, -1) + start[:, None]
    start = np.arange(0, outer * shape[axis] * inner, shape[axis] * inner)
    return indices.reshape(outer, -1, inner) * inner + start[:, None, None] + np.arange(inner)


def in_dtype_of(value: Any, other: Any) -> Any:
    """Convert `value` to the dtype of `other`, both arrays or both Tensors."""
    if isinstance(value, Tensor):
        return value if value.dtype is other.dtype else value.to(other.dtype)
    if value.dtype is other.dtype:
        return value
    if value.dtype.kind == "c" and other.dtype.kind != "c":
        value = value.real
    return value.astype(other.dtype)


def filled(value: Any, mask: Any, number: float) -> Any:
    """Replace `value` by a number where `mask` is true."""
    if isinstance(value, Tensor):
        return value.masked_fill(mask, number)
    return np.where(mask, np.asarray(value).dtype.type(number), value)
