"""Pooling: the largest or the average element of windows, adaptive and fractional forms.

Long because: there are twenty ways to pool, and each has its reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


def _repeated(value: Any, count: int) -> tuple[Any, ...]:
    """Repeat a number for each dimension; keep a sequence as it is."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count


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
    """Take the largest element of each window of sequences.

        y[l] = max(i) x[l·stride + i·dilation - padding], i from 0 to kernel_size - 1

    Args:
        kernel_size: size of the window; this and the next three are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: width of a border of -∞ on each side; at most half the window.
        dilation: distance between neighbouring elements of the window.
        return_indices: whether to return the places of the maxima, too, for `MaxUnpool`.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.

    Shape:
        (N, C, L) → (N, C, M), or both without N; M = ⌊(L + 2 padding - dilation (kernel_size - 1)
        - 1) / stride⌋ + 1.

    Example:
        >>> import taper
        >>> taper.nn.MaxPool1d(2)(taper.arange(6.0).view(1, 6))
        tensor([[1., 3., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(input, *self._settings())


class MaxPool2d(_MaxPoolNd):
    """Take the largest element of each window of images.

        y[h, w] = max(i, j) x[h·stride[0] + i·dilation[0] - padding[0], w·stride[1] + ...]

    Args:
        kernel_size: size of the window; this and the next three are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: width of a border of -∞ on each side; at most half the window.
        dilation: distance between neighbouring elements of the window.
        return_indices: whether to return the places of the maxima, too, for `MaxUnpool`.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.

    Shape:
        (N, C, H, W) → (N, C, P, Q), or both without N; P = ⌊(H + 2 padding[0] - dilation[0]
        (kernel_size[0] - 1) - 1) / stride[0]⌋ + 1, Q likewise.

    Example:
        >>> import taper
        >>> taper.nn.MaxPool2d(2)(taper.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(input, *self._settings())


class MaxPool3d(_MaxPoolNd):
    """Take the largest element of each window of volumes.

    Args:
        kernel_size: size of the window; this and the next three are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: width of a border of -∞ on each side; at most half the window.
        dilation: distance between neighbouring elements of the window.
        return_indices: whether to return the places of the maxima, too, for `MaxUnpool`.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.

    Shape:
        (N, C, D, H, W) → (N, C, P, Q, R), or both without N; P = ⌊(D + 2 padding[0] - dilation[0]
        (kernel_size[0] - 1) - 1) / stride[0]⌋ + 1, Q, R likewise.

    Example:
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
    """Put the elements that `MaxPool1d` chose back in their places, among zeros.

    `forward(input, indices, output_size=None)` takes the places from `return_indices=True`.

    Args:
        kernel_size: size of the window; this and the next two are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: the border that was added before pooling.

    Shape:
        (N, C, L) twice → (N, C, M), or all without N; M = (L - 1) stride - 2 padding +
        kernel_size, or what `output_size` says.

    Example:
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
    """Put the elements that `MaxPool2d` chose back in their places, among zeros.

    `forward(input, indices, output_size=None)` takes the places from `return_indices=True`.

    Args:
        kernel_size: size of the window; this and the next two are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: the border that was added before pooling.

    Shape:
        (N, C, H, W) twice → (N, C, P, Q), or all without N; P = (H - 1) stride[0] - 2 padding[0] +
        kernel_size[0], Q likewise, or what `output_size` says.

    Example:
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
    """Put the elements that `MaxPool3d` chose back in their places, among zeros.

    `forward(input, indices, output_size=None)` takes the places from `return_indices=True`.

    Args:
        kernel_size: size of the window; this and the next two are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: the border that was added before pooling.

    Shape:
        (N, C, D, H, W) twice → (N, C, P, Q, R), or all without N; P = (D - 1) stride[0] - 2
        padding[0] + kernel_size[0], Q, R likewise, or what `output_size` says.

    Example:
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
    """Average each window of sequences.

        y[l] = Σi x[l·stride + i - padding] / kernel_size, i from 0 to kernel_size - 1

    Args:
        kernel_size: size of the window; this and the next two are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: width of a border of zeros on each side; at most half the window.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.
        count_include_pad: whether the zeros of the border count.

    Shape:
        (N, C, L) → (N, C, M), or both without N; M = ⌊(L + 2 padding - kernel_size) / stride⌋ + 1.

    Example:
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
    """Average each window of images.

    Args:
        kernel_size: size of the window; this and the next two are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: width of a border of zeros on each side; at most half the window.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.
        count_include_pad: whether the zeros of the border count.
        divisor_override: what to divide sums by; None means the number of elements that count.

    Shape:
        (N, C, H, W) → (N, C, P, Q), or both without N; P = ⌊(H + 2 padding[0] - kernel_size[0]) /
        stride[0]⌋ + 1, Q likewise.

    Example:
        >>> import taper
        >>> taper.nn.AvgPool2d(2)(taper.arange(4.0).reshape(1, 2, 2))
        tensor([[[1.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._settings())


class AvgPool3d(_AvgPoolWithDivisor):
    """Average each window of volumes.

    Args:
        kernel_size: size of the window; this and the next two are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        padding: width of a border of zeros on each side; at most half the window.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.
        count_include_pad: whether the zeros of the border count.
        divisor_override: what to divide sums by; None means the number of elements that count.

    Shape:
        (N, C, D, H, W) → (N, C, P, Q, R), or both without N; P = ⌊(D + 2 padding[0] -
        kernel_size[0]) / stride[0]⌋ + 1, Q, R likewise.

    Example:
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
    """Add up the powers in each window of sequences, and take the root.

        y = (Σ xᵖ)^(1/p), over the window; the sign of x is not dropped

    Args:
        norm_type: the power p; 1 gives sums.
        kernel_size: size of the window; this and the next one are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.

    Shape: (N, C, L) → (N, C, M), or both without N; M = ⌊(L - kernel_size) / stride⌋ + 1.

    Example:
        >>> import taper
        >>> taper.nn.LPPool1d(2, kernel_size=2)(taper.tensor([[3.0, 4.0, 6.0, 8.0]]))
        tensor([[ 5., 10.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        norm_type = float(self.norm_type)
        return F.lp_pool1d(input, norm_type, self.kernel_size, self.stride, self.ceil_mode)  # type: ignore[arg-type]


class LPPool2d(_LPPoolNd):
    """Add up the powers in each window of images, and take the root.

        y = (Σ xᵖ)^(1/p), over the window; the sign of x is not dropped

    Args:
        norm_type: the power p; 1 gives sums.
        kernel_size: size of the window; this and the next one are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.

    Shape:
        (N, C, H, W) → (N, C, P, Q), or both without N; P = ⌊(H - kernel_size[0]) / stride[0]⌋ + 1,
        Q likewise.

    Example:
        >>> import taper
        >>> taper.nn.LPPool2d(2, 2)(taper.ones(1, 2, 2))
        tensor([[[2.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        norm_type = float(self.norm_type)
        return F.lp_pool2d(input, norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """Add up the powers in each window of volumes, and take the root.

        y = (Σ xᵖ)^(1/p), over the window; the sign of x is not dropped

    Args:
        norm_type: the power p; 1 gives sums.
        kernel_size: size of the window; this and the next one are a number, or one for each
            dimension.
        stride: step of the window; None means `kernel_size`.
        ceil_mode: whether to round sizes up, so that a window may hang over the end.

    Shape:
        (N, C, D, H, W) → (N, C, P, Q, R), or both without N; P = ⌊(D - kernel_size[0]) /
        stride[0]⌋ + 1, Q, R likewise.

    Example:
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
    """Average sequences down to a given length.

        y[m] = mean of x[⌊m L/M⌋] to x[⌈(m + 1) L/M⌉ - 1]

    Args:
        output_size: length of the result.

    Shape: (N, C, L) → (N, C, M), or both without N; M = output_size.

    Example:
        >>> import taper
        >>> taper.nn.AdaptiveAvgPool1d(2)(taper.arange(6.0).view(1, 6))
        tensor([[1., 4.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average images down to a given size; windows as in `AdaptiveAvgPool1d`, in both directions.

    Args:
        output_size: size of the result: a number, or one for each dimension; None keeps the
            input's.

    Shape: (N, C, H, W) → (N, C, *output_size), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.AdaptiveAvgPool2d((1, None))(taper.arange(4.0).reshape(1, 2, 2))
        tensor([[[1., 2.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average volumes down to a given size; windows as in `AdaptiveAvgPool1d`, in each direction.

    Args:
        output_size: size of the result: a number, or one for each dimension; None keeps the
            input's.

    Shape: (N, C, D, H, W) → (N, C, *output_size), or both without N.

    Example:
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
    """Take maxima of sequences, as many as are wanted.

        y[m] = max of x[⌊m L/M⌋] to x[⌈(m + 1) L/M⌉ - 1]

    Args:
        output_size: length of the result.
        return_indices: whether to return the places of the maxima, too.

    Shape: (N, C, L) → (N, C, M), or both without N; M = output_size.

    Example:
        >>> import taper
        >>> taper.nn.AdaptiveMaxPool1d(2)(taper.arange(6.0).view(1, 6))
        tensor([[2., 5.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Take maxima of images, as many as are wanted; windows as in `AdaptiveMaxPool1d`.

    Args:
        output_size: size of the result: a number, or one for each dimension; None keeps the
            input's.
        return_indices: whether to return the places of the maxima, too.

    Shape: (N, C, H, W) → (N, C, *output_size), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.AdaptiveMaxPool2d(1)(taper.arange(4.0).reshape(1, 2, 2))
        tensor([[[3.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Take maxima of volumes, as many as are wanted; windows as in `AdaptiveMaxPool1d`.

    Args:
        output_size: size of the result: a number, or one for each dimension; None keeps the
            input's.
        return_indices: whether to return the places of the maxima, too.

    Shape: (N, C, D, H, W) → (N, C, *output_size), or both without N.

    Example:
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
    """Take maxima of images over windows at random distances, so that sizes need not divide.

    Args:
        kernel_size: size of the window: a number, or one for each dimension.
        output_size: size of the result; give either this or `output_ratio`.
        output_ratio: size of the result as a part of the input's, between 0 and 1.
        return_indices: whether to return the places of the maxima, too.

    Shape: (N, C, H, W) → (N, C, *output_size), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.FractionalMaxPool2d(2, output_ratio=0.5)(taper.ones(1, 8, 8)).shape
        torch.Size([1, 4, 4])
    """

    _rank = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, *self._settings())


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Take maxima of volumes over windows at random distances, so that sizes need not divide.

    Args:
        kernel_size: size of the window: a number, or one for each dimension.
        output_size: size of the result; give either this or `output_ratio`.
        output_ratio: size of the result as a part of the input's, between 0 and 1.
        return_indices: whether to return the places of the maxima, too.

    Shape: (N, C, D, H, W) → (N, C, *output_size), or both without N.

    Example:
        >>> import taper
        >>> taper.nn.FractionalMaxPool3d(2, output_size=3)(taper.rand(1, 5, 5, 5)).shape
        torch.Size([1, 3, 3, 3])
    """

    _rank = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, *self._settings())
