"""Arithmetic of two tensors, element by element: sums, products, quotients.

Powers are in `power`, remainders in `remainders`, other functions of two and three tensors in
`blend`, extremes in `clamping`, functions of one tensor in `unary`.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, LOW_PRECISION, is_low
from taper.arrays.foreign import has_elements
from taper.arrays.layouts import ELEMENTWISE, settled
from taper.arrays.reduction import ABSENT
from taper.opdef import (
    FLOAT,
    LINEAR,
    MULTILINEAR,
    POINTWISE,
    SAME,
    WITH_NUMBERS,
    Array,
    Operand,
    alias,
    composite,
    derivative,
    inplace_function,
    op,
    tangent_of,
)
from taper.opdef.dtype_checks import BOOL, COMPLEX, WIDE, no_negation, not_implemented
from taper.opdef.in_place import refused_in_place
from taper.opdef.operands import invalid_combination, scalar_array
from taper.opdef.overloads import declare_overloads
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.number import scaled
from taper.ops.elementwise.unary import zeros_like
from taper.tensor import Tensor, array_of

NOT_ROUNDED = (*BOOL, *WIDE, *COMPLEX)


# --- sums ------------------------------------------------------------------------------------


def _times_one(values: ndarray) -> ndarray:
    """Multiply complex values by 1 + 0j, as PyTorch: an infinite part makes the other NaN."""
    if values.dtype.kind != "c" or np.isfinite(values).all():
        return values
    return np.multiply(values, values.dtype.type(1))


def _scale_second(operands: list[Any]) -> None:
    operands[1] = _times_one(operands[1])


def _scaled(label: str, values: ndarray, alpha: Any) -> Any:
    """Multiply values by `alpha`, with PyTorch's rules for its type."""
    kind = alpha.__class__
    if (kind is float or kind is int) and values.dtype.kind == "f":
        return np.multiply(values, scalar_array(alpha, values.dtype))
    if not isinstance(alpha, (int, float, complex)):
        raise TypeError(f"{label}(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    category = dtypes.FROM_NUMPY[values.dtype].category
    if isinstance(alpha, bool) and category != dtypes.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and category < dtypes.FLOATING:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and category != dtypes.COMPLEX:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    if category == dtypes.COMPLEX and not isinstance(alpha, complex):
        # Part by part: where one is NaN by `_times_one` the other stays.
        result = np.empty_like(values)
        result.real, result.imag = values.real * alpha, values.imag * alpha
        return result
    return np.multiply(values, np.array(alpha).astype(values.dtype))


def _with_scaled(ufunc: Any, label: str, one: ndarray, other: ndarray, alpha: Any) -> Any:
    """Add or subtract what `alpha` multiplies; half precision is rounded once."""
    kind = alpha.__class__
    if kind is int and alpha == 1:
        return ufunc(one, other)
    low = other.dtype
    if low not in LOW_PRECISION or (kind is not int and kind is not float):
        return ufunc(one, _scaled(label, other, alpha))
    factor = scalar_array(alpha, low).astype(FLOAT32)
    return ufunc(one.astype(FLOAT32), other.astype(FLOAT32) * factor).astype(low)


@op(
    promote=SAME,
    tangent=LINEAR,
    inplace=True,
    out=True,
    numbers=True,
    ufunc=np.add,
    check=not_implemented("add_stub", *WIDE),
    change_complex=_scale_second,
)
def add(self: Array, other: Operand, *, alpha: Any = 1) -> Array:
    """Add two tensors element by element, the second multiplied by `alpha`.

    result = input + alpha · other

    Args:
        input: first summand.
        other: second summand, a tensor or a number.
        alpha: number that multiplies `other`.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.add(taper.tensor([1.0, 2.0]), taper.tensor([3.0, 4.0]), alpha=2)
        tensor([ 7., 10.])
    """
    return _with_scaled(np.add, "add", self, other, alpha)


@derivative(add, wrt="self")
def add_self(grad):
    return grad


@derivative(add, wrt="other")
def add_other(grad, alpha):
    return grad if alpha == 1 else scaled(grad, conj(alpha))


def refuse_bool(common: dtypes.dtype, operands: Sequence[Any]) -> None:
    """Refuse to subtract bools, tensors or numbers."""
    found = [
        each.dtype == np.bool_ if isinstance(each, ndarray) else isinstance(each, bool)
        for each in operands
    ]
    if all(found):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
            "or `logical_xor()` operator instead."
        )
    if any(found):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    if common.name in WIDE:
        not_implemented("add_stub", *WIDE)(common, operands)


def difference(one: Any, other: Any) -> Any:
    """Subtract in formulas, where bools are refused too; arrays or Tensors."""
    if _holds_bools(one) or _holds_bools(other):
        refuse_bool(dtypes.bool_, (one, other))
    return one - other


def negated(values: Any) -> Any:
    """Negate in formulas, where bools are refused too; arrays or Tensors."""
    if _holds_bools(values):
        no_negation(dtypes.bool_, ())
    return -values


def _holds_bools(values: Any) -> bool:
    return isinstance(values, ndarray) and values.dtype.kind == "b"


@op(
    promote=SAME,
    tangent=LINEAR,
    inplace=True,
    out=True,
    numbers=True,
    ufunc=np.subtract,
    check=refuse_bool,
    change_complex=_scale_second,
)
def sub(self: Array, other: Operand, *, alpha: Any = 1) -> Array:
    """Subtract from one tensor another, multiplied by `alpha`.

    result = input - alpha · other

    Args:
        input: the minuend.
        other: the subtrahend, a tensor or a number.
        alpha: number that multiplies `other`.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
    """
    return _with_scaled(np.subtract, "sub", self, other, alpha)


@derivative(sub, wrt="self")
def sub_self(grad):
    return grad


@derivative(sub, wrt="other")
def sub_other(grad, alpha):
    return -grad if alpha == 1 else scaled(grad, -conj(alpha))


alias("subtract", sub)


@op(
    name="rsub_tensor",
    label="rsub",
    node="RsubBackward0",
    promote=SAME,
    tangent=LINEAR,
    public=False,
    method=False,
    check=refuse_bool,
    layout=lambda result, given: ELEMENTWISE(result, (given[1], given[0])),
)
def rsub_tensor(self: Array, other: Array, alpha: Any = 1) -> Array:
    """Subtract tensor `self` from tensor `other`."""
    return _with_scaled(np.subtract, "rsub", other, _times_one(self), alpha)


@derivative(rsub_tensor, wrt="self")
def rsub_tensor_self(grad, alpha):
    return -grad if alpha == 1 else scaled(grad, -conj(alpha))


@derivative(rsub_tensor, wrt="other")
def rsub_tensor_other(grad):
    return grad


@op(
    name="rsub_scalar",
    label="rsub",
    node="RsubBackward1",
    promote=SAME,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=refuse_bool,
)
def rsub_scalar(self: Array, other: Operand, alpha: Any = 1) -> Array:
    """Subtract a tensor from a number."""
    return _with_scaled(np.subtract, "rsub", other, _times_one(self), alpha)


@derivative(rsub_scalar, wrt="self")
def rsub_scalar_self(grad, alpha):
    return -grad if alpha == 1 else scaled(grad, -conj(alpha))


@composite(method=False)
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Subtract `alpha` times `input` from `other`.

    >>> import taper
    >>> taper.rsub(taper.tensor([1.0, 2.0]), 3)
    tensor([2., 1.])
    """
    if not isinstance(input, Tensor):
        raise invalid_combination(
            "rsub",
            (input, other),
            (
                "(Tensor input, Tensor other, *, Number alpha = 1)",
                "(Tensor input, Number other, Number alpha = 1)",
            ),
        )
    return (rsub_tensor if isinstance(other, Tensor) else rsub_scalar)(input, other, alpha)


declare_overloads(
    rsub,
    "Tensor input, Tensor other, *, Number alpha = 1",
    "Tensor input, Number other, Number alpha = 1",
)


# --- products and quotients ------------------------------------------------------------------


@op(
    promote=SAME,
    tangent=MULTILINEAR,
    inplace=True,
    out=True,
    numbers=True,
    ufunc=np.multiply,
    upcast=WITH_NUMBERS,
)
def mul(self: Array, other: Operand) -> Array:
    """Multiply two tensors element by element.

    result = input · other

    Args:
        input: first factor.
        other: second factor, a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
        tensor([3., 6.])
    """
    return np.multiply(self, other)


# In a backward pass too the layout of a product is PyTorch's: 28 ns more than NumPy's functions.
_multiply, _divide = settled(np.multiply, ELEMENTWISE), settled(np.divide, ELEMENTWISE)


@derivative(mul, wrt="self", real=_multiply)
def mul_self(grad, other):
    return grad * conj(other)


@derivative(mul, wrt="other", real=_multiply)
def mul_other(grad, self):
    return grad * conj(self)


alias("multiply", mul)


@op(
    name="div_true",
    label="div",
    node="DivBackward0",
    promote=FLOAT,
    out=True,
    numbers=True,
    ufunc=np.divide,
    upcast=WITH_NUMBERS,
    public=False,
    method=False,
)
def div_true(self: Array, other: Operand) -> Array:
    """Divide two tensors without rounding."""
    return np.divide(self, other)


@derivative(div_true, wrt="self", real=_divide)
def div_true_self(grad, other):
    return grad / conj(other)


def rounded_like(values: Any, other: Any) -> Any:
    """Return an operand of a formula in the half precision of another: arrays or Tensors.

    NumPy would compute in float32 beside one without dimensions.
    """
    low = is_low(other) and not isinstance(values, Tensor)
    return np.asarray(values).astype(other.dtype) if low else values


@derivative(div_true, wrt="other")
def div_true_other(grad, self, other):
    share = (rounded_like(self, other) / other) / other
    return -grad * conj(share)


def _quotient(self: ndarray, other: ndarray, mode: str) -> Any:
    """Divide and round as `mode` says; integers stay integers."""
    common = dtypes.FROM_NUMPY[self.dtype]
    if common.name in NOT_ROUNDED:
        not_implemented(f"div_{mode}_cpu", *NOT_ROUNDED)(common, ())
    if common.is_floating_point:
        if mode == "trunc":
            return np.trunc(self / other)
        return (
            _floor_in_steps(self, other) if common.itemsize == 2 else np.floor_divide(self, other)
        )
    refuse_zero(self, other)
    if mode == "floor":
        return np.floor_divide(self, other)
    quotient, rest = np.divmod(self, other)
    return (quotient + ((rest != 0) & ((self < 0) != (other < 0)))).astype(self.dtype)


def _floor_in_steps(self: ndarray, other: ndarray) -> Any:
    """Divide in half precision and round down, with every step rounded.

    A divisor without dimensions stays in float32, as in PyTorch.
    """
    if not other.ndim:
        wide = np.floor_divide(self.astype(np.float32), other.astype(np.float32))
        return wide.astype(self.dtype)
    rest = np.fmod(self, other)
    quotient = (self - rest) / other
    quotient = np.where((rest != 0) & ((other < 0) != (rest < 0)), quotient - 1, quotient)
    quotient = quotient.astype(self.dtype, copy=False)
    floor = np.floor(quotient)
    floor = np.where(quotient - floor > 0.5, floor + 1, floor)
    exact = self / other
    floor = np.where(quotient == 0, np.copysign(np.zeros_like(exact), exact), floor)
    return np.where(other == 0, exact, floor).astype(self.dtype, copy=False)


def refuse_zero(dividend: ndarray, divisor: ndarray) -> None:
    """Raise PyTorch's error if integers are divided by zero."""
    if dividend.size and has_elements(divisor) and not divisor.all():
        raise RuntimeError("ZeroDivisionError")


def _check_rounding(mode: Any) -> None:
    if mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )


@op(
    name="div_unrounded",
    label="div",
    node="DivBackward2",
    promote=FLOAT,
    out=True,
    numbers=True,
    public=False,
    method=False,
)
def div_unrounded(self: Array, other: Operand, rounding_mode: str | None) -> Array:
    """Divide two tensors with `rounding_mode=None`, which has a node of its own."""
    return np.divide(self, other)


@derivative(div_unrounded, wrt="self")
def div_unrounded_self(grad, other, rounding_mode):
    return grad / conj(other)


@derivative(div_unrounded, wrt="other")
def div_unrounded_other(grad, self, other, rounding_mode):
    return -grad * conj((self / other) / other)


@tangent_of(div_true)
@tangent_of(div_unrounded)
def div_tangent(self_t, other, other_t, result):
    if other_t is None:
        return self_t / other
    change = other_t * result
    return (-change if self_t is None else self_t - change) / other


@op(
    name="div_rounded",
    label="div",
    node="DivBackward2",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    numbers=True,
    public=False,
    method=False,
)
def div_rounded(self: Array, other: Operand, rounding_mode: str) -> Array:
    """Divide two tensors and round towards zero ("trunc") or down ("floor")."""
    return _quotient(self, other, rounding_mode)


@op(
    name="div_rounded_in_steps",
    label="div",
    node="DivBackward2",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
)
def div_rounded_in_steps(self: Array, other: Array, rounding_mode: str) -> Array:
    """Divide in half precision as `div_rounded` does, but round the quotient before cutting it."""
    return _quotient(self, other, rounding_mode)


def _both_low(input: Any, other: Any) -> bool:
    """Tell whether two tensors meet in half precision; a divisor without dimensions is a number."""
    pair = isinstance(input, Tensor) and isinstance(other, Tensor) and other._array.ndim > 0
    return pair and dtypes.result_type((input._array, other._array)).numpy in LOW_PRECISION


def rounded_quotient(input: Any, other: Any, rounding_mode: str) -> Any:
    """Divide with a rounding mode, in formulas: arrays or Tensors."""
    arrays = [array_of(each) for each in (input, other)]
    common = dtypes.result_type(arrays).numpy
    if not isinstance(input, Tensor) and arrays[0].dtype != arrays[1].dtype:
        input, other = (each.astype(common) for each in arrays)
    low = common in LOW_PRECISION
    rounded = div_rounded_in_steps if low and arrays[1].ndim else div_rounded
    return rounded(input, other, rounding_mode)


@derivative(div_rounded, wrt="self")
@derivative(div_rounded_in_steps, wrt="self")
def div_rounded_self(grad, other, rounding_mode):
    return zeros_like(grad)


@derivative(div_rounded, wrt="other")
@derivative(div_rounded_in_steps, wrt="other")
def div_rounded_other(grad, self, other, rounding_mode):
    return zeros_like(grad)


@composite()
def div(input: Any, other: Any, *, rounding_mode: Any = ABSENT, out: Any = None) -> Any:
    """Divide one tensor by another, element by element.

    result = input / other; integers give the default floating dtype unless the quotient is rounded.

    Args:
        input: the dividend.
        other: the divisor, a tensor or a number.
        rounding_mode: None (exact), "trunc" (towards zero) or "floor" (down); both keep integers.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.div(taper.tensor([1.0, 2.0]), 4)
        tensor([0.2500, 0.5000])
        >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
        tensor([-4,  3])
    """
    if rounding_mode is ABSENT:
        return div_true(input, other) if out is None else div_true(input, other, out=out)
    _check_rounding(rounding_mode)
    if rounding_mode is None:
        return div_unrounded(input, other, None, out=out)
    rounded = div_rounded_in_steps if _both_low(input, other) else div_rounded
    return rounded(input, other, rounding_mode, out=out)


div_true_in_place = inplace_function(div_true)
_div_unrounded_in_place = inplace_function(div_unrounded)
_div_rounded_in_place = inplace_function(div_rounded)
_div_in_steps_in_place = inplace_function(div_rounded_in_steps)


@composite(name="div_", public=False)
def div_in_place(self: Any, other: Any, *, rounding_mode: Any = ABSENT) -> Any:
    """In-place version of `div`."""
    if rounding_mode is ABSENT:
        return div_true_in_place(self, other)
    _check_rounding(rounding_mode)
    if rounding_mode is None:
        return _div_unrounded_in_place(self, other, None)
    rounded = _div_in_steps_in_place if _both_low(self, other) else _div_rounded_in_place
    return rounded(self, other, rounding_mode)


alias("divide", div)


@composite()
def true_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Divide two tensors, never rounding.

    >>> import taper
    >>> taper.true_divide(taper.tensor([1, 2]), 4)
    tensor([0.2500, 0.5000])
    """
    return div_true(input, other, out=out)


@composite(name="true_divide_", public=False)
def true_divide_in_place(self: Any, other: Any) -> Any:
    """In-place version of `true_divide`."""
    return div_true_in_place(self, other)


def no_derivative(name: str) -> RuntimeError:
    """Make the error of a backward pass through what PyTorch records but cannot differentiate."""
    return RuntimeError(f"derivative for aten::{name} is not implemented")


@op(
    name="floor_divide_tensor",
    label="floor_divide",
    node="NotImplemented",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
)
def floor_divide_tensor(self: Array, other: Array) -> Array:
    """Divide two tensors and round down."""
    return _quotient(self, other, "floor")


@derivative(floor_divide_tensor, wrt=("self", "other"))
def floor_divide_tensor_all(grad):
    raise no_derivative("floor_divide")


@op(
    name="floor_divide_number",
    label="floor_divide",
    node="NotImplemented",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
)
def floor_divide_number(self: Array, other: Operand) -> Array:
    """Divide a tensor by a number and round down."""
    return _quotient(self, other, "floor")


@derivative(floor_divide_number, wrt="self")
def floor_divide_number_self(grad):
    raise no_derivative("floor_divide")


@op(
    name="floor_divide_of_number",
    label="floor_divide",
    node="NotImplemented",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
)
def floor_divide_of_number(self: Operand, other: Array) -> Array:
    """Divide a number by a tensor and round down."""
    return _quotient(self, other, "floor")


@derivative(floor_divide_of_number, wrt="other")
def floor_divide_of_number_other(grad):
    raise no_derivative("floor_divide")


@composite()
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Divide two tensors and round down. Differentiating it fails, as in PyTorch.

    >>> import taper
    >>> taper.floor_divide(taper.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
    if not isinstance(other, Tensor):
        return floor_divide_number(input, other, out=out)
    if not isinstance(input, Tensor):
        return floor_divide_of_number(input, other, out=out)
    return floor_divide_tensor(input, other, out=out)


def _floor_divide_in_place(grad):
    raise no_derivative("floor_divide_")


refused_in_place(floor_divide_tensor, "NotImplemented", _floor_divide_in_place)
refused_in_place(floor_divide_number, "NotImplemented", _floor_divide_in_place)
_floor_divide_tensor_in_place = inplace_function(floor_divide_tensor)
_floor_divide_number_in_place = inplace_function(floor_divide_number)


@composite(name="floor_divide_", public=False)
def floor_divide_in_place(self: Any, other: Any) -> Any:
    """In-place version of `floor_divide`."""
    tensor = isinstance(other, Tensor)
    return (_floor_divide_tensor_in_place if tensor else _floor_divide_number_in_place)(self, other)
