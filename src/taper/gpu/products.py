"""Products of matrices on the device, by cuBLAS.

cuBLAS counts along columns: a row-major product A B is its product Bᵀ Aᵀ, so that operands change
places, and a matrix that lies transposed is taken as it is.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from cupy.cuda import cublas, device

from taper.arrays.native import native
from taper.arrays.strides import reshaped
from taper.gpu.array import CudaArray, address, empty
from taper.gpu.graphs import streams
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


def matmul_into(one: Any, other: Any, out: Any) -> Any:
    """The product of two matrices in a third, row by row, or NotImplemented."""
    if not one.__class__ is other.__class__ is out.__class__ is CudaArray:
        return NotImplemented
    dtype = one.dtype
    if dtype not in _DATA or not dtype is other.dtype is out.dtype or not one.size:
        return NotImplemented
    if not one.ndim == other.ndim == out.ndim == 2 or not out.flags.c_contiguous:
        return NotImplemented
    if out.shape != (len(one), other.shape[1]) or one.shape[1] != len(other) or not other.size:
        return NotImplemented
    _product(one, other, out)
    return out


def matmul(one: Any, other: Any) -> Any:
    """The product of two arrays as `np.matmul` has it, or NotImplemented."""
    if one.__class__ is not CudaArray or other.__class__ is not CudaArray:
        return NotImplemented
    dtype, dims = one.dtype, (one.ndim, other.ndim)
    if dtype not in _DATA or other.dtype is not dtype or 0 in dims:
        return NotImplemented
    if dims == (2, 2):
        (rows, inner), (length, columns) = one.shape, other.shape
        if inner != length or not rows * inner * columns:
            return NotImplemented
        out = empty((rows, columns), dtype)
        _product(one, other, out)
        return out
    return _of_stacks(one, other)


def biased(one: Any, other: Any, bias: Any) -> Any:
    """The product of two matrices with a vector added to its rows; nobody has looked at them yet.

    Returns the product and whether the vector was added.
    """
    out = empty((len(one), other.shape[1]), one.dtype)
    return out, _product(one, other, out, bias)


def _of_stacks(one: Any, other: Any) -> Any:
    dtype, left, right = one.dtype, one, other
    if one.ndim == 1:
        left = one.reshape(1, -1)
    if other.ndim == 1:
        right = other.reshape(-1, 1)
    if left.shape[-1] != right.shape[-2] or not left.size or not right.size:
        return NotImplemented
    lead = left.shape[:-2]
    if right.shape[:-2] != lead:
        lead = np.broadcast_shapes(lead, right.shape[:-2])
    out = empty((*lead, left.shape[-2], right.shape[-1]), dtype)
    result = out
    if len(lead) == 0:
        _product(left, right, out)
    elif right.ndim == 2 and left.flags.c_contiguous:  # the stack is one tall matrix
        _product(left.reshape(-1, left.shape[-1]), right, out.reshape(-1, out.shape[-1]))
    else:
        count = math.prod(lead)
        left, right = _stack(left, lead, count), _stack(right, lead, count)
        _product(left, right, out.reshape(count, *out.shape[-2:]))
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
    _product(left, right, out)


def _product(left: Any, right: Any, out: Any, bias: Any = None) -> bool:
    """Multiply; return whether the bias, if there is one, was added."""
    data, written = _DATA[left.dtype], _DATA[out.dtype]
    computed = (
        _TF32
        if data == 0 and get_float32_matmul_precision() != "highest"
        else _COMPUTED[left.dtype]
    )
    found = _multiply(left, right, out, data, written, computed, bias)
    if found is None:
        # Neither rows nor columns are in one piece.
        left, right = [each if _layout(each) else each.copy() for each in (left, right)]
        found = _multiply(left, right, out, data, written, computed, bias)
    return bool(found)


def _multiply_by_cupy(
    left: Any, right: Any, out: Any, data: int, written: int, computed: int, bias: Any
) -> Any:
    """The same as the native module does, but never with a bias."""
    first, second = _layout(left), _layout(right)
    if first is None or second is None:
        return None
    numbers = _DOUBLE if data == 1 else _SINGLE
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    lengths = second[0], first[0], columns, rows, inner, numbers.one
    one, other, result = address(left), address(right), address(out)
    handle = device.get_cublas_handle()
    count = len(out) if out.ndim == 3 else 1
    leading = max(out.strides[-2] // out.itemsize, columns)
    if count == 1:
        operands = (other, data, second[1], one, data, first[1], numbers.zero)
        cublas.gemmEx(handle, *lengths, *operands, result, written, leading, computed, -1)
        return bias is None
    stacked = (other, data, *second[1:], one, data, *first[1:], numbers.zero)
    stack = (result, written, leading, out.strides[0] // out.itemsize, count)
    cublas.gemmStridedBatchedEx(handle, *lengths, *stacked, *stack, computed, -1)
    return bias is None


def _loaded(name: str) -> Any:
    """A library that is in memory already."""
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if name in line))


def _places(library: Any, names: Any) -> list[Any]:
    """The addresses of functions."""
    return [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]


_LIGHT_NAMES = (
    "cublasLtMatmul",
    "cublasLtMatmulDescCreate",
    "cublasLtMatmulDescSetAttribute",
    "cublasLtMatrixLayoutCreate",
    "cublasLtMatrixLayoutSetAttribute",
    "cublasLtMatmulPreferenceCreate",
    "cublasLtMatmulPreferenceSetAttribute",
    "cublasLtMatmulAlgoGetHeuristic",
)


class Library:
    """cuBLAS as the native module calls it: with a handle and room of our own."""

    _ROOM = 32 << 20

    def __init__(self, allocate: Callable[[int], int]) -> None:
        self.allocate = allocate
        device.get_cublas_handle()  # which loads the libraries
        self.functions, self.light = _loaded("/libcublas.so"), _loaded("/libcublasLt.so")
        self.handle, light = ctypes.c_void_p(), ctypes.c_void_p()
        if self.functions.cublasCreate_v2(ctypes.byref(self.handle)) or self.light.cublasLtCreate(
            ctypes.byref(light)
        ):
            raise RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED")
        self.rooms: dict[int, int] = {}  # by stream; all graphs share one
        pointer = ctypes.c_void_p
        self.functions.cublasSetStream_v2.argtypes = [pointer, pointer]
        self.functions.cublasSetWorkspace_v2.argtypes = [pointer, pointer, ctypes.c_size_t]
        names = ("cublasGemmEx", "cublasGemmStridedBatchedEx")
        native.know_products(*_places(self.functions, names), self.handle.value)
        native.know_light_products(*_places(self.light, _LIGHT_NAMES), light.value)
        self.use_stream(0)

    def use_stream(self, stream: int) -> None:
        """Let products go into a stream from now on."""
        place = -1 if stream in streams else stream
        if place not in self.rooms:
            self.rooms[place] = self.allocate(self._ROOM)
        self.functions.cublasSetStream_v2(self.handle, stream)
        self.functions.cublasSetWorkspace_v2(self.handle, self.rooms[place], self._ROOM)
        native.know_product_room(self.rooms[place], self._ROOM)


_multiply: Any = _multiply_by_cupy


def start(allocate: Callable[[int], int]) -> Any:
    """Let the native module multiply, where it is there; returns the library, or None."""
    global _multiply
    if native is None or not hasattr(native, "device_product"):
        return None
    found = Library(allocate)
    _multiply = native.device_product
    return found
