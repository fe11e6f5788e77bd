"""Errors of processes that the launcher started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "record"]

Main = TypeVar("Main", bound=Callable[..., Any])


class ChildFailedError(Exception):
    """A process that the launcher started has failed."""


def record(fn: Main, error_handler: Any = None) -> Main:
    """Return the function: the launcher shows what its processes print, errors included.

    >>> from taper.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return 0
    >>> main()
    0
    """
    return fn
