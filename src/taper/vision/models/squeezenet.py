"""SqueezeNet: few weights, by convolutions of 1x1 that narrow before those of 3x3."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet

__all__ = [
    "SqueezeNet",
    "SqueezeNet1_0_Weights",
    "SqueezeNet1_1_Weights",
    "squeezenet1_0",
    "squeezenet1_1",
]


class Fire(nn.Module):
    """Narrow, then widen by parallel convolutions of 1x1 and 3x3."""

    def __init__(
        self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int
    ) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        points = self.expand1x1_activation(self.expand1x1(x))
        windows = self.expand3x3_activation(self.expand3x3(x))
        return cat([points, windows], 1)


def _pool() -> nn.MaxPool2d:
    return nn.MaxPool2d(3, stride=2, ceil_mode=True)


def _features(version: str) -> nn.Sequential:
    def fires(*widths: tuple[int, int]) -> list[nn.Module]:
        return [Fire(channels, narrow, 4 * narrow, 4 * narrow) for channels, narrow in widths]

    if version == "1_0":
        return nn.Sequential(
            nn.Conv2d(3, 96, 7, stride=2),
            nn.ReLU(inplace=True),
            _pool(),
            *fires((96, 16), (128, 16), (128, 32)),
            _pool(),
            *fires((256, 32), (256, 48), (384, 48), (384, 64)),
            _pool(),
            *fires((512, 64)),
        )
    if version == "1_1":
        return nn.Sequential(
            nn.Conv2d(3, 64, 3, stride=2),
            nn.ReLU(inplace=True),
            _pool(),
            *fires((64, 16), (128, 16)),
            _pool(),
            *fires((128, 32), (256, 32)),
            _pool(),
            *fires((256, 48), (384, 48), (384, 64), (512, 64)),
        )
    raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")


class SqueezeNet(nn.Module):
    """A network of `Fire` blocks; version "1_1" needs less than half of the computation.

    >>> import taper
    >>> from taper.vision.models import SqueezeNet
    >>> SqueezeNet("1_1", num_classes=3)(taper.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 3])
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = _features(version)
        last = nn.Conv2d(512, num_classes, 1)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


def _squeezenet(version: str, options: Options) -> SqueezeNet:
    return SqueezeNet(version, **options)


class SqueezeNet1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("squeezenet1_0-b66bff10.pth", 1_248_424, (58.092, 80.42), least=21)
    DEFAULT = IMAGENET1K_V1


class SqueezeNet1_1_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("squeezenet1_1-b8a52dc0.pth", 1_235_496, (58.178, 80.624), least=17)
    DEFAULT = IMAGENET1K_V1


@builder(SqueezeNet1_0_Weights)
def squeezenet1_0(**options: Any) -> SqueezeNet:
    """Return SqueezeNet 1.0."""
    return _squeezenet("1_0", options)


@builder(SqueezeNet1_1_Weights)
def squeezenet1_1(**options: Any) -> SqueezeNet:
    """Return SqueezeNet 1.1."""
    return _squeezenet("1_1", options)
