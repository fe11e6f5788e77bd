"""Arithmetic with a number that is a plain parameter, not a promoted operand.

Only functions that PyTorch composes in C++ reach these overloads; a user's `x + 1` never does.
Their nodes end in 1: AddBackward1, SubBackward1, MulBackward1, DivBackward1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.dtypes import result_type
from taper.opdef import LINEAR, Array, derivative, op, tangent_of
from taper.tensor import Tensor, wrap


def _promoted(array: np.ndarray, number: complex) -> np.ndarray:
    """Convert whole numbers to PyTorch's dtype for them and a number; NumPy's is wider."""
    return array.astype(result_type((array, number)).numpy, copy=False)


@op(node="AddBackward1", upcast=True, public=False, method=False)
def add_scalar(self: Array, other: float) -> Array:
    """Add a number to a tensor."""
    return np.add(_promoted(self, other) if self.dtype.kind in "iub" else self, other)


@derivative(add_scalar, wrt="self")
def add_scalar_self(grad: Any) -> Any:
    return grad


@op(node="SubBackward1", upcast=True, public=False, method=False)
def sub_scalar(self: Array, other: float) -> Array:
    """Subtract a number from a tensor."""
    return np.subtract(_promoted(self, other) if self.dtype.kind in "iub" else self, other)


@derivative(sub_scalar, wrt="self")
def sub_scalar_self(grad: Any) -> Any:
    return grad


@tangent_of(add_scalar)
@tangent_of(sub_scalar)
def shift_tangent(self_t: Tensor) -> Tensor:
    return self_t


def from_number(number: float, other: Tensor) -> Tensor:
    """Subtract a tensor from a number, as PyTorch's C++ does: as a 0-d tensor minus a tensor."""
    return wrap(np.asarray(number, other._array.dtype)) - other


@op(node="MulBackward1", tangent=LINEAR, upcast=True, public=False, method=False)
def mul_scalar(self: Array, other: complex) -> Array:
    """Multiply a tensor by a number."""
    return np.multiply(_promoted(self, other) if self.dtype.kind in "iub" else self, other)


@derivative(mul_scalar, wrt="self")
def mul_scalar_self(grad: Any, other: complex) -> Any:
    return grad * other.conjugate()


def scaled(values: Any, number: complex) -> Any:
    """Multiply by a number in formulas, which half precision does not round first."""
    if isinstance(values, Tensor) or (values.itemsize > 2 and values.dtype.kind in "fc"):
        return values * number
    return mul_scalar(values, number)


@op(node="DivBackward1", tangent=LINEAR, upcast=True, public=False, method=False)
def div_scalar(self: Array, other: float) -> Array:
    """Divide a tensor by a number."""
    return np.divide(self, other)


@derivative(div_scalar, wrt="self")
def div_scalar_self(grad: Any, other: float) -> Any:
    return grad / other
