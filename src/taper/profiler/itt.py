"""`taper.profiler.itt`: marks for Intel's tracing tools, which nobody collects here (§E15)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Return whether marks are collected: never.

    >>> import taper
    >>> taper.profiler.itt.is_available()
    False
    """
    return False


def range_push(msg: str) -> None:
    """Begin a range: does nothing."""


def range_pop() -> None:
    """End the last range: does nothing."""


def mark(msg: str) -> None:
    """Mark an instant: does nothing."""


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Put a range around a block; `msg` is formatted with the further arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
