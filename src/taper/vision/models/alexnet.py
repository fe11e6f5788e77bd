"""AlexNet: five convolutions and three linear layers."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum, builder, imagenet

__all__ = [
    "AlexNet",
    "AlexNet_Weights",
    "alexnet",
]


class AlexNet(nn.Module):
    """Five convolutions, then three linear layers."""

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class AlexNet_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("alexnet-owt-7be5be79.pth", 61_100_840, (56.522, 79.066), least=63)
    DEFAULT = IMAGENET1K_V1


@builder(AlexNet_Weights)
def alexnet(**options: Any) -> AlexNet:
    """Return AlexNet, in the version for one device."""
    return AlexNet(**options)
