"""The layout of results in memory: PyTorch's, where NumPy would choose another one.

Owns: the rules that an operator may declare (`@op(layout=...)`).  A kernel whose operands and
results are all row-major is right already; otherwise the rule is asked.  Knows ndarrays; must not
know Tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.foreign import ARRAYS, ForeignArray
from taper.arrays.native import native
from taper.arrays.strides import (
    copied_with,
    format_strides,
    has_format,
    in_rows,
    is_dense,
    ordered_strides,
    preserved_strides,
    row_major,
)
from taper.device import channels_last, channels_last_3d, contiguous_format, memory_format

Rule = Callable[[Any, Sequence[Any]], Any]


def settled(kernel: Callable[..., Any], rule: Rule) -> Callable[..., Any]:
    """Return the kernel, with its results laid out as the rule says."""
    if native is not None:
        found: Callable[..., Any] = native.settled(kernel, rule)
        return found

    def call(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        given = (*args, *kwargs.values()) if kwargs else args
        if _row_major(result):
            for each in given:
                if each.__class__ is ndarray:
                    if not in_rows(each):
                        break
                elif each.__class__ is list and not _row_major(each):
                    break
            else:
                return result
        return rule(result, given)

    def of_two(first: Any, second: Any) -> Any:  # takes a third of the time of `call`
        try:
            usual = in_rows(first) and in_rows(second)
        except AttributeError:  # a Python number
            return call(first, second)
        result = kernel(first, second)
        return result if usual else rule(result, (first, second))

    def of_one(only: ndarray) -> Any:
        result = kernel(only)
        return result if in_rows(only) else rule(result, (only,))

    if not isinstance(kernel, np.ufunc) or kernel.nin > 2:
        return call
    return of_one if kernel.nin == 1 else of_two


def writing(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return a ufunc for calls that pass, as the last argument, the array to write to."""
    if native is None:
        return lambda *args: ufunc(*args[:-1], out=args[-1])
    found: Callable[..., Any] = native.settled(ufunc, None)
    return found


def _row_major(value: Any) -> bool:
    if isinstance(value, ndarray):
        return in_rows(value)
    if isinstance(value, (tuple, list)):
        return all([_row_major(each) for each in value])
    return not isinstance(value, ForeignArray)  # the rule asks it


# --- the rules -------------------------------------------------------------------------------


def ELEMENTWISE(result: Any, given: Sequence[Any]) -> Any:
    """Lay results out in the operands' order of dimensions; where it differs, the first's."""
    if isinstance(result, (tuple, list)):
        return type(result)([ELEMENTWISE(each, given) for each in result])
    if not isinstance(result, ARRAYS) or not result.ndim:
        return result
    return laid_out(result, joint_strides(result.shape, arrays_in(given)))


def FIRST(result: Any, given: Sequence[Any]) -> Any:
    """Lay results out in the order of dimensions of the first operand alone."""
    return ELEMENTWISE(result, arrays_in(given)[:1])


def PRESERVED(result: Any, given: Sequence[Any]) -> Any:
    """Lay results out as a copy of the first operand: its strides, where they are dense."""
    if isinstance(result, (tuple, list)):
        return type(result)([PRESERVED(each, given) for each in result])
    first = arrays_in(given)[0]
    return laid_out(result, preserved_strides(result.shape, _in_elements(first)))


def BY_KIND(result: Any, given: Sequence[Any]) -> Any:
    """Stand for the rule of an operator that declares none; `opdef` replaces it."""
    return result


def ROW_MAJOR(result: Any, given: Sequence[Any]) -> Any:
    """Lay results out row-major, whatever the operands are."""
    if isinstance(result, (tuple, list)):
        return type(result)([ROW_MAJOR(each, given) for each in result])
    return laid_out(result, row_major(result.shape)) if isinstance(result, ARRAYS) else result


def arrays_in(given: Sequence[Any]) -> list[ndarray]:
    return [each for each in given if isinstance(each, ARRAYS)]


def laid_out(array: ndarray, strides: tuple[int, ...]) -> ndarray:
    """Return the array, or a copy of it with the given strides, which count elements."""
    itemsize = array.itemsize
    if array.strides == tuple([step * itemsize for step in strides]):
        return array
    return copied_with(array, strides)


def laid_out_like(result: ndarray, *arrays: ndarray) -> ndarray:
    """Return the result with channels last if one of the arrays has them last, else row-major.

    PyTorch calls this the suggested memory format.
    """
    for each in arrays:
        if channels_are_last(each.shape, each.strides):
            return laid_out(result, format_strides(result.shape, suggested_format(each)._name))
    return laid_out(result, row_major(result.shape))


def suggested_format(array: ndarray) -> memory_format:
    """Return the memory format that an array has by its strides."""
    if channels_are_last(array.shape, array.strides):
        return _CHANNELS_LAST[array.ndim]
    return contiguous_format


_CHANNELS_LAST = {4: channels_last, 5: channels_last_3d}


def channels_are_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides grow from the channels over width and height to the batch.

    As in PyTorch: gaps between the elements do not matter.
    """
    if len(shape) not in _CHANNELS_LAST or strides[1] == 0:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[dim] == 0 or strides[dim] < least:
            return False
        if dim == 0 and least == strides[1]:
            return False  # all but the batch have length 1: counts as row-major
        least = strides[dim] * shape[dim]
    return True


def joint_strides(shape: tuple[int, ...], arrays: Sequence[ndarray]) -> tuple[int, ...]:
    """Return the strides of an element-wise result of arrays that are broadcast to a shape."""
    if all([each.shape == shape for each in arrays]):
        if all([each.flags.c_contiguous for each in arrays]):
            return row_major(shape)
        if len(shape) == 4 and all([has_format(each, "channels_last") for each in arrays]):
            return format_strides(shape, "channels_last")
        same = {_in_elements(each) for each in arrays}
        if len(same) == 1 and is_dense(shape, *same):
            return same.pop()
    return ordered_strides(shape, [_broadcast(each, shape) for each in arrays if each.ndim])


def _in_elements(array: ndarray) -> tuple[int, ...]:
    itemsize = array.itemsize
    return tuple([step // itemsize for step in array.strides])


def _broadcast(array: ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an array in a larger shape: 0 where it is repeated."""
    new = len(shape) - array.ndim
    pairs = zip(array.strides, array.shape, shape[new:], strict=True)
    return (0,) * new + tuple([0 if length != wanted else step for step, length, wanted in pairs])
