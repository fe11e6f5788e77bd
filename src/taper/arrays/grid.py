"""Sampling at arbitrary places: which elements a place is made of, and with what weights.

Owns: coordinates, borders and weights of `grid_sample` for any number of dimensions, and the sums
over the neighbours of all places at once.  Knows arrays; the operators are in `ops`.

An array (N, C, H, W) is seen as rows: one of C numbers for each place of each sample, and a last
row of zeros that stands for everything outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from taper.arrays.interpolation import CUBIC
from taper.arrays.strides import Shape

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


class Axis(NamedTuple):
    """The places along one dimension, in arrays of shape (samples, places).

    share    how far behind its first neighbour (cubic: its second) each place is
    factor   how fast it moves with the coordinate of the grid
    numbers  of the neighbours; outside they may be anything
    inside   which neighbours exist
    """

    share: ndarray
    factor: Any
    numbers: list[ndarray]
    inside: list[ndarray]


# --- coordinates -----------------------------------------------------------------------------


def unnormalised(coordinate: ndarray, size: int, align_corners: bool, fused: bool) -> ndarray:
    """Return a coordinate from -1 to 1 as a place from 0 to size - 1, or around that.

    At the identity the last bit decides between which pixels a place lies.  For pictures PyTorch
    rounds product and difference together (`fused`), for volumes each of them.
    """
    if align_corners:
        return ((coordinate + 1) / 2 * (size - 1)).astype(coordinate.dtype)
    wide: Any = np.float64 if coordinate.dtype.itemsize < 8 else np.longdouble
    kind = wide if fused else coordinate.dtype
    return ((coordinate + 1).astype(kind) * (size / 2) - 0.5).astype(coordinate.dtype)


def speed(size: int, align_corners: bool) -> float:
    """Return how fast a place moves with its coordinate."""
    return (size - 1) / 2 if align_corners else size / 2


def _clipped(place: ndarray, size: int) -> ndarray:
    return np.fmin(np.fmax(place, 0), size - 1)  # NaN becomes 0


def _reflected(place: ndarray, size: int, align_corners: bool) -> tuple[ndarray, ndarray]:
    """Mirror places at the borders until they are inside; also return their direction."""
    low = 0.0 if align_corners else -0.5
    span = float(size - 1 if align_corners else size)
    if span == 0:
        return np.zeros_like(place), np.zeros_like(place)
    distance = np.abs(place - low)
    direction = np.where(place < low, -1, 1).astype(place.dtype)
    odd = np.floor(distance / span) % 2 == 1
    extra = np.fmod(distance, span)
    return (
        np.where(odd, span - extra, extra).astype(place.dtype) + place.dtype.type(low),
        np.where(odd, -direction, direction),
    )


def _padded(place: ndarray, size: int, padding: int, align_corners: bool) -> tuple[ndarray, Any]:
    """Lead places back inside; also return how fast they move with the original ones."""
    moving: Any = 1
    if padding == REFLECTION:
        place, moving = _reflected(place, size, align_corners)
    if padding != ZEROS:
        moving = moving * ((place > 0) & (place < size - 1))
        place = _clipped(place, size)
    return place, moving


def axis_of(
    coordinate: ndarray,
    size: int,
    fused: bool,
    interpolation: int,
    padding: int,
    align_corners: bool,
) -> Axis:
    """Return the places that coordinates mean along one dimension."""
    place = unnormalised(coordinate, size, align_corners, fused)
    factor: Any = speed(size, align_corners)
    if interpolation == BICUBIC:
        first = np.floor(place)
        numbers = [first + tap - 1 for tap in range(4)]
        numbers = [_padded(each, size, padding, align_corners)[0] for each in numbers]
        return _axis(place - first, factor, numbers, size)
    place, moving = _padded(place, size, padding, align_corners)
    factor = factor * moving
    if interpolation == NEAREST:
        return _axis(np.zeros_like(place), factor, [np.rint(place)], size)
    first = np.floor(place)
    return _axis(place - first, factor, [first, first + 1], size)


def _axis(share: ndarray, factor: Any, places: list[ndarray], size: int) -> Axis:
    inside = [(each >= 0) & (each < size) for each in places]
    numbers = [
        np.where(mask, each, 0).astype(np.int64) for each, mask in zip(places, inside, strict=True)
    ]
    if np.ndim(factor):
        factor = factor.astype(share.dtype)
    return Axis(share, factor, numbers, inside)


def axes_of(grid: ndarray, sizes: Shape, *settings: Any) -> list[Axis]:
    """Return the places that a grid means along each dimension; its coordinates are reversed."""
    flat = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1])
    rank = len(sizes)
    return [
        axis_of(flat[..., rank - 1 - dim], size, rank == 2, *settings)
        for dim, size in enumerate(sizes)
    ]


# --- weights ---------------------------------------------------------------------------------


def weights_of(share: Any, interpolation: int) -> list[tuple[Any, Any, Any]]:
    """Return each neighbour's weight with its two derivatives, as arrays or Tensors."""
    if interpolation == NEAREST:
        return [(1, 0, 0)]
    if interpolation == BILINEAR:
        return [(1 - share, -1, 0), (share, 1, 0)]
    rest = 1 - share
    mirrored = [_inner(rest), _outer(rest + 1)]
    return [
        _outer(share + 1),
        _inner(share),
        *[(weight, -slope, bend) for weight, slope, bend in mirrored],
    ]


def _inner(x: Any) -> tuple[Any, Any, Any]:
    a, b = CUBIC + 2, CUBIC + 3
    return (a * x - b) * x * x + 1, (3 * a * x - 2 * b) * x, 6 * a * x - 2 * b


def _outer(x: Any) -> tuple[Any, Any, Any]:
    a = CUBIC
    return (
        ((a * x - 5 * a) * x + 8 * a) * x - 4 * a,
        (3 * a * x - 10 * a) * x + 8 * a,
        6 * a * x - 10 * a,
    )


def product(factors: list[Any]) -> Any:
    """Return the product of the weights along all dimensions."""
    total = factors[0]
    for each in factors[1:]:
        total = total * each
    return total


# --- sums over neighbours --------------------------------------------------------------------


def rows_of(array: ndarray) -> ndarray:
    """Return an array (N, C, ...) as rows of channels, with a row of zeros behind them."""
    samples, channels = array.shape[:2]
    size = math.prod(array.shape[2:])
    rows = np.zeros((samples * size + 1, channels), array.dtype)
    inner = rows[:-1].reshape(samples, size, channels)
    inner[...] = array.reshape(samples, channels, size).swapaxes(1, 2)
    return rows


def from_rows(rows: ndarray, shape: Shape) -> ndarray:
    """Return rows of channels as an array (N, C, ...)."""
    samples, channels, size = *shape[:2], math.prod(shape[2:])
    blocks = rows[: samples * size].reshape(samples, size, channels)
    return np.ascontiguousarray(blocks.swapaxes(1, 2)).reshape(shape)


def combinations(
    axes: list[Axis], sizes: Shape
) -> Iterator[tuple[tuple[int, ...], ndarray, ndarray]]:
    """Yield each combination of neighbours: which ones, their places, and if they exist."""
    for taps in itertools.product(*[range(len(axis.numbers)) for axis in axes]):
        number: Any = 0
        inside: Any = True
        for axis, tap, length in zip(axes, taps, sizes, strict=True):
            number = number * length + axis.numbers[tap]
            inside = inside & axis.inside[tap]
        yield taps, number, inside


def neighbours(axes: list[Axis], sizes: Shape) -> Iterator[tuple[tuple[int, ...], ndarray]]:
    """Yield each combination of neighbours: which ones, and the row numbers."""
    samples = axes[0].share.shape[0]
    size = math.prod(sizes)
    starts = np.arange(0, samples * size, size).reshape(-1, 1)
    for taps, numbers, inside in combinations(axes, sizes):
        yield taps, np.where(inside, numbers + starts, samples * size).reshape(-1)


def sampled(array: ndarray, grid: ndarray, interpolation: int, *settings: Any) -> ndarray:
    """Return the array at the places of a grid."""
    sizes = array.shape[2:]
    axes = axes_of(grid, sizes, interpolation, *settings)
    weights = [weights_of(axis.share, interpolation) for axis in axes]
    rows = rows_of(array)
    result: Any = None
    part = np.empty((axes[0].share.size, array.shape[1]), array.dtype)  # new memory costs more
    for taps, numbers in neighbours(axes, sizes):
        rows.take(numbers, 0, out=part, mode="clip")
        weight = product([weights[dim][tap][0] for dim, tap in enumerate(taps)])
        if interpolation == NEAREST:
            result = part
        elif result is None:
            result = part * weight.reshape(-1, 1)
        else:
            np.multiply(part, weight.reshape(-1, 1), out=part)
            result += part
    return from_rows(result, (*array.shape[:2], *grid.shape[1:-1]))


def sampled_backward(
    grad: ndarray,
    array: ndarray,
    grid: ndarray,
    interpolation: int,
    padding: int,
    align_corners: bool,
    wanted: tuple[bool, bool],
) -> tuple[ndarray, ndarray]:
    """Return the gradients of array and grid; an unwanted one is an empty array."""
    sizes, channels = array.shape[2:], array.shape[1]
    axes = axes_of(grid, sizes, interpolation, padding, align_corners)
    weights = [weights_of(axis.share, interpolation) for axis in axes]
    grad_rows = rows_of(grad)[:-1]
    part = np.empty_like(grad_rows)
    rows = rows_of(array) if wanted[1] else None
    sums = np.zeros((math.prod((array.shape[0], *sizes)) + 1) * channels, array.dtype)
    slopes = [np.zeros(axis.share.size, grid.dtype) for axis in axes]
    places = np.empty(grad_rows.shape, np.int64)
    for taps, numbers in neighbours(axes, sizes):
        if wanted[0]:
            weight: Any = product([weights[dim][tap][0] for dim, tap in enumerate(taps)])
            np.multiply(grad_rows, np.reshape(weight, (-1, 1)), out=part)
            np.add(numbers[:, None] * channels, np.arange(channels), out=places)
            np.add.at(sums, places.reshape(-1), part.reshape(-1))
        if rows is not None and interpolation != NEAREST:
            rows.take(numbers, 0, out=part, mode="clip")
            along = np.vecdot(part, grad_rows)
            for dim, slope in enumerate(slopes):
                derived = [weights[each][tap][each == dim] for each, tap in enumerate(taps)]
                slope += along * np.reshape(product(derived), -1)
    table = sums.reshape(len(sums) // max(channels, 1), channels)
    return (
        from_rows(table, array.shape) if wanted[0] else sums[:0],
        _grid_gradient(slopes, axes, grid) if wanted[1] else sums[:0],
    )


def _grid_gradient(slopes: list[ndarray], axes: list[Axis], grid: ndarray) -> ndarray:
    moved = [
        slope.reshape(axis.share.shape) * axis.factor
        for slope, axis in zip(slopes, axes, strict=True)
    ]
    return np.stack(moved[::-1], -1).reshape(grid.shape).astype(grid.dtype, copy=False)
