"""Nested Python data as an array: what `tensor([[1, 2], [3, 4]])` reads.

Owns the shape and the dtype that nested sequences mean.  Lists of plain numbers are read by NumPy
at its speed; everything else, and every error, goes element by element.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.scalars import array_of_elements, stored, type_name
from taper.tensor import Tensor
from taper.userwarning import warn_once

MOST_DIMENSIONS = 128

# By falling category: the first that occurs decides.
_NUMBERS: tuple[type, ...] = (complex, float, int, bool)
_NUMBER_SET = frozenset(_NUMBERS)


def default_dtype(number: type) -> dtypes.dtype:
    """Return what a Python number of a type becomes."""
    if number is float:
        return dtypes.default.float
    if number is int:
        return dtypes.int64
    return dtypes.bool_ if number is bool else dtypes.default.complex


def read(data: Any, which: dtypes.dtype | None) -> np.ndarray:
    """Read nested data into an array, in dtype `which` or the one that the elements ask for."""
    kind = type(data)
    if kind in _NUMBER_SET:
        return _read_number(data, default_dtype(kind) if which is None else which)
    found = _flattened(data) if kind is list or kind is tuple else None
    if found is None:
        return _read_slowly(data, which)
    shape, values, kinds = found
    if not kinds <= _NUMBER_SET:
        return _read_slowly(data, which)
    if which is None:
        which = dtypes.default.float
        for number in _NUMBERS:
            if number in kinds:
                which = default_dtype(number)
                break
    return _read_numbers(values, kinds, which).reshape(shape)


def _read_number(number: Any, which: dtypes.dtype) -> np.ndarray:
    if type(number) is (int if which.category == dtypes.INTEGER else float):
        try:
            return stored(number, which)
        except OverflowError:
            pass
    return array_of_elements([number], which).reshape(())


def _read_numbers(values: list[Any], kinds: set[type], which: dtypes.dtype) -> np.ndarray:
    """Read plain numbers; those that NumPy would treat differently one by one."""
    careful = which.category == dtypes.INTEGER and kinds - {int, bool}
    if not careful and not (which is dtypes.uint64 and bool in kinds):
        try:
            return stored(values, which)
        except (TypeError, ValueError, OverflowError):
            pass
    return array_of_elements(values, which)


def _flattened(data: Any) -> tuple[tuple[int, ...], list[Any], set[type]] | None:
    """Flatten nested lists and tuples: shape, elements and their types; None if ragged."""
    shape = [len(data)]
    level: Any = data
    while True:
        kinds = set(map(type, level))
        if not kinds or not kinds <= {list, tuple}:
            return tuple(shape), level, kinds
        lengths = set(map(len, level))
        if len(lengths) != 1 or len(shape) == MOST_DIMENSIONS:
            return None
        shape.append(lengths.pop())
        level = list(chain.from_iterable(level))


# Element by element.


def _read_slowly(data: Any, which: dtypes.dtype | None) -> np.ndarray:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    shape = _shape_of(data)
    if which is None:
        which = _inferred(data)
        if shape and any(isinstance(each, np.ndarray) for each in data):
            warn_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
                "consider converting the list to a single numpy.ndarray with numpy.array() "
                "before converting to a tensor."
            )
    values: list[Any] = [data]
    for dim, length in enumerate(shape):
        values = _next_level(values, dim, length) if length or not dim else []
    if 0 in shape:
        return np.empty(shape, which.numpy)
    return array_of_elements(values, which).reshape(shape)


def is_sequence(value: Any) -> bool:
    """Tell whether a value is read as a dimension and not as an element."""
    if isinstance(value, (dict, set, frozenset, Tensor, np.generic)):
        return False
    return hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _shape_of(data: Any) -> tuple[int, ...]:
    """Find the lengths of the first elements, all the way down; reading checks the others."""
    shape: list[int] = []
    while is_sequence(data):
        if isinstance(data, np.ndarray) and not data.ndim:
            raise TypeError("len() of unsized object")
        shape.append(len(data))
        if len(shape) > MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type_name(data)}'")
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _inferred(data: Any) -> dtypes.dtype:
    """Find the dtype of nested data: elements are promoted pairwise; no elements are floats."""
    for number in _NUMBERS[::-1]:
        if isinstance(data, number) and not isinstance(data, np.generic):
            return default_dtype(number)
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "SU":
        return dtypes.of_array(np.asarray(data))
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    if not is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type_name(data)}")
    result = None
    for index in range(len(data)):
        if data[index] is data:
            raise TypeError("new(): self-referential lists are incompatible")
        found = _inferred(data[index])
        result = found if result is None else dtypes.promote_types(result, found)
    return dtypes.default.float if result is None else result


def _next_level(sequences: list[Any], dim: int, length: int) -> list[Any]:
    """List the elements of all sequences of a dimension, each of which must have `length`."""
    elements: list[Any] = []
    for sequence in sequences:
        if isinstance(sequence, Tensor) and sequence._array.ndim:
            sequence = list(sequence._array)
        elif not is_sequence(sequence):
            raise TypeError("not a sequence")
        if len(sequence) != length:
            raise ValueError(
                f"expected sequence of length {length} at dim {dim} (got {len(sequence)})"
            )
        elements.extend(sequence)
    return elements
