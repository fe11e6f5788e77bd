"""FCN: a residual network whose features are classified by two convolutions."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.vision.models._api import WeightsEnum
from taper.vision.models.resnet import (
    ResNet,
    ResNet50_Weights,
    ResNet101_Weights,
    resnet50,
    resnet101,
)
from taper.vision.models.segmentation._utils import (
    _SimpleSegmentationModel,
    coco,
    resnet_layers,
    segmentation_builder,
)

__all__ = [
    "FCN",
    "FCN_ResNet50_Weights",
    "FCN_ResNet101_Weights",
    "fcn_resnet50",
    "fcn_resnet101",
]

DILATED = [False, True, True]


class FCN(_SimpleSegmentationModel):
    """A fully convolutional network for segmentation.

    >>> import taper
    >>> from taper.vision.models import segmentation
    >>> model = segmentation.fcn_resnet50(weights_backbone=None, num_classes=3).eval()
    >>> with taper.no_grad():
    ...     model(taper.zeros(1, 3, 16, 16))["out"].shape
    torch.Size([1, 3, 16, 16])
    """


class FCNHead(nn.Sequential):
    """Two convolutions that classify each place."""

    def __init__(self, in_channels: int, channels: int) -> None:
        width = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(width, channels, 1),
        )


def _fcn(backbone: ResNet, classes: int, aux: bool | None) -> FCN:
    layers = resnet_layers(backbone, aux)
    helper = FCNHead(1024, classes) if aux else None
    return FCN(layers, FCNHead(2048, classes), helper)


class FCN_ResNet50_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco("fcn_resnet50_coco-1167a1af.pth", 35_322_218, (60.5, 91.4))
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class FCN_ResNet101_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco("fcn_resnet101_coco-7ecb50ca.pth", 54_314_346, (63.7, 91.9))
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@segmentation_builder(FCN_ResNet50_Weights, ResNet50_Weights.IMAGENET1K_V1)
def fcn_resnet50(backbone: Any, classes: int, *, aux_loss: bool | None = None) -> FCN:
    """Return FCN on ResNet-50."""
    return _fcn(resnet50(weights=backbone, replace_stride_with_dilation=DILATED), classes, aux_loss)


@segmentation_builder(FCN_ResNet101_Weights, ResNet101_Weights.IMAGENET1K_V1)
def fcn_resnet101(backbone: Any, classes: int, *, aux_loss: bool | None = None) -> FCN:
    """Return FCN on ResNet-101."""
    return _fcn(
        resnet101(weights=backbone, replace_stride_with_dilation=DILATED), classes, aux_loss
    )
