"""GoogLeNet: convolutions of several sizes side by side, and helpers for the gradient."""

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

__all__ = [
    "GoogLeNet",
    "GoogLeNetOutputs",
    "_GoogLeNetOutputs",
    "GoogLeNet_Weights",
    "googlenet",
]


Layer = Callable[..., nn.Module]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
_GoogLeNetOutputs = GoogLeNetOutputs

# Inputs, and the widths in the branches.
INCEPTIONS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class BasicConv2d(nn.Module):
    """A convolution, batch normalisation and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches side by side: 1x1, two of 3x3, and a pooling."""

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Layer | None = None,
    ) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1),
            conv(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        # The paper has 5x5 here; the published weights were trained with 3x3.
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1),
            conv(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1),
        )

    def _forward(self, x: Tensor) -> list[Tensor]:
        return [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]

    def forward(self, x: Tensor) -> Tensor:
        return cat(self._forward(x), 1)


class InceptionAux(nn.Module):
    """A classifier in the middle of the network, which gives the early layers a gradient."""

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        conv_block: Layer | None = None,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        conv = BasicConv2d if conv_block is None else conv_block
        self.conv = conv(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


def _warn_of_initial_weights() -> None:
    warn_user(
        "The default weight initialization of GoogleNet will be changed in future releases of "
        "torchvision. If you wish to keep the old behavior (which leads to long initialization "
        "times due to scipy/scipy#11299), please set init_weights=True.",
        FutureWarning,
    )


class GoogLeNet(nn.Module):
    """The network; while training with `aux_logits` it returns three logits by name."""

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: list[Layer] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        if blocks is None:
            blocks = [BasicConv2d, Inception, InceptionAux]
        if init_weights is None:
            _warn_of_initial_weights()
            init_weights = True
        if len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        conv, inception, auxiliary = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, widths in INCEPTIONS.items():
            if name == "4a":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            if name == "5a":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
            setattr(self, f"inception{name}", inception(*widths))
        for name, width in (("aux1", 512), ("aux2", 528)):
            made = auxiliary(width, num_classes, dropout=dropout_aux) if aux_logits else None
            setattr(self, name, made)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights:
            self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(module.weight, mean=0.0, std=0.01, a=-2, b=2)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def _transform_input(self, x: Tensor) -> Tensor:
        """Convert the usual normalisation of pictures to that of the published weights."""
        return renormalised(x) if self.transform_input else x

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        helped = self.training and self.aux1 is not None
        aux1 = self.aux1(x) if helped else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if helped else None
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        x = self.avgpool(x).flatten(1)
        return self.fc(self.dropout(x)), aux2, aux1

    def forward(self, x: Tensor) -> Any:
        logits, aux2, aux1 = self._forward(self._transform_input(x))
        if self.training and self.aux_logits:
            return GoogLeNetOutputs(logits, aux2, aux1)
        return logits


class GoogLeNet_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("googlenet-1378be20.pth", 6_624_904, (69.778, 89.53), least=15)
    DEFAULT = IMAGENET1K_V1


def _of_weights(weights: WeightsEnum, options: Options) -> Callable[[GoogLeNet], None]:
    """Set the options of the weights; the file has the helpers, too, but untrained."""
    options.setdefault("transform_input", True)
    wanted = options.get("aux_logits", False)
    fixed(options, "aux_logits", True)
    fixed(options, "init_weights", False)
    fixed(options, "num_classes", 1000)
    return _warn_of_helpers if wanted else _without_helpers


def _without_helpers(model: GoogLeNet) -> None:
    model.aux_logits = False
    model.aux1 = model.aux2 = None


def _warn_of_helpers(model: GoogLeNet) -> None:
    warn_user(
        "auxiliary heads in the pretrained googlenet model are NOT pretrained, so make sure to "
        "train them"
    )


@builder(GoogLeNet_Weights, _of_weights)
def googlenet(**options: Any) -> GoogLeNet:
    """Return GoogLeNet."""
    return GoogLeNet(**options)
