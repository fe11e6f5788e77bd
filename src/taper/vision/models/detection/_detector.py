"""What all detectors share: checks of their parts, and the way from pictures to features."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models.detection._utils import check_boxes, check_extents
from taper.vision.models.detection.anchor_utils import AnchorGenerator
from taper.vision.models.detection.transform import GeneralizedRCNNTransform

Targets = list[dict[str, Tensor]]
MEAN = [0.485, 0.456, 0.406]
DEVIATION = [0.229, 0.224, 0.225]


def check_backbone(backbone: Any, name: str, anchors: Any) -> None:
    """Raise unless a detector can use a backbone, and boxes to start from."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output "
            "channels (assumed to be the same for all the levels)"
        )
    if not isinstance(anchors, AnchorGenerator | None):
        raise TypeError(
            f"{name} should be of type AnchorGenerator or None instead of {type(anchors)}"
        )


def picture_transform(
    min_size: Any,
    max_size: int,
    image_mean: list[float] | None,
    image_std: list[float] | None,
    **options: Any,
) -> GeneralizedRCNNTransform:
    """Return what makes pictures ready; without mean and deviation, with those of ImageNet."""
    mean = MEAN if image_mean is None else image_mean
    deviation = DEVIATION if image_std is None else image_std
    return GeneralizedRCNNTransform(min_size, max_size, mean, deviation, **options)


class Detector(nn.Module):
    """Find objects in pictures; what detectors of one and of two stages share."""

    transform: Any
    backbone: Any

    def eager_outputs(self, losses: dict[str, Tensor], detections: Targets) -> Any:
        """Return losses in training, else answers."""
        return losses if self.training else detections

    def _features(self, images: list[Tensor], targets: Targets | None) -> tuple[Any, Any, Any]:
        """Return pictures and targets made ready, and features by name; raise if they are bad."""
        if self.training:
            if targets is None:
                raise AssertionError("targets should not be none when in training mode")
            check_boxes(targets)
        batch, targets = self.transform(images, targets)
        if targets is not None:
            check_extents(targets)
        features = self.backbone(batch.tensors)
        if isinstance(features, Tensor):
            features = OrderedDict([("0", features)])
        return batch, targets, features

    def _at_original_sizes(self, found: Targets, batch: Any, images: list[Tensor]) -> Targets:
        before = [(each.shape[-2], each.shape[-1]) for each in images]
        return self.transform.postprocess(found, batch.image_sizes, before)
