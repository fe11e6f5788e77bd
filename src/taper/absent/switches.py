"""Modules and objects whose attributes are switches: they keep what is assigned, if it is valid.

Owns: the check of what is assigned.  Knows no switch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

PRECISIONS = ("none", "ieee", "tf32", "bf16")


def of_bool(function: str) -> Callable[[Any], None]:
    """Return a check for True or False; PyTorch's message names the `function` that sets it."""

    def check(value: Any) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"{function} expects a bool, but got {type(value).__name__}")

    return check


def of_precision(backend: str) -> Callable[[Any], None]:
    """Return a check for the name of a precision that a backend has."""

    def check(value: Any) -> None:
        if value not in PRECISIONS:
            raise RuntimeError(f"Unknown precision: {value}")
        if value == "bf16" and backend == "cuda":
            raise RuntimeError(f"backend '{backend}' does not support precision '{value}'")

    return check


class SwitchModule(ModuleType):
    """A module that checks what is assigned to the names in its `_CHECKS`."""

    _CHECKS: dict[str, Callable[[Any], None]]

    def __setattr__(self, name: str, value: Any) -> None:
        check = vars(self)["_CHECKS"].get(name)
        if check is not None:
            check(value)
        super().__setattr__(name, value)


class Precision:
    """The precision of one kind of operation; all are computed as exactly as their dtype allows."""

    def __init__(self, backend: str, precision: str) -> None:
        self._check = of_precision(backend)
        self._precision = precision

    @property
    def fp32_precision(self) -> str:
        """'none', 'ieee', 'tf32' or 'bf16': kept, and without effect."""
        return self._precision

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        self._check(value)
        self._precision = value


def put(module: str, switches: dict[str, Any]) -> tuple[Any, ...]:
    """Set the switches of a module that are not None; returns all as they were."""
    space = sys.modules[module]
    before = tuple(getattr(space, name) for name in switches)
    for name, value in switches.items():
        if value is not None:
            setattr(space, name, value)
    return before


@contextmanager
def put_for_block(set_flags: Callable[..., tuple[Any, ...]], *values: Any) -> Iterator[None]:
    """Set the switches of a module through its `set_flags`, for a block."""
    before = set_flags(*values)
    try:
        yield
    finally:
        set_flags(*before)
