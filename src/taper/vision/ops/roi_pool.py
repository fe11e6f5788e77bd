"""The largest values in the parts of regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import nn
from taper.autograd.function import Function, once_differentiable
from taper.ops.creation.data import from_numpy
from taper.tensor import Tensor
from taper.vision.ops._regions import Boxes, array_of, pair, rows_of


def to_pixels(corners: np.ndarray, scale: float) -> list[int]:
    """Return the pixels nearest to four corners; a half is away from zero."""
    scaled = corners * type(corners[0])(scale)
    return [int(each) for each in np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)]


def _parts(start: int, end: int, parts: int, length: int, number: Any) -> list[slice]:
    """Return the pixels of each part of a side, both ends of which belong to it."""
    step = number(max(end - start + 1, 1)) / number(parts)
    starts = np.floor(np.arange(parts, dtype=number) * step).astype(np.int64) + start
    ends = np.ceil(np.arange(1, parts + 1, dtype=number) * step).astype(np.int64) + start
    bounds = zip(np.clip(starts, 0, length), np.clip(ends, 0, length), strict=True)
    return [slice(int(first), int(last)) for first, last in bounds]


class _Largest(Function):
    """The largest value of each part, and where it was."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, rows: Tensor, size: tuple[int, int], scale: float) -> Any:
        pictures = array_of(input)
        _, channels, height, width = pictures.shape
        regions = array_of(rows).astype(pictures.dtype)
        result = np.zeros((len(regions), channels, *size), pictures.dtype)
        where = np.full(result.shape, -1, np.int64)
        for nr, (picture, *corners) in enumerate(regions):
            x1, y1, x2, y2 = to_pixels(np.asarray(corners), scale)
            across = _parts(x1, x2, size[1], width, pictures.dtype.type)
            for i, rows_in in enumerate(_parts(y1, y2, size[0], height, pictures.dtype.type)):
                for j, columns in enumerate(across):
                    part = pictures[int(picture), :, rows_in, columns]
                    if part.size:
                        place = part.reshape(channels, -1).argmax(axis=1)
                        y, x = np.unravel_index(place, part.shape[1:])
                        where[nr, :, i, j] = (y + rows_in.start) * width + x + columns.start
                        result[nr, :, i, j] = part[np.arange(channels), y, x]
        ctx.of, ctx.where, ctx.pictures = input, where, regions[:, 0].astype(np.int64)
        return from_numpy(result).to(input)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        given, shape = array_of(grad), tuple(ctx.of.shape)
        total = np.zeros((shape[0], shape[1], shape[2] * shape[3]), given.dtype)
        nr, channel, row, column = np.nonzero(ctx.where >= 0)
        place = ctx.where[nr, channel, row, column]
        np.add.at(total, (ctx.pictures[nr], channel, place), given[nr, channel, row, column])
        return from_numpy(total.reshape(shape)).to(ctx.of), None, None, None


def roi_pool(
    input: Tensor, boxes: Boxes, output_size: int | tuple[int, int], spatial_scale: float = 1.0
) -> Tensor:
    """Take the largest value in each part of regions; a part without pixels gives 0.

    Args:
        input: pictures, (N, C, H, W).
        boxes: a list of (x1, y1, x2, y2) for each picture, or rows (picture, x1, y1, x2, y2).
        output_size: height and width of what is cut out.
        spatial_scale: the size of `input` by the size that the boxes are for.

    >>> import taper
    >>> from taper.vision.ops import roi_pool
    >>> x = taper.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_pool(x, [taper.tensor([[0.0, 0, 3, 3]])], 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    return _Largest.apply(input, rows_of(boxes), pair(output_size), spatial_scale)


class RoIPool(nn.Module):
    """Do `roi_pool` of a size.

    >>> from taper.vision.ops import RoIPool
    >>> RoIPool(7, 0.25)
    RoIPool(output_size=7, spatial_scale=0.25)
    """

    def __init__(self, output_size: Any, spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale})"
        )
