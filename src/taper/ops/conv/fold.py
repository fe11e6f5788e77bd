"""Windows of images as columns, and back: `unfold` and `fold`, operators `im2col` and `col2im`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.strides import Shape, integers, strided, wrap_dim
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.ops.conv.checks import wide
from taper.tensor import Tensor

# --- checks ----------------------------------------------------------------------------------


def _check_settings(kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape) -> None:
    named = (
        ("kernel_size", kernel_size),
        ("dilation", dilation),
        ("padding", padding),
        ("stride", stride),
    )
    for name, values in named:
        _check_pair(name, values)
    for name, short, values in (
        ("kernel size", "kernel", kernel_size),
        ("dilation", "dilation", dilation),
        ("padding", "pad", padding),
        ("stride", "stride", stride),
    ):
        if min(values) < (name != "padding"):
            wanted = "non-negative" if name == "padding" else "greater than zero"
            raise RuntimeError(
                f"{name} should be {wanted}, but got {short}_height: {values[0]} "
                f"{short}_width: {values[1]}"
            )


def _check_pair(name: str, values: Shape) -> None:
    if len(values) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(values)}")


def _check_dtype(kernel: str, array: ndarray) -> None:
    kind = dtypes.FROM_NUMPY[array.dtype]
    if kind.category == dtypes.INTEGER:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.scalar_type}'")


def _places(
    sizes: Shape, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape
) -> tuple[int, ...]:
    """Count the windows in each dimension."""
    every = zip(sizes, kernel_size, dilation, padding, stride, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in every])


def _text(values: Shape) -> str:
    return f"({values[0]}, {values[1]})"


# --- the operators ---------------------------------------------------------------------------


@op(tangent=LINEAR, saved_sizes={"self": (-1, -2)}, public=False, method=False)
def im2col(
    self: Array, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape
) -> Array:
    """Turn the windows of (batch, channels, height, width) into columns."""
    _check_settings(kernel_size, dilation, padding, stride)
    shape = self.shape
    batched = self.ndim == 4
    if not self.ndim:
        raise IndexError("Dimension specified as 1 but tensor has no dimensions")
    if self.size or self.ndim < 2 or (self.ndim == 2 and shape[1]):
        wrap_dim(min(self.ndim, 2), self.ndim)
    if self.ndim not in (3, 4) or 0 in shape[batched:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    places = _places(shape[-2:], kernel_size, dilation, padding, stride)
    if min(places) < 1:
        raise RuntimeError(
            f"Given input with spatial size {_text(shape[-2:])}, kernel_size={_text(kernel_size)}, "
            f"dilation={_text(dilation)}, padding={_text(padding)}, calculated shape of the array "
            f"of sliding blocks as {_text(places)}, but its components must be at least one."
        )
    _check_dtype("im2col_out_cpu", self)
    if any(padding):
        widths = [(0, 0)] * (self.ndim - 2) + [(each, each) for each in padding]
        self = np.pad(self, widths)
    steps = self.strides
    windows = strided(
        self,
        (*shape[:-2], *kernel_size, *places),
        (
            *steps[:-2],
            *[step * apart for step, apart in zip(steps[-2:], dilation, strict=True)],
            *[step * apart for step, apart in zip(steps[-2:], stride, strict=True)],
        ),
    )
    rows = shape[-3] * kernel_size[0] * kernel_size[1]
    return windows.copy().reshape(*shape[:-3], rows, places[0] * places[1])


@derivative(im2col, wrt="self")
def im2col_self(grad, self_shape, kernel_size, dilation, padding, stride):
    return col2im(grad, tuple(self_shape[-2:]), kernel_size, dilation, padding, stride)


@op(tangent=LINEAR, public=False, method=False)
def col2im(
    self: Array,
    output_size: Shape,
    kernel_size: Shape,
    dilation: Shape,
    padding: Shape,
    stride: Shape,
) -> Array:
    """Add up columns as windows of an image: the adjoint of `im2col`."""
    _check_pair("output_size", output_size)
    _check_settings(kernel_size, dilation, padding, stride)
    places = _checked_places(self.shape, output_size, kernel_size, dilation, padding, stride)
    _check_dtype("col2im_out_cpu", self)
    channels = self.shape[-2] // (kernel_size[0] * kernel_size[1])
    columns = wide(self).reshape(*self.shape[:-2], channels, *kernel_size, *places)
    padded = [size + 2 * width for size, width in zip(output_size, padding, strict=True)]
    result = np.zeros((*self.shape[:-2], channels, *padded), columns.dtype)
    for tap, rows, along in _taps(kernel_size, dilation, stride, places):
        result[..., rows, along] += columns[(..., *tap, slice(None), slice(None))]
    top, left = padding
    inside = result[..., top : top + output_size[0], left : left + output_size[1]]
    return np.ascontiguousarray(inside).astype(self.dtype, copy=False)


def _taps(
    kernel_size: Shape, dilation: Shape, stride: Shape, places: Shape
) -> Iterator[tuple[tuple[int, int], slice, slice]]:
    """Find for each tap of the kernel where the windows have it."""
    for tap in product(range(kernel_size[0]), range(kernel_size[1])):
        seen = [
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(tap, dilation, places, stride, strict=True)
        ]
        yield tap, seen[0], seen[1]


def _checked_places(
    shape: Shape,
    output_size: Shape,
    kernel_size: Shape,
    dilation: Shape,
    padding: Shape,
    stride: Shape,
) -> Shape:
    if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    rows, columns = shape[-2:]
    if rows % (kernel_size[0] * kernel_size[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={_text(kernel_size)}."
        )
    places = _places(output_size, kernel_size, dilation, padding, stride)
    if columns != places[0] * places[1]:
        raise RuntimeError(
            f"Given output_size={_text(output_size)}, kernel_size={_text(kernel_size)}, "
            f"dilation={_text(dilation)}, padding={_text(padding)}, stride={_text(stride)}, "
            "expected size of input's dimension 2 to match the calculated number of sliding "
            f"blocks {places[0]} * {places[1]} = {places[0] * places[1]}, but got "
            f"input.size(2)={columns}."
        )
    if min(places) < 1:
        raise RuntimeError(
            f"Given output_size={_text(output_size)}, kernel_size={_text(kernel_size)}, "
            f"dilation={_text(dilation)}, padding={_text(padding)}, stride={_text(stride)}, "
            f"calculated shape of the array of sliding blocks as {_text(places)}, which is too "
            "small (non-positive)"
        )
    return places


@derivative(col2im, wrt="self")
def col2im_self(grad, kernel_size, dilation, padding, stride):
    return im2col(grad, kernel_size, dilation, padding, stride)


# --- the functions ---------------------------------------------------------------------------


def _pair(function: str, name: str, position: int, value: Any) -> Shape:
    given = value if isinstance(value, (list, tuple)) else (value, value)
    return integers(function, name, given, position)


@composite(method=False, public=False)
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Cut an image into windows, each of which becomes a column.

    Args:
        input: image (N, C, H, W) or (C, H, W).
        kernel_size: size (K₁, K₂) of a window, a number or a pair.
        dilation: distance of a window's elements, a number or a pair.
        padding: zeros added on all sides, a number or a pair.
        stride: step from window to window, a number or a pair.

    Shape: (N, C · K₁ · K₂, number of windows).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.unfold(taper.arange(4.0).view(1, 1, 2, 2), (1, 2))
        tensor([[[0., 2.],
                 [1., 3.]]])
    """
    return im2col(
        input,
        _pair("im2col", "kernel_size", 2, kernel_size),
        _pair("im2col", "dilation", 3, dilation),
        _pair("im2col", "padding", 4, padding),
        _pair("im2col", "stride", 5, stride),
    )


@composite(method=False, public=False)
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Add up windows into an image, where they overlap: the reverse of `unfold`.

    Args:
        input: columns (N, C · K₁ · K₂, number of windows), or without N.
        output_size: size (H, W) of the image.
        kernel_size: size (K₁, K₂) of a window, a number or a pair.
        dilation: distance of a window's elements, a number or a pair.
        padding: zeros that `unfold` added on all sides, a number or a pair.
        stride: step from window to window, a number or a pair.

    Shape: (N, C, H, W).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fold(taper.ones(1, 2, 2), (1, 3), (1, 2))
        tensor([[[[1., 2., 1.]]]])
    """
    return col2im(
        input,
        _pair("col2im", "output_size", 2, output_size),
        _pair("col2im", "kernel_size", 3, kernel_size),
        _pair("col2im", "dilation", 4, dilation),
        _pair("col2im", "padding", 5, padding),
        _pair("col2im", "stride", 6, stride),
    )
