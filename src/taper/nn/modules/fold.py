"""Layers that take windows of images apart and put them together: Unfold, Fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class Fold(Module):
    """Columns added up as windows of an image of `output_size`.

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
    """The windows of an image, each a column.

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
