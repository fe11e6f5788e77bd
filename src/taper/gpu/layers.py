"""Layers on the device: pooling, convolutions as products of patches, batch norm, attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.gpu import state
from taper.gpu.array import CudaArray, empty
from taper.gpu.ops import _are_plain, _blocks, _macros, own
from taper.gpu.world import helpers

_INT64 = np.dtype(np.int64)
_SINGLE = np.dtype(np.float32)


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
    function = kernels.named("rows", "max_pool", **_macros(self))
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
    function = kernels.named("rows", "max_pool_backward", **_macros(self))
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
    function = kernels.named("rows", "patches", **_macros(input))
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
    function = kernels.named("rows", "patches_backward", **_macros(input))
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
    function = kernels.named("channels", "statistics", **_macros(input))
    args = (mean, inverse, variance, input, batch, channels, places, np.float64(eps))
    kernels.launch(function, channels, 512, args)
    function = kernels.named("channels", "normalised", **_macros(input))
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
    function = kernels.named("channels", "sums", **_macros(input))
    args = (for_weight, for_bias, grad, input, mean, inverse, batch, channels, places)
    kernels.launch(function, channels, 512, args)
    found = None
    if needs[0]:
        found = empty(input.shape, input.dtype)
        function = kernels.named("channels", "input_gradient", **_macros(input))
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


# --- attention -----------------------------------------------------------------------------------

_FLASH = "_scaled_dot_product_flash_attention_for_cpu"


def _takes_attention(query: Any, key: Any, value: Any, dropout_p: float, mask: Any) -> bool:
    return (
        not dropout_p
        and mask is None
        and query.__class__ is CudaArray
        and query.ndim == 4
        and query.dtype is key.dtype is value.dtype
        and query.dtype.itemsize <= 4
        and query.shape[:2] == key.shape[:2]
        and query.size > 0
        and key.size > 0
        and value.shape[-1] == query.shape[-1]
    )


def _stacked(array: Any) -> Any:
    """The matrices of all heads of all examples, one after the other."""
    plain = array if array.flags.c_contiguous else array.copy()
    return plain.reshape(-1, *array.shape[2:])


_STRIP = 256  # rows of scores that are computed together where the rest of their columns are zero


def _strips(rows: int, length: int, is_causal: bool) -> list[tuple[slice, int]]:
    """Rows that are computed together, and how many columns they need."""
    if not is_causal or rows != length or rows <= _STRIP:
        return [(slice(0, rows), length)]
    starts = range(0, rows, _STRIP)
    return [
        (slice(start, min(start + _STRIP, rows)), min(start + _STRIP, rows)) for start in starts
    ]


def _scores(one: Any, other: Any, strips: Any) -> Any:
    """The products of all rows of one with all rows of the other, as float."""
    out = empty((len(one), one.shape[1], other.shape[1]), _SINGLE)
    for rows, end in strips:
        state.runtime.product(one[:, rows], other[:, :end].swapaxes(1, 2), out[:, rows, :end])
    return out


def _by_rows(weights: Any, values: Any, strips: Any) -> Any:
    """The products of weights and values."""
    out = empty((len(weights), weights.shape[1], values.shape[2]), values.dtype)
    for rows, end in strips:
        state.runtime.product(weights[:, rows, :end], values[:, :end], out[:, rows])
    return out


def _by_columns(weights: Any, values: Any, strips: Any) -> Any:
    """The products of weights, turned over, and values; columns begin where their rows do."""
    out = empty((len(weights), weights.shape[2], values.shape[2]), values.dtype)
    if len(strips) == 1:
        strips = [(slice(0, weights.shape[2]), 0)]
    for columns, _ in strips:
        part = weights[:, columns.start :, columns].swapaxes(1, 2)
        state.runtime.product(part, values[:, columns.start :], out[:, columns])
    return out


def _like(array: Any, stack: Any) -> Any:
    """The matrices of a stack, laid out as an array with heads and examples."""
    found = stack.reshape(array.shape)
    made = np.empty_like(array)
    if made.strides == found.strides:
        return found
    made[...] = found
    return made


def _by_places(array: Any, stack: Any) -> Any:
    """The same, laid out place by place and then head by head, as gradients lie."""
    batch, heads, places, width = array.shape
    made = empty((batch, places, heads, width), array.dtype).transpose(0, 2, 1, 3)
    made[...] = stack.reshape(array.shape)
    return made


@own(_FLASH)
def attention(
    kernels: Any,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """Attend; also return the logarithms of the sums of the rows."""
    if not _takes_attention(query, key, value, dropout_p, attn_mask):
        return NotImplemented
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    q, k, v = map(_stacked, (query, key, value))
    strips = _strips(q.shape[1], k.shape[1], is_causal)
    scores = _scores(q, k, strips)
    count, rows, length = scores.shape
    found = empty(scores.shape, query.dtype)
    logarithms = empty((*query.shape[:2], rows), _SINGLE)
    strip = _STRIP if len(strips) > 1 else 0
    args = (found, logarithms, scores, rows, length, np.float64(factor), int(is_causal), strip)
    if length <= 1024:
        function = kernels.named("attention", "short_weights", **_macros(query))
        kernels.launch(function, (count * rows + 7) // 8, 256, (*args, count * rows))
    else:
        function = kernels.named("attention", "weights", **_macros(query))
        kernels.launch(function, count * rows, 256, args)
    return _like(query, _by_rows(found, v, strips)), logarithms


@own(f"{_FLASH}_backward")
def attention_gradients(
    kernels: Any,
    grad: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logarithms: Any,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """The gradients of query, key and value."""
    if not _takes_attention(query, key, value, dropout_p, attn_mask):
        return NotImplemented
    if grad.dtype is not query.dtype or not logarithms.flags.c_contiguous:
        return NotImplemented
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    q, k, v, g, o = map(_stacked, (query, key, value, grad, out))
    strips = _strips(q.shape[1], k.shape[1], is_causal)
    scores, slopes = _scores(q, k, strips), _scores(g, v, strips)
    count, rows, length = scores.shape
    dots = empty((count, rows), _SINGLE)
    function = kernels.named("attention", "row_dots", **_macros(query))
    kernels.launch(function, count * rows, 64, (dots, g, o, g.shape[-1]))
    weights, found = empty(scores.shape, query.dtype), empty(scores.shape, query.dtype)
    function = kernels.named("attention", "weights_backward", **_macros(query))
    args = (weights, found, scores, slopes, logarithms, dots, rows, length, np.float64(factor))
    last = (int(is_causal), _STRIP if len(strips) > 1 else 0)
    kernels.launch(function, count * rows, 256 if length > 128 else 128, (*args, *last))
    return (
        _by_places(query, _by_rows(found, k, strips)),
        _by_places(key, _by_columns(found, q, strips)),
        _by_places(value, _by_columns(weights, g, strips)),
    )
