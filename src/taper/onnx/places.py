"""Tensors that share memory, in a graph where nothing is ever written.

Owns: `Places`, which knows the newest value of each tensor of a program.  After a write into a
view, the tensor it belongs to gets a new value that contains the written part, and its other views
are made again when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import Graph, Value
from taper.onnx.sizes import Size, Varying
from taper.onnx.tracing import Ref, Step

_SAME_ORDER = frozenset(
    {"view", "_reshape_alias", "_unsafe_view", "alias", "unsqueeze", "squeeze", "squeeze_dim"}
    | {"squeeze_dims", "unsqueeze_", "squeeze_", "squeeze_dim_", "squeeze_dims_"}
)
_TURNED = frozenset({"t", "t_", "transpose", "transpose_", "permute"})


class _Place:
    """A tensor: its value after its memory was written `writes` times."""

    __slots__ = ("number", "parent", "root", "step", "value", "writes")

    def __init__(
        self, value: Value, parent: _Place | None = None, step: Step | None = None, number: int = 0
    ) -> None:
        self.value = value
        self.parent = parent
        self.step = step
        self.number = number
        self.root: _Place = self if parent is None else parent.root
        self.writes: int = parent.root.writes if parent is not None else 0


class Places:
    """The newest value of each tensor; `perform` makes the values of a step from its first."""

    def __init__(self, graph: Graph, perform: Callable[[Step, Value], list[Any]]) -> None:
        self._graph = graph
        self._perform = perform
        self._places: dict[int, _Place] = {}

    def set(self, ref: Ref, value: Value) -> None:
        """Set the value of a tensor with memory of its own."""
        self._places[ref.number] = _Place(value)

    def set_view(self, ref: Ref, value: Value, of: Ref, step: Step, number: int) -> None:
        """Set a tensor that shows the memory of another: output `number` of a step."""
        if ref != of:
            self._places[ref.number] = _Place(value, self._places[of.number], step, number)

    def has(self, ref: Ref) -> bool:
        return ref.number in self._places

    def read(self, ref: Ref) -> Value:
        """Return the value of a tensor now."""
        return self._newest(self._places[ref.number])

    def _newest(self, place: _Place) -> Value:
        if place.writes != place.root.writes and place.parent is not None and place.step:
            source = self._newest(place.parent)
            place.value = self._perform(place.step, source)[place.number]
            place.writes = place.root.writes
        return place.value

    def write(self, ref: Ref, value: Value) -> None:
        """Give a new value to a tensor, and to all that share its memory."""
        chain = [self._places[ref.number]]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        wholes = [self._newest(each) for each in chain[1:]]
        now = chain[-1].writes + 1
        for nr, each in enumerate(chain):
            each.value, each.writes = value, now
            if each.step is not None:
                value = self._put(wholes[nr], each.step, each.number, value)

    def _put(self, whole: Value, step: Step, number: int, part: Value) -> Value:
        """Return `whole` with `part` where output `number` of a view operator shows it."""
        graph, name = self._graph, step.op.name
        if name in _SAME_ORDER:
            return graph.reshape(part, whole.sizes)
        if name in _TURNED:
            order = _order(name, step.arguments, whole.rank)
            return graph.transpose(part, [order.index(each) for each in range(whole.rank)])
        if not any(isinstance(each, Varying) for each in whole.sizes):
            return self._scattered(whole, step, number, part)
        if name in ("select", "slice"):
            return self._joined(whole, step, part)
        raise OnnxExporterError(
            f"a write into what {step.label} returned cannot be exported with dynamic sizes"
        )

    def _scattered(self, whole: Value, step: Step, number: int, part: Value) -> Value:
        graph = self._graph
        count = int(np.prod([each for each in whole.sizes if isinstance(each, int)]))
        shape = [each for each in whole.sizes if isinstance(each, int)]
        numbers = np.arange(count, dtype=np.int64).reshape(shape)
        shown = step.op.function(numbers, *step.arguments[1:])
        shown = shown[number] if isinstance(shown, tuple | list) else shown
        places = graph.constant(np.asarray(shown).reshape(-1, 1))
        flat, values = graph.reshape(whole, (count,)), graph.reshape(part, (shown.size,))
        return graph.reshape(graph.op("ScatterND", flat, places, values), whole.sizes)

    def _joined(self, whole: Value, step: Step, part: Value) -> Value:
        """Join along one dimension what comes before, the part, and what comes after."""
        graph = self._graph
        dim = step.arguments[1] % whole.rank
        if step.op.name == "select":
            start, step_size = step.arguments[2], 1
            end: Any = start + 1 if start != -1 else np.iinfo(np.int64).max
            sizes: list[Size] = list(whole.sizes)
            sizes[dim] = 1
            part = graph.reshape(part, sizes)
        else:
            start, end, step_size = (0 if each is None else each for each in step.arguments[2:5])
        if step_size != 1 or isinstance(start, Varying) or isinstance(end, Varying):
            raise OnnxExporterError(
                "a write into such a slice cannot be exported with dynamic sizes"
            )
        pieces = [part]
        axis = graph.constant([dim])
        if start:
            before = graph.op("Slice", whole, graph.constant([0]), graph.constant([start]), axis)
            pieces.insert(0, before)
        last = np.iinfo(np.int64).max
        if end < last:
            behind = graph.op("Slice", whole, graph.constant([end]), graph.constant([last]), axis)
            pieces.append(behind)
        joined = graph.op("Concat", *pieces, axis=dim)
        joined.shape = whole.shape
        return joined


def _order(name: str, arguments: tuple[Any, ...], rank: int) -> list[int]:
    """Return the order of dimensions that a view operator makes."""
    order = list(range(rank))
    if name == "permute":
        return [each % rank for each in arguments[1]]
    one, other = (0, 1) if name.startswith("t_") or name == "t" else arguments[1:3]
    if rank > 1:
        order[one % rank], order[other % rank] = order[other % rank], order[one % rank]
    return order
