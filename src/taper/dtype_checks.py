"""Which dtypes an operator refuses, in PyTorch's words: the checks for `@op(check=...)`.

A check is called with the common dtype of the operands and the operands themselves (arrays and
numbers), never for float32 alone; it raises or does nothing.  Knows dtypes, not operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from taper.dtypes import dtype

Check: TypeAlias = Callable[[dtype, Sequence[Any]], None]

BOOL = ("bool",)
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
WIDE = ("uint16", "uint32", "uint64")  # PyTorch has few operators for these
COMPLEX = ("complex64", "complex128")


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


def all_of(*checks: Check) -> Check:
    """Several checks, the first that raises wins."""

    def check(common: dtype, operands: Sequence[Any]) -> None:
        for each in checks:
            each(common, operands)

    return check
