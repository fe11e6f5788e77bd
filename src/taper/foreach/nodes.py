"""The node of a function over lists: one for all results, as in PyTorch.

It holds the nodes that the operator made for each result (its inner nodes) and lets each of them
compute its part.  So whatever the operator table knows (saved values, versions, second derivatives)
holds for lists without another formula.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from taper.autograd.anomaly_mode import remember
from taper.autograd.builtin import BuiltinNode
from taper.autograd.meta import VersionCounter
from taper.autograd.node import LIVE, Place
from taper.autograd.state import ANOMALY, NO_GRAD, local
from taper.autograd.views import gradient_edge, requires_grad, set_history
from taper.opdef.nodes import TableNode
from taper.tensor import Tensor

# A column of arguments: its tensors, one for each result, and the edge of an inner node that
# belongs to it.  A Tensor itself is a scalar that all results share.
Column = tuple[Any, int]


_TENSORS = ("exponent", "mat2", "other", "result", "self")  # saved values with hooks


class ForeachNode(BuiltinNode):
    """The history of a list of results."""

    _saves = True

    __slots__ = ("inner", "outputs", "places", "plain", "shared")

    inner: tuple[TableNode | None, ...]
    places: list[dict[int, int]]  # for each result: edge of its inner node -> edge of this one
    outputs: list[tuple[tuple[int, ...], Any]]
    plain: dict[str, Any]  # saved values that are no tensors
    shared: int  # the edge of a scalar that all results share, or -1

    @property
    def _output_count(self) -> int:  # type: ignore[override]
        return len(self.outputs)

    def _output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        return self.outputs[nr]

    def _output_counter(self, nr: int) -> VersionCounter:
        node = self.inner[nr]
        return VersionCounter() if node is None else node._output_counter(0)

    def _saves_output(self, nr: int) -> bool:
        node = self.inner[nr]
        return node is not None and node._saves_output(0)

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return self._compute(grads, [each is not None for each in self._edges], False)

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        return self._compute(grads, [each is not None for each in self._edges], True)

    def _run_partly(self, grads: list[Any], needs: Sequence[bool], tensors: bool) -> Sequence[Any]:
        return self._compute(grads, needs, tensors)

    def _compute(self, grads: list[Any], needs: Sequence[bool], tensors: bool) -> list[Any]:
        found: list[Any] = [None] * len(self._edges)
        for node, grad, places in zip(self.inner, grads, self.places, strict=True):
            if node is None or grad is None:
                continue
            count = range(len(node._edges))
            wanted = [edge in places and needs[places[edge]] for edge in count]
            parts = node._run_partly([grad], wanted, tensors)
            for edge, place in places.items():
                if wanted[edge] and parts[edge] is not None:
                    self._add(found, place, parts[edge])
        return found

    def _add(self, found: list[Any], place: int, part: Any) -> None:
        """Take a gradient; a scalar that all results share gets the sum of theirs."""
        if place == self.shared:
            part = part.sum()
        found[place] = part if found[place] is None else found[place] + part

    def _release(self, place: Place) -> None:
        for node in self.inner:
            if node is not None:
                node._release(place)


class NotImplementedNode(ForeachNode):
    """The history of a function that PyTorch does not differentiate."""

    __slots__ = ()

    _public_name = "torch::autograd::NotImplemented"

    def _compute(self, grads: list[Any], needs: Sequence[bool], tensors: bool) -> list[Any]:
        raise RuntimeError(f"derivative for aten::{self.plain['name']} is not implemented")


NotImplementedNode.__name__ = NotImplementedNode.__qualname__ = "NotImplemented"


@functools.cache
def node_class(name: str, saved: str) -> type[ForeachNode]:
    """Return the node class of that name, which shows these saved values as `_saved_...`."""
    if name == "NotImplemented":
        return NotImplementedNode

    def shown(what: str) -> property:
        def read(node: ForeachNode) -> Any:
            if what in node.plain:
                return node.plain[what]
            found = [getattr(each, f"_saved_{what}", None) for each in node.inner]
            if what == "result":  # an output of this node, not of the inner one
                for nr, each in enumerate(found):
                    if each is not None:
                        set_history(each, node, nr)
            return tuple(found)

        return property(read)

    def raw(what: str) -> property:
        return property(lambda node: tuple([getattr(n, f"_raw_saved_{what}") for n in node.inner]))

    names = saved.split()
    members: dict[str, Any] = {f"_saved_{each}": shown(each) for each in names}
    members |= {f"_raw_saved_{each}": raw(each) for each in names if each in _TENSORS}
    # PyTorch's classes without saved values have no name of their own in Python.
    kind = name if saved else "CppFunction"
    return type(kind, (ForeachNode,), {"__slots__": (), "_public_name": name, **members})


def joined(
    name: str, saved: str, results: list[Tensor], columns: list[Column], plain: dict[str, Any]
) -> tuple[Tensor, ...]:
    """Return the results, with one history for all of them if they have any."""
    if not any(_has_history(column) for column in columns):
        return tuple(results)
    inner = [each._grad_fn if isinstance(each._grad_fn, TableNode) else None for each in results]
    if name != "NotImplemented" and all(each is None for each in inner):
        return tuple(results)  # not recorded, or computed by an interceptor, as under `vmap`
    node = node_class(name, saved)()
    node.inner = tuple(inner)
    node.plain = plain
    node.outputs = [(each._array.shape, each._array.dtype) for each in results]
    node._shape, node._dtype = node.outputs[0]
    _set_edges(node, columns, len(results))
    _set_basics(node, next((each for each in inner if each is not None), None))
    for nr, each in enumerate(results):
        set_history(each, node, nr)
    return tuple(results)


def _tensors_of(column: Column) -> Sequence[Tensor]:
    return (column[0],) if isinstance(column[0], Tensor) else column[0]


def _has_history(column: Column) -> bool:
    return not local.state.mode & NO_GRAD and any(map(requires_grad, _tensors_of(column)))


def _set_edges(node: ForeachNode, columns: list[Column], count: int) -> None:
    pairs: list[tuple[Any, int]] = []
    node.places = [{} for _ in range(count)]
    node.shared = -1
    for column in columns:
        tensors, edge = _tensors_of(column), column[1]
        if isinstance(column[0], Tensor):
            node.shared = len(pairs)
        for nr in range(count):
            place = len(pairs) + (0 if node.shared == len(pairs) else nr)
            last = node.inner[nr]
            at = edge if edge >= 0 or last is None else len(last._edges) + edge
            node.places[nr][at] = place
        pairs += [gradient_edge(each) if requires_grad(each) else (None, 0) for each in tensors]
    node._edges = tuple([each for each, _ in pairs])
    node._edge_nrs = tuple([nr for _, nr in pairs])


def _set_basics(node: ForeachNode, first: TableNode | None) -> None:
    state = local.state
    node._status = LIVE
    node._extra = None
    node._code, node._offset = (None, 0) if first is None else (first._code, first._offset)
    node._sequence = state.sequence
    state.sequence += 1
    if state.mode & ANOMALY:
        remember(node)
