"""NumPy's arrays, scalars and dtypes in checkpoints, if the user allows them.

The functions that NumPy's pickles name are called only with checked arguments: kinds of elements,
sizes, byte order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.files.rebuild import check_truth_values, integers
from taper.files.refusals import failed

_BYTE_ORDERS = ("<", ">", "|", "=")
_PLAIN = re.compile(r"[<>=|]?[biufc](?:1|2|4|8|16)|[<>=|]?[SU]\d{1,6}")


def _dtype(reader: Any, code: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    code = _text_of(code)
    if code is None or not _PLAIN.fullmatch(code):
        raise failed("only dtypes of numbers and text may be made")
    try:
        # A copy, because the byte order is set into it afterwards.
        return np.dtype(code, isinstance(align, int) and bool(align), True)
    except TypeError:
        raise failed(f"there is no dtype {code!r}") from None


def _text_of(value: Any) -> str | None:
    """Return a text, which Python 2 may have left as bytes; None for anything else."""
    if type(value) is bytes and len(value) < 9:
        return value.decode("latin1")
    return value if type(value) is str else None


def _reconstruct(reader: Any, kind: Any, shape: Any, code: Any) -> np.ndarray:
    if kind is not np.ndarray or integers(shape, "sizes") != (0,) or _text_of(code) != "b":
        raise failed("an array begins as an empty one")
    return np.empty((0,), np.int8)


def _scalar(reader: Any, dtype: Any, data: Any) -> np.generic:
    _check_elements(dtype)
    if type(data) is not bytes or len(data) != dtype.itemsize:
        raise failed("a scalar must have the bytes of one element")
    array = np.frombuffer(data, dtype)
    _check_bools(array)
    scalar: np.generic = array[0]
    return scalar


CALLS: dict[Any, Callable[..., Any]] = {
    np.dtype: _dtype,
    # As NumPy's own pickles name them.
    np.empty(0).__reduce__()[0]: _reconstruct,
    np.float64(0).__reduce__()[0]: _scalar,
}


def is_ours(kind: type) -> bool:
    """Return whether objects of a class are made by the functions above only."""
    return issubclass(kind, (np.ndarray, np.generic, np.dtype))


def sets_state_of(instance: Any, by_user: Callable[[Any], bool]) -> bool:
    """Return whether this is an array, or a dtype, whose state may be set."""
    if isinstance(instance, np.dtype):
        return by_user(np.dtype)
    return type(instance) is np.ndarray and by_user(np.ndarray)


def set_state(reader: Any, instance: Any, state: Any) -> None:
    """Set the byte order of a fresh dtype, or the elements of an empty array."""
    if isinstance(instance, np.dtype):
        _set_byte_order(instance, state)
    else:
        _set_elements(reader, instance, state)


def _set_byte_order(dtype: np.dtype[Any], state: Any) -> None:
    # Only the byte order may differ: NumPy would believe sizes and flags (of objects!).
    expected: Any = dtype.__reduce__()[2]
    if type(state) is not tuple or len(state) != len(expected):
        raise failed("only the byte order of a dtype may be set")
    order = _text_of(state[1])
    if order not in _BYTE_ORDERS:
        raise failed("only the byte order of a dtype may be set")
    for mine, given in zip(expected[2:], state[2:], strict=True):
        if type(given) is not type(mine) or (type(mine) is int and given != mine):
            raise failed("only the byte order of a dtype may be set")
    dtype.__setstate__((expected[0], order, *expected[2:]))  # type: ignore[attr-defined]


def _set_elements(reader: Any, array: np.ndarray, state: Any) -> None:
    if type(state) is not tuple or len(state) != 5 or type(state[0]) is not int or state[0] != 1:
        raise failed("the state of an array has five parts")
    _, shape, dtype, is_fortran, data = state
    _check_elements(dtype)
    lengths = integers(shape, "sizes")
    if min(lengths, default=0) < 0 or type(data) is not bytes:
        raise failed("the state of an array is a shape, a dtype and bytes")
    if math.prod(lengths) * dtype.itemsize != len(data):
        raise failed("an array must have the bytes of all its elements")
    if math.prod(max(each, 1) for each in lengths) * max(dtype.itemsize, 1) >= 1 << 63:
        raise failed("an array is too large")
    reader.charge(len(data))
    in_columns = isinstance(is_fortran, int) and bool(is_fortran)
    array.__setstate__((1, lengths, dtype, in_columns, data))  # type: ignore[arg-type]
    _check_bools(array)


def _check_elements(dtype: Any) -> None:
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biufcSU" or not dtype.itemsize:
        raise failed("only arrays of numbers and text may be made")


def _check_bools(array: np.ndarray) -> None:
    if array.dtype.kind == "b":
        check_truth_values(array.reshape(-1))
