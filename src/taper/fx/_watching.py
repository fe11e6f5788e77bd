"""Functions of the public interface look for proxies while there are any.

Owns: the count of living proxies, and the detour (`autograd.detours`) that all public functions
take meanwhile.  A program without proxies pays nothing.
"""

from __future__ import annotations

import functools
import threading
from types import FunctionType
from typing import Any

from taper.autograd import detours
from taper.autograd.disturbances import new_lock
from taper.fx._names import public_functions

_lock = new_lock(threading.RLock)  # a proxy may end while another one begins
_alive = [0]
proxy_class: Any = ()  # `proxy.py` says which


def enter() -> None:
    """Count one more proxy; the first one leads the functions through `_ask`."""
    with _lock:
        _alive[0] += 1
        if _alive[0] == 1:
            detours.lead_through("tracing", _handlers())


def leave() -> None:
    """Count one proxy less."""
    with _lock:
        _alive[0] -= 1
        if _alive[0] == 0:
            detours.leave("tracing")


@functools.cache
def _handlers() -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for function in public_functions():
        handler = functools.partial(_ask, function)
        inner = function
        while isinstance(inner, FunctionType):  # the library's own modules call what is behind it
            found.setdefault(inner, handler)
            inner = getattr(inner, "__wrapped__", None)
    return found


def _ask(function: Any, run: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Let a proxy among the arguments write the call down."""
    found = _proxy_in(args) or (_proxy_in(kwargs.values()) if kwargs else None)
    if found is None:
        return run(*args, **kwargs)
    return found.__torch_function__(function, (found,), args, kwargs)


def _proxy_in(values: Any) -> Any:
    """Return the class of the first proxy in nested sequences, or None."""
    for each in values:
        kind = type(each)
        if issubclass(kind, proxy_class):
            return kind
        if kind is tuple or kind is list:
            found = _proxy_in(each)
            if found is not None:
                return found
    return None
