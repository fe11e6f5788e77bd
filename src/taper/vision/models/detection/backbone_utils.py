"""Networks for classification as the first part of detectors, with a pyramid on top."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.models import mobilenetv2, mobilenetv3, resnet
from taper.vision.models._utils import IntermediateLayerGetter
from taper.vision.ops.feature_pyramid_network import (
    ExtraFPNBlock,
    FeaturePyramidNetwork,
    LastLevelMaxPool,
)
from taper.vision.ops.misc import FrozenBatchNorm2d

Layer = Callable[..., nn.Module]


class BackboneWithFPN(nn.Module):
    """A network whose features go through a pyramid.

    Args:
        backbone: the network.
        return_layers: names of its children, and the names of the levels made of their outputs.
        in_channels_list: how many channels the outputs have.
        out_channels: how many the levels have.
        extra_blocks: what makes more levels; a pooling of the last one by default.
        norm_layer: a normalisation for the pyramid.

    >>> import taper
    >>> from taper.vision.models import resnet18
    >>> from taper.vision.models.detection.backbone_utils import BackboneWithFPN
    >>> model = BackboneWithFPN(resnet18(), {"layer1": "0", "layer2": "1"}, [64, 128], 8)
    >>> list(model(taper.zeros(1, 3, 32, 32)))
    ['0', '1', 'pool']
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        if extra_blocks is None:
            extra_blocks = LastLevelMaxPool()
        self.body = IntermediateLayerGetter(backbone, return_layers=return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list=in_channels_list,
            out_channels=out_channels,
            extra_blocks=extra_blocks,
            norm_layer=norm_layer,
        )
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return self.fpn(self.body(x))


def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: Any = None,
    norm_layer: Layer = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """Return a residual network by its name, with a pyramid.

    Args:
        backbone_name: the name of the network.
        weights: its weights.
        norm_layer: its normalisation.
        trainable_layers: how many of its last layers are trained, up to 5.
        returned_layers: which of its four layers are levels.
        extra_blocks: what makes more levels.

    >>> from taper.vision.models.detection.backbone_utils import resnet_fpn_backbone
    >>> resnet_fpn_backbone(backbone_name="resnet18", trainable_layers=5).out_channels
    256
    """
    network = getattr(resnet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(network, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(
    backbone: resnet.ResNet,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Layer | None = None,
) -> BackboneWithFPN:
    if trainable_layers < 0 or trainable_layers > 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    if trainable_layers == 5:
        trained.append("bn1")
    for name, parameter in backbone.named_parameters():
        if not any(name.startswith(layer) for layer in trained):
            parameter.requires_grad_(False)
    if returned_layers is None:
        returned_layers = [1, 2, 3, 4]
    if min(returned_layers) <= 0 or max(returned_layers) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {returned_layers}")
    names = {f"layer{layer}": str(nr) for nr, layer in enumerate(returned_layers)}
    channels = [backbone.inplanes // 8 * 2 ** (layer - 1) for layer in returned_layers]
    return BackboneWithFPN(backbone, names, channels, 256, extra_blocks, norm_layer)


def _validate_trainable_layers(
    is_trained: bool, trainable_backbone_layers: int | None, max_value: int, default_value: int
) -> int:
    """Return how many layers of a backbone are trained: all if it has no weights."""
    if not is_trained:
        if trainable_backbone_layers is not None:
            warn_user(
                "Changing trainable_backbone_layers has no effect if neither pretrained nor "
                "pretrained_backbone have been set to True, falling back to "
                f"trainable_backbone_layers={max_value} so that all layers are trainable"
            )
        trainable_backbone_layers = max_value
    if trainable_backbone_layers is None:
        trainable_backbone_layers = default_value
    if trainable_backbone_layers < 0 or trainable_backbone_layers > max_value:
        raise ValueError(
            f"Trainable backbone layers should be in the range [0,{max_value}], got "
            f"{trainable_backbone_layers} "
        )
    return trainable_backbone_layers


def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: Any = None,
    fpn: bool,
    norm_layer: Layer = FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """Return a MobileNet by its name, with a pyramid if `fpn` is set.

    Args:
        backbone_name: the name of the network.
        weights: its weights.
        fpn: whether there is a pyramid; otherwise a convolution gives 256 channels.
        norm_layer: its normalisation.
        trainable_layers: how many of its last stages are trained.
        returned_layers: which of its stages are levels.
        extra_blocks: what makes more levels.

    >>> from taper.vision.models.detection.backbone_utils import mobilenet_backbone
    >>> mobilenet_backbone(backbone_name="mobilenet_v3_small", fpn=False).out_channels
    256
    """
    package: Any = mobilenetv2 if backbone_name == "mobilenet_v2" else mobilenetv3
    network = getattr(package, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(network, fpn, trainable_layers, returned_layers, extra_blocks)


def freeze_but_last(layers: Any, stages: list[int], count: int) -> None:
    """Freeze the layers before the last stages; a stage is the number of its first layer."""
    frozen = len(layers) if count == 0 else stages[len(stages) - count]
    for block in layers[:frozen]:
        for parameter in block.parameters():
            parameter.requires_grad_(False)


def _mobilenet_extractor(
    backbone: Any,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Layer | None = None,
) -> nn.Module:
    layers = backbone.features
    inner = [nr for nr, block in enumerate(layers) if getattr(block, "_is_cn", False)]
    stages = [0, *inner, len(layers) - 1]
    count = len(stages)
    if trainable_layers < 0 or trainable_layers > count:
        raise ValueError(
            f"Trainable layers should be in the range [0,{count}], got {trainable_layers} "
        )
    freeze_but_last(layers, stages, trainable_layers)
    if not fpn:
        model = nn.Sequential(layers, nn.Conv2d(layers[-1].out_channels, 256, 1))
        model.out_channels = 256
        return model
    if extra_blocks is None:
        extra_blocks = LastLevelMaxPool()
    if returned_layers is None:
        returned_layers = [count - 2, count - 1]
    if min(returned_layers) < 0 or max(returned_layers) >= count:
        raise ValueError(
            f"Each returned layer should be in the range [0,{count - 1}], got {returned_layers} "
        )
    names = {str(stages[stage]): str(nr) for nr, stage in enumerate(returned_layers)}
    channels = [layers[stages[stage]].out_channels for stage in returned_layers]
    return BackboneWithFPN(layers, names, channels, 256, extra_blocks, norm_layer)
