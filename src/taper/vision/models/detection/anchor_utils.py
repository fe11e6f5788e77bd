"""Boxes of fixed sizes at all places of features, from which detectors start."""

from __future__ import annotations

import math
from typing import Any

from taper import dtypes, nn
from taper.ops.creation.data import as_tensor, tensor
from taper.ops.creation.ranges import arange
from taper.ops.shape.join import meshgrid
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.vision.models.detection.image_list import ImageList

_MISMATCH = (
    "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have "
    "different sizes and aspect ratios. There needs to be a match between the number of feature "
    "maps passed and the number of sizes / aspect ratios specified."
)


class AnchorGenerator(nn.Module):
    """Make boxes of several sizes and ratios of height to width at each place of features.

    Args:
        sizes: the sizes for each level of features.
        aspect_ratios: the ratios for each level.

    >>> import taper
    >>> from taper.vision.models.detection.anchor_utils import AnchorGenerator
    >>> AnchorGenerator(((32,),), ((0.5, 1.0),)).cell_anchors[0]
    tensor([[-23., -11.,  23.,  11.],
            [-16., -16.,  16.,  16.]])
    """

    def __init__(
        self, sizes: Any = ((128, 256, 512),), aspect_ratios: Any = ((0.5, 1.0, 2.0),)
    ) -> None:
        super().__init__()
        if not isinstance(sizes[0], list | tuple):
            sizes = tuple((size,) for size in sizes)
        if not isinstance(aspect_ratios[0], list | tuple):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [
            self.generate_anchors(*each) for each in zip(sizes, aspect_ratios, strict=False)
        ]

    def generate_anchors(
        self,
        scales: list[int],
        aspect_ratios: list[float],
        dtype: dtypes.dtype = dtypes.float32,
        device: Any = "cpu",
    ) -> Tensor:
        """Return the boxes around one place."""
        lengths = as_tensor(scales, dtype=dtype, device=device)
        down = as_tensor(aspect_ratios, dtype=dtype, device=device).sqrt()
        widths = ((1 / down)[:, None] * lengths[None, :]).view(-1)
        heights = (down[:, None] * lengths[None, :]).view(-1)
        return (stack([-widths, -heights, widths, heights], dim=1) / 2).round()

    def set_cell_anchors(self, dtype: dtypes.dtype, device: Any) -> None:
        """Convert the boxes to a dtype and a device."""
        self.cell_anchors = [each.to(dtype=dtype, device=device) for each in self.cell_anchors]

    def num_anchors_per_location(self) -> list[int]:
        """Return how many boxes there are at each place of each level."""
        return [len(s) * len(a) for s, a in zip(self.sizes, self.aspect_ratios, strict=False)]

    def grid_anchors(
        self, grid_sizes: list[list[int]], strides: list[list[Tensor]]
    ) -> list[Tensor]:
        """Return the boxes of each level at all its places."""
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(_MISMATCH)
        anchors = []
        for (height, width), (down, along), base in zip(
            grid_sizes, strides, self.cell_anchors, strict=True
        ):
            x = arange(0, width, dtype=dtypes.int32, device=base.device) * along
            y = arange(0, height, dtype=dtypes.int32, device=base.device) * down
            y, x = (each.reshape(-1) for each in meshgrid(y, x, indexing="ij"))
            moves = stack((x, y, x, y), dim=1)
            anchors.append((moves.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4))
        return anchors

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        sizes = [tuple(each.shape[-2:]) for each in feature_maps]
        whole = image_list.tensors.shape[-2:]
        dtype, device = feature_maps[0].dtype, feature_maps[0].device
        strides = [
            [tensor(whole[dim] // size[dim], dtype=dtypes.int64, device=device) for dim in (0, 1)]
            for size in sizes
        ]
        self.set_cell_anchors(dtype, device)
        levels = self.grid_anchors(sizes, strides)  # type: ignore[arg-type]
        return [cat(levels) for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """Make the boxes of SSD: two squares and pairs of flat and high ones at each place.

    Args:
        aspect_ratios: the ratios for each level beside 1.
        min_ratio: the size of boxes of the first level, as a part of the picture.
        max_ratio: the size of boxes of the last level.
        scales: all sizes instead, one more than levels.
        steps: pixels between the places of each level.
        clip: whether sizes end at that of the picture.

    >>> from taper.vision.models.detection.anchor_utils import DefaultBoxGenerator
    >>> DefaultBoxGenerator([[2], [2, 3]]).num_anchors_per_location()
    [4, 6]
    """

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        levels = len(aspect_ratios)
        if scales is not None:
            self.scales = scales
        elif levels > 1:
            span = max_ratio - min_ratio
            self.scales = [min_ratio + span * nr / (levels - 1.0) for nr in range(levels)]
            self.scales.append(1.0)
        else:
            self.scales = [min_ratio, max_ratio]
        self._wh_pairs = self._generate_wh_pairs(levels)

    def _generate_wh_pairs(
        self, num_outputs: int, dtype: dtypes.dtype = dtypes.float32, device: Any = "cpu"
    ) -> list[Tensor]:
        """Return widths and heights of the boxes of each level, as parts of the picture."""
        pairs = []
        for nr in range(num_outputs):
            size = self.scales[nr]
            larger = math.sqrt(self.scales[nr] * self.scales[nr + 1])
            sides = [[size, size], [larger, larger]]
            for ratio in self.aspect_ratios[nr]:
                root = math.sqrt(ratio)
                wide, narrow = size * root, size / root
                sides += [[wide, narrow], [narrow, wide]]
            pairs.append(as_tensor(sides, dtype=dtype, device=device))
        return pairs

    def num_anchors_per_location(self) -> list[int]:
        """Return how many boxes there are at each place of each level."""
        return [2 + 2 * len(each) for each in self.aspect_ratios]

    def _grid_default_boxes(
        self,
        grid_sizes: list[list[int]],
        image_size: list[int],
        dtype: dtypes.dtype = dtypes.float32,
    ) -> Tensor:
        """Return the boxes (centre and size) of all levels at all places."""
        boxes = []
        for nr, (rows, columns) in enumerate(grid_sizes):
            across: float = columns
            down: float = rows
            if self.steps is not None:
                across, down = image_size[1] / self.steps[nr], image_size[0] / self.steps[nr]
            x = ((arange(0, columns) + 0.5) / across).to(dtype=dtype)
            y = ((arange(0, rows) + 0.5) / down).to(dtype=dtype)
            y, x = (each.reshape(-1) for each in meshgrid(y, x, indexing="ij"))
            sides = self._wh_pairs[nr]
            centers = stack((x, y) * len(sides), dim=-1).reshape(-1, 2)
            sides = sides.clamp(min=0, max=1) if self.clip else sides
            boxes.append(cat((centers, sides.repeat(rows * columns, 1)), dim=1))
        return cat(boxes, dim=0)

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        sizes: Any = [tuple(each.shape[-2:]) for each in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        dtype, device = feature_maps[0].dtype, feature_maps[0].device
        boxes = self._grid_default_boxes(sizes, [height, width], dtype=dtype).to(device)
        whole = tensor([width, height], dtype=dtype, device=device)
        centers, half = boxes[:, :2], 0.5 * boxes[:, 2:]
        corners = cat([(centers - half) * whole, (centers + half) * whole], dim=-1)
        return [corners.clone() for _ in image_list.image_sizes]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, "
            f"scales={self.scales}, steps={self.steps})"
        )
