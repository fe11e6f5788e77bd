"""SSDlite: SSD on MobileNetV3, with a convolution of each channel before one that mixes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum
from taper.vision.models.detection import _utils as det_utils
from taper.vision.models.detection._builders import Backbone, coco, detection_builder
from taper.vision.models.detection.anchor_utils import DefaultBoxGenerator
from taper.vision.models.detection.ssd import (
    SSD,
    SSDScoringHead,
    train_last_stages,
    warn_of_size,
)
from taper.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from taper.vision.ops.misc import Conv2dNormActivation

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]

Layer = Callable[..., nn.Module]


def _prediction_block(
    in_channels: int, out_channels: int, kernel_size: int, norm_layer: Layer
) -> nn.Sequential:
    alone: dict[str, Any] = {"groups": in_channels, "norm_layer": norm_layer}
    alone["activation_layer"] = nn.ReLU6
    return nn.Sequential(
        Conv2dNormActivation(in_channels, in_channels, kernel_size, **alone),
        nn.Conv2d(in_channels, out_channels, 1),
    )


def _extra_block(in_channels: int, out_channels: int, norm_layer: Layer) -> nn.Sequential:
    inside = out_channels // 2
    usual: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    return nn.Sequential(
        Conv2dNormActivation(in_channels, inside, 1, **usual),
        Conv2dNormActivation(inside, inside, 3, stride=2, groups=inside, **usual),
        Conv2dNormActivation(inside, out_channels, 1, **usual),
    )


def _normal_init(conv: nn.Module) -> None:
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, mean=0.0, std=0.03)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDLiteHead(nn.Module):
    """Say for each box around each place what it is, and where.

    >>> import taper
    >>> from taper.vision.models.detection.ssdlite import SSDLiteHead
    >>> head = SSDLiteHead([4], [2], 3, taper.nn.BatchNorm2d)
    >>> head([taper.ones(1, 4, 2, 2)])["bbox_regression"].shape
    torch.Size([1, 8, 4])
    """

    def __init__(
        self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Layer
    ) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer
        )
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


def _of_levels(channels: list[int], anchors: list[int], columns: int, norm: Layer) -> nn.ModuleList:
    layers = nn.ModuleList()
    for each, count in zip(channels, anchors, strict=True):
        layers.append(_prediction_block(each, columns * count, 3, norm))
    _normal_init(layers)
    return layers


class SSDLiteClassificationHead(SSDScoringHead):
    """Say what is in each box."""

    def __init__(
        self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Layer
    ) -> None:
        layers = _of_levels(in_channels, num_anchors, num_classes, norm_layer)
        super().__init__(layers, num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """Say where each box is."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: Layer) -> None:
        super().__init__(_of_levels(in_channels, num_anchors, 4, norm_layer), 4)


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """MobileNetV3 as the first part of SSDlite, with more levels after it."""

    def __init__(
        self,
        backbone: nn.Sequential,
        c4_pos: int,
        norm_layer: Layer,
        width_mult: float = 1.0,
        min_depth: int = 16,
    ) -> None:
        super().__init__()
        layers: list[Any] = list(backbone)
        fourth = layers[c4_pos]
        if fourth.use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        self.features = nn.Sequential(
            nn.Sequential(*layers[:c4_pos], fourth.block[0]),
            nn.Sequential(fourth.block[1:], *layers[c4_pos + 1 :]),
        )
        wide, middle, narrow = (max(min_depth, int(d * width_mult)) for d in (512, 256, 128))
        extra = nn.ModuleList(
            [
                _extra_block(layers[-1].out_channels, wide, norm_layer),
                _extra_block(wide, middle, norm_layer),
                _extra_block(middle, middle, norm_layer),
                _extra_block(middle, narrow, norm_layer),
            ]
        )
        _normal_init(extra)
        self.extra = extra

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        levels = []
        for block in (*self.features, *self.extra):
            x = block(x)
            levels.append(x)
        return OrderedDict((str(nr), level) for nr, level in enumerate(levels))


def _mobilenet_extractor(
    backbone: Any, trainable_layers: int, norm_layer: Layer
) -> SSDLiteFeatureExtractorMobileNet:
    layers = backbone.features
    inner = [nr for nr, block in enumerate(layers) if getattr(block, "_is_cn", False)]
    stages = [0, *inner, len(layers) - 1]
    train_last_stages(layers, stages, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(layers, stages[-2], norm_layer)


class SSDLite320_MobileNet_V3_Large_Weights(WeightsEnum):
    COCO_V1 = coco("ssdlite320_mobilenet_v3_large_coco-a79551df.pth", 3_440_060, box_map=21.3)
    DEFAULT = COCO_V1


@detection_builder(
    SSDLite320_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1, (6, 6)
)
def ssdlite320_mobilenet_v3_large(
    backbone: Backbone, num_classes: int, norm_layer: Layer | None = None, **options: Any
) -> SSD:
    """Return SSDlite on the large MobileNetV3, for pictures of 320 pixels."""
    warn_of_size(options)
    norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03) if norm_layer is None else norm_layer
    is_new = backbone.weights is None
    network = mobilenet_v3_large(weights=backbone.weights, norm_layer=norm, reduced_tail=is_new)
    if is_new:
        _normal_init(network)
    body = _mobilenet_extractor(network, backbone.layers, norm)
    size = (320, 320)
    anchors = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    channels = det_utils.retrieve_out_channels(body, size)
    counts = anchors.num_anchors_per_location()
    usual: dict[str, Any] = {"score_thresh": 0.001, "nms_thresh": 0.55, "detections_per_img": 300}
    usual |= {"topk_candidates": 300, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    head = SSDLiteHead(channels, counts, num_classes, norm)
    return SSD(body, anchors, size, num_classes, head=head, **{**usual, **options})
