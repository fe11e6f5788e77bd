"""Pictures made larger or smaller: Upsample and its two older forms."""

from __future__ import annotations

from typing import Any

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class Upsample(Module):
    """Resize sequences, images or volumes; see `F.interpolate`.

    Args:
        size: the size to make: a number, or one for each dimension.
        scale_factor: the factor to resize by, instead of `size`.
        mode: "nearest", "nearest-exact", "area", "linear" (sequences), "bilinear", "bicubic"
            (images) or "trilinear" (volumes).
        align_corners: whether the centres of the corner elements stay where they are; only for the
            linear and cubic modes.
        recompute_scale_factor: whether to interpolate with the factor that the rounded sizes give.

    Shape:
        (N, C, L), (N, C, H, W) or (N, C, D, H, W) → (N, C, *size), size = ⌊input size ·
        scale_factor⌋.

    Example:
        >>> import taper
        >>> taper.nn.Upsample(scale_factor=2)(taper.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images by copying the nearest element; deprecated in favour of `Upsample`.

    Args:
        size: height and width to make.
        scale_factor: the factor to resize by, instead of `size`.

    Shape: (N, C, H, W) → (N, C, *size), size = ⌊input size · scale_factor⌋.

    Example:
        >>> import taper
        >>> taper.nn.UpsamplingNearest2d(scale_factor=2)(taper.tensor([[[[0.0, 3.0]]]]))
        tensor([[[[0., 0., 3., 3.],
                  [0., 0., 3., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images linearly with aligned corners; deprecated in favour of `Upsample`.

    Args:
        size: height and width to make.
        scale_factor: the factor to resize by, instead of `size`.

    Shape: (N, C, H, W) → (N, C, *size), size = ⌊input size · scale_factor⌋.

    Example:
        >>> import taper
        >>> taper.nn.UpsamplingBilinear2d(scale_factor=2)(taper.tensor([[[[0.0, 3.0]]]]))
        tensor([[[[0., 1., 2., 3.],
                  [0., 1., 2., 3.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
