"""Layers on the device: pooling, convolutions as products of patches, batch norm."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from taper.gpu import state
from taper.gpu.array import empty
from taper.gpu.ops import _are_plain, _blocks, own
from taper.gpu.world import helpers

_INT64 = np.dtype(np.int64)


# --- pictures ------------------------------------------------------------------------------------


def _pair(value: Any, default: Any = None) -> tuple[int, int]:
    value = tuple(value) if value else default
    return (value[0], value[0]) if len(value) == 1 else value


@own("max_pool2d_with_indices")
def max_pool(
    kernels: Any,
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = (0,),
    dilation: Any = (1,),
    ceil_mode: bool = False,
) -> Any:
    """The largest elements of windows, and where they are."""
    if ceil_mode or self.ndim not in (3, 4) or not _are_plain(self) or not self.size:
        return NotImplemented
    size = _pair(kernel_size)
    step, pad, wide = _pair(stride, size), _pair(padding, (0,)), _pair(dilation, (1,))
    lengths = [
        (length + 2 * p - d * (k - 1) - 1) // s + 1
        for length, k, s, p, d in zip(self.shape[-2:], size, step, pad, wide, strict=True)
    ]
    if min(lengths) < 1 or any([2 * p > k for p, k in zip(pad, size, strict=True)]):
        return NotImplemented
    shape = (*self.shape[:-2], *lengths)
    out, where = empty(shape, self.dtype), empty(shape, _INT64)
    function = kernels.of("rows", "max_pool", self.dtype)
    planes = math.prod(self.shape[:-2])
    args = (out, where, self, planes, *self.shape[-2:], *lengths, *size, *step, *pad, *wide)
    kernels.launch(function, _blocks(out.size), 256, args)
    return out, where


@own("max_pool2d_with_indices_backward")
def max_pool_gradient(kernels: Any, grad: Any, self: Any, *rest: Any, indices: Any = None) -> Any:
    """Gradients go to where the largest elements were."""
    indices = rest[-1] if indices is None else indices
    if not _are_plain(grad, self) or not self.size or self.itemsize == 2:
        return NotImplemented
    if not indices.flags.c_contiguous:
        return NotImplemented
    out = empty(self.shape, self.dtype, 0)
    function = kernels.of("rows", "max_pool_backward", self.dtype)
    planes = math.prod(self.shape[:-2])
    args = (out, grad, indices, planes, math.prod(self.shape[-2:]), math.prod(grad.shape[-2:]))
    kernels.launch(function, _blocks(grad.size), 256, args)
    return out


class _Convolution:
    """What a convolution of pictures as a product of matrices needs to know, by its form."""

    def __init__(self, shape: Any, weight: Any, how: Any) -> None:
        self.outputs, channels, *kernel = weight
        stride, padding, dilation = how
        self.lengths = tuple(
            [
                (length + 2 * p - d * (k - 1) - 1) // s + 1
                for length, k, s, p, d in zip(
                    shape[2:], kernel, stride, padding, dilation, strict=True
                )
            ]
        )
        self.batch, self.places = shape[0], math.prod(self.lengths)
        self.inner = channels * math.prod(kernel)
        self.columns = (self.inner, self.batch * self.places)
        self.turned = (self.outputs, self.batch * self.places)
        self.matrix = (self.outputs, self.inner)
        self.out = (self.batch, self.outputs, *self.lengths)
        self.numbers = (*shape, *self.lengths, *kernel, *stride, *padding, *dilation)
        self.blocks = [_blocks(math.prod(each)) for each in (self.columns, shape, self.turned)]

    def patches(self, kernels: Any, input: Any) -> Any:
        """The patches of pictures as a matrix (channels x kernel, batch x places)."""
        out = empty(self.columns, input.dtype)
        function = kernels.of("rows", "patches", input.dtype)
        kernels.launch(function, self.blocks[0], 256, (out, input, *self.numbers))
        return out

    def gathered(self, kernels: Any, columns: Any, input: Any) -> Any:
        """The sums of what patches have of each element."""
        out = empty(input.shape, input.dtype)
        function = kernels.of("rows", "patches_backward", input.dtype)
        kernels.launch(function, self.blocks[1], 256, (out, columns, *self.numbers))
        return out

    def turn(self, kernels: Any, out: Any, array: Any, sizes: Any, bias: Any = None) -> Any:
        """Let the first two dimensions change places, and add a bias to what is then the second."""
        function = kernels.of("rows", "turn", out.dtype)
        given = array if bias is None else bias
        args = (out, array, given, *sizes, self.places, int(bias is not None))
        kernels.launch(function, self.blocks[2], 256, args)
        return out


_convolutions: dict[Any, Any] = {}
_MOST_CONVOLUTIONS = 4096


def _convolution(
    input: Any, weight: Any, transposed: bool, groups: int, how: Any, *more: Any
) -> Any:
    """What to do for a convolution, or NotImplemented."""
    if transposed or groups != 1 or not _are_plain(input, weight, *more):
        return NotImplemented
    key = (input.shape, weight.shape, *map(tuple, how))
    found = _convolutions.get(key)
    if found is None:
        found = NotImplemented
        if (
            input.ndim == 4
            and len(how[0]) == 2
            and input.size
            and weight.size
            and input.shape[1] == weight.shape[1]
        ):
            form = _Convolution(input.shape, weight.shape, key[2:])
            found = form if min(form.lengths) > 0 else NotImplemented
        if len(_convolutions) > _MOST_CONVOLUTIONS:
            _convolutions.clear()
        _convolutions[key] = found
    return found


@own("convolution")
def convolution(
    kernels: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """A convolution of pictures as a product of matrices."""
    form = _convolution(input, weight, transposed, groups, (stride, padding, dilation), bias)
    if form is NotImplemented:
        return form
    columns = form.patches(kernels, input)
    weights = _as(weight, form.matrix)
    product = state.runtime.product
    if form.places == 1 and bias is None:  # nothing has to change places
        flat = empty((form.batch, form.outputs), input.dtype)
        product(columns.T, weights.T, flat)
        return _as(flat, form.out)
    flat = empty(form.turned, input.dtype)
    product(weights, columns, flat)
    out = empty(form.out, input.dtype)
    return form.turn(kernels, out, flat, (form.outputs, form.batch), bias)


_as = np.ndarray.reshape  # of an array that lies row by row


@own("convolution_backward")
def convolution_gradients(
    kernels: Any,
    grad: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    needs: Any,
) -> Any:
    """The gradients of input, weight and bias of such a convolution."""
    form = _convolution(input, weight, transposed, groups, (stride, padding, dilation), grad)
    if form is NotImplemented or grad.shape != form.out:
        return NotImplemented
    for_input = for_weight = for_bias = None
    if form.places == 1:
        turned = _as(grad, (form.batch, form.outputs)).T
    else:
        turned = empty(form.turned, grad.dtype)
        form.turn(kernels, turned, grad, (form.batch, form.outputs))
    product = state.runtime.product
    if needs[0]:
        columns = empty(form.columns, grad.dtype)
        product(_as(weight, form.matrix).T, turned, columns)
        for_input = form.gathered(kernels, columns, input)
    if needs[1]:
        columns = form.patches(kernels, input)
        for_weight = empty(weight.shape, weight.dtype)
        product(turned, columns.T, _as(for_weight, form.matrix))
    if needs[2]:
        for_bias = np.add.reduce(turned, axis=1)
    return for_input, for_weight, for_bias


# --- batch norm ----------------------------------------------------------------------------------


@own("native_batch_norm")
def batch_norm(
    kernels: Any,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    eps: float,
) -> Any:
    """Normalise channels by their own statistics."""
    if not training or input.ndim < 2 or not input.size or input.itemsize == 2:
        return NotImplemented
    if not _are_plain(input, weight, bias, running_mean, running_var):
        return NotImplemented
    shape, dtype = input.shape, input.dtype
    vector, batch, channels, places, blocks, at_once = _channels(shape)
    for each in (weight, bias, running_mean, running_var):
        if each is not None and each.shape != vector:
            return NotImplemented
    out, mean = empty(shape, dtype), empty(vector, dtype)
    inverse, variance = empty(vector, dtype), empty(vector, dtype)
    given = (input if weight is None else weight, input if bias is None else bias)
    has = (0 if weight is None else 1, 0 if bias is None else 1)
    function = kernels.of("channels", "statistics", dtype)
    args: Any = (mean, inverse, variance, input, batch, channels, places, np.float64(eps))
    kernels.launch(function, channels, 512, (*args, out, *given, *has, at_once))
    if not at_once:
        function = kernels.of("channels", "normalised", dtype)
        args = (out, input, mean, inverse, *given, input.size, channels, places, *has)
        kernels.launch(function, blocks, 256, args)
    return out, mean, inverse, variance


@functools.lru_cache(4096)
def _channels(shape: tuple[int, ...]) -> tuple[tuple[int], int, int, int, int, int]:
    """What kernels must know of a shape: a vector's, its numbers, and how the work is split."""
    batch, channels, *lengths = shape
    places = math.prod(lengths)
    at_once = int(_is_short(batch * places, channels))
    return (channels,), batch, channels, places, _blocks(math.prod(shape)), at_once


def _is_short(count: int, channels: int) -> bool:
    """Whether the block that has summed a channel may also write it: others have work enough."""
    return count <= 16384 and (channels >= 64 or count <= 4096)


@own("native_batch_norm_all")
def batch_norm_gradients(
    kernels: Any,
    grad: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    mean: Any,
    inverse: Any,
    training: bool,
    eps: float,
    needs: Any,
) -> Any:
    """The gradients of input, weight and bias."""
    if not training or not input.size or input.itemsize == 2:
        return NotImplemented
    if not _are_plain(grad, input, weight, mean, inverse):
        return NotImplemented
    vector, batch, channels, places, blocks, at_once = _channels(input.shape)
    for_weight, for_bias = empty(vector, input.dtype), empty(vector, input.dtype)
    found = empty(input.shape, input.dtype) if needs[0] else None
    given = input if weight is None else weight
    at_once = 0 if found is None else at_once
    function = kernels.of("channels", "sums", input.dtype)
    args = (for_weight, for_bias, grad, input, mean, inverse, batch, channels, places)
    more = (grad if found is None else found, given, int(weight is not None), at_once)
    kernels.launch(function, channels, 512, (*args, *more))
    if found is not None and not at_once:
        function = kernels.of("channels", "input_gradient", input.dtype)
        sums = (for_weight, for_bias, input.size, channels, places, int(weight is not None))
        kernels.launch(function, blocks, 256, (found, grad, input, mean, inverse, given, *sums))
    return found, for_weight if needs[1] else None, for_bias if needs[2] else None


@functools.lru_cache(4096)
def _weights(momentum: float, unbiased: float) -> tuple[np.float64, np.float64, np.float64]:
    """What the old statistics, the mean and the variance count."""
    return np.float64(1.0 - momentum), np.float64(momentum), np.float64(momentum * unbiased)


def _move_both(plain: Any) -> Any:
    """The running statistics, both in one pass."""

    def move(
        running_mean: Any,
        running_var: Any,
        mean: Any,
        variance: Any,
        momentum: float,
        unbiased: float,
    ) -> None:
        kernels, arrays = state.runtime.kernels, (running_mean, running_var, mean, variance)
        if kernels is None or running_mean.itemsize == 2 or not _are_plain(*arrays):
            plain(*arrays, momentum, unbiased)
            return
        numbers = _weights(momentum, unbiased)
        function = kernels.of("channels", "follow", running_mean.dtype)
        channels = running_mean.size
        kernels.launch(function, (channels + 255) // 256, 256, (*arrays, channels, *numbers))

    return move


helpers["taper.ops.norm.batch", "_move_both"] = _move_both
