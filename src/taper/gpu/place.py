"""What the seam of foreign arrays asks of the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.foreign import Place
from taper.gpu import dispatch, state
from taper.gpu.array import (
    CudaArray,
    empty,
    empty_strided,
    new_array,
    root_block,
    to_device,
    to_host,
)
from taper.gpu.world import is_there


class CudaPlace(Place):
    """The GPU."""

    __slots__ = ()

    def empty(self, shape: Any, strides: Any, dtype: np.dtype[Any], where: Any) -> Any:
        return empty_strided(shape, [step * dtype.itemsize for step in strides], dtype)

    def filled(self, shape: Any, number: Any, dtype: np.dtype[Any], where: Any) -> Any:
        return empty(shape, dtype, number)

    def from_ndarray(self, array: np.ndarray, where: Any) -> Any:
        return to_device(array)

    def to_ndarray(self, array: Any) -> np.ndarray:
        found: np.ndarray = to_host(array)
        return found

    def on_storage(
        self, storage: Any, dtype: np.dtype[Any], offset: int, shape: Any, strides: Any
    ) -> Any:
        size = dtype.itemsize
        return new_array(
            CudaArray,
            shape,
            dtype,
            storage,
            offset * size,
            tuple([each * size for each in strides]),
        )

    def refuse_mixture(self, arrays: list[Any]) -> None:
        for each in arrays:
            if each.__class__ is not CudaArray and each.ndim:
                super().refuse_mixture(arrays)

    def written(self, name: str, arguments: Any) -> Any:
        """Compute where the result lies, if that is of the form of the tensor that is written."""
        called = _WRITTEN.get(name)
        if called is None or arguments[0]._change is not None:
            return None
        target = arguments[0]._array
        dtype = target.dtype
        if dtype.kind not in "fi" or not target.flags.c_contiguous:
            return None
        other: Any = 0
        if name != "relu":
            if name != "mul" and arguments[2] != 1:
                return None
            other = getattr(arguments[1], "_array", arguments[1])
        if other.__class__ is CudaArray:
            if other.dtype is not dtype or other.shape != target.shape:
                return None
            if root_block(other) is root_block(target):
                return None
        elif name == "relu" or _fits(other, dtype):
            other = np.asarray(other, dtype)
        else:
            return None
        return lambda to: _write(called, to, other)

    def rescued(self, op: Any, arguments: Any, error: Exception) -> Any:
        """What a kernel gives that failed on the device: the same on the processor."""
        if isinstance(error, RuntimeError | ValueError | IndexError) or not is_there(arguments):
            raise error
        return dispatch.on_host(
            lambda *given: op.call(op.forward, given), tuple(arguments), {}, f"operator {op.name}"
        )


def _fits(number: Any, dtype: np.dtype) -> bool:
    """Whether a dtype has a number as operators compute with it: half types compute wider."""
    if dtype.itemsize < 4:
        return False
    if number.__class__ is int:
        return -(1 << 31) <= number < 1 << 31
    return number.__class__ is float and dtype.kind == "f"


def _write(called: Any, to: Any, other: Any) -> None:
    """Compute a ufunc of an array where the array lies."""
    kernels = state.runtime.kernels
    if kernels is None or not kernels.write(called, to, other):
        called(to, other, out=to)


_WRITTEN = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "relu": np.maximum}

PLACE = CudaPlace()
CudaArray.place = PLACE
