"""Pieces: a function that cannot be captured as a whole runs eagerly, and its modules are captured.

Owns: which modules a function calls by itself, each with a capture of its own.  A module that
cannot be captured either is run in pieces in its turn.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from taper.arrays.native import native
from taper.autograd.disturbances import new_lock
from taper.nn.modules.calls import Calls

# Calls until the modules have been recorded, and how many are then measured each way.
_FIRST = 6
_MEASURED = 5


class Pieces:
    """The modules that one function calls, captured, unless eager mode turns out to be faster."""

    def __init__(self, capture: Callable[[Callable[..., Any]], Any]) -> None:
        self._capture = capture
        self._made: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._calls = 0
        self._seconds: tuple[list[float], list[float]] = ([], [])  # in pieces, and eagerly
        self.are_faster = True

    def run(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function in the way that has taken less time."""
        if not self.are_faster:
            return function(*args, **kwargs)
        if self._calls >= _FIRST + 2 * _MEASURED:
            return self._run_in_pieces(function, args, kwargs)
        self._calls += 1
        is_eager = self._calls > _FIRST and self._calls % 2
        start = time.perf_counter()
        result = (
            function(*args, **kwargs) if is_eager else self._run_in_pieces(function, args, kwargs)
        )
        if self._calls > _FIRST:
            self._seconds[bool(is_eager)].append(time.perf_counter() - start)
        if self._calls == _FIRST + 2 * _MEASURED:
            pieces, eager = self._seconds
            self.are_faster = min(pieces) < 0.95 * min(eager)
        return result

    def _run_in_pieces(
        self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """Call a function; the modules that it calls are captured."""
        outer = lead_calls(self._call)
        try:
            return function(*args, **kwargs)
        finally:
            lead_calls(outer)

    def _call(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a module: what it calls in its turn is part of it."""
        captured = self._made.get(module)
        if captured is None:
            run = functools.partial(_plain_call, module)
            captured = self._made[module] = self._capture(run)
        lead_calls(None)
        try:
            return captured(*args, **kwargs)
        finally:
            lead_calls(self._call)

    def named(self) -> Iterator[tuple[str, Any]]:
        """The class of each module with its capture."""
        for module, captured in list(self._made.items()):
            yield type(module).__name__, captured


# Calls a module itself, wherever calls are led.
_plain_call: Any = Calls.__dict__["__call__"] if native is None else native.call_module


class _Leading:
    """The twin of `native.lead_calls`: calls of modules on a thread go to a function, or to None.

    The class has another `__call__` while any thread asks for that.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self.threads = 0
        self.local = threading.local()

    def __call__(self, leader: Callable[..., Any] | None) -> Callable[..., Any] | None:
        before: Callable[..., Any] | None = getattr(self.local, "leader", None)
        self.local.leader = leader
        with self.lock:
            self.threads += (leader is not None) - (before is not None)
            Calls.__call__ = self.through if self.threads else _plain_call  # type: ignore[method-assign]
        return before

    @property
    def through(self) -> Any:
        def through(module: Any, *args: Any, **kwargs: Any) -> Any:
            leader = getattr(self.local, "leader", None)
            if leader is None:
                return _plain_call(module, *args, **kwargs)
            return leader(module, *args, **kwargs)

        return through


lead_calls: Callable[[Any], Any] = _Leading() if native is None else native.lead_calls
