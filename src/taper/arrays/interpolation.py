"""Which elements an interpolated one is made of, along one dimension, and with what weights.

Owns: the maps for `ops.image`: nearest, linear, cubic, and those that smooth before they shrink.
Knows numbers and `Resampling` only.  Positions are computed in PyTorch's precision, since rounding
decides which of two neighbours is the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.resampling import Resampling

# How far the pieces of cubic interpolation overshoot; smoothing uses another value.
CUBIC, SMOOTH_CUBIC = -0.75, -0.5


def distance(length: int, count: int, align_corners: bool, scale: float | None, dtype: type) -> Any:
    """Return how far apart in the source two neighbours of the result are."""
    if align_corners:
        return dtype((length - 1) / (count - 1)) if count > 1 else dtype(0)
    if scale is not None and scale > 0:
        return dtype(1.0 / scale)
    return dtype(length) / dtype(count)


def _positions(length: int, count: int, align_corners: bool, scale: Any, dtype: type) -> ndarray:
    """Return where in the source each element of the result lies."""
    step = distance(length, count, align_corners, scale, dtype)
    if align_corners:
        return np.asarray(step * np.arange(count, dtype=dtype))
    # Rounded once, as by PyTorch's fused multiply-add: the weights show the difference.
    return np.asarray(float(step) * (np.arange(count) + 0.5) - 0.5).astype(dtype)


@lru_cache(maxsize=64)
def nearest(length: int, count: int, scale: float | None, exact: bool) -> Resampling:
    """Map each element to a copy of the nearest one; `exact` measures from the middle."""
    step = distance(length, count, False, scale, np.float32)
    numbers = np.arange(count, dtype=np.float32)
    places = np.floor((numbers + np.float32(0.5)) * step if exact else numbers * step)
    sources = np.minimum(places.astype(np.int64), length - 1)
    return Resampling((count, length), np.arange(count), sources, None)


@lru_cache(maxsize=64)
def linear(
    length: int, count: int, align_corners: bool, scale: float | None, kind: str
) -> Resampling:
    """Map each element to the line between its two neighbours."""
    dtype = np.dtype(kind).type
    targets = np.arange(count)
    if length == count:
        left = right = targets
        share = np.zeros(count, dtype)
    else:
        positions = np.maximum(_positions(length, count, align_corners, scale, dtype), dtype(0))
        left = np.minimum(positions.astype(np.int64), length - 1)
        right = np.minimum(left + 1, length - 1)
        share = np.clip(positions - left.astype(dtype), dtype(0), dtype(1))
    return Resampling(
        (count, length),
        np.concatenate([targets, targets]),
        np.concatenate([left, right]),
        np.concatenate([dtype(1) - share, share]),
    )


def cubic_weights(share: Any, overshoot: float) -> list[Any]:
    """Return the weights of the four elements around a place that is `share` behind the second."""
    a = overshoot
    rest = 1 - share
    return [
        _far(share + 1, a),
        _near(share, a),
        _near(rest, a),
        _far(rest + 1, a),
    ]


def _near(x: Any, a: float) -> Any:
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _far(x: Any, a: float) -> Any:
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


@lru_cache(maxsize=64)
def cubic(
    length: int, count: int, align_corners: bool, scale: float | None, kind: str
) -> Resampling:
    """Map each element to a cubic curve through its four neighbours."""
    dtype = np.dtype(kind).type
    positions = _positions(length, count, align_corners, scale, dtype)
    left = np.floor(positions)
    weights = cubic_weights(positions - left, CUBIC)
    sources = [np.clip(left.astype(np.int64) + tap - 1, 0, length - 1) for tap in range(4)]
    return Resampling(
        (count, length),
        np.tile(np.arange(count), 4),
        np.concatenate(sources),
        np.concatenate(weights).astype(dtype),
    )


# --- with smoothing --------------------------------------------------------------------------


def triangle(x: ndarray) -> ndarray:
    """Return the filter of linear interpolation."""
    return np.maximum(1 - np.abs(x), 0)


def cubic_filter(x: ndarray) -> ndarray:
    """Return the filter of cubic interpolation."""
    x = np.abs(x)
    a = SMOOTH_CUBIC
    return np.where(x < 1, _near(x, a), np.where(x < 2, _far(x, a), 0))


def lanczos_filter(x: ndarray) -> ndarray:
    """Return the filter of Lanczos interpolation with three lobes."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS: dict[str, tuple[Callable[[ndarray], ndarray], int]] = {
    "bilinear": (triangle, 2),
    "bicubic": (cubic_filter, 4),
    "lanczos": (lanczos_filter, 6),
}


def smoothing_weights(
    filter_name: str, length: int, count: int, align_corners: bool, scale: float | None, dtype: type
) -> tuple[ndarray, ndarray, ndarray]:
    """Return the first source, the number of sources, and a row of weights for each target."""
    function, width = FILTERS[filter_name]
    step = distance(length, count, align_corners, scale, dtype)
    stretch = max(step, dtype(1))  # wider than the filter itself where the array shrinks
    support = dtype(width / 2) * stretch
    centers = step * (np.arange(count, dtype=dtype) + dtype(0.5))
    first = np.maximum((centers - support + dtype(0.5)).astype(np.int64), 0)
    last = np.minimum((centers + support + dtype(0.5)).astype(np.int64), length)
    sizes = np.maximum(last - first, 0)
    offsets = np.arange(int(sizes.max(initial=1)))
    places = offsets + first[:, None]
    weights: ndarray = function((places - centers[:, None] + dtype(0.5)) / stretch).astype(dtype)
    weights[offsets >= sizes[:, None]] = 0
    total = weights.sum(1, keepdims=True)
    return first, sizes, np.divide(weights, total, where=total != 0, out=weights)


@lru_cache(maxsize=64)
def smoothed(
    filter_name: str, length: int, count: int, align_corners: bool, scale: float | None, kind: str
) -> Resampling:
    """Map each element to the average of all that it stands for, weighted by a filter."""
    dtype = np.dtype(kind).type
    first, sizes, weights = smoothing_weights(
        filter_name, length, count, align_corners, scale, dtype
    )
    offsets = np.arange(weights.shape[1])
    valid = offsets < sizes[:, None]
    return Resampling(
        (count, length),
        np.repeat(np.arange(count), sizes),
        (first[:, None] + offsets)[valid],
        weights[valid],
    )
