"""Detours: functions that callers hold by name run through a handler for a while.

Owns: the exchange of code.  A function on a detour has other code, which calls the handlers of
those who asked for the detour (overrides, captures, the profiler, autocast, other
devices), in ORDER from the outside in, and then the original function.  All threads see the
exchange; a handler looks whether its own thread is meant.  A function that nobody asked for costs
nothing extra.  Knows nothing but how to lock.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

from taper.autograd.disturbances import new_lock

ORDER = ("overrides", "capture", "profiler", "autocast", "dispatch", "devices")
_ALONE = {name: (name,) for name in ORDER}

# Handler(run, *args, **kwargs); run(*args, **kwargs) continues with the function.
Handler = Callable[..., Any]

_lock = new_lock(threading.RLock)  # what ends meanwhile may end a detour
# The files of handlers: what calls an operator there is the caller of the detour.
handler_files: set[str] = set()
# Routes are kept: making one takes 3 us, exchanging the code of a function 0.05 us.
_routes: dict[Any, Route] = {}


class Route:
    """A function that has been on a detour, and the handlers that it runs through."""

    __slots__ = ("active", "calls", "code", "first", "function", "handlers", "original", "run")

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
        self.original.__qualname__ = function.__qualname__  # errors about arguments show it
        if "__wrapped__" not in function.__dict__ and "__signature__" not in function.__dict__:
            function.__signature__ = inspect.signature(function)  # the code of a detour hides it
        self.first = function.__code__  # the code that it had before it was last put on the detour
        self.code = _code_through(self, function.__code__)
        self.handlers: dict[str, Handler] = {}
        self.active: tuple[str, ...] = ()
        self.calls: dict[tuple[str, ...], Callable[..., Any]] = {}
        self.run: Callable[..., Any] = self.original

    def join(self, name: str, handler: Handler) -> None:
        """Let the function run through one more handler."""
        function, original = self.function, self.original
        if not self.active and function.__code__ is not original.__code__:
            _take_over(original, function)  # it has been compiled since the last detour
        if not self.active:
            self.first = original.__code__
        if self.handlers.get(name) is not handler:
            self.handlers[name] = handler
            self.calls.clear()
            handler_files.add(_file_of(handler))
        active = self.active
        self._lead(
            tuple([each for each in ORDER if each == name or each in active])
            if active
            else _ALONE[name]
        )
        function.__code__ = self.code

    def part(self, name: str) -> None:
        """Let the function run through one handler less."""
        if self.active == (name,):
            if self.original.__code__ is not self.first:
                _take_over(self.function, self.original)  # it has been compiled during the detour
            else:
                self.function.__code__ = self.first
            self.active = ()  # last: if Ctrl-C comes before, `part` runs again from the start
        else:
            self._lead(tuple([each for each in self.active if each != name]))

    def _lead(self, active: tuple[str, ...]) -> None:
        run = self.calls.get(active)
        if run is None:
            run = self.original
            for name in reversed(active):
                run = functools.partial(self.handlers[name], run)
            self.calls[active] = run
        self.active, self.run = active, run


def _file_of(handler: Any) -> str:
    while isinstance(handler, functools.partial):
        handler = handler.func
    code: CodeType = getattr(handler, "__code__", None) or type(handler).__call__.__code__
    return code.co_filename


def _take_over(function: Any, other: Any) -> None:
    """Let a function do what another does."""
    function.__defaults__ = other.__defaults__
    function.__kwdefaults__ = other.__kwdefaults__
    function.__code__ = other.__code__


def _detour(*args: Any, **kwargs: Any) -> Any:
    """Return the code that a function has during a detour."""
    route: Any = "@route@"
    return route.run(*args, **kwargs)


def _code_through(route: Route, code: CodeType) -> CodeType:
    detour = _detour.__code__
    consts: Any = tuple([route if each == "@route@" else each for each in detour.co_consts])
    return detour.replace(co_consts=consts, co_freevars=code.co_freevars)


def original_of(function: Any) -> Any:
    """Return the function itself, or the one that stands for it while it is on a detour."""
    route = _routes.get(function)
    return route.original if route is not None and route.active else function


def functions_on_a_detour(name: str) -> list[Any]:
    """Return the functions that run through the handlers of `name` now."""
    return [route.function for route in _routes.values() if name in route.active]


def lead_through(name: str, handlers: dict[Any, Handler]) -> None:
    """Let functions run through their handlers; `name` is one of ORDER."""
    with _lock:
        for function, handler in handlers.items():
            route = _routes.get(function)
            if route is None:
                route = _routes[function] = Route(function)
            route.join(name, handler)


def leave(name: str, functions: Iterable[Any] | None = None) -> None:
    """Take the handlers of `name` off all functions, or off some."""
    with _lock:
        routes = _routes.values() if functions is None else map(_routes.__getitem__, functions)
        for route in routes:
            if name in route.active:
                route.part(name)
