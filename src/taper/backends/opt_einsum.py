"""`taper.backends.opt_einsum`: that package does not choose the order of contractions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled: bool = False
strategy: str | None = None


def is_available() -> bool:
    """Return False: opt_einsum is not used."""
    return False


def get_opt_einsum() -> Any:
    """Return None: opt_einsum is not used."""
    return None


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[Any, Any]:
    """Set the switches that are not None; return the former values of both."""
    switches = globals()
    before = switches["enabled"], switches["strategy"]
    if _enabled is not None:
        switches["enabled"] = _enabled
    if _strategy is not None:
        switches["strategy"] = _strategy
    return before


@contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """Set the switches for a block."""
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        set_flags(*before)
