"""Places of pixels, what is seen there, and flows at full size."""

from __future__ import annotations

from typing import Any

from taper.nn import functional as F
from taper.ops.creation.ranges import arange
from taper.ops.shape.join import meshgrid
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor


def grid_sample(
    img: Tensor, absolute_grid: Tensor, mode: str = "bilinear", align_corners: bool | None = None
) -> Tensor:
    """Return what pictures show at places that are counted in pixels."""
    height, width = img.shape[-2:]
    x, y = absolute_grid.split([1, 1], dim=-1)
    x = 2 * x / (width - 1) - 1
    if height > 1:
        y = 2 * y / (height - 1) - 1
    return F.grid_sample(img, cat([x, y], dim=-1), mode=mode, align_corners=align_corners)


def make_coords_grid(batch_size: int, h: int, w: int, device: Any = "cpu") -> Tensor:
    """Return the place of each pixel, (batch, 2, height, width)."""
    rows, columns = meshgrid(arange(h, device=device), arange(w, device=device), indexing="ij")
    return stack([columns, rows], dim=0).float()[None].repeat(batch_size, 1, 1, 1)


def upsample_flow(flow: Tensor, up_mask: Tensor | None = None, factor: int = 8) -> Tensor:
    """Return a flow at full size: between its places, or by learned weights of nine of them."""
    batch, channels, height, width = flow.shape
    size = (height * factor, width * factor)
    if up_mask is None:
        return factor * F.interpolate(flow, size=size, mode="bilinear", align_corners=True)
    weights = up_mask.view(batch, 1, 9, factor, factor, height, width).softmax(dim=2)
    near = F.unfold(factor * flow, kernel_size=3, padding=1)
    near = near.view(batch, channels, 9, 1, 1, height, width)
    whole = (weights * near).sum(dim=2).permute(0, 1, 4, 2, 5, 3)
    return whole.reshape(batch, channels, *size)
