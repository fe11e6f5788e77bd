"""What reductions share: their dimensions, and sums of arrays in PyTorch's precision.

Knows arrays and plain values only; the operators are in `ops`.
"""

from __future__ import annotations

import math
import operator
from typing import Any, TypeAlias

import numpy as np

from taper.arrays.elements import FLOAT32, FLOAT64, INT64, LOW_PRECISION, cast
from taper.arrays.native import native
from taper.arrays.strides import wrap_dim
from taper.dtypes import FROM_NUMPY
from taper.userwarning import warn_user

Dims: TypeAlias = tuple[int, ...] | None
Shape: TypeAlias = tuple[int, ...]


class _Absent:
    def __repr__(self) -> str:
        return "<not given>"  # what `help` shows in a signature


ABSENT: Any = _Absent()
"""An argument that was not given, where None is a value: as a `dim` it means all dimensions."""


_add: Any = np.add.reduce


def _nothing(*_: Any) -> Any:
    """Stand for a native function where there is none."""


# Functions of (kind, array, axes, keepdims) and (array, axes, keepdims, divisor) for row-major
# float32 and dimensions that are neighbours; they return None for anything else.
SUM, MEAN, LARGEST, SMALLEST, LOG_TOTAL, LENGTH = range(6)
reduce_natively: Any = _nothing if native is None else native.reduce
variance_natively: Any = _nothing if native is None else native.variance
glance_natively: Any = _nothing if native is None else native.glance

# NumPy adds rows one by one when it reduces an outer dimension; longer ones are cut into blocks.
_LONG = 1024
_LONG_OUTER = 128
_FEW_ROWS = 256
_BLOCK = 32
_LARGE = 32768  # elements from which BLAS adds faster, even when it starts threads
_ONES = {dtype: np.ones(_LONG, dtype) for dtype in (FLOAT32, FLOAT64)}


# --- dimensions ------------------------------------------------------------------------------


def dims_of(dim: Any, function: str) -> Dims:
    """Return a `dim` argument as the operators take it: a tuple, or None for all dimensions."""
    if type(dim) is int:
        return (dim,)
    if dim is None:
        return None
    try:
        if isinstance(dim, (tuple, list)):
            return tuple([each if type(each) is int else operator.index(each) for each in dim])
        return (operator.index(dim),)
    except TypeError:
        raise TypeError(
            f"{function}(): argument 'dim' must be tuple of ints, not {type(dim).__name__}"
        ) from None


def given_axis(function: str, axis: Any) -> Any:
    """Return a dimension that must be given, as `dim` or under NumPy's name."""
    if axis is ABSENT:
        raise TypeError(f'{function}() missing 1 required positional arguments: "dim"')
    return axis


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the dimensions to reduce, counted from the front and checked; none given means all."""
    if not dim:
        return tuple(range(ndim))
    axes = tuple([wrap_dim(each, ndim) for each in dim])
    if len(axes) > 1:
        for position, each in enumerate(axes):
            if each in axes[:position]:
                raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return axes if ndim else ()


def kept_shape(shape: Shape, dim: Dims) -> Shape:
    """Return the shape of the result of a reduction with `keepdim=True`."""
    axes = axes_of(dim, len(shape))
    return tuple([1 if nr in axes else length for nr, length in enumerate(shape)])


def count_of(shape: Shape, dim: Dims) -> int:
    """Return how many elements are reduced to one."""
    return math.prod([shape[axis] for axis in axes_of(dim, len(shape))])


def is_expandable(shape: Shape, wide: Shape) -> bool:
    """Return whether a tensor of `shape` broadcasts to the shape `wide`."""
    lead = len(wide) - len(shape)
    return lead >= 0 and all(
        length in (1, wanted) for length, wanted in zip(shape, wide[lead:], strict=True)
    )


def without(shape: Shape, dim: int) -> Shape:
    """Return a shape without one of its dimensions."""
    return shape[:dim] + shape[dim + 1 :]


def refuse_empty(array: np.ndarray, dim: int, function: str) -> None:
    """Raise PyTorch's error if there is nothing to choose from along a dimension."""
    if array.ndim and not array.shape[dim]:
        raise IndexError(f"{function}(): Expected reduction dim {dim} to have non-zero size.")


def no_norm(dtype: np.dtype) -> RuntimeError:
    """Return the error of the norm of whole numbers or bool."""
    return RuntimeError(
        "norm(): input dtype should be either floating point or complex. Got "
        f"{scalar_type(dtype)} instead."
    )


def no_forward_mode(name: str) -> NotImplementedError:
    """Return the error of forward mode at an operator for which PyTorch has no rule either."""
    return NotImplementedError(
        f"Trying to use forward AD with {name} that does not support it because it has not been "
        "implemented yet."
    )


def scalar_type(dtype: np.dtype) -> str:
    """Return PyTorch's name of a NumPy dtype in error texts."""
    return FROM_NUMPY[dtype].scalar_type


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array in another dtype, with PyTorch's warning if imaginary parts are lost."""
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        if array.size:
            warn_user("Casting complex values to real discards the imaginary part")
        array = array.real
    return array.astype(dtype)


# --- sums ------------------------------------------------------------------------------------


def sum_array(array: np.ndarray, axes: Any, keepdims: bool, dtype: np.dtype | None) -> Any:
    """Return the sum of an array in `dtype`, by default int64 for integers.

    float16 and bfloat16 are added in float32, as in PyTorch.
    """
    source = array.dtype
    if dtype is None:
        dtype = source if source.kind in "fcV" else INT64
    elif dtype is not source:
        if dtype in LOW_PRECISION or not np.can_cast(source, dtype, "same_kind"):
            array = converted(array, dtype)
    if dtype in LOW_PRECISION:
        if source is dtype:
            array = cast(array, FLOAT32)
        return cast(add_blocks(array, axes, keepdims, FLOAT32), dtype)
    return add_blocks(array, axes, keepdims, dtype)


def total_of(array: np.ndarray) -> Any:
    """Return the sum of all elements of an array; a large contiguous one goes to BLAS in blocks.

    A million float32 numbers take 0.06 ms, with `np.add.reduce` 0.25; as exact as pairwise sums.
    """
    found = reduce_natively(SUM, array, None, False)
    if found is not None:
        return found
    size = array.size
    if size < _LARGE or not array.flags.c_contiguous:
        # NumPy takes 0.85 us for a short vector, 0.5 us more if it must find the axes itself.
        return _add(array) if array.ndim == 1 else _add(array, None)
    ones = _ONES.get(array.dtype)
    if ones is None:
        return _add(array, None)
    flat = array.reshape(-1)
    whole = size - size % _LONG
    total = _add(flat[:whole].reshape(-1, _LONG).dot(ones))
    return total if whole == size else total + _add(flat[whole:])


def add_blocks(array: np.ndarray, axes: Any, keepdims: bool, dtype: np.dtype) -> Any:
    """Do the work of `np.add.reduce`, accurately even along long outer dimensions."""
    if dtype is FLOAT32 and array.dtype is FLOAT32:
        found = reduce_natively(SUM, array, axes, keepdims)
        if found is not None:
            return found
    if axes is None:
        if dtype is array.dtype and dtype.kind in "fc":
            return total_of(array)
    elif len(axes) == 1:
        axis = axes[0]
        length = array.shape[axis]
        if length >= _LONG_OUTER and not _is_innermost(array, axis):
            return _add_long(array, axis, keepdims, dtype)
        if array.size >= _LARGE and axis == array.ndim - 1 and dtype is array.dtype:
            total = row_sums(array, axis)
            return total if keepdims else total[..., 0]
    elif array.size >= _LARGE and dtype.kind in "fc":
        return _add_in_turn(array, axes, keepdims, dtype)
    return _add(array, axes, dtype, None, keepdims)


def row_sums(array: np.ndarray, axis: int) -> np.ndarray:
    """Return sums along one dimension, which is kept with length 1; BLAS sums rows that fit.

    128 rows of 10 take 1.3 us, with `np.add.reduce` 4.3.
    """
    length = array.shape[axis]
    if axis == array.ndim - 1 and length <= _LONG and array.flags.c_contiguous:
        ones = _ONES.get(array.dtype)
        if ones is not None:
            return array.dot(ones[:length])[..., None]
    if length >= _LONG_OUTER and not _is_innermost(array, axis):
        return _add_long(array, axis, True, array.dtype)
    return _add(array, axis, None, None, True)


def row_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Do the work of `np.vecdot` on real arrays, accurately even along a long last dimension.

    BLAS adds a long row with few partial sums; here it adds blocks.
    """
    length = first.shape[-1]
    if length <= _LONG:
        return np.vecdot(first, second)
    whole = length - length % _LONG
    pair = [each[..., :whole].reshape(*each.shape[:-1], -1, _LONG) for each in (first, second)]
    total: np.ndarray = _add(np.vecdot(*pair), -1)
    return total if whole == length else total + np.vecdot(first[..., whole:], second[..., whole:])


def column_sums(array: np.ndarray) -> np.ndarray:
    """Return the sums of a matrix's columns; few rows go to BLAS, which also adds them in turn.

    32 rows of 64 take 0.6 us, with `np.add.reduce` 1.7.
    """
    found: np.ndarray | None = reduce_natively(SUM, array, (0,), False)
    if found is not None:
        return found
    rows = array.shape[0]
    ones = _ONES.get(array.dtype) if rows <= _FEW_ROWS else None
    if ones is None:
        return np.asarray(sum_array(array, (0,), False, array.dtype))
    return ones[:rows].dot(array)


def _add_in_turn(array: np.ndarray, axes: tuple[int, ...], keepdims: bool, dtype: np.dtype) -> Any:
    """Sum over several dimensions, one after the other, the innermost first.

    Neighbours in memory count as one dimension, since short rows cost 90 ns each.
    """
    shape = array.shape
    runs: list[list[int]] = []
    for axis in sorted(axes, key=lambda each: abs(array.strides[each])):
        last = runs[-1][0] if runs else None
        if last == axis + 1 and array.strides[axis] == shape[last] * array.strides[last]:
            runs[-1].insert(0, axis)
        else:
            runs.append([axis])
    total = array
    for run in runs:
        merged = math.prod([shape[axis] for axis in run])
        first, behind = total.shape[: run[0]], total.shape[run[-1] + 1 :]
        total = total.reshape(*first, merged, *behind)
        total = add_blocks(total, (run[0],), True, dtype)
        total = total.reshape(*first, *(1,) * len(run), *behind)
    return total if keepdims else total.reshape([n for nr, n in enumerate(shape) if nr not in axes])


def _is_innermost(array: np.ndarray, axis: int) -> bool:
    """Return whether NumPy goes along this dimension first and adds pairwise."""
    pairs = enumerate(zip(array.shape, array.strides, strict=True))
    return array.strides[axis] == array.itemsize and all(
        nr == axis or length == 1 or abs(step) > array.itemsize for nr, (length, step) in pairs
    )


def combine_at(at: Any, flat: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Do the work of `np.add.at` and its like; half precision is added in float32."""
    if flat.dtype not in LOW_PRECISION:
        if at != np.add.at or not scatter_along(flat, places, values, True):
            at(flat, places, values)
        return
    wide = flat.astype(FLOAT32)
    at(wide, places, values.astype(FLOAT32))
    flat[...] = wide


def add_rows(target: np.ndarray, rows: np.ndarray, values: np.ndarray, left_out: int = -1) -> bool:
    """Add `values` to rows of an array, in the order of their numbers, if that is done natively.

    Nothing is done for numbers outside, and for arrays that are not row-major floats; row
    `left_out` gets nothing.
    """
    return native is not None and native.add_rows(target, rows, values, left_out) is not None


def scatter_along(target: np.ndarray, places: np.ndarray, values: np.ndarray, add: bool) -> bool:
    """Write, or add, `values` at places of the last dimension, if that is done natively.

    Nothing is done for places outside, and for arrays that are not row-major.
    """
    return native is not None and native.scatter_along(target, places, values, add) is not None


def _add_long(array: np.ndarray, axis: int, keepdims: bool, dtype: np.dtype) -> Any:
    shape = array.shape
    blocks = shape[axis] // _BLOCK
    whole = (slice(None),) * axis + (slice(blocks * _BLOCK),)
    rest = (slice(None),) * axis + (slice(blocks * _BLOCK, None),)
    cut = array[whole].reshape(*shape[:axis], blocks, _BLOCK, *shape[axis + 1 :])
    total = add_blocks(_add(cut, axis + 1, dtype), (axis,), keepdims, dtype)
    if shape[axis] % _BLOCK:
        total = total + _add(array[rest], axis, dtype, None, keepdims)
    return total
