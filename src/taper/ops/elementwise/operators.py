"""Python's operators on Tensor.

Owns: which operator of the table stands behind each sign, and that an operand that is neither
tensor nor number leaves the answer to the other side (NotImplemented).  `@` is in `matmul`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.dtypes import FROM_NUMPY
from taper.opdef import inplace_function, method_of, methods, operator_method
from taper.opdef.operands import NUMBERS
from taper.ops.elementwise.arithmetic import (
    add,
    div_true,
    floor_divide,
    mul,
    rsub_scalar,
    rsub_tensor,
    sub,
)
from taper.ops.elementwise.bits import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from taper.ops.elementwise.compare import eq, ge, gt, le, lt, ne
from taper.ops.elementwise.power import pow, pow_scalar
from taper.ops.elementwise.remainders import remainder
from taper.ops.elementwise.unary import abs, neg, positive
from taper.tensor import Tensor, wrap


def is_operand(value: Any) -> bool:
    """Tell whether a value can stand beside a tensor: a tensor, a number or a NumPy scalar."""
    return isinstance(value, (Tensor, int, float, complex, np.generic))


def _guarded(function: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    """Make a method of a function of two operands; it leaves other types to the other side."""

    def method(self: Any, other: Any) -> Any:
        return function(self, other) if is_operand(other) else NotImplemented

    method.__name__ = method.__qualname__ = name
    return method


def _reflected(function: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    """Make a method of the second operand of a function; as in PyTorch, it shows no TypeError."""

    def method(self: Any, other: Any) -> Any:
        try:
            return function(other, self) if is_operand(other) else NotImplemented
        except TypeError:
            return NotImplemented

    method.__name__ = method.__qualname__ = name
    return method


def _power(self: Any, other: Any) -> Any:
    if other.__class__ in NUMBERS:
        return pow_scalar(self, other)
    return pow(self, other) if is_operand(other) else NotImplemented


_rsub_number = operator_method(rsub_scalar, "__rsub__")


def _rsub(self: Any, other: Any) -> Any:
    try:
        return rsub_tensor(self, other) if isinstance(other, Tensor) else _rsub_number(self, other)
    except TypeError:
        return NotImplemented


def _reciprocal_times(self: Any, other: Any) -> Any:
    return self.reciprocal() * other if is_operand(other) else NotImplemented


_equal_operands = operator_method(eq, "__eq__")


def _equal(self: Any, other: Any) -> Any:
    found = _equal_operands(self, other)
    if found is NotImplemented and isinstance(other, np.ndarray) and other.dtype in FROM_NUMPY:
        return eq(self, wrap(other))
    return found


def _invert(self: Any) -> Any:
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not(self)


_METHODS: dict[str, Any] = {
    "__add__": operator_method(add, "__add__"),
    "__radd__": operator_method(add, "__radd__"),
    "__sub__": operator_method(sub, "__sub__"),
    "__rsub__": _rsub,
    "__mul__": operator_method(mul, "__mul__"),
    "__rmul__": operator_method(mul, "__rmul__"),
    "__truediv__": operator_method(div_true, "__truediv__"),
    "__div__": operator_method(div_true, "__div__"),
    "__rtruediv__": _reciprocal_times,
    "__rdiv__": _reciprocal_times,
    "__floordiv__": _guarded(floor_divide, "__floordiv__"),
    "__rfloordiv__": _reflected(floor_divide, "__rfloordiv__"),
    "__mod__": _guarded(remainder, "__mod__"),
    "__rmod__": _reflected(remainder, "__rmod__"),
    "__pow__": _power,
    "__rpow__": _reflected(pow, "__rpow__"),
    "__neg__": method_of(neg, "neg"),
    "__pos__": positive,
    "__abs__": method_of(abs, "abs"),
    "__invert__": _invert,
    "__and__": operator_method(bitwise_and, "__and__"),
    "__rand__": operator_method(bitwise_and, "__rand__"),
    "__or__": operator_method(bitwise_or, "__or__"),
    "__ror__": operator_method(bitwise_or, "__ror__"),
    "__xor__": operator_method(bitwise_xor, "__xor__"),
    "__rxor__": operator_method(bitwise_xor, "__rxor__"),
    "__lshift__": operator_method(bitwise_left_shift, "__lshift__"),
    "__rlshift__": _reflected(bitwise_left_shift, "__rlshift__"),
    "__rshift__": operator_method(bitwise_right_shift, "__rshift__"),
    "__rrshift__": _reflected(bitwise_right_shift, "__rrshift__"),
    "__eq__": _equal,
    "__ne__": operator_method(ne, "__ne__"),
    "__lt__": operator_method(lt, "__lt__"),
    "__le__": operator_method(le, "__le__"),
    "__gt__": operator_method(gt, "__gt__"),
    "__ge__": operator_method(ge, "__ge__"),
}

_IN_PLACE = {
    "__iadd__": inplace_function(add),
    "__isub__": inplace_function(sub),
    "__imul__": inplace_function(mul),
    "__itruediv__": inplace_function(div_true),
    "__idiv__": inplace_function(div_true),
    "__ifloordiv__": methods["floor_divide_"],
    "__imod__": methods["remainder_"],
    "__ipow__": methods["pow_"],
    "__iand__": inplace_function(bitwise_and),
    "__ior__": inplace_function(bitwise_or),
    "__ixor__": inplace_function(bitwise_xor),
    "__ilshift__": inplace_function(bitwise_left_shift),
    "__irshift__": inplace_function(bitwise_right_shift),
}

for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
for _name, _method in _IN_PLACE.items():
    setattr(Tensor, _name, _guarded(_method, _name))
