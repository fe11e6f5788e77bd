"""ShuffleNet V2: half of the channels pass by each block, and channels are mixed after it."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum, builder, imagenet

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Take channels from each group in turn.

    >>> import taper
    >>> from taper.vision.models.shufflenetv2 import channel_shuffle
    >>> channel_shuffle(taper.arange(4.0).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    count, channels, height, width = x.size()
    grouped = x.view(count, groups, channels // groups, height, width).transpose(1, 2)
    return grouped.contiguous().view(count, channels, height, width)


def _pointwise(inputs: int, outputs: int) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, 1, bias=False)
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]


class InvertedResidual(nn.Module):
    """Two branches, one of them empty unless the block makes the picture smaller."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        self.stride = stride
        width = oup // 2
        if stride == 1 and inp != width << 1:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If "
                "stride == 1 then inp should be equal to oup // 2 << 1."
            )
        shrinking = stride > 1
        self.branch1 = nn.Sequential()
        if shrinking:
            depthwise = self.depthwise_conv(inp, inp, 3, stride, 1)
            self.branch1 = nn.Sequential(depthwise, nn.BatchNorm2d(inp), *_pointwise(inp, width))
        self.branch2 = nn.Sequential(
            *_pointwise(inp if shrinking else width, width),
            self.depthwise_conv(width, width, 3, stride, 1),
            nn.BatchNorm2d(width),
            *_pointwise(width, width),
        )

    @staticmethod
    def depthwise_conv(
        i: int, o: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ) -> nn.Conv2d:
        """Return a convolution of each channel alone."""
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            passing, rest = x.chunk(2, dim=1)
        else:
            passing, rest = self.branch1(x), x
        return channel_shuffle(cat((passing, self.branch2(rest)), dim=1), 2)


class ShuffleNetV2(nn.Module):
    """A network for small devices.

    `stages_repeats` counts the blocks of three stages; `stages_out_channels` has the channels after
    the first convolution, each stage and the last convolution.
    """

    def __init__(
        self,
        stages_repeats: list[int],
        stages_out_channels: list[int],
        num_classes: int = 1000,
        inverted_residual: type[nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        channels, *widths, last = stages_out_channels
        first = nn.Conv2d(3, channels, 3, 2, 1, bias=False)
        self.conv1 = nn.Sequential(first, nn.BatchNorm2d(channels), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for nr, (count, width) in enumerate(zip(stages_repeats, widths, strict=True), 2):
            blocks = [inverted_residual(channels, width, 2)]
            blocks += [inverted_residual(width, width, 1) for _ in range(count - 1)]
            setattr(self, f"stage{nr}", nn.Sequential(*blocks))
            channels = width
        self.conv5 = nn.Sequential(*_pointwise(channels, last))
        self.fc = nn.Linear(last, num_classes)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


class ShuffleNet_V2_X0_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("shufflenetv2_x0.5-f707e7126e.pth", 1_366_792, (60.552, 81.746))
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("shufflenetv2_x1-5666bf0f80.pth", 2_278_604, (69.362, 88.316))
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X1_5_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "shufflenetv2_x1_5-3c479a10.pth", 3_503_624, (72.996, 91.086), resize=232
    )
    DEFAULT = IMAGENET1K_V1


class ShuffleNet_V2_X2_0_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet(
        "shufflenetv2_x2_0-8be3c8ee.pth", 7_393_996, (76.230, 93.006), resize=232
    )
    DEFAULT = IMAGENET1K_V1


@builder(ShuffleNet_V2_X0_5_Weights)
def shufflenet_v2_x0_5(**options: Any) -> ShuffleNetV2:
    """Return ShuffleNet V2 with half of the channels.

    >>> from taper.vision.models import shufflenet_v2_x0_5
    >>> shufflenet_v2_x0_5(num_classes=10).fc
    Linear(in_features=1024, out_features=10, bias=True)
    """
    return ShuffleNetV2([4, 8, 4], [24, 48, 96, 192, 1024], **options)


@builder(ShuffleNet_V2_X1_0_Weights)
def shufflenet_v2_x1_0(**options: Any) -> ShuffleNetV2:
    """Return ShuffleNet V2."""
    return ShuffleNetV2([4, 8, 4], [24, 116, 232, 464, 1024], **options)


@builder(ShuffleNet_V2_X1_5_Weights)
def shufflenet_v2_x1_5(**options: Any) -> ShuffleNetV2:
    """Return ShuffleNet V2 with one and a half times the channels."""
    return ShuffleNetV2([4, 8, 4], [24, 176, 352, 704, 1024], **options)


@builder(ShuffleNet_V2_X2_0_Weights)
def shufflenet_v2_x2_0(**options: Any) -> ShuffleNetV2:
    """Return ShuffleNet V2 with twice the channels."""
    return ShuffleNetV2([4, 8, 4], [24, 244, 488, 976, 2048], **options)
