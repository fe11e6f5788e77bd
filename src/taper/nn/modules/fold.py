"""Layers that take windows of images apart and put them together: Unfold, Fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class Fold(Module):
    """Add columns up as windows of images: the transpose of `Unfold`.

    Args:
        output_size: height and width of the images.
        kernel_size: size of the window; this and the others are a number, or one for each
            dimension.
        dilation: distance between neighbouring elements of the window.
        padding: width of the border that `Unfold` added, and that is cut off here.
        stride: step of the window.

    Shape:
        (N, C Π kernel_size, L) → (N, C, *output_size), or both without N; L, the number of
        windows, as in `Unfold`.

    Example:
        >>> import taper
        >>> taper.nn.Fold((2, 3), kernel_size=2)(taper.ones(1, 4, 2))
        tensor([[[[1., 2., 1.],
                  [1., 2., 1.]]]])
    """

    __constants__ = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        settings = (self.kernel_size, self.dilation, self.padding, self.stride)
        return F.fold(input, self.output_size, *settings)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class Unfold(Module):
    """Cut the windows out of images; each becomes a column.

    Args:
        kernel_size: size of the window; this and the others are a number, or one for each
            dimension.
        dilation: distance between neighbouring elements of the window.
        padding: width of a border of zeros on each side.
        stride: step of the window.

    Shape:
        (N, C, H, W) → (N, C Π kernel_size, L), or both without N; L, the number of windows, is Π
        over both dimensions of ⌊(size + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1.

    Example:
        >>> import taper
        >>> taper.nn.Unfold((2, 3))(taper.ones(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)
