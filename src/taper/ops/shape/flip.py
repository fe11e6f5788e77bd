"""The same elements in another order: flip, roll, rot90.

Results are copies, since a tensor has no negative strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import channels_are_last, laid_out_like
from taper.arrays.native import native
from taper.arrays.strides import EVERYTHING, Shape, in_rows, integers, wrap_dim
from taper.autograd.meta import INFERENCE_COUNTER
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.ops.creation.copy import copied, write
from taper.ops.shape.reshape import missing, reshape, sizes, view_as_shape
from taper.tensor import Tensor

BACKWARDS = slice(None, None, -1)


def flipped(array: ndarray, dims: list[int]) -> ndarray:
    """Copy with the order of elements reversed along dimensions; the layout stays."""
    if not array.ndim:
        return array.copy()
    where = tuple([BACKWARDS if dim in dims else EVERYTHING for dim in range(array.ndim)])
    kept = in_rows(array)
    result = np.empty(array.shape, array.dtype) if kept else copied(array, array.dtype)
    write(result, array[where])
    return result


@op(name="flip", tangent=LINEAR, public=False, method=False)
def flip_dims(self: Array, dims: Shape) -> Array:
    """Reverse the order of elements along dimensions."""
    if native is not None:
        quick = native.flipped(self, dims)  # 1.5 us less
        if quick is not None:
            return quick
    positions = [wrap_dim(dim, self.ndim) for dim in dims]
    for number, each in enumerate(positions):
        if each in positions[:number]:
            raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return flipped(self, positions)


@derivative(flip_dims, wrt="self")
def flip_self(grad: Array, dims: Shape) -> Array:
    return flip_dims(grad, dims)


@composite()
def flip(input: Any, *order: Any, dims: Any = None) -> Any:
    """Reverse the order of the elements along dimensions.

    Args:
        input: a tensor.
        order: dimensions to reverse, one by one or as one tuple.
        dims: the dimensions, as a keyword.

    Shape: the result has the shape of `input`; it is a copy.

    Example:
        >>> import taper
        >>> taper.flip(taper.tensor([[1, 2], [3, 4]]), (0,))
        tensor([[3, 4],
                [1, 2]])
    """
    if not order:
        if dims is None:
            raise missing("flip", "dims")
        order = (dims,)
    return flip_dims(input, sizes("flip", "dims", order))


@composite()
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the columns.

    >>> import taper
    >>> taper.fliplr(taper.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip_dims(input, (1,))


@composite()
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the rows.

    >>> import taper
    >>> taper.flipud(taper.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip_dims(input, (0,))


# --- roll ------------------------------------------------------------------------------------


@op(name="roll", tangent=LINEAR, public=False, method=False)
def roll_dims(self: Array, shifts: Shape, dims: Shape = ()) -> Array:
    """Move elements along dimensions; what leaves at the end comes in at the front."""
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != len(dims) and (dims or len(shifts) != 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    if native is not None and len(shifts) == 1:
        quick = native.rolled(self, shifts[0], dims[0] if dims else None)  # 1.5 us less
        if quick is not None:
            return quick
    if not dims:
        return _rolled(self.ravel(), shifts[0], 0).reshape(self.shape)
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    for shift, dim in zip(shifts, dims, strict=True):
        self = _rolled(self, shift, wrap_dim(dim, self.ndim))
    return self


def _rolled(array: ndarray, shift: int, dim: int) -> ndarray:
    """Copy, moved along one dimension: row-major, or channels last if both parts are."""
    lead = (EVERYTHING,) * dim
    cut = -shift % (array.shape[dim] or 1)
    parts = (array[(*lead, slice(cut, None))], array[(*lead, slice(None, cut))])
    moved = np.ascontiguousarray(np.concatenate(parts, dim))
    last = all([channels_are_last(each.shape, each.strides) for each in parts])
    return laid_out_like(moved, *(parts if last else ()))


@derivative(roll_dims, wrt="self")
def roll_self(grad: Array, shifts: Shape, dims: Shape) -> Array:
    return roll_dims(grad, tuple([-shift for shift in shifts]), dims)


@composite()
def roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    """Move elements along dimensions; what leaves at the end comes in at the front.

    Without `dims` the flattened tensor is rolled.

    >>> import taper
    >>> taper.roll(taper.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    dims = () if dims is None else dims
    by, along = sizes("roll", "shifts", (shifts,)), sizes("roll", "dims", (dims,))
    if not along and len(by) == 1 and input._counter is INFERENCE_COUNTER:
        # Autograd does not see the call, but the view by which PyTorch ends it.
        return view_as_shape(roll_dims(reshape(input, (-1,)), by, (0,)), input.shape)
    return roll_dims(input, by, along)


# --- rot90 -----------------------------------------------------------------------------------


@op(name="rot90", tangent=LINEAR, public=False, method=False)
def rotate(self: Array, k: int, dims: Shape) -> Array:
    """Turn by 90 degrees, `k` times, in the plane of two dimensions."""
    ndim = self.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = wrap_dim(dims[0], ndim), wrap_dim(dims[1], ndim)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 1:
        return flipped(self, [second]).swapaxes(first, second)
    if turns == 3:
        return flipped(self, [first]).swapaxes(first, second)
    return flipped(self, [first, second]) if turns == 2 else np.array(self, order="C")


@derivative(rotate, wrt="self")
def rotate_self(grad: Array, k: int, dims: Shape) -> Array:
    return rotate(grad, -k, dims)


@composite()
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turn by 90 degrees, `k` times, in the plane of two dimensions.

    >>> import taper
    >>> taper.rot90(taper.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    return rotate(input, k, integers("rot90", "dims", dims, 2))
