"""The memory format of the weights of convolutions."""

from __future__ import annotations

from typing import Any, TypeVar

from taper.device import preserve_format
from taper.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from taper.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_M = TypeVar("_M", bound=Module)


def convert_conv2d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Give the weights of all two-dimensional convolutions of a tree a memory format.

    Args:
        module: the root of the tree, which is returned.
        memory_format: the format, such as `taper.channels_last`.

    Example:
        >>> import taper
        >>> from taper.nn.utils import convert_conv2d_weight_memory_format
        >>> layer = taper.nn.Conv2d(2, 3, 2)
        >>> formatted = convert_conv2d_weight_memory_format(layer, taper.channels_last)
        >>> layer.weight.stride()
        (8, 1, 4, 2)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Give the weights of all three-dimensional convolutions of a tree a memory format.

    Args:
        module: the root of the tree, which is returned.
        memory_format: the format, such as `taper.channels_last_3d`.

    Example:
        >>> import taper
        >>> layer, layout = taper.nn.Conv3d(2, 3, 2), taper.channels_last_3d
        >>> formatted = taper.nn.utils.convert_conv3d_weight_memory_format(layer, layout)
        >>> layer.weight.stride()
        (16, 1, 8, 4, 2)
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module: _M, memory_format: Any, kinds: tuple[type, ...]) -> _M:
    found: list[Any] = [each for each in module.modules() if isinstance(each, kinds)]
    for each in found:
        if memory_format is preserve_format:
            raise RuntimeError("Unsupported memory formatPreserve")
        weight = each.weight
        weight.data = weight.detach().clone(memory_format=memory_format)
    return module
