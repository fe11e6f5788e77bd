"""The device through CuPy: memory, streams, libraries, and functions that are not our own."""

from __future__ import annotations

import ctypes
import os
from typing import Any

# CuPy's own kernels may use CUB; nothing else of its settings is ours to choose.
os.environ.setdefault("CUPY_ACCELERATORS", "cub")

import cupy
import numpy as np
from cupy.cuda import runtime as driver

from taper.gpu import kernels
from taper.gpu.array import CudaArray, address, new_array, root_block
from taper.gpu.memory import Pool

_KNOWN = frozenset(
    np.dtype(name) for name in "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
)


class Runtime:
    """What the room needs of a device; `tests/cuda/fake.py` has the same without one."""

    name = "cupy"

    def __init__(self) -> None:
        driver.setDevice(0)
        self.stream = 0  # where kernels go
        self.pool = Pool(self._allocate, driver.free, lambda: self.stream, driver.memGetInfo)
        cupy.cuda.set_allocator(self._for_cupy)
        self._functions: dict[tuple[str, str], Any] = {}
        self.kernels = kernels.Kernels(self)

    @staticmethod
    def _allocate(size: int) -> int:
        try:
            found: int = driver.malloc(size)
        except driver.CUDARuntimeError as error:
            if error.status == driver.errorMemoryAllocation:
                raise MemoryError from None
            raise
        return found

    def _for_cupy(self, size: int) -> Any:
        """Room for CuPy's own arrays, from the same pool."""
        block = self.pool.take(size)
        memory = cupy.cuda.UnownedMemory(block.address, block.size, block, 0)
        return cupy.cuda.MemoryPointer(memory, 0)

    # --- arrays ----------------------------------------------------------------------------------

    @staticmethod
    def knows(dtype: np.dtype) -> bool:
        """Whether CuPy computes with a dtype."""
        return dtype in _KNOWN

    @staticmethod
    def lend(array: Any) -> Any:
        """A CuPy array on the memory of one of ours."""
        block = root_block(array)
        memory = cupy.cuda.UnownedMemory(block.address, block.size, block, 0)
        offset = address(array) - block.address if array.size else 0
        dtype = array.dtype
        if dtype not in _KNOWN:
            dtype = np.dtype(f"u{dtype.itemsize}")
        return cupy.ndarray(
            array.shape, dtype, cupy.cuda.MemoryPointer(memory, offset), strides=array.strides
        )

    def adopt_all(self, value: Any) -> Any:
        """Our arrays on the memory of CuPy's, in whatever holds them."""
        if isinstance(value, cupy.ndarray):
            return self.adopt(value)
        if isinstance(value, tuple):
            made = [self.adopt_all(each) for each in value]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if isinstance(value, list):
            return [self.adopt_all(each) for each in value]
        return value

    @staticmethod
    def adopt(array: Any) -> Any:
        """One of our arrays on the memory of a CuPy array."""
        block = getattr(array.data.mem, "_owner", None)
        if not hasattr(block, "address"):  # memory that is not from our pool, or nothing
            block = _borrowed(array)
        offset = array.data.ptr - block.address if array.size else 0
        return new_array(CudaArray, array.shape, array.dtype, block, offset, array.strides)

    def assign(self, target: Any, value: Any) -> None:
        """Write a number or an array into all elements of an array."""
        if self.kernels.assign(target, value):
            return
        if value.__class__ is CudaArray:
            value = self.lend(value)
        elif isinstance(value, np.ndarray):
            value = value[()]
        self.lend(target)[...] = value

    @staticmethod
    def copy_in(target: Any, source: np.ndarray) -> None:
        """Copy an array of the processor's into one of the same dense layout."""
        driver.memcpy(
            address(target), source.ctypes.data, source.nbytes, driver.memcpyHostToDevice
        )

    @staticmethod
    def copy_out(target: np.ndarray, source: Any) -> None:
        """Copy an array of the same dense layout to the processor."""
        cupy.cuda.get_current_stream().synchronize()
        driver.memcpy(
            target.ctypes.data, address(source), target.nbytes, driver.memcpyDeviceToHost
        )

    # --- functions -------------------------------------------------------------------------------

    def function(self, module: str, name: str) -> Any:
        """A function of CuPy's for one of NumPy's; None if there is none."""
        key = (module, name)
        if key not in self._functions:
            space: Any = cupy
            for part in module.split(".")[1:]:
                space = getattr(space, part, None)
            self._functions[key] = getattr(space, name, None)
        return self._functions[key]

    @staticmethod
    def scatter(called: Any) -> Any:
        """CuPy's `ufunc.at`, where it has one."""
        theirs = getattr(cupy, called.__name__, None)
        return getattr(theirs, "at", None)

    def elementwise(self, called: Any, inputs: Any, out: Any) -> Any:
        """A ufunc by a kernel of our own, or NotImplemented."""
        return self.kernels.elementwise(called, inputs, out)

    def reduction(self, called: Any, array: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
        """A reduction by a kernel of our own, or NotImplemented."""
        return self.kernels.reduction(called, array, axis, dtype, keepdims)

    # --- the device ------------------------------------------------------------------------------

    @staticmethod
    def synchronize() -> None:
        """Wait until all that was asked for is done."""
        driver.deviceSynchronize()

    @staticmethod
    def properties() -> dict[str, Any]:
        """What the driver says about the device."""
        found: dict[str, Any] = driver.getDeviceProperties(0)
        return found

    @staticmethod
    def room() -> tuple[int, int]:
        """Free and total bytes of the device."""
        found: tuple[int, int] = driver.memGetInfo()
        return found

    def empty_cache(self) -> None:
        """Give back what is kept."""
        driver.deviceSynchronize()
        self.pool.give_back()


def _borrowed(array: Any) -> Any:
    size = max(array.data.mem.size, 1)
    block = type("BorrowedBlock", (ctypes.c_char * size,), {}).from_address(array.data.mem.ptr or 1)
    block.address, block.size, block.owner = array.data.mem.ptr or 1, size, array
    return block
