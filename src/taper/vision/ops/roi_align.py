"""RoIAlign: regions sampled between the pixels, at the same number of points each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper import nn
from taper.tensor import Tensor
from taper.vision.ops._regions import Boxes, Side, pair, rows_of, sampled, weighted_sums

Corners = Callable[[np.ndarray], tuple[Side, Side]]


def sampling(
    input: Tensor,
    size: tuple[int, int],
    scale: float,
    samples: int,
    offset: float,
    least: float | None,
) -> Corners:
    """Return a function from the corners of a region to the weights of its points."""
    lengths = input.shape[-2:]

    def sides(corners: np.ndarray) -> tuple[Side, Side]:
        number = type(corners[0])
        x1, y1, x2, y2 = corners * number(scale) - number(offset)
        found = []
        for start, end, parts, length in zip((y1, x1), (y2, x2), size, lengths, strict=True):
            extent = end - start if least is None else max(end - start, number(least))
            count = samples if samples > 0 else max(int(np.ceil(extent / number(parts))), 0)
            step = extent / number(parts)
            place, weights = sampled(start, step, parts, count, length)
            found.append(Side(place, weights / number(max(count, 1))))
        return found[0], found[1]

    return sides


def roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Cut regions out of pictures, each as `output_size` means of points between the pixels.

    Args:
        input: pictures, (N, C, H, W).
        boxes: a list of (x1, y1, x2, y2) for each picture, or rows (picture, x1, y1, x2, y2).
        output_size: height and width of what is cut out.
        spatial_scale: the size of `input` by the size that the boxes are for.
        sampling_ratio: points in each part, along each side; as many as fit if not positive.
        aligned: take the middle of a pixel for its place.

    >>> import taper
    >>> from taper.vision.ops import roi_align
    >>> x = taper.arange(16.0).reshape(1, 1, 4, 4)
    >>> roi_align(x, [taper.tensor([[0.0, 0, 4, 4]])], 2, aligned=True)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    size, least = pair(output_size), None if aligned else 1.0
    offset = 0.5 if aligned else 0.0
    sides = sampling(input, size, spatial_scale, sampling_ratio, offset, least)
    return weighted_sums(input, rows_of(boxes), size, sides)


class RoIAlign(nn.Module):
    """Do `roi_align` of a size.

    >>> from taper.vision.ops import RoIAlign
    >>> RoIAlign(7, 0.25, sampling_ratio=2)
    RoIAlign(output_size=7, spatial_scale=0.25, sampling_ratio=2, aligned=False)
    """

    def __init__(
        self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = False
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        settings = (self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)
        return roi_align(input, rois, *settings)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio}, "
            f"aligned={self.aligned})"
        )
