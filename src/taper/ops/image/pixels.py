"""Channels exchanged for pixels: pixel_shuffle, pixel_unshuffle, channel_shuffle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.arrays.layouts import laid_out_like
from taper.factory import refuse
from taper.opdef import LINEAR, Array, derivative, op


def _fresh(result: Array, source: Array) -> Array:
    """Lay a result out like its source, and never in the memory of that."""
    found = laid_out_like(result, source)
    return found.copy(order="K") if np.may_share_memory(found, source) else found


def _check_number(function: str, name: str, number: Any) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        refuse(function, name, 2, "int", number)


@op(tangent=LINEAR, method=False)
def pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    """Rearrange groups of channels into blocks of pixels.

    Args:
        input: a tensor (*, C · r², H, W).
        upscale_factor: r.

    Shape: (*, C, H · r, W · r).

    Example:
        >>> import taper
        >>> taper.pixel_shuffle(taper.tensor([[[1]], [[2]], [[3]], [[4]]]), 2)
        tensor([[[1, 2],
                 [3, 4]]])
    """
    _check_number("pixel_shuffle", "upscale_factor", upscale_factor)
    if self.ndim < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{self.ndim} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(
            f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}"
        )
    r = upscale_factor
    *lead, channels, height, width = self.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    rest = channels // (r * r)
    blocks = self.reshape(math.prod(lead), rest, r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
    return _fresh(blocks.reshape(*lead, rest, height * r, width * r), self)


@derivative(pixel_shuffle, wrt="self")
def pixel_shuffle_self(grad: Array, upscale_factor: int) -> Array:
    return pixel_unshuffle(grad, upscale_factor)


@op(tangent=LINEAR, method=False)
def pixel_unshuffle(self: Array, downscale_factor: int) -> Array:
    """Rearrange blocks of pixels into groups of channels: the inverse of `pixel_shuffle`.

    Args:
        input: a tensor (*, C, H · r, W · r).
        downscale_factor: r.

    Shape: (*, C · r², H, W).

    Example:
        >>> import taper
        >>> taper.pixel_unshuffle(taper.tensor([[[1, 2], [3, 4]]]), 2).shape
        torch.Size([4, 1, 1])
    """
    _check_number("pixel_unshuffle", "downscale_factor", downscale_factor)
    if self.ndim < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{self.ndim} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(
            f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}"
        )
    r = downscale_factor
    *lead, channels, height, width = self.shape
    for name, dim, length in (("height", -2, height), ("width", -1, width)):
        if length % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={length} is not divisible by {r}"
            )
    if not self.size:
        return self.copy()  # in the shape it had, as in PyTorch
    blocks = self.reshape(-1, channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
    return _fresh(blocks.reshape(*lead, channels * r * r, height // r, width // r), self)


@derivative(pixel_unshuffle, wrt="self")
def pixel_unshuffle_self(grad: Array, downscale_factor: int) -> Array:
    return pixel_shuffle(grad, downscale_factor)


@op(tangent=LINEAR, method=False)
def channel_shuffle(self: Array, groups: int) -> Array:
    """Interleave groups of channels: the first of each group, then the second of each, and so on.

    Args:
        input: a tensor (N, C, *).
        groups: number of groups, a divisor of C.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.channel_shuffle(taper.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    _check_number("channel_shuffle", "groups", groups)
    if self.ndim < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(self.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    batch, channels, *rest = self.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and "
            f"{groups} groups."
        )
    parts = self.reshape(batch, groups, channels // groups, *rest)
    return _fresh(parts.swapaxes(1, 2).reshape(self.shape), self)


@derivative(channel_shuffle, wrt="self")
def channel_shuffle_self(grad: Array, groups: int) -> Array:
    return channel_shuffle(grad, grad.shape[1] // groups)
