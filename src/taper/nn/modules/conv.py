"""Convolutional layers: Conv1d, Conv2d, Conv3d, the transposed ones, and all of them lazy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.lazy import LazyModuleMixin
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter, UninitializedParameter
from taper.ops.creation.filled import empty
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _each(value: Any, rank: int) -> Any:
    """A number for each dimension; what is iterable is taken as it is."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * rank


class _ConvNd(Module):
    """Weight and bias of a convolution in any number of dimensions, and its settings."""

    __constants__ = (
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    )
    _rank: int
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._widths()
        channels = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _widths(self) -> Sequence[int]:
        """The widths of the border as `pad` wants them."""
        if not isinstance(self.padding, str):
            return tuple(width for each in reversed(self.padding) for width in (each, each))
        widths = [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            pairs = zip(reversed(self.dilation), reversed(self.kernel_size), strict=False)
            for number, (apart, taps) in enumerate(pairs):
                total = apart * (taps - 1)
                widths[2 * number : 2 * number + 2] = total // 2, total - total // 2
        return widths

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from +-1/sqrt(inputs of an output)."""
        if self.weight.is_contiguous():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        else:  # the numbers do not depend on the memory format
            drawn = empty(self.weight.shape, dtype=self.weight.dtype)
            with no_grad():
                self.weight.copy_(init.kaiming_uniform_(drawn, a=math.sqrt(5)))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _tensors(self) -> tuple[Any, Any]:
        try:  # reading attributes of a Module costs 0.4 us each
            own = self._parameters
            return own["weight"], own["bias"]
        except KeyError:  # replaced by a plain attribute or a property
            return self.weight, self.bias

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        nothing = (0,) * len(self.stride)
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != nothing[: len(self.output_padding)]:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"


def _check(
    in_channels: int,
    out_channels: int,
    stride: tuple[int, ...],
    padding: str | tuple[int, ...],
    groups: int,
    padding_mode: str,
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string '{padding}', should be one of {{'same', 'valid'}}"
            )
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in PADDING_MODES:
        known = ", ".join(map(repr, PADDING_MODES))
        raise ValueError(
            f"padding_mode must be one of {{{known}}}, but got padding_mode='{padding_mode}'"
        )


# --- convolutions ----------------------------------------------------------------------------


class _PlainConv(_ConvNd):
    """What Conv1d, Conv2d and Conv3d share; they differ in `_rank` and `_function`."""

    _function: Any

    def __init__(
        self,
        in_channels: int,
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
        rank = self._rank
        super().__init__(
            in_channels,
            out_channels,
            _each(kernel_size, rank),
            _each(stride, rank),
            padding if isinstance(padding, str) else _each(padding, rank),
            _each(dilation, rank),
            False,
            (0,) * rank,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, *self._tensors())

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            widths = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, widths, mode=self.padding_mode), (0,) * self._rank
        function = type(self)._function
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_PlainConv):
    """The convolution of (batch, channels, length), or of (channels, length).

    >>> import taper
    >>> taper.nn.Conv1d(2, 3, 5, padding=2)(taper.ones(4, 2, 10)).shape
    torch.Size([4, 3, 10])
    """

    _rank = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_PlainConv):
    """The convolution of (batch, channels, height, width), or without the batch.

    `padding` is a number, a pair, "same" or "valid"; `padding_mode` says what the border shows:
    "zeros", or the image itself by "reflect", "replicate" or "circular".

    >>> import taper
    >>> taper.nn.Conv2d(3, 8, kernel_size=3, padding="same")(taper.ones(1, 3, 6, 6)).shape
    torch.Size([1, 8, 6, 6])
    """

    _rank = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_PlainConv):
    """The convolution of (batch, channels, depth, height, width), or without the batch.

    >>> import taper
    >>> taper.nn.Conv3d(1, 2, 3)(taper.ones(1, 1, 3, 4, 5)).shape
    torch.Size([1, 2, 1, 2, 3])
    """

    _rank = 3
    _function = staticmethod(F.conv3d)


# --- transposed convolutions -----------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share; they differ in `_rank` and `_function`."""

    _function: Any

    def __init__(
        self,
        in_channels: int,
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
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {self.__class__.__name__}'
            )
        rank = self._rank
        super().__init__(
            in_channels,
            out_channels,
            _each(kernel_size, rank),
            _each(stride, rank),
            _each(padding, rank),
            _each(dilation, rank),
            True,
            _each(output_padding, rank),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """`output_size` chooses among the sizes that have an image of the input's size."""
        extra: Any = self.output_padding
        if output_size is not None:
            extra = self._output_padding(input, output_size)
        return type(self)._function(
            input,
            *self._tensors(),
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        rank = self._rank
        before = 2 if input.dim() == rank + 2 else 1
        wanted = output_size
        if len(wanted) == rank + before:
            wanted = wanted[before:]
        if len(wanted) != rank:
            raise ValueError(
                f"ConvTranspose{rank}D: for {input.dim()}D input, output_size must have {rank} or "
                f"{rank + before} elements (got {len(output_size)})"
            )
        sizes = input.size()[before:]
        padding: Any = self.padding  # never a name here
        smallest = [
            (size - 1) * self.stride[nr]
            - 2 * padding[nr]
            + self.dilation[nr] * (self.kernel_size[nr] - 1)
            + 1
            for nr, size in enumerate(sizes)
        ]
        largest = [size + self.stride[nr] - 1 for nr, size in enumerate(smallest)]
        every = zip(wanted, smallest, largest, strict=True)
        if any(not low <= size <= high for size, low, high in every):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to "
                f"{largest} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(wanted, smallest, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """The transposed convolution of (batch, channels, length), or without the batch.

    >>> import taper
    >>> taper.nn.ConvTranspose1d(2, 3, 4, stride=2)(taper.ones(1, 2, 5)).shape
    torch.Size([1, 3, 12])
    """

    _rank = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """The transposed convolution of (batch, channels, height, width), or without the batch.

    >>> import taper
    >>> layer = taper.nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
    >>> layer(taper.ones(1, 1, 4, 4), output_size=(8, 8)).shape
    torch.Size([1, 1, 8, 8])
    """

    _rank = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """The transposed convolution of (batch, channels, depth, height, width), or without the batch.

    >>> import taper
    >>> taper.nn.ConvTranspose3d(1, 2, 2)(taper.ones(1, 1, 2, 3, 4)).shape
    torch.Size([1, 2, 3, 4, 5])
    """

    _rank = 3
    _function = staticmethod(F.conv_transpose3d)


# --- with the number of input channels taken from the first input ----------------------------


class _LazyConvXdMixin(LazyModuleMixin):
    """What all lazy convolutions share: weight and bias are made for the first input."""

    weight: Any
    bias: Any

    def _postpone(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, if there are any yet."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Make weight and bias for the channels of this input."""
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
    """Conv1d that takes `in_channels` from its first input.

    >>> import taper
    >>> taper.nn.LazyConv1d(3, 5)(taper.ones(4, 2, 10)).shape
    torch.Size([4, 3, 6])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):
    """Conv2d that takes `in_channels` from its first input.

    >>> import taper
    >>> layer = taper.nn.LazyConv2d(8, kernel_size=3)
    >>> layer(taper.ones(2, 3, 5, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 3, 3]), 3)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlainConv, Conv3d):
    """Conv3d that takes `in_channels` from its first input.

    >>> import taper
    >>> layer = taper.nn.LazyConv3d(8, kernel_size=3)
    >>> layer(taper.ones(2, 3, 5, 5, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 3, 3, 3]), 3)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """ConvTranspose1d that takes `in_channels` from its first input.

    >>> import taper
    >>> layer = taper.nn.LazyConvTranspose1d(8, kernel_size=3)
    >>> layer(taper.ones(2, 3, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 7]), 3)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d that takes `in_channels` from its first input.

    >>> import taper
    >>> layer = taper.nn.LazyConvTranspose2d(8, kernel_size=3)
    >>> layer(taper.ones(2, 3, 5, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 7, 7]), 3)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """ConvTranspose3d that takes `in_channels` from its first input.

    >>> import taper
    >>> layer = taper.nn.LazyConvTranspose3d(8, kernel_size=3)
    >>> layer(taper.ones(2, 3, 5, 5, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 7, 7, 7]), 3)
    """

    cls_to_become = ConvTranspose3d
