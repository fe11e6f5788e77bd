"""Averages over windows of one size: `avg_pool1d/2d/3d`, and with powers `lp_pool1d/2d/3d`.

Owns: these operators, their gradients and the public functions.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import laid_out_like
from taper.arrays.strides import Shape, wrap_dim
from taper.arrays.windows import Windows, along, combined_all, row_major, spread_all
from taper.factory import refuse
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.opdef.dtype_checks import not_implemented
from taper.ops.activation.straight import relu
from taper.ops.elementwise.unary import zeros_like
from taper.ops.linalg.matmul import same_dtype
from taper.ops.pool.checks import (
    FLOATS,
    flag,
    numbers_of,
    one_number,
    pool_windows,
    require_dims,
    require_dtype,
    require_range,
    tensor,
    whole_numbers,
)
from taper.ops.pool.max import max_pool1d, max_pool2d, max_pool3d
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.tensor import Tensor

# --- the computation -------------------------------------------------------------------------


def _windows(
    shape: Shape, rank: int, kernel: Shape, stride: Shape, padding: Shape, ceil_mode: bool
) -> list[Windows]:
    """Check the windows along the last dimensions."""
    name = f"avg_pool{rank}d"
    if rank == 3:
        require_dims(shape, 3)
    else:
        wrap_dim(-3, len(shape))  # PyTorch checks the channels first
    stride = numbers_of(name, "stride", stride, rank) if stride else kernel
    ones = (1,) * rank
    return pool_windows(shape, kernel, stride, padding, ones, ceil_mode, "avg_pool3d()")


def _check_settings(
    rank: int, kernel: Shape, stride: Shape, padding: Shape, divisor: int | None
) -> tuple[Shape, Shape]:
    name = f"avg_pool{rank}d"
    kernel = numbers_of(name, "kernel_size", kernel, rank)
    if stride:
        numbers_of(name, "stride", stride, rank)
    padding = numbers_of(name, "padding", padding, rank)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    return kernel, padding


def _divisor(
    windows: list[Windows], kernel: Shape, padding: Shape, with_padding: bool, ndim: int
) -> Any:
    """Compute what each window's sum is divided by: its number of elements."""
    total: Any = 1
    for number, (each, size, border) in enumerate(zip(windows, kernel, padding, strict=True)):
        starts = each.starts
        ends = np.minimum(starts + size, each.length + (border if with_padding else 0))
        counts = ends - (starts if with_padding else np.maximum(starts, 0))
        if (counts == counts[0]).all():
            total = total * int(counts[0])
        else:
            total = total * along(counts, ndim, ndim - len(windows) + number)
    return total


def _divided(sums: ndarray, divisor: Any) -> ndarray:
    """Divide sums in place; whole numbers lose the fraction."""
    if sums.dtype.kind == "i":
        result = np.abs(sums) // np.abs(divisor)
        return np.asarray(result * np.sign(sums) * np.sign(divisor))
    factor = divisor if isinstance(divisor, int) else divisor.astype(sums.dtype)
    return np.asarray(np.divide(sums, factor, out=sums))


@lru_cache(maxsize=256)
def _prepared(
    shape: Shape,
    rank: int,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    ceil_mode: bool,
    with_padding: bool,
    divisor: int | None,
) -> tuple[list[Windows], Any]:
    """Check the settings; return the windows and what their sums are divided by."""
    kernel, padding = _check_settings(rank, kernel, stride, padding, divisor)
    windows = _windows(shape, rank, kernel, stride, padding, ceil_mode)
    if divisor is None:
        return windows, _divisor(windows, kernel, padding, with_padding, len(shape))
    return windows, divisor


def _averages(array: ndarray, rank: int, *settings: Any) -> ndarray:
    windows, divisor = _prepared(array.shape, rank, *settings)
    kernel_name = "avg_pool2d" if rank == 2 else "avg_pool3d_out_frame"
    require_dtype(kernel_name, array, (*FLOATS, "int64"))
    result = _divided(combined_all(np.add, array, windows), divisor)
    return laid_out_like(result, array) if rank == 2 else result


def _backward(grad: ndarray, array: ndarray, rank: int, *settings: Any) -> ndarray:
    windows, divisor = _prepared(array.shape, rank, *settings)
    result = spread_all(_divided(row_major(grad).copy(), divisor), windows)
    return laid_out_like(result, array) if rank == 2 else result


# --- the operators ---------------------------------------------------------------------------


@op(
    name="avg_pool2d",
    tangent=LINEAR,
    upcast=True,
    out=same_dtype,
    public=False,
    method=False,
)
def average2d(
    self: Array,
    kernel_size: Shape,
    stride: Shape = (),
    padding: Shape = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Average each window of the last two dimensions."""
    return _averages(
        self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@derivative(average2d, wrt="self")
def average2d_self(
    grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    return avg_pool2d_backward(
        grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def avg_pool2d_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Shape,
    stride: Shape,
    padding: Shape,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """Compute what each element of `self` gets from the windows it lies in."""
    settings = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _backward(grad_output, self, 2, *settings)


@derivative(avg_pool2d_backward, wrt="grad_output")
def avg_pool2d_backward_grad(
    grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    return average2d(
        grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@derivative(avg_pool2d_backward, wrt="self")
def avg_pool2d_backward_self(grad):
    return zeros_like(grad)


_NO_HALF = not_implemented("avg_pool3d_out_frame", "float16", "bfloat16")


@op(
    name="avg_pool3d",
    tangent=LINEAR,
    upcast=True,
    check=_NO_HALF,
    out=same_dtype,
    public=False,
    method=False,
)
def average3d(
    self: Array,
    kernel_size: Shape,
    stride: Shape = (),
    padding: Shape = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Average each window of the last three dimensions."""
    return _averages(
        self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@derivative(average3d, wrt="self")
def average3d_self(
    grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    return avg_pool3d_backward(
        grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@op(tangent=LINEAR, public=False, method=False)
def avg_pool3d_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Shape,
    stride: Shape,
    padding: Shape,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """Compute what each element of `self` gets from the windows it lies in."""
    settings = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _backward(grad_output, self, 3, *settings)


@derivative(avg_pool3d_backward, wrt="grad_output")
def avg_pool3d_backward_grad(
    grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    return average3d(
        grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@derivative(avg_pool3d_backward, wrt="self")
def avg_pool3d_backward_self(grad):
    return zeros_like(grad)


# --- the functions ---------------------------------------------------------------------------


def _average_settings(function: str, rank: int, *values: Any) -> tuple[Any, ...]:
    """Return the settings of an average as tuples and flags."""
    kernel, stride, padding, ceil_mode, with_padding = values
    return (
        whole_numbers(function, "kernel_size", 2, kernel, rank),
        () if stride is None else whole_numbers(function, "stride", 3, stride, rank),
        whole_numbers(function, "padding", 4, padding, rank),
        flag(function, "ceil_mode", 5, ceil_mode),
        flag(function, "count_include_pad", 6, with_padding),
    )


def _check_divisor(function: str, divisor: Any) -> None:
    if divisor is not None and (not isinstance(divisor, int) or isinstance(divisor, bool)):
        refuse(function, "divisor_override", 0, "int", divisor)


@composite(method=False)
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Average each window of the last dimension.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: zeros added at both ends, at most K / 2.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether padding counts in the averages.

    Shape: (N, C, ⌊(L + 2·padding - K) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> taper.avg_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]])
    """
    values = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    sizes, steps, borders, *flags = _average_settings("avg_pool1d", 1, *values)
    require_range("avg_pool1d", tensor("avg_pool1d", input)._array.shape)
    kernel = one_number("avg_pool1d", "kernel_size", sizes)
    step = one_number("avg_pool1d", "stride", steps or sizes)
    border = one_number("avg_pool1d", "padding", borders)
    flat = unsqueeze(input, -2)
    found = average2d(flat, (1, kernel), (1, step), (0, border), *flags, None)
    return squeeze_dim(found, -2)


@composite(method=False, public=False)
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Average each window of the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: zeros added on all sides, at most K / 2.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether padding counts in the averages.
        divisor_override: number to divide the sums by instead of the size of the window.
        out: tensor that receives the result.

    Shape: (N, C, H', W'), with H' = ⌊(H + 2·padding - K) / stride⌋ + 1 and W' alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.avg_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    values = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    settings = _average_settings("avg_pool2d", 2, *values)
    _check_divisor("avg_pool2d", divisor_override)
    return average2d(tensor("avg_pool2d", input), *settings, divisor_override, out=out)


@composite(method=False, public=False)
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Average each window of the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: zeros added on all sides, at most K / 2.
        ceil_mode: round the number of windows up, not down.
        count_include_pad: whether padding counts in the averages.
        divisor_override: number to divide the sums by instead of the size of the window.
        out: tensor that receives the result.

    Shape: (N, C, D', H', W'), with D' = ⌊(D + 2·padding - K) / stride⌋ + 1, and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.avg_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    values = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    settings = _average_settings("avg_pool3d", 3, *values)
    _check_divisor("avg_pool3d", divisor_override)
    return average3d(tensor("avg_pool3d", input), *settings, divisor_override, out=out)


# --- averages of powers ----------------------------------------------------------------------


def _root(averages: Tensor, count: Any, norm_type: float) -> Tensor:
    """Take the root of sums that were averaged; what rounding made negative becomes zero."""
    return (averages.sign() * relu(averages.abs())).mul(count).pow(1.0 / norm_type)


def _for_each_dim(kernel_size: Any, rank: int) -> Any:
    return (kernel_size,) * rank if isinstance(kernel_size, int) else kernel_size


@composite(method=False, public=False)
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Take the norm of order `norm_type` of each window of the last dimension.

    result = (Σ xᵖ)^(1/p), with p = norm_type

    Args:
        input: a tensor (N, C, L) or (C, L).
        norm_type: p.
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        ceil_mode: round the number of windows up, not down.

    Shape: (N, C, ⌊(L - K) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.lp_pool1d(taper.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
        tensor([[ 5., 10.]])
    """
    if norm_type == math.inf:
        return max_pool1d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    averages = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(averages, kernel_size, norm_type)


@composite(method=False, public=False)
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Take the norm of order `norm_type` of each window of the last two dimensions.

    result = (Σ xᵖ)^(1/p), with p = norm_type

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        norm_type: p.
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        ceil_mode: round the number of windows up, not down.

    Shape: (N, C, H', W'), with H' = ⌊(H - K) / stride⌋ + 1 and W' alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.lp_pool2d(taper.tensor([[[1.0, 1.0], [1.0, 1.0]]]), 2, 2)
        tensor([[[2.]]])
    """
    if norm_type == math.inf:
        return max_pool2d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    high, wide = _for_each_dim(kernel_size, 2)
    averages = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(averages, high * wide, norm_type)


@composite(method=False, public=False)
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Take the norm of order `norm_type` of each window of the last three dimensions.

    result = (Σ xᵖ)^(1/p), with p = norm_type

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        norm_type: p.
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        ceil_mode: round the number of windows up, not down.

    Shape: (N, C, D', H', W'), with D' = ⌊(D - K) / stride⌋ + 1, and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.lp_pool3d(taper.ones(1, 2, 2, 2), 3, 2)
        tensor([[[[2.]]]])
    """
    if norm_type == math.inf:
        return max_pool3d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    deep, high, wide = _for_each_dim(kernel_size, 3)
    averages = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(averages, deep * high * wide, norm_type)
