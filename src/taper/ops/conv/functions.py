"""The public convolutions: `conv1d/2d/3d` and `conv_transpose1d/2d/3d`.

Owns: how every case (an image without a batch, padding by name, complex numbers) is passed to the
operator `convolution`.
"""

from __future__ import annotations

from typing import Any

from taper.arrays.strides import Shape
from taper.factory import refuse
from taper.opdef import composite
from taper.ops.conv.checks import (
    check_complex,
    numbers,
    refuse_arguments,
    refuse_bias,
    refuse_groups,
    refuse_input,
    refuse_numbers,
)
from taper.ops.conv.convolution import convolution
from taper.ops.elementwise.complexes import view_as_real
from taper.ops.elementwise.number import mul_scalar
from taper.ops.image.padding import constant_pad_nd
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.ops.shape.parts import select_at
from taper.tensor import Tensor
from taper.userwarning import warn_once


def _convolve(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> Tensor:
    """Compute `conv1d`, `conv2d` or `conv3d`."""
    steps, apart = numbers(stride, rank), numbers(dilation, rank)
    widths = padding if isinstance(padding, str) else numbers(padding, rank)
    if (
        steps is None
        or widths is None
        or apart is None
        or not isinstance(input, Tensor)
        or not isinstance(weight, Tensor)
        or not (bias is None or isinstance(bias, Tensor))
        or type(groups) is not int
    ):
        names = ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1)
        refuse_arguments(f"conv{rank}d", (input, weight, bias), (*names, ("groups", groups, 1)))
    if bias is not None and bias._array.dtype is not input._array.dtype:
        if not isinstance(padding, str):  # PyTorch checks it later then
            refuse_bias(input._array, bias._array)
    ndim = input._array.ndim
    if ndim == rank + 2:
        return _batched(rank, input, weight, bias, steps, widths, apart, groups)
    if ndim != rank + 1:
        refuse_input(f"conv{rank}d", rank, input._array.shape)
    result = _batched(rank, unsqueeze(input, 0), weight, bias, steps, widths, apart, groups)
    return squeeze_dim(result, 0)


def _batched(
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Shape,
    padding: Shape | str,
    dilation: Shape,
    groups: int,
) -> Tensor:
    if input._array.dtype.kind == "c":
        check_complex(input._array, weight._array, None if bias is None else bias._array)
        return _from_parts(_batched, input, weight, bias, rank, stride, padding, dilation, groups)
    zeros = (0,) * rank
    if isinstance(padding, str):
        if padding == "valid":
            padding = zeros
        elif padding == "same":
            refuse_groups(groups)
            input, padding = _padded_same(input, weight, stride, dilation)
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'")
    return convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)


def _padded_same(
    input: Tensor, weight: Tensor, stride: Shape, dilation: Shape
) -> tuple[Tensor, Shape]:
    """Pad so that the size stays; what is needed on one side only is added to the input."""
    shape, given = weight._array.shape, input._array.shape
    rank = len(shape) - 2
    if rank < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if len(given) != len(shape):
        raise RuntimeError(
            f"Expected {len(shape)}-dimensional input for {len(shape)}-dimensional weight"
            f"{list(shape)}, but got {len(given)}-dimensional input of size {list(given)} instead"
        )
    for name, values in (("stride", stride), ("dilation", dilation)):
        if len(values) not in (1, rank):
            raise RuntimeError(f"{name} cannot broadcast to {rank} dimensions")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    apart = dilation * rank if len(dilation) == 1 else dilation
    totals = [d * (k - 1) for k, d in zip(shape[2:], apart, strict=True)]
    if any(total % 2 for total in totals):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created"
        )
        extra = [width for total in reversed(totals) for width in (0, total % 2)]
        input = constant_pad_nd(input, tuple(extra), 0)
    return input, tuple(total // 2 for total in totals)


def _from_parts(
    function: Any, input: Tensor, weight: Tensor, bias: Tensor | None, rank: int, *settings: Any
) -> Tensor:
    """Compute a complex convolution by three real ones, as Gauss multiplied complex numbers."""

    def parts(tensor: Tensor) -> tuple[Tensor, Tensor]:
        pairs = view_as_real(tensor)
        last = pairs._array.ndim - 1
        return select_at(pairs, last, 0), select_at(pairs, last, 1)

    real, imaginary = parts(input)
    weight_real, weight_imaginary = parts(weight)
    bias_real: Any = None
    bias_sum = None
    if bias is not None:
        bias_real, bias_imaginary = parts(bias)
    first = function(rank, real, weight_real, bias_real, *settings)
    second = function(rank, imaginary, weight_imaginary, None, *settings)
    if bias is not None:
        bias_sum = bias_real + bias_imaginary
    sums = (real + imaginary, weight_real + weight_imaginary, bias_sum)
    mixed = function(rank, *sums, *settings)
    return (first - second) + mul_scalar(mixed - first - second, 1j)


@composite(method=False)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve a signal with a kernel (a cross-correlation, as usual in networks).

    result[n, o, i] = bias[o] + Σ weight[o, c, k] · input[n, c, stride · i + dilation · k - padding]

    Args:
        input: signal (N, C, L) or (C, L).
        weight: kernel (O, C / groups, K).
        bias: one number for each output channel, or None.
        stride: step from window to window.
        padding: zeros added at both ends, or "valid" (none) or "same" (so many that L stays).
        dilation: distance of the kernel's elements.
        groups: number of blocks of channels that are convolved apart from each other.

    Shape: (N, O, ⌊(L + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> taper.conv1d(taper.tensor([[1.0, 2.0, 3.0]]), taper.tensor([[[1.0, 10.0]]]))
        tensor([[21., 32.]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@composite(method=False)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve an image with a kernel (a cross-correlation, as usual in networks).

    result[n, o] = bias[o] + Σ weight[o, c] · window of input[n, c], over channels and window

    Args:
        input: image (N, C, H, W) or (C, H, W).
        weight: kernel (O, C / groups, K₁, K₂).
        bias: one number for each output channel, or None.
        stride: step from window to window, a number or a pair.
        padding: zeros added on all sides, a number or a pair; or "valid" (none) or "same" (so many
            that the size stays).
        dilation: distance of the kernel's elements, a number or a pair.
        groups: number of blocks of channels that are convolved apart from each other.

    Shape: (N, O, H', W'), with H' = ⌊(H + 2·padding - dilation · (K₁ - 1) - 1) / stride⌋ + 1 and W'
        alike.

    Example:
        >>> import taper
        >>> taper.conv2d(taper.ones(1, 1, 3, 3), taper.ones(1, 1, 3, 3), padding="same")
        tensor([[[[4., 6., 4.],
                  [6., 9., 6.],
                  [4., 6., 4.]]]])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@composite(method=False)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve a volume with a kernel (a cross-correlation, as usual in networks).

    result[n, o] = bias[o] + Σ weight[o, c] · window of input[n, c], over channels and window

    Args:
        input: volume (N, C, D, H, W) or (C, D, H, W).
        weight: kernel (O, C / groups, K₁, K₂, K₃).
        bias: one number for each output channel, or None.
        stride: step from window to window, a number or a triple.
        padding: zeros added on all sides, a number or a triple; or "valid" (none) or "same" (so
            many that the size stays).
        dilation: distance of the kernel's elements, a number or a triple.
        groups: number of blocks of channels that are convolved apart from each other.

    Shape: (N, O, D', H', W'), with D' = ⌊(D + 2·padding - dilation · (K₁ - 1) - 1) / stride⌋ + 1,
        and so on.

    Example:
        >>> import taper
        >>> taper.conv3d(taper.ones(1, 1, 2, 2, 2), taper.ones(1, 1, 2, 2, 2))
        tensor([[[[[8.]]]]])
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


# --- the transposed ones ---------------------------------------------------------------------


def _convolve_transposed(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> Tensor:
    """Compute `conv_transpose1d`, `conv_transpose2d` or `conv_transpose3d`."""
    function = f"conv_transpose{rank}d"
    for position, (name, value) in enumerate((("input", input), ("weight", weight)), 1):
        if not isinstance(value, Tensor):
            refuse(function, name, position, "Tensor", value)
    if bias is not None and not isinstance(bias, Tensor):
        refuse(function, "bias", 3, "Tensor", bias)
    if type(groups) is not int:
        refuse(function, "groups", 0, "int", groups)
    names = ("stride", stride), ("padding", padding), ("output_padding", output_padding)
    settings: list[Any] = []
    for name, value in (*names, ("dilation", dilation)):
        found = numbers(value, rank)
        if found is None:
            refuse_numbers(function, name, 0, value)
        settings.append(found)
    ndim = input._array.ndim
    if ndim not in (rank + 1, rank + 2):
        refuse_input(function, rank, input._array.shape)
    batch = input if ndim == rank + 2 else unsqueeze(input, 0)
    steps, widths, extra, apart = settings
    result = _transposed(rank, batch, weight, bias, steps, widths, extra, apart, groups)
    return result if batch is input else squeeze_dim(result, 0)


def _transposed(
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Shape,
    padding: Shape,
    output_padding: Shape,
    dilation: Shape,
    groups: int,
) -> Tensor:
    settings = (stride, padding, dilation, True, output_padding, groups)
    if input._array.dtype.kind == "c":
        check_complex(input._array, weight._array, None if bias is None else bias._array)
        rest = (stride, padding, output_padding, dilation, groups)
        return _from_parts(_transposed, input, weight, bias, rank, *rest)
    return convolution(input, weight, bias, *settings)


@composite(method=False)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Let every element of a signal add the kernel to the result: the gradient of `conv1d`.

    Args:
        input: signal (N, C, L) or (C, L).
        weight: kernel (C, O / groups, K).
        bias: one number for each output channel, or None.
        stride: step from kernel to kernel in the result.
        padding: how many elements are cut off at both ends.
        output_padding: how many elements are added at the end.
        groups: number of blocks of channels that are convolved apart from each other.
        dilation: distance of the kernel's elements.

    Shape: (N, O, (L - 1) · stride - 2·padding + dilation · (K - 1) + output_padding + 1).

    Example:
        >>> import taper
        >>> x, weight = taper.tensor([[1.0, 2.0]]), taper.tensor([[[1.0, 10.0]]])
        >>> taper.conv_transpose1d(x, weight, stride=2)
        tensor([[ 1., 10.,  2., 20.]])
    """
    return _convolve_transposed(
        1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(method=False)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Let every element of an image add the kernel to the result: the gradient of `conv2d`.

    Args:
        input: image (N, C, H, W) or (C, H, W).
        weight: kernel (C, O / groups, K₁, K₂).
        bias: one number for each output channel, or None.
        stride: step from kernel to kernel in the result, a number or a pair.
        padding: how much is cut off on all sides, a number or a pair.
        output_padding: how much is added at the far ends, a number or a pair.
        groups: number of blocks of channels that are convolved apart from each other.
        dilation: distance of the kernel's elements, a number or a pair.

    Shape: (N, O, H', W'), with H' = (H - 1) · stride - 2·padding + dilation · (K₁ - 1) +
        output_padding + 1 and W' alike.

    Example:
        >>> import taper
        >>> taper.conv_transpose2d(taper.ones(1, 2, 2), taper.ones(1, 1, 2, 2))
        tensor([[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]])
    """
    return _convolve_transposed(
        2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(method=False)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Let every element of a volume add the kernel to the result: the gradient of `conv3d`.

    Args:
        input: volume (N, C, D, H, W) or (C, D, H, W).
        weight: kernel (C, O / groups, K₁, K₂, K₃).
        bias: one number for each output channel, or None.
        stride: step from kernel to kernel in the result, a number or a triple.
        padding: how much is cut off on all sides, a number or a triple.
        output_padding: how much is added at the far ends, a number or a triple.
        groups: number of blocks of channels that are convolved apart from each other.
        dilation: distance of the kernel's elements, a number or a triple.

    Shape: (N, O, D', H', W'), with D' = (D - 1) · stride - 2·padding + dilation · (K₁ - 1) +
        output_padding + 1, and so on.

    Example:
        >>> import taper
        >>> taper.conv_transpose3d(taper.ones(1, 1, 1, 1), taper.ones(1, 2, 2, 2, 2)).shape
        torch.Size([2, 2, 2, 2])
    """
    return _convolve_transposed(
        3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )
