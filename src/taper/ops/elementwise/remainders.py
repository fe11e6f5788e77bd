"""Remainders of divisions, element by element: remainder with Python's sign, fmod with C's.

Owns: RemainderBackward0 and FmodBackward0 (divisor a number), RemainderBackward1 and FmodBackward1
(divisor a tensor).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.opdef import (
    POINTWISE,
    SAME,
    Array,
    Operand,
    composite,
    derivative,
    inplace_function,
    op,
)
from taper.opdef.dtype_checks import not_implemented
from taper.opdef.operands import invalid_combination
from taper.ops.elementwise.arithmetic import (
    NOT_ROUNDED,
    no_derivative,
    refuse_zero,
    rounded_quotient,
)
from taper.tensor import Tensor

_OVERLOADS = (
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Number self, Tensor other)",
    "(Tensor input, Number other, *, Tensor out = None)",
)
_TWO_NUMBERS = (
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Tensor input, Number other, *, Tensor out = None)",
)


def _rest(ufunc: Any, self: ndarray, other: ndarray) -> Any:
    if self.dtype.kind in "iu":
        refuse_zero(self, other)
    return ufunc(self, other)


@op(
    name="remainder_scalar",
    label="remainder",
    node="RemainderBackward0",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("remainder_cpu", *NOT_ROUNDED),
)
def remainder_scalar(self: Array, other: Operand) -> Array:
    """Take the remainder of the division by a number, with the number's sign."""
    return _rest(np.remainder, self, other)


@derivative(remainder_scalar, wrt="self")
def remainder_scalar_self(grad):
    return grad


@op(
    name="remainder_tensor",
    label="remainder",
    node="RemainderBackward1",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("remainder_cpu", *NOT_ROUNDED),
)
def remainder_tensor(self: Array, other: Array) -> Array:
    """Take the remainder of the division of two tensors, with the divisor's sign."""
    return _rest(np.remainder, self, other)


@derivative(remainder_tensor, wrt="self")
def remainder_tensor_self(grad):
    return grad


@derivative(remainder_tensor, wrt="other")
def remainder_tensor_other(grad, self, other):
    return -grad * rounded_quotient(self, other, "floor")


@op(
    name="remainder_number",
    label="remainder",
    node="NotImplemented",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("remainder_cpu", *NOT_ROUNDED),
)
def remainder_number(self: Operand, other: Array) -> Array:
    """Take the remainder of the division of a number. Differentiating it fails, as in PyTorch."""
    return _rest(np.remainder, self, other)


@derivative(remainder_number, wrt="other")
def remainder_number_other(grad):
    raise no_derivative("remainder")


@composite()
def remainder(input: Any, other: Any, *, out: Any = None) -> Any:
    """Take the remainder of the division, with the sign of the divisor, as Python's `%`.

    >>> import taper
    >>> taper.remainder(taper.tensor([-7.0, 7.0]), 3)
    tensor([2., 1.])
    """
    if not isinstance(other, Tensor):
        if not isinstance(input, Tensor):
            raise invalid_combination("remainder", (input, other), _OVERLOADS)
        return remainder_scalar(input, other, out=out)
    if not isinstance(input, Tensor):
        return remainder_number(input, other, out=out)
    return remainder_tensor(input, other, out=out)


_remainder_scalar_in_place = inplace_function(remainder_scalar)
_remainder_tensor_in_place = inplace_function(remainder_tensor)


@composite(name="remainder_", public=False)
def remainder_in_place(self: Any, other: Any) -> Any:
    """In-place version of `remainder`."""
    tensor = isinstance(other, Tensor)
    return (_remainder_tensor_in_place if tensor else _remainder_scalar_in_place)(self, other)


@op(
    name="fmod_scalar",
    label="fmod",
    node="FmodBackward0",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_TWO_NUMBERS,
    check=not_implemented("fmod_cpu", *NOT_ROUNDED),
)
def fmod_scalar(self: Array, other: Operand) -> Array:
    """Take the remainder of the division by a number, with the dividend's sign."""
    return _rest(np.fmod, self, other)


@derivative(fmod_scalar, wrt="self")
def fmod_scalar_self(grad):
    return grad


@op(
    name="fmod_tensor",
    label="fmod",
    node="FmodBackward1",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_TWO_NUMBERS,
    check=not_implemented("fmod_cpu", *NOT_ROUNDED),
)
def fmod_tensor(self: Array, other: Array) -> Array:
    """Take the remainder of the division of two tensors, with the dividend's sign."""
    return _rest(np.fmod, self, other)


@derivative(fmod_tensor, wrt="self")
def fmod_tensor_self(grad):
    return grad


@derivative(fmod_tensor, wrt="other")
def fmod_tensor_other(grad, self, other):
    return -grad * rounded_quotient(self, other, "trunc")


@composite()
def fmod(input: Any, other: Any, *, out: Any = None) -> Any:
    """Take the remainder of the division, with the sign of the dividend, as C's `fmod`.

    >>> import taper
    >>> taper.fmod(taper.tensor([-7.0, 7.0]), 3)
    tensor([-1.,  1.])
    """
    return (fmod_tensor if isinstance(other, Tensor) else fmod_scalar)(input, other, out=out)


_fmod_scalar_in_place = inplace_function(fmod_scalar)
_fmod_tensor_in_place = inplace_function(fmod_tensor)


@composite(name="fmod_", public=False)
def fmod_in_place(self: Any, other: Any) -> Any:
    """In-place version of `fmod`."""
    return (_fmod_tensor_in_place if isinstance(other, Tensor) else _fmod_scalar_in_place)(
        self, other
    )
