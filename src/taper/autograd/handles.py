"""Hook lists and the handles that remove from them.  Imports nothing of taper."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

_next_id = itertools.count()


class HookDict(OrderedDict[int, Callable[..., Any]]):
    """Hooks in registration order, by handle id."""

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook out, at any number of calls.

    The handle refers weakly to the hooks, so keeping it keeps nothing else alive.
    """

    id: int
    hooks_dict_ref: weakref.ref[Any]
    extra_dict_ref: tuple[weakref.ref[Any], ...]

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = next(_next_id)
        extras = (
            extra_dict
            if isinstance(extra_dict, list)
            else [extra_dict]
            if extra_dict is not None
            else []
        )
        self.extra_dict_ref = tuple(weakref.ref(each) for each in extras)

    def remove(self) -> None:
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None and self.id in hooks:
                del hooks[self.id]

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.hooks_dict_ref(), self.id, tuple(each() for each in self.extra_dict_ref))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks = state[0] if state[0] is not None else OrderedDict()
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = state[1]
        extras = state[2] if len(state) > 2 else ()  # old pickles have two parts
        self.extra_dict_ref = tuple(weakref.ref(each) for each in extras if each is not None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
