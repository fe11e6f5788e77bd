"""Padding: a border of a constant, of mirrored, repeated or wrapped elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


def _widths(padding: int | Sequence[int], count: int) -> tuple[Any, ...]:
    """Repeat a width for each side of each dimension; keep a sequence as it is."""
    return tuple(padding) if isinstance(padding, (list, tuple)) else (padding,) * count


class _ConstantPadNd(Module):
    _sides: int

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__()
        self.padding = _widths(padding, self._sides)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Add a border of one number to the last dimension; negative widths cut off.

    Args:
        padding: width of the border on both sides, or (left, right).
        value: the number.

    Shape: (*, L) → (*, left + L + right).

    Example:
        >>> import taper
        >>> taper.nn.ConstantPad1d(1, 5.0)(taper.tensor([[1.0, 2.0]]))
        tensor([[5., 1., 2., 5.]])
    """

    _sides = 2


class ConstantPad2d(_ConstantPadNd):
    """Add a border of one number to the last two dimensions; negative widths cut off.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom).
        value: the number.

    Shape: (*, H, W) → (*, top + H + bottom, left + W + right).

    Example:
        >>> import taper
        >>> taper.nn.ConstantPad2d((1, 0, 0, 1), 3.5)(taper.zeros(1, 2))
        tensor([[3.5000, 0.0000, 0.0000],
                [3.5000, 3.5000, 3.5000]])
    """

    _sides = 4


class ConstantPad3d(_ConstantPadNd):
    """Add a border of one number to the last three dimensions; negative widths cut off.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom, front, back).
        value: the number.

    Shape: (*, D, H, W) → (*, front + D + back, top + H + bottom, left + W + right).

    Example:
        >>> import taper
        >>> taper.nn.ConstantPad3d((1, 0, 0, 0, 0, 0), 3.5)(taper.zeros(1, 1, 2))
        tensor([[[3.5000, 0.0000, 0.0000]]])
    """

    _sides = 6


class ZeroPad1d(ConstantPad1d):
    """Add a border of zeros to the last dimension; negative widths cut off.

    Args:
        padding: width of the border on both sides, or (left, right).

    Shape: (*, L) → (*, left + L + right).

    Example:
        >>> import taper
        >>> taper.nn.ZeroPad1d((1, 2))(taper.ones(1, 2))
        tensor([[0., 1., 1., 0., 0.]])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Add a border of zeros to the last two dimensions; negative widths cut off.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom).

    Shape: (*, H, W) → (*, top + H + bottom, left + W + right).

    Example:
        >>> import taper
        >>> taper.nn.ZeroPad2d(1)(taper.ones(1, 1, 1, 1)).sum()
        tensor(1.)
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Add a border of zeros to the last three dimensions; negative widths cut off.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom, front, back).

    Shape: (*, D, H, W) → (*, front + D + back, top + H + bottom, left + W + right).

    Example:
        >>> import taper
        >>> taper.nn.ZeroPad3d(1)(taper.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _BorderNd(Module):
    _sides: int
    _mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _widths(padding, self._sides)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_BorderNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Add a border that mirrors the last dimension, without repeating the edge.

    Args:
        padding: width of the border on both sides, or (left, right); less than the length.

    Shape: (N, C, L) → (N, C, left + L + right), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.ReflectionPad1d(1)(taper.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 1., 2., 3., 2.]])
    """

    _sides = 2


class ReflectionPad2d(_ReflectionPadNd):
    """Add a border that mirrors the last two dimensions, without repeating the edges.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom); less than the
            lengths.

    Shape: (N, C, H, W) → (N, C, top + H + bottom, left + W + right), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.ReflectionPad2d((1, 1, 0, 0))(taper.arange(3.0).view(1, 1, 3))
        tensor([[[1., 0., 1., 2., 1.]]])
    """

    _sides = 4


class ReflectionPad3d(_ReflectionPadNd):
    """Add a border that mirrors the last three dimensions, without repeating the edges.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom, front, back).

    Shape:
        (N, C, D, H, W) → (N, C, front + D + back, top + H + bottom, left + W + right), or both
        without N.

    Example:
        >>> import taper
        >>> taper.nn.ReflectionPad3d(1)(taper.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    _sides = 6


class _ReplicationPadNd(_BorderNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Add a border that repeats the edge of the last dimension.

    Args:
        padding: width of the border on both sides, or (left, right).

    Shape: (N, C, L) → (N, C, left + L + right), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.ReplicationPad1d(1)(taper.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3.]])
    """

    _sides = 2


class ReplicationPad2d(_ReplicationPadNd):
    """Add a border that repeats the edges of the last two dimensions.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom).

    Shape: (N, C, H, W) → (N, C, top + H + bottom, left + W + right), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.ReplicationPad2d((1, 1, 0, 0))(taper.arange(3.0).view(1, 1, 3))
        tensor([[[0., 0., 1., 2., 2.]]])
    """

    _sides = 4


class ReplicationPad3d(_ReplicationPadNd):
    """Add a border that repeats the edges of the last three dimensions.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom, front, back).

    Shape:
        (N, C, D, H, W) → (N, C, front + D + back, top + H + bottom, left + W + right), or both
        without N.

    Example:
        >>> import taper
        >>> taper.nn.ReplicationPad3d(1)(taper.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    _sides = 6


class _CircularPadNd(_BorderNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        rank = self._sides // 2
        if input.dim() not in (rank + 1, rank + 2):
            raise ValueError(
                f"expected {rank + 1}D or {rank + 2}D input (got {input.dim()}D input)"
            )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Add a border that continues with the opposite end of the last dimension.

    Args:
        padding: width of the border on both sides, or (left, right); at most the length.

    Shape: (N, C, L) → (N, C, left + L + right), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.CircularPad1d(1)(taper.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """

    _sides = 2


class CircularPad2d(_CircularPadNd):
    """Add a border that continues with the opposite ends of the last two dimensions.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom); at most the
            lengths.

    Shape: (N, C, H, W) → (N, C, top + H + bottom, left + W + right), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.CircularPad2d((1, 1, 0, 0))(taper.arange(3.0).view(1, 1, 3))
        tensor([[[2., 0., 1., 2., 0.]]])
    """

    _sides = 4


class CircularPad3d(_CircularPadNd):
    """Add a border that continues with the opposite ends of the last three dimensions.

    Args:
        padding: width of the border on all sides, or (left, right, top, bottom, front, back).

    Shape:
        (N, C, D, H, W) → (N, C, front + D + back, top + H + bottom, left + W + right), or both
        without N.

    Example:
        >>> import taper
        >>> taper.nn.CircularPad3d(1)(taper.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    _sides = 6
