"""VGG: convolutions of 3x3 in a row, with or without batch normalisation."""

from __future__ import annotations

import math
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.models._utils import fixed

__all__ = [
    "VGG",
    "VGG11_Weights",
    "VGG11_BN_Weights",
    "VGG13_Weights",
    "VGG13_BN_Weights",
    "VGG16_Weights",
    "VGG16_BN_Weights",
    "VGG19_Weights",
    "VGG19_BN_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


# Numbers of channels; "M" is a pooling that halves the size.
CONFIGURATIONS: dict[int, list[str | int]] = {
    depth: [
        *(64,) * first,
        "M",
        *(128,) * first,
        "M",
        *(256,) * rest,
        "M",
        *(512,) * rest,
        "M",
        *(512,) * rest,
        "M",
    ]
    for depth, first, rest in ((11, 1, 2), (13, 2, 2), (16, 2, 3), (19, 2, 4))
}


def make_layers(cfg: list[str | int], batch_norm: bool = False) -> nn.Sequential:
    """Return the convolutions of a list of numbers of channels.

    >>> from taper.vision.models.vgg import make_layers
    >>> make_layers([8, "M"])
    Sequential(
      (0): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
      (1): ReLU(inplace=True)
      (2): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    )
    """
    layers: list[nn.Module] = []
    channels = 3
    for each in cfg:
        if isinstance(each, str):
            layers.append(nn.MaxPool2d(2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, each, 3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(each))
        layers.append(nn.ReLU(inplace=True))
        channels = each
    return nn.Sequential(*layers)


class VGG(nn.Module):
    """Convolutions, then three linear layers."""

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _of_weights(weights: WeightsEnum, options: Options) -> None:
    options["init_weights"] = False  # they are overwritten anyway
    fixed(options, "num_classes", 1000)


def _vgg(depth: int, batch_norm: bool, options: Options) -> VGG:
    return VGG(make_layers(CONFIGURATIONS[depth], batch_norm), **options)


class VGG11_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg11-8a719046.pth", 132_863_336, (69.02, 88.628), least=32)
    DEFAULT = IMAGENET1K_V1


class VGG11_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg11_bn-6002323d.pth", 132_868_840, (70.37, 89.81), least=32)
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg13-19584684.pth", 133_047_848, (69.928, 89.246), least=32)
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg13_bn-abd245e5.pth", 133_053_736, (71.586, 90.374), least=32)
    DEFAULT = IMAGENET1K_V1


class VGG16_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg16-397923af.pth", 138_357_544, (71.592, 90.382), least=32)
    # Its classifier has no values: it is the first part of SSD.
    IMAGENET1K_FEATURES = imagenet(
        "vgg16_features-amdegroot-88682ab5.pth",
        138_357_544,
        (math.nan, math.nan),
        least=32,
        mean=(0.48235, 0.45882, 0.40784),
        std=(1.0 / 255.0, 1.0 / 255.0, 1.0 / 255.0),
    )
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg16_bn-6c64b313.pth", 138_365_992, (73.36, 91.516), least=32)
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg19-dcbb9e9d.pth", 143_667_240, (72.376, 90.876), least=32)
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg19_bn-c79401a0.pth", 143_678_248, (74.218, 91.842), least=32)
    DEFAULT = IMAGENET1K_V1


@builder(VGG11_Weights, _of_weights)
def vgg11(**options: Any) -> VGG:
    """Return VGG with 11 layers."""
    return _vgg(11, False, options)


@builder(VGG11_BN_Weights, _of_weights)
def vgg11_bn(**options: Any) -> VGG:
    """Return VGG with 11 layers and batch normalisation."""
    return _vgg(11, True, options)


@builder(VGG13_Weights, _of_weights)
def vgg13(**options: Any) -> VGG:
    """Return VGG with 13 layers."""
    return _vgg(13, False, options)


@builder(VGG13_BN_Weights, _of_weights)
def vgg13_bn(**options: Any) -> VGG:
    """Return VGG with 13 layers and batch normalisation."""
    return _vgg(13, True, options)


@builder(VGG16_Weights, _of_weights)
def vgg16(**options: Any) -> VGG:
    """Return VGG with 16 layers."""
    return _vgg(16, False, options)


@builder(VGG16_BN_Weights, _of_weights)
def vgg16_bn(**options: Any) -> VGG:
    """Return VGG with 16 layers and batch normalisation."""
    return _vgg(16, True, options)


@builder(VGG19_Weights, _of_weights)
def vgg19(**options: Any) -> VGG:
    """Return VGG with 19 layers."""
    return _vgg(19, False, options)


@builder(VGG19_BN_Weights, _of_weights)
def vgg19_bn(**options: Any) -> VGG:
    """Return VGG with 19 layers and batch normalisation."""
    return _vgg(19, True, options)
