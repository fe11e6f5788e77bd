"""Making tensors: from data, filled, counted, and like other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.factory import check_device, dtype_of, finish, shape_of
from taper.opdef import composite
from taper.tensor import Tensor


def array_of(data: Any) -> np.ndarray:
    if isinstance(data, Tensor):
        return data._array.copy()
    array = np.array(data)
    if isinstance(data, np.ndarray | np.generic):
        return array
    if array.dtype == np.float64:
        return array.astype(dtypes.default.float_numpy)
    if array.dtype == np.complex128:
        return array.astype(dtypes.default.complex_numpy)
    return array


@composite(method=False)
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    check_device("tensor", device)
    array = array_of(data)
    if dtype is not None:
        array = array.astype(dtype_of("tensor", dtype))
    return finish(np.ascontiguousarray(array).reshape(array.shape), requires_grad)


@composite(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor) and (dtype is None or data.dtype is dtype):
        return data
    if isinstance(data, np.ndarray) and dtype is None:
        return finish(data)
    return tensor(data, dtype=dtype)


@composite(method=False)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    dtypes.of_array(ndarray)
    return finish(ndarray)


def _filled(name: str, value: Any):
    def factory(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False,
                requires_grad=False):
        check_device(name, device)
        shape = shape_of(name, size)
        return finish(np.full(shape, value, dtype_of(name, dtype)), requires_grad)

    factory.__name__ = factory.__qualname__ = name
    return composite(method=False)(factory)


zeros = _filled("zeros", 0)
ones = _filled("ones", 1)
empty = _filled("empty", 0)


@composite(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
         requires_grad=False) -> Tensor:
    if dtype is None:
        dtype = {bool: dtypes.bool_, int: dtypes.int64, complex: dtypes.default.complex}.get(
            type(fill_value), dtypes.default.float)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value._array.item()
    return finish(np.full(shape_of("full", (size,)), fill_value, dtype_of("full", dtype)), requires_grad)


@composite(method=False)
def arange(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None,
           pin_memory=False, requires_grad=False) -> Tensor:
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = dtypes.default.float if any(isinstance(each, float) for each in (start, end, step)) else dtypes.int64
    return finish(np.arange(start, end, step).astype(dtype_of("arange", dtype)), requires_grad)


def _like(name, value):
    def factory(input, *, dtype=None, layout=None, device=None, pin_memory=False,
                requires_grad=False, memory_format=None):
        array = np.full_like(input._array, value, dtype_of(name, dtype, input.dtype))
        return finish(array, requires_grad)
    factory.__name__ = factory.__qualname__ = name
    return composite(method=False)(factory)


zeros_like = _like("zeros_like", 0)
ones_like = _like("ones_like", 1)
empty_like = _like("empty_like", 0)


@composite(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, pin_memory=False,
              requires_grad=False, memory_format=None):
    array = np.full_like(input._array, fill_value, dtype_of("full_like", dtype, input.dtype))
    return finish(array, requires_grad)


def _new(name, value):
    def factory(self, *size, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
        array = np.full(shape_of(name, size), value, dtype_of(name, dtype, self.dtype))
        return finish(array, requires_grad)
    factory.__name__ = factory.__qualname__ = name
    return composite(public=False)(factory)


new_zeros = _new("new_zeros", 0)
new_ones = _new("new_ones", 1)
new_empty = _new("new_empty", 0)


@composite(public=False)
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return tensor(data, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)


@composite(public=False)
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)


@composite(public=False)
def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)


@composite(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    wanted = dtype_of("empty_strided", dtype)
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
    flat = np.zeros(extent, wanted)
    strides = [s * wanted.itemsize for s in stride]
    return finish(np.ndarray(tuple(size), wanted, flat, 0, strides), requires_grad)


@composite(method=False)
def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    return finish(np.array(s, dtype_of("scalar_tensor", dtype)), requires_grad)
