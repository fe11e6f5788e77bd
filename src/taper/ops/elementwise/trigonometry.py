"""Trigonometric and hyperbolic functions, element by element, and their inverses.

Owns: functions of angles.  Knows the operator table and `complexes`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.arrays.elements import LOW_PRECISION, ONE, in_float32
from taper.arrays.layouts import PRESERVED
from taper.arrays.native import curve
from taper.arrays.scalars import type_name
from taper.opdef import (
    FLOAT,
    FUNCTION,
    LINEAR,
    POINTWISE,
    SAME,
    Array,
    alias,
    composite,
    derivative,
    inplace_function,
    op,
    tangent_of,
)
from taper.opdef.dtype_checks import BOOL, COMPLEX, INTEGERS, WIDE, not_implemented, refuse
from taper.opdef.in_place import refused_in_place
from taper.opdef.operands import NUMBERS
from taper.ops.elementwise.arithmetic import negated, rounded_like
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.number import scaled
from taper.ops.elementwise.unary import inside, reciprocal, rsqrt
from taper.tensor import is_complex


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.sin)
def sin(self: Array) -> Array:
    """Take the sine of every element.

    result = sin x for each x of `input`, in radians

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sin(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
    """
    return np.sin(self)


@derivative(sin, wrt="self")
def sin_self(grad, self):
    return grad * conj(cos(self))


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.cos)
def cos(self: Array) -> Array:
    """Take the cosine of every element.

    result = cos x for each x of `input`, in radians

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.cos(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
    """
    return np.cos(self)


@derivative(cos, wrt="self")
def cos_self(grad, self):
    return grad * -conj(sin(self))


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.tan)
def tan(self: Array) -> Array:
    """Take the tangent of every element, in radians.

    >>> import taper
    >>> taper.tan(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """
    return np.tan(self)


@derivative(tan, wrt="self")
def tan_self(grad, result):
    return grad * conj(result * result + 1)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.arcsin)
def asin(self: Array) -> Array:
    """Find the angle in radians whose sine is the element.

    >>> import taper
    >>> taper.asin(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """
    return np.arcsin(self)


@derivative(asin, wrt="self")
def asin_self(grad, self):
    return grad * conj(rsqrt(1 - self * self))


alias("arcsin", asin)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True)
def acos(self: Array) -> Array:
    """Find the angle in radians whose cosine is the element.

    >>> import taper
    >>> taper.acos(taper.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """
    result = np.arccos(self)
    # PyTorch subtracts from pi / 2 there, which leaves no negative zero.
    return result + 0 if result.dtype == np.complex128 else result


@derivative(acos, wrt="self")
def acos_self(grad, self):
    return grad * -conj(rsqrt(1 - self * self))


alias("arccos", acos)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.arctan)
def atan(self: Array) -> Array:
    """Find the angle in radians whose tangent is the element.

    >>> import taper
    >>> taper.atan(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """
    return np.arctan(self)


@derivative(atan, wrt="self")
def atan_self(grad, self):
    return grad / conj(self * self + 1)


alias("arctan", atan)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.sinh)
def sinh(self: Array) -> Array:
    """Take the hyperbolic sine of every element.

    >>> import taper
    >>> taper.sinh(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """
    return np.sinh(self)


@derivative(sinh, wrt="self")
def sinh_self(grad, self):
    return grad * conj(cosh(self))


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.cosh)
def cosh(self: Array) -> Array:
    """Take the hyperbolic cosine of every element.

    >>> import taper
    >>> taper.cosh(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """
    return np.cosh(self)


@derivative(cosh, wrt="self")
def cosh_self(grad, self):
    return grad * conj(sinh(self))


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.tanh)
def tanh(self: Array) -> Array:
    """Take the hyperbolic tangent of every element.

    result = (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.tanh(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """
    return np.tanh(self)


@derivative(tanh, wrt="self")
def tanh_self(grad, result):
    return tanh_backward(grad, result)


_tanh_backward = curve("tanh_backward")


@op(
    node="TanhBackwardBackward0",
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    layout=None,  # often called, and right for operands of one layout
)
def tanh_backward(grad_output: Array, output: Array) -> Array:
    """Compute the gradient of tanh."""
    if (found := _tanh_backward(output, grad_output)) is not None:
        return found
    slope = np.square(in_float32(output)[0] if output.dtype in LOW_PRECISION else output)
    slope = np.subtract(ONE, slope, slope if slope.ndim else None)
    if slope.dtype.kind == "c":
        slope = np.conjugate(slope)
    if slope.dtype is not grad_output.dtype:  # a tangent has the dtype that its maker gave it
        return slope * grad_output
    slope *= grad_output
    return slope


@derivative(tanh_backward, wrt="grad_output")
def tanh_backward_grad_output(grad, output):
    return tanh_backward(grad, conj(output))


@derivative(tanh_backward, wrt="output")
def tanh_backward_output(grad, grad_output, output):
    return conj(grad) * grad_output * conj(output * -2)


def _not_in_place(name: str) -> Exception:
    return NotImplementedError(
        f"the derivative for 'inplace version of {name}' is not implemented."
    )


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.arcsinh)
def asinh(self: Array) -> Array:
    """Take the inverse hyperbolic sine of every element.

    >>> import taper
    >>> taper.asinh(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """
    return np.arcsinh(self)


@derivative(asinh, wrt="self")
def asinh_self(grad, self):
    return grad * conj(rsqrt(self * self + 1))


def _asinh_in_place(grad):
    raise _not_in_place("asinh")


refused_in_place(asinh, "AsinhBackward1", _asinh_in_place)
alias("arcsinh", asinh)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.arccosh)
def acosh(self: Array) -> Array:
    """Take the inverse hyperbolic cosine of every element.

    >>> import taper
    >>> taper.acosh(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """
    return np.arccosh(self)


@derivative(acosh, wrt="self")
def acosh_self(grad, self):
    # Two roots: one root of the product would take wrong branches for complex numbers.
    if is_complex(self):
        return grad * conj(rsqrt(self + 1) * rsqrt(self - 1))
    return grad * rsqrt(self * self - 1)


def _acosh_in_place(grad):
    raise _not_in_place("acosh")


refused_in_place(acosh, "AcoshBackward1", _acosh_in_place)
alias("arccosh", acosh)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.arctanh)
def atanh(self: Array) -> Array:
    """Take the inverse hyperbolic tangent of every element.

    >>> import taper
    >>> taper.atanh(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """
    return np.arctanh(self)


@derivative(atanh, wrt="self")
def atanh_self(grad, self):
    return grad / conj(1 - self * self)


def _atanh_in_place(grad):
    raise _not_in_place("atanh")


refused_in_place(atanh, "AtanhBackward1", _atanh_in_place)
alias("arctanh", atanh)


# --- of two tensors, and of degrees ----------------------------------------------------------


@op(
    promote=FLOAT,
    inplace=True,
    out=True,
    ufunc=np.arctan2,
    check=not_implemented("atan2_cpu", *COMPLEX),
)
def atan2(self: Array, other: Array) -> Array:
    """Find the angle in radians of the point with height `input` and width `other`.

    >>> import taper
    >>> taper.atan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
    tensor([0.7854, 3.1416])
    """
    return np.arctan2(self, other)


@derivative(atan2, wrt=("self", "other"))
def atan2_all(grad, self, other, needs):
    self, other = rounded_like(self, grad), rounded_like(other, grad)
    square = self * self + other * other
    inverse = inside(reciprocal(square), square != 0)
    for_self = grad * other * inverse if needs[0] else None
    return for_self, (grad * negated(self) * inverse if needs[1] else None)


@tangent_of(atan2)
def atan2_tangent(self_t, other_t, self, other):
    # Unlike the gradient, the tangent at the origin is NaN.
    square = self * self + other * other
    if other_t is None:
        return other * self_t / square
    if self_t is None:
        return -self * other_t / square
    return (-self * other_t + other * self_t) / square


_atan2_in_place = inplace_function(atan2)


@composite()
def arctan2(input: Any, other: Any, *, out: Any = None) -> Any:
    """Find angles: another name of `atan2`.

    >>> import taper
    >>> taper.arctan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
    tensor([0.7854, 3.1416])
    """
    _refuse_numbers("arctan2", input, other)
    return atan2(input, other) if out is None else atan2(input, other, out=out)


@composite(name="arctan2_", public=False)
def arctan2_in_place(self: Any, other: Any) -> Any:
    """In-place version of `arctan2`."""
    _refuse_numbers("arctan2_", self, other)
    return _atan2_in_place(self, other)


def _refuse_numbers(label: str, first: Any, second: Any) -> None:
    """Raise with the name that was called, where `atan2` would say its own."""
    for position, (name, value) in enumerate((("input", first), ("other", second)), 1):
        if value.__class__ in NUMBERS:
            raise TypeError(
                f"{label}(): argument '{name}' (position {position}) must be Tensor, not "
                f"{type_name(value)}"
            )


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    ufunc=np.hypot,
    check=not_implemented("hypot_cpu", *BOOL, *INTEGERS, *WIDE, *COMPLEX),
)
def hypot(self: Array, other: Array) -> Array:
    """Compute the longest side of a right-angled triangle from the other two.

    >>> import taper
    >>> taper.hypot(taper.tensor([3.0]), taper.tensor([4.0]))
    tensor([5.])
    """
    return np.hypot(self, other)


@derivative(hypot, wrt="self")
def hypot_self(grad, self, result):
    return grad * self / result


@derivative(hypot, wrt="other")
def hypot_other(grad, other, result):
    return grad * other / result


@op(
    promote=FLOAT,
    tangent=LINEAR,
    inplace=FUNCTION,
    out=True,
    layout=PRESERVED,
    check=refuse(RuntimeError, "deg2rad is not supported for complex tensors.", *COMPLEX),
)
def deg2rad(self: Array) -> Array:
    """Convert degrees to radians.

    >>> import taper
    >>> taper.deg2rad(taper.tensor([180.0]))
    tensor([3.1416])
    """
    return scaled(self, math.pi / 180)


@derivative(deg2rad, wrt="self")
def deg2rad_self(grad):
    return scaled(grad, math.pi / 180)


@op(
    promote=FLOAT,
    tangent=LINEAR,
    inplace=FUNCTION,
    out=True,
    layout=PRESERVED,
    check=refuse(RuntimeError, "rad2deg is not supported for complex tensors.", *COMPLEX),
)
def rad2deg(self: Array) -> Array:
    """Convert radians to degrees.

    >>> import taper
    >>> taper.rad2deg(taper.tensor([1.0]))
    tensor([57.2958])
    """
    return scaled(self, 180 / math.pi)


@derivative(rad2deg, wrt="self")
def rad2deg_self(grad):
    return scaled(grad, 180 / math.pi)


@op(promote=FLOAT, upcast=True, tangent=POINTWISE, inplace=FUNCTION, out=True)
def sinc(self: Array) -> Array:
    """Compute sin(pi x) / (pi x) of every element; 1 at zero.

    >>> import taper
    >>> taper.sinc(taper.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
    angle = self * math.pi
    return np.where(angle == 0, self.dtype.type(1), np.sin(angle) / angle)


@derivative(sinc, wrt="self")
def sinc_self(grad, self):
    angle = scaled(self, math.pi)
    square = scaled(self * self, math.pi)
    slope = grad * conj((angle * cos(angle) - sin(angle)) / square)
    return inside(slope, square != 0)
