"""The frame of detectors that first propose regions and then look at them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models.detection._utils import check_boxes, check_extents


class GeneralizedRCNN(nn.Module):
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

    def eager_outputs(self, losses: dict[str, Tensor], detections: list[dict[str, Tensor]]) -> Any:
        """Return losses in training, else answers."""
        return losses if self.training else detections

    def forward(self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None) -> Any:
        if self.training:
            if targets is None:
                raise AssertionError("targets should not be none when in training mode")
            check_boxes(targets)
        before = [(each.shape[-2], each.shape[-1]) for each in images]
        batch, targets = self.transform(images, targets)
        if targets is not None:
            check_extents(targets)
        features = self.backbone(batch.tensors)
        if isinstance(features, Tensor):
            features = OrderedDict([("0", features)])
        proposals, region_losses = self.rpn(batch, features, targets)
        found, losses = self.roi_heads(features, proposals, batch.image_sizes, targets)
        found = self.transform.postprocess(found, batch.image_sizes, before)  # type: ignore[operator]
        return self.eager_outputs({**losses, **region_losses}, found)
