"""ONNX nodes of reading and writing at indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import BOOL, INT64, Graph, Value
from taper.onnx.mapping.shapes import sliced


def _at(graph: Graph, index: Value) -> Value:
    return graph.cast(index, INT64)


def _gather(graph: Graph, self: Value, dim: int, index: Value, sparse_grad: Any = False) -> Value:
    if not self.rank:
        return graph.op("Identity", self)
    return graph.op("GatherElements", self, _at(graph, index), axis=dim % self.rank)


def _index_select(graph: Graph, self: Value, dim: int, index: Value) -> Value:
    return graph.op("Gather", self, _at(graph, index), axis=dim % max(self.rank, 1))


def _scatter(reduction: str | None) -> Callable[..., Value]:
    def scattered(graph: Graph, self: Value, dim: int, index: Value, src: Any) -> Value:
        if isinstance(src, Value):
            updates = graph.cast(src, self.dtype)
            for axis, (size, wanted) in enumerate(zip(src.sizes, index.sizes, strict=True)):
                if size != wanted:
                    updates = sliced(graph, updates, axis, 0, wanted)
        else:
            updates = graph.expand(graph.number(src, self.dtype), index.sizes)
        places = _at(graph, index)
        axis = dim % self.rank
        return graph.op("ScatterElements", self, places, updates, axis=axis, reduction=reduction)

    return scattered


class _Places:
    """Index tensors of some dimensions, which are moved to the front."""

    def __init__(self, graph: Graph, value: Value, indices: tuple[Value | None, ...]) -> None:
        self.dims = [nr for nr, each in enumerate(indices) if each is not None]
        tensors = [each for each in indices if each is not None]
        if any(each.dtype is BOOL for each in tensors):
            raise OnnxExporterError("masks and numbers cannot be mixed in an index")
        self.others = [each for each in range(value.rank) if each not in self.dims]
        self.order = [*self.dims, *self.others]
        self.rank = max(each.rank for each in tensors)
        total = tensors[0]
        for each in tensors[1:]:  # a sum has the shape that all are broadcast to
            total = graph.op("Add", _at(graph, total), _at(graph, each))
        shape = graph.op("Shape", total, dtype=INT64)
        last = graph.constant([self.rank])
        wide = []
        for each in tensors:
            index = _at(graph, each)
            index = graph.op("Expand", index, shape) if len(tensors) > 1 else index
            wide.append(graph.op("Unsqueeze", index, last))
        self.places = graph.op("Concat", *wide, axis=self.rank) if len(wide) > 1 else wide[0]
        self.shape = shape

    def turned(self, graph: Graph, value: Value) -> Value:
        """Return the value with the indexed dimensions in front."""
        if self.order == sorted(self.order):
            return value
        return graph.op("Transpose", value, perm=self.order)

    @property
    def result_order(self) -> list[int]:
        """Return for each dimension of the result its position when the indices come first."""
        first, count = self.dims[0], self.rank
        together = self.dims == list(range(first, first + len(self.dims)))
        ahead = first if together else 0
        rest = [count + nr for nr in range(len(self.others))]
        return [*rest[:ahead], *range(count), *rest[ahead:]]


def _index(graph: Graph, self: Value, indices: tuple[Value | None, ...]) -> Value:
    given = [nr for nr, each in enumerate(indices) if each is not None]
    first = indices[given[0]]
    if len(given) == 1 and first is not None:
        if first.dtype is not BOOL:
            return graph.op("Gather", self, _at(graph, first), axis=given[0])
        if given[0] == 0:
            return graph.op("GatherND", self, _nonzero(graph, first))
    places = _Places(graph, self, indices)
    found = graph.op("GatherND", places.turned(graph, self), places.places)
    order = places.result_order
    return found if order == sorted(order) else graph.op("Transpose", found, perm=order)


def _index_put(
    graph: Graph,
    self: Value,
    indices: tuple[Value | None, ...],
    values: Value,
    accumulate: bool,
) -> Value:
    values = graph.cast(values, self.dtype)
    first = indices[0]
    if len(indices) == 1 and first is not None and first.dtype is BOOL and not accumulate:
        return _masked_put(graph, self, first, values)
    places = _Places(graph, self, indices)
    turned = places.turned(graph, self)
    rest = graph.op("Shape", turned, dtype=INT64, start=len(places.dims), end=self.rank)
    order = places.result_order
    if order != sorted(order) and values.rank == len(order):
        back = [order.index(each) for each in range(len(order))]
        values = graph.transpose(values, back)
    elif order != sorted(order) and values.rank:
        raise OnnxExporterError("values of fewer dimensions cannot be put at such indices")
    target = graph.op("Concat", places.shape, rest, axis=0)
    updates = graph.op("Expand", values, target)
    reduction = "add" if accumulate else None
    found = graph.op("ScatterND", turned, places.places, updates, reduction=reduction)
    if places.order == sorted(places.order):
        return found
    back = [places.order.index(each) for each in range(self.rank)]
    return graph.op("Transpose", found, perm=back)


def _masked_put(graph: Graph, self: Value, mask: Value, values: Value) -> Value:
    if values.rank == 0 or values.sizes == (1,):
        trailing = list(range(mask.rank, self.rank))
        wide = graph.op("Unsqueeze", mask, graph.constant(trailing)) if trailing else mask
        return graph.op("Where", wide, values, self, dtype=self.dtype)
    return graph.op("ScatterND", self, _nonzero(graph, mask), values)


def _masked_select(graph: Graph, self: Value, mask: Value) -> Value:
    if self.sizes != mask.sizes:
        raise OnnxExporterError("the mask must have the shape of the tensor")
    return graph.op("GatherND", self, _nonzero(graph, mask))


def _nonzero(graph: Graph, self: Value) -> Value:
    return graph.op("Transpose", graph.op("NonZero", self, dtype=INT64), perm=[1, 0])


MAPPING: dict[str, Callable[..., Any]] = {
    "gather": _gather,
    "index_select": _index_select,
    **dict.fromkeys(("scatter", "scatter_value"), _scatter(None)),
    "scatter_add": _scatter("add"),
    "index": _index,
    "index_put": _index_put,
    "masked_select": _masked_select,
    "nonzero": _nonzero,
}
