"""RoIAlign that takes each part of a region from channels of its own."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.ops._regions import Boxes, pair, rows_of, weighted_sums
from taper.vision.ops.roi_align import sampling


def ps_roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """Cut regions out of pictures; channels belong to the parts of a region in turn.

    Args:
        input: pictures, (N, C, H, W); C is a multiple of the number of parts.
        boxes: a list of (x1, y1, x2, y2) for each picture, or rows (picture, x1, y1, x2, y2).
        output_size: height and width of what is cut out.
        spatial_scale: the size of `input` by the size that the boxes are for.
        sampling_ratio: points in each part, along each side; as many as fit if not positive.

    >>> import taper
    >>> from taper.vision.ops import ps_roi_align
    >>> x = taper.arange(16.0).reshape(1, 4, 2, 2)
    >>> ps_roi_align(x, [taper.tensor([[0.5, 0.5, 1.5, 1.5]])], 2, sampling_ratio=1)
    tensor([[[[ 0.7500,  5.2500],
              [ 9.7500, 14.2500]]]])
    """
    size = pair(output_size)
    sides = sampling(input, size, spatial_scale, sampling_ratio, 0.5, None)
    return weighted_sums(input, rows_of(boxes), size, sides, is_sensitive=True)


class PSRoIAlign(nn.Module):
    """Do `ps_roi_align` of a size.

    >>> from taper.vision.ops import PSRoIAlign
    >>> PSRoIAlign(3, 0.5, 2)
    PSRoIAlign(output_size=3, spatial_scale=0.5, sampling_ratio=2)
    """

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        settings = (self.output_size, self.spatial_scale, self.sampling_ratio)
        return ps_roi_align(input, rois, *settings)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio})"
        )
