"""What a graph holds in memory, and what of it nobody else holds.

Owns: counting the references that come from inside a graph.  Memory is the graph's alone if all
references to its arrays, and to the tensors on them, come from there.  Reading changes nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from typing import Any

from numpy import ndarray

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.meta import ViewRecord
from taper.autograd.node import Node, NodeExtra
from taper.autograd.saved import SavedValue
from taper.tensor import Tensor

_CONTAINERS = (NodeExtra, SavedValue, ViewRecord, tuple, list, dict)


class Holding:
    """The objects that a graph holds, each with the number of references from inside."""

    def __init__(self, nodes: Iterable[Any], leaves: Iterable[Any]) -> None:
        self._objects: dict[int, Any] = {}
        self._counts: dict[int, int] = {}
        self._outside = {id(each) for each in leaves}
        self._usual = _usual_count()
        self._collect(list(nodes))
        self._shared = self._find_shared()

    def _collect(self, stack: list[Any]) -> None:
        self._objects.update({id(node): node for node in stack})
        while stack:
            for each in _referents(stack.pop()):
                if id(each) in self._outside or not _belongs(each):
                    continue
                self._counts[id(each)] = self._counts.get(id(each), 0) + 1
                if id(each) not in self._objects:
                    self._objects[id(each)] = each
                    stack.append(each)

    def _find_shared(self) -> set[int]:
        """Return the ids of arrays that own memory which somebody outside holds as well."""
        tensors = [key for key, each in self._objects.items() if isinstance(each, Tensor)]
        arrays = [key for key, each in self._objects.items() if isinstance(each, ndarray)]
        found = {_owner_id(self._objects[key]) for key in arrays if self._is_held_outside(key)}
        for key in tensors:
            if self._is_held_outside(key):
                found.add(_owner_id(self._objects[key]._array))
        return found

    def _is_held_outside(self, key: int) -> bool:
        return sys.getrefcount(self._objects[key]) - self._usual > self._counts.get(key, 0)

    def is_alone(self, owner: ndarray) -> bool:
        """Return whether only the graph holds the memory that an array owns."""
        return id(owner) not in self._shared


def _belongs(value: Any) -> bool:
    if isinstance(value, AccumulateGrad):
        return False
    return isinstance(value, (Node, Tensor, ndarray, *_CONTAINERS))


def _referents(value: Any) -> list[Any]:
    """Return what an object of a graph refers to, with repetitions."""
    if isinstance(value, ndarray):
        return [] if value.base is None else [value.base]
    if isinstance(value, Tensor):
        return [each for each in (value._array, value._view, value._grad_fn) if each is not None]
    return gc.get_referents(value)


def _owner_id(array: ndarray) -> int:
    while isinstance(array.base, ndarray):
        array = array.base
    return id(array)


def _usual_count() -> int:
    """Return the count of an object that is only in a dict, as `_is_held_outside` sees it."""
    objects = {0: object()}
    return sys.getrefcount(objects[0])
