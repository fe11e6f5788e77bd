"""Pieces: a function that cannot be captured as a whole runs eagerly, and its modules are captured.

Owns: which modules a function calls by itself, each with a capture of its own.  A module that
cannot be captured either is run in pieces in its turn.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from taper.autograd import detours
from taper.autograd.disturbances import new_lock
from taper.nn.modules.calls import Calls

_lock = new_lock()
_running = 0  # how many functions of all threads run in pieces now


class _Local(threading.local):
    def __init__(self) -> None:
        self.pieces: Pieces | None = None  # of the function that runs on this thread


_local = _Local()


class Pieces:
    """The modules that one function calls, captured."""

    def __init__(self, capture: Callable[[Callable[..., Any]], Any]) -> None:
        self._capture = capture
        self._made: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def run(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function; the modules that it calls are captured."""
        outer = _local.pieces
        _local.pieces = self
        _enter(1)
        try:
            return function(*args, **kwargs)
        finally:
            _enter(-1)
            _local.pieces = outer

    def call(self, run: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """Call a module: what it calls in its turn is part of it."""
        captured = self._made.get(module)
        if captured is None:
            captured = self._made[module] = self._capture(functools.partial(run, module))
        _local.pieces = None
        try:
            return captured(*args, **kwargs)
        finally:
            _local.pieces = self

    def named(self) -> Iterator[tuple[str, Any]]:
        """The class of each module with its capture."""
        for module, captured in list(self._made.items()):
            yield type(module).__name__, captured


def _enter(change: int) -> None:
    """Let calls of modules be seen while some function runs in pieces."""
    global _running
    with _lock:
        before, _running = _running, _running + change
        if not before:
            detours.lead_through("pieces", {Calls.__call__: _through})
        elif not _running:
            detours.leave("pieces")


def _through(run: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
    pieces = _local.pieces
    if pieces is None:
        return run(module, *args, **kwargs)
    return pieces.call(run, module, args, kwargs)
