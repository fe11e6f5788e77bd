"""MNASNet: inverted bottlenecks whose sizes were found by a search."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum, builder, imagenet
from taper.vision.models._utils import make_divisible

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

# The paper's 0.9997 is how much of the old average stays.
_BN_MOMENTUM = 1 - 0.9997

# Channels, size of kernels, stride of the first block, expansion inside, number of blocks.
STACKS = [
    (24, 3, 2, 3, 3),
    (40, 5, 2, 3, 3),
    (80, 5, 2, 6, 3),
    (96, 3, 1, 6, 2),
    (192, 5, 2, 6, 4),
    (320, 3, 1, 6, 1),
]


class _InvertedResidual(nn.Module):
    """Widen, convolve each channel, narrow; add the input if the shapes are the same."""

    def __init__(
        self,
        in_ch: int,
        out_ch: int,
        kernel_size: int,
        stride: int,
        expansion_factor: int,
        bn_momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        middle = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            nn.Conv2d(in_ch, middle, 1, bias=False),
            nn.BatchNorm2d(middle, momentum=bn_momentum),
            nn.ReLU(inplace=True),
            nn.Conv2d(
                middle, middle, kernel_size, stride, kernel_size // 2, groups=middle, bias=False
            ),
            nn.BatchNorm2d(middle, momentum=bn_momentum),
            nn.ReLU(inplace=True),
            nn.Conv2d(middle, out_ch, 1, bias=False),
            nn.BatchNorm2d(out_ch, momentum=bn_momentum),
        )

    def forward(self, input: Tensor) -> Tensor:
        return self.layers(input) + input if self.apply_residual else self.layers(input)


class MNASNet(nn.Module):
    """A network for small devices; `alpha` scales the numbers of channels.

    >>> import taper
    >>> from taper.vision.models import MNASNet
    >>> MNASNet(0.25, num_classes=3).eval()(taper.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 3])
    """

    _version = 2

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        first, channels, *widths = (
            make_divisible(width * alpha, 8) for width in (32, 16, *(each[0] for each in STACKS))
        )
        layers: list[nn.Module] = [
            nn.Conv2d(3, first, 3, padding=1, stride=2, bias=False),
            nn.BatchNorm2d(first, momentum=_BN_MOMENTUM),
            nn.ReLU(inplace=True),
            nn.Conv2d(first, first, 3, padding=1, groups=first, bias=False),
            nn.BatchNorm2d(first, momentum=_BN_MOMENTUM),
            nn.ReLU(inplace=True),
            nn.Conv2d(first, channels, 1, bias=False),
            nn.BatchNorm2d(channels, momentum=_BN_MOMENTUM),
        ]
        for width, (_, kernel_size, stride, expansion, count) in zip(widths, STACKS, strict=True):
            layers.append(_stack(channels, width, kernel_size, stride, expansion, count))
            channels = width
        layers += [
            nn.Conv2d(channels, 1280, 1, bias=False),
            nn.BatchNorm2d(1280, momentum=_BN_MOMENTUM),
            nn.ReLU(inplace=True),
        ]
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes)
        )
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean([2, 3]))


def _stack(
    inputs: int, outputs: int, kernel_size: int, stride: int, expansion: int, count: int
) -> nn.Sequential:
    """Return blocks in a row, of which the first changes the shape."""
    shared = (expansion, _BN_MOMENTUM)
    blocks = [_InvertedResidual(inputs, outputs, kernel_size, stride, *shared)]
    blocks += [
        _InvertedResidual(outputs, outputs, kernel_size, 1, *shared) for _ in range(count - 1)
    ]
    return nn.Sequential(*blocks)


class MNASNet0_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet0.5_top1_67.823-3ffadce67e.pth", 2_218_512, (67.734, 87.490))
    DEFAULT = IMAGENET1K_V1


class MNASNet0_75_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet0_75-7090bc5f.pth", 3_170_208, (71.180, 90.496), resize=232)
    DEFAULT = IMAGENET1K_V1


class MNASNet1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet1.0_top1_73.512-f206786ef8.pth", 4_383_312, (73.456, 91.510))
    DEFAULT = IMAGENET1K_V1


class MNASNet1_3_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("mnasnet1_3-a4c69d6f.pth", 6_282_256, (76.506, 93.522), resize=232)
    DEFAULT = IMAGENET1K_V1


@builder(MNASNet0_5_Weights)
def mnasnet0_5(**options: Any) -> MNASNet:
    """Return MNASNet with half of the channels."""
    return MNASNet(0.5, **options)


@builder(MNASNet0_75_Weights)
def mnasnet0_75(**options: Any) -> MNASNet:
    """Return MNASNet with three quarters of the channels."""
    return MNASNet(0.75, **options)


@builder(MNASNet1_0_Weights)
def mnasnet1_0(**options: Any) -> MNASNet:
    """Return MNASNet.

    >>> from taper.vision.models import mnasnet1_0
    >>> mnasnet1_0(num_classes=10).classifier[1]
    Linear(in_features=1280, out_features=10, bias=True)
    """
    return MNASNet(1.0, **options)


@builder(MNASNet1_3_Weights)
def mnasnet1_3(**options: Any) -> MNASNet:
    """Return MNASNet with 1.3 times the channels."""
    return MNASNet(1.3, **options)
