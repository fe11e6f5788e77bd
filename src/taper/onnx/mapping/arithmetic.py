"""ONNX nodes of element-by-element arithmetic, comparisons and casts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from taper import dtypes
from taper.onnx.graph import BOOL, FLOAT32, Graph, Value
from taper.onnx.sizes import Varying
from taper.ops.creation.convert import result_type
from taper.ops.creation.filled import zeros

_INT32 = dtypes.DTYPES["int32"]


def common_dtype(one: Any, other: Any) -> Any:
    """Return the dtype in which PyTorch computes with two operands, of which one is a tensor."""
    return result_type(_stand_in(one), _stand_in(other))


def _stand_in(operand: Any) -> Any:
    if isinstance(operand, Varying):
        return 1
    if isinstance(operand, Value):
        return zeros((1,) * min(operand.rank, 1), dtype=operand.dtype)
    return operand


def _unary(kind: str, graph: Graph, self: Value) -> Value:
    return graph.op(kind, graph.cast(self, graph.result.dtype))


def _test(kind: str, graph: Graph, self: Value) -> Value:
    floating = self if self.dtype.is_floating_point else graph.cast(self, FLOAT32)
    return graph.op(kind, floating, dtype=BOOL)


def binary(kind: str, graph: Graph, self: Any, other: Any, alpha: Any = 1) -> Value:
    """Return `self` and `alpha * other` in the dtype of the result."""
    dtype = graph.result.dtype
    one, two = graph.operand(self, dtype), graph.operand(other, dtype)
    if alpha != 1:
        two = graph.op("Mul", two, graph.number(alpha, dtype))
    if dtype is BOOL:
        kind = {"Mul": "And", "Add": "Or"}.get(kind, kind)
    return graph.op(kind, one, two)


def _reversed_sub(graph: Graph, self: Any, other: Any, alpha: Any = 1) -> Value:
    dtype = graph.result.dtype
    scaled = graph.operand(self, dtype)
    if alpha != 1:
        scaled = graph.op("Mul", scaled, graph.number(alpha, dtype))
    return graph.op("Sub", graph.operand(other, dtype), scaled)


def _compare(kind: str, graph: Graph, self: Any, other: Any) -> Value:
    negated = kind == "NotEqual"
    dtype = common_dtype(self, other)
    if dtype is BOOL and kind not in ("Equal", "NotEqual"):
        dtype = _INT32
    one, two = graph.operand(self, dtype), graph.operand(other, dtype)
    found = graph.op("Equal" if negated else kind, one, two, dtype=BOOL)
    return graph.op("Not", found) if negated else found


def _logical(kind: str, graph: Graph, self: Value, other: Any = None) -> Value:
    one = graph.cast(self, BOOL)
    return graph.op(kind, one) if other is None else graph.op(kind, one, graph.operand(other, BOOL))


def _bitwise(kind: str, graph: Graph, self: Any, other: Any = None) -> Value:
    dtype = graph.result.dtype
    kind = kind if dtype is BOOL else f"Bitwise{kind}"
    operands = (self,) if other is None else (self, other)
    return graph.op(kind, *(graph.operand(each, dtype) for each in operands))


def truncated(graph: Graph, value: Value) -> Value:
    """Return a floating value without its fraction."""
    return graph.op("Mul", graph.op("Sign", value), graph.op("Floor", graph.op("Abs", value)))


def _floor_divide(graph: Graph, self: Any, other: Any) -> Value:
    dtype = graph.result.dtype
    one, two = graph.operand(self, dtype), graph.operand(other, dtype)
    if dtype.is_floating_point:
        return graph.op("Floor", graph.op("Div", one, two))
    return graph.op("Div", graph.op("Sub", one, graph.op("Mod", one, two)), two)


def _div_rounded(graph: Graph, self: Any, other: Any, rounding_mode: str) -> Value:
    if rounding_mode == "floor":
        return _floor_divide(graph, self, other)
    dtype = graph.result.dtype
    quotient = graph.op("Div", graph.operand(self, dtype), graph.operand(other, dtype))
    return truncated(graph, quotient) if dtype.is_floating_point else quotient


def _div_unrounded(graph: Graph, self: Any, other: Any, rounding_mode: None) -> Value:
    return binary("Div", graph, self, other)


def _remainder(graph: Graph, self: Any, other: Any) -> Value:
    dtype = graph.result.dtype
    one, two = graph.operand(self, dtype), graph.operand(other, dtype)
    if not dtype.is_floating_point:
        return graph.op("Mod", one, two)
    whole = graph.op("Floor", graph.op("Div", one, two))
    return graph.op("Sub", one, graph.op("Mul", whole, two))


def _fmod(graph: Graph, self: Any, other: Any) -> Value:
    dtype = graph.result.dtype
    return graph.op("Mod", graph.operand(self, dtype), graph.operand(other, dtype), fmod=1)


def _pow_scalar(graph: Graph, self: Value, exponent: Any) -> Value:
    dtype = graph.result.dtype
    base = graph.cast(self, dtype)
    if exponent == 2:
        return graph.op("Mul", base, base)
    if exponent == 0.5:
        return graph.op("Sqrt", base)
    return graph.op("Pow", base, graph.number(exponent, dtype))


def _rsqrt(graph: Graph, self: Value) -> Value:
    return graph.op("Reciprocal", graph.op("Sqrt", graph.cast(self, graph.result.dtype)))


def _log(base: float, graph: Graph, self: Value) -> Value:
    dtype = graph.result.dtype
    scale = graph.number(1 / math.log(base), dtype)
    return graph.op("Mul", graph.op("Log", graph.cast(self, dtype)), scale)


def _log1p(graph: Graph, self: Value) -> Value:
    dtype = graph.result.dtype
    return graph.op("Log", graph.op("Add", graph.cast(self, dtype), graph.number(1, dtype)))


def _expm1(graph: Graph, self: Value) -> Value:
    dtype = graph.result.dtype
    return graph.op("Sub", graph.op("Exp", graph.cast(self, dtype)), graph.number(1, dtype))


def _exp2(graph: Graph, self: Value) -> Value:
    dtype = graph.result.dtype
    return graph.op("Pow", graph.number(2, dtype), graph.cast(self, dtype))


def _erfc(graph: Graph, self: Value) -> Value:
    dtype = graph.result.dtype
    return graph.op("Sub", graph.number(1, dtype), graph.op("Erf", graph.cast(self, dtype)))


def _trunc(graph: Graph, self: Value) -> Value:
    return truncated(graph, self) if self.dtype.is_floating_point else self


def _frac(graph: Graph, self: Value) -> Value:
    return graph.op("Sub", self, truncated(graph, self))


def _scaled(factor: float, graph: Graph, self: Value) -> Value:
    dtype = graph.result.dtype
    return graph.op("Mul", graph.cast(self, dtype), graph.number(factor, dtype))


def _same(graph: Graph, self: Value, *settings: Any) -> Value:
    return self


def _whole_only(kind: str, graph: Graph, self: Value) -> Value:
    return graph.op(kind, self) if self.dtype.is_floating_point else self


def _clamp(graph: Graph, self: Value, min: Any = None, max: Any = None) -> Value:
    dtype = graph.result.dtype
    value = graph.cast(self, dtype)
    if min is not None:
        value = graph.op("Max", value, graph.operand(min, dtype))
    return value if max is None else graph.op("Min", value, graph.operand(max, dtype))


def _clamp_max(graph: Graph, self: Value, max: Any) -> Value:
    return _clamp(graph, self, None, max)


def _where(graph: Graph, condition: Value, self: Any, other: Any) -> Value:
    dtype = graph.result.dtype
    one, two = graph.operand(self, dtype), graph.operand(other, dtype)
    return graph.op("Where", graph.cast(condition, BOOL), one, two, dtype=dtype)


def _masked_fill(graph: Graph, self: Value, mask: Value, value: Any) -> Value:
    return _where(graph, mask, value, self)


def _lerp(graph: Graph, self: Value, end: Value, weight: Any) -> Value:
    part = graph.op("Mul", graph.op("Sub", end, self), graph.operand(weight, self.dtype))
    return graph.op("Add", self, part)


def _add_combined(
    kind: str, graph: Graph, self: Value, one: Value, two: Value, value: Any
) -> Value:
    dtype = graph.result.dtype
    part = graph.op(kind, graph.cast(one, dtype), graph.cast(two, dtype))
    return binary("Add", graph, self, part, value)


def _to(graph: Graph, self: Value, *settings: Any) -> Value:
    return graph.cast(self, graph.result.dtype)


def _filled(graph: Graph, self: Value, value: Any = 0) -> Value:
    number = graph.operand(value, graph.result.dtype)
    return graph.expand(number, graph.result.shape)


def _copied(graph: Graph, self: Value, src: Value, non_blocking: Any = False) -> Value:
    return graph.expand(graph.cast(src, graph.result.dtype), graph.result.shape)


def _of(function: Callable[..., Any], **names: str) -> dict[str, Callable[..., Any]]:
    return {name: functools.partial(function, kind) for name, kind in names.items()}


MAPPING: dict[str, Callable[..., Any]] = {
    **_of(_unary, abs="Abs", neg="Neg", exp="Exp", log="Log", sqrt="Sqrt", erf="Erf", sign="Sign"),
    **_of(_unary, sin="Sin", cos="Cos", tan="Tan", asin="Asin", acos="Acos", atan="Atan"),
    **_of(_unary, sinh="Sinh", cosh="Cosh", asinh="Asinh", acosh="Acosh", atanh="Atanh"),
    **_of(_unary, reciprocal="Reciprocal", sigmoid="Sigmoid", tanh="Tanh", sgn="Sign"),
    **_of(_whole_only, floor="Floor", ceil="Ceil", round_whole="Round"),
    **_of(_test, isnan="IsNaN", isinf="IsInf"),
    **_of(binary, add="Add", sub="Sub", mul="Mul", div_true="Div", pow_tensor="Pow"),
    **_of(binary, add_scalar="Add", sub_scalar="Sub", mul_scalar="Mul", div_scalar="Div"),
    **_of(binary, pow_base="Pow", maximum="Max", minimum="Min"),
    **_of(_compare, gt="Greater", lt="Less", ge="GreaterOrEqual", le="LessOrEqual"),
    **_of(_compare, eq="Equal", ne="NotEqual"),
    **_of(_logical, logical_and="And", logical_or="Or", logical_xor="Xor", logical_not="Not"),
    **_of(_bitwise, bitwise_and="And", bitwise_or="Or", bitwise_xor="Xor", bitwise_not="Not"),
    **dict.fromkeys(("rsub_scalar", "rsub_tensor"), _reversed_sub),
    **dict.fromkeys(
        ("floor_divide_number", "floor_divide_of_number", "floor_divide_tensor"), _floor_divide
    ),
    **dict.fromkeys(("remainder_scalar", "remainder_tensor", "remainder_number"), _remainder),
    **dict.fromkeys(("fmod_scalar", "fmod_tensor"), _fmod),
    "div_rounded": _div_rounded,
    "div_rounded_in_steps": _div_rounded,
    "div_unrounded": _div_unrounded,
    "pow_scalar": _pow_scalar,
    "rsqrt": _rsqrt,
    "log2": functools.partial(_log, 2.0),
    "log10": functools.partial(_log, 10.0),
    "log1p": _log1p,
    "expm1": _expm1,
    "exp2": _exp2,
    "erfc": _erfc,
    "trunc": _trunc,
    "frac": _frac,
    "deg2rad": functools.partial(_scaled, math.pi / 180),
    "rad2deg": functools.partial(_scaled, 180 / math.pi),
    **dict.fromkeys(("clamp_numbers", "clamp_tensors"), _clamp),
    **dict.fromkeys(("clamp_min_number", "clamp_min_tensor"), _clamp),
    **dict.fromkeys(("clamp_max_number", "clamp_max_tensor"), _clamp_max),
    "where_self": _where,
    **dict.fromkeys(("masked_fill", "masked_fill_tensor"), _masked_fill),
    **dict.fromkeys(("lerp_number", "lerp_tensor"), _lerp),
    "addcmul": functools.partial(_add_combined, "Mul"),
    "addcdiv": functools.partial(_add_combined, "Div"),
    **dict.fromkeys(("clone", "alias", "alias_copy", "detach_copy"), _same),
    **dict.fromkeys(("_to_copy", "_to_integers"), _to),
    **dict.fromkeys(("fill", "fill_", "fill_tensor", "fill_tensor_", "zero"), _filled),
    "copy": _copied,
}
