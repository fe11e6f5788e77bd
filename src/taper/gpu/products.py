"""Products of matrices on the device, by cuBLAS.

cuBLAS counts along columns: a row-major product A B is its product Bᵀ Aᵀ, so that operands change
places, and a matrix that lies transposed is taken as it is.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from cupy.cuda import cublas, device

from taper.arrays.strides import reshaped
from taper.gpu.array import CudaArray, address, empty
from taper.gpu.texts import BFLOAT16
from taper.settings import get_float32_matmul_precision

# Types of cuBLAS: of the data, and of what is computed in.
_DATA = {np.dtype("f4"): 0, np.dtype("f8"): 1, np.dtype("f2"): 2, BFLOAT16: 14}
_COMPUTED = {np.dtype("f4"): 68, np.dtype("f8"): 70, np.dtype("f2"): 68, BFLOAT16: 68}
_TF32 = 77


class _Numbers:
    """One and zero, where cuBLAS reads them."""

    def __init__(self, kind: Any) -> None:
        self.values = (kind(1), kind(0))
        self.one, self.zero = map(ctypes.addressof, self.values)


_SINGLE, _DOUBLE = _Numbers(ctypes.c_float), _Numbers(ctypes.c_double)


def _layout(array: Any) -> tuple[int, int, int] | None:
    """Whether cuBLAS sees the last two dimensions turned, its leading dimension, and the stride.

    None if they lie otherwise, or if the matrices of a stack are not evenly apart.
    """
    item = array.itemsize
    rows, columns = array.shape[-2:]
    down, along = array.strides[-2] // item, array.strides[-1] // item
    if (along == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
        turned, leading = 0, max(down if rows > 1 else columns, columns, 1)
    elif (down == 1 or rows == 1) and (along >= max(rows, 1) or columns == 1):
        turned, leading = 1, max(along if columns > 1 else rows, rows, 1)
    else:
        return None
    return turned, leading, array.strides[0] // item if array.ndim == 3 else 0


def matmul(one: Any, other: Any) -> Any:
    """The product of two arrays as `np.matmul` has it, or NotImplemented."""
    if one.__class__ is not CudaArray or other.__class__ is not CudaArray:
        return NotImplemented
    dtype = one.dtype
    if dtype not in _DATA or other.dtype is not dtype or not one.ndim or not other.ndim:
        return NotImplemented
    left, right = one, other
    if one.ndim == 1:
        left = one.reshape(1, -1)
    if other.ndim == 1:
        right = other.reshape(-1, 1)
    if left.shape[-1] != right.shape[-2] or not left.size or not right.size:
        return NotImplemented
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    out = empty((*lead, left.shape[-2], right.shape[-1]), dtype)
    result = out
    if len(lead) == 0:
        _product(left, right, out, 1)
    elif right.ndim == 2 and left.flags.c_contiguous:  # the stack is one tall matrix
        _product(left.reshape(-1, left.shape[-1]), right, out.reshape(-1, out.shape[-1]), 1)
    else:
        count = math.prod(lead)
        left, right = _stack(left, lead, count), _stack(right, lead, count)
        _product(left, right, out.reshape(count, *out.shape[-2:]), count)
    if one.ndim == 1:
        result = result[..., 0, :]
    if other.ndim == 1:
        result = result[..., 0]
    return result


def _stack(array: Any, lead: tuple[int, ...], count: int) -> Any:
    """The matrices one after the other, perhaps all in one place."""
    if array.ndim == 2:
        return array
    if array.shape[:-2] != lead:
        if math.prod(array.shape[:-2]) == 1:
            return array.reshape(array.shape[-2:])
        array = np.broadcast_to(array, (*lead, *array.shape[-2:]))
    try:
        return reshaped(array, (count, *array.shape[-2:]))
    except ValueError:
        return array.copy().reshape(count, *array.shape[-2:])


def product(left: Any, right: Any, out: Any) -> None:
    """Write the products of two stacks of matrices, which may be half types, into a third."""
    _product(left, right, out, len(out))


def _product(left: Any, right: Any, out: Any, count: int) -> None:
    first, second = _layout(left), _layout(right)
    if first is None:
        left = left.copy()
        first = 0, left.shape[-1], left.shape[-1] * left.shape[-2] * (left.ndim == 3)
    if second is None:
        right = right.copy()
        second = 0, right.shape[-1], right.shape[-1] * right.shape[-2] * (right.ndim == 3)
    data, written = _DATA[left.dtype], _DATA[out.dtype]
    numbers = _DOUBLE if data == 1 else _SINGLE
    computed = (
        _TF32
        if data == 0 and get_float32_matmul_precision() != "highest"
        else _COMPUTED[left.dtype]
    )
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    lengths = second[0], first[0], columns, rows, inner, numbers.one
    one, other, result = address(left), address(right), address(out)
    handle = device.get_cublas_handle()
    if count == 1:
        operands = (other, data, second[1], one, data, first[1], numbers.zero)
        cublas.gemmEx(handle, *lengths, *operands, result, written, columns, computed, -1)
        return
    stacked = (other, data, *second[1:], one, data, *first[1:], numbers.zero)
    stack = (result, written, columns, rows * columns, count)
    cublas.gemmStridedBatchedEx(handle, *lengths, *stacked, *stack, computed, -1)
