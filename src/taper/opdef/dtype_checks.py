"""Which dtypes an operator refuses, in PyTorch's words: the checks for `@op(check=...)`.

A check gets the common dtype of the operands and the operands themselves (arrays and numbers), and
is never called for float32 alone; it raises or does nothing.  Knows dtypes, not operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from taper.dtypes import FLOATING, FROM_NUMPY, INTEGER, can_cast, dtype

Check: TypeAlias = Callable[[dtype, Sequence[Any]], None]

BOOL = ("bool",)
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
WIDE = ("uint16", "uint32", "uint64")  # PyTorch has few operators for these
COMPLEX = ("complex64", "complex128")
NOT_FLOATING = (*BOOL, *INTEGERS, *WIDE, *COMPLEX)


def refuse(error: type[Exception], text: str, *names: str) -> Check:
    """Raise `error` for the dtypes of these names."""
    refused = frozenset(names)

    def check(common: dtype, operands: Sequence[Any]) -> None:
        if common.name in refused:
            raise error(text)

    return check


def not_implemented(kernel: str, *names: str) -> Check:
    """Raise PyTorch's error of a missing kernel for the dtypes of these names."""
    refused = frozenset(names)

    def check(common: dtype, operands: Sequence[Any]) -> None:
        if common.name in refused:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{common.scalar_type}'")

    return check


no_negation = refuse(
    RuntimeError,
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead.",
    *BOOL,
)


def all_of(*checks: Check) -> Check:
    """Return several checks as one; the first that raises wins."""

    def check(common: dtype, operands: Sequence[Any]) -> None:
        for each in checks:
            each(common, operands)

    return check


def refuse_lower(found: dtype, output: dtype) -> None:
    """Raise PyTorch's error if a result is of a higher category than its destination."""
    if not can_cast(found, output):
        raise RuntimeError(
            f"result type {found.scalar_type} can't be cast to the desired output type "
            f"{output.scalar_type}"
        )


def require_whole(kernel: str, values: ndarray, *also: str) -> None:
    """Raise PyTorch's error of a missing kernel unless an array holds whole numbers or bool.

    Kernels call this, since `check` is not called for float32; `also` names further dtypes.
    """
    kind = FROM_NUMPY[values.dtype]
    if kind.category >= FLOATING or kind.name in also:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.scalar_type}'")


_C_TYPES = {"uint8": "uint8_t", "int32": "int", "int8": "int8_t", "int16": "int16_t"}


def refuse_overflow(number: Any, kind: dtype) -> None:
    """Raise PyTorch's error for a number that an integer dtype cannot hold.

    Negative numbers may wrap around once for unsigned dtypes.
    """
    if kind.category == INTEGER:
        limits = np.iinfo(kind.numpy)
        lowest = limits.min if kind.is_signed else -limits.max
        if not lowest <= number <= limits.max:
            name = _C_TYPES.get(kind.name, f"{kind.name}_t")
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
