"""Residual networks: ResNet, ResNeXt and Wide ResNet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper import nn
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum, builder, imagenet
from taper.vision.models._utils import fixed

__all__ = [
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNeXt50_32X4D_Weights",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "Wide_ResNet50_2_Weights",
    "Wide_ResNet101_2_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


Layer = Callable[..., nn.Module]


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """Return a convolution of 3x3 that keeps the size at stride 1."""
    places: dict[str, Any] = {"stride": stride, "padding": dilation, "dilation": dilation}
    return nn.Conv2d(in_planes, out_planes, 3, groups=groups, bias=False, **places)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution that mixes channels only."""
    return nn.Conv2d(in_planes, out_planes, 1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions of 3x3, added to the input."""

    expansion: int = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """Convolutions of 1x1, 3x3 and 1x1, added to the input; the middle one has the stride."""

    expansion: int = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A residual network of four groups of blocks.

    >>> import taper
    >>> from taper.vision.models.resnet import BasicBlock, ResNet
    >>> model = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5)
    >>> model(taper.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self._norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        self.inplanes = 64
        self.dilation = 1
        dilate = replace_stride_with_dilation
        if dilate is None:
            dilate = [False, False, False]
        if len(dilate) != 3:
            raise ValueError(
                "replace_stride_with_dilation should be None "
                f"or a 3-element tuple, got {replace_stride_with_dilation}"
            )
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:  # each block then starts as the identity
            for module in self.modules():
                if isinstance(module, BasicBlock | Bottleneck):
                    last = module.bn2 if isinstance(module, BasicBlock) else module.bn3
                    if last.weight is not None:
                        nn.init.constant_(last.weight, 0)

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        norm, before = self._norm_layer, self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            shortcut = conv1x1(self.inplanes, planes * block.expansion, stride)
            downsample = nn.Sequential(shortcut, norm(planes * block.expansion))
        shared = (self.groups, self.base_width)
        made = [block(self.inplanes, planes, stride, downsample, *shared, before, norm)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            made.append(block(self.inplanes, planes, 1, None, *shared, self.dilation, norm))
        return nn.Sequential(*made)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


class ResNet18_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet18-f37072fd.pth", 11_689_512, (69.758, 89.078))
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet34-b627a593.pth", 21_797_672, (73.314, 91.42))
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet50-0676ba61.pth", 25_557_032, (76.13, 92.862))
    IMAGENET1K_V2 = imagenet("resnet50-11ad3fa6.pth", 25_557_032, (80.858, 95.434), resize=232)
    DEFAULT = IMAGENET1K_V2


class ResNet101_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet101-63fe2227.pth", 44_549_160, (77.374, 93.546))
    IMAGENET1K_V2 = imagenet("resnet101-cd907fc2.pth", 44_549_160, (81.886, 95.78), resize=232)
    DEFAULT = IMAGENET1K_V2


class ResNet152_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnet152-394f9c45.pth", 60_192_808, (78.312, 94.046))
    IMAGENET1K_V2 = imagenet("resnet152-f82ba261.pth", 60_192_808, (82.284, 96.002), resize=232)
    DEFAULT = IMAGENET1K_V2


class ResNeXt50_32X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnext50_32x4d-7cdf4587.pth", 25_028_904, (77.618, 93.698))
    IMAGENET1K_V2 = imagenet(
        "resnext50_32x4d-1a0047aa.pth", 25_028_904, (81.198, 95.34), resize=232
    )
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_32X8D_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("resnext101_32x8d-8ba56ff5.pth", 88_791_336, (79.312, 94.526))
    IMAGENET1K_V2 = imagenet(
        "resnext101_32x8d-110c445d.pth", 88_791_336, (82.834, 96.228), resize=232
    )
    DEFAULT = IMAGENET1K_V2


class ResNeXt101_64X4D_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "resnext101_64x4d-173b62eb.pth", 83_455_272, (83.246, 96.454), resize=232
    )
    DEFAULT = IMAGENET1K_V1


class Wide_ResNet50_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("wide_resnet50_2-95faca4d.pth", 68_883_240, (78.468, 94.086))
    IMAGENET1K_V2 = imagenet(
        "wide_resnet50_2-9ba9bcbe.pth", 68_883_240, (81.602, 95.758), resize=232
    )
    DEFAULT = IMAGENET1K_V2


class Wide_ResNet101_2_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("wide_resnet101_2-32ee1156.pth", 126_886_696, (78.848, 94.284))
    IMAGENET1K_V2 = imagenet(
        "wide_resnet101_2-d733dc28.pth", 126_886_696, (82.51, 96.02), resize=232
    )
    DEFAULT = IMAGENET1K_V2


def _resnext(options: dict[str, Any], groups: int, width: int) -> dict[str, Any]:
    fixed(options, "groups", groups)
    fixed(options, "width_per_group", width)
    return options


@builder(ResNet18_Weights)
def resnet18(**options: Any) -> ResNet:
    """Return a residual network of 18 layers.

    >>> import taper
    >>> from taper.vision.models import resnet18
    >>> resnet18(num_classes=10).fc
    Linear(in_features=512, out_features=10, bias=True)
    """
    return ResNet(BasicBlock, [2, 2, 2, 2], **options)


@builder(ResNet34_Weights)
def resnet34(**options: Any) -> ResNet:
    """Return a residual network of 34 layers."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **options)


@builder(ResNet50_Weights)
def resnet50(**options: Any) -> ResNet:
    """Return a residual network of 50 layers."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **options)


@builder(ResNet101_Weights)
def resnet101(**options: Any) -> ResNet:
    """Return a residual network of 101 layers."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **options)


@builder(ResNet152_Weights)
def resnet152(**options: Any) -> ResNet:
    """Return a residual network of 152 layers."""
    return ResNet(Bottleneck, [3, 8, 36, 3], **options)


@builder(ResNeXt50_32X4D_Weights)
def resnext50_32x4d(**options: Any) -> ResNet:
    """Return ResNeXt with 50 layers in 32 groups of 4 channels."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **_resnext(options, 32, 4))


@builder(ResNeXt101_32X8D_Weights)
def resnext101_32x8d(**options: Any) -> ResNet:
    """Return ResNeXt with 101 layers in 32 groups of 8 channels."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **_resnext(options, 32, 8))


@builder(ResNeXt101_64X4D_Weights)
def resnext101_64x4d(**options: Any) -> ResNet:
    """Return ResNeXt with 101 layers in 64 groups of 4 channels."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **_resnext(options, 64, 4))


@builder(Wide_ResNet50_2_Weights)
def wide_resnet50_2(**options: Any) -> ResNet:
    """Return a ResNet of 50 layers whose inner layers are twice as wide."""
    fixed(options, "width_per_group", 128)
    return ResNet(Bottleneck, [3, 4, 6, 3], **options)


@builder(Wide_ResNet101_2_Weights)
def wide_resnet101_2(**options: Any) -> ResNet:
    """Return a ResNet of 101 layers whose inner layers are twice as wide."""
    fixed(options, "width_per_group", 128)
    return ResNet(Bottleneck, [3, 4, 23, 3], **options)
