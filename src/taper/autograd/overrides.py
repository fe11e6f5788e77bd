"""Classes that handle `backward` and `grad` themselves: `__torch_function__` (§Z7).

Operators do not ask: results of operators on user classes are plain tensors.  Imports nothing of
taper.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Switch(threading.local):
    off = False


_switch = _Switch()


@contextmanager
def disabled() -> Iterator[None]:
    """Ask no class during the block."""
    before = _switch.off
    _switch.off = True
    try:
        yield
    finally:
        _switch.off = before


def is_off() -> bool:
    """Return whether this thread is in such a block."""
    return _switch.off


class Default:
    """Call the function as it is: `__torch_function__` of a class that does not define its own."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        with disabled():
            return func(*args, **(kwargs or {}))


_DEFAULT = Default.__torch_function__.__func__  # type: ignore[attr-defined]


def overrider(values: Any) -> Any:
    """Return the first of some values whose class has its own `__torch_function__`, else None."""
    if _switch.off:
        return None
    several = values if isinstance(values, tuple | list) else (values,)
    for each in several:
        method = getattr(type(each), "__torch_function__", None)
        if method is not None and getattr(method, "__func__", None) is not _DEFAULT:
            return each
    return None


def call_overrider(asked: Any, function: Any, values: tuple[Any, ...], options: Any) -> Any:
    """Let the class of `asked` do the work of `function`."""
    everybody: list[Any] = []
    for each in values:
        everybody.extend(each if isinstance(each, tuple | list) else (each,))
    types = dict.fromkeys(type(each) for each in everybody if hasattr(each, "__torch_function__"))
    return type(asked).__torch_function__(function, tuple(types), values, options)
