"""DeepLabV3: features are seen at several scales, by convolutions of several dilations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper import nn
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum
from taper.vision.models._utils import IntermediateLayerGetter
from taper.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
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
    enlarged,
    mobilenet_stages,
    resnet_layers,
    segmentation_builder,
)
from taper.vision.models.segmentation.fcn import DILATED, FCNHead

__all__ = [
    "DeepLabV3",
    "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
]


class DeepLabV3(_SimpleSegmentationModel):
    """A network for segmentation that looks at features at several scales.

    >>> import taper
    >>> from taper.vision.models import segmentation
    >>> model = segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=3)
    >>> with taper.no_grad():
    ...     model.eval()(taper.zeros(1, 3, 32, 32))["out"].shape
    torch.Size([1, 3, 32, 32])
    """


def _scaled(channels_in: int, channels_out: int, *convolution: int) -> list[nn.Module]:
    """Return a convolution without bias, its normalisation and the activation."""
    kernel, rate = convolution
    padding = rate if kernel == 3 else 0
    places: dict[str, Any] = {"padding": padding, "dilation": rate, "bias": False}
    layer = nn.Conv2d(channels_in, channels_out, kernel, **places)
    return [layer, nn.BatchNorm2d(channels_out), nn.ReLU()]


class ASPPConv(nn.Sequential):
    """A convolution of 3x3 with a dilation."""

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(*_scaled(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """The mean of all places, seen by a convolution, at every place."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *_scaled(in_channels, out_channels, 1, 1))

    def forward(self, input: Tensor) -> Tensor:
        result = input
        for layer in self:
            result = layer(result)
        return enlarged(result, input)


class ASPP(nn.Module):
    """Convolutions of several dilations side by side, and one that joins them."""

    def __init__(
        self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Sequential(*_scaled(in_channels, out_channels, 1, 1))]
        layers += [ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates]
        layers.append(ASPPPooling(in_channels, out_channels))
        self.convs = nn.ModuleList(layers)
        self.project = nn.Sequential(
            *_scaled(len(layers) * out_channels, out_channels, 1, 1), nn.Dropout(0.5)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.project(cat([layer(x) for layer in self.convs], 1))


class DeepLabHead(nn.Sequential):
    """The scales, then two convolutions that classify each place."""

    def __init__(
        self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)
    ) -> None:
        super().__init__(
            ASPP(in_channels, atrous_rates),
            *_scaled(256, 256, 3, 1),
            nn.Conv2d(256, num_classes, 1),
        )


def _deeplab(backbone: ResNet, classes: int, aux: bool | None) -> DeepLabV3:
    layers = resnet_layers(backbone, aux)
    helper = FCNHead(1024, classes) if aux else None
    return DeepLabV3(layers, DeepLabHead(2048, classes), helper)


class DeepLabV3_ResNet50_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco("deeplabv3_resnet50_coco-cd0a2569.pth", 42_004_074, (66.4, 92.4))
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_ResNet101_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco(
        "deeplabv3_resnet101_coco-586e9e4e.pth", 60_996_202, (67.4, 92.4)
    )
    DEFAULT = COCO_WITH_VOC_LABELS_V1


class DeepLabV3_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_WITH_VOC_LABELS_V1 = coco(
        "deeplabv3_mobilenet_v3_large-fc3c493d.pth", 11_029_328, (60.3, 91.2)
    )
    DEFAULT = COCO_WITH_VOC_LABELS_V1


@segmentation_builder(DeepLabV3_ResNet50_Weights, ResNet50_Weights.IMAGENET1K_V1)
def deeplabv3_resnet50(backbone: Any, classes: int, *, aux_loss: bool | None = None) -> DeepLabV3:
    """Return DeepLabV3 on ResNet-50."""
    network = resnet50(weights=backbone, replace_stride_with_dilation=DILATED)
    return _deeplab(network, classes, aux_loss)


@segmentation_builder(DeepLabV3_ResNet101_Weights, ResNet101_Weights.IMAGENET1K_V1)
def deeplabv3_resnet101(backbone: Any, classes: int, *, aux_loss: bool | None = None) -> DeepLabV3:
    """Return DeepLabV3 on ResNet-101."""
    network = resnet101(weights=backbone, replace_stride_with_dilation=DILATED)
    return _deeplab(network, classes, aux_loss)


@segmentation_builder(
    DeepLabV3_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1
)
def deeplabv3_mobilenet_v3_large(
    backbone: Any, classes: int, *, aux_loss: bool | None = None
) -> DeepLabV3:
    """Return DeepLabV3 on the large MobileNetV3."""
    features, stages = mobilenet_stages(mobilenet_v3_large(weights=backbone, dilated=True))
    out, aux = stages[-1], stages[-4]
    wanted = {str(out): "out", **({str(aux): "aux"} if aux_loss else {})}
    layers = IntermediateLayerGetter(features, return_layers=wanted)
    helper = FCNHead(features[aux].out_channels, classes) if aux_loss else None  # type: ignore[index]
    return DeepLabV3(layers, DeepLabHead(features[out].out_channels, classes), helper)  # type: ignore[index]
