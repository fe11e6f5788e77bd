"""LRASPP: a light head for segmentation that joins fine and coarse features."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum
from taper.vision.models._utils import IntermediateLayerGetter
from taper.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from taper.vision.models.segmentation._utils import (
    coco,
    enlarged,
    mobilenet_stages,
    segmentation_builder,
)

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPPHead(nn.Module):
    """Coarse features, weighed by their means and enlarged, beside fine ones."""

    def __init__(
        self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int
    ) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.Sigmoid(),
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        low, high = input["low"], input["high"]
        x = enlarged(self.cbr(high) * self.scale(high), low)
        return self.low_classifier(low) + self.high_classifier(x)


class LRASPP(nn.Module):
    """A light network for segmentation.

    >>> import taper
    >>> from taper.vision.models import segmentation
    >>> model = segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=3)
    >>> with taper.no_grad():
    ...     model.eval()(taper.zeros(1, 3, 32, 32))["out"].shape
    torch.Size([1, 3, 32, 32])
    """

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:
        scores = self.classifier(self.backbone(input))
        return OrderedDict(out=enlarged(scores, input))


class LRASPP_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco(
        "lraspp_mobilenet_v3_large-d234d4ea.pth", 3_221_538, (57.9, 91.2)
    )
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@segmentation_builder(
    LRASPP_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1, has_aux=False
)
def lraspp_mobilenet_v3_large(backbone: Any, classes: int) -> LRASPP:
    """Return LRASPP on the large MobileNetV3."""
    features, stages = mobilenet_stages(mobilenet_v3_large(weights=backbone, dilated=True))
    low, high = stages[-4], stages[-1]
    layers = IntermediateLayerGetter(features, return_layers={str(low): "low", str(high): "high"})
    widths = [features[each].out_channels for each in (low, high)]  # type: ignore[index]
    return LRASPP(layers, widths[0], widths[1], classes)
