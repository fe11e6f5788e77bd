"""What all functions that make tensors share: sizes, options, `out=` and the finished tensor.

Owns: reading `zeros(2, 3)`, `zeros((2, 3))` and `zeros(size=(2, 3))`, the options that every
factory takes, numbers as arguments, allocation, and `requires_grad` and inference mode of new
tensors.  Knows no operator.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from taper import dtypes
from taper.arrays.foreign import device_of, is_foreign, place_of
from taper.arrays.memory import resized
from taper.arrays.native import native
from taper.arrays.scalars import type_name
from taper.arrays.strides import (
    Shape,
    empty_with,
    format_strides,
    in_rows,
    integers,
    preserved_strides,
    row_major,
)
from taper.autograd.interception import announce_write
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import INFERENCE, NO_GRAD, local
from taper.autograd.tensor_api import set_leaf_flag
from taper.autograd.transforms import mark_made
from taper.autograd.views import bump_version, requires_grad
from taper.device import CPU, preserve_format, strided, usable
from taper.device import device as Device
from taper.device import layout as Layout
from taper.device import memory_format as MemoryFormat
from taper.settings import settings
from taper.tensor import Tensor, element_strides, wrap

if native is not None:
    native.know_making(dtypes.default, dtypes.dtype, strided, CPU)

NO_INTEGER_GRADIENTS = "Only Tensors of floating point and complex dtype can require gradients"


# Arguments.


def shape_of(function: str, sizes: Sequence[Any], size: Any = None) -> Shape:
    """Return the shape that the positional `sizes` or the keyword `size` give."""
    if size is not None:
        if sizes:
            raise TypeError(f"{function}() got multiple values for argument 'size'")
        return shape_argument(function, "size", 0, size)
    if not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    if type(sizes[0]) is not int:
        if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)):
            return integers(function, "size", sizes[0], 1)
        if not is_integer(sizes[0]) and not _is_integer_array(sizes[0]):
            if len(sizes) > 1:
                raise TypeError(
                    f"{function}() takes 1 positional argument but {len(sizes)} were given"
                )
            shape_argument(function, "size", 1, sizes[0])
    return integers(function, "size", sizes, 1)


def _is_integer_array(value: Any) -> bool:
    """Return whether a value is a 0-d array of one integer, which counts as a size."""
    return isinstance(value, np.ndarray) and not value.ndim and value.dtype.kind in "iu"


def shape_argument(function: str, name: str, position: int, value: Any) -> Shape:
    """Return an argument that must be a tuple or list of integers; position 0 is a keyword."""
    if not isinstance(value, (list, tuple)):
        refuse(function, name, position, "tuple of ints", value)
    return integers(function, name, value, position)


def is_integer(value: Any) -> bool:
    """Return whether a value counts as an integer: NumPy's and one-element tensors do."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iu"
    if isinstance(value, Tensor):
        return value._array.ndim == 0 and value._array.dtype.kind in "iu"
    return hasattr(value, "__index__")


def integer(function: str, name: str, position: int, value: Any) -> int:
    """Return an argument that must be an integer."""
    if type(value) is int:
        return value
    if not is_integer(value):
        refuse(function, name, position, "int", value)
    return operator.index(value)


def number(function: str, name: str, position: int, value: Any) -> Any:
    """Return an argument that must be a number, as a Python number."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        category = dtypes.number_category(value)
        return float(value) if category == dtypes.FLOATING else value.item()
    if isinstance(value, Tensor) and not value._array.ndim and not requires_grad(value):
        return value._array.item()
    refuse(function, name, position, "Number", value)


def refuse(function: str, name: str, position: int, wanted: str, value: Any) -> NoReturn:
    """Raise the error of an argument of the wrong type; position 0 is a keyword."""
    where = f" (position {position})" if position else ""
    raise TypeError(
        f"{function}(): argument '{name}'{where} must be {wanted}, not {type_name(value)}"
    )


def tensor_argument(function: str, name: str, value: Any) -> np.ndarray:
    """Return the array of a first argument that must be a Tensor."""
    if not isinstance(value, Tensor):
        refuse(function, name, 1, "Tensor", value)
    return value._array


def options(
    function: str,
    dtype: Any,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = False,
    default: dtypes.dtype | None = None,
    like: Tensor | None = None,
) -> tuple[dtypes.dtype, Device]:
    """Check the options of a factory and return dtype and device of what it makes.

    The dtype is `dtype`, `default` or the default one; without `device` it is the device of `like`,
    or the default one.
    """
    if layout is not None and layout is not strided:
        _refuse_layout(function, layout)
    where = like.device if device is None and like is not None else usable(device, function)
    if pin_memory:
        refuse_pinning(function, pin_memory)
    if dtype is None:
        return dtypes.default.float if default is None else default, where
    if type(dtype) is dtypes.dtype:
        return dtype, where
    return dtypes.as_dtype(dtype, function, "dtype"), where


def _refuse_layout(function: str, layout: Any) -> NoReturn:
    if not isinstance(layout, Layout):
        refuse(function, "layout", 0, "torch.layout", layout)
    raise NotImplementedError(
        f"{function}(): {layout} tensors are made by zeros, empty and torch.sparse_coo_tensor"
    )


def refuse_pinning(function: str, pin_memory: Any) -> None:
    """Raise for any `pin_memory` but False: there is no accelerator."""
    if not isinstance(pin_memory, bool):
        refuse(function, "pin_memory", 0, "bool", pin_memory)
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def check_flag(function: str, value: Any, name: str = "requires_grad") -> None:
    if type(value) is not bool and value is not None:
        refuse(function, name, 0, "bool", value)


def check_memory_format(function: str, memory_format: Any) -> None:
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        refuse(function, "memory_format", 0, "torch.memory_format", memory_format)


# Memory.


_LARGE = 2**28  # elements; with fewer NumPy's own error is as quick


def allocate(
    shape: Shape, dtype: np.dtype[Any], filled: Any = None, where: Device = CPU
) -> np.ndarray:
    """Return a new array of a shape that the user gave, uninitialised or filled with one number."""
    if shape and min(shape) < 0:
        negative = next(length for length in shape if length < 0)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative}: {list(shape)}"
        )
    if where is not CPU:
        return _elsewhere(shape, row_major(shape), dtype, filled, where)
    try:
        if filled is not None and not filled and not _is_negative_zero(filled):
            return np.zeros(shape, dtype)
        made = np.empty(shape, dtype)
    except MemoryError:
        raise out_of_memory(math.prod(shape) * dtype.itemsize) from None
    except ValueError:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)}"
        ) from None
    if filled is not None:
        made.fill(filled)
    elif settings.fills_memory:
        fill_uninitialised(made)
    return made


def _elsewhere(
    shape: Shape, strides: Shape, dtype: np.dtype[Any], filled: Any, where: Device
) -> Any:
    """Return the same on another device than the CPU, laid out as `strides` say, in elements."""
    made = place_of(where).empty(shape, strides, dtype, where)
    if filled is not None:
        made.fill(filled)
    return made


def _is_negative_zero(value: Any) -> bool:
    if type(value) is int:
        return False
    number = np.asarray(value)
    return bool(np.signbit(number.real) or (number.dtype.kind == "c" and np.signbit(number.imag)))


def fill_uninitialised(array: np.ndarray) -> None:
    """Fill new memory with NaN or the largest integers if algorithms must be deterministic."""
    if settings.fills_memory and array.size:
        kind = array.dtype.kind
        array.fill(np.iinfo(array.dtype).max if kind in "iu" else True if kind == "b" else math.nan)


def refuse_size(shape: Shape, dtype: np.dtype[Any]) -> None:
    """Raise if an array of this size cannot be allocated, before any work for it is done."""
    if math.prod(shape) >= _LARGE:
        allocate(shape, dtype)


def no_memory(error: MemoryError) -> RuntimeError:
    """Return PyTorch's error for memory that NumPy, or Python, did not get."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return RuntimeError("std::bad_alloc")
    return out_of_memory(math.prod(shape) * dtype.itemsize)


def out_of_memory(nbytes: int) -> RuntimeError:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
        f"memory: you tried to allocate {nbytes} bytes. Error code 12 (Cannot allocate memory)"
    )


def array_like(
    array: np.ndarray,
    dtype: np.dtype[Any],
    memory_format: Any,
    filled: Any = None,
    where: Device | None = None,
) -> np.ndarray:
    """Return a new array of another's shape and, if preserved, its order of dimensions.

    It is on the device `where`, by default that of the array.
    """
    shape = array.shape
    if where is None:
        where = device_of(array)
    if memory_format is None or memory_format is preserve_format:
        if in_rows(array):
            return allocate(shape, dtype, filled, where)
        strides = preserved_strides(shape, element_strides(array))
    else:
        strides = format_strides(shape, memory_format._name)
    if where is not CPU:
        return _elsewhere(shape, strides, dtype, filled, where)
    made: np.ndarray = empty_with(shape, strides, dtype)
    if filled is not None:
        made.fill(filled)
    else:
        fill_uninitialised(made)
    return made


# The finished tensor.


def finish(array: np.ndarray, requires_grad: Any = False, where: Device = CPU) -> Tensor:
    """Return a new leaf on `array`, or a copy of it elsewhere; in inference mode inferred."""
    if where is not CPU and not is_foreign(array):
        array = place_of(where).from_ndarray(array, where)
    made = inferred(wrap(array))
    mark_made(made)
    if requires_grad:
        check_differentiable(array.dtype)
        made._requires_grad = True
    return made


def inferred(made: Tensor) -> Tensor:
    """Return a new tensor, in inference mode as an inference tensor."""
    if local.state.mode & INFERENCE:
        made._counter = INFERENCE_COUNTER
    return made


def check_differentiable(dtype: np.dtype[Any]) -> None:
    if dtypes.FROM_NUMPY[dtype].category < dtypes.FLOATING:
        raise RuntimeError(NO_INTEGER_GRADIENTS)


def out_dtype(function: str, out: Any, dtype: Any, requires_grad_flag: Any) -> dtypes.dtype:
    """Check an `out=` tensor before anything is computed; return its dtype, the result's."""
    if not isinstance(out, Tensor):
        refuse(function, "out", 0, "Tensor", out)
    if dtype is not None and dtypes.as_dtype(dtype, function, "dtype") is not out.dtype:
        raise RuntimeError(
            f"dtype {dtypes.as_dtype(dtype, function, 'dtype').scalar_type} does not match dtype "
            f"of out parameter ({out.dtype.scalar_type})"
        )
    if not local.state.mode & NO_GRAD and requires_grad(out):
        raise RuntimeError(
            f"aten::{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if requires_grad_flag:
        check_differentiable(out._array.dtype)
    return out.dtype


def drawn_for(out: Tensor, shape: Shape) -> np.ndarray:
    """Return an array for random numbers that is filled in the same order as `out` itself."""
    array = out._array
    if array.shape != shape or array.flags.c_contiguous or is_foreign(array):
        return allocate(shape, array.dtype, None, out.device)
    # It takes every second element of its memory, so that it is strided as `out` is.
    twice = np.broadcast_to(array[..., None], (*shape, 2))
    return np.empty_like(twice, order="K", subok=False)[..., 0]


def into(out: Tensor, array: np.ndarray, requires_grad_flag: Any) -> Tensor:
    """Put a new array into an `out=` tensor that `out_dtype` has accepted."""
    if out._array.shape == array.shape:
        announce_write(out)
    else:
        out._array, _ = resized(out._array, array.shape, row_major(array.shape))
    out._array[...] = array
    bump_version(out)
    if out.is_leaf:
        set_leaf_flag(out, bool(requires_grad_flag), NO_INTEGER_GRADIENTS)
    return out
