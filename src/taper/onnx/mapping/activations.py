"""ONNX nodes of activation functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from taper.onnx.graph import BOOL, Graph, Value


def _relu(graph: Graph, self: Value) -> Value:
    return graph.op("Relu", self)


def _hardtanh(graph: Graph, self: Value, min_val: Any, max_val: Any) -> Value:
    return graph.op(
        "Clip", self, graph.number(min_val, self.dtype), graph.number(max_val, self.dtype)
    )


def _hardsigmoid(graph: Graph, self: Value) -> Value:
    return graph.op("HardSigmoid", self, alpha=1 / 6, beta=0.5)


def _hardswish(graph: Graph, self: Value) -> Value:
    return graph.op("HardSwish", self)


def _silu(graph: Graph, self: Value) -> Value:
    return graph.op("Mul", self, graph.op("Sigmoid", self))


def _mish(graph: Graph, self: Value) -> Value:
    return graph.op("Mul", self, graph.op("Tanh", graph.op("Softplus", self)))


def _gelu(graph: Graph, self: Value, approximate: str) -> Value:
    def number(value: float) -> Value:
        return graph.number(value, self.dtype)

    if approximate == "tanh":
        cube = graph.op("Mul", graph.op("Mul", self, self), self)
        inner = graph.op("Add", self, graph.op("Mul", cube, number(0.044715)))
        bent = graph.op("Tanh", graph.op("Mul", inner, number(math.sqrt(2 / math.pi))))
    else:
        bent = graph.op("Erf", graph.op("Div", self, number(math.sqrt(2))))
    raised = graph.op("Add", bent, number(1))
    return graph.op("Mul", graph.op("Mul", self, raised), number(0.5))


def _leaky_relu(graph: Graph, self: Value, negative_slope: float) -> Value:
    return graph.op("LeakyRelu", self, alpha=float(negative_slope))


def _elu(graph: Graph, self: Value, alpha: Any, scale: Any = 1, input_scale: Any = 1) -> Value:
    zero = graph.number(0, self.dtype)
    positive = graph.op("Max", self, zero)
    inner = graph.op("Mul", graph.op("Min", self, zero), graph.number(input_scale, self.dtype))
    grown = graph.op("Sub", graph.op("Exp", inner), graph.number(1, self.dtype))
    bent = graph.op("Add", positive, graph.op("Mul", grown, graph.number(alpha, self.dtype)))
    return bent if scale == 1 else graph.op("Mul", bent, graph.number(scale, self.dtype))


def _celu(graph: Graph, self: Value, alpha: float) -> Value:
    return _elu(graph, self, alpha, 1, 1 / alpha)


def _softplus(graph: Graph, self: Value, beta: float, threshold: float) -> Value:
    number = functools.partial(graph.number, dtype=self.dtype)
    scaled = self if beta == 1 else graph.op("Mul", self, number(beta))
    soft = graph.op("Softplus", scaled)
    soft = soft if beta == 1 else graph.op("Div", soft, number(beta))
    large = graph.op("Greater", scaled, number(threshold), dtype=BOOL)
    return graph.op("Where", large, self, soft, dtype=self.dtype)


def _log_sigmoid(graph: Graph, self: Value) -> list[Value | None]:
    return [graph.op("Neg", graph.op("Softplus", graph.op("Neg", self))), None]


def _hardshrink(graph: Graph, self: Value, lambd: float) -> Value:
    zero = graph.number(0, self.dtype)
    limit = graph.number(lambd, self.dtype)
    small = graph.op("LessOrEqual", graph.op("Abs", self), limit, dtype=BOOL)
    return graph.op("Where", small, zero, self, dtype=self.dtype)


def _softshrink(graph: Graph, self: Value, lambd: float) -> Value:
    return graph.op("Shrink", self, lambd=float(lambd), bias=float(lambd))


def _threshold(graph: Graph, self: Value, threshold: Any, value: Any) -> Value:
    limit = graph.number(threshold, self.dtype)
    above = graph.op("Greater", self, limit, dtype=BOOL)
    return graph.op("Where", above, self, graph.number(value, self.dtype), dtype=self.dtype)


def _prelu(graph: Graph, self: Value, weight: Value) -> Value:
    return graph.op("PRelu", self, weight)


def _glu(graph: Graph, self: Value, dim: int) -> Value:
    types = [self.dtype, self.dtype]
    one, gate = graph.many("Split", [self], types, axis=dim % self.rank, num_outputs=2)
    return graph.op("Mul", one, graph.op("Sigmoid", gate))


def _softmax(kind: str, graph: Graph, self: Value, dim: int) -> Value:
    value = graph.cast(self, graph.result.dtype)
    if self.rank == 0:
        one = graph.op(kind, graph.reshape(value, (1,)), axis=0)
        return graph.reshape(one, ())
    return graph.op(kind, value, axis=dim % self.rank)


def _safe_softmax(graph: Graph, self: Value, dim: int) -> Value:
    found = _softmax("Softmax", graph, self, dim)
    nothing = graph.op("IsNaN", found, dtype=BOOL)
    return graph.op("Where", nothing, graph.number(0, found.dtype), found, dtype=found.dtype)


MAPPING: dict[str, Callable[..., Any]] = {
    "relu": _relu,
    "hardtanh": _hardtanh,
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
    "silu": _silu,
    "mish": _mish,
    "gelu": _gelu,
    **dict.fromkeys(("leaky_relu", "_leaky_relu_in_place"), _leaky_relu),
    **dict.fromkeys(("elu", "_elu_in_place"), _elu),
    **dict.fromkeys(("celu", "_celu_in_place"), _celu),
    "softplus": _softplus,
    "log_sigmoid_forward": _log_sigmoid,
    "hardshrink": _hardshrink,
    "softshrink": _softshrink,
    **dict.fromkeys(("threshold", "_threshold_in_place"), _threshold),
    "_prelu_kernel": _prelu,
    "glu": _glu,
    "softmax_dim": functools.partial(_softmax, "Softmax"),
    "log_softmax_dim": functools.partial(_softmax, "LogSoftmax"),
    "_safe_softmax": _safe_softmax,
}
