"""The largest element in windows of one size: `max_pool1d/2d/3d`, with or without its place.

Owns: these operators, their gradients and the public functions.  One dimension is pooled as two
of which the first has length 1, so that the graph shows the nodes that PyTorch's does.  Averages
are in `average`.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import channels_are_last, laid_out_like
from taper.arrays.strides import Shape, strided
from taper.arrays.windows import (
    Windows,
    added_at,
    combined_all,
    maxima_with_places,
    regular_windows,
    taken_at,
)
from taper.autograd.state import INFERENCE, NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.unary import zeros_like
from taper.ops.index.gather import gather
from taper.ops.pool.checks import (
    FLOATS,
    NUMBERS,
    flag,
    numbers_of,
    one_number,
    output_length,
    pool_windows,
    require_dims,
    require_dtype,
    require_range,
    tensor,
    whole_numbers,
)
from taper.ops.shape.ones import squeeze_dim, unsqueeze, view_as_shape
from taper.tensor import Tensor

# --- the largest element ---------------------------------------------------------------------


@lru_cache(maxsize=256)
def max_windows(
    shape: Shape, rank: int, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, up: bool
) -> list[Windows]:
    """Check the windows of a maximum over the last two or three dimensions."""
    name = f"max_pool{rank}d"
    kernel = numbers_of(name, "kernel_size", kernel, rank)
    stride = numbers_of(name, "stride", stride, rank) if stride else kernel
    padding = numbers_of(name, "padding", padding, rank)
    dilation = numbers_of(name, "dilation", dilation, rank)
    require_dims(shape, rank)
    empty = "max_pool3d_with_indices_out_cpu_template()"
    return pool_windows(shape, kernel, stride, padding, dilation, up, empty)


def _max_with_indices(array: ndarray, rank: int, *settings: Any) -> tuple[ndarray, ndarray]:
    windows = max_windows(array.shape, rank, *settings)
    require_dtype(f"max_pool{rank}d", array, NUMBERS)
    values, places = maxima_with_places(array, windows)
    return _like_volumes(values, array, rank), _like_volumes(places, array, rank)


def _like_volumes(result: ndarray, array: ndarray, rank: int) -> ndarray:
    """Give the result the memory format of the input, even of one volume without a batch."""
    if rank != 3 or array.ndim == 5:
        return laid_out_like(result, array)
    shape, strides = array.shape, array.strides
    if channels_are_last(shape, strides):
        raise RuntimeError("Unsupported memory format. Supports only ChannelsLast3d, Contiguous")
    whole = strided(array, (1, *shape), (shape[0] * strides[0], *strides))
    return laid_out_like(result[None], whole)[0]


def _max_backward(grad: ndarray, array: ndarray, rank: int, indices: ndarray) -> ndarray:
    return laid_out_like(added_at(grad, indices, rank, array.shape), array)


def at_indices(grad: Any, indices: Any, rank: int) -> Any:
    """Take the elements at indices into planes, arrays or Tensors: the adjoint of unpooling."""
    if type(grad) is ndarray:
        return taken_at(grad, indices, rank)
    shape = grad._array.shape
    lead, places = shape[: len(shape) - rank], indices._array.shape
    planes = view_as_shape(grad.contiguous(), (*lead, math.prod(shape[len(lead) :])))
    flat = view_as_shape(indices.contiguous(), (*lead, math.prod(places[len(lead) :])))
    return view_as_shape(gather(planes, -1, flat), places)


@op(
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    upcast=True,
    public=False,
    method=False,
)
def max_pool2d_with_indices(
    self: Array,
    kernel_size: Shape,
    stride: Shape = (),
    padding: Shape = (0,),
    dilation: Shape = (1,),
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """Find the largest element in each window, and its place in the plane."""
    return _max_with_indices(self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@derivative(max_pool2d_with_indices, wrt="self")
def max_pool2d_self(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1):
    return max_pool2d_with_indices_backward(
        grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1
    )


@tangent_of(max_pool2d_with_indices)
def max_pool2d_tangent(self_t, result1):
    return at_indices(self_t, result1, 2), None


@op(tangent=LINEAR, upcast=True, unpromoted=("indices",), public=False, method=False)
def max_pool2d_with_indices_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    """Make zeros in the shape of `self`; add the gradient where the largest elements are."""
    return _max_backward(grad_output, self, 2, indices)


@derivative(max_pool2d_with_indices_backward, wrt="grad_output")
def max_pool2d_backward_grad(grad, indices):
    return at_indices(grad, indices, 2)


@derivative(max_pool2d_with_indices_backward, wrt="self")
def max_pool2d_backward_self(grad):
    return zeros_like(grad)


@op(
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    upcast=True,
    public=False,
    method=False,
)
def max_pool3d_with_indices(
    self: Array,
    kernel_size: Shape,
    stride: Shape = (),
    padding: Shape = (0,),
    dilation: Shape = (1,),
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """Find the largest element in each window, and its place in the volume."""
    return _max_with_indices(self, 3, kernel_size, stride, padding, dilation, ceil_mode)


@derivative(max_pool3d_with_indices, wrt="self")
def max_pool3d_self(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1):
    return max_pool3d_with_indices_backward(
        grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1
    )


@tangent_of(max_pool3d_with_indices)
def max_pool3d_tangent(self_t, result1):
    return at_indices(self_t, result1, 3), None


@op(tangent=LINEAR, upcast=True, unpromoted=("indices",), public=False, method=False)
def max_pool3d_with_indices_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    """Make zeros in the shape of `self`; add the gradient where the largest elements are."""
    return _max_backward(grad_output, self, 3, indices)


@derivative(max_pool3d_with_indices_backward, wrt="grad_output")
def max_pool3d_backward_grad(grad, indices):
    return at_indices(grad, indices, 3)


@derivative(max_pool3d_with_indices_backward, wrt="self")
def max_pool3d_backward_self(grad):
    return zeros_like(grad)


@op(upcast=True, public=False, method=False)
def max_pool_values(
    self: Array,
    kernel_size: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    ceil_mode: bool,
    rank: int,
) -> Array:
    """Find the largest element in each window."""
    settings = (kernel_size, stride, padding, dilation)
    if rank == 1:
        kernel, step, border, distance = (each[0] for each in settings)
        length = self.shape[-1]
        count = output_length(length, kernel, step, border, distance, ceil_mode)
        windows = [regular_windows(length, kernel, step, border, distance, count)]
        require_dtype("max_pool1d_impl", self, FLOATS)
    else:
        windows = max_windows(self.shape, rank, *settings, ceil_mode)
        require_dtype(f"max_pool{rank}d", self, NUMBERS)
    return _like_volumes(combined_all(np.maximum, self, windows), self, rank)


def _wants_indices(input: Tensor) -> bool:
    """Tell whether somebody will ask where the largest elements are, or sees each operator."""
    mode = local.state.mode
    if mode & ~(NO_GRAD | INFERENCE):
        return True
    return not mode and requires_grad(input)


def _max_settings(function: str, rank: int, *values: Any) -> tuple[Any, ...]:
    """Return the settings of a maximum as tuples and a flag."""
    kernel, stride, padding, dilation, ceil_mode = values
    return (
        whole_numbers(function, "kernel_size", 2, kernel, rank),
        () if stride is None else whole_numbers(function, "stride", 3, stride, rank),
        whole_numbers(function, "padding", 4, padding, rank),
        whole_numbers(function, "dilation", 5, dilation, rank),
        flag(function, "ceil_mode", 6, ceil_mode),
    )


def _max_pool(rank: int, input: Any, *values: Any) -> Tensor:
    function = f"max_pool{rank}d"
    settings = _max_settings(function, rank, *values)
    if not _wants_indices(tensor(function, input)):
        return max_pool_values(input, *settings, rank)
    operator = max_pool2d_with_indices if rank == 2 else max_pool3d_with_indices
    return operator(input, *settings)[0]


# --- the largest element in one dimension ----------------------------------------------------


def _check_max_pool1d(shape: Shape, *settings: Any) -> tuple[int, int, int, int]:
    """Check the four numbers of `max_pool1d`, which is not checked as two dimensions."""
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(shape)}"
        )
    kinds = ("an int, list of ints or", "None, an int, list of ints, or")
    words = (kinds[0], kinds[1], "an int, list of ints, or", kinds[0])
    names = ("kernel_size", "stride", "padding", "dilation")
    for name, kind, numbers in zip(names, words, settings[:4], strict=True):
        if len(numbers) != 1 and (numbers or name != "stride"):
            raise RuntimeError(
                f"max_pool1d() {name} must be {kind} tuple of ints of size 1 but got size "
                f"{len(numbers)}"
            )
    kernel, padding, dilation = settings[0][0], settings[2][0], settings[3][0]
    stride = settings[1][0] if settings[1] else kernel
    for name, number in (("kernel_size", kernel), ("stride", stride)):
        if number <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {number}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={padding} and kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    count = output_length(shape[-1], kernel, stride, padding, dilation, settings[4])
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
    return kernel, stride, padding, dilation


def _with_indices_1d(input: Tensor, numbers: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
    kernel, stride, padding, dilation = numbers
    flat = unsqueeze(input, -2)
    values, places = max_pool2d_with_indices(
        flat, (1, kernel), (1, stride), (0, padding), (1, dilation), ceil_mode
    )
    return squeeze_dim(values, -2), squeeze_dim(places, -2)


@composite(method=False, name="max_pool1d")
def plain_max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Find the largest element in each window of the last dimension.

    >>> import taper
    >>> taper.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    settings = _max_settings("max_pool1d", 1, kernel_size, stride, padding, dilation, ceil_mode)
    shape = tensor("max_pool1d", input)._array.shape
    numbers = _check_max_pool1d(shape, *settings)
    if _wants_indices(input):
        return _with_indices_1d(input, numbers, ceil_mode)[0]
    return max_pool_values(input, *[(each,) for each in numbers], ceil_mode, 1)


@composite(method=False, name="max_pool1d_with_indices")
def plain_max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """Find the largest element in each window of the last dimension, and its place.

    >>> import taper
    >>> taper.max_pool1d_with_indices(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    name = "max_pool1d_with_indices"
    settings = _max_settings(name, 1, kernel_size, stride, padding, dilation, ceil_mode)
    require_range("max_pool1d", tensor(name, input)._array.shape)
    names = ("kernel_size", "stride", "padding", "dilation")
    given = (settings[0], settings[1] or settings[0], *settings[2:4])
    numbers = [one_number("max_pool1d", *each) for each in zip(names, given, strict=True)]
    return _with_indices_1d(input, numbers, ceil_mode)


# --- the functions of the largest element ----------------------------------------------------


@composite(method=False, name="max_pool2d")
def plain_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Find the largest element in each window of the last two dimensions.

    >>> import taper
    >>> taper.max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[3.]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


@composite(method=False, name="max_pool3d")
def plain_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Find the largest element in each window of the last three dimensions.

    >>> import taper
    >>> taper.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last dimension, and its index.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: -inf added at both ends, at most K / 2.
        dilation: distance of a window's elements.
        ceil_mode: round the number of windows up, not down.
        return_indices: has no effect.

    Returns: the elements and their indices in L, both as `max_pool1d` returns them.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool1d_with_indices(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    steps = () if stride is None else stride
    return plain_max_pool1d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool2d_and_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last two dimensions, and its index.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a pair.
        ceil_mode: round the number of windows up, not down.
        return_indices: has no effect.

    Returns: the elements and their indices, counted in the plane, both as `max_pool2d` returns
        them.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 2)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
    name = "max_pool2d_with_indices"
    settings = _max_settings(name, 2, kernel_size, stride, padding, dilation, ceil_mode)
    found: tuple[Tensor, Tensor] = max_pool2d_with_indices(tensor(name, input), *settings)
    return found


def max_pool3d_and_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Take the largest element of each window of the last three dimensions, and its index.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a triple.
        ceil_mode: round the number of windows up, not down.
        return_indices: has no effect.

    Returns: the elements and their indices, counted in the volume, both as `max_pool3d` returns
        them.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool3d_with_indices(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    name = "max_pool3d_with_indices"
    settings = _max_settings(name, 3, kernel_size, stride, padding, dilation, ceil_mode)
    found: tuple[Tensor, Tensor] = max_pool3d_with_indices(tensor(name, input), *settings)
    return found


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Take the largest element of each window of the last dimension.

    Args:
        input: a tensor (N, C, L) or (C, L).
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: -inf added at both ends, at most K / 2.
        dilation: distance of a window's elements.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are.

    Shape: (N, C, ⌊(L + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool1d(taper.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    steps = () if stride is None else stride
    function = plain_max_pool1d_with_indices if return_indices else plain_max_pool1d
    return function(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Take the largest element of each window of the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a pair.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, H', W'), with H' = ⌊(H + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1 and W'
        alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool2d(taper.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
    if return_indices:
        return max_pool2d_and_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Take the largest element of each window of the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: -inf added on all sides, at most K / 2.
        dilation: distance of a window's elements, a number or a triple.
        ceil_mode: round the number of windows up, not down.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, D', H', W'), with D' = ⌊(D + 2·padding - dilation · (K - 1) - 1) / stride⌋ + 1,
        and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    if return_indices:
        return max_pool3d_and_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    steps = () if stride is None else stride
    return plain_max_pool3d(input, kernel_size, steps, padding, dilation, ceil_mode)
