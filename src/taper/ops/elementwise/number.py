"""Arithmetic with a number that is a plain parameter, not a promoted operand.

Only functions that PyTorch composes in C++ reach these overloads; a user's `x + 1` never does.
Their nodes end in 1: AddBackward1, SubBackward1, MulBackward1, DivBackward1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.elements import LOW_PRECISION
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


def scaled(values: Any, factor: Any) -> Any:
    """Multiply in formulas, where half precision does not round a number first."""
    return mul_scalar(values, factor) if _would_round(values, factor) else values * factor


def _would_round(values: Any, number: Any) -> bool:
    """Return whether arrays in half precision meet a number; Tensors know themselves."""
    if isinstance(values, Tensor) or values.dtype not in LOW_PRECISION:
        return False
    return isinstance(number, (int, float, complex))


@op(node="DivBackward1", tangent=LINEAR, upcast=True, public=False, method=False)
def div_scalar(self: Array, other: float) -> Array:
    """Divide a tensor by a number."""
    return np.divide(self, other)


@derivative(div_scalar, wrt="self")
def div_scalar_self(grad: Any, other: float) -> Any:
    return grad / other


def divided(values: Any, divisor: Any) -> Any:
    """Divide in formulas, where half precision does not round a number first."""
    return div_scalar(values, divisor) if _would_round(values, divisor) else values / divisor
