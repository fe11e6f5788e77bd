"""Python numbers as elements of a dtype, with PyTorch's checks and words.

PyTorch has two ways, and they differ: `tensor([300], dtype=uint8)` reads an element, while
`full((1,), 300, dtype=uint8)` converts a number once and fills with it.  Knows NumPy's numbers and
arrays; must not know Tensor.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import ml_dtypes
import numpy as np

from taper import dtypes
from taper.arrays.elements import FLOAT32

# The names in the texts of `fill`: those of the C++ types.
_C_NAMES = {
    "bool": "bool",
    "int32": "int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


_PYTORCH_TYPES = frozenset(("Size", "device", "dtype", "finfo", "iinfo", "layout", "memory_format"))


def type_name(value: Any) -> str:
    """Return a type's name in messages: with its module, unless built in or `Tensor`."""
    kind = type(value)
    module = kind.__module__
    # C types carry their module in the name that PyTorch prints, Python classes do not.
    heap = bool(kind.__flags__ & (1 << 9))
    if module == "taper.return_types":
        return f"torch.return_types.{kind.__name__}"
    if heap and module.startswith("taper.") and kind.__name__ in _PYTORCH_TYPES:
        return f"torch.{kind.__name__}"
    if heap or module == "builtins":
        return kind.__name__
    return f"{module}.{kind.__name__}"


def _overflow(name: str) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def _fits(value: Any, which: dtypes.dtype) -> bool:
    """Return whether an integer or a float lies in the range of an integer dtype."""
    limits = np.iinfo(which.numpy)
    if isinstance(value, float):
        # Compared as floats: the largest int64 is then 2**63.
        return float(limits.min) <= value <= float(limits.max)
    lowest = limits.min if which.is_signed else -limits.max  # unsigned integers wrap around once
    return bool(lowest <= value <= limits.max)


def _wrapped(value: int, which: dtypes.dtype) -> int:
    bits = 8 * which.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if which.is_signed and value >> (bits - 1) else value


# Reading an element.


def element(value: Any, which: dtypes.dtype) -> Any:
    """Return one element of nested data as a Python number that NumPy can store as `which`."""
    if isinstance(value, np.generic) and not isinstance(value, np.uint64):
        value = value.item() if not which.is_floating_point or value.dtype.kind != "c" else value
    if which.category == dtypes.BOOL:
        return _truth(value)
    if which.category == dtypes.INTEGER:
        return _integer(value, which)
    if which.is_complex and hasattr(value, "__complex__"):
        return complex(value)
    return math.ldexp(value, 0)  # `float` would also read text


def _truth(value: Any) -> bool:
    if isinstance(value, (bool, int, float, complex)):
        return bool(value)
    return bool(operator.index(value))


def _integer(value: Any, which: dtypes.dtype) -> int:
    if which is dtypes.uint64:
        return _unsigned64(value)
    if not isinstance(value, float):
        value = operator.index(value)
        if not -(2**63) <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
    if not _fits(value, which):
        raise _overflow(which.name)
    return _wrapped(int(value), which)


def _unsigned64(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("an integer is required")
    if value < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if value >= 2**64:
        raise OverflowError("int too big to convert")
    return value


def array_of_elements(values: list[Any], which: dtypes.dtype) -> np.ndarray:
    """Return a flat array of elements, each converted and checked on its own."""
    return stored([element(value, which) for value in values], which)


def stored(numbers: Any, which: dtypes.dtype) -> np.ndarray:
    """Return Python numbers, one or a list, as an array; half precision rounds from float32."""
    if which.itemsize == 2 and which.is_floating_point:
        return np.array(numbers, FLOAT32).astype(which.numpy)
    return np.array(numbers, which.numpy)


# Filling with a number.


def filler(value: Any, which: dtypes.dtype, single: bool = False) -> Any:
    """Return the number to fill an array of `which` with; raise where it does not fit.

    `single` says that the array has one element: half precision then overflows to infinity.
    """
    if type(value) is int and 0 <= value < 128:
        return value  # it fits everywhere, and most fillers are 0 or 1
    if type(value) is float and which is dtypes.float32:
        if -3.4028234663852886e38 <= value <= 3.4028234663852886e38 or not math.isfinite(value):
            return value
        raise _overflow("float")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError(
            "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
        )
    if which.category == dtypes.BOOL:
        return bool(value)
    if isinstance(value, complex) and not which.is_complex:
        if value.imag:
            half = which.is_floating_point and which.itemsize == 2
            raise _overflow("double" if single and half else _c_name(which))
        value = value.real
    if which.category == dtypes.INTEGER:
        if not _fits_filler(value, which):
            raise _overflow(_c_name(which))
        return _wrapped(int(value), which)
    number = stored(value, which)
    if np.isfinite(value):
        if which.itemsize == 2:
            fits = single or abs(value) <= float(ml_dtypes.finfo(which.numpy).max)
        else:
            fits = bool(np.isfinite(number))
        if not fits:
            raise _overflow(_c_name(which))
    return number


def _fits_filler(value: Any, which: dtypes.dtype) -> bool:
    # A negative integer wraps around in the largest unsigned dtype, whatever its value.
    return (which is dtypes.uint64 and type(value) is int) or _fits(value, which)


def _c_name(which: dtypes.dtype) -> str:
    return _C_NAMES.get(which.name, f"{which.name}_t")
