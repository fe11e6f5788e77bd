"""Sparse linear maps along one dimension, with which adaptive averages and interpolation compute.

Owns: such a map, built from its entries, applied to all of an array at once, and its transpose.
Knows ndarrays; `ops.pool.adaptive` and `interpolation` say which entries there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.native import native
from taper.arrays.strides import EVERYTHING, copied_natively
from taper.arrays.windows import along, at, read, row_major

# Up to this many sources a product with the dense matrix is quicker than tap by tap: 0.6 ns an
# element against 2.7 with 32 sources, 2.5 against 2.8 with 128.
_DENSE_LIMIT = 100


def _times(
    shape: tuple[int, int], targets: ndarray, sources: ndarray, weights: ndarray | None
) -> int:
    """Return how often each source in turn is repeated, or how many are added; 0 if it differs."""
    most, least = max(shape), min(shape)
    if weights is not None or not least or most % least or most == least or len(targets) != most:
        return 0
    many, few = (targets, sources) if shape[0] == most else (sources, targets)
    numbers = np.arange(most)
    times = most // least
    return times if (many == numbers).all() and (few == numbers // times).all() else 0


def repeated(array: ndarray, axis: int, times: int) -> ndarray:
    """Repeat each element along a dimension: half of the time of reading by numbers."""
    shape = array.shape
    result = np.empty((*shape[: axis + 1], times, *shape[axis + 1 :]), array.dtype)
    for nr in range(times):
        place = at(axis + 1, nr)
        if not copied_natively(result[place], array):
            result[place] = array
    return result.reshape(*shape[:axis], shape[axis] * times, *shape[axis + 1 :])


def added(array: ndarray, axis: int, times: int) -> ndarray:
    """Add neighbours along a dimension, in their order: a quarter of the time of a product."""
    shape = array.shape
    count = shape[axis] // times
    if axis == len(shape) - 1:  # as one row, which all threads add
        parts = [array.reshape(-1)[nr::times] for nr in range(times)]
    else:
        cut = array.reshape(*shape[:axis], count, times, *shape[axis + 1 :])
        parts = [cut[at(axis + 1, nr)] for nr in range(times)]
    result = parts[0] + parts[1]
    for part in parts[2:]:
        result += part
    return result.reshape(*shape[:axis], count, *shape[axis + 1 :])


class Resampling:
    """A linear map along one dimension: each target is a weighted sum of few sources.

    `taps` holds (sources, targets, weights): the first summand of all targets, the second of those
    that have one, and so on.  Weights of None are 1.
    """

    __slots__ = ("_dense", "_transposed", "entries", "natively", "shape", "taps", "times")

    def __init__(
        self, shape: tuple[int, int], targets: ndarray, sources: ndarray, weights: ndarray | None
    ) -> None:
        self.shape = shape  # targets, sources
        self.entries = targets, sources, weights
        self.times = _times(shape, targets, sources, weights)
        self._dense: ndarray | None = None
        self._transposed: Resampling | None = None
        order = np.argsort(targets, kind="stable")
        targets, sources = targets[order], sources[order]
        weights = None if weights is None else weights[order]
        counts = np.bincount(targets, minlength=shape[0])
        # For the native module: where a target's sources begin, which they are, their weights.
        self.natively: tuple[ndarray, ndarray, ndarray] | None = None
        if weights is not None:
            starts = np.concatenate([[0], np.cumsum(counts)])
            self.natively = starts, sources.astype(np.int32), weights
        rank = np.arange(len(targets)) - (np.cumsum(counts) - counts)[targets]
        self.taps: list[tuple[ndarray, Any, ndarray | None]] = []
        for tap in range(int(counts.max(initial=0))):
            chosen = np.flatnonzero(rank == tap)
            whole = len(chosen) == shape[0]
            self.taps.append(
                (
                    sources[chosen],
                    EVERYTHING if whole else targets[chosen],
                    None if weights is None else weights[chosen],
                )
            )

    def transposed(self) -> Resampling:
        """Return the map in the other direction, which multiplies the gradient."""
        if self._transposed is None:
            targets, sources, weights = self.entries
            self._transposed = Resampling((self.shape[1], self.shape[0]), sources, targets, weights)
        return self._transposed

    def matrix(self, dtype: np.dtype) -> ndarray:
        """Return the map as a dense matrix."""
        if self._dense is None or self._dense.dtype != dtype:
            targets, sources, weights = self.entries
            found = np.zeros(self.shape, dtype)
            np.add.at(found, (targets, sources), 1 if weights is None else weights)
            self._dense = found
        return self._dense

    def apply(self, array: ndarray, axis: int) -> ndarray:
        """Apply the map along one dimension of a row-major array."""
        if self.times and type(array) is ndarray and array.size:
            return (repeated if self.shape[0] > self.shape[1] else added)(array, axis, self.times)
        if native is not None and self.natively is not None:
            found: ndarray | None = native.resample(array, axis, *self.natively)
            if found is not None:
                return found
        few = self.shape[1] <= _DENSE_LIMIT and array.dtype.kind == "f" and array.size
        if not few or (len(self.taps) == 1 and self.taps[0][2] is None):
            return self._by_taps(array, axis)
        matrix = self.matrix(array.dtype)
        shape = (*array.shape[:axis], self.shape[0], *array.shape[axis + 1 :])
        if axis == array.ndim - 1:
            result = array.reshape(-1, self.shape[1]).dot(matrix.T)
        else:
            rows = np.prod(array.shape[:axis], dtype=int)
            result = np.matmul(matrix, array.reshape(rows, self.shape[1], -1))
        if not np.isfinite(result).all():
            return self._by_taps(array, axis)  # 0 * inf would spoil the whole row
        return result.reshape(shape)

    def _by_taps(self, array: ndarray, axis: int) -> ndarray:
        ndim = array.ndim
        result: Any = None
        for sources, targets, weights in self.taps:
            part = read(array, axis, sources)
            if weights is not None:
                part *= along(weights, ndim, axis)
            if targets is not EVERYTHING:
                if result is None:
                    result = self._zeros(array, axis)
                result[at(axis, targets)] += part
            elif result is None:
                result = part
            else:
                result += part
        return self._zeros(array, axis) if result is None else result

    def _zeros(self, array: ndarray, axis: int) -> ndarray:
        shape = (*array.shape[:axis], self.shape[0], *array.shape[axis + 1 :])
        return np.zeros(shape, array.dtype)


def resampled(array: ndarray, maps: Sequence[Resampling]) -> ndarray:
    """Apply maps along the last dimensions, those that make the array smaller first.

    The last dimension is the slowest, so that its turn comes when the array is smallest.
    """
    array = row_major(array)
    first = array.ndim - len(maps)

    def turn(nr: int) -> tuple[float, int]:
        growth = maps[nr].shape[0] / maps[nr].shape[1]
        return growth, nr if growth < 1 else -nr

    for number in sorted(range(len(maps)), key=turn):
        array = maps[number].apply(array, first + number)
    return array
