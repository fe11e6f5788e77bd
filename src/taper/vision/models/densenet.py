"""DenseNet: each layer sees the outputs of all layers of its block before it."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.utils.checkpoint import checkpoint
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]


class _DenseLayer(nn.Module):
    def __init__(
        self,
        num_input_features: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, 3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bn_function(self, *inputs: Tensor) -> Tensor:
        """Return the narrow convolution of all outputs so far, concatenated."""
        return self.conv1(self.relu1(self.norm1(cat(inputs, 1))))

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:
        before = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(each.requires_grad for each in before):
            # The concatenation is made again in the backward pass instead of being kept.
            x = checkpoint(self.bn_function, *before, use_reentrant=False)
        else:
            x = self.bn_function(*before)
        x = self.conv2(self.relu2(self.norm2(x)))
        if self.drop_rate > 0:
            x = F.dropout(x, p=self.drop_rate, training=self.training)
        return x


class _DenseBlock(nn.ModuleDict):
    _version = 2

    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        settings = (growth_rate, bn_size, drop_rate, memory_efficient)
        for number in range(num_layers):
            layer = _DenseLayer(num_input_features + number * growth_rate, *settings)
            self.add_module(f"denselayer{number + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, 1, bias=False)
        self.pool = nn.AvgPool2d(2, stride=2)


class DenseNet(nn.Module):
    """Blocks of layers that add `growth_rate` channels each, with narrowings between them.

    >>> import taper
    >>> from taper.vision.models import DenseNet
    >>> model = DenseNet(growth_rate=4, block_config=(1, 1, 1, 1), num_init_features=8)
    >>> model(taper.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1000])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, int, int, int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                conv0=nn.Conv2d(3, num_init_features, 7, stride=2, padding=3, bias=False),
                norm0=nn.BatchNorm2d(num_init_features),
                relu0=nn.ReLU(inplace=True),
                pool0=nn.MaxPool2d(3, stride=2, padding=1),
            )
        )
        settings = (bn_size, growth_rate, drop_rate, memory_efficient)
        width = num_init_features
        for number, layers in enumerate(block_config, 1):
            self.features.add_module(f"denseblock{number}", _DenseBlock(layers, width, *settings))
            width += layers * growth_rate
            if number != len(block_config):
                self.features.add_module(f"transition{number}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.features(x), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


_OLD_NAME = re.compile(r"(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\..*)")


def _load(model: nn.Module, weights: WeightsEnum, progress: bool) -> None:
    """Load a file whose names are from the time when a layer was called `norm.1`."""
    state = weights.get_state_dict(progress=progress, check_hash=True)
    model.load_state_dict({_OLD_NAME.sub(r"\1\2", key): value for key, value in state.items()})


def _densenet(
    growth_rate: int, blocks: tuple[int, int, int, int], width: int, options: Options
) -> DenseNet:
    return DenseNet(growth_rate, blocks, width, **options)


class DenseNet121_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet121-a639ec97.pth", 7_978_856, (74.434, 91.972), least=29)
    DEFAULT = IMAGENET1K_V1


class DenseNet161_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet161-8d451a50.pth", 28_681_000, (77.138, 93.56), least=29)
    DEFAULT = IMAGENET1K_V1


class DenseNet169_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet169-b2777c0a.pth", 14_149_480, (75.6, 92.806), least=29)
    DEFAULT = IMAGENET1K_V1


class DenseNet201_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("densenet201-c1103571.pth", 20_013_928, (76.896, 93.37), least=29)
    DEFAULT = IMAGENET1K_V1


@builder(DenseNet121_Weights, load=_load)
def densenet121(**options: Any) -> DenseNet:
    """Return DenseNet with 121 layers."""
    return _densenet(32, (6, 12, 24, 16), 64, options)


@builder(DenseNet161_Weights, load=_load)
def densenet161(**options: Any) -> DenseNet:
    """Return DenseNet with 161 layers."""
    return _densenet(48, (6, 12, 36, 24), 96, options)


@builder(DenseNet169_Weights, load=_load)
def densenet169(**options: Any) -> DenseNet:
    """Return DenseNet with 169 layers."""
    return _densenet(32, (6, 12, 32, 32), 64, options)


@builder(DenseNet201_Weights, load=_load)
def densenet201(**options: Any) -> DenseNet:
    """Return DenseNet with 201 layers."""
    return _densenet(32, (6, 12, 48, 32), 64, options)
