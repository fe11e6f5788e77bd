"""ONNX nodes of operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import BOOL, FLOAT32, INT64, Graph, Value
from taper.onnx.sizes import Varying

_LAST = np.iinfo(np.int64).max


def _view(graph: Graph, self: Value, *settings: Any) -> Value:
    return graph.reshape(self, graph.result.shape)


def _permute(graph: Graph, self: Value, dims: tuple[int, ...]) -> Value:
    return graph.transpose(self, [each % self.rank for each in dims])


def _transpose(graph: Graph, self: Value, dim0: int = 0, dim1: int = 1) -> Value:
    if self.rank < 2:
        return graph.op("Identity", self)
    order = list(range(self.rank))
    one, other = dim0 % self.rank, dim1 % self.rank
    order[one], order[other] = other, one
    turned = graph.transpose(self, order)
    if self.rank == 2 and one != other:
        turned.transposed = self
    return turned


def _expand(graph: Graph, self: Value, size: Any) -> Value:
    expanded = graph.expand(self, graph.result.shape)
    return graph.op("Identity", self) if expanded is self else expanded


def _squeeze(graph: Graph, self: Value, dim: Any = None) -> Value:
    """Drop the dimensions whose size is one; sizes that vary are never dropped."""
    given = dim if isinstance(dim, tuple) else range(self.rank) if dim is None else (dim,)
    dims = [each % max(self.rank, 1) for each in given]
    axes = [each for each in dims if self.rank and self.sizes[each] == 1]
    if not axes:
        return graph.op("Identity", self)
    return graph.op("Squeeze", self, graph.constant(sorted(axes)))


def _unsqueeze(graph: Graph, self: Value, dim: int) -> Value:
    return unsqueezed(graph, self, dim % (self.rank + 1))


def unsqueezed(graph: Graph, value: Value, *axes: int) -> Value:
    """Return the value with dimensions of size one at these places of the result."""
    wider = graph.op("Unsqueeze", value, graph.constant(list(axes)))
    if value.shape is not None:
        sizes = list(value.shape)
        for axis in sorted(axes):
            sizes.insert(axis, 1)
        wider.shape = tuple(sizes)
    return wider


def _select(graph: Graph, self: Value, dim: int, index: Any) -> Value:
    return graph.op("Gather", self, graph.number(index, INT64), axis=dim % self.rank)


def _slice(graph: Graph, self: Value, dim: int, start: Any, end: Any, step: Any) -> Value:
    first = 0 if start is None else start
    last = _LAST if end is None else end
    return sliced(graph, self, dim % self.rank, first, last, step)


def sliced(graph: Graph, value: Value, dim: int, start: Any, end: Any, step: Any = 1) -> Value:
    """Return a part of one dimension."""
    bounds = [graph.size(start), graph.size(end), graph.constant([dim]), graph.constant([step])]
    return graph.op("Slice", value, *bounds)


def _split(graph: Graph, self: Value, size: Any, dim: int = 0) -> list[Value]:
    axis = dim % self.rank
    sizes = [each.shape[axis] for each in graph.results]
    if len(sizes) == 1:
        return [graph.op("Identity", self)]
    types = [self.dtype] * len(sizes)
    return graph.many("Split", [self, graph.shape(sizes)], types, axis=axis)


def _unbind(graph: Graph, self: Value, dim: int = 0) -> list[Value]:
    axis = dim % self.rank
    if isinstance(self.sizes[axis], Varying):
        raise OnnxExporterError("a dynamic size cannot be taken apart")
    count = len(graph.results)
    return [graph.op("Gather", self, graph.number(nr, INT64), axis=axis) for nr in range(count)]


def _cat(graph: Graph, tensors: tuple[Value, ...], dim: int = 0) -> Value:
    dtype, rank = graph.result.dtype, len(graph.result.shape)
    parts = [each for each in tensors if each.sizes != (0,) or rank == 1]
    return graph.op("Concat", *(graph.cast(each, dtype) for each in parts), axis=dim % rank)


def _stack(graph: Graph, tensors: tuple[Value, ...], dim: int = 0) -> Value:
    dtype, axis = graph.result.dtype, dim % len(graph.result.shape)
    parts = [unsqueezed(graph, graph.cast(each, dtype), axis) for each in tensors]
    return graph.op("Concat", *parts, axis=axis)


def _flip(graph: Graph, self: Value, dims: tuple[int, ...]) -> Value:
    value = graph.op("Identity", self) if not dims else self
    for dim in dims:
        value = sliced(graph, value, dim % self.rank, _LAST, -_LAST, -1)
    return value


def _roll(graph: Graph, self: Value, shifts: Any, dims: Any) -> Value:
    shifts = shifts if isinstance(shifts, tuple) else (shifts,)
    dims = dims if isinstance(dims, tuple) else (dims,)
    value = self if dims else graph.reshape(self, (int(np.prod(self.sizes)),))
    for shift, dim in zip(shifts, dims or (0,), strict=True):
        axis = dim % max(self.rank, 1)
        size = self.sizes[axis] if dims else int(np.prod(self.sizes))
        shift = shift % size
        if shift:
            parts = [sliced(graph, value, axis, size - shift, _LAST)]
            parts.append(sliced(graph, value, axis, 0, size - shift))
            value = graph.op("Concat", *parts, axis=axis)
    return value if dims else graph.reshape(value, self.sizes)


def _repeat(graph: Graph, self: Value, repeats: tuple[Any, ...]) -> Value:
    ahead = len(repeats) - self.rank
    value = unsqueezed(graph, self, *range(ahead)) if ahead else self
    return graph.op("Tile", value, graph.shape(repeats)) if repeats else graph.op("Identity", self)


def _triangle(upper: int) -> Callable[..., Value]:
    def triangle(graph: Graph, self: Value, diagonal: Any = 0) -> Value:
        plain = self.dtype.is_floating_point or self.dtype in (INT64, BOOL)
        value = self if plain else graph.cast(self, INT64)
        found = graph.op("Trilu", value, graph.number(diagonal, INT64), upper=upper)
        return graph.cast(found, self.dtype)

    return triangle


def _by_position(operator: str) -> Callable[..., Value]:
    """Pick elements by position: for operators on fixed shapes that only move elements."""

    def picked(graph: Graph, self: Value, *settings: Any) -> Value:
        sizes = fixed(self)
        numbers = np.arange(int(np.prod(sizes)), dtype=np.int64).reshape(sizes)
        places = np.ascontiguousarray(_POSITIONS[operator](numbers, *settings))
        flat = graph.reshape(self, (numbers.size,))
        return graph.op("Gather", flat, graph.constant(places), axis=0)

    return picked


def fixed(value: Value) -> tuple[int, ...]:
    """Return the shape of a value, which must not vary."""
    sizes = tuple(each for each in value.sizes if not isinstance(each, Varying))
    if len(sizes) != value.rank:
        raise OnnxExporterError("its shape must not vary. Leave the size out of dynamic_axes")
    return sizes


_POSITIONS: dict[str, Callable[..., np.ndarray]] = {
    "diagonal": np.diagonal,
    "rot90": np.rot90,
}


def _unfold(graph: Graph, self: Value, dim: int, size: int, step: int) -> Value:
    """Return windows along a dimension of fixed size; the others may vary."""
    axis = dim % self.rank
    count = graph.result.shape[axis]
    if isinstance(count, Varying):
        raise OnnxExporterError("windows along a dynamic size cannot be exported")
    places = np.arange(count)[:, None] * step + np.arange(size)
    gathered = graph.op("Gather", self, graph.constant(places), axis=axis)
    order = [each for each in range(self.rank + 1) if each != axis + 1]
    return graph.op("Transpose", gathered, perm=[*order, axis + 1])


def _pixel_shuffle(graph: Graph, self: Value, upscale_factor: int) -> Value:
    if self.rank != 4:
        raise OnnxExporterError("only tensors of four dimensions can be exported")
    return graph.op("DepthToSpace", self, blocksize=upscale_factor, mode="CRD")


def _pixel_unshuffle(graph: Graph, self: Value, downscale_factor: int) -> Value:
    factor = downscale_factor
    batch, channels, height, width = self.sizes
    if isinstance(height, Varying) or isinstance(width, Varying):
        raise OnnxExporterError("height and width must not vary")
    split = (batch, channels, height // factor, factor, width // factor, factor)
    turned = graph.transpose(graph.reshape(self, split), (0, 1, 3, 5, 2, 4))
    return graph.reshape(turned, graph.result.shape)


def _channel_shuffle(graph: Graph, self: Value, groups: int) -> Value:
    channels = self.sizes[1]
    if isinstance(channels, Varying):
        raise OnnxExporterError("the number of channels must not vary")
    order = np.arange(channels).reshape(groups, -1).T.reshape(-1)
    return graph.op("Gather", self, graph.constant(order), axis=1)


def _pad(mode: str) -> Callable[..., Value]:
    def padded(graph: Graph, self: Value, pad: tuple[int, ...], value: Any = 0) -> Value:
        begins, ends = [0] * self.rank, [0] * self.rank
        for nr in range(len(pad) // 2):
            begins[-1 - nr], ends[-1 - nr] = pad[2 * nr], pad[2 * nr + 1]
        filler = graph.number(value, self.dtype) if mode == "constant" else None
        small = self.dtype is BOOL  # few engines pad truth values
        wide = graph.cast(self, FLOAT32) if small else self
        filler = graph.cast(filler, FLOAT32) if small and filler is not None else filler
        found = graph.op("Pad", wide, graph.shape([*begins, *ends]), filler, mode=mode)
        return graph.cast(found, self.dtype)

    return padded


MAPPING: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("view", "_reshape_alias", "_unsafe_view", "viewed_copy"), _view),
    **dict.fromkeys(("permute", "permuted_copy"), _permute),
    **dict.fromkeys(("t", "t_", "t_copy", "transpose", "transpose_", "transpose_copy"), _transpose),
    **dict.fromkeys(("expand", "expanded_copy"), _expand),
    **dict.fromkeys(("squeeze", "squeeze_", "squeeze_all_copy"), _squeeze),
    **dict.fromkeys(("squeeze_dim", "squeeze_dim_", "squeeze_dim_copy"), _squeeze),
    **dict.fromkeys(("squeeze_dims", "squeeze_dims_", "squeeze_dims_copy"), _squeeze),
    **dict.fromkeys(("unsqueeze", "unsqueeze_", "unsqueeze_copy"), _unsqueeze),
    **dict.fromkeys(("select", "selected_copy"), _select),
    **dict.fromkeys(("slice", "sliced_copy"), _slice),
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split"), _split),
    **dict.fromkeys(("unsafe_split_with_sizes", "split_sizes_copy", "split_tensor_copy"), _split),
    **dict.fromkeys(("unbind", "unbound_copy"), _unbind),
    "cat": _cat,
    "stack": _stack,
    "flip": _flip,
    "roll": _roll,
    "repeat": _repeat,
    "tril": _triangle(0),
    "triu": _triangle(1),
    **dict.fromkeys(("diagonal", "diagonal_copy"), _by_position("diagonal")),
    "rot90": _by_position("rot90"),
    **dict.fromkeys(("unfold", "unfold_copy"), _unfold),
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    **dict.fromkeys(("channel_shuffle", "native_channel_shuffle"), _channel_shuffle),
    "constant_pad_nd": _pad("constant"),
    **dict.fromkeys([f"reflection_pad{rank}d" for rank in (1, 2, 3)], _pad("reflect")),
    **dict.fromkeys([f"replication_pad{rank}d" for rank in (1, 2, 3)], _pad("edge")),
}
