"""Channels exchanged for pixels: PixelShuffle, PixelUnshuffle, ChannelShuffle."""

from __future__ import annotations

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class PixelShuffle(Module):
    """Arrange groups of r² channels as blocks of r by r pixels.

        y[c, h·r + i, w·r + j] = x[c·r² + i·r + j, h, w]

    Args:
        upscale_factor: r.

    Shape: (*, C r², H, W) → (*, C, H r, W r).

    Example:
        >>> import taper
        >>> taper.nn.PixelShuffle(2)(taper.ones(1, 8, 3, 3)).shape
        torch.Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Arrange blocks of r by r pixels as groups of r² channels: the inverse of `PixelShuffle`.

        y[c·r² + i·r + j, h, w] = x[c, h·r + i, w·r + j]

    Args:
        downscale_factor: r.

    Shape: (*, C, H r, W r) → (*, C r², H, W).

    Example:
        >>> import taper
        >>> taper.nn.PixelUnshuffle(2)(taper.ones(1, 2, 6, 6)).shape
        torch.Size([1, 8, 3, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleave groups of channels: the first of each group, then the second of each, ...

        y[i·groups + g] = x[g·n + i], n = C / groups

    Args:
        groups: how many groups there are; a divisor of C.

    Shape: (N, C, *) → the same.

    Example:
        >>> import taper
        >>> taper.nn.ChannelShuffle(2)(taper.arange(4.0).reshape(1, 4, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
