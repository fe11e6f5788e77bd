"""ONNX nodes of recurrent layers: one node for each layer and direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import Graph, Value
from taper.onnx.mapping.shapes import unsqueezed

# By the number of PyTorch's mode: the node, and its order of the gates in PyTorch's counting.
_KINDS: dict[int, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    0: ("RNN", (0,), {"activations": ["Relu"]}),
    1: ("RNN", (0,), {"activations": ["Tanh"]}),
    2: ("LSTM", (0, 3, 1, 2), {}),
    3: ("GRU", (1, 0, 2), {"linear_before_reset": 1}),
}


def _ordered(graph: Graph, value: Value, order: tuple[int, ...]) -> Value:
    """Return a weight with its gates in ONNX's order."""
    if len(order) == 1:
        return value
    types = [value.dtype] * len(order)
    gates = graph.many("Split", [value], types, axis=0, num_outputs=len(order))
    return graph.op("Concat", *(gates[each] for each in order), axis=0)


def _layer(
    graph: Graph,
    input: Value,
    weight0: Value,
    weight1: Value,
    weight2: Value | None,
    weight3: Value | None,
    hx: Value,
    cx: Value | None,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    *settings: Any,
) -> list[Value | None]:
    if batch_sizes:
        raise OnnxExporterError("packed sequences cannot be exported. Use padded ones")
    kind, order, attributes = _KINDS[mode]
    input_weight, state_weight = (
        unsqueezed(graph, _ordered(graph, each, order), 0) for each in (weight0, weight1)
    )
    bias = None
    if weight2 is not None and weight3 is not None:
        biases = [_ordered(graph, each, order) for each in (weight2, weight3)]
        bias = unsqueezed(graph, graph.op("Concat", *biases, axis=0), 0)
    states: list[Value | None] = [unsqueezed(graph, hx, 0)]
    if kind == "LSTM" and cx is not None:
        states.append(unsqueezed(graph, cx, 0))
    outputs = graph.many(
        kind,
        [input, input_weight, state_weight, bias, None, *states],
        [input.dtype] * (3 if kind == "LSTM" else 2),
        hidden_size=weight1.sizes[1],
        direction="reverse" if reverse else "forward",
        **attributes,
    )
    first, *last = outputs
    found: list[Value | None] = [graph.op("Squeeze", first, graph.constant([1]))]
    found += [graph.op("Squeeze", each, graph.constant([0])) for each in last]
    return [*found, *[None] * (4 - len(found))]


MAPPING: dict[str, Callable[..., Any]] = dict.fromkeys(("_rnn_layer", "mkldnn_rnn_layer"), _layer)
