"""Powers and logarithms of two tensors: pow and its overloads, float_power, xlogy, logaddexp ...

Owns: PowBackward0 (exponent a number), PowBackward1 (both tensors), PowBackward2 (base a number),
and what PyTorch says about zeros: x**0 has gradient 0 everywhere, 0**b gradient 0 for b >= 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, LOW_PRECISION
from taper.arrays.layouts import ELEMENTWISE, ROW_MAJOR, settled
from taper.arrays.special_functions import complex_logaddexp
from taper.opdef import (
    FLOAT,
    FUNCTION,
    POINTWISE,
    SAME,
    Array,
    composite,
    derivative,
    inplace_function,
    op,
)
from taper.opdef.dtype_checks import BOOL, COMPLEX, INTEGERS, WIDE, not_implemented, refuse_overflow
from taper.opdef.operands import NUMBERS, invalid_combination, python_number, scalar_array
from taper.opdef.writes import warn_of_resize
from taper.ops.elementwise.arithmetic import difference, rounded_like
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.number import mul_scalar, scaled
from taper.ops.elementwise.unary import exp, exp2, inside, log, outside, zeros_like
from taper.tensor import Tensor, array_of, is_complex

_OVERLOADS = (
    "(Tensor input, Tensor exponent, *, Tensor out = None)",
    "(Number self, Tensor exponent, *, Tensor out = None)",
    "(Tensor input, Number exponent, *, Tensor out = None)",
)
_LN2 = math.log(2)


# --- pow -------------------------------------------------------------------------------------


def _power(base: ndarray, exponent: ndarray) -> Any:
    """Raise arrays of one dtype to powers; integers with negative exponents give 1, -1 or 0."""
    if base.dtype.kind == "c":
        return _complex_power(base, exponent)
    if base.dtype.kind not in "iu":
        return np.power(base, exponent)
    negative = exponent < 0
    if not np.any(negative):
        return np.power(base, exponent)
    odd = exponent & 1
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(odd == 1, -1, 1), 0))
    usual = np.power(base, np.where(negative, 0, exponent))
    return np.where(negative, inverse, usual).astype(base.dtype)


def _complex_power(base: ndarray, exponent: Any) -> Any:
    """Raise complex numbers to powers.

    Where the base is zero or not finite, by logarithm: NumPy takes limits there, and 0^0 = 1.
    """
    usual = np.power(base, exponent)
    limits = (base == 0) | ~np.isfinite(base)
    if not limits.any():
        return usual
    return np.where(limits, np.exp(np.log(base) * exponent), usual)


def _integer_power(base: ndarray, exponent: Any) -> Any:
    if exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    refuse_overflow(exponent, dtypes.FROM_NUMPY[base.dtype])
    return np.power(base, base.dtype.type(exponent))


_square, _square_root = settled(np.square, ELEMENTWISE), settled(np.sqrt, ELEMENTWISE)


@op(
    name="pow_scalar",
    label="pow",
    node="PowBackward0",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_OVERLOADS,
)
def pow_scalar(self: Array, exponent: Any) -> Array:
    """Raise a tensor to the power of a number.

    The usual exponents are computed as products and roots, as in PyTorch.
    """
    if self.dtype.kind != "f" or exponent.__class__ is complex:
        return _unusual_power(self, exponent)
    if exponent == 2:
        return _square(self)
    if exponent == 0.5:
        return _square_root(self)
    if exponent == -1:
        return np.reciprocal(self)
    if (exponent == -0.5 or exponent == 3) and self.itemsize == 2:  # float16 is rounded once
        return pow_scalar.op.kernel(self.astype(FLOAT32), exponent).astype(self.dtype)
    if exponent == -0.5:
        return np.reciprocal(np.sqrt(self))
    if exponent == 3:
        return np.square(self) * self
    return np.power(self, scalar_array(exponent, self.dtype))


def _low_power(base: ndarray, exponent: float) -> Any:
    """Raise bfloat16 to a power that is rounded first; usual powers in rounded steps."""
    if exponent in (3, -2):
        square = np.square(base)
        return square * base if exponent == 3 else np.reciprocal(square)
    single = base.astype(FLOAT32)
    if exponent == -0.5:
        return np.reciprocal(np.sqrt(single)).astype(base.dtype)
    return np.power(single, scalar_array(exponent, base.dtype).astype(FLOAT32)).astype(base.dtype)


def _unusual_power(self: ndarray, exponent: Any) -> Any:
    """Raise other dtypes than NumPy's floats to powers, in the common dtype of the two."""
    kind = dtypes.result_type([self, exponent])
    base = self.astype(kind.numpy, copy=False)
    if kind is dtypes.bfloat16:
        return _low_power(base, exponent)
    if exponent == 0 or exponent == 1:
        return base.copy() if exponent == 1 else np.ones_like(base)
    not_implemented("pow", *BOOL, *WIDE)(kind, ())
    if kind.category == dtypes.INTEGER:
        return _integer_power(base, exponent)
    if exponent == 2:
        return np.square(base)
    if exponent == 0.5 or exponent == 3:
        return np.sqrt(base) if exponent == 0.5 else np.square(base) * base
    return _power(base, scalar_array(exponent, kind.numpy))


@derivative(pow_scalar, wrt="self")
def pow_scalar_self(grad, self, exponent):
    if exponent == 2 and type(self) is ndarray:
        return grad * conj(self + self)
    if exponent == 0:
        return zeros_like(grad)
    return grad * conj(mul_scalar(pow_scalar(self, exponent - 1), exponent))


@op(
    name="pow_tensor",
    label="pow",
    node="PowBackward1",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("pow", *BOOL, *WIDE),
    signatures=_OVERLOADS,
)
def pow_tensor(self: Array, exponent: Array) -> Array:
    """Raise a tensor to the power of a tensor."""
    return _power(self, exponent)


@derivative(pow_tensor, wrt="self")
def pow_tensor_self(grad, self, exponent):
    power = self ** rounded_like(difference(exponent, 1), grad)
    return inside(grad * conj(rounded_like(exponent * power, grad)), exponent != 0)


@derivative(pow_tensor, wrt="exponent")
def pow_tensor_exponent(grad, self, exponent, result):
    slope = conj(result * log(_base_like(self, result)))
    return grad * inside(slope, ~((self == 0) & _not_negative(exponent)))


def _base_like(base: Any, result: Any) -> Any:
    """Convert a base of lower category to the dtype of the power; arrays and Tensors.

    The logarithm of a tensor of integers would be float32, that of a negative number NaN.
    """
    if isinstance(base, Tensor):
        return base.to(result.dtype) if base.dtype.category < result.dtype.category else base
    return base if base.dtype.kind == result.dtype.kind else base.astype(result.dtype)


def _not_negative(exponent: Any) -> Any:
    return (exponent.real >= 0) & (exponent.imag == 0) if is_complex(exponent) else exponent >= 0


@op(
    name="pow_base",
    label="pow",
    node="PowBackward2",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_OVERLOADS,
    layout=ROW_MAJOR,
)
def pow_base(self: Any, exponent: Array) -> Array:
    """Raise a number to the power of a tensor."""
    kind = dtypes.result_type([self, exponent])
    not_implemented("pow", *BOOL, *WIDE)(kind, ())
    power = exponent.astype(kind.numpy, copy=False)
    if kind is dtypes.bfloat16:
        base = scalar_array(self, power.dtype)
        return np.power(base.astype(FLOAT32), power.astype(FLOAT32)).astype(power.dtype)
    return _power(scalar_array(self, kind.numpy), power)


@derivative(pow_base, wrt="exponent")
def pow_base_exponent(grad, self, exponent, result):
    if self == 0:
        return grad * inside(conj(result * -math.inf), ~_not_negative(exponent))
    base = math.log(self) if self.__class__ is not complex and self > 0 else np.log(complex(self))
    if base.__class__ is not float and not is_complex(result):
        return grad * (result * math.nan)
    return grad * conj(scaled(result, complex(base) if base.__class__ is not float else base))


@composite()
def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """Raise one tensor to the power of another; one of the two may be a number.

    result = input ^ exponent

    Args:
        input: the base, a tensor or a number.
        exponent: a tensor or a number; integers cannot be raised to a negative integer.
        out: tensor that receives the result.

    Shape: `input` and `exponent` broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.pow(taper.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        >>> taper.pow(2, taper.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 8.])
    """
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            return pow_tensor(input, exponent, out=out)
        input = python_number(input)
        if input.__class__ not in NUMBERS:
            raise invalid_combination("pow", (input, exponent), _OVERLOADS)
        return pow_base(input, exponent, out=out)
    exponent = python_number(exponent)
    if not isinstance(input, Tensor) or exponent.__class__ not in NUMBERS:
        raise invalid_combination("pow", (input, exponent), _OVERLOADS)
    return pow_scalar(input, exponent, out=out)


_pow_scalar_in_place = inplace_function(pow_scalar)
_pow_tensor_in_place = inplace_function(pow_tensor)


@composite(name="pow_", public=False)
def pow_in_place(self: Any, exponent: Any) -> Any:
    """In-place version of `pow`."""
    if isinstance(exponent, Tensor):
        return _pow_tensor_in_place(self, exponent)
    return _pow_scalar_in_place(self, python_number(exponent))


@composite()
def square(input: Any, *, out: Any = None) -> Any:
    """Square every element.

    result = x² for each x of `input`

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`; bool gives int64.

    Example:
        >>> import taper
        >>> taper.square(taper.tensor([1.0, -3.0]))
        tensor([1., 9.])
    """
    return pow_scalar(input, 2, out=out)


@composite(name="square_")
def square_in_place(input: Any) -> Any:
    """In-place version of `square`."""
    return _pow_scalar_in_place(input, 2)


@composite()
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """Raise `input` to the power of `exponent`, computed in double precision.

    >>> import taper
    >>> taper.float_power(taper.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise invalid_combination("float_power", (input, exponent), _OVERLOADS)
    kind = _double_kind(input, exponent)
    if isinstance(out, Tensor) and out.dtype is not kind:
        raise RuntimeError(
            f"the output given to float_power has dtype {out.dtype.scalar_type} but the "
            f"operation's result requires dtype {kind.scalar_type}"
        )
    return pow(_as_double(input, kind), _as_double(exponent, kind), out=out)


def _double_kind(*operands: Any) -> dtypes.dtype:
    arrays = [array_of(each) for each in operands]
    category = dtypes.result_category(arrays)
    return dtypes.complex128 if category == dtypes.COMPLEX else dtypes.float64


def _as_double(value: Any, kind: dtypes.dtype) -> Any:
    if isinstance(value, Tensor):
        return value.to(kind)
    return complex(value) if kind is dtypes.complex128 else float(value)


@composite(name="float_power_", public=False)
def float_power_in_place(self: Any, exponent: Any) -> Any:
    """In-place version of `float_power`; the tensor must be of double precision."""
    kind = _double_kind(self, exponent)
    if self.dtype is not kind:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_type} but the "
            f"operation's result requires dtype {kind.scalar_type}"
        )
    return pow_in_place(self, _as_double(exponent, kind))


# --- logarithms of sums and products ---------------------------------------------------------


@op(
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    check=not_implemented("logaddexp_cpu", *BOOL, *INTEGERS, *WIDE),
)
def logaddexp(self: Array, other: Array) -> Array:
    """Compute log(exp(x) + exp(y)) without overflow.

    >>> import taper
    >>> taper.logaddexp(taper.tensor([0.0]), taper.tensor([0.0]))
    tensor([0.6931])
    """
    if self.dtype.kind != "c":
        return np.logaddexp(self, other)
    return complex_logaddexp(self, other)


@derivative(logaddexp, wrt="self")
def logaddexp_self(grad, self, other):
    self, other = rounded_like(self, grad), rounded_like(other, grad)
    return grad / conj(exp(difference(other, self)) + 1)


@derivative(logaddexp, wrt="other")
def logaddexp_other(grad, self, other):
    self, other = rounded_like(self, grad), rounded_like(other, grad)
    return grad / conj(exp(difference(self, other)) + 1)


@op(
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    ufunc=np.logaddexp2,
    check=not_implemented("logaddexp2_cpu", *BOOL, *INTEGERS, *WIDE, *COMPLEX),
)
def logaddexp2(self: Array, other: Array) -> Array:
    """Compute log2(2**x + 2**y) without overflow.

    >>> import taper
    >>> taper.logaddexp2(taper.tensor([1.0]), taper.tensor([1.0]))
    tensor([2.])
    """
    return np.logaddexp2(self, other)


@derivative(logaddexp2, wrt="self")
def logaddexp2_self(grad, self, other):
    self, other = rounded_like(self, grad), rounded_like(other, grad)
    return grad / (exp2(difference(other, self)) + 1)


@derivative(logaddexp2, wrt="other")
def logaddexp2_other(grad, self, other):
    self, other = rounded_like(self, grad), rounded_like(other, grad)
    return grad / (exp2(difference(self, other)) + 1)


def _is_scaling(self: Any, other: Any) -> bool:
    """Whether exponents are whole and the factors real: PyTorch then changes the exponents."""
    return self.dtype.kind in "fV" and other.dtype.kind in "biu"


def _scaled(self: ndarray, other: ndarray) -> Any:
    """Factors with whole numbers added to their exponents, in steps of 32 bits as in C."""
    exponent = dtypes.FROM_NUMPY[other.dtype]
    not_implemented("ldexp_cpu_exp", *BOOL, *WIDE)(exponent, ())
    result = np.ldexp(self.astype(np.float64), other.astype(np.int32)).astype(self.dtype)
    warn_of_resize(self.shape, result.shape)
    return result


def _as_the_factor(result: Any, given: Sequence[Any]) -> Any:
    """Lay out `self * 2**other`, where the power of a number is row-major."""
    if _is_scaling(*given):
        return ELEMENTWISE(result, given)
    return ELEMENTWISE(result, (given[0], np.empty(given[1].shape, bool)))


@op(tangent=POINTWISE, inplace=FUNCTION, out=True, layout=_as_the_factor)
def ldexp(self: Array, other: Array) -> Array:
    """Multiply `input` by 2 to the power of `other`.

    >>> import taper
    >>> taper.ldexp(taper.tensor([1.5]), taper.tensor([3]))
    tensor([12.])
    """
    if _is_scaling(self, other):
        return _scaled(self, other)
    power = np.asarray(pow_base.op.kernel(2.0, other))  # NumPy's 0-d results are numbers
    kind = dtypes.result_type([self, power]).numpy
    if kind in LOW_PRECISION and not power.ndim:  # a factor without dimensions is not rounded
        return (self.astype(FLOAT32) * power.astype(FLOAT32)).astype(kind)
    return self.astype(kind, copy=False) * power.astype(kind, copy=False)


@derivative(ldexp, wrt="self")
def ldexp_self(grad, other):
    return grad * conj(pow_base(2, other))


@derivative(ldexp, wrt="other")
def ldexp_other(grad, result):
    return mul_scalar(grad * conj(result), _LN2)


# --- xlogy -----------------------------------------------------------------------------------


def _xlogy(factor: Any, value: Any) -> Any:
    product = np.where(factor == 0, factor.dtype.type(0), factor * np.log(value))
    return np.where(np.isnan(value), value, product)


_XLOGY = (
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Number self, Tensor other, *, Tensor out = None)",
    "(Tensor input, Number other, *, Tensor out = None)",
)


@op(
    name="xlogy_tensor",
    label="xlogy",
    node="XlogyBackward0",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("xlogy_cpu", *COMPLEX),
    signatures=_XLOGY,
)
def xlogy_tensor(self: Array, other: Array) -> Array:
    """Compute x log(y); zero where x is zero."""
    return _xlogy(self, other)


@derivative(xlogy_tensor, wrt="self")
def xlogy_tensor_self(grad, self, other):
    return outside(xlogy(grad, other), (self == 0) & (other <= 0))


@derivative(xlogy_tensor, wrt="other")
def xlogy_tensor_other(grad, self, other):
    return grad * self / other


def _with_number(*operands: Any) -> list[ndarray]:
    """Convert an array and a number to their common floating point dtype."""
    kind = dtypes.result_type(operands)
    if kind.category < dtypes.FLOATING:
        kind = dtypes.default.float
    not_implemented("xlogy_cpu", *COMPLEX)(kind, ())
    return [
        scalar_array(each, kind.numpy)
        if each.__class__ in NUMBERS
        else each.astype(kind.numpy, copy=False)
        for each in operands
    ]


@op(
    name="xlogy_self_number",
    label="xlogy",
    node="XlogyBackward1",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_XLOGY,
)
def xlogy_self_number(self: Any, other: Array) -> Array:
    """Compute x log(y) with a number x."""
    return _xlogy(*_with_number(self, other))


@derivative(xlogy_self_number, wrt="other")
def xlogy_self_number_other(grad, self, other):
    return grad * self / other


@op(
    name="xlogy_other_number",
    label="xlogy",
    node="XlogyBackward2",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_XLOGY,
)
def xlogy_other_number(self: Array, other: Any) -> Array:
    """Compute x log(y) with a number y."""
    return _xlogy(*_with_number(self, other))


@derivative(xlogy_other_number, wrt="self")
def xlogy_other_number_self(grad, self, other):
    slope = xlogy(grad, other)
    return slope if other > 0 else inside(slope, self != 0)


_xlogy_tensor_in_place = inplace_function(xlogy_tensor)
_xlogy_other_number_in_place = inplace_function(xlogy_other_number)


@composite()
def xlogy(input: Any, other: Any, *, out: Any = None) -> Any:
    """Compute x log(y); zero where x is zero. One of the two may be a number.

    >>> import taper
    >>> taper.xlogy(taper.tensor([0.0, 2.0]), taper.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    if isinstance(input, (ndarray, np.generic)):
        return _xlogy(input, np.asarray(other, input.dtype))
    if isinstance(other, Tensor):
        tensor = isinstance(input, Tensor)
        return (xlogy_tensor if tensor else xlogy_self_number)(input, other, out=out)
    if not isinstance(input, Tensor):
        raise invalid_combination("xlogy", (input, other), _XLOGY)
    return xlogy_other_number(input, other, out=out)


@composite(name="xlogy_")
def xlogy_in_place(input: Any, other: Any) -> Any:
    """In-place version of `xlogy`."""
    if isinstance(other, ndarray):
        raise invalid_combination("xlogy_", (other,), _XLOGY)
    tensor = isinstance(other, Tensor)
    return (_xlogy_tensor_in_place if tensor else _xlogy_other_number_in_place)(input, other)
