"""ConvNeXt: a convolutional network with the layout of a transformer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.creation.filled import ones
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.ops.misc import Conv2dNormActivation, Permute
from taper.vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Tiny_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "convnext_tiny",
    "convnext_small",
    "convnext_base",
    "convnext_large",
]


Layer = Callable[..., nn.Module]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalisation over the channels of each place."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A wide convolution of each channel and two linear layers over the channels; residual."""

    def __init__(
        self,
        dim: int,
        layer_scale: float,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        norm = partial(nn.LayerNorm, eps=1e-6) if norm_layer is None else norm_layer
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, 7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        result = self.layer_scale * self.block(input)
        result = self.stochastic_depth(result)
        result += input
        return result


class CNBlockConfig:
    """The sizes of a stage; without `out_channels` it is the last one."""

    def __init__(self, input_channels: int, out_channels: int | None, num_layers: int) -> None:
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_channels={self.input_channels}, "
            f"out_channels={self.out_channels}, num_layers={self.num_layers})"
        )


class ConvNeXt(nn.Module):
    """A network of stages of `CNBlock`, with halvings of the size between them.

    >>> import taper
    >>> from taper.vision.models.convnext import CNBlockConfig, ConvNeXt
    >>> model = ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)], num_classes=3)
    >>> model(taper.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        block_setting: list[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        if not all(isinstance(each, CNBlockConfig) for each in block_setting):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        make = CNBlock if block is None else block
        norm = partial(LayerNorm2d, eps=1e-6) if norm_layer is None else norm_layer
        first = block_setting[0].input_channels
        stem = Conv2dNormActivation(
            3, first, 4, 4, padding=0, norm_layer=norm, activation_layer=None, bias=True
        )
        layers: list[nn.Module] = [stem]
        total, number = sum(each.num_layers for each in block_setting), 0
        for each in block_setting:
            stage = []
            for _ in range(each.num_layers):
                probability = stochastic_depth_prob * number / (total - 1.0)
                stage.append(make(each.input_channels, layer_scale, probability))
                number += 1
            layers.append(nn.Sequential(*stage))
            if each.out_channels is not None:
                halving = nn.Conv2d(each.input_channels, each.out_channels, 2, stride=2)
                layers.append(nn.Sequential(norm(each.input_channels), halving))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1]
        width = last.input_channels if last.out_channels is None else last.out_channels
        self.classifier = nn.Sequential(norm(width), nn.Flatten(1), nn.Linear(width, num_classes))
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def _forward_impl(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def _convnext(width: int, third: int, probability: float, options: Options) -> ConvNeXt:
    """Return stages of 3, 3, `third` and 3 blocks, each twice as wide as the one before."""
    stages = [
        CNBlockConfig(width, 2 * width, 3),
        CNBlockConfig(2 * width, 4 * width, 3),
        CNBlockConfig(4 * width, 8 * width, third),
        CNBlockConfig(8 * width, None, 3),
    ]
    probability = options.pop("stochastic_depth_prob", probability)
    return ConvNeXt(stages, probability, **options)


class ConvNeXt_Tiny_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "convnext_tiny-983f1562.pth", 28_589_128, (82.52, 96.146), least=32, resize=236
    )
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Small_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "convnext_small-0c510722.pth", 50_223_688, (83.616, 96.65), least=32, resize=230
    )
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Base_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "convnext_base-6075fbad.pth", 88_591_464, (84.062, 96.87), least=32, resize=232
    )
    DEFAULT = IMAGENET1K_V1


class ConvNeXt_Large_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "convnext_large-ea097f82.pth", 197_767_336, (84.414, 96.976), least=32, resize=232
    )
    DEFAULT = IMAGENET1K_V1


@builder(ConvNeXt_Tiny_Weights)
def convnext_tiny(**options: Any) -> ConvNeXt:
    """Return the tiny ConvNeXt."""
    return _convnext(96, 9, 0.1, options)


@builder(ConvNeXt_Small_Weights)
def convnext_small(**options: Any) -> ConvNeXt:
    """Return the small ConvNeXt."""
    return _convnext(96, 27, 0.4, options)


@builder(ConvNeXt_Base_Weights)
def convnext_base(**options: Any) -> ConvNeXt:
    """Return the base ConvNeXt."""
    return _convnext(128, 27, 0.5, options)


@builder(ConvNeXt_Large_Weights)
def convnext_large(**options: Any) -> ConvNeXt:
    """Return the large ConvNeXt."""
    return _convnext(192, 27, 0.5, options)
