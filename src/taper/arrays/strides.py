"""Shapes and strides of arrays: which views exist, and how to make them with NumPy.

Owns the arithmetic behind the view operators.  Knows ndarrays; must not know Tensor.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from taper.arrays.foreign import ForeignArray
from taper.arrays.native import native

_MANY = 1024  # elements from which it matters in which order they are read
LARGE = 65536  # elements from which two threads copy faster than one

Shape = tuple[int, ...]

EVERYTHING = slice(None)  # all of one dimension


def owner_of(array: ndarray) -> ndarray:
    """Return the array that owns the memory `array` looks at."""
    while isinstance(array.base, ndarray):
        array = array.base
    return array


def strided(
    array: ndarray,
    shape: Shape,
    strides: Shape,
    offset: int = 0,
    dtype: np.dtype[Any] | None = None,
) -> ndarray:
    """Return a view that starts `offset` bytes after `array`'s first element; strides are in bytes.

    This takes 0.5 us, `np.lib.stride_tricks.as_strided` 4.5; it is writable if `array` is.
    """
    if isinstance(array, ForeignArray):
        return array.strided(shape, strides, offset, dtype)
    dtype = dtype or array.dtype
    if array.flags.c_contiguous:
        try:
            return ndarray(shape, dtype, array, offset, strides)
        except (TypeError, ValueError):
            pass  # the view reaches outside the array, though perhaps not outside its memory
    owner = owner_of(array)
    return within(owner, shape, strides, array.ctypes.data - owner.ctypes.data + offset, dtype)


def within(
    owner: ndarray, shape: Shape, strides: Shape, offset: int, dtype: np.dtype[Any]
) -> ndarray:
    """Return a view of the memory of `owner` that starts `offset` bytes after its first element.

    NumPy allows no view without elements behind the end of the memory: it lies at the end.
    """
    if not owner.flags.forc:
        owner = owner.ravel("K")
    if offset > owner.nbytes and 0 in shape:
        offset = owner.nbytes
    return ndarray(shape, dtype, owner, offset, strides)


def row_major(shape: Sequence[int], step: int = 1) -> Shape:
    """Return the strides of a contiguous array, in units of `step`."""
    strides = []
    for length in reversed(shape):
        strides.append(step)
        step *= length or 1
    strides.reverse()
    return tuple(strides)


def in_rows(array: ndarray) -> bool:
    """Return whether an array is row-major, even in dimensions of length 1."""
    if not array.flags.c_contiguous:
        return False
    shape = array.shape
    return 1 not in shape or 0 in shape or array.strides == row_major(shape, array.itemsize)


def not_viewable() -> RuntimeError:
    """Return the error of a view that no strides describe."""
    return RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead."
    )


# NumPy 2.0's `reshape` cannot be told not to copy.
_RESHAPE_TAKES_COPY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def reshaped(array: ndarray, shape: Any, order: Any = "C") -> Any:
    """Return a view in another shape; raise ValueError where elements would have to be copied."""
    if _RESHAPE_TAKES_COPY:
        return ndarray.reshape(array, shape, order=order, copy=False)
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    if order == "F":
        return reshaped(array.T, wanted[::-1]).T
    if -1 in wanted:
        known = -math.prod(wanted)
        wanted = tuple(array.size // max(known, 1) if each < 0 else each for each in wanted)
    if math.prod(wanted) != array.size:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
    step = array.itemsize
    found = view_strides(array.shape, tuple(each // step for each in array.strides), wanted)
    if found is None:
        raise ValueError("a copy would be needed for this shape")
    strides = tuple(each * step for each in found)
    if isinstance(array, ForeignArray):
        return array.strided(wanted, strides, 0, array.dtype)
    return np.lib.stride_tricks.as_strided(array, wanted, strides)


def view_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """Return the strides with which memory looks like `wanted`, None if a copy is needed.

    Strides are in elements.  Both shapes are walked from the back.  Neighbouring dimensions that
    lie in memory as one are joined to a block; the wanted dimensions must fill each block exactly.
    """
    if math.prod(shape) == 0:
        return strides if shape == wanted else row_major(wanted)
    result = [0] * len(wanted)
    position = len(wanted) - 1
    block_step = strides[-1] if strides else 1
    block = filled = 1
    for dim in reversed(range(len(shape))):
        block *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == block * block_step):
            continue
        while position >= 0 and (filled < block or wanted[position] == 1):
            result[position] = filled * block_step
            filled *= wanted[position]
            position -= 1
        if filled != block:
            return None
        if dim:
            block_step = strides[dim - 1]
            block = filled = 1
    while position >= 0 and not shape:
        result[position] = 1
        position -= 1
    return tuple(result) if position < 0 else None


def wanted_shape(shape: Shape, size: int) -> Shape:
    """Return `shape` with its -1 replaced, checked against the number of elements."""
    product = 1
    unknown = -1
    for position, length in enumerate(shape):
        if length >= 0:
            product *= length
        elif length != -1:
            raise RuntimeError(
                f"invalid shape dimension {length} at index {position} of shape {list(shape)}"
            )
        elif unknown >= 0:
            raise RuntimeError("only one dimension can be inferred")
        else:
            unknown = position
    if unknown < 0:
        if product != size:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
        return shape
    if product == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    if product == 0 or size % product:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return (*shape[:unknown], size // product, *shape[unknown + 1 :])


def integers(function: str, argument: str, values: Sequence[Any], position: int = 0) -> Shape:
    """Return sizes or dimensions given by the user as a tuple of Python integers."""
    for each in values:
        if type(each) is not int:
            break
    else:
        return tuple(values)
    found = []
    for number, each in enumerate(values, 1):
        try:
            if isinstance(each, bool):
                raise TypeError
            found.append(operator.index(each))
        except (TypeError, ValueError):
            _refuse(function, argument, position, number, each)
    return tuple(found)


def _refuse(function: str, argument: str, position: int, number: int, value: Any) -> NoReturn:
    if number == 1 and position:
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be tuple of ints, "
            f"but found element of type {type(value).__name__} at pos 0"
        )
    raise TypeError(
        f"{function}(): argument '{argument}' failed to unpack the object at pos {number} with "
        f'error "type must be tuple of ints,but got {type(value).__name__}"'
    )


def broadcast_clash(shapes: Sequence[tuple[int, ...]]) -> RuntimeError | None:
    """Return the error for the first pair of shapes that do not broadcast, None if all do."""
    result: tuple[int, ...] = shapes[0]
    for shape in shapes[1:]:
        ndim = max(len(result), len(shape))
        left = (1,) * (ndim - len(result)) + result
        right = (1,) * (ndim - len(shape)) + shape
        for dim in reversed(range(ndim)):
            if left[dim] != right[dim] and left[dim] != 1 and right[dim] != 1:
                return RuntimeError(
                    f"The size of tensor a ({left[dim]}) must match the size of tensor b "
                    f"({right[dim]}) at non-singleton dimension {dim}"
                )
        result = tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
    return None


def overlaps(shape: Shape, strides: Shape) -> bool:
    """Return whether two elements may lie in one place; errs on the side of True."""
    reach = 0
    for step, length in sorted(zip(strides, shape, strict=True)):
        if length > 1:
            if step <= reach:
                return True
            reach += step * (length - 1)
    return False


def extent(shape: Shape, strides: Shape) -> int:
    """Return how many elements lie from the first to the last; 0 if there are none."""
    if 0 in shape:
        return 0
    return 1 + sum([(length - 1) * step for length, step in zip(shape, strides, strict=True)])


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Return whether the elements fill a piece of memory without gaps and without overlap."""
    if 0 in shape:
        return True
    expected = 1
    for step, length in sorted(zip(strides, shape, strict=True)):
        if length == 1:
            continue
        if step != expected:
            return False
        expected *= length
    return True


def preserved_strides(shape: Shape, strides: Shape) -> Shape:
    """Return dense strides in the order of the given ones, as a copy that keeps the layout has."""
    if is_dense(shape, strides):
        return strides
    return ordered_strides(shape, [strides])


def ordered_strides(shape: Shape, several: Sequence[Shape]) -> Shape:
    """Return dense strides in the order of several others; the first that has an order decides.

    Dimensions of step 0 have no order of their own and stay where they are among the others.
    """
    ndim = len(shape)
    order = list(range(ndim - 1, -1, -1))  # innermost first
    for start in range(1, ndim):
        moving = start
        for before in range(start - 1, -1, -1):
            inner, outer = order[before], order[moving]
            verdict = _in_order(shape[inner], shape[outer], [(s[inner], s[outer]) for s in several])
            if verdict is None:
                continue
            if verdict:
                break
            order[before], order[moving] = outer, inner
            moving = before
    if order == list(range(ndim - 1, -1, -1)):
        return row_major(shape)
    result = [0] * ndim
    step = 1
    for dim in order:
        result[dim] = step
        step *= shape[dim]
    return tuple(result)


def _in_order(inner: int, outer: int, steps: Sequence[tuple[int, int]]) -> bool | None:
    """Return whether two dimensions lie in memory as they stand, by their lengths and steps."""
    for first, second in steps:
        if first == 0 or second == 0:
            continue
        if first != second:
            return first < second
        if inner > outer:
            return False
    return None


def copied_with(array: Any, strides: Shape, dtype: np.dtype[Any] | None = None) -> Any:
    """Return a copy of an array of any device, with the given strides, which count elements."""
    copy = empty_with(array.shape, strides, dtype or array.dtype, array)
    if not copied_natively(copy, array):
        copy[...] = array
    return copy


def copied_in_rows(array: Any) -> Any:
    """Return a row-major copy of an array of any device.

    Of a million elements it takes 0.1 ms, with NumPy's own function, on one thread, 0.2.
    """
    if type(array) is not ndarray or array.size < (LARGE if array.flags.c_contiguous else _MANY):
        return array.copy(order="C")
    copy = np.empty(array.shape, array.dtype)
    if not copied_natively(copy, array):
        np.copyto(copy, array)
    return copy


def copied_natively(target: Any, source: Any) -> bool:
    """Copy an array into another of its shape and dtype, if that is done natively."""
    return (
        native is not None
        and source.size >= _MANY
        and native.copy_across(target, source) is not None
    )


def empty_with(shape: Shape, strides: Shape, dtype: np.dtype[Any], like: Any = None) -> Any:
    """Return uninitialised memory with the given strides, which count elements.

    It is on the device of `like`.
    """
    if isinstance(like, ForeignArray):
        return like.place.empty(shape, strides, dtype, like.device)
    memory = np.empty(extent(shape, strides), dtype)
    itemsize = memory.itemsize
    return ndarray(shape, dtype, memory, 0, tuple([step * itemsize for step in strides]))


_CHANNELS_LAST = {"channels_last": (1, 3, 2, 0), "channels_last_3d": (1, 4, 3, 2, 0)}


def format_strides(shape: Shape, name: str) -> Shape:
    """Return the strides of contiguous_format, channels_last or channels_last_3d."""
    order = _CHANNELS_LAST.get(name)
    if order is None:
        return row_major(shape)
    if len(order) != len(shape):
        raise RuntimeError(f"required rank {len(order)} tensor to use {name} format")
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim] or 1
    return tuple(strides)


def _grow(array: ndarray, order: Sequence[int]) -> bool:
    """Return whether strides are those of dense memory in an order, fastest dimension first."""
    step = array.itemsize
    for dim in order:
        if array.shape[dim] != 1:
            if array.strides[dim] != step:
                return False
            step *= array.shape[dim]
    return True


def has_format(array: ndarray, name: str) -> bool:
    """Return whether an array has a memory format; dimensions of length 1 do not matter."""
    order = _CHANNELS_LAST.get(name)
    if order is None:
        return array.flags.c_contiguous
    if array.ndim != len(order):
        return False
    if not array.size:  # PyTorch looks at their strides; NumPy at nothing
        return _grow(array, order)
    return array.transpose(order[::-1]).flags.c_contiguous


def existing_dim(dim: int, ndim: int) -> int:
    """Return a checked dimension counted from the front; a 0-d tensor has none."""
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def wrap_dim(dim: int, ndim: int) -> int:
    """Return a checked dimension counted from the front; a 0-d tensor counts as 1-d."""
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], "
            f"but got {dim})"
        )
    return dim + limit if dim < 0 else dim


def refuse_overlap(target: ndarray) -> None:
    """Raise for an expanded tensor, which has several elements in one place."""
    if 0 not in target.strides:
        return
    pairs = zip(target.shape, target.strides, strict=True)
    if target.size and any(length > 1 and stride == 0 for length, stride in pairs):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
