"""Layers on the device: pooling, convolutions as products of patches, batch norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.gpu import state
from taper.gpu.array import CudaArray, empty
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


def _takes_convolution(
    input: Any, weight: Any, stride: Any, transposed: bool, groups: int, *more: Any
) -> bool:
    return (
        input.ndim == 4
        and len(stride) == 2
        and not transposed
        and groups == 1
        and input.size > 0
        and weight.size > 0
        and input.shape[1] == weight.shape[1]
        and _are_plain(input, weight, *more)
    )


def _patches(kernels: Any, input: Any, weight: Any, lengths: Any, *how: Any) -> Any:
    """The patches of pictures as a matrix (channels x kernel, batch x places)."""
    rows = input.shape[1] * math.prod(weight.shape[2:])
    out = empty((rows, input.shape[0] * math.prod(lengths)), input.dtype)
    function = kernels.of("rows", "patches", input.dtype)
    args = (out, input, *input.shape, *lengths, *weight.shape[2:], *sum(map(tuple, how), ()))
    kernels.launch(function, _blocks(out.size), 256, args)
    return out


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
    if not _takes_convolution(input, weight, stride, transposed, groups, bias):
        return NotImplemented
    lengths = [
        (length + 2 * p - d * (k - 1) - 1) // s + 1
        for length, k, s, p, d in zip(
            input.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True
        )
    ]
    if min(lengths) < 1:
        return NotImplemented
    columns = _patches(kernels, input, weight, lengths, stride, padding, dilation)
    outputs = weight.shape[0]
    flat = np.matmul(weight.reshape(outputs, -1), columns).reshape(outputs, len(input), -1)
    out = empty((len(input), outputs, math.prod(lengths)), input.dtype)
    turned = flat.transpose(1, 0, 2)
    if bias is None:
        out[...] = turned
    else:
        np.add(turned, bias.reshape(-1, 1), out=out)
    return out.reshape(len(input), outputs, *lengths)


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
    if not _takes_convolution(input, weight, stride, transposed, groups, grad):
        return NotImplemented
    batch, outputs, *lengths = grad.shape
    for_input = for_weight = for_bias = None
    # A copy: (outputs, batch x places).
    turned = grad.reshape(batch, outputs, -1).transpose(1, 0, 2).reshape(outputs, -1)
    if needs[0]:
        columns = np.matmul(weight.reshape(outputs, -1).T, turned)
        for_input = _gathered(kernels, columns, input, weight, lengths, stride, padding, dilation)
    if needs[1]:
        columns = _patches(kernels, input, weight, lengths, stride, padding, dilation)
        for_weight = np.matmul(turned, columns.T).reshape(weight.shape)
    if needs[2]:
        for_bias = np.add.reduce(turned, axis=1)
    return for_input, for_weight, for_bias


def _gathered(kernels: Any, columns: Any, input: Any, weight: Any, lengths: Any, *how: Any) -> Any:
    """Sum what the patches have of each element."""
    out = empty(input.shape, input.dtype)
    function = kernels.of("rows", "patches_backward", input.dtype)
    args = (out, columns, *input.shape, *lengths, *weight.shape[2:], *sum(map(tuple, how), ()))
    kernels.launch(function, _blocks(out.size), 256, args)
    return out


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
    vectors = (weight, bias, running_mean, running_var)
    if not _are_plain(input, *vectors):
        return NotImplemented
    batch, channels = input.shape[:2]
    if any([each is not None and each.shape != (channels,) for each in vectors]):
        return NotImplemented
    places = math.prod(input.shape[2:])
    out = empty(input.shape, input.dtype)
    mean, inverse, variance = (empty((channels,), input.dtype) for _ in range(3))
    function = kernels.of("channels", "statistics", input.dtype)
    args = (mean, inverse, variance, input, batch, channels, places, np.float64(eps))
    kernels.launch(function, channels, 512, args)
    function = kernels.of("channels", "normalised", input.dtype)
    given = [input if each is None else each for each in (weight, bias)]
    has = [int(each is not None) for each in (weight, bias)]
    args = (out, input, mean, inverse, *given, input.size, channels, places, *has)
    kernels.launch(function, _blocks(input.size), 256, args)
    return out, mean, inverse, variance


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
    batch, channels = input.shape[:2]
    places = math.prod(input.shape[2:])
    for_weight, for_bias = (empty((channels,), input.dtype) for _ in range(2))
    function = kernels.of("channels", "sums", input.dtype)
    args = (for_weight, for_bias, grad, input, mean, inverse, batch, channels, places)
    kernels.launch(function, channels, 512, args)
    found = None
    if needs[0]:
        found = empty(input.shape, input.dtype)
        function = kernels.of("channels", "input_gradient", input.dtype)
        given = input if weight is None else weight
        sums = (for_weight, for_bias, input.size, channels, places, int(weight is not None))
        kernels.launch(
            function, _blocks(input.size), 256, (found, grad, input, mean, inverse, given, *sums)
        )
    return found, for_weight if needs[1] else None, for_bias if needs[2] else None


def _move(plain: Any) -> Any:
    """The running statistics in one pass."""

    def move(running: Any, found: Any, momentum: float, factor: float) -> None:
        kernels = state.runtime.kernels
        if kernels is None or not _are_plain(running, found) or running.itemsize == 2:
            plain(running, found, momentum, factor)
            return
        numbers = [np.asarray(each, running.dtype) for each in (1.0 - momentum, momentum * factor)]
        kernels.blend("a * c + b * d", (running, found, *numbers), running)

    return move


helpers["taper.ops.norm.batch", "_move"] = _move
