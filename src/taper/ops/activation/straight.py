"""Activation functions made of straight pieces: relu, threshold, the hard and the shrinking ones.

Owns: the operators and their gradients, which are operators themselves where PyTorch has a node for
them (ThresholdBackwardBackward0 and so on).  Those with a slope below zero are in
`leaky`, the smooth ones in `smooth`, the functions of `nn.functional`, with
`inplace=`, in `functional`.  At a kink the gradient is that of the flat side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, LOW_PRECISION, masked, select, zero_of
from taper.arrays.layouts import PRESERVED
from taper.arrays.native import curve
from taper.opdef import (
    FUNCTION,
    POINTWISE,
    SAME,
    Array,
    composites,
    derivative,
    inplace_function,
    op,
)
from taper.opdef.dtype_checks import (
    BOOL,
    COMPLEX,
    NOT_FLOATING,
    WIDE,
    all_of,
    not_implemented,
    refuse,
    refuse_overflow,
)
from taper.opdef.operands import scalar_array
from taper.ops.elementwise.arithmetic import no_derivative
from taper.ops.elementwise.unary import inside, zeros_like


def _not_complex(common: dtypes.dtype, operands: Any) -> None:
    if common.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")


_relu, _clamp, _hardtanh_backward = curve("relu"), curve("clamp"), curve("hardtanh_backward")
_threshold_backward = curve("threshold_backward")

# --- relu, threshold -------------------------------------------------------------------------


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=FUNCTION,
    check=all_of(
        refuse(RuntimeError, "Boolean inputs not supported for relu", *BOOL),
        _not_complex,
        not_implemented("clamp_min_scalar_cpu", *WIDE),
    ),
)
def relu(self: Array) -> Array:
    """Replace negative elements by zero.

    result = max(0, x) for each x of `input`

    Args:
        input: a tensor; bool is refused.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.relu(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    found = _relu(self)
    return np.maximum(self, zero_of(self.dtype)) if found is None else found


@op(node="ThresholdBackwardBackward0", tangent=POINTWISE, public=False, method=False, layout=None)
def threshold_backward(grad_output: Array, self: Array, threshold: Any) -> Array:
    """Pass the gradient where the input was above the threshold (or nan), else zero."""
    found = _threshold_backward(self, grad_output, threshold)
    if found is not None:
        return found
    zero = zero_of(self.dtype)
    below = np.less_equal(self, zero) if threshold == 0 else _not_above(self, threshold)
    if below.size < 700:
        return np.where(below, zero, grad_output)
    return masked(grad_output, np.logical_not(below, below))


@derivative(threshold_backward, wrt="grad_output")
def threshold_backward_grad_output(grad, self, threshold):
    return threshold_backward(grad, self, threshold)


@derivative(threshold_backward, wrt="self")
def threshold_backward_self(grad):
    return zeros_like(grad)


@derivative(relu, wrt="self")
def relu_self(grad, result):
    return threshold_backward(grad, result, 0)


@op(
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    method=False,
    check=not_implemented("threshold_cpu", *BOOL, *WIDE, *COMPLEX),
)
def threshold(self: Array, threshold: Any, value: Any) -> Array:
    """Keep x where it is above `threshold`, else return `value`.

    >>> import taper
    >>> taper.threshold(taper.tensor([-1.0, 2.0]), 0.5, 10)
    tensor([10.,  2.])
    """
    return _above(self, threshold, value)


def _above(values: ndarray, limit: Any, value: Any) -> Any:
    kind = dtypes.FROM_NUMPY[values.dtype]
    refuse_overflow(limit, kind)
    refuse_overflow(value, kind)
    low = _not_above(values, limit)
    return select(low, np.array(value).astype(values.dtype), values)


def _not_above(values: ndarray, limit: Any) -> ndarray:
    """Tell which values are at most a number, which is not rounded to half precision."""
    if values.dtype in LOW_PRECISION:
        values = values.astype(FLOAT32)
    return values <= scalar_array(limit, values.dtype)


@derivative(threshold, wrt="self")
def threshold_self(grad, self, threshold):
    return threshold_backward(grad, self, threshold)


@op(
    name="_threshold_in_place",
    label="threshold_",
    node="ThresholdBackward1",
    promote=SAME,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("threshold_cpu", *BOOL, *WIDE, *COMPLEX),
)
def _threshold_in_place(self: Array, threshold: Any, value: Any) -> Array:
    """Compute `threshold` as the operator that PyTorch records in place."""
    return _above(self, threshold, value)


@derivative(_threshold_in_place, wrt="self")
def _threshold_in_place_self(grad, self, threshold):
    return threshold_backward(grad, self, threshold)


threshold_in_place = inplace_function(_threshold_in_place)
threshold_in_place.__doc__ = """Replace elements that are not above a threshold, in place.

    result = x where x > threshold, else value

    Args:
        input: the tensor that is changed.
        threshold: bound that an element must exceed.
        value: what the others become.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.threshold_(taper.tensor([-1.0, 2.0]), 0.5, 10)
        tensor([10.,  2.])
    """
composites["threshold_"] = threshold_in_place


# --- hardtanh, hardsigmoid, hardswish --------------------------------------------------------


@op(
    promote=SAME,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=all_of(
        refuse(RuntimeError, "Bool inputs not supported for hardtanh", *BOOL), _not_complex
    ),
    layout=PRESERVED,
)
def hardtanh(self: Array, min_val: Any = -1.0, max_val: Any = 1.0) -> Array:
    """Move x into [min_val, max_val]."""
    if self.dtype == np.uint8 and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if min_val == min_val and max_val == max_val:  # with a bound that is NaN all is NaN
        if (found := _clamp(self, None, min_val, max_val)) is not None:
            return found
    low, high = scalar_array(min_val, self.dtype), scalar_array(max_val, self.dtype)
    return np.minimum(np.maximum(self, low), high)


@op(node="HardtanhBackwardBackward0", tangent=POINTWISE, public=False, method=False)
def hardtanh_backward(grad_output: Array, self: Array, min_val: Any, max_val: Any) -> Array:
    """Compute the gradient of hardtanh: zero at the bounds and beyond."""
    if (found := _hardtanh_backward(self, grad_output, min_val, max_val)) is not None:
        return found
    low, high = scalar_array(min_val, self.dtype), scalar_array(max_val, self.dtype)
    return masked(grad_output, ~((self <= low) | (self >= high)))


@derivative(hardtanh_backward, wrt="grad_output")
def hardtanh_backward_grad_output(grad, self, min_val, max_val):
    return hardtanh_backward(grad, self, min_val, max_val)


@derivative(hardtanh_backward, wrt="self")
def hardtanh_backward_self(grad):
    return zeros_like(grad)


@derivative(hardtanh, wrt="self")
def hardtanh_self(grad, self, min_val, max_val):
    return hardtanh_backward(grad, self, min_val, max_val)


hardtanh_in_place = inplace_function(hardtanh)


_SIXTH = float(np.float32(1 / 6))  # PyTorch uses the single precision constant for all dtypes


def _ramp(values: ndarray) -> Any:
    """Move x + 3 into [0, 6]."""
    three, six = scalar_array(3, values.dtype), scalar_array(6, values.dtype)
    return np.minimum(np.maximum(np.add(values, three), zero_of(values.dtype)), six)


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("hardsigmoid_cpu", *NOT_FLOATING),
)
def hardsigmoid(self: Array) -> Array:
    """Move (x + 3) / 6 into [0, 1]."""
    return np.divide(_ramp(self), scalar_array(6, self.dtype))


@op(node="NotImplemented", tangent=POINTWISE, upcast=True, public=False, method=False)
def hardsigmoid_backward(grad_output: Array, self: Array) -> Array:
    """Compute the gradient of hardsigmoid. Differentiating it again fails, as in PyTorch."""
    three = scalar_array(3, self.dtype)
    slope = np.multiply(grad_output, scalar_array(_SIXTH, grad_output.dtype))
    return masked(slope, (self > -three) & (self < three))


@derivative(hardsigmoid_backward, wrt=("grad_output", "self"))
def hardsigmoid_backward_all(grad):
    raise no_derivative("hardsigmoid_backward")


@derivative(hardsigmoid, wrt="self")
def hardsigmoid_self(grad, self):
    return hardsigmoid_backward(grad, self)


hardsigmoid_in_place = inplace_function(hardsigmoid)


_native_hardswish, _native_hardswish_backward = curve("hardswish"), curve("hardswish_backward")


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("hardswish_cpu", *NOT_FLOATING),
)
def hardswish(self: Array) -> Array:
    """Multiply x by hardsigmoid(x)."""
    if (found := _native_hardswish(self)) is not None:
        return found
    return np.divide(np.multiply(self, _ramp(self)), scalar_array(6, self.dtype))


@op(
    node="HardswishBackwardBackward0",
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
)
def hardswish_backward(grad_output: Array, self: Array) -> Array:
    """Compute the gradient of hardswish."""
    if (found := _native_hardswish_backward(self, grad_output)) is not None:
        return found
    three = scalar_array(3, self.dtype)
    slope = grad_output * (self / three + scalar_array(0.5, self.dtype))
    return select(~(self < three), grad_output, masked(slope, ~(self <= -three)))


@derivative(hardswish_backward, wrt="grad_output")
def hardswish_backward_grad_output(grad, self):
    return hardswish_backward(grad, self)


@derivative(hardswish_backward, wrt="self")
def hardswish_backward_self(grad, grad_output, self):
    return inside(grad * grad_output / 3, (self > -3) & (self < 3))


@derivative(hardswish, wrt="self")
def hardswish_self(grad, self):
    return hardswish_backward(grad, self)


hardswish_in_place = inplace_function(hardswish)


# --- shrinking -------------------------------------------------------------------------------


@op(
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    check=not_implemented("hardshrink_cpu", *NOT_FLOATING),
)
def hardshrink(self: Array, lambd: Any = 0.5) -> Array:
    """Replace small elements by zero.

    result = x where |x| > lambd, else 0

    Args:
        input: a tensor.
        lambd: bound that |x| must exceed.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.hardshrink(taper.tensor([-0.4, 0.6]))
        tensor([0.0000, 0.6000])
    """
    return masked(self, ~(np.abs(self) <= scalar_array(lambd, self.dtype)))


@op(node="HardshrinkBackwardBackward0", tangent=POINTWISE, public=False, method=False)
def hardshrink_backward(grad_out: Array, self: Array, lambd: Any) -> Array:
    """Compute the gradient of hardshrink."""
    return masked(grad_out, ~(np.abs(self) <= scalar_array(lambd, self.dtype)))


@derivative(hardshrink_backward, wrt="grad_out")
def hardshrink_backward_grad_out(grad, self, lambd):
    return hardshrink_backward(grad, self, lambd)


@derivative(hardshrink_backward, wrt="self")
def hardshrink_backward_self(grad):
    return zeros_like(grad)


@derivative(hardshrink, wrt="self")
def hardshrink_self(grad, self, lambd):
    return hardshrink_backward(grad, self, lambd)


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("softshrink_check", *NOT_FLOATING),
)
def softshrink(self: Array, lambd: Any = 0.5) -> Array:
    """Move every element towards zero by `lambd`, and to zero where it would pass it.

    result = x - lambd where x > lambd, x + lambd where x < -lambd, else 0

    Args:
        input: a tensor.
        lambd: the distance, not negative.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softshrink(taper.tensor([-1.0, 0.3, 0.75]))
        tensor([-0.5000,  0.0000,  0.2500])
    """
    if not 0 <= lambd:
        kind = dtypes.FROM_NUMPY[self.dtype]
        raise RuntimeError(
            f"lambda must be in range [0, {dtypes.finfo(kind).max:g}] for input dtype "
            f"{kind.scalar_type}, but found {lambd:g}"
        )
    bound = scalar_array(lambd, self.dtype)
    return np.subtract(self, np.minimum(np.maximum(self, -bound), bound))


@op(node="SoftshrinkBackwardBackward0", tangent=POINTWISE, public=False, method=False)
def softshrink_backward(grad_output: Array, self: Array, lambd: Any) -> Array:
    """Compute the gradient of softshrink."""
    return masked(grad_output, ~(np.abs(self) <= scalar_array(lambd, self.dtype)))


@derivative(softshrink_backward, wrt="grad_output")
def softshrink_backward_grad_output(grad, self, lambd):
    return softshrink_backward(grad, self, lambd)


@derivative(softshrink_backward, wrt="self")
def softshrink_backward_self(grad):
    return zeros_like(grad)


@derivative(softshrink, wrt="self")
def softshrink_self(grad, self, lambd):
    return softshrink_backward(grad, self, lambd)
