"""Regions cut out of the level of a pyramid that fits their size."""

from __future__ import annotations

import math
from typing import Any

from taper import dtypes, nn
from taper.ops.creation.filled import zeros
from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.ops._regions import rows_of
from taper.vision.ops.boxes import box_area
from taper.vision.ops.roi_align import roi_align


class LevelMapper:
    """Decides which level of a pyramid a box is looked for in, by its size.

    >>> import taper
    >>> from taper.vision.ops.poolers import LevelMapper
    >>> LevelMapper(2, 5)([taper.tensor([[0.0, 0, 224, 224], [0.0, 0, 10, 10]])])
    tensor([2, 0])
    """

    def __init__(
        self,
        k_min: int,
        k_max: int,
        canonical_scale: int = 224,
        canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists: list[Tensor]) -> Tensor:
        sizes = cat([box_area(each) for each in boxlists]).sqrt()
        level = (self.lvl0 + (sizes / self.s0).log2() + self.eps).floor()
        return level.clamp(min=self.k_min, max=self.k_max).to(dtypes.int64) - self.k_min


class MultiScaleRoIAlign(nn.Module):
    """Do `roi_align` in the level of a pyramid that fits each box.

    Args:
        featmap_names: the names of the levels to use, finest first.
        output_size: height and width of what is cut out.
        sampling_ratio: points in each part, along each side.
        canonical_scale: the size of a box that belongs to the canonical level.
        canonical_level: that level.

    >>> import taper
    >>> from taper.vision.ops import MultiScaleRoIAlign
    >>> pool = MultiScaleRoIAlign(["0", "1"], 3, 2)
    >>> levels = {"0": taper.ones(1, 4, 16, 16), "1": taper.ones(1, 4, 8, 8)}
    >>> pool(levels, [taper.tensor([[0.0, 0, 30, 30]])], [(64, 64)]).shape
    torch.Size([1, 4, 3, 3])
    """

    def __init__(
        self,
        featmap_names: list[str],
        output_size: int | tuple[int, int] | list[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        size: Any = (output_size,) * 2 if isinstance(output_size, int) else output_size
        self.output_size = tuple(size)
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def _set_levels(self, features: list[Tensor], shapes: list[tuple[int, int]]) -> None:
        """Find out how much smaller than the pictures each level is."""
        if not shapes:
            raise ValueError("images list should not be empty")
        largest = [max(shape[dim] for shape in shapes) for dim in (0, 1)]
        ratios = [
            [
                2.0 ** round(math.log2(size / whole))
                for size, whole in zip(level.shape[-2:], largest, strict=True)
            ]
            for level in features
        ]
        self.scales = [ratio[0] for ratio in ratios]
        first, last = -math.log2(self.scales[0]), -math.log2(self.scales[-1])
        self.map_levels = LevelMapper(
            int(first), int(last), self.canonical_scale, self.canonical_level
        )

    def forward(
        self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> Tensor:
        features = [level for name, level in x.items() if name in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self._set_levels(features, image_shapes)
        rois, scales = rows_of(boxes), self.scales or []
        if len(features) == 1:
            return roi_align(features[0], rois, self.output_size, scales[0], self.sampling_ratio)
        levels = self.map_levels(boxes) if self.map_levels is not None else None
        shape = (len(rois), features[0].shape[1], *self.output_size)
        result = zeros(shape, dtype=features[0].dtype, device=features[0].device)
        for nr, (feature, scale) in enumerate(zip(features, scales, strict=True)):
            chosen = where_indices(levels == nr)[0]
            pooled = roi_align(feature, rois[chosen], self.output_size, scale, self.sampling_ratio)
            result[chosen] = pooled.to(result.dtype)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, "
            f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})"
        )
