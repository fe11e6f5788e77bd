"""Residual networks for sequences of pictures: R3D, MC3 and R(2+1)D."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import URL, Meta, Options, Weights, WeightsEnum, builder
from taper.vision.models._utils import fixed

__all__ = [
    "VideoResNet",
    "R3D_18_Weights",
    "MC3_18_Weights",
    "R2Plus1D_18_Weights",
    "r3d_18",
    "mc3_18",
    "r2plus1d_18",
]

Layer = Callable[..., nn.Module]


class Conv3DSimple(nn.Conv3d):
    """A convolution over time and place."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int | None = None,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        super().__init__(in_planes, out_planes, 3, stride=stride, padding=padding, bias=False)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """Return the stride of the projection beside it."""
        return stride, stride, stride


class Conv2Plus1D(nn.Sequential):
    """A convolution over place, then one over time."""

    def __init__(
        self, in_planes: int, out_planes: int, midplanes: int, stride: int = 1, padding: int = 1
    ) -> None:
        place: dict[str, Any] = {"stride": (1, stride, stride), "padding": (0, padding, padding)}
        time: dict[str, Any] = {"stride": (stride, 1, 1), "padding": (padding, 0, 0)}
        super().__init__(
            nn.Conv3d(in_planes, midplanes, (1, 3, 3), bias=False, **place),
            nn.BatchNorm3d(midplanes),
            nn.ReLU(inplace=True),
            nn.Conv3d(midplanes, out_planes, (3, 1, 1), bias=False, **time),
        )

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """Return the stride of the projection beside it."""
        return stride, stride, stride


class Conv3DNoTemporal(nn.Conv3d):
    """A convolution over place only."""

    def __init__(
        self,
        in_planes: int,
        out_planes: int,
        midplanes: int | None = None,
        stride: int = 1,
        padding: int = 1,
    ) -> None:
        places: dict[str, Any] = {"stride": (1, stride, stride), "padding": (0, padding, padding)}
        super().__init__(in_planes, out_planes, (1, 3, 3), bias=False, **places)

    @staticmethod
    def get_downsample_stride(stride: int) -> tuple[int, int, int]:
        """Return the stride of the projection beside it."""
        return 1, stride, stride


def _between(inplanes: int, planes: int) -> int:
    """Return the channels between two convolutions that have as many weights as one of 3x3x3."""
    return inplanes * planes * 27 // (inplanes * 9 + 3 * planes)


class BasicBlock(nn.Module):
    """Two convolutions, added to the input."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Layer,
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        width = _between(inplanes, planes)
        super().__init__()
        self.conv1 = nn.Sequential(
            conv_builder(inplanes, planes, width, stride),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        self.conv2 = nn.Sequential(conv_builder(planes, planes, width), nn.BatchNorm3d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.conv2(self.conv1(x))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """Narrow, convolve, widen, added to the input."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        conv_builder: Layer,
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        super().__init__()
        width = _between(inplanes, planes)
        self.conv1 = nn.Sequential(
            nn.Conv3d(inplanes, planes, 1, bias=False),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        self.conv2 = nn.Sequential(
            conv_builder(planes, planes, width, stride),
            nn.BatchNorm3d(planes),
            nn.ReLU(inplace=True),
        )
        wide = planes * self.expansion
        self.conv3 = nn.Sequential(nn.Conv3d(planes, wide, 1, bias=False), nn.BatchNorm3d(wide))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.conv3(self.conv2(self.conv1(x)))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class BasicStem(nn.Sequential):
    """The first convolution, over time and place."""

    def __init__(self) -> None:
        places: dict[str, Any] = {"stride": (1, 2, 2), "padding": (1, 3, 3), "bias": False}
        super().__init__(
            nn.Conv3d(3, 64, kernel_size=(3, 7, 7), **places),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class R2Plus1dStem(nn.Sequential):
    """The first convolutions: over place, then over time."""

    def __init__(self) -> None:
        place: dict[str, Any] = {"stride": (1, 2, 2), "padding": (0, 3, 3), "bias": False}
        time: dict[str, Any] = {"stride": (1, 1, 1), "padding": (1, 0, 0), "bias": False}
        super().__init__(
            nn.Conv3d(3, 45, kernel_size=(1, 7, 7), **place),
            nn.BatchNorm3d(45),
            nn.ReLU(inplace=True),
            nn.Conv3d(45, 64, kernel_size=(3, 1, 1), **time),
            nn.BatchNorm3d(64),
            nn.ReLU(inplace=True),
        )


class VideoResNet(nn.Module):
    """A residual network for sequences of pictures.

    >>> import taper
    >>> from taper.vision.models.video.resnet import *
    >>> from taper.vision.models.video.resnet import BasicBlock, BasicStem, Conv3DNoTemporal
    >>> model = VideoResNet(BasicBlock, [Conv3DNoTemporal] * 4, [1, 1, 1, 1], BasicStem, 3)
    >>> model(taper.zeros(1, 3, 2, 16, 16)).shape
    torch.Size([1, 3])
    """

    def __init__(
        self,
        block: Any,
        conv_makers: Sequence[Any],
        layers: list[int],
        stem: Layer,
        num_classes: int = 400,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.stem = stem()
        self.layer1 = self._make_layer(block, conv_makers[0], 64, layers[0], stride=1)
        self.layer2 = self._make_layer(block, conv_makers[1], 128, layers[1], stride=2)
        self.layer3 = self._make_layer(block, conv_makers[2], 256, layers[2], stride=2)
        self.layer4 = self._make_layer(block, conv_makers[3], 512, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv3d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.BatchNorm3d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, Bottleneck):
                    nn.init.constant_(module.conv3[1].weight, 0)

    def _make_layer(
        self, block: Any, conv_builder: Any, planes: int, blocks: int, stride: int = 1
    ) -> nn.Sequential:
        downsample = None
        wide = planes * block.expansion
        if stride != 1 or self.inplanes != wide:
            apart = conv_builder.get_downsample_stride(stride)
            downsample = nn.Sequential(
                nn.Conv3d(self.inplanes, wide, kernel_size=1, stride=apart, bias=False),
                nn.BatchNorm3d(wide),
            )
        layers = [block(self.inplanes, planes, conv_builder, stride, downsample)]
        self.inplanes = wide
        layers += [block(wide, planes, conv_builder) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def _kinetics(file: str, num_params: int, accuracy: tuple[float, float]) -> Weights:
    """Return weights trained on Kinetics: top-1 and top-5 accuracy."""
    metrics = {"Kinetics-400": {"acc@1": accuracy[0], "acc@5": accuracy[1]}}
    meta = Meta(num_params=num_params, min_size=(1, 1), _metrics=metrics)
    sizes = {"crop_size": (112, 112), "resize_size": (128, 171)}
    return Weights(URL + file, functools.partial(_classification, **sizes), meta)


def _classification(**settings: Any) -> Any:
    # late: it loads all of transforms
    from taper.vision.models.presets import VideoClassification

    return VideoClassification(**settings)


def _class_count(weights: WeightsEnum, options: Options) -> None:
    fixed(options, "num_classes", 400)


class R3D_18_Weights(WeightsEnum):
    KINETICS400_V1 = _kinetics("r3d_18-b3b3357e.pth", 33_371_472, (63.2, 83.479))
    DEFAULT = KINETICS400_V1


class MC3_18_Weights(WeightsEnum):
    KINETICS400_V1 = _kinetics("mc3_18-a90a0ba3.pth", 11_695_440, (63.96, 84.13))
    DEFAULT = KINETICS400_V1


class R2Plus1D_18_Weights(WeightsEnum):
    KINETICS400_V1 = _kinetics("r2plus1d_18-91a641e6.pth", 31_505_325, (67.463, 86.175))
    DEFAULT = KINETICS400_V1


@builder(R3D_18_Weights, _class_count)
def r3d_18(**options: Any) -> VideoResNet:
    """Return the network of 18 layers that convolves over time everywhere."""
    return VideoResNet(BasicBlock, [Conv3DSimple] * 4, [2, 2, 2, 2], BasicStem, **options)


@builder(MC3_18_Weights, _class_count)
def mc3_18(**options: Any) -> VideoResNet:
    """Return the network of 18 layers that convolves over time in its first layers only."""
    makers = [Conv3DSimple, *[Conv3DNoTemporal] * 3]
    return VideoResNet(BasicBlock, makers, [2, 2, 2, 2], BasicStem, **options)


@builder(R2Plus1D_18_Weights, _class_count)
def r2plus1d_18(**options: Any) -> VideoResNet:
    """Return the network of 18 layers that convolves over place and over time in turn."""
    return VideoResNet(BasicBlock, [Conv2Plus1D] * 4, [2, 2, 2, 2], R2Plus1dStem, **options)
