"""Inception v3: convolutions of several shapes side by side, large ones as pairs of thin ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.models._api import Options, WeightsEnum, builder, imagenet
from taper.vision.models._utils import fixed, renormalised
from taper.vision.models.googlenet import BasicConv2d

__all__ = [
    "Inception3",
    "InceptionOutputs",
    "_InceptionOutputs",
    "Inception_V3_Weights",
    "inception_v3",
]

Layer = Callable[..., nn.Module]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
_InceptionOutputs = InceptionOutputs


class _Branches(nn.Module):
    """Branches whose results stand side by side."""

    def _forward(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return cat(self._forward(x), 1)


class InceptionA(_Branches):
    """1x1, 5x5, two of 3x3, and a pooling."""

    def __init__(
        self, in_channels: int, pool_features: int, conv_block: Layer | None = None
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]


class InceptionB(_Branches):
    """Halves the picture: 3x3, two of 3x3, and a pooling."""

    def __init__(self, in_channels: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]


class InceptionC(_Branches):
    """1x1, 7x7, two of 7x7, each as 1x7 and 7x1, and a pooling."""

    def __init__(
        self, in_channels: int, channels_7x7: int, conv_block: Layer | None = None
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        width = channels_7x7
        flat: Options = {"kernel_size": (1, 7), "padding": (0, 3)}
        tall: Options = {"kernel_size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, width, kernel_size=1)
        self.branch7x7_2 = conv(width, width, **flat)
        self.branch7x7_3 = conv(width, 192, **tall)
        self.branch7x7dbl_1 = conv(in_channels, width, kernel_size=1)
        self.branch7x7dbl_2 = conv(width, width, **tall)
        self.branch7x7dbl_3 = conv(width, width, **flat)
        self.branch7x7dbl_4 = conv(width, width, **tall)
        self.branch7x7dbl_5 = conv(width, 192, **flat)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def _forward(self, x: Tensor) -> list[Tensor]:
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        return [
            self.branch1x1(x),
            self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(double)),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]


class InceptionD(_Branches):
    """Halves the picture: 3x3, 7x7 as 1x7 and 7x1, and a pooling."""

    def __init__(self, in_channels: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = conv(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def _forward(self, x: Tensor) -> list[Tensor]:
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return [
            self.branch3x3_2(self.branch3x3_1(x)),
            self.branch7x7x3_4(seven),
            F.max_pool2d(x, kernel_size=3, stride=2),
        ]


class InceptionE(_Branches):
    """1x1, 3x3 and two of 3x3, the last as 1x3 beside 3x1, and a pooling."""

    def __init__(self, in_channels: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        flat: Options = {"kernel_size": (1, 3), "padding": (0, 1)}
        tall: Options = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, **flat)
        self.branch3x3_2b = conv(384, 384, **tall)
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, **flat)
        self.branch3x3dbl_3b = conv(384, 384, **tall)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def _forward(self, x: Tensor) -> list[Tensor]:
        single = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return [
            self.branch1x1(x),
            cat([self.branch3x3_2a(single), self.branch3x3_2b(single)], 1),
            cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1),
            self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
        ]


class InceptionAux(nn.Module):
    """A classifier in the middle of the network, which gives the early layers a gradient."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Layer | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


_BLOCKS: list[Layer] = [
    BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux,
]  # fmt: skip


class Inception3(nn.Module):
    """The network; while training with `aux_logits` it returns two logits by name."""

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: list[Layer] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        blocks = _BLOCKS if inception_blocks is None else inception_blocks
        if init_weights is None:
            _warn_of_initial_weights()
            init_weights = True
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        conv, a, b, c, d, e, auxiliary = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        for name, width in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
            setattr(self, f"Mixed_{name}", c(768, channels_7x7=width))
        self.AuxLogits = auxiliary(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                deviation = float(getattr(module, "stddev", 0.1))
                nn.init.trunc_normal_(module.weight, mean=0.0, std=deviation, a=-2, b=2)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def _transform_input(self, x: Tensor) -> Tensor:
        """Convert the usual normalisation of pictures to that of the published weights."""
        return renormalised(x) if self.transform_input else x

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(self.maxpool2(x))))
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))
        x = self.Mixed_6e(self.Mixed_6d(x))
        helper = self.AuxLogits if self.training else None
        aux = None if helper is None else helper(x)
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        return self.fc(self.dropout(self.avgpool(x)).flatten(1)), aux

    def forward(self, x: Tensor) -> Any:
        logits, aux = self._forward(self._transform_input(x))
        return InceptionOutputs(logits, aux) if self.training and self.aux_logits else logits


def _warn_of_initial_weights() -> None:
    warn_user(
        "The default weight initialization of inception_v3 will be changed in future releases of "
        "torchvision. If you wish to keep the old behavior (which leads to long initialization "
        "times due to scipy/scipy#11299), please set init_weights=True.",
        FutureWarning,
    )


class Inception_V3_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "inception_v3_google-0cc3c7bd.pth",
        27_161_264,
        (77.294, 93.450),
        least=75,
        resize=342,
        crop=299,
    )
    DEFAULT = IMAGENET1K_V1


def _of_weights(weights: WeightsEnum, options: Options) -> Callable[[Inception3], None] | None:
    """Set the options of the weights; the file has the helper, too."""
    options.setdefault("transform_input", True)
    wanted = options.pop("aux_logits", True)
    options["aux_logits"] = True
    fixed(options, "init_weights", False)
    fixed(options, "num_classes", 1000)
    return None if wanted else _without_helper


def _without_helper(model: Inception3) -> None:
    model.aux_logits = False
    model.AuxLogits = None


@builder(Inception_V3_Weights, _of_weights)
def inception_v3(**options: Any) -> Inception3:
    """Return Inception v3, for pictures of at least 75x75.

    >>> from taper.vision.models import inception_v3
    >>> inception_v3(num_classes=10, init_weights=False).fc
    Linear(in_features=2048, out_features=10, bias=True)
    """
    return Inception3(**options)
