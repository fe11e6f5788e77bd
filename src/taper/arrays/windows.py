"""Windows over arrays, with which all kinds of pooling compute.

Owns: the windows along one dimension, and the largest element, its place and the sum in each
window.  A window has taps, its places in order; the work is done tap by tap, for all windows at
once and one dimension after the other.  Knows ndarrays; the operators and their errors are in
`ops.pool`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.strides import EVERYTHING, Shape

# Where a tap reads or writes along a dimension: a slice, or the numbers of the places.
Places = Any


class Windows:
    """The windows along one dimension of an array.

    `taps` says for each place in a window where it is read and which windows have it; `starts` are
    the first places of the windows; neighbouring taps are `step` apart.
    """

    __slots__ = ("count", "length", "starts", "step", "taps")

    def __init__(
        self, length: int, starts: ndarray, step: int, taps: list[tuple[Places, Places]]
    ) -> None:
        self.length = length
        self.count = len(starts)
        self.starts = starts
        self.step = step
        self.taps = taps


def regular_windows(
    length: int, kernel: int, stride: int, padding: int, dilation: int, count: int
) -> Windows:
    """Return windows of one size at equal distances, without what lies in the padding."""
    taps: list[tuple[Places, Places]] = []
    for tap in range(kernel):
        offset = tap * dilation - padding
        first = max(0, -(offset // stride))
        last = min(count, (length - 1 - offset) // stride + 1)
        if first < last:
            source = slice(first * stride + offset, (last - 1) * stride + offset + 1, stride)
            whole = first == 0 and last == count
            taps.append((source, EVERYTHING if whole else slice(first, last)))
        else:
            taps.append((slice(0, 0), slice(0, 0)))
    return Windows(length, np.arange(count) * stride - padding, dilation, taps)


def adaptive_bounds(length: int, count: int) -> tuple[ndarray, ndarray]:
    """Return first places and ends of `count` windows that together cover a dimension."""
    numbers = np.arange(count)
    return numbers * length // max(count, 1), -(-(numbers + 1) * length // max(count, 1))


def adaptive_windows(length: int, count: int) -> Windows:
    """Return `count` windows of nearly one size that together cover a dimension."""
    if count and length % count == 0:
        return regular_windows(length, length // count, length // count, 0, 1, count)
    starts, ends = adaptive_bounds(length, count)
    sizes = ends - starts
    taps: list[tuple[Places, Places]] = []
    for tap in range(int(sizes.max(initial=0))):
        long_enough = sizes > tap
        target = EVERYTHING if long_enough.all() else np.flatnonzero(long_enough)
        taps.append((starts[target] + tap, target))
    return Windows(length, starts, 1, taps)


# --- reading and writing ---------------------------------------------------------------------


def at(axis: int, places: Places) -> tuple[Any, ...]:
    """Return the index of places along one dimension."""
    return (EVERYTHING,) * axis + (places,)


def read(array: ndarray, axis: int, places: Places) -> ndarray:
    """Return the part of an array at places along one dimension."""
    if isinstance(places, slice):
        return array if places == EVERYTHING else array[at(axis, places)]
    return array.take(places, axis)


def along(vector: ndarray, ndim: int, axis: int) -> ndarray:
    """Return a vector in a shape that broadcasts along one dimension of an array."""
    return vector.reshape(-1, *(1,) * (ndim - axis - 1))


def row_major(array: ndarray) -> ndarray:
    """Return the array in C order, which is the quickest tap by tap."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


# --- sums and maxima -------------------------------------------------------------------------


def lowest(dtype: np.dtype) -> Any:
    """Return a value that is never larger than an element."""
    return -math.inf if dtype.kind not in "iu" else np.iinfo(dtype).min


def combined(function: np.ufunc, array: ndarray, axis: int, windows: Windows) -> ndarray:
    """Combine each window's elements along one dimension by `np.maximum` or `np.add`."""
    result: Any = None
    owned = False
    for source, target in windows.taps:
        if target is EVERYTHING:
            part = read(array, axis, source)
            if result is None:
                result = part
            else:
                result = function(result, part, out=result if owned else None)
                owned = True
    if result is None:
        shape = (*array.shape[:axis], windows.count, *array.shape[axis + 1 :])
        empty = 0 if function is np.add else lowest(array.dtype)
        result = np.full(shape, empty, array.dtype)
    elif not owned:
        result = result.copy()
    for source, target in windows.taps:
        if target is not EVERYTHING:
            _change(function, result, axis, target, read(array, axis, source))
    return np.asarray(result)


def _change(function: np.ufunc, result: ndarray, axis: int, target: Places, part: ndarray) -> None:
    """Combine a part of the result with `part`, in place."""
    place = at(axis, target)
    if isinstance(target, slice):
        piece = result[place]
        function(piece, part, out=piece)
    else:
        result[place] = function(result[place], part)


def combined_all(function: np.ufunc, array: ndarray, windows: Sequence[Windows]) -> ndarray:
    """Combine over the last dimensions, one for each of `windows`."""
    array = row_major(array)
    for number, each in enumerate(reversed(windows), 1):
        array = combined(function, array, array.ndim - number, each)
    return array


def first_taps(array: ndarray, best: ndarray, axis: int, windows: Windows) -> ndarray:
    """Return the first tap that holds each window's maximum; with NaN the last NaN's."""
    taps = windows.taps
    result = np.zeros(best.shape, np.min_scalar_type(len(taps)))
    searching = np.ones(best.shape, bool)
    for source, target in taps[:-1]:
        differs = read(array, axis, source) != best[at(axis, target)]
        _change(np.logical_and, searching, axis, target, differs)
        result += searching
    if best.dtype.kind not in "iu" and np.isnan(best).any():
        for number, (source, target) in enumerate(taps):
            _select(result, axis, target, np.isnan(read(array, axis, source)), number)
    return result


def _select(result: ndarray, axis: int, target: Places, mask: ndarray, value: Any) -> None:
    """Write `value` where the mask holds, in a part of the result."""
    if isinstance(target, slice):
        np.copyto(result[at(axis, target)], value, where=mask)
    else:
        place = at(axis, target)
        result[place] = np.where(mask, value, result[place])


def followed(array: ndarray, axis: int, windows: Windows, chosen: ndarray) -> ndarray:
    """Return what the chosen tap of each window reads."""
    result = np.zeros(chosen.shape, array.dtype)
    for number, (source, target) in enumerate(windows.taps):
        # A product: selecting by a random mask takes ten times as long.
        part = read(array, axis, source) * (chosen[at(axis, target)] == number)
        _change(np.add, result, axis, target, part)
    return result


def maxima_with_places(array: ndarray, windows: Sequence[Windows]) -> tuple[ndarray, ndarray]:
    """Return the largest element of each window over the last dimensions, and its place among them.

    Of equal elements the first in row-major order counts, of several NaN the last: choosing
    within rows, then among rows, is the same as choosing in the whole window.
    """
    array = row_major(array)
    ndim = array.ndim
    chosen: list[ndarray] = []
    for number, each in enumerate(reversed(windows), 1):
        axis = ndim - number
        best = combined(np.maximum, array, axis, each)
        taps = first_taps(array, best, axis, each)
        chosen = [followed(before, axis, each, taps) for before in chosen] + [taps]
        array = best
    return array, _places(chosen, windows)


def _places(chosen: list[ndarray], windows: Sequence[Windows]) -> ndarray:
    """Return places in planes from the chosen taps along each dimension, the last one first."""
    # The taps of a window become one small number, which a table turns into a distance.
    count = math.prod([len(each.taps) for each in windows])
    number: Any = 0
    distances: Any = np.zeros(1, np.int64)
    starts: Any = np.zeros(1, np.int64)
    radix = stride = 1
    for dim, (each, taps) in enumerate(zip(reversed(windows), chosen, strict=True)):
        number = number + taps.astype(np.min_scalar_type(count)) * radix
        distances = (np.arange(len(each.taps)) * (each.step * stride))[:, None] + distances
        distances = distances.reshape(-1)
        starts = (each.starts * stride).reshape(-1, *(1,) * dim) + starts
        radix *= len(each.taps)
        stride *= each.length
    places = distances.take(number)
    places += starts
    return np.asarray(places)


# --- the way back ----------------------------------------------------------------------------


def spread(grad: ndarray, axis: int, windows: Windows) -> ndarray:
    """Add what each window has to all of its elements, along one dimension."""
    shape = (*grad.shape[:axis], windows.length, *grad.shape[axis + 1 :])
    result = np.zeros(shape, grad.dtype)
    steps = np.diff(windows.starts[:2])
    disjoint = not len(steps) or steps[0] >= len(windows.taps) * windows.step
    for source, target in windows.taps:
        part = read(grad, axis, target)
        if disjoint:
            result[at(axis, source)] = part
        else:
            result[at(axis, source)] += part
    return result


def flat_places(places: ndarray, rank: int, size: int) -> ndarray:
    """Return places in planes of `size` elements as places in the flat array of all planes."""
    planes = math.prod(places.shape[: places.ndim - rank])
    rows = places.reshape(planes, -1) if places.size else places.reshape(planes, 0)
    return (rows + np.arange(0, planes * size, size).reshape(-1, 1)).reshape(-1)


def added_at(grad: ndarray, places: ndarray, rank: int, shape: Shape) -> ndarray:
    """Return zeros with `grad` added at places of their planes, the last `rank` dimensions."""
    result = np.zeros(shape, grad.dtype)
    size = math.prod(shape[len(shape) - rank :])
    np.add.at(result.reshape(-1), flat_places(places, rank, size), grad.reshape(-1))
    return result


def taken_at(array: ndarray, places: ndarray, rank: int) -> ndarray:
    """Return the elements at places of an array's planes, its last `rank` dimensions."""
    size = math.prod(array.shape[array.ndim - rank :])
    found = array.reshape(-1).take(flat_places(places, rank, size))
    return found.reshape(places.shape)
