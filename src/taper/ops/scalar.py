"""Arithmetic with a number that is a plain parameter, not a promoted operand.

Only functions that PyTorch composes in C++ reach these overloads; a user's `x + 1` never does.
Their nodes end in 1: AddBackward1, MulBackward1, DivBackward1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.opdef import LINEAR, Array, derivative, op
from taper.tensor import Tensor


@op(node="AddBackward1", public=False, method=False)
def add_scalar(self: Array, other: float) -> Array:
    """A tensor plus a number."""
    return np.add(self, other)


@derivative(add_scalar, wrt="self")
def add_scalar_self(grad: Any) -> Any:
    return grad


def _add_scalar_tangent(self_t: Tensor) -> Tensor:
    return self_t


add_scalar.op.tangent = _add_scalar_tangent


@op(node="MulBackward1", tangent=LINEAR, public=False, method=False)
def mul_scalar(self: Array, other: float) -> Array:
    """A tensor times a number."""
    return np.multiply(self, other)


@derivative(mul_scalar, wrt="self")
def mul_scalar_self(grad: Any, other: float) -> Any:
    return grad * other


@op(node="DivBackward1", tangent=LINEAR, public=False, method=False)
def div_scalar(self: Array, other: float) -> Array:
    """A tensor divided by a number."""
    return np.divide(self, other)


@derivative(div_scalar, wrt="self")
def div_scalar_self(grad: Any, other: float) -> Any:
    return grad / other
