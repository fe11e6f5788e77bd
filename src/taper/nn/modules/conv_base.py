"""What the convolutional layers share: parameters, settings, and both directions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.ops.creation.filled import empty
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _each(value: Any, rank: int) -> Any:
    """Repeat a number for each dimension; keep an iterable as it is."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * rank


class _ConvNd(Module):
    """Hold weight, bias and settings of a convolution in any number of dimensions."""

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
        """Return the widths of the border as `pad` wants them."""
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
        """Draw weight and bias from U(-k, k), k = 1/√fan_in."""
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


class _PlainConv(_ConvNd):
    """Base of Conv1d, Conv2d and Conv3d, which differ in `_rank` and `_function`."""

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


class _ConvTransposeNd(_ConvNd):
    """Base of the transposed convolutions, which differ in `_rank` and `_function`."""

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
        """Apply the layer; `output_size` chooses among the sizes that fit the input's."""
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
        padding: Any = self.padding  # never a string here
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
