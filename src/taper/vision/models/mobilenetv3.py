"""MobileNetV3: like MobileNetV2, with squeeze and excitation and hard activations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.models._utils import make_divisible
from taper.vision.models.mobilenetv2 import initialize
from taper.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]


Layer = Callable[..., nn.Module]
SQUEEZE = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """The sizes of a block; `width_mult` scales the numbers of channels."""

    def __init__(
        self,
        input_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        dilation: int,
        width_mult: float,
    ) -> None:
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels: int, width_mult: float) -> int:
        """Return a number of channels, scaled, as a multiple of 8."""
        return make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """Widen, convolve each channel, weigh the channels, narrow; perhaps add the input."""

    def __init__(
        self,
        cnf: InvertedResidualConfig,
        norm_layer: Layer,
        se_layer: Layer = SQUEEZE,
    ) -> None:
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        usual: dict[str, Any] = {
            "norm_layer": norm_layer,
            "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU,
        }
        width = cnf.expanded_channels
        layers: list[nn.Module] = []
        if width != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, width, 1, **usual))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        places: dict[str, Any] = {"stride": stride, "dilation": cnf.dilation}
        layers.append(
            Conv2dNormActivation(width, width, cnf.kernel, groups=width, **places, **usual)
        )
        if cnf.use_se:
            layers.append(se_layer(width, make_divisible(width // 4, 8)))
        usual["activation_layer"] = None
        layers.append(Conv2dNormActivation(width, cnf.out_channels, 1, **usual))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """A network for small devices, made of blocks whose sizes are given.

    >>> import taper
    >>> from taper.vision.models import mobilenet_v3_small
    >>> mobilenet_v3_small(num_classes=3, width_mult=0.25).classifier[3]
    Linear(in_features=256, out_features=3, bias=True)
    """

    def __init__(
        self,
        inverted_residual_setting: list[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        settings = inverted_residual_setting
        if not settings:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not all(isinstance(each, InvertedResidualConfig) for each in settings):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        make = InvertedResidual if block is None else block
        norm = (
            partial(nn.BatchNorm2d, eps=0.001, momentum=0.01) if norm_layer is None else norm_layer
        )
        usual: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.Hardswish}
        first, last = settings[0].input_channels, settings[-1].out_channels
        width = 6 * last
        self.features = nn.Sequential(
            Conv2dNormActivation(3, first, stride=2, **usual),
            *[make(each, norm) for each in settings],
            Conv2dNormActivation(last, width, 1, **usual),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(width, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        initialize(self)

    def _forward_impl(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


# Input, kernel, inside, output, squeeze and excitation, activation, stride.
LARGE = [
    (16, 3, 16, 16, False, "RE", 1),
    (16, 3, 64, 24, False, "RE", 2),
    (24, 3, 72, 24, False, "RE", 1),
    (24, 5, 72, 40, True, "RE", 2),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 3, 240, 80, False, "HS", 2),
    (80, 3, 200, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 480, 112, True, "HS", 1),
    (112, 3, 672, 112, True, "HS", 1),
]
SMALL = [
    (16, 3, 16, 16, True, "RE", 2),
    (16, 3, 72, 24, False, "RE", 2),
    (24, 3, 88, 24, False, "RE", 1),
    (24, 5, 96, 40, True, "HS", 2),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 120, 48, True, "HS", 1),
    (48, 5, 144, 48, True, "HS", 1),
]


def _mobilenet_v3(
    body: list[tuple[Any, ...]], inside: int, tail: int, last: int, options: Options
) -> MobileNetV3:
    """Make the network; the last three blocks are `tail` wide, the first `inside` inside."""
    width_mult = options.pop("width_mult", 1.0)
    divider = 2 if options.pop("reduced_tail", False) else 1
    dilation = 2 if options.pop("dilated", False) else 1
    before, narrow = body[-1][3], tail // divider
    wide = 6 * tail // divider
    tail_blocks = [
        (before, 5, inside, narrow, True, "HS", 2, dilation),
        (narrow, 5, wide, narrow, True, "HS", 1, dilation),
        (narrow, 5, wide, narrow, True, "HS", 1, dilation),
    ]
    blocks: list[Any] = [*((*each, 1) for each in body), *tail_blocks]
    settings = [InvertedResidualConfig(*(*each, width_mult)) for each in blocks]
    last_channel = InvertedResidualConfig.adjust_channels(last // divider, width_mult)
    return MobileNetV3(settings, last_channel, **options)


class MobileNet_V3_Large_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mobilenet_v3_large-8738ca79.pth", 5_483_032, (74.042, 91.34))
    IMAGENET1K_V2 = imagenet(
        "mobilenet_v3_large-5c1a4163.pth", 5_483_032, (75.274, 92.566), resize=232
    )
    DEFAULT = IMAGENET1K_V2


class MobileNet_V3_Small_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mobilenet_v3_small-047dcff4.pth", 2_542_856, (67.668, 87.402))
    DEFAULT = IMAGENET1K_V1


@builder(MobileNet_V3_Large_Weights)
def mobilenet_v3_large(**options: Any) -> MobileNetV3:
    """Return the large MobileNetV3; also takes `width_mult`, `reduced_tail` and `dilated`."""
    return _mobilenet_v3(LARGE, 672, 160, 1280, options)


@builder(MobileNet_V3_Small_Weights)
def mobilenet_v3_small(**options: Any) -> MobileNetV3:
    """Return the small MobileNetV3; also takes `width_mult`, `reduced_tail` and `dilated`."""
    return _mobilenet_v3(SMALL, 288, 96, 1024, options)
