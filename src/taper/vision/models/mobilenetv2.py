"""MobileNetV2: blocks that widen, convolve each channel alone, and narrow again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum, builder, imagenet
from taper.vision.models._utils import make_divisible
from taper.vision.ops.misc import Conv2dNormActivation

__all__ = [
    "MobileNetV2",
    "MobileNet_V2_Weights",
    "mobilenet_v2",
]


Layer = Callable[..., nn.Module]

# Expansion inside, channels, number of blocks, stride of the first.
BLOCKS = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
]


class InvertedResidual(nn.Module):
    """Widen, convolve each channel, narrow; add the input if the shapes are the same."""

    def __init__(
        self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Layer | None = None
    ) -> None:
        super().__init__()
        self.stride = stride
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        usual: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, 1, **usual))
        layers += [
            Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **usual),
            nn.Conv2d(hidden, oup, 1, bias=False),
            norm(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """A network for small devices; `width_mult` scales the numbers of channels.

    >>> import taper
    >>> from taper.vision.models import MobileNetV2
    >>> MobileNetV2(num_classes=3, width_mult=0.25)(taper.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        make = InvertedResidual if block is None else block
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        settings = BLOCKS if inverted_residual_setting is None else inverted_residual_setting
        if len(settings) == 0 or len(settings[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {settings}"
            )
        usual: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        channels = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [Conv2dNormActivation(3, channels, stride=2, **usual)]
        for ratio, width, count, stride in settings:
            outputs = make_divisible(width * width_mult, round_nearest)
            for number in range(count):
                step = stride if number == 0 else 1
                features.append(make(channels, outputs, step, expand_ratio=ratio, norm_layer=norm))
                channels = outputs
        features.append(Conv2dNormActivation(channels, self.last_channel, 1, **usual))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes)
        )
        initialize(self)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(x.flatten(1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def initialize(model: nn.Module) -> None:
    """Set the initial weights of the MobileNets."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
            nn.init.zeros_(module.bias)


class MobileNet_V2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mobilenet_v2-b0353104.pth", 3_504_872, (71.878, 90.286))
    IMAGENET1K_V2 = imagenet("mobilenet_v2-7ebf99e0.pth", 3_504_872, (72.154, 90.822), resize=232)
    DEFAULT = IMAGENET1K_V2


@builder(MobileNet_V2_Weights)
def mobilenet_v2(**options: Any) -> MobileNetV2:
    """Return MobileNetV2.

    >>> import taper
    >>> from taper.vision.models import mobilenet_v2
    >>> mobilenet_v2(num_classes=10).classifier[1]
    Linear(in_features=1280, out_features=10, bias=True)
    """
    return MobileNetV2(**options)
