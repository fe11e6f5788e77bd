"""ONNX nodes of matrix products and attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.onnx.errors import OnnxExporterError
from taper.onnx.graph import BOOL, INT64, Graph, Value
from taper.onnx.sizes import Varying


def _matmul(graph: Graph, self: Value, other: Value) -> Value:
    return graph.op("MatMul", self, other)


def _matvec(graph: Graph, self: Value, vec: Value) -> Value:
    """Multiply with a column: ONNX Runtime 1.31 errs on a transposed matrix with a vector."""
    last = graph.constant([1])
    return graph.op("Squeeze", graph.op("MatMul", self, graph.op("Unsqueeze", vec, last)), last)


def _addmv(graph: Graph, self: Value, mat: Value, vec: Value, beta: Any, alpha: Any) -> Value:
    return _plus(graph, self, _matvec(graph, mat, vec), beta, alpha)


def _plus(graph: Graph, self: Value, product: Value, beta: Any, alpha: Any) -> Value:
    if alpha != 1:
        product = graph.op("Mul", product, graph.number(alpha, product.dtype))
    if beta == 0:
        return product
    if beta != 1:
        self = graph.op("Mul", self, graph.number(beta, self.dtype))
    return graph.op("Add", product, self)


def _addmm(graph: Graph, self: Value, mat1: Value, mat2: Value, beta: Any, alpha: Any) -> Value:
    one, other = mat1.transposed or mat1, mat2.transposed or mat2
    return graph.op(
        "Gemm",
        one,
        other,
        self if beta else None,
        alpha=float(alpha),
        beta=float(beta),
        transA=int(mat1.transposed is not None) or None,
        transB=int(mat2.transposed is not None) or None,
    )


def _batched(graph: Graph, self: Value, one: Value, two: Value, beta: Any, alpha: Any) -> Value:
    return _plus(graph, self, graph.op("MatMul", one, two), beta, alpha)


def _addr(graph: Graph, self: Value, one: Value, two: Value, beta: Any, alpha: Any) -> Value:
    column = graph.op("Unsqueeze", one, graph.constant([1]))
    return _plus(graph, self, graph.op("Mul", column, two), beta, alpha)


def _attention(
    graph: Graph,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float,
    is_causal: bool,
    attn_mask: Value | None,
    scale: Any,
) -> list[Value | None]:
    if dropout_p:
        raise OnnxExporterError("dropout is on. Export the model in eval mode")
    if scale is None:
        width = query.sizes[-1]
        if isinstance(width, Varying):
            raise OnnxExporterError("the width of the heads must not vary")
        scale = 1 / math.sqrt(width)
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scaled = graph.op("Mul", query, graph.number(scale, query.dtype))
    scores = graph.op("MatMul", scaled, graph.op("Transpose", key, perm=order))
    if is_causal:
        attn_mask = _causal(graph, query.sizes[-2], key.sizes[-2])
    if attn_mask is not None and attn_mask.dtype is BOOL:
        nothing = graph.number(-math.inf, query.dtype)
        scores = graph.op("Where", attn_mask, scores, nothing, dtype=query.dtype)
    elif attn_mask is not None:
        scores = graph.op("Add", scores, attn_mask)
    weights = graph.op("Softmax", scores, axis=query.rank - 1)
    return [graph.op("MatMul", weights, value), None]


def _causal(graph: Graph, rows: Any, columns: Any) -> Value:
    if not isinstance(rows, Varying) and not isinstance(columns, Varying):
        return graph.constant(np.tri(rows, columns, dtype=bool), BOOL)
    whole = graph.op("Expand", graph.number(True, BOOL), graph.shape((rows, columns)))
    return graph.op("Trilu", whole, graph.number(0, INT64), upper=0)


MAPPING: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("mm", "bmm", "dot", "vdot"), _matmul),
    "addmm": _addmm,
    "mv": _matvec,
    "addmv": _addmv,
    "baddbmm": _batched,
    "addr": _addr,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
}
