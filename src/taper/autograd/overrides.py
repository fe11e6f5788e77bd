"""Classes and modes that handle functions themselves: `__torch_function__` (§Z7).

Owns: what a thread has switched off, its stack of modes, the order in which classes are asked, and
the instances whose classes want to be asked.  Functions are asked about through detours, which
`taper.overrides.overridable` lays while there is a mode or such an instance; otherwise nobody asks,
and nothing is paid.  Imports nothing of taper.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class _Switch(threading.local):
    off = False  # no class is asked
    all_off = False  # no mode either
    modes: tuple[Any, ...] = ()


switch = _Switch()


@contextmanager
def disabled() -> Iterator[None]:
    """Ask no class during the block."""
    before = switch.off
    switch.off = True
    try:
        yield
    finally:
        switch.off = before


@contextmanager
def all_disabled() -> Iterator[None]:
    """Ask neither classes nor modes during the block."""
    before = switch.off, switch.all_off
    switch.off = switch.all_off = True
    try:
        yield
    finally:
        switch.off, switch.all_off = before


@contextmanager
def enabled() -> Iterator[None]:
    """Ask again during the block, inside of a block that has switched it off."""
    before = switch.off, switch.all_off
    switch.off = switch.all_off = False
    try:
        yield
    finally:
        switch.off, switch.all_off = before


def is_off() -> bool:
    """Return whether this thread is in a block in which no class is asked."""
    return switch.off


def modes() -> tuple[Any, ...]:
    """Return the modes that see the functions of this thread now, the innermost last."""
    return () if switch.all_off else switch.modes


def _disabled_torch_function_impl(
    cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Call a function as if no class handled functions itself; for `__torch_function__ =` this."""
    with disabled():
        return func(*args, **(kwargs or {}))


class Default:
    """Call the function and give tensors the class: `__torch_function__` of Tensor."""

    # Functions whose results keep their class, and how a tensor gets one; `overridable` fills it.
    plain_results: tuple[Any, ...] = ()
    convert: Callable[[Any, Any], Any] = staticmethod(lambda result, cls: result)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        for each in types:
            if not issubclass(cls, each):
                return NotImplemented
        with disabled():
            result = func(*args, **(kwargs or {}))
        return result if func in Default.plain_results else Default.convert(result, cls)


_DEFAULT = Default.__torch_function__.__func__  # type: ignore[attr-defined]


def handler_of(kind: type) -> Any:
    """Return the `__torch_function__` of a class that wants to be asked, else None."""
    method = getattr(kind, "__torch_function__", None)
    if method is None or method is _disabled_torch_function_impl:
        return None
    return None if getattr(method, "__func__", None) is _disabled_torch_function_impl else method


def _disabled_torch_dispatch_impl(
    cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """Stand for a class that does not do the work of operators."""
    return func(*args, **(kwargs or {}))


def dispatches(kind: type) -> bool:
    """Return whether a class does the work of operators: it has a `__torch_dispatch__`."""
    method = getattr(kind, "__torch_dispatch__", _disabled_torch_dispatch_impl)
    return getattr(method, "__func__", method) is not _disabled_torch_dispatch_impl


def flat(values: Iterable[Any]) -> Iterator[Any]:
    """Return values, and those in their lists and tuples."""
    for each in values:
        if isinstance(each, (tuple, list)):
            yield from each
        else:
            yield each


def asked_of(values: Iterable[Any], without: Any = ()) -> list[Any]:
    """Return a value of each class to ask, subclasses before their base classes."""
    found: list[Any] = []
    for each in values:
        kind = type(each)
        if kind in without or handler_of(kind) is None or kind in map(type, found):
            continue
        places = [i for i, other in enumerate(found) if issubclass(kind, type(other))]
        found.insert(places[0] if places else len(found), each)
    return found


@contextmanager
def without_innermost() -> Iterator[Any]:
    """Take the innermost mode off during the block, and give it."""
    before = switch.modes
    switch.modes = before[:-1]
    try:
        yield before[-1]
    finally:
        switch.modes = before


def answer(func: Any, types: tuple[type, ...], asked: Iterable[Any], args: Any, kwargs: Any) -> Any:
    """Let the innermost mode, then the classes do the work of `func`; else NotImplemented."""
    found: Any = NotImplemented
    if modes():
        with without_innermost() as mode:
            found = mode.__torch_function__(func, types, args, kwargs)
    for each in asked if found is NotImplemented else ():
        found = each.__torch_function__(func, types, args, kwargs)
        if found is not NotImplemented:
            break
    return found


def refusal(name: str, asked: Iterable[Any], mode: Any) -> TypeError:
    """Return the error if nobody has done the work of one of PyTorch's own functions."""
    lines = [] if mode is None else [f"  - mode object {mode!r}"]
    lines += [f"  - tensor subclass {type(each)!r}" for each in asked]
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
        "NotImplemented:\n\n"
        + "\n".join(lines)
        + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


# --- what is there -----------------------------------------------------------------------------

# Classes whose own values have nothing to say; Tensor and Parameter enter themselves.
silent: set[type] = {int, float, bool, str, complex, type(None), slice, type(Ellipsis)}
# Names of operators and functions that have been declared since somebody last looked for them.
declared: list[str] = []
# Modules whose functions ask, by their names: what they hold.
namespaces: dict[str, dict[str, Any]] = {}
# Looks for functions that ask, if there are detours.
grown: list[Callable[[], None]] = []


def has_grown(namespace: dict[str, Any] | None = None) -> None:
    """Note that functions have been loaded, which may have to ask: a family, or a module."""
    if namespace is not None:
        namespaces[namespace["__name__"]] = namespace
    for each in grown:
        each()


# --- who is there ----------------------------------------------------------------------------


class _Instance(weakref.ref[Any]):
    """A reference that never asks its object for a hash, or whether it is equal."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__


# Instances of classes that want to be asked; while there are some, functions are on detours.
instances: set[weakref.ref[Any]] = set()
# Such classes of values that are no tensors.
others: weakref.WeakSet[type] = weakref.WeakSet()
# Those of classes that do the work of operators, and who lets them do it.
wrappers: set[weakref.ref[Any]] = set()
begin_dispatch: list[Callable[[], None]] = []
end_dispatch: list[Callable[[], None]] = []
# Lays the detours, which `taper` sets; and ends them, if nobody is left.
begin: list[Callable[[], None]] = []
end: list[Callable[[], None]] = []


def _forget(reference: weakref.ref[Any]) -> None:
    wrappers.discard(reference)
    for each in () if wrappers else end_dispatch:
        each()


def _forget_at_once(reference: weakref.ref[Any]) -> None:
    instances.discard(reference)
    for each in () if instances else end:
        each()


def watch(tensor: Any, briefly: bool = False) -> None:
    """Note that there is an instance of a subclass; its class may want to be asked.

    What is there `briefly` takes the detours along when it goes.
    """
    if dispatches(type(tensor)):
        wrappers.add(_Instance(tensor, _forget))
        for each in begin_dispatch:
            each()
    if handler_of(type(tensor)) is not None:
        instances.add(_Instance(tensor, _forget_at_once if briefly else instances.discard))
        for each in begin:
            each()


def notice(values: Iterable[Any]) -> bool:
    """Return whether a value's class wants to be asked, and was not known; now all will ask."""
    if switch.off:
        return False
    kinds = {type(each) for each in flat(values) if handler_of(type(each)) is not None}
    kinds = {kind for kind in kinds if not hasattr(kind, "_array") and kind not in others}
    if not kinds:
        return False
    others.update(kinds)
    for each in begin:
        each()
    return True


class AskFirstError(AttributeError):
    """Says inside of a function that it shall ask before it begins."""


# --- single functions ------------------------------------------------------------------------


def overrider(values: Any) -> Any:
    """Return the first of some values whose class has its own `__torch_function__`, else None."""
    if switch.off:
        return None
    several = values if isinstance(values, (tuple, list)) else (values,)
    for each in several:
        method = handler_of(type(each))
        if method is not None and getattr(method, "__func__", None) is not _DEFAULT:
            return each
    return None


def call_overrider(asked: Any, function: Any, values: tuple[Any, ...], options: Any) -> Any:
    """Let the class of `asked` do the work of `function`."""
    types = dict.fromkeys(
        type(each) for each in flat(values) if hasattr(each, "__torch_function__")
    )
    return type(asked).__torch_function__(function, tuple(types), values, options)
