"""Pooling: the largest or the average element of windows, adaptive and fractional forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


def _repeated(value: Any, count: int) -> tuple[Any, ...]:
    """One number for each dimension."""
    return tuple(value) if isinstance(value, list | tuple) else (value,) * count


# --- the largest element ---------------------------------------------------------------------


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _settings(self) -> tuple[Any, ...]:
        return (
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element in each window of the last dimension.

    >>> import taper
    >>> taper.nn.MaxPool1d(2)(taper.arange(6.0).view(1, 6))
    tensor([[1., 3., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(input, *self._settings())


class MaxPool2d(_MaxPoolNd):
    """The largest element in each window of the last two dimensions.

    >>> import taper
    >>> taper.nn.MaxPool2d(2)(taper.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(input, *self._settings())


class MaxPool3d(_MaxPoolNd):
    """The largest element in each window of the last three dimensions.

    >>> import taper
    >>> taper.nn.MaxPool3d(2)(taper.arange(8.0).view(1, 2, 2, 2)).flatten()
    tensor([7.])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(input, *self._settings())


# --- the way back ----------------------------------------------------------------------------


class _MaxUnpoolNd(Module):
    _rank: int

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, self._rank)
        self.stride = _repeated(stride if stride is not None else kernel_size, self._rank)
        self.padding = _repeated(padding, self._rank)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The elements that MaxPool1d chose, in their places among zeros.

    >>> import taper
    >>> pool = taper.nn.MaxPool1d(2, return_indices=True)
    >>> largest, places = pool(taper.arange(4.0).view(1, 4))
    >>> taper.nn.MaxUnpool1d(2)(largest, places)
    tensor([[0., 1., 0., 3.]])
    """

    _rank = 1

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool1d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool2d(_MaxUnpoolNd):
    """The elements that MaxPool2d chose, in their places among zeros.

    >>> import taper
    >>> taper.nn.MaxUnpool2d(2)(taper.tensor([[[3.0]]]), taper.tensor([[[3]]]))
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    _rank = 2

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool2d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool3d(_MaxUnpoolNd):
    """The elements that MaxPool3d chose, in their places among zeros.

    >>> import taper
    >>> pool = taper.nn.MaxPool3d(2, return_indices=True)
    >>> largest, places = pool(taper.arange(8.0).view(1, 2, 2, 2))
    >>> taper.nn.MaxUnpool3d(2)(largest, places).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """

    _rank = 3

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool3d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


# --- averages --------------------------------------------------------------------------------


class _AvgPoolNd(Module):
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The average of each window of the last dimension.

    >>> import taper
    >>> taper.nn.AvgPool1d(2)(taper.arange(6.0).view(1, 6))
    tensor([[0.5000, 2.5000, 4.5000]])
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, 1)
        self.stride = _repeated(stride if stride is not None else kernel_size, 1)
        self.padding = _repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class _AvgPoolWithDivisor(_AvgPoolNd):
    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _settings(self) -> tuple[Any, ...]:
        return (
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """The average of each window of the last two dimensions.

    >>> import taper
    >>> taper.nn.AvgPool2d(2)(taper.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._settings())


class AvgPool3d(_AvgPoolWithDivisor):
    """The average of each window of the last three dimensions.

    >>> import taper
    >>> taper.nn.AvgPool3d(2)(taper.arange(8.0).view(1, 2, 2, 2)).flatten()
    tensor([3.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._settings())


class _LPPoolNd(Module):
    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The `norm_type` norm of each window of the last dimension.

    >>> import taper
    >>> taper.nn.LPPool1d(2, kernel_size=2)(taper.tensor([[3.0, 4.0, 6.0, 8.0]]))
    tensor([[ 5., 10.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        norm_type = float(self.norm_type)
        return F.lp_pool1d(input, norm_type, self.kernel_size, self.stride, self.ceil_mode)  # type: ignore[arg-type]


class LPPool2d(_LPPoolNd):
    """The `norm_type` norm of each window of the last two dimensions.

    >>> import taper
    >>> taper.nn.LPPool2d(2, 2)(taper.ones(1, 2, 2))
    tensor([[[2.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        norm_type = float(self.norm_type)
        return F.lp_pool2d(input, norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The `norm_type` norm of each window of the last three dimensions.

    >>> import taper
    >>> taper.nn.LPPool3d(1, kernel_size=2)(taper.ones(1, 2, 2, 2)).flatten()
    tensor([8.])
    """

    def forward(self, input: Tensor) -> Tensor:
        norm_type = float(self.norm_type)
        return F.lp_pool3d(input, norm_type, self.kernel_size, self.stride, self.ceil_mode)


# --- to a given size -------------------------------------------------------------------------


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Averages of windows that together cover the last dimension.

    >>> import taper
    >>> taper.nn.AdaptiveAvgPool1d(2)(taper.arange(6.0).view(1, 6))
    tensor([[1., 4.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Averages of windows that together cover the last two dimensions; None keeps a length.

    >>> import taper
    >>> taper.nn.AdaptiveAvgPool2d((1, None))(taper.arange(4.0).reshape(1, 2, 2))
    tensor([[[1., 2.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Averages of windows that together cover the last three dimensions.

    >>> import taper
    >>> taper.nn.AdaptiveAvgPool3d(1)(taper.arange(8.0).view(1, 2, 2, 2)).flatten()
    tensor([3.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    def __init__(
        self, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that together cover the last dimension.

    >>> import taper
    >>> taper.nn.AdaptiveMaxPool1d(2)(taper.arange(6.0).view(1, 6))
    tensor([[2., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that together cover the last two dimensions.

    >>> import taper
    >>> taper.nn.AdaptiveMaxPool2d(1)(taper.arange(4.0).reshape(1, 2, 2))
    tensor([[[3.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that together cover the last three dimensions.

    >>> import taper
    >>> taper.nn.AdaptiveMaxPool3d(1)(taper.arange(8.0).view(1, 2, 2, 2)).flatten()
    tensor([7.])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


# --- at random distances ---------------------------------------------------------------------


class _FractionalMaxPoolNd(Module):
    _rank: int

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int | None] | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, self._rank)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _repeated(output_size, self._rank)
        self.output_ratio = None if output_ratio is None else _repeated(output_ratio, self._rank)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"FractionalMaxPool{self._rank}d requires specifying either an output size, or a "
                "pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < each < 1 for each in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _settings(self) -> tuple[Any, ...]:
        return (
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of windows at random distances in the last two dimensions.

    >>> import taper
    >>> taper.nn.FractionalMaxPool2d(2, output_ratio=0.5)(taper.ones(1, 8, 8)).shape
    torch.Size([1, 4, 4])
    """

    _rank = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, *self._settings())


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest elements of windows at random distances in the last three dimensions.

    >>> import taper
    >>> taper.nn.FractionalMaxPool3d(2, output_size=3)(taper.rand(1, 5, 5, 5)).shape
    torch.Size([1, 3, 3, 3])
    """

    _rank = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, *self._settings())
