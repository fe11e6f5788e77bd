"""Detours: functions that their callers hold by name run through somebody else meanwhile.

Owns: the exchange of code.  A function that is on a detour has other code, which calls those who
asked for it (the profiler, autocast), the one that is named first in ORDER outermost, and at last
the function as it was.  It is the same for all threads; who asked looks whether it is meant.
Nobody pays while nobody has asked.  Knows nobody.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

ORDER = ("profiler", "autocast")

Handler = Callable[..., Any]  # handler(run, *args, **kwargs), where run(*args, **kwargs) goes on

_lock = threading.Lock()
# Kept: to make a route takes 3 us, to exchange the code of a function 0.05 us.
_routes: dict[Any, Route] = {}


class Route:
    """A function that has been on a detour, and who asked for it."""

    __slots__ = ("active", "calls", "code", "function", "handlers", "original", "run")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.original: Any = FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self.code = _code_through(self, function.__code__)
        self.handlers: dict[str, Handler] = {}
        self.active: tuple[str, ...] = ()
        self.calls: dict[tuple[str, ...], Callable[..., Any]] = {}
        self.run: Callable[..., Any] = self.original

    def lead(self, active: tuple[str, ...]) -> None:
        """Let the function run through these, or as it was."""
        self.active = active
        if active:
            run = self.calls.get(active)
            if run is None:
                run = self.original
                for name in reversed(active):
                    run = functools.partial(self.handlers[name], run)
                self.calls[active] = run
            self.run = run
            self.function.__code__ = self.code
        else:
            # It may have been compiled meanwhile, see `original_of`.
            original = self.original
            self.function.__defaults__ = original.__defaults__
            self.function.__kwdefaults__ = original.__kwdefaults__
            self.function.__code__ = original.__code__


def _detour(*args: Any, **kwargs: Any) -> Any:
    """The code that a function has meanwhile."""
    route: Any = "@route@"
    return route.run(*args, **kwargs)


def _code_through(route: Route, code: CodeType) -> CodeType:
    detour = _detour.__code__
    consts: Any = tuple([route if each == "@route@" else each for each in detour.co_consts])
    return detour.replace(co_consts=consts, co_freevars=code.co_freevars)


def original_of(function: Any) -> Any:
    """The function itself, or the one that stands for it while it is on a detour."""
    route = _routes.get(function)
    return route.original if route is not None and route.active else function


def functions_on_a_detour() -> list[Any]:
    """Those that run through anybody now."""
    return [route.function for route in _routes.values() if route.active]


def lead_through(name: str, handlers: dict[Any, Handler]) -> None:
    """Let functions run through their handlers; `name` is one of ORDER and may lead only once."""
    with _lock:
        for function, handler in handlers.items():
            route = _routes.get(function)
            if route is None:
                route = _routes[function] = Route(function)
            elif not route.active:
                _refresh(route)
            if route.handlers.setdefault(name, handler) is not handler:
                route.handlers[name] = handler
                route.calls.clear()
            route.lead(tuple([each for each in ORDER if each == name or each in route.active]))


def _refresh(route: Route) -> None:
    """Take over what a function has become since it was last on a detour."""
    original, function = route.original, route.function
    if original.__code__ is not function.__code__:
        original.__defaults__ = function.__defaults__
        original.__kwdefaults__ = function.__kwdefaults__
        original.__code__ = function.__code__


def leave(name: str) -> None:
    """Let no function run through the handlers of `name` any more."""
    with _lock:
        for route in _routes.values():
            if name in route.active:
                route.lead(tuple([each for each in route.active if each != name]))
