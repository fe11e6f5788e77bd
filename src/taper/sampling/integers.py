"""Integers between bounds, and permutations.

Knows generators and NumPy arrays; must not know Tensor. Names and errors are PyTorch's.
"""

from __future__ import annotations

import array
import math
import warnings
from collections.abc import Sequence
from functools import cache

import numpy as np

from taper import dtypes
from taper.arrays.foreign import is_foreign
from taper.dtypes import C_NAMES, no_kernel
from taper.sampling.fill import WIDE_UNSIGNED, dtype_of, elsewhere, source, write
from taper.sampling.generator import Generator


def randint(
    low: int,
    high: int,
    shape: Sequence[int],
    dtype: np.dtype,
    generator: Generator | None = None,
) -> np.ndarray:
    """Return a new array of integers from low to high - 1.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.integers import randint
    >>> randint(0, 10, (5,), np.dtype("int64"), Generator().manual_seed(0))
    array([4, 9, 3, 0, 3])
    """
    return random_(np.empty(shape, dtype), low, high, generator)


def random_(
    out: np.ndarray,
    low: int | None = None,
    high: int | None = None,
    generator: Generator | None = None,
) -> np.ndarray:
    """Fill with integers from low to high - 1, all equally likely.

    Without `high` the last value is the largest integer up to which the dtype holds all; without
    both the first is 0.  (PyTorch's ``random_(to)`` is ``random_(out, 0, to)``.)

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.integers import random_
    >>> random_(np.empty(4, np.float32), -2, 3, Generator().manual_seed(0))
    array([ 2.,  2.,  1., -2.], dtype=float32)
    """
    if is_foreign(out):
        return elsewhere(random_, out, low, high, generator)
    for bound in (low, high):
        if bound is not None and not -(2**63) <= bound < 2**63:
            raise ValueError("Overflow when unpacking long long")
    dtype = dtype_of(out)
    if low is None or (low == -(2**63) and high is None):
        return _random_any(out, dtype, low, generator) if out.size else out
    low, stop = _random_bounds(dtype, low, high)
    if not out.size:
        return out
    return _modulo(out, low, stop - low, stop - low >= 2**28, source(generator))


def _modulo(out: np.ndarray, low: int, span: int, wide: bool, generator: Generator) -> np.ndarray:
    """Fill with the rest that `span` leaves of numbers of 32 bits, or 64 if `wide`, plus `low`."""
    if generator.fill("integers", out, low, span, 64 if wide else 32):
        return out
    values = generator.random64(out.size) if wide else generator.random32(out.size)
    values %= np.uint64(span)
    values += np.uint64(low % 2**64)
    return write(out, values.view(np.int64))


def _random_any(
    out: np.ndarray, dtype: dtypes.dtype, low: int | None, generator: Generator | None
) -> np.ndarray:
    """Fill without bounds: all numbers of 64 bits, or from 0 to the dtype's largest."""
    if low is not None:
        kernel = "random_full_64_bits_range_kernel_cpu"
        if dtype in (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32):
            raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
        if dtype in (dtypes.bool_, dtypes.float16, *WIDE_UNSIGNED) or dtype.is_complex:
            raise no_kernel(kernel, dtype)
        return write(out, source(generator).random64(out.size).view(np.int64))
    if dtype.is_complex or dtype in WIDE_UNSIGNED:
        raise no_kernel("random_kernel_cpu", dtype)
    wide = dtype in (dtypes.int64, dtypes.float64)
    return _modulo(out, 0, _largest_integer(dtype) + 1, wide, source(generator))


@cache
def _digits(dtype: dtypes.dtype) -> int:
    """Return the binary digits of a floating point dtype."""
    return 1 - round(math.log2(dtypes.finfo(dtype).eps))


@cache
def _largest_integer(dtype: dtypes.dtype) -> int:
    """Return the largest integer up to which the dtype holds all."""
    if dtype is dtypes.bool_:
        return 1
    if dtype.is_floating_point:
        return 2 ** _digits(dtype)
    return dtypes.iinfo(dtype).max


def _random_bounds(dtype: dtypes.dtype, low: int, high: int | None) -> tuple[int, int]:
    """Return the checked range, moved inwards to numbers that the dtype holds."""
    if high is not None and low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if dtype.is_complex:
        name = "random_from_to_impl" if high is None else "check_random_bounds"
        raise RuntimeError(f"{name} handles only integral, floating-point and boolean types")
    stop = _largest_integer(dtype) + 1 if high is None else high
    if not dtype.is_floating_point:
        _check_in_range(dtype, low, stop)
        return low, stop
    inner_low, inner_stop = _held_from(dtype, low), stop
    if high is None:
        if inner_low >= stop - 1:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                f"casted to dtype, but got from={inner_low} > to_inc={stop - 1}"
            )
    else:
        inner_stop = _held_below(dtype, high)
        if inner_low >= inner_stop:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={inner_low} >= to={inner_stop}"
            )
    _check_in_range(dtype, inner_low, inner_stop)
    return inner_low, inner_stop


@np.errstate(over="ignore")
def _rounded_integer(dtype: dtypes.dtype, value: int) -> int:
    """Return `value` as the dtype holds it; beyond 64 bits what the processor makes of it."""
    rounded = float(np.float32(value).astype(dtype.numpy) if dtype.itemsize < 8 else value)
    return int(rounded) if -(2.0**63) <= rounded < 2.0**63 else -(2**63)


def _held_from(dtype: dtypes.dtype, low: int) -> int:
    """Return `low`, or the next held number above if the dtype would round it down."""
    rounded = _rounded_integer(dtype, low + 1)
    if rounded >= low:
        return low
    return rounded + (1 << (abs(low + 1).bit_length() - _digits(dtype)))


def _held_below(dtype: dtypes.dtype, high: int) -> int:
    """Return `high`, or the next held number below if rounding would reach it."""
    rounded = _rounded_integer(dtype, high - 1)
    if rounded < high:
        return high
    return rounded - (1 << (abs(high - 1).bit_length() - _digits(dtype)))


@cache
def _range(dtype: dtypes.dtype) -> tuple[int, int]:
    """Return the smallest and the largest number of the dtype."""
    if dtype.is_floating_point:
        largest = int(dtypes.finfo(dtype).max)
        return -largest, largest
    smallest = 0 if dtype is dtypes.bool_ else dtypes.iinfo(dtype).min
    return smallest, _largest_integer(dtype)


def _check_in_range(dtype: dtypes.dtype, low: int, stop: int) -> None:
    floating = dtype.is_floating_point
    smallest, largest = _range(dtype)
    if smallest <= low < stop <= largest + 1 <= 2**63 and not floating:
        return
    for name, bound in (("from", low), ("to - 1", stop - 1)):
        # PyTorch reads the last value as a signed number of 64 bits.
        if not smallest <= bound <= largest or bound >= 2**63:
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype]}")
    for name, bound in (("from", low), ("to - 1", stop - 1)):
        if floating and abs(bound) > _largest_integer(dtype):
            digits = _digits(dtype)
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {C_NAMES[dtype]} can support discrete uniform distribution only "
                "within this range. This warning will become an error in version 1.7 release, "
                "please fix the code in advance",
                UserWarning,
                stacklevel=4,
            )


def randperm(n: int, dtype: np.dtype, generator: Generator | None = None) -> np.ndarray:
    """Return the integers from 0 to n - 1 in random order.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.integers import randperm
    >>> randperm(5, np.dtype("int64"), Generator().manual_seed(0))
    array([4, 0, 1, 3, 2])
    """
    _check_randperm(n, dtypes.FROM_NUMPY[dtype])
    if n < 2:
        return np.zeros(n, dtype)  # nothing is drawn
    out, inside_out = np.empty(n, dtype), n >= (2**32 - 1) // 20
    for target in (out, out if dtype == np.int64 else np.empty(n, np.int64)):
        if source(generator).fill("permutation", target, inside_out):
            return target if target is out else write(out, target)
    shuffled = _shuffle_inside_out if inside_out else _shuffle
    return write(out, np.asarray(shuffled(n, source(generator)), np.int64))


def _check_randperm(n: int, dtype: dtypes.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype in (dtypes.bool_, *WIDE_UNSIGNED) or dtype.is_complex:
        raise no_kernel("randperm", dtype)
    if dtype is dtypes.bfloat16 or n <= _largest_integer(dtype) + 1:
        return
    if dtype.is_floating_point:
        limit = "2049" if dtype is dtypes.float16 else f"2^{_digits(dtype)}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {dtype.scalar_type} type.")
    name = "int" if dtype is dtypes.int32 else f"{dtype.name}_t"
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def _shuffle(n: int, generator: Generator) -> list[int]:
    count = max(n - 1, 0)
    partners = generator.random32(count)
    partners %= np.arange(n, n - count, -1, dtype=np.uint64)
    partners += np.arange(count, dtype=np.uint64)
    order = list(range(n))
    for position, partner in enumerate(partners.tolist()):
        order[position], order[partner] = order[partner], order[position]
    return order


def _shuffle_inside_out(n: int, generator: Generator) -> array.array[int]:
    """Shuffle as PyTorch does for a huge `n`, where the remainder of 32 bits is too uneven."""
    order = array.array("q", bytes(8 * n))
    chunk = 1 << 20
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        places = generator.random64(stop - start)
        places %= np.arange(start + 1, stop + 1, dtype=np.uint64)
        for value, place in enumerate(places.tolist(), start):
            order[value] = order[place]
            order[place] = value
    return order
