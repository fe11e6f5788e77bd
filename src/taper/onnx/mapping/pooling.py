"""ONNX nodes of pooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import Graph, Value
from taper.onnx.sizes import Varying


def _batched(graph: Graph, value: Value, rank: int, kind: str, settings: dict[str, Any]) -> Value:
    """Return a pooling node, even for a tensor without the dimension of the batch."""
    if value.rank == rank + 2:
        return graph.op(kind, value, **settings)
    axis = graph.constant([0])
    found = graph.op(kind, graph.op("Unsqueeze", value, axis), **settings)
    return graph.op("Squeeze", found, axis)


def _wide(value: Any, rank: int) -> list[int]:
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    return list(values * rank if len(values) == 1 else values)


def _max_values(
    graph: Graph,
    self: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    rank: int,
) -> Value:
    settings = {
        "kernel_shape": _wide(kernel_size, rank),
        "strides": _wide(stride or kernel_size, rank),
        "pads": _wide(padding, rank) * 2,
        "dilations": _wide(dilation, rank),
        "ceil_mode": int(ceil_mode),
    }
    return _batched(graph, self, rank, "MaxPool", settings)


def _max_pool(
    rank: int,
    graph: Graph,
    self: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> list[Value | None]:
    settings = (kernel_size, stride, padding, dilation, ceil_mode)
    return [_max_values(graph, self, *settings, rank), None]


def _avg_pool(
    rank: int,
    graph: Graph,
    self: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Value:
    kernel = _wide(kernel_size, rank)
    settings = {
        "kernel_shape": kernel,
        "strides": _wide(stride or kernel_size, rank),
        "pads": _wide(padding, rank) * 2,
        "ceil_mode": int(ceil_mode),
        "count_include_pad": int(count_include_pad or divisor_override is not None),
    }
    found = _batched(graph, self, rank, "AveragePool", settings)
    if divisor_override is None:
        return found
    return graph.op("Mul", found, graph.number(math.prod(kernel) / divisor_override, self.dtype))


def _spatial(value: Value, rank: int) -> list[int]:
    sizes = [each for each in value.sizes[-rank:] if not isinstance(each, Varying)]
    if len(sizes) != rank:
        raise OnnxExporterError("an adaptive pooling needs fixed sizes, or an output of size 1")
    return sizes


def _adaptive_avg(rank: int, graph: Graph, self: Value, output_size: Any) -> Value:
    wanted = _wide(output_size, rank)
    axes = [self.rank - rank + nr for nr in range(rank)]
    if wanted == [1] * rank:
        return graph.op("ReduceMean", self, graph.constant(axes), keepdims=1)
    sizes = _spatial(self, rank)
    if not any(size % want for size, want in zip(sizes, wanted, strict=True)):
        kernel = [size // want for size, want in zip(sizes, wanted, strict=True)]
        settings = {"kernel_shape": kernel, "strides": kernel}
        return _batched(graph, self, rank, "AveragePool", settings)
    value = self
    for axis, size, want in zip(axes, sizes, wanted, strict=True):
        order = [each for each in range(self.rank) if each != axis] + [axis]
        turned = graph.op("Transpose", value, perm=order)
        averaged = graph.op("MatMul", turned, graph.constant(_averages(size, want), self.dtype))
        back = [order.index(each) for each in range(self.rank)]
        value = graph.op("Transpose", averaged, perm=back)
    return value


def _averages(size: int, count: int) -> np.ndarray:
    """Return the matrix that takes the averages of an adaptive pooling along one dimension."""
    matrix = np.zeros((size, count))
    for nr in range(count):
        start, end = nr * size // count, -(-(nr + 1) * size // count)
        matrix[start:end, nr] = 1 / (end - start)
    return matrix


def _adaptive_max(rank: int, graph: Graph, self: Value, output_size: Any) -> list[Value | None]:
    wanted = _wide(output_size, rank)
    if wanted == [1] * rank:
        axes = graph.constant([self.rank - rank + nr for nr in range(rank)])
        return [graph.op("ReduceMax", self, axes, keepdims=1), None]
    sizes = _spatial(self, rank)
    if any(size % want for size, want in zip(sizes, wanted, strict=True)):
        raise OnnxExporterError("the output size must divide the input size")
    kernel = [size // want for size, want in zip(sizes, wanted, strict=True)]
    settings = {"kernel_shape": kernel, "strides": kernel}
    return [_batched(graph, self, rank, "MaxPool", settings), None]


MAPPING: dict[str, Callable[..., Any]] = {
    "max_pool2d_with_indices": functools.partial(_max_pool, 2),
    "max_pool3d_with_indices": functools.partial(_max_pool, 3),
    "max_pool_values": _max_values,
    "avg_pool2d": functools.partial(_avg_pool, 2),
    "avg_pool3d": functools.partial(_avg_pool, 3),
    "_adaptive_avg_pool2d": functools.partial(_adaptive_avg, 2),
    "_adaptive_avg_pool3d": functools.partial(_adaptive_avg, 3),
    "adaptive_max_pool2d": functools.partial(_adaptive_max, 2),
    "adaptive_max_pool3d": functools.partial(_adaptive_max, 3),
}
