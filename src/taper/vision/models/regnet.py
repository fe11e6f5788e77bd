"""RegNet: stages whose widths lie on a line that is rounded to a few steps."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.models._utils import make_divisible
from taper.vision.ops.misc import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "RegNet",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_8GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_X_16GF_Weights",
    "RegNet_X_32GF_Weights",
    "regnet_y_400mf",
    "regnet_y_800mf",
    "regnet_y_1_6gf",
    "regnet_y_3_2gf",
    "regnet_y_8gf",
    "regnet_y_16gf",
    "regnet_y_32gf",
    "regnet_y_128gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_x_1_6gf",
    "regnet_x_3_2gf",
    "regnet_x_8gf",
    "regnet_x_16gf",
    "regnet_x_32gf",
]


Layer = Callable[..., nn.Module]


class SimpleStemIN(Conv2dNormActivation):
    """The first convolution of a network for ImageNet."""

    def __init__(
        self, width_in: int, width_out: int, norm_layer: Layer, activation_layer: Layer
    ) -> None:
        usual: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        super().__init__(width_in, width_out, stride=2, **usual)


class BottleneckTransform(nn.Sequential):
    """Narrow, convolve in groups, perhaps weigh the channels, widen."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None,
    ) -> None:
        usual: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        width = round(width_out * bottleneck_multiplier)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["a"] = Conv2dNormActivation(width_in, width, 1, **usual)
        groups = width // group_width
        layers["b"] = Conv2dNormActivation(width, width, 3, stride, groups=groups, **usual)
        if se_ratio:
            squeezed = round(se_ratio * width_in)
            layers["se"] = SqueezeExcitation(width, squeezed, activation=activation_layer)
        usual["activation_layer"] = None
        layers["c"] = Conv2dNormActivation(width, width_out, 1, **usual)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """A bottleneck, added to the input, which is projected where the shapes differ."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
            self.proj = Conv2dNormActivation(width_in, width_out, 1, stride, **options)
        widths = (group_width, bottleneck_multiplier, se_ratio)
        self.f = BottleneckTransform(
            width_in, width_out, stride, norm_layer, activation_layer, *widths
        )
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        if self.proj is not None:
            x = self.proj(x) + self.f(x)
        else:
            x = x + self.f(x)
        return self.activation(x)


class AnyStage(nn.Sequential):
    """Blocks of one width; the first one has the stride."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        depth: int,
        block_constructor: Layer,
        norm_layer: Layer,
        activation_layer: Layer,
        group_width: int,
        bottleneck_multiplier: float,
        se_ratio: float | None = None,
        stage_index: int = 0,
    ) -> None:
        super().__init__()
        options = (norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio)
        for nr in range(depth):
            sizes = (width_in, width_out, stride) if nr == 0 else (width_out, width_out, 1)
            self.add_module(f"block{stage_index}-{nr}", block_constructor(*sizes, *options))


class BlockParams:
    """The sizes of all stages.

    >>> from taper.vision.models.regnet import BlockParams
    >>> sizes = BlockParams.from_init_params(depth=16, w_0=48, w_a=27.89, w_m=2.09, group_width=8)
    >>> sizes.widths, sizes.depths
    ([48, 104, 208, 440], [1, 3, 6, 6])
    """

    def __init__(
        self,
        depths: list[int],
        widths: list[int],
        group_widths: list[int],
        bottleneck_multipliers: list[float],
        strides: list[int],
        se_ratio: float | None = None,
    ) -> None:
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
        **kwargs: Any,
    ) -> BlockParams:
        """Return stages from a line: the first width, the slope, and the factor between steps."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        steps = (round(math.log((w_0 + w_a * nr) / w_0) / math.log(w_m)) for nr in range(depth))
        lines = [(width, len([*same])) for width, same in groupby(_rounded(w_0, w_m, steps))]
        fitted = [_compatible(width, bottleneck_multiplier, group_width) for width, _ in lines]
        return cls(
            depths=[count for _, count in lines],
            widths=[width for width, _ in fitted],
            group_widths=[group for _, group in fitted],
            bottleneck_multipliers=[bottleneck_multiplier] * len(lines),
            strides=[2] * len(lines),
            se_ratio=se_ratio,
        )

    def _get_expanded_params(self) -> Iterator[tuple[int, int, int, int, float]]:
        lists = (self.widths, self.strides, self.depths, self.group_widths)
        return zip(*lists, self.bottleneck_multipliers, strict=True)


def _rounded(first: int, factor: float, steps: Iterator[int]) -> list[int]:
    """Return widths that are multiples of 8."""
    return [8 * round(first * factor**step / 8) for step in steps]


def _compatible(width: int, multiplier: float, group: int) -> tuple[int, int]:
    """Return the width next to one whose bottleneck consists of whole groups, and the groups'."""
    narrow = int(width * multiplier)
    group = min(group, narrow)
    return int(make_divisible(narrow, group) / multiplier), group


class RegNet(nn.Module):
    """A network of stages of residual bottlenecks.

    >>> import taper
    >>> from taper.vision.models.regnet import BlockParams, RegNet
    >>> model = RegNet(BlockParams([1, 1], [8, 16], [4, 4], [1.0, 1.0], [2, 2]), num_classes=3)
    >>> model(taper.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Layer | None = None,
        block_type: Layer | None = None,
        norm_layer: Layer | None = None,
        activation: Layer | None = None,
    ) -> None:
        super().__init__()
        make_stem = SimpleStemIN if stem_type is None else stem_type
        make_block = ResBottleneckBlock if block_type is None else block_type
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        act = nn.ReLU if activation is None else activation
        self.stem = make_stem(3, stem_width, norm, act)
        width = stem_width
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        sizes = block_params._get_expanded_params()
        for nr, (wide, stride, depth, group, multiplier) in enumerate(sizes, 1):
            options = (make_block, norm, act, group, multiplier, block_params.se_ratio, nr)
            stages[f"block{nr}"] = AnyStage(width, wide, stride, depth, *options)
            width = wide
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(in_features=width, out_features=num_classes)
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.trunk_output(self.stem(x)))
        return self.fc(x.flatten(start_dim=1))


def _regnet(
    options: Options,
    depth: int,
    first: int,
    slope: float,
    factor: float,
    group: int,
    se_ratio: float | None = None,
) -> RegNet:
    sizes = BlockParams.from_init_params(depth, first, slope, factor, group, se_ratio=se_ratio)
    options.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    return RegNet(sizes, **options)


class RegNet_Y_400MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_400mf-c65dace8.pth", 4_344_144, (74.046, 91.716))
    IMAGENET1K_V2 = imagenet("regnet_y_400mf-e6988f5f.pth", 4_344_144, (75.804, 92.742), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_800MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_800mf-1b27b58c.pth", 6_432_512, (76.42, 93.136))
    IMAGENET1K_V2 = imagenet("regnet_y_800mf-58fc7688.pth", 6_432_512, (78.828, 94.502), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_1_6GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_1_6gf-b11a554e.pth", 11_202_430, (77.95, 93.966))
    IMAGENET1K_V2 = imagenet(
        "regnet_y_1_6gf-0d7bc02a.pth", 11_202_430, (80.876, 95.444), resize=232
    )
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_3_2GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_3_2gf-b5a9779c.pth", 19_436_338, (78.948, 94.576))
    IMAGENET1K_V2 = imagenet(
        "regnet_y_3_2gf-9180c971.pth", 19_436_338, (81.982, 95.972), resize=232
    )
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_8GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_8gf-d0d0e4a8.pth", 39_381_472, (80.032, 95.048))
    IMAGENET1K_V2 = imagenet("regnet_y_8gf-dc2b1b54.pth", 39_381_472, (82.828, 96.33), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_16GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_16gf-9e6ed7dd.pth", 83_590_140, (80.424, 95.24))
    IMAGENET1K_V2 = imagenet("regnet_y_16gf-3e4a00f9.pth", 83_590_140, (82.886, 96.328), resize=232)
    IMAGENET1K_SWAG_E2E_V1 = imagenet(
        "regnet_y_16gf_swag-43afe44d.pth",
        83_590_140,
        (86.012, 98.054),
        resize=384,
        crop=384,
        interpolation="bicubic",
    )
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet(
        "regnet_y_16gf_lc_swag-f3ec0043.pth",
        83_590_140,
        (83.976, 97.244),
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_32GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_y_32gf-4dee3f7a.pth", 145_046_770, (80.878, 95.34))
    IMAGENET1K_V2 = imagenet(
        "regnet_y_32gf-8db6d4b5.pth", 145_046_770, (83.368, 96.498), resize=232
    )
    IMAGENET1K_SWAG_E2E_V1 = imagenet(
        "regnet_y_32gf_swag-04fdfa75.pth",
        145_046_770,
        (86.838, 98.362),
        resize=384,
        crop=384,
        interpolation="bicubic",
    )
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet(
        "regnet_y_32gf_lc_swag-e1583746.pth",
        145_046_770,
        (84.622, 97.48),
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_V2


class RegNet_Y_128GF_Weights(WeightsEnum):
    IMAGENET1K_SWAG_E2E_V1 = imagenet(
        "regnet_y_128gf_swag-c8ce3e52.pth",
        644_812_894,
        (88.228, 98.682),
        resize=384,
        crop=384,
        interpolation="bicubic",
    )
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet(
        "regnet_y_128gf_lc_swag-cbe8ce12.pth",
        644_812_894,
        (86.068, 97.844),
        resize=224,
        interpolation="bicubic",
    )
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


class RegNet_X_400MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_400mf-adf1edd5.pth", 5_495_976, (72.834, 90.95))
    IMAGENET1K_V2 = imagenet("regnet_x_400mf-62229a5f.pth", 5_495_976, (74.864, 92.322), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_800MF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_800mf-ad17e45c.pth", 7_259_656, (75.212, 92.348))
    IMAGENET1K_V2 = imagenet("regnet_x_800mf-94a99ebd.pth", 7_259_656, (77.522, 93.826), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_1_6GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_1_6gf-e3633e7f.pth", 9_190_136, (77.04, 93.44))
    IMAGENET1K_V2 = imagenet("regnet_x_1_6gf-a12f2b72.pth", 9_190_136, (79.668, 94.922), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_3_2GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_3_2gf-f342aeae.pth", 15_296_552, (78.364, 93.992))
    IMAGENET1K_V2 = imagenet("regnet_x_3_2gf-7071aa85.pth", 15_296_552, (81.196, 95.43), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_8GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_8gf-03ceed89.pth", 39_572_648, (79.344, 94.686))
    IMAGENET1K_V2 = imagenet("regnet_x_8gf-2b70d774.pth", 39_572_648, (81.682, 95.678), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_16GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_16gf-2007eb11.pth", 54_278_536, (80.058, 94.944))
    IMAGENET1K_V2 = imagenet("regnet_x_16gf-ba3796d7.pth", 54_278_536, (82.716, 96.196), resize=232)
    DEFAULT = IMAGENET1K_V2


class RegNet_X_32GF_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("regnet_x_32gf-9d47f8d0.pth", 107_811_560, (80.622, 95.248))
    IMAGENET1K_V2 = imagenet(
        "regnet_x_32gf-6eb8fdc6.pth", 107_811_560, (83.014, 96.288), resize=232
    )
    DEFAULT = IMAGENET1K_V2


@builder(RegNet_Y_400MF_Weights)
def regnet_y_400mf(**options: Any) -> RegNet:
    """Return RegNet Y of 400 MFLOP."""
    return _regnet(options, 16, 48, 27.89, 2.09, 8, 0.25)


@builder(RegNet_Y_800MF_Weights)
def regnet_y_800mf(**options: Any) -> RegNet:
    """Return RegNet Y of 800 MFLOP."""
    return _regnet(options, 14, 56, 38.84, 2.4, 16, 0.25)


@builder(RegNet_Y_1_6GF_Weights)
def regnet_y_1_6gf(**options: Any) -> RegNet:
    """Return RegNet Y of 1.6 GFLOP."""
    return _regnet(options, 27, 48, 20.71, 2.65, 24, 0.25)


@builder(RegNet_Y_3_2GF_Weights)
def regnet_y_3_2gf(**options: Any) -> RegNet:
    """Return RegNet Y of 3.2 GFLOP."""
    return _regnet(options, 21, 80, 42.63, 2.66, 24, 0.25)


@builder(RegNet_Y_8GF_Weights)
def regnet_y_8gf(**options: Any) -> RegNet:
    """Return RegNet Y of 8 GFLOP."""
    return _regnet(options, 17, 192, 76.82, 2.19, 56, 0.25)


@builder(RegNet_Y_16GF_Weights)
def regnet_y_16gf(**options: Any) -> RegNet:
    """Return RegNet Y of 16 GFLOP."""
    return _regnet(options, 18, 200, 106.23, 2.48, 112, 0.25)


@builder(RegNet_Y_32GF_Weights)
def regnet_y_32gf(**options: Any) -> RegNet:
    """Return RegNet Y of 32 GFLOP."""
    return _regnet(options, 20, 232, 115.89, 2.53, 232, 0.25)


@builder(RegNet_Y_128GF_Weights)
def regnet_y_128gf(**options: Any) -> RegNet:
    """Return RegNet Y of 128 GFLOP."""
    return _regnet(options, 27, 456, 160.83, 2.52, 264, 0.25)


@builder(RegNet_X_400MF_Weights)
def regnet_x_400mf(**options: Any) -> RegNet:
    """Return RegNet X of 400 MFLOP."""
    return _regnet(options, 22, 24, 24.48, 2.54, 16)


@builder(RegNet_X_800MF_Weights)
def regnet_x_800mf(**options: Any) -> RegNet:
    """Return RegNet X of 800 MFLOP."""
    return _regnet(options, 16, 56, 35.73, 2.28, 16)


@builder(RegNet_X_1_6GF_Weights)
def regnet_x_1_6gf(**options: Any) -> RegNet:
    """Return RegNet X of 1.6 GFLOP."""
    return _regnet(options, 18, 80, 34.01, 2.25, 24)


@builder(RegNet_X_3_2GF_Weights)
def regnet_x_3_2gf(**options: Any) -> RegNet:
    """Return RegNet X of 3.2 GFLOP."""
    return _regnet(options, 25, 88, 26.31, 2.25, 48)


@builder(RegNet_X_8GF_Weights)
def regnet_x_8gf(**options: Any) -> RegNet:
    """Return RegNet X of 8 GFLOP."""
    return _regnet(options, 23, 80, 49.56, 2.88, 120)


@builder(RegNet_X_16GF_Weights)
def regnet_x_16gf(**options: Any) -> RegNet:
    """Return RegNet X of 16 GFLOP."""
    return _regnet(options, 22, 216, 55.59, 2.1, 128)


@builder(RegNet_X_32GF_Weights)
def regnet_x_32gf(**options: Any) -> RegNet:
    """Return RegNet X of 32 GFLOP."""
    return _regnet(options, 23, 320, 69.86, 2.0, 168)
