"""ONNX nodes of reductions, sorting and running sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from taper import dtypes
from taper.onnx.graph import BOOL, INT64, Graph, Value
from taper.onnx.sizes import Varying

_INT32 = dtypes.DTYPES["int32"]


def _axes(dim: Any, rank: int) -> list[int]:
    if dim is None or dim == ():
        return list(range(rank))
    dims = dim if isinstance(dim, tuple | list) else (dim,)
    return [each % max(rank, 1) for each in dims] if rank else []


def reduced(graph: Graph, kind: str, value: Value, axes: Sequence[int], keepdim: bool) -> Value:
    """Return a reduction over these dimensions; over none it is the value."""
    if not axes:
        return graph.op("Identity", value)
    return graph.op(kind, value, graph.constant(list(axes)), keepdims=int(keepdim))


def _over(
    kind: str, graph: Graph, self: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Value:
    value = graph.cast(self, graph.result.dtype)
    return reduced(graph, kind, value, _axes(dim, self.rank), keepdim)


def _all(kind: str, graph: Graph, self: Value, dtype: Any = None) -> Value:
    return _over(kind, graph, self)


def _truth(kind: str, graph: Graph, self: Value, dim: Any, keepdim: bool) -> Value:
    number = graph.cast(graph.cast(self, BOOL), _INT32)
    found = reduced(graph, kind, number, _axes(dim, self.rank), keepdim)
    return graph.cast(found, graph.result.dtype)


def _count(graph: Graph, value: Value, axes: Sequence[int]) -> Any:
    """Return how many elements these dimensions have: a number, or a value if a size varies."""
    sizes = [value.sizes[each] for each in axes]
    fixed = [each for each in sizes if not isinstance(each, Varying)]
    if len(fixed) == len(sizes):
        return math.prod(fixed)
    shape = graph.op("Shape", value, dtype=INT64)
    chosen = graph.op("Gather", shape, graph.constant(list(axes)), axis=0)
    return graph.op("ReduceProd", chosen, graph.constant([0]), keepdims=0)


def variance(
    graph: Graph, value: Value, dim: Any, correction: Any, keepdim: bool
) -> tuple[Value, Value]:
    """Return the variance and the mean (which keeps its dimensions) over some dimensions."""
    axes = _axes(dim, value.rank)
    correction = 1 if correction is None else correction
    mean = reduced(graph, "ReduceMean", value, axes, True)
    apart = graph.op("Sub", value, mean)
    squares = graph.op("Mul", apart, apart)
    if not correction:
        return reduced(graph, "ReduceMean", squares, axes, keepdim), mean
    total = reduced(graph, "ReduceSum", squares, axes, keepdim)
    count = _count(graph, value, axes)
    if isinstance(count, Value):
        freedom = graph.op(
            "Sub", graph.cast(count, value.dtype), graph.number(correction, value.dtype)
        )
    else:
        freedom = graph.number(max(count - correction, 0), value.dtype)
    return graph.op("Div", total, freedom), mean


def _var(graph: Graph, self: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    return variance(graph, self, dim, correction, keepdim)[0]


def _std(graph: Graph, self: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    return graph.op("Sqrt", variance(graph, self, dim, correction, keepdim)[0])


def _with_mean(
    spread: Callable[..., Value],
    graph: Graph,
    self: Value,
    dim: Any,
    correction: Any,
    keepdim: bool,
) -> list[Value]:
    mean = reduced(graph, "ReduceMean", self, _axes(dim, self.rank), keepdim)
    return [spread(graph, self, dim, correction, keepdim), mean]


def _norm(
    graph: Graph, self: Value, order: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Value:
    value = graph.cast(self, graph.result.dtype)
    axes = _axes(dim, self.rank)
    order = 2 if order is None else order
    if order in (1, 2):
        return reduced(graph, f"ReduceL{int(order)}", value, axes, keepdim)
    size = graph.op("Abs", value)
    if math.isinf(order):
        return reduced(graph, "ReduceMax" if order > 0 else "ReduceMin", size, axes, keepdim)
    powers = graph.op("Pow", size, graph.number(order, value.dtype))
    total = reduced(graph, "ReduceSum", powers, axes, keepdim)
    return graph.op("Pow", total, graph.number(1 / order, value.dtype))


def _extreme(graph: Graph, kind: str, self: Value, dim: int, keepdim: bool) -> list[Value]:
    axis = dim % max(self.rank, 1)
    if not self.rank:
        return [graph.op("Identity", self), graph.number(0, INT64)]
    places = graph.op(f"Arg{kind}", self, dtype=INT64, axis=axis, keepdims=int(keepdim))
    return [reduced(graph, f"Reduce{kind}", self, [axis], keepdim), places]


def _max_dim(graph: Graph, self: Value, dim: int, keepdim: bool) -> list[Value]:
    return _extreme(graph, "Max", self, dim, keepdim)


def _min_dim(graph: Graph, self: Value, dim: int, keepdim: bool) -> list[Value]:
    return _extreme(graph, "Min", self, dim, keepdim)


def _place(kind: str, graph: Graph, self: Value, dim: Any, keepdim: bool) -> Value:
    if dim is None:
        flat = graph.op("Reshape", self, graph.constant([-1]))
        place = graph.op(kind, flat, dtype=INT64, axis=0, keepdims=0)
        return graph.reshape(place, graph.result.shape)
    if not self.rank:
        return graph.number(0, INT64)
    return graph.op(kind, self, dtype=INT64, axis=dim % self.rank, keepdims=int(keepdim))


def _topk(graph: Graph, self: Value, k: Any, dim: int, largest: bool, sorted: bool) -> list[Value]:
    axis = dim % self.rank
    settings = {"axis": axis, "largest": int(largest), "sorted": int(sorted)}
    return graph.many("TopK", [self, graph.size(k)], [self.dtype, INT64], **settings)


def _sort(graph: Graph, self: Value, dim: int, descending: bool) -> list[Value]:
    return _topk(graph, self, self.sizes[dim % self.rank], dim, descending, True)


def _cumsum(graph: Graph, self: Value, dim: int, dtype: Any = None) -> Value:
    value = graph.cast(self, graph.result.dtype)
    return graph.op("CumSum", value, graph.number(dim % max(self.rank, 1), INT64))


def _squared_error(graph: Graph, one: Value, other: Value, reduction: int) -> Value:
    apart = graph.op("Sub", one, other)
    squares = graph.op("Mul", apart, apart)
    if not reduction:
        return squares
    kind = "ReduceMean" if reduction == 1 else "ReduceSum"
    return graph.op(kind, squares, keepdims=0)


def _count_nonzero(graph: Graph, self: Value, dim: Any = None) -> Value:
    found = graph.cast(graph.cast(self, BOOL), INT64)
    return reduced(graph, "ReduceSum", found, _axes(dim, self.rank), False)


MAPPING: dict[str, Callable[..., Any]] = {
    "sum_dim": functools.partial(_over, "ReduceSum"),
    "mean_dim": functools.partial(_over, "ReduceMean"),
    "prod_dim": functools.partial(_over, "ReduceProd"),
    "amax_dim": functools.partial(_over, "ReduceMax"),
    "amin_dim": functools.partial(_over, "ReduceMin"),
    "logsumexp_dim": functools.partial(_over, "ReduceLogSumExp"),
    "sum_all": functools.partial(_all, "ReduceSum"),
    "mean_all": functools.partial(_all, "ReduceMean"),
    "prod_all": functools.partial(_all, "ReduceProd"),
    "max_all": functools.partial(_all, "ReduceMax"),
    "min_all": functools.partial(_all, "ReduceMin"),
    "all_dim": functools.partial(_truth, "ReduceMin"),
    "any_dim": functools.partial(_truth, "ReduceMax"),
    "count_nonzero_dim": _count_nonzero,
    "var_dim": _var,
    "std_dim": _std,
    "var_mean_dim": functools.partial(_with_mean, _var),
    "std_mean_dim": functools.partial(_with_mean, _std),
    "linalg_vector_norm": _norm,
    "norm_dim": _norm,
    "norm_whole": _norm,
    "max_dim": _max_dim,
    "min_dim": _min_dim,
    "argmax_dim": functools.partial(_place, "ArgMax"),
    "argmin_dim": functools.partial(_place, "ArgMin"),
    "topk": _topk,
    "sort_values": _sort,
    "sort_stable": _sort,
    "cumsum": _cumsum,
    "mse_loss_reduced": _squared_error,
}
