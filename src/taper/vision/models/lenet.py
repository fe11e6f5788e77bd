"""A network like LeNet-5, for small pictures of one channel; torchvision has none."""

from __future__ import annotations

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import register_model

__all__ = [
    "LeNet5",
    "lenet5",
]


class LeNet5(nn.Module):
    """Two convolutions and three linear layers, for pictures of 28x28 such as MNIST's digits.

    >>> import taper
    >>> from taper.vision.models import lenet5
    >>> lenet5()(taper.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(in_channels, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).flatten(1))


@register_model()
def lenet5(num_classes: int = 10, in_channels: int = 1) -> LeNet5:
    """Return a network like LeNet-5.

    >>> import taper
    >>> from taper.vision.models import lenet5
    >>> lenet5().classifier[4]
    Linear(in_features=84, out_features=10, bias=True)
    """
    return LeNet5(num_classes, in_channels)
