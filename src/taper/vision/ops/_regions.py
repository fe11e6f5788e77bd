"""What the poolings of regions share: how regions are given, and weighted sums over parts of them.

A region is a row (picture, x1, y1, x2, y2).  Sampling between pixels and averages are sums with a
weight for each row and each column, so that one function computes them with its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from taper import dtypes
from taper.autograd.function import Function, once_differentiable
from taper.ops.creation.data import from_numpy
from taper.ops.creation.filled import full_like
from taper.ops.shape.split import cat
from taper.tensor import Tensor

Boxes = Tensor | list[Tensor] | tuple[Tensor, ...]


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return height and width of a size that may be one number."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def rows_of(boxes: Boxes) -> Tensor:
    """Return regions as rows of (picture, x1, y1, x2, y2); a list has the boxes of each picture."""
    if isinstance(boxes, Tensor):
        if boxes.size(1) != 5:
            raise AssertionError("The boxes tensor shape is not correct as Tensor[K, 5]")
        return boxes
    if not isinstance(boxes, list | tuple):
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")
    if any(each.size(1) != 4 for each in boxes):
        raise AssertionError(
            "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]"
        )
    numbers = [full_like(each[:, :1], nr) for nr, each in enumerate(boxes)]
    return cat([cat(numbers, dim=0), cat(list(boxes), dim=0)], dim=1)


def array_of(x: Tensor) -> np.ndarray:
    """Return the numbers of a tensor on any device, half precision as float32."""
    x = x.detach().cpu()
    return (x if x.dtype in (dtypes.float32, dtypes.float64) else x.float()).numpy()


class Side(NamedTuple):
    """The rows, or the columns, of a picture that a region touches, and their weights in it."""

    place: slice
    weights: np.ndarray  # (parts of the region, rows touched)


class Region(NamedTuple):
    """What one region sums."""

    picture: int
    vertical: Side
    horizontal: Side


def sampled(start: Any, step: Any, parts: int, samples: int, length: int) -> Side:
    """Return the weights of points in equal distances, `samples` in each of `parts`."""
    number = type(start)
    ends = np.arange(parts, dtype=number)[:, None] * step
    inside = (np.arange(samples, dtype=number) + number(0.5)) * step / number(max(samples, 1))
    at = start + ends + inside
    is_near = (at >= -1) & (at <= length)
    at = np.clip(np.where(is_near, at, 0), 0, length - 1)
    low = at.astype(np.int64)
    high = np.minimum(low + 1, length - 1)
    first = int(low.min(initial=length - 1))
    weights = np.zeros((parts, int(high.max(initial=first)) + 1 - first), number)
    part = np.broadcast_to(np.arange(parts)[:, None], at.shape)
    np.add.at(weights, (part, high - first), np.where(is_near, at - low, 0))
    np.add.at(weights, (part, low - first), np.where(is_near, 1 - (at - low), 0))
    return Side(slice(first, first + weights.shape[1]), weights)


def averaged(starts: np.ndarray, ends: np.ndarray, length: int, number: Any) -> Side:
    """Return the weights of the mean from each start to each end; empty parts have none."""
    starts, ends = np.clip(starts, 0, length), np.clip(ends, 0, length)
    places = np.arange(length)
    is_inside = (places >= starts[:, None]) & (places < ends[:, None])
    counts = np.maximum(ends - starts, 1)[:, None]
    return Side(slice(0, length), is_inside.astype(number) / counts.astype(number))


class WeightedSums(Function):
    """Sums over regions; with `is_sensitive` each part of a region has channels of its own."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, regions: list[Region], is_sensitive: bool) -> Tensor:
        ctx.regions, ctx.is_sensitive, ctx.of = regions, is_sensitive, input
        pictures = array_of(input)
        parts = [_summed(pictures, each, is_sensitive) for each in regions]
        return from_numpy(np.stack(parts)).to(input)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        given = array_of(grad)
        total = np.zeros(tuple(ctx.of.shape), given.dtype)
        for (picture, (rows, down), (columns, along)), each in zip(ctx.regions, given, strict=True):
            target = total[picture, :, rows, columns]
            if ctx.is_sensitive:
                spread = np.einsum("cpq,ph,qw->cpqhw", each, down, along, optimize=True)
                target += spread.reshape(target.shape)
            else:
                target += np.matmul(down.T, np.matmul(each, along))
        return from_numpy(total).to(ctx.of), None, None


def _summed(pictures: np.ndarray, region: Region, is_sensitive: bool) -> np.ndarray:
    picture, (rows, down), (columns, along) = region
    part = pictures[picture, :, rows, columns]
    if not is_sensitive:
        return np.matmul(np.matmul(down, part), along.T)
    parts = part.reshape(-1, len(down), len(along), *part.shape[1:])
    return np.einsum("cpqhw,ph,qw->cpq", parts, down, along, optimize=True)


def weighted_sums(
    input: Tensor,
    rows: Tensor,
    output_size: tuple[int, int],
    region: Callable[[np.ndarray], tuple[Side, Side]],
    is_sensitive: bool = False,
) -> Tensor:
    """Return the sums over regions, of which `region` makes the weights from four corners."""
    channels = input.size(1)
    if is_sensitive:
        parts = output_size[0] * output_size[1]
        if channels % parts:
            raise RuntimeError(
                "input channels must be a multiple of pooling height * pooling width"
            )
        channels //= parts
    given = array_of(rows).astype(array_of(input[:0]).dtype)
    if not len(given):
        return input.new_zeros((0, channels, *output_size)) + 0 * input.sum()
    regions = [Region(int(each[0]), *region(each[1:])) for each in given]
    return WeightedSums.apply(input, regions, is_sensitive)
