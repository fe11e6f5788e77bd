"""Who holds an object: the names of variables, lists, dicts and attributes that refer to it.

Owns: the search.  Local variables are read from the running functions, everything else from what
the garbage collector knows.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

from taper.autograd.meta import ViewRecord
from taper.autograd.node import Node
from taper.autograd.provenance import is_internal, variables_of
from taper.autograd.saved import SavedValue
from taper.tensor import Tensor

MOST = 5  # holders that are named


def holders_of(value: Any) -> list[str]:
    """Return words for what refers to a tensor: "the variable `loss` in train", ..."""
    found = {words: None for words, each in variables() if each is value}
    for each in gc.get_referrers(value):
        if len(found) >= MOST:
            break
        if any(one is value for one in contents(each)):
            found.update(dict.fromkeys(in_container(value, each)))
    return list(found)[:MOST]


def contents(container: Any) -> list[Any]:
    """Return what a container or an object of the user's refers to; [] for parts of graphs."""
    if type(container) is dict:
        return list(container.values())
    if isinstance(container, list | tuple | set | frozenset | deque):
        return list(container)
    if isinstance(container, Node | Tensor | SavedValue | ViewRecord | type):
        return []
    return list(getattr(container, "__dict__", {}).values())


def running_frames() -> Iterator[FrameType]:
    """Yield the running functions of all threads that are not taper's."""
    for start in sys._current_frames().values():
        frame: FrameType | None = start
        while frame is not None:
            if not is_internal(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back


def variables() -> Iterator[tuple[str, Any]]:
    """Yield the variables of the running functions: words for them, and their values."""
    for frame in running_frames():
        if frame.f_locals is frame.f_globals:
            for name, each in list(frame.f_globals.items()):
                yield f"the global variable `{name}`", each
        else:
            for name, each in variables_of(frame).items():
                yield f"the variable `{name}` in {frame.f_code.co_name}", each


def in_container(value: Any, container: Any, several: bool = False) -> Iterator[str]:
    """Yield words for a container that has the value, if it or its owner has a name.

    With `several` a sequence is named as a whole.
    """
    if type(container) is dict:
        keys = [key for key, each in container.items() if each is value]
        if not keys:
            return
        owner = _owner_of_dict(container)
        if isinstance(owner, ModuleType):
            if not is_internal(getattr(owner, "__file__", None) or "<none>"):
                yield f"the global variable `{keys[0]}`"
        elif owner is not None:
            yield f"the attribute `{keys[0]}` of a {type(owner).__name__}"
        else:
            yield from (f"the entry {keys[0]!r} of {name}" for name in _names_of(container))
        return
    if not isinstance(container, list | tuple | set | frozenset | deque):
        names = [name for name, each in vars(container).items() if each is value]
        yield from (f"the attribute `{name}` of a {type(container).__name__}" for name in names[:1])
        return
    places = [place for place, each in enumerate(container) if each is value]
    kind = type(container).__name__
    for name in _names_of(container):
        if several:
            yield f"the {kind} {name}"
            continue
        yield f"item {places[0] if places else 0} of the {kind} {name} (of {len(container)})"


def _owner_of_dict(namespace: dict[Any, Any]) -> Any:
    """Return the module or object whose attributes a dict has."""
    for each in gc.get_referrers(namespace):
        if getattr(each, "__dict__", None) is namespace:
            return each
    return None


def _names_of(container: Any) -> Iterator[str]:
    """Yield the names of variables and attributes that refer to a container."""
    for frame in running_frames():
        for scope in (variables_of(frame), frame.f_globals):
            for name, each in list(scope.items()):
                if each is container:
                    yield f"`{name}`"
                    return
                if name == "self" and not isinstance(each, type):
                    for attribute, held in getattr(each, "__dict__", {}).items():
                        if held is container:
                            yield f"`self.{attribute}`"
                            return
