"""Means of the pixels of regions; each part of a region has channels of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import nn
from taper.tensor import Tensor
from taper.vision.ops._regions import Boxes, Side, averaged, pair, rows_of, weighted_sums
from taper.vision.ops.roi_pool import to_pixels


def ps_roi_pool(
    input: Tensor,
    boxes: Boxes,
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
) -> Tensor:
    """Take means over parts of regions; channels belong to the parts of a region in turn.

    Args:
        input: pictures, (N, C, H, W); C is a multiple of the number of parts.
        boxes: a list of (x1, y1, x2, y2) for each picture, or rows (picture, x1, y1, x2, y2).
        output_size: height and width of what is cut out.
        spatial_scale: the size of `input` by the size that the boxes are for.

    >>> import taper
    >>> from taper.vision.ops import ps_roi_pool
    >>> x = taper.arange(36.0).reshape(1, 4, 3, 3)
    >>> ps_roi_pool(x, [taper.tensor([[0.0, 0, 2, 2]])], 2)
    tensor([[[[ 0., 10.],
              [21., 31.]]]])
    """
    size = pair(output_size)

    def sides(corners: np.ndarray) -> tuple[Side, Side]:
        number = type(corners[0])
        x1, y1, x2, y2 = to_pixels(corners, spatial_scale)
        found = []
        for start, end, parts, length in zip(
            (y1, x1), (y2, x2), size, input.shape[-2:], strict=True
        ):
            step = number(max(end - start, 1)) / number(parts)
            starts = np.floor(np.arange(parts, dtype=number) * step + start).astype(np.int64)
            ends = np.ceil(np.arange(1, parts + 1, dtype=number) * step + start).astype(np.int64)
            # The last row and column of a picture belong to no part, as in torchvision's forward.
            found.append(averaged(starts, ends, length - 1, number))
        return found[0], found[1]

    return weighted_sums(input, rows_of(boxes), size, sides, is_sensitive=True)


class PSRoIPool(nn.Module):
    """Do `ps_roi_pool` of a size.

    >>> from taper.vision.ops import PSRoIPool
    >>> PSRoIPool(3, 0.5)
    PSRoIPool(output_size=3, spatial_scale=0.5)
    """

    def __init__(self, output_size: Any, spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale})"
        )
