"""Second derivatives of sampling at a grid, and its forward mode: one text for arrays and Tensors.

Owns: how the gradients of `grid_sampler_2d/3d` change with what they depend on. Only operators are
used, so that third derivatives exist as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.grid import NEAREST, axes_of, combinations, product, weights_of
from taper.ops.index.gather import gather, gather_backward
from taper.ops.shape.ones import reshape
from taper.ops.shape.split import stack
from taper.tensor import wrap

Settings = tuple[int, int, bool]


class Sampling:
    """Holds what pictures and a grid have in common: shapes, neighbours and their weights."""

    def __init__(self, input: Any, grid: Any, settings: Settings) -> None:
        self.plain = type(grid) is ndarray
        places = grid if self.plain else grid._array
        self.shape = tuple(input.shape)
        self.sizes = self.shape[2:]
        self.places = tuple(places.shape)
        self.dtype = places.dtype
        self.axes = axes_of(places, self.sizes, *settings)
        self.factors = [
            self.given(axis.factor) if np.ndim(axis.factor) else axis.factor for axis in self.axes
        ]
        shares = [self.given(axis.share) for axis in self.axes]
        if not self.plain:  # a zero that carries the history of the grid
            zeros = [each - each.detach() for each in self.coordinates(grid)]
            parts = zip(shares, zeros, self.factors, strict=True)
            shares = [share + zero * factor for share, zero, factor in parts]
        self.weights = [weights_of(share, settings[0]) for share in shares]

    def given(self, array: ndarray) -> Any:
        """Return an array in the form of the others: itself, or a Tensor."""
        return array if self.plain else wrap(array)

    def coordinates(self, grid: Any) -> list[Any]:
        """Return the coordinates in a grid, a matrix (samples, places) for each dimension."""
        rank = len(self.sizes)
        return [reshape(grid[..., rank - 1 - dim], self.axes[0].share.shape) for dim in range(rank)]

    def planes(self, values: Any) -> Any:
        """View pictures, or what was sampled, with one dimension for all places."""
        shape = tuple(values.shape)
        return reshape(values, (*shape[:2], int(np.prod(shape[2:]))))

    def index(self, numbers: ndarray, inside: ndarray) -> tuple[Any, Any]:
        """Return the numbers of neighbours for each channel, and 1 where they exist, else 0."""
        samples, count = numbers.shape
        wide = np.broadcast_to(numbers[:, None], (samples, self.shape[1], count))
        return self.given(wide), self.given(inside[:, None].astype(self.dtype))

    def grid_of(self, slopes: list[Any]) -> Any:
        """Turn a gradient for each coordinate into one for the grid."""
        moved = [slope * each for slope, each in zip(slopes, self.factors, strict=True)]
        return reshape(stack(moved[::-1], -1), self.places)


def _column(value: Any) -> Any:
    return value if isinstance(value, int) else value[:, None]


def _plus(total: Any, term: Any) -> Any:
    return term if total is None else total + term


class _Totals:
    """Collects the three gradients in the sum over neighbours; None is zero."""

    def __init__(self, sampling: Sampling, outer: Any) -> None:
        self.sampling = sampling
        self.outer = outer
        self.dims = range(len(sampling.sizes))
        self.for_outer: Any = None
        self.for_pictures: Any = None
        self.slopes: list[Any] = [None for _ in self.dims]

    def derived(self, weights: list[Any], *along: int) -> Any:
        """Differentiate the weight of a neighbour along each of the given dimensions."""
        return product([weights[dim][along.count(dim)] for dim in self.dims])

    def add_slopes(self, factors: list[Any], found: Any) -> None:
        """Add what the grid gets from the products of `found` with the outer gradient."""
        both = (self.outer * found).sum(1)
        pairs = zip(self.slopes, factors, strict=True)
        self.slopes = [_plus(slope, factor * both) for slope, factor in pairs]

    def add_input(self, weights: list[Any], other: Any) -> None:
        """Add one neighbour of the gradient of `grad_input`."""
        self.for_outer = _plus(self.for_outer, _column(self.derived(weights)) * other)
        if self.outer is not None:
            self.add_slopes([self.derived(weights, dim) for dim in self.dims], other)

    def add_grid(self, weights: list[Any], moving: list[Any], near: Any, index: Any) -> None:
        """Add one neighbour of the gradient of `grad_grid`."""
        turn = sum([moving[dim] * self.derived(weights, dim) for dim in self.dims])
        self.for_outer = _plus(self.for_outer, turn[:, None] * near)
        if self.outer is None:
            return
        places, mask = index
        flat = (*self.sampling.shape[:2], int(np.prod(self.sampling.sizes)))
        back = gather_backward(turn[:, None] * self.outer * mask, flat, 2, places)
        self.for_pictures = _plus(self.for_pictures, back)
        bends = [
            sum([moving[each] * self.derived(weights, each, dim) for each in self.dims])
            for dim in self.dims
        ]
        self.add_slopes(bends, near)

    def finished(self) -> tuple[Any, Any, Any]:
        """Return the gradients in the shapes of what they belong to."""
        sampling = self.sampling
        shape = (*sampling.shape[:2], *sampling.places[1:-1])
        return (
            None if self.for_outer is None else reshape(self.for_outer, shape),
            None if self.for_pictures is None else reshape(self.for_pictures, sampling.shape),
            None if self.slopes[0] is None else sampling.grid_of(self.slopes),
        )


def second(
    for_input: Any, for_grid: Any, grad_output: Any, input: Any, grid: Any, settings: Settings
) -> tuple[Any, Any, Any]:
    """Compute the gradients of the backward pass for grad_output, input and grid.

    `for_input` and `for_grid` are the gradients of its two results, or None. Without `grad_output`
    only the first gradient is computed.
    """
    sampling = Sampling(input, grid, settings)
    pictures = sampling.planes(input)
    others = None if for_input is None else sampling.planes(for_input)
    moving = None
    if for_grid is not None and settings[0] != NEAREST:
        pairs = zip(sampling.coordinates(for_grid), sampling.factors, strict=True)
        moving = [each * factor for each, factor in pairs]
    totals = _Totals(sampling, None if grad_output is None else sampling.planes(grad_output))
    for taps, numbers, inside in combinations(sampling.axes, sampling.sizes):
        index, mask = sampling.index(numbers, inside)
        weights = [sampling.weights[dim][tap] for dim, tap in enumerate(taps)]
        if others is not None:
            totals.add_input(weights, gather(others, 2, index) * mask)
        if moving is not None:
            totals.add_grid(weights, moving, gather(pictures, 2, index) * mask, (index, mask))
    return totals.finished()


def backward_tangent(
    backward: Any, given: tuple[Any, ...], settings: Settings, wanted: tuple[bool, bool]
) -> tuple[Any, Any]:
    """Compute the tangents of the gradients of input and grid."""
    grad_output, input, grid, grad_output_t, input_t, grid_t = given
    first: Any = None
    last: Any = None
    if grad_output_t is not None:
        first, last = backward(grad_output_t, input, grid, *settings, (True, True))
    if input_t is not None:
        last = _plus(last, backward(grad_output, input_t, grid, *settings, (False, True))[1])
    if grid_t is not None:
        _, moved, bent = second(None, grid_t, grad_output, input, grid, settings)
        first, last = _plus(first, moved), _plus(last, bent)
    return first if wanted[0] else None, last if wanted[1] else None
