"""What is exchanged while a trace runs: attributes of classes and global names.

Owns: `_Patcher`, which restores everything, and the functions that programs have wrapped.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from taper.fx.proxy import Proxy

# Global names that programs have wrapped: (id of the globals, name) -> the globals.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []


class _Patcher:
    """Exchanges attributes and global names, and restores them."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._redo: list[Callable[[], None]] = []
        self.visited: set[int] = set()
        self._done: set[tuple[int, str]] = set()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.revert_all_patches()
        self.forget()

    def visit_once(self, names: dict[str, Any]) -> bool:
        """Return whether a dictionary of global names is seen for the first time."""
        seen = id(names) in self.visited
        self.visited.add(id(names))
        return not seen

    def patch_method(self, owner: Any, name: str, value: Any, deduplicate: bool = True) -> None:
        """Exchange an attribute of a class; to `deduplicate`, only if that was not done yet."""
        if deduplicate and (id(owner), name) in self._done:
            return
        self._done.add((id(owner), name))
        missing = name not in owner.__dict__
        before = None if missing else owner.__dict__[name]

        def undo() -> None:
            delattr(owner, name) if missing else setattr(owner, name, before)

        self._do(lambda: setattr(owner, name, value), undo)

    def patch(self, names: dict[str, Any], name: str, value: Any, deduplicate: bool = True) -> None:
        """Exchange a global name, which may not exist before."""
        if deduplicate and (id(names), name) in self._done:
            return
        self._done.add((id(names), name))
        missing = name not in names
        before = names.get(name)

        def undo() -> None:
            if missing:
                names.pop(name, None)
            else:
                names[name] = before

        self._do(lambda: names.__setitem__(name, value), undo)

    def _do(self, redo: Callable[[], None], undo: Callable[[], None]) -> None:
        redo()
        self._redo.append(redo)
        self._undo.append(undo)

    def revert_all_patches(self) -> None:
        """Restore everything; `reapply_all_patches` exchanges it again."""
        for undo in reversed(self._undo):
            undo()

    def forget(self) -> None:
        """Drop what is needed no more: its functions hold proxies."""
        self._undo.clear()
        self._redo.clear()

    def reapply_all_patches(self) -> None:
        """Exchange everything again."""
        for redo in self._redo:
            redo()


_current_patcher: _Patcher | None = None


@contextlib.contextmanager
def _patches() -> Iterator[_Patcher]:
    global _current_patcher
    before = _current_patcher
    with _Patcher() as patcher:
        _current_patcher = patcher
        try:
            yield patcher
        finally:
            _current_patcher = before


@contextlib.contextmanager
def _maybe_revert_all_patches() -> Iterator[None]:
    patcher = _current_patcher
    if patcher is None:
        yield
        return
    patcher.revert_all_patches()
    try:
        yield
    finally:
        patcher.reapply_all_patches()


def _find_proxy(*values: Any) -> Proxy | None:
    """Return the first proxy among nested values."""
    for each in values:
        if isinstance(each, Proxy):
            return each
        if isinstance(each, dict):
            each = list(each.values())
        if isinstance(each, tuple | list):
            found = _find_proxy(*each)
            if found is not None:
                return found
    return None


def _wrapped(function: Any) -> Any:
    """Return a function that is written down as one call when it is given a proxy."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = _find_proxy(args, kwargs)
        if found is None:
            return function(*args, **kwargs)
        made = found.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def _wrapped_method(cls: type, name: str) -> Any:
    method = getattr(cls, name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = _find_proxy(args, kwargs)
        if found is None:
            return method(*args, **kwargs)
        return found.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    for (_, name), names in _wrapped_fns_to_patch.copy().items():
        original = names.get(name, getattr(builtins, name, None))
        if original is not None:
            patcher.patch(names, name, _wrapped(original))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, names: dict[str, Any], functions: set[int]) -> None:
    """Wrap those of some functions, given by their ids, that global names stand for."""
    if not patcher.visit_once(names):
        return
    for name, value in list(names.items()):
        if not name.startswith("_") and callable(value) and id(value) in functions:
            patcher.patch(names, name, _wrapped(value))
