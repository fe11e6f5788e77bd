"""EfficientNet: blocks like MobileNet's, scaled in width and depth together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.models._utils import make_divisible
from taper.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation
from taper.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_S_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_L_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_s",
    "efficientnet_v2_m",
    "efficientnet_v2_l",
]


Layer = Callable[..., nn.Module]


class MBConvConfig:
    """The sizes of a stage; the multipliers scale channels and number of layers."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        block: Layer | None = None,
    ) -> None:
        self.expand_ratio = expand_ratio
        self.kernel = kernel
        self.stride = stride
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.num_layers = self.adjust_depth(num_layers, depth_mult)
        self.block = MBConv if block is None else block

    @staticmethod
    def adjust_channels(channels: int, width_mult: float, min_value: int | None = None) -> int:
        """Return a number of channels, scaled, as a multiple of 8."""
        return make_divisible(channels * width_mult, 8, min_value)

    @staticmethod
    def adjust_depth(num_layers: int, depth_mult: float) -> int:
        """Return a number of layers, scaled and rounded up."""
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(MBConvConfig):
    """The sizes of a stage of `FusedMBConv`."""

    def __init__(
        self,
        expand_ratio: float,
        kernel: int,
        stride: int,
        input_channels: int,
        out_channels: int,
        num_layers: int,
        block: Layer | None = None,
    ) -> None:
        sizes = (expand_ratio, kernel, stride, input_channels, out_channels, num_layers)
        super().__init__(*sizes, block=FusedMBConv if block is None else block)


class MBConv(nn.Module):
    """Widen, convolve each channel, weigh the channels, narrow; perhaps add the input."""

    def __init__(
        self,
        cnf: MBConvConfig,
        stochastic_depth_prob: float,
        norm_layer: Layer,
        se_layer: Layer = SqueezeExcitation,
    ) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        usual: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        width = MBConvConfig.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        layers: list[nn.Module] = []
        if width != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, width, 1, **usual))
        layers.append(
            Conv2dNormActivation(width, width, cnf.kernel, cnf.stride, groups=width, **usual)
        )
        squeezed = max(1, cnf.input_channels // 4)
        layers.append(se_layer(width, squeezed, activation=partial(nn.SiLU, inplace=True)))
        usual["activation_layer"] = None
        layers.append(Conv2dNormActivation(width, cnf.out_channels, 1, **usual))
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class FusedMBConv(nn.Module):
    """Widen and convolve at once, narrow; perhaps add the input."""

    def __init__(
        self, cnf: FusedMBConvConfig, stochastic_depth_prob: float, norm_layer: Layer
    ) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        width = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        widens = width != cnf.input_channels
        places = (width if widens else cnf.out_channels, cnf.kernel, cnf.stride)
        usual: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = [Conv2dNormActivation(cnf.input_channels, *places, **usual)]
        if widens:
            usual["activation_layer"] = None
            layers.append(Conv2dNormActivation(width, cnf.out_channels, 1, **usual))
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class EfficientNet(nn.Module):
    """A network of stages whose sizes are given.

    >>> import taper
    >>> from taper.vision.models.efficientnet import EfficientNet, MBConvConfig
    >>> model = EfficientNet([MBConvConfig(1, 3, 1, 8, 16, 1)], dropout=0.2, num_classes=3)
    >>> model(taper.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[MBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        settings = inverted_residual_setting
        if not settings:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not all(isinstance(each, MBConvConfig) for each in settings):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        usual: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.SiLU}
        first, last = settings[0].input_channels, settings[-1].out_channels
        layers: list[nn.Module] = [Conv2dNormActivation(3, first, stride=2, **usual)]
        layers += _stages(settings, norm, stochastic_depth_prob)
        width = 4 * last if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(last, width, 1, **usual))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout, inplace=True), nn.Linear(width, num_classes)
        )
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                bound = 1.0 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
                nn.init.zeros_(module.bias)

    def _forward_impl(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def _stages(settings: Sequence[MBConvConfig], norm: Layer, probability: float) -> list[nn.Module]:
    """Return the blocks; deeper ones are skipped more often while training."""
    total = sum(each.num_layers for each in settings)
    made: list[nn.Module] = []
    number = 0
    for setting in settings:
        stage: list[nn.Module] = []
        for layer in range(setting.num_layers):
            config = setting if layer == 0 else _like(setting)
            stage.append(config.block(config, probability * float(number) / total, norm))
            number += 1
        made.append(nn.Sequential(*stage))
    return made


def _like(setting: MBConvConfig) -> MBConvConfig:
    """Return the later blocks of a stage, which keep size and channels."""
    config = copy.copy(setting)
    config.input_channels, config.stride = setting.out_channels, 1
    return config


STAGES = [
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
]


def _efficientnet(
    width: float, depth: float, dropout: float, options: Options, norm: Layer | None = None
) -> EfficientNet:
    settings = [MBConvConfig(*each, width_mult=width, depth_mult=depth) for each in STAGES]
    options.setdefault("norm_layer", norm)
    return EfficientNet(settings, options.pop("dropout", dropout), **options)


# The larger ones were trained with it.
_SLOW_NORM = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


FUSED_STAGES = {
    "s": (
        [(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4)],
        [(4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)],
    ),
    "m": (
        [(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5)],
        [
            *[(4, 3, 2, 80, 160, 7), (6, 3, 1, 160, 176, 14)],
            *[(6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)],
        ],
    ),
    "l": (
        [(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7)],
        [
            *[(4, 3, 2, 96, 192, 10), (6, 3, 1, 192, 224, 19)],
            *[(6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)],
        ],
    ),
}


def _efficientnet_v2(size: str, dropout: float, options: Options) -> EfficientNet:
    fused, plain = FUSED_STAGES[size]
    settings: list[MBConvConfig] = [FusedMBConvConfig(*each) for each in fused]
    settings += [MBConvConfig(*each) for each in plain]
    options.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=0.001))
    return EfficientNet(settings, options.pop("dropout", dropout), last_channel=1280, **options)


class EfficientNet_B0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b0_rwightman-7f5810bc.pth",
        5_288_548,
        (77.692, 93.532),
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B1_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b1_rwightman-bac287d4.pth",
        7_794_184,
        (78.642, 94.186),
        crop=240,
        interpolation="bicubic",
    )
    IMAGENET1K_V2 = imagenet(
        "efficientnet_b1-c27df63c.pth", 7_794_184, (79.838, 94.934), resize=255, crop=240
    )
    DEFAULT = IMAGENET1K_V2


class EfficientNet_B2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b2_rwightman-c35c1473.pth",
        9_109_994,
        (80.608, 95.31),
        resize=288,
        crop=288,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B3_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b3_rwightman-b3899882.pth",
        12_233_232,
        (82.008, 96.054),
        resize=320,
        crop=300,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B4_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b4_rwightman-23ab8bcd.pth",
        19_341_616,
        (83.384, 96.594),
        resize=384,
        crop=380,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b5_lukemelas-1a07897c.pth",
        30_389_784,
        (83.444, 96.628),
        resize=456,
        crop=456,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B6_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b6_lukemelas-24a108a5.pth",
        43_040_704,
        (84.008, 96.916),
        resize=528,
        crop=528,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_B7_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_b7_lukemelas-c5b4e57e.pth",
        66_347_960,
        (84.122, 96.908),
        resize=600,
        crop=600,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_v2_s-dd5fe13b.pth",
        21_458_488,
        (84.228, 96.878),
        least=33,
        resize=384,
        crop=384,
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_M_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_v2_m-dc08266a.pth",
        54_139_356,
        (85.112, 97.156),
        least=33,
        resize=480,
        crop=480,
    )
    DEFAULT = IMAGENET1K_V1


class EfficientNet_V2_L_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "efficientnet_v2_l-59c71312.pth",
        118_515_272,
        (85.808, 97.788),
        least=33,
        resize=480,
        crop=480,
        interpolation="bicubic",
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
    )
    DEFAULT = IMAGENET1K_V1


@builder(EfficientNet_B0_Weights)
def efficientnet_b0(**options: Any) -> EfficientNet:
    """Return EfficientNet B0."""
    return _efficientnet(1.0, 1.0, 0.2, options)


@builder(EfficientNet_B1_Weights)
def efficientnet_b1(**options: Any) -> EfficientNet:
    """Return EfficientNet B1."""
    return _efficientnet(1.0, 1.1, 0.2, options)


@builder(EfficientNet_B2_Weights)
def efficientnet_b2(**options: Any) -> EfficientNet:
    """Return EfficientNet B2."""
    return _efficientnet(1.1, 1.2, 0.3, options)


@builder(EfficientNet_B3_Weights)
def efficientnet_b3(**options: Any) -> EfficientNet:
    """Return EfficientNet B3."""
    return _efficientnet(1.2, 1.4, 0.3, options)


@builder(EfficientNet_B4_Weights)
def efficientnet_b4(**options: Any) -> EfficientNet:
    """Return EfficientNet B4."""
    return _efficientnet(1.4, 1.8, 0.4, options)


@builder(EfficientNet_B5_Weights)
def efficientnet_b5(**options: Any) -> EfficientNet:
    """Return EfficientNet B5."""
    return _efficientnet(1.6, 2.2, 0.4, options, _SLOW_NORM)


@builder(EfficientNet_B6_Weights)
def efficientnet_b6(**options: Any) -> EfficientNet:
    """Return EfficientNet B6."""
    return _efficientnet(1.8, 2.6, 0.5, options, _SLOW_NORM)


@builder(EfficientNet_B7_Weights)
def efficientnet_b7(**options: Any) -> EfficientNet:
    """Return EfficientNet B7."""
    return _efficientnet(2.0, 3.1, 0.5, options, _SLOW_NORM)


@builder(EfficientNet_V2_S_Weights)
def efficientnet_v2_s(**options: Any) -> EfficientNet:
    """Return the small EfficientNetV2."""
    return _efficientnet_v2("s", 0.2, options)


@builder(EfficientNet_V2_M_Weights)
def efficientnet_v2_m(**options: Any) -> EfficientNet:
    """Return the medium EfficientNetV2."""
    return _efficientnet_v2("m", 0.3, options)


@builder(EfficientNet_V2_L_Weights)
def efficientnet_v2_l(**options: Any) -> EfficientNet:
    """Return the large EfficientNetV2."""
    return _efficientnet_v2("l", 0.4, options)
