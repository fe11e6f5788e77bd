"""Extremes of two tensors and limits: maximum, minimum, fmax, fmin, clamp and its relatives.

Owns: ClampBackward1 (bounds are numbers) and ClampBackward0 (bounds are tensors).  At a tie maximum
and minimum give half of the gradient to each side; clamp gives all of it to the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.native import curve
from taper.autograd.state import local
from taper.autograd.views import check_inplace, wants_grad
from taper.dtypes import C_NAMES, no_kernel
from taper.opdef import (
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
from taper.opdef.dtype_checks import COMPLEX, WIDE, all_of, not_implemented, refuse, refuse_overflow
from taper.opdef.operands import NUMBERS, invalid_combination, python_number, scalar_array
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.unary import inside, outside
from taper.tensor import Tensor

_CLAMP = (
    "(Tensor input, Tensor min = None, Tensor max = None, *, Tensor out = None)",
    "(Tensor input, Number min = None, Number max = None, *, Tensor out = None)",
)


# --- extremes --------------------------------------------------------------------------------


def _real_only(name: str, kernel: str) -> Any:
    return all_of(
        refuse(RuntimeError, f"{name} not implemented for complex tensors.", *COMPLEX),
        not_implemented(kernel, *WIDE),
    )


@op(
    promote=SAME,
    out=True,
    ufunc=np.maximum,
    check=_real_only("maximum", "maximum_cpu"),
)
def maximum(self: Array, other: Array) -> Array:
    """Take the larger of two elements, place by place; nan if either is nan.

    The gradient of equal elements is halved between the two.

    Args:
        input: first tensor.
        other: second tensor.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.maximum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
        tensor([3., 4.])
    """
    return np.maximum(self, other)


@derivative(maximum, wrt="self")
def maximum_self(grad, self, other):
    return inside(_halved_at_ties(grad, self, other), ~(self < other))


@derivative(maximum, wrt="other")
def maximum_other(grad, self, other):
    return inside(_halved_at_ties(grad, self, other), ~(self > other))


def _halved_at_ties(grad: Any, self: Any, other: Any) -> Any:
    return where(self == other, grad * 0.5, grad)


@op(
    promote=SAME,
    out=True,
    ufunc=np.minimum,
    check=_real_only("minimum", "minimum_cpu"),
)
def minimum(self: Array, other: Array) -> Array:
    """Take the smaller of two elements, place by place; nan if either is nan.

    The gradient of equal elements is halved between the two.

    Args:
        input: first tensor.
        other: second tensor.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast; the result has their common shape and dtype.

    Example:
        >>> import taper
        >>> taper.minimum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
        tensor([1., 2.])
    """
    return np.minimum(self, other)


@derivative(minimum, wrt="self")
def minimum_self(grad, self, other):
    return inside(_halved_at_ties(grad, self, other), ~(self > other))


@derivative(minimum, wrt="other")
def minimum_other(grad, self, other):
    return inside(_halved_at_ties(grad, self, other), ~(self < other))


@op(
    promote=SAME,
    out=True,
    ufunc=np.fmax,
    check=_real_only("fmax", "maximum_cpu"),
)
def fmax(self: Array, other: Array) -> Array:
    """Take the larger of two elements; nan only if both are nan.

    >>> import taper
    >>> taper.fmax(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """
    return np.fmax(self, other)


@derivative(fmax, wrt="self")
def fmax_self(grad, self, other):
    return outside(grad, ~((self >= other) | (other != other)))


@derivative(fmax, wrt="other")
def fmax_other(grad, self, other):
    return outside(grad, (self >= other) | (other != other))


@op(
    promote=SAME,
    out=True,
    ufunc=np.fmin,
    check=_real_only("fmin", "minimum_cpu"),
)
def fmin(self: Array, other: Array) -> Array:
    """Take the smaller of two elements; nan only if both are nan.

    >>> import taper
    >>> taper.fmin(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """
    return np.fmin(self, other)


@derivative(fmin, wrt="self")
def fmin_self(grad, self, other):
    return outside(grad, ~((self <= other) | (other != other)))


@derivative(fmin, wrt="other")
def fmin_other(grad, self, other):
    return outside(grad, (self <= other) | (other != other))


def _chosen_tangent(chosen: Any, self_t: Any, other_t: Any) -> Any:
    """Mix two tangents, of which one may be missing: `chosen` is the share of the first."""
    given = self_t if other_t is None else other_t
    share = chosen.to(given.dtype)
    if other_t is None:
        return self_t * share
    return other_t + share * (-other_t if self_t is None else self_t - other_t)


@tangent_of(maximum)
def maximum_tangent(self, other, self_t, other_t):
    return _chosen_tangent(where(self == other, 0.5, self > other), self_t, other_t)


@tangent_of(minimum)
def minimum_tangent(self, other, self_t, other_t):
    return _chosen_tangent(where(self == other, 0.5, self < other), self_t, other_t)


@tangent_of(fmax)
def fmax_tangent(self, other, self_t, other_t):  # of equal elements it is not the gradient's share
    return _chosen_tangent((self > other) | (other != other), self_t, other_t)


@tangent_of(fmin)
def fmin_tangent(self, other, self_t, other_t):
    return _chosen_tangent((self <= other) | (other != other), self_t, other_t)


# --- clamp -----------------------------------------------------------------------------------


def _bound(number: Any, kind: dtypes.dtype) -> ndarray:
    """Turn a number into a 0-d array of a dtype that can hold it."""
    refuse_overflow(number, kind)
    return scalar_array(number, kind.numpy)


_natively = curve("clamp")
_MOST = float(np.finfo(np.float32).max)


def _limited(values: ndarray, low: Any, high: Any) -> Any:
    """Move values between two numbers, in the common dtype."""
    if low.__class__ is high.__class__ is float and -_MOST <= low <= _MOST >= high >= -_MOST:
        if (found := _natively(values, None, low, high)) is not None:
            return found  # 0.7 us less
    if values.dtype.kind != "f":
        numbers = [each for each in (low, high) if each is not None]
        kind = dtypes.result_type([values, *numbers])
        if kind.is_complex:
            raise NotImplementedError("clamp is not supported for complex types")
        not_implemented("clamp_scalar_cpu", *WIDE)(kind, ())
        values = values.astype(kind.numpy, copy=False)
    else:
        kind = dtypes.FROM_NUMPY[values.dtype]
    lowest = None if low is None else _bound(low, kind)
    highest = None if high is None else _bound(high, kind)
    if low == low and high == high:  # with a bound that is NaN all is NaN
        least = -math.inf if lowest is None else float(lowest)
        most = math.inf if highest is None else float(highest)
        if (found := _natively(values, None, least, most)) is not None:
            return found
    if lowest is not None:
        values = np.maximum(values, lowest)
    return values if highest is None else np.minimum(values, highest)


@op(
    name="clamp_numbers",
    label="clamp",
    node="ClampBackward1",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_CLAMP,
)
def clamp_numbers(self: Array, min: Any = None, max: Any = None) -> Array:
    """Move the tensor's elements between two numbers."""
    return _limited(self, min, max)


@derivative(clamp_numbers, wrt="self")
def clamp_numbers_self(grad, self, min, max):
    return inside(grad, _within(self, min, max))


def _within(value: Any, low: Any, high: Any) -> Any:
    """Tell which elements lie between two numbers, rounded to their dtype; arrays and Tensors."""
    if not isinstance(value, Tensor):
        low = low if low is None else scalar_array(low, value.dtype)
        high = high if high is None else scalar_array(high, value.dtype)
    if low is None:
        return value <= high
    return value >= low if high is None else (value >= low) & (value <= high)


def _refuse_complex(common: dtypes.dtype, operands: Sequence[Any]) -> None:
    """Refuse complex tensors; complex bounds of a real one have no kernel."""
    if operands[0].dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


@op(
    name="clamp_tensors",
    label="clamp",
    node="ClampBackward0",
    promote=SAME,
    out=True,
    public=False,
    method=False,
    check=_refuse_complex,
    signatures=_CLAMP,
    layout=ELEMENTWISE,
)
def clamp_tensors(self: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """Move the tensor's elements between those of two tensors."""
    both = min is not None and max is not None
    if self.dtype.kind == "c" or (self.dtype.kind == "b" and both):
        one = "maximum_cpu" if max is None else "minimum_cpu"
        raise no_kernel("clamp_cpu" if both else one, self.dtype)
    if min is not None:
        self = np.maximum(self, min)
    return self if max is None else np.minimum(self, max)


@derivative(clamp_tensors, wrt="self")
def clamp_tensors_self(grad, self, min, max):
    return inside(grad, _within(self, min, max))


@derivative(clamp_tensors, wrt=("min", "max"))
def clamp_tensors_bounds(grad, self, min, max, needs):
    low = high = None
    if needs[0]:
        low = inside(grad, self < min if max is None else (min < max) & (self < min))
    if needs[1]:
        high = inside(grad, self > max if min is None else (self > max) | (max < min))
    return low, high


@tangent_of(clamp_tensors)
def clamp_tensors_tangent(self, min, max, self_t, min_t, max_t):
    if max is None:
        return _picked(self > min, self_t, min_t)
    if min is None:
        return _picked(self < max, self_t, max_t)
    # nan moves with `self`
    inner = _picked(self < min, min_t, _picked(self > max, max_t, self_t))
    return _picked(min > max, max_t, inner)


def _picked(mask: Any, one: Any, other: Any) -> Any:
    """Pick from two tangents, of which one may be missing, or both."""
    if one is None and other is None:
        return None
    return where(mask, *(0.0 if each is None else each for each in (one, other)))


_clamp_numbers_in_place = inplace_function(clamp_numbers)
_clamp_tensors_in_place = inplace_function(clamp_tensors)


_PLAIN = frozenset({int, float, type(None)})


def _bounds(label: str, input: Any, min: Any, max: Any) -> tuple[bool, Any, Any]:
    """Return whether the bounds are tensors, and the bounds."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [each for each in (min, max) if each is not None]
    tensors = [isinstance(each, Tensor) for each in given]
    if all(tensors):
        return True, min, max
    numbers = [python_number(each) for each in (min, max)]
    if any(each is not None and each.__class__ not in NUMBERS for each in numbers):
        mixed = all(isinstance(each, Tensor) or each.__class__ in NUMBERS for each in given)
        if not mixed or any(isinstance(each, Tensor) and each._array.ndim for each in given):
            raise invalid_combination(label, (input, *given), _CLAMP)
        # Beside a number, PyTorch takes a 0-d tensor as a number.
        numbers = [each.item() if isinstance(each, Tensor) else each for each in numbers]
    if input.dtype is dtypes.bool_ and {each.__class__ for each in given} == {bool}:
        form = "clamp_max" if min is None else "clamp_min" if max is None else "clamp"
        raise no_kernel(f"{form}_scalar_cpu", dtypes.bool_)
    if input.dtype.is_floating_point and any(each.__class__ is complex for each in numbers):
        if label == "clamp_":
            check_inplace(input, False, local.state)
        raise RuntimeError("value cannot be converted to type double without overflow")
    return False, numbers[0], numbers[1]


@composite()
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Move every element into the interval from `min` to `max`.

    result = min(max(x, min), max); where `min` is above `max` the result is `max`.

    Args:
        input: a tensor.
        min: lower bound, a number or a tensor; None for no bound.
        max: upper bound, likewise; one of the two must be given.
        out: tensor that receives the result.

    Shape: `input` and tensor bounds broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> taper.clamp(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if min.__class__ in _PLAIN and max.__class__ in _PLAIN and min is not max:
        return clamp_numbers(input, min, max, out=out)
    tensors, min, max = _bounds("clamp", input, min, max)
    return (clamp_tensors if tensors else clamp_numbers)(input, min, max, out=out)


@composite(name="clamp_")
def clamp_in_place(input: Any, min: Any = None, max: Any = None) -> Any:
    """In-place version of `clamp`."""
    tensors, min, max = _bounds("clamp_", input, min, max)
    if tensors:
        return _clamp_tensors_in_place(input, min, max)
    _refuse_lower(input, min, max)
    return _clamp_numbers_in_place(input, min, max)


def _refuse_lower(target: Tensor, *bounds: Any) -> None:
    """Refuse a bound of a higher category, which cannot be written, with C++'s name of the type."""
    numbers = [each for each in bounds if each is not None]
    kind = dtypes.result_type([target._array, *numbers])
    if not dtypes.can_cast(kind, target.dtype):
        raise RuntimeError(
            f"result type {kind.scalar_type} can't be cast to the desired output type "
            f"{C_NAMES[target.dtype]}"
        )


alias("clip", clamp)


# --- one bound -------------------------------------------------------------------------------


def _one_bound(name: str) -> tuple[str, str]:
    return (
        f"(Tensor input, Tensor {name}, *, Tensor out = None)",
        f"(Tensor input, Number {name}, *, Tensor out = None)",
    )


@op(
    name="clamp_min_number",
    label="clamp_min",
    node="ClampMinBackward0",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_one_bound("min"),
)
def clamp_min_number(self: Array, min: Any) -> Array:
    """Raise elements that lie below a number to it."""
    return _limited(self, min, None)


@derivative(clamp_min_number, wrt="self")
def clamp_min_number_self(grad, self, min):
    return inside(grad, _within(self, min, None))


@op(
    name="clamp_min_tensor",
    label="clamp_min",
    node="ClampMinBackward1",
    promote=SAME,
    out=True,
    ufunc=np.maximum,
    public=False,
    method=False,
    check=not_implemented("maximum_cpu", *COMPLEX, *WIDE),
    signatures=_one_bound("min"),
)
def clamp_min_tensor(self: Array, min: Array) -> Array:
    """Raise elements that lie below those of a tensor to them."""
    return np.maximum(self, min)


@derivative(clamp_min_tensor, wrt="self")
def clamp_min_tensor_self(grad, self, min):
    return inside(grad, self >= min)


@derivative(clamp_min_tensor, wrt="min")
def clamp_min_tensor_min(grad, self, min):
    return inside(grad, self < min)


@tangent_of(clamp_min_tensor)
def clamp_min_tensor_tangent(self, min, self_t, min_t):
    return _picked(self >= min, self_t, min_t)


@op(
    name="clamp_max_number",
    label="clamp_max",
    node="ClampMaxBackward0",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=_one_bound("max"),
)
def clamp_max_number(self: Array, max: Any) -> Array:
    """Lower elements that lie above a number to it."""
    return _limited(self, None, max)


@derivative(clamp_max_number, wrt="self")
def clamp_max_number_self(grad, self, max):
    return inside(grad, _within(self, None, max))


@op(
    name="clamp_max_tensor",
    label="clamp_max",
    node="ClampMaxBackward1",
    promote=SAME,
    out=True,
    ufunc=np.minimum,
    public=False,
    method=False,
    check=not_implemented("minimum_cpu", *COMPLEX, *WIDE),
    signatures=_one_bound("max"),
)
def clamp_max_tensor(self: Array, max: Array) -> Array:
    """Lower elements that lie above those of a tensor to them."""
    return np.minimum(self, max)


@derivative(clamp_max_tensor, wrt="self")
def clamp_max_tensor_self(grad, self, max):
    return inside(grad, self <= max)


@derivative(clamp_max_tensor, wrt="max")
def clamp_max_tensor_max(grad, self, max):
    return inside(grad, self > max)


@tangent_of(clamp_max_tensor)
def clamp_max_tensor_tangent(self, max, self_t, max_t):
    return _picked(self <= max, self_t, max_t)


def _checked(label: str, input: Any, bound: Any) -> Any:
    number = python_number(bound)
    if number.__class__ not in NUMBERS:
        raise invalid_combination(label, (input, bound), _one_bound(label[-3:]))
    if number.__class__ is complex:
        raise NotImplementedError("clamp is not supported for complex types")
    return number


@composite()
def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """Raise elements that lie below `min` to it.

    >>> import taper
    >>> taper.clamp_min(taper.tensor([-2.0, 3.0]), 0)
    tensor([0., 3.])
    """
    if isinstance(min, Tensor):
        return clamp_min_tensor(input, min, out=out)
    return clamp_min_number(input, _checked("clamp_min", input, min), out=out)


@composite()
def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """Lower elements that lie above `max` to it.

    >>> import taper
    >>> taper.clamp_max(taper.tensor([-2.0, 3.0]), 0)
    tensor([-2.,  0.])
    """
    if isinstance(max, Tensor):
        return clamp_max_tensor(input, max, out=out)
    return clamp_max_number(input, _checked("clamp_max", input, max), out=out)


_clamp_min_number_in_place = inplace_function(clamp_min_number)
_clamp_min_tensor_in_place = inplace_function(clamp_min_tensor)
_clamp_max_number_in_place = inplace_function(clamp_max_number)
_clamp_max_tensor_in_place = inplace_function(clamp_max_tensor)


@composite(name="clamp_min_")
def clamp_min_in_place(input: Any, min: Any) -> Any:
    """In-place version of `clamp_min`."""
    if isinstance(min, Tensor):
        return _clamp_min_tensor_in_place(input, min)
    if min.__class__ is complex:
        check_inplace(input, wants_grad(input), local.state)
    number = _checked("clamp_min", input, min)
    _refuse_lower(input, number)
    return _clamp_min_number_in_place(input, number)


@composite(name="clamp_max_")
def clamp_max_in_place(input: Any, max: Any) -> Any:
    """In-place version of `clamp_max`."""
    if isinstance(max, Tensor):
        return _clamp_max_tensor_in_place(input, max)
    if max.__class__ is complex:
        check_inplace(input, wants_grad(input), local.state)
    number = _checked("clamp_max", input, max)
    _refuse_lower(input, number)
    return _clamp_max_number_in_place(input, number)
