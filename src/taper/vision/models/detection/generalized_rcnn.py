"""The frame of detectors that first propose regions and then look at them."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models.detection._detector import Detector, Targets


class GeneralizedRCNN(Detector):
    """Find objects in pictures: features, regions, answers.

    Args:
        backbone: gives features.
        rpn: proposes regions.
        roi_heads: looks at regions.
        transform: makes pictures ready, and brings answers back to their sizes.
    """

    def __init__(
        self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module
    ) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads
        self._has_warned = False

    def forward(self, images: list[Tensor], targets: Targets | None = None) -> Any:
        batch, targets, features = self._features(images, targets)
        proposals, region_losses = self.rpn(batch, features, targets)
        found, losses = self.roi_heads(features, proposals, batch.image_sizes, targets)
        found = self._at_original_sizes(found, batch, images)
        return self.eager_outputs({**losses, **region_losses}, found)
