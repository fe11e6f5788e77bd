"""Copies, conversions and writes: clone, contiguous, to, copy_, fill_, zero_."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.device import contiguous_format, preserve_format
from taper.opdef import LINEAR, Array, Operand, composite, derivative, op
from taper.ops.shape import expand
from taper.tensor import Tensor, wrap


@op(tangent=LINEAR)
def clone(self: Array, *, memory_format: Any = None) -> Array:
    """A copy with its own memory.

    >>> import taper
    >>> taper.clone(taper.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    order: Any = "C" if memory_format is contiguous_format else "K"
    return np.array(self, order=order)


@derivative(clone, wrt="self")
def clone_self(grad: Array) -> Array:
    return grad


@composite(public=False)
def contiguous(input: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in row-major order, else a copy that does."""
    if input._array.flags.c_contiguous:
        return input
    return clone(input, memory_format=memory_format)


@composite(public=False)
def is_contiguous(input: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    return input._array.flags.c_contiguous


@op(name="copy", node="CopyBackwards", inplace=True, public=False, method=False, tangent=LINEAR)
def copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
    """The values of `src` in the shape and dtype of `self`."""
    if src.dtype != self.dtype:
        src = src.astype(self.dtype)
    return np.broadcast_to(src, self.shape)


@derivative(copy, wrt="self")
def copy_self(grad: Array) -> Array:
    return zeros_of(grad)


@derivative(copy, wrt="src")
def copy_src(grad: Array) -> Array:
    return grad


def zeros_of(grad: Any) -> Any:
    if isinstance(grad, Tensor):
        return wrap(np.zeros(grad._array.shape, grad._array.dtype))
    return np.zeros(grad.shape, grad.dtype)


@op(name="fill", inplace=True, tangent=LINEAR)
def fill(self: Array, value: Operand) -> Array:
    """A tensor of the same shape with `value` everywhere.

    >>> import taper
    >>> taper.fill(taper.tensor([1.0, 2.0]), 3)
    tensor([3., 3.])
    """
    return np.full(self.shape, value, self.dtype)


@derivative(fill, wrt="self")
def fill_self(grad: Array) -> Array:
    return zeros_of(grad)


@op(name="zero", inplace=True, public=False, method=False, tangent=LINEAR)
def zero(self: Array) -> Array:
    """Zeros of the same shape and dtype."""
    return np.zeros(self.shape, self.dtype)


@derivative(zero, wrt="self")
def zero_self(grad: Array) -> Array:
    return zeros_of(grad)


@op(name="_to_copy", node="ToCopyBackward0", tangent=LINEAR, public=False, method=False)
def to_copy(self: Array, dtype: Any) -> Array:
    """A copy in another dtype."""
    return self.astype(dtype.numpy)


@derivative(to_copy, wrt="self")
def to_copy_self(grad: Array) -> Array:
    # The engine casts a gradient to the dtype of what it is the gradient of.
    return grad


@composite(public=False)
def to(input: Tensor, *args: Any, dtype: Any = None, copy: bool = False) -> Tensor:
    """The tensor in another dtype; itself if nothing changes."""
    for each in args:
        if type(each) is dtypes.dtype:
            dtype = each
        elif isinstance(each, Tensor):
            dtype = each.dtype
    if dtype is None or dtype is input.dtype:
        return clone(input) if copy else input
    return to_copy(input, dtype)


@composite(public=False)
def new_empty_strided(input: Tensor, size: Any, stride: Any, dtype: Any = None) -> Tensor:
    """An uninitialised tensor with the given strides."""
    chosen = (dtype or input.dtype).numpy
    reach = 1
    for length, step in zip(size, stride, strict=True):
        reach = 0 if length == 0 or reach == 0 else reach + (length - 1) * step
    memory = np.empty(reach, chosen)
    strides = [step * memory.itemsize for step in stride]
    return wrap(np.ndarray(size, chosen, memory, 0, strides) if reach else np.empty(size, chosen))


__all__ = ["expand", "preserve_format"]
