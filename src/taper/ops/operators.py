"""Python's operators on Tensor."""

from __future__ import annotations

from typing import Any

from taper.opdef import operator_method
from taper.ops.compare import eq, ge, gt, le, lt, ne
from taper.ops.pointwise import add, div, mul, pow, rsub_scalar, sub
from taper.ops.unary import neg
from taper.tensor import Tensor

Tensor.__add__ = Tensor.__radd__ = operator_method(add)
Tensor.__sub__ = operator_method(sub)
Tensor.__rsub__ = operator_method(rsub_scalar)
Tensor.__mul__ = Tensor.__rmul__ = operator_method(mul)
Tensor.__truediv__ = operator_method(div)
Tensor.__neg__ = neg
Tensor.__pow__ = pow
for _function in (eq, ne, lt, le, gt, ge):
    setattr(Tensor, f"__{_function.__name__}__", operator_method(_function))


def _reflected_div(self: Tensor, other: Any) -> Any:
    return self.reciprocal() * other


def _reflected_pow(self: Tensor, other: Any) -> Any:
    return pow(other, self)


Tensor.__rtruediv__ = _reflected_div
Tensor.__rpow__ = _reflected_pow
