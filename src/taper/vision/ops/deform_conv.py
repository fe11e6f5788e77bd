"""Convolution whose taps look at places that a tensor says."""

from __future__ import annotations

import math
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.ops.creation.filled import empty
from taper.ops.creation.ranges import arange
from taper.ops.shape.split import stack
from taper.tensor import Tensor
from taper.vision.ops._regions import pair


def _places(offset: Tensor, groups: int, taps: tuple[int, int], where: dict[str, Any]) -> Any:
    """Return (batch and group, tap, row, column) places, vertical and horizontal, of all taps."""
    batch, _, rows, columns = offset.shape
    moved = offset.reshape(batch * groups, taps[0] * taps[1], 2, rows, columns)
    places = []
    for nr, (count, taps_here) in enumerate(zip((rows, columns), taps, strict=True)):
        options: dict[str, Any] = {"dtype": offset.dtype, "device": offset.device}
        start = arange(count, **options) * where["stride"][nr] - where["padding"][nr]
        tap = arange(taps_here, **options) * where["dilation"][nr]
        if nr == 0:
            base = tap.repeat_interleave(taps[1]).reshape(-1, 1, 1) + start.reshape(1, -1, 1)
        else:
            base = tap.repeat(taps[0]).reshape(-1, 1, 1) + start.reshape(1, 1, -1)
        places.append(moved[:, :, nr] + base)
    return places


def _check(input: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None) -> tuple[int, int]:
    taps = weight.shape[-2] * weight.shape[-1]
    offset_groups = offset.shape[1] // (2 * taps)
    if offset_groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple "
            "of 2 * weight.size[2] * weight.size[3].\n"
            f"Got offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * weight.size[3]="
            f"{2 * taps}"
        )
    if mask is not None and mask.shape[1] != offset_groups * taps:
        raise RuntimeError(
            f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {offset_groups * taps}"
        )
    return offset_groups, input.shape[1] // weight.shape[1]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = (1, 1),
    padding: int | tuple[int, int] = (0, 0),
    dilation: int | tuple[int, int] = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """Convolve pictures, where each tap looks beside its place: version 1, or 2 with a mask.

    Args:
        input: pictures, (N, C, H, W).
        offset: how far each tap of each group is moved, vertically and horizontally, for each
            place of the result: (N, 2 * groups * taps, rows, columns).
        weight: (channels of the result, C by groups of weights, rows, columns).
        bias: a number for each channel of the result.
        stride: the distance of the places.
        padding: zeros around the pictures.
        dilation: the distance of the taps.
        mask: a factor for each tap, (N, groups * taps, rows, columns).

    >>> import taper
    >>> from taper.vision.ops import deform_conv2d
    >>> x, offset = taper.arange(9.0).reshape(1, 1, 3, 3), taper.full((1, 2, 2, 2), 0.5)
    >>> deform_conv2d(x, offset, taper.ones(1, 1, 1, 1), stride=2, padding=0)
    tensor([[[[2.0000, 1.7500],
              [3.2500, 2.0000]]]])
    """
    offset_groups, groups = _check(input, offset, weight, mask)
    batch, _, height, width = input.shape
    rows, columns = offset.shape[-2:]
    taps = (weight.shape[2], weight.shape[3])
    where = {"stride": pair(stride), "padding": pair(padding), "dilation": pair(dilation)}
    y, x = _places(offset, offset_groups, taps, where)
    # grid_sample counts from -1 to 1 between the outer edges of the picture.
    grid = stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], dim=-1)
    grid = grid.reshape(batch * offset_groups, -1, columns, 2)
    pictures = input.reshape(batch * offset_groups, -1, height, width)
    seen = F.grid_sample(pictures, grid, mode="bilinear", align_corners=False)
    seen = seen.reshape(batch, offset_groups, -1, taps[0] * taps[1], rows, columns)
    if mask is not None:
        seen = seen * mask.reshape(batch, offset_groups, 1, -1, rows, columns)
    seen = seen.reshape(batch, groups, -1, rows * columns)
    result = (weight.reshape(groups, weight.shape[0] // groups, -1) @ seen).reshape(
        batch, -1, rows, columns
    )
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


class DeformConv2d(nn.Module):
    """Do `deform_conv2d` with weights of its own.

    >>> import taper
    >>> from taper.vision.ops import DeformConv2d
    >>> layer = DeformConv2d(3, 4, 3, padding=1)
    >>> layer(taper.ones(1, 3, 5, 5), taper.zeros(1, 18, 5, 5)).shape
    torch.Size([1, 4, 5, 5])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.padding = pair(padding)
        self.dilation = pair(dilation)
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = nn.Parameter(empty(shape))
        if bias:
            self.bias = nn.Parameter(empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight[0].numel()
            bound = 1 / math.sqrt(fan_in)
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        places = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation}
        return deform_conv2d(input, offset, self.weight, self.bias, **places, mask=mask)

    def __repr__(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}", f"kernel_size={self.kernel_size}"]
        shown.append(f"stride={self.stride}")
        usual = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        shown += [
            f"{name}={getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        ]
        if self.bias is None:
            shown.append("bias=False")
        return f"{type(self).__name__}({', '.join(shown)})"
