"""Convolutional layers: Conv1d, Conv2d, Conv3d, the transposed ones, and all of them lazy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn.modules.conv_base import _ConvNd as _ConvNd
from taper.nn.modules.conv_base import _ConvTransposeNd, _PlainConv
from taper.nn.modules.lazy import LazyModuleMixin
from taper.nn.parameter import UninitializedParameter
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


# --- convolutions ----------------------------------------------------------------------------


class Conv1d(_PlainConv):
    """Slide learned windows over sequences with channels.

        y[o, l] = b[o] + Σ(c, i) w[o, c, i] x[c, l·stride + i·dilation - padding]

    Args:
        in_channels, out_channels: how many channels the input and the result have.
        kernel_size: size of the window; this and the next three are a number, or one for each
            dimension.
        stride: step of the window.
        padding: width of the border on each side; or "valid" (none), or "same" (keep the size; for
            stride 1).
        dilation: distance between neighbouring elements of the window.
        groups: number of groups; a channel of the result sees only the input channels of its
            group.
        bias: whether to add a learned bias to each channel.
        padding_mode: what the border holds: "zeros", "reflect", "replicate" or "circular".
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        (N, in_channels, L) → (N, out_channels, M), or both without N;
        M = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) / stride⌋ + 1.

    Initialisation:
        weight (out_channels, in_channels / groups, kernel_size) and bias (out_channels,) ~
        U(-k, k), k = √(groups / (in_channels kernel_size)).

    Example:
        >>> import taper
        >>> taper.nn.Conv1d(2, 3, 5, padding=2)(taper.ones(4, 2, 10)).shape
        torch.Size([4, 3, 10])
    """

    _rank = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_PlainConv):
    """Slide learned windows over images with channels.

        y[o] = b[o] + Σc w[o, c] ⋆ x[c], where ⋆ is the cross-correlation of two images

    Args:
        in_channels, out_channels: how many channels the input and the result have.
        kernel_size: size of the window; this and the next three are a number, or one for each
            dimension.
        stride: step of the window.
        padding: width of the border on each side; or "valid" (none), or "same" (keep the size; for
            stride 1).
        dilation: distance between neighbouring elements of the window.
        groups: number of groups; a channel of the result sees only the input channels of its
            group.
        bias: whether to add a learned bias to each channel.
        padding_mode: what the border holds: "zeros", "reflect", "replicate" or "circular".
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        (N, in_channels, H, W) → (N, out_channels, P, Q), or both without N;
        P = ⌊(H + 2 padding[0] - dilation[0] (kernel_size[0] - 1) - 1) / stride[0]⌋ + 1, Q
        likewise.

    Initialisation:
        weight (out_channels, in_channels / groups, *kernel_size) and bias (out_channels,) ~
        U(-k, k), k = √(groups / (in_channels Π kernel_size)).

    Example:
        >>> import taper
        >>> taper.nn.Conv2d(3, 8, kernel_size=3, padding="same")(taper.ones(1, 3, 6, 6)).shape
        torch.Size([1, 8, 6, 6])
    """

    _rank = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_PlainConv):
    """Slide learned windows over volumes with channels.

        y[o] = b[o] + Σc w[o, c] ⋆ x[c], where ⋆ is the cross-correlation of two volumes

    Args:
        in_channels, out_channels: how many channels the input and the result have.
        kernel_size: size of the window; this and the next three are a number, or one for each
            dimension.
        stride: step of the window.
        padding: width of the border on each side; or "valid" (none), or "same" (keep the size; for
            stride 1).
        dilation: distance between neighbouring elements of the window.
        groups: number of groups; a channel of the result sees only the input channels of its
            group.
        bias: whether to add a learned bias to each channel.
        padding_mode: what the border holds: "zeros", "reflect", "replicate" or "circular".
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        (N, in_channels, D, H, W) → (N, out_channels, P, Q, R), or both without N;
        P = ⌊(D + 2 padding[0] - dilation[0] (kernel_size[0] - 1) - 1) / stride[0]⌋ + 1, Q, R
        likewise.

    Initialisation:
        weight (out_channels, in_channels / groups, *kernel_size) and bias (out_channels,) ~
        U(-k, k), k = √(groups / (in_channels Π kernel_size)).

    Example:
        >>> import taper
        >>> taper.nn.Conv3d(1, 2, 3)(taper.ones(1, 1, 3, 4, 5)).shape
        torch.Size([1, 2, 1, 2, 3])
    """

    _rank = 3
    _function = staticmethod(F.conv3d)


# --- transposed convolutions -----------------------------------------------------------------


class ConvTranspose1d(_ConvTransposeNd):
    """Apply the transpose of a convolution of sequences: each element adds a learned window.

        y[o, l·stride + i·dilation - padding] += Σc w[c, o, i] x[c, l], from y = b on

    `forward(input, output_size=None)` takes the wanted length instead of `output_padding`.

    Args:
        in_channels, out_channels: how many channels the input and the result have.
        kernel_size: size of the window; like the next three and dilation, a number, or one for
            each dimension.
        stride: distance of the windows that neighbouring elements add.
        padding: width to cut off each side of the result.
        output_padding: length to add at the end; less than stride or dilation.
        groups: number of groups; a channel of the result sees only the input channels of its
            group.
        bias: whether to add a learned bias to each channel.
        dilation: distance between neighbouring elements of the window.
        padding_mode: "zeros", and nothing else.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        (N, in_channels, L) → (N, out_channels, M), or both without N;
        M = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    Initialisation:
        weight (in_channels, out_channels / groups, kernel_size) and bias (out_channels,) ~
        U(-k, k), k = √(groups / (out_channels kernel_size)).

    Example:
        >>> import taper
        >>> taper.nn.ConvTranspose1d(2, 3, 4, stride=2)(taper.ones(1, 2, 5)).shape
        torch.Size([1, 3, 12])
    """

    _rank = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """Apply the transpose of a convolution of images: each element adds a learned window.

        y = b + Wᵀ x, where the matrix W is that of the `Conv2d` from y's shape to x's

    `forward(input, output_size=None)` takes the wanted size instead of `output_padding`.

    Args:
        in_channels, out_channels: how many channels the input and the result have.
        kernel_size: size of the window; like the next three and dilation, a number, or one for
            each dimension.
        stride: distance of the windows that neighbouring elements add.
        padding: width to cut off each side of the result.
        output_padding: length to add at the end; less than stride or dilation.
        groups: number of groups; a channel of the result sees only the input channels of its
            group.
        bias: whether to add a learned bias to each channel.
        dilation: distance between neighbouring elements of the window.
        padding_mode: "zeros", and nothing else.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        (N, in_channels, H, W) → (N, out_channels, P, Q), or both without N;
        P = (H - 1) stride[0] - 2 padding[0] + dilation[0] (kernel_size[0] - 1) + output_padding[0]
        + 1, Q likewise.

    Initialisation:
        weight (in_channels, out_channels / groups, *kernel_size) and bias (out_channels,) ~
        U(-k, k), k = √(groups / (out_channels Π kernel_size)).

    Example:
        >>> import taper
        >>> layer = taper.nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
        >>> layer(taper.ones(1, 1, 4, 4), output_size=(8, 8)).shape
        torch.Size([1, 1, 8, 8])
    """

    _rank = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """Apply the transpose of a convolution of volumes: each element adds a learned window.

        y = b + Wᵀ x, where the matrix W is that of the `Conv3d` from y's shape to x's

    `forward(input, output_size=None)` takes the wanted size instead of `output_padding`.

    Args:
        in_channels, out_channels: how many channels the input and the result have.
        kernel_size: size of the window; like the next three and dilation, a number, or one for
            each dimension.
        stride: distance of the windows that neighbouring elements add.
        padding: width to cut off each side of the result.
        output_padding: length to add at the end; less than stride or dilation.
        groups: number of groups; a channel of the result sees only the input channels of its
            group.
        bias: whether to add a learned bias to each channel.
        dilation: distance between neighbouring elements of the window.
        padding_mode: "zeros", and nothing else.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        (N, in_channels, D, H, W) → (N, out_channels, P, Q, R), or both without N;
        P = (D - 1) stride[0] - 2 padding[0] + dilation[0] (kernel_size[0] - 1) + output_padding[0]
        + 1, Q, R likewise.

    Initialisation:
        weight (in_channels, out_channels / groups, *kernel_size) and bias (out_channels,) ~
        U(-k, k), k = √(groups / (out_channels Π kernel_size)).

    Example:
        >>> import taper
        >>> taper.nn.ConvTranspose3d(1, 2, 2)(taper.ones(1, 1, 2, 3, 4)).shape
        torch.Size([1, 2, 3, 4, 5])
    """

    _rank = 3
    _function = staticmethod(F.conv_transpose3d)


# --- with the number of input channels taken from the first input ----------------------------


class _LazyConvXdMixin(LazyModuleMixin):
    """Base of all lazy convolutions: makes weight and bias for the first input."""

    weight: Any
    bias: Any

    def _postpone(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give weight and bias the shapes that the channels of this input need, and draw them."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        channels = (self.out_channels, self.in_channels)
        first, second = reversed(channels) if self.transposed else channels
        with no_grad():
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        rank = self._get_num_spatial_dims()
        if input.dim() not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-rank - 1])

    def _get_num_spatial_dims(self) -> int:
        return int(self._rank)


class _LazyPlainConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        settings = (stride, padding, dilation, groups, False, padding_mode, device, dtype)
        super().__init__(0, 0, kernel_size, *settings)
        self._postpone(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: str | int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        settings = (output_padding, groups, False, dilation, padding_mode, device, dtype)
        super().__init__(0, 0, kernel_size, stride, padding, *settings)
        self._postpone(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlainConv, Conv1d):
    """Apply `Conv1d`, with `in_channels` taken from the first input.

    Args:
        out_channels, kernel_size, stride, padding, dilation: as for `Conv1d`.
        groups, bias, padding_mode, device, dtype: as for `Conv1d`.

    Shape: as `Conv1d`.
    Initialisation: as `Conv1d`, at the first call.

    Example:
        >>> import taper
        >>> taper.nn.LazyConv1d(3, 5)(taper.ones(4, 2, 10)).shape
        torch.Size([4, 3, 6])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):
    """Apply `Conv2d`, with `in_channels` taken from the first input.

    Args:
        out_channels, kernel_size, stride, padding, dilation: as for `Conv2d`.
        groups, bias, padding_mode, device, dtype: as for `Conv2d`.

    Shape: as `Conv2d`.
    Initialisation: as `Conv2d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyConv2d(8, kernel_size=3)
        >>> layer(taper.ones(2, 3, 5, 5)).shape, layer.in_channels
        (torch.Size([2, 8, 3, 3]), 3)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlainConv, Conv3d):
    """Apply `Conv3d`, with `in_channels` taken from the first input.

    Args:
        out_channels, kernel_size, stride, padding, dilation: as for `Conv3d`.
        groups, bias, padding_mode, device, dtype: as for `Conv3d`.

    Shape: as `Conv3d`.
    Initialisation: as `Conv3d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyConv3d(8, kernel_size=3)
        >>> layer(taper.ones(2, 3, 5, 5, 5)).shape, layer.in_channels
        (torch.Size([2, 8, 3, 3, 3]), 3)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """Apply `ConvTranspose1d`, with `in_channels` taken from the first input.

    Args:
        out_channels, kernel_size, stride, padding, output_padding: as for `ConvTranspose1d`.
        groups, bias, dilation, padding_mode, device, dtype: as for `ConvTranspose1d`.

    Shape: as `ConvTranspose1d`.
    Initialisation: as `ConvTranspose1d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyConvTranspose1d(8, kernel_size=3)
        >>> layer(taper.ones(2, 3, 5)).shape, layer.in_channels
        (torch.Size([2, 8, 7]), 3)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """Apply `ConvTranspose2d`, with `in_channels` taken from the first input.

    Args:
        out_channels, kernel_size, stride, padding, output_padding: as for `ConvTranspose2d`.
        groups, bias, dilation, padding_mode, device, dtype: as for `ConvTranspose2d`.

    Shape: as `ConvTranspose2d`.
    Initialisation: as `ConvTranspose2d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyConvTranspose2d(8, kernel_size=3)
        >>> layer(taper.ones(2, 3, 5, 5)).shape, layer.in_channels
        (torch.Size([2, 8, 7, 7]), 3)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """Apply `ConvTranspose3d`, with `in_channels` taken from the first input.

    Args:
        out_channels, kernel_size, stride, padding, output_padding: as for `ConvTranspose3d`.
        groups, bias, dilation, padding_mode, device, dtype: as for `ConvTranspose3d`.

    Shape: as `ConvTranspose3d`.
    Initialisation: as `ConvTranspose3d`, at the first call.

    Example:
        >>> import taper
        >>> layer = taper.nn.LazyConvTranspose3d(8, kernel_size=3)
        >>> layer(taper.ones(2, 3, 5, 5, 5)).shape, layer.in_channels
        (torch.Size([2, 8, 7, 7, 7]), 3)
    """

    cls_to_become = ConvTranspose3d
