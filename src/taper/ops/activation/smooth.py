"""Smooth activation functions: elu and its relatives, gelu, silu, mish, softplus, logsigmoid, glu.

Owns: the operators and their gradients, which are operators themselves where PyTorch has a node for
them.  The functions of `nn.functional`, with `inplace=`, are in `functional`.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays import special_functions
from taper.arrays.elements import (
    HALF,
    ONE,
    in_blocks,
    in_float32,
    is_low,
    logistic,
    select,
    zero_of,
)
from taper.arrays.layouts import ELEMENTWISE, PRESERVED, ROW_MAJOR
from taper.arrays.native import curve
from taper.arrays.reduction import scalar_type
from taper.arrays.strides import wrap_dim
from taper.opdef import (
    POINTWISE,
    SAME,
    Array,
    composite,
    composites,
    derivative,
    inplace_function,
    op,
    tangent_of,
)
from taper.opdef.dtype_checks import BOOL, INTEGERS, NOT_FLOATING, WIDE, not_implemented
from taper.opdef.operands import scalar_array
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.trigonometry import tanh
from taper.ops.elementwise.unary import exp, sigmoid
from taper.ops.shape.join import cat
from taper.tensor import Tensor

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


# --- elu, selu, celu -------------------------------------------------------------------------


def _elu(values: ndarray, alpha: Any, scale: Any, input_scale: Any) -> Any:
    """Compute elu as the sum of two parts, of which one is always zero."""
    dtype = values.dtype
    below = np.minimum(values, zero_of(dtype))
    if input_scale != 1:
        below = below * scalar_array(input_scale, dtype)
    below = np.expm1(below)
    if alpha * scale != 1:
        below = below * scalar_array(alpha * scale, dtype)
    above = np.maximum(values, zero_of(dtype))
    if scale != 1:
        above = above * scalar_array(scale, dtype)
    return np.add(above, below)


_ELU = not_implemented("elu_cpu", *NOT_FLOATING)
_native_elu_backward = curve("elu_backward")


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=_ELU,
)
def elu(self: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    """Return `scale` times x above zero, else `scale * alpha * (exp(input_scale * x) - 1)`."""
    return _elu(self, alpha, scale, input_scale)


@op(node="EluBackwardBackward0", upcast=True, tangent=POINTWISE, public=False, method=False)
def elu_backward(
    grad_output: Array,
    alpha: Any,
    scale: Any,
    input_scale: Any,
    is_result: bool,
    self_or_result: Array,
) -> Array:
    """Compute the gradient of elu from its input or, if computed in place, from its result."""
    if input_scale == 1 and not is_result:
        found = _native_elu_backward(self_or_result, grad_output, alpha * scale, scale)
        if found is not None:
            return found
    dtype = grad_output.dtype
    low = self_or_result <= zero_of(dtype)
    if is_result:
        slope = self_or_result + scalar_array(alpha * scale, dtype)
        slope = slope * scalar_array(input_scale, dtype)
    else:
        below = np.minimum(self_or_result, zero_of(dtype)) * scalar_array(input_scale, dtype)
        slope = np.exp(below) * scalar_array(alpha * scale * input_scale, dtype)
    return select(low, grad_output * slope, grad_output * scalar_array(scale, dtype))


@derivative(elu_backward, wrt="grad_output")
def elu_backward_grad_output(grad, alpha, scale, input_scale, is_result, self_or_result):
    return elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)


@derivative(elu_backward, wrt="self_or_result")
def elu_backward_self(grad, grad_output, alpha, scale, input_scale, is_result, self_or_result):
    change = grad * grad_output * input_scale
    if not is_result:
        change = elu_backward(change, alpha, scale, input_scale, False, self_or_result)
    return change * (self_or_result < 0)


@derivative(elu, wrt="self")
def elu_self(grad, self, alpha, scale, input_scale):
    return elu_backward(grad, alpha, scale, input_scale, False, self)


@op(
    name="_elu_in_place",
    label="elu_",
    node="EluBackward1",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=_ELU,
)
def _elu_in_place(self: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    """Compute `elu` as PyTorch's in-place operator, which saves the result."""
    return _elu(self, alpha, scale, input_scale)


@derivative(_elu_in_place, wrt="self")
def _elu_in_place_self(grad, result, alpha, scale, input_scale):
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead."
        )
    return elu_backward(grad, alpha, scale, input_scale, True, result)


elu_in_place = inplace_function(_elu_in_place)
elu_in_place.__doc__ = """Bend negative elements smoothly towards a bound, in place.

    result = scale · x where x > 0, else scale · alpha · (exp(input_scale · x) - 1)

    Args:
        input: the tensor that is changed.
        alpha: bound of the negative side.
        scale: factor of the result.
        input_scale: factor of x in the exponential.

    Returns: `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.elu_(taper.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """


@composite(method=False)
def selu(input: Any) -> Any:
    """Apply elu with the constants that keep mean 0 and variance 1.

    >>> import taper
    >>> taper.selu(taper.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return elu(input, _SELU_ALPHA, _SELU_SCALE)


@composite(name="selu_", method=False)
def selu_in_place(input: Any) -> Any:
    """Apply selu in place.

    result = s · x where x > 0, else s · a · (eˣ - 1), with a = 1.6733 and s = 1.0507

    Args:
        input: the tensor that is changed.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.selu_(taper.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    return elu_in_place(input, _SELU_ALPHA, _SELU_SCALE)


def _celu(values: ndarray, alpha: Any) -> Any:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(values, alpha, 1, 1 / alpha)


@op(promote=SAME, upcast=True, tangent=POINTWISE, method=False, check=_ELU)
def celu(self: Array, alpha: Any = 1.0) -> Array:
    """Keep x above zero, else return `alpha * (exp(x / alpha) - 1)`.

    >>> import taper
    >>> taper.celu(taper.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    return _celu(self, alpha)


@derivative(celu, wrt="self")
def celu_self(grad, self, alpha):
    return elu_backward(grad, alpha, 1, 1 / alpha, False, self)


@op(
    name="_celu_in_place",
    label="celu_",
    node="CeluBackward1",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=_ELU,
)
def _celu_in_place(self: Array, alpha: Any = 1.0) -> Array:
    """Compute `celu` as PyTorch's in-place operator, which saves the result."""
    return _celu(self, alpha)


@derivative(_celu_in_place, wrt="self")
def _celu_in_place_self(grad, result, alpha):
    return elu_backward(grad, alpha, 1, 1 / alpha, True, result)


celu_in_place = inplace_function(_celu_in_place)
celu_in_place.__doc__ = """Bend negative elements smoothly towards -alpha, in place.

    result = x where x > 0, else alpha · (exp(x / alpha) - 1)

    Args:
        input: the tensor that is changed.
        alpha: bound of the negative side.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.celu_(taper.tensor([-1.0, 1.0]), alpha=2.0)
        tensor([-0.7869,  1.0000])
    """
composites["celu_"] = celu_in_place


# --- gelu ------------------------------------------------------------------------------------

_ROOT_HALF = math.sqrt(0.5)
_PDF = 1 / math.sqrt(2 * math.pi)  # the density of the normal distribution at zero
_TANH_SCALE = math.sqrt(2 / math.pi)
_CUBE = 0.044715


_native_gelu, _native_gelu_backward = curve("gelu"), curve("gelu_backward")
_native_gelu_tanh, _native_gelu_tanh_backward = curve("gelu_tanh"), curve("gelu_tanh_backward")


def _computed(found: Any, twin: Callable[[ndarray], Any], values: ndarray) -> Any:
    """What was computed natively, else what the twin computes."""
    return in_blocks(twin, values) if found is None else found


def _half_of_one_plus(values: Any) -> Any:
    """Compute (1 + v) / 2 in the memory of `values`."""
    target = values if values.ndim else None
    return np.multiply(np.add(values, ONE, target), HALF, target)


def _gelu(values: ndarray) -> Any:
    scaled = np.multiply(values, scalar_array(_ROOT_HALF, values.dtype))
    share = _half_of_one_plus(special_functions.erf(scaled))
    return np.multiply(values, share)


def _gelu_tanh(values: ndarray) -> Any:
    share = _half_of_one_plus(np.tanh(_tanh_argument(values)))
    return np.multiply(values, share)


def _tanh_argument(values: ndarray) -> Any:
    """Compute sqrt(2 / pi) (x + 0.044715 x**3)."""
    dtype = values.dtype
    inner = np.square(values)
    inner *= scalar_array(_CUBE * _TANH_SCALE, dtype)
    inner += scalar_array(_TANH_SCALE, dtype)
    inner *= values
    return inner


def _same_float(out: Array, result: Array) -> None:
    if out.dtype != result.dtype:
        found, wanted = scalar_type(out.dtype), scalar_type(result.dtype)
        raise RuntimeError(f"Found dtype {found} but expected {wanted}")


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    out=_same_float,
    check=not_implemented("GeluKernelImpl", *NOT_FLOATING),
    layout=ELEMENTWISE,
)
def gelu(self: Array, *, approximate: str = "none") -> Array:
    """Weigh every element by the normal distribution function.

    result = x · Φ(x), or x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))

    Args:
        input: a tensor.
        approximate: "none" for the first formula, "tanh" for the second.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.gelu(taper.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate == "none":
        return _computed(_native_gelu(self), _gelu, self)
    if approximate == "tanh":
        return _computed(_native_gelu_tanh(self), _gelu_tanh, self)
    raise RuntimeError("approximate argument must be either none or tanh.")


def _gelu_slope(values: ndarray) -> Any:
    dtype = values.dtype
    share = _half_of_one_plus(
        special_functions.erf(np.multiply(values, scalar_array(_ROOT_HALF, dtype)))
    )
    density = np.square(values)
    density *= scalar_array(-0.5, dtype)
    density = np.exp(density, density if density.ndim else None)
    density *= scalar_array(_PDF, dtype)
    density *= values
    density += share
    return density


def _gelu_tanh_slope(values: ndarray) -> Any:
    dtype = values.dtype
    wave = np.tanh(_tanh_argument(values))
    inner = np.square(values)
    inner *= scalar_array(3 * _CUBE * _TANH_SCALE, dtype)
    inner += scalar_array(_TANH_SCALE, dtype)
    inner *= np.subtract(ONE, np.square(wave))
    inner *= values
    inner += wave
    return _half_of_one_plus(inner)


@op(node="GeluBackwardBackward0", upcast=True, tangent=POINTWISE, public=False, method=False)
def gelu_backward(grad_output: Array, self: Array, approximate: str) -> Array:
    """Compute the gradient of gelu."""
    exact = approximate == "none"
    found = (_native_gelu_backward if exact else _native_gelu_tanh_backward)(self, grad_output)
    if found is not None:
        return found
    slope = in_blocks(_gelu_slope if exact else _gelu_tanh_slope, self)
    slope *= grad_output
    return slope


@derivative(gelu_backward, wrt="grad_output")
def gelu_backward_grad_output(grad, self, approximate):
    return gelu_backward(grad, self, approximate)


@derivative(gelu_backward, wrt="self")
def gelu_backward_self(grad, grad_output, self, approximate):
    square = self * self
    if approximate == "none":
        return grad * grad_output * (2 - square) * exp(square * -0.5) * _PDF
    wave = tanh((square * _CUBE + 1) * self * _TANH_SCALE)
    inner = (square * (3 * _CUBE) + 1) * _TANH_SCALE
    bend = inner + square * (3 * _CUBE * _TANH_SCALE) - self * wave * inner * inner
    return grad * grad_output * (1 - wave * wave) * bend


@derivative(gelu, wrt="self")
def gelu_self(grad, self, approximate):
    return gelu_backward(grad, self, approximate)


# --- silu, mish ------------------------------------------------------------------------------


_native_silu, _native_silu_backward = curve("silu"), curve("silu_backward")


def _silu(values: ndarray) -> Any:
    if (found := _native_silu(values)) is not None:
        return found
    result = logistic(values)
    result *= values
    return result


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("silu_cpu", *BOOL, *INTEGERS, *WIDE),
    complex_gradient=False,
)
def silu(self: Array) -> Array:
    """Multiply x by sigmoid(x)."""
    return _silu(self)


@derivative(silu, wrt="self")
def silu_self(grad, self):
    if type(self) is ndarray and (found := _native_silu_backward(self, grad)) is not None:
        return found
    if is_low(self):
        return silu_self(*in_float32(grad, self)).astype(self.dtype)
    share = sigmoid(self)
    return grad * conj(share * (self * (1 - share) + 1))


silu_in_place = inplace_function(silu)


def _mish(values: ndarray) -> Any:
    return values * np.tanh(_softplus(values, 1, 20))


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("mish_cpu", *NOT_FLOATING),
)
def mish(self: Array) -> Array:
    """Multiply x by tanh(softplus(x))."""
    return _mish(self)


@derivative(mish, wrt="self")
def mish_self(grad, self):
    if is_low(self):
        return mish_self(*in_float32(grad, self)).astype(self.dtype)
    wave = tanh(softplus(self))
    return grad * (self * sigmoid(self) * (1 - wave * wave) + wave)


mish_in_place = inplace_function(mish)


# --- softplus, logsigmoid --------------------------------------------------------------------


_native_softplus_backward = curve("softplus_backward")


def _softplus(values: ndarray, beta: Any, threshold: Any) -> Any:
    dtype = values.dtype
    limit = scalar_array(threshold, dtype)
    scaled = values if beta == 1 else values * scalar_array(beta, dtype)
    result = np.log1p(np.exp(np.minimum(scaled, limit)))
    if beta != 1:
        result = result / scalar_array(beta, dtype)
    return select(scaled > limit, values, result)


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("softplus_cpu", *NOT_FLOATING),
)
def softplus(self: Array, beta: Any = 1, threshold: Any = 20) -> Array:
    """Smooth the relu.

    result = ln(1 + exp(beta · x)) / beta, and x itself where beta · x > threshold

    Args:
        input: a tensor.
        beta: sharpness of the bend.
        threshold: where the function goes over into a straight line.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softplus(taper.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
    return _softplus(self, beta, threshold)


@op(node="SoftplusBackwardBackward0", upcast=True, tangent=POINTWISE, public=False, method=False)
def softplus_backward(grad_output: Array, self: Array, beta: Any, threshold: Any) -> Array:
    """Compute the gradient of softplus."""
    if (found := _native_softplus_backward(self, grad_output, beta, threshold)) is not None:
        return found
    scaled = self if beta == 1 else self * scalar_array(beta, self.dtype)
    slope = logistic(scaled)
    slope *= grad_output
    return select(scaled > scalar_array(threshold, self.dtype), grad_output, slope)


@derivative(softplus_backward, wrt="grad_output")
def softplus_backward_grad_output(grad, self, beta, threshold):
    return softplus_backward(grad, self, beta, threshold)


@derivative(softplus_backward, wrt="self")
def softplus_backward_self(grad, grad_output, self, beta, threshold):
    scaled = self * beta
    share = sigmoid(scaled)
    return grad * grad_output * share * (1 - share) * beta * (scaled < threshold)


@derivative(softplus, wrt="self")
def softplus_self(grad, self, beta, threshold):
    return softplus_backward(grad, self, beta, threshold)


@op(
    name="log_sigmoid_forward",
    label="log_sigmoid",
    node="LogSigmoidBackward0",
    promote=SAME,
    upcast=True,
    outputs=("result", "buffer"),
    nondifferentiable=(1,),
    public=False,
    method=False,
    check=not_implemented("log_sigmoid_cpu", *NOT_FLOATING),
    layout=ROW_MAJOR,
)
def log_sigmoid_forward(self: Array) -> Any:
    """Compute log(sigmoid(x)), and exp(-abs(x)) for the gradient."""
    buffer = np.asarray(np.exp(-np.abs(self)))
    result = np.subtract(np.minimum(self, zero_of(self.dtype)), np.log1p(buffer))
    return np.asarray(result), buffer


@op(
    node="LogSigmoidBackwardBackward0",
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    layout=PRESERVED,
)
def log_sigmoid_backward(grad_output: Array, self: Array, buffer: Array) -> Array:
    """Compute the gradient of logsigmoid: that of the sigmoid of -x."""
    share = np.divide(buffer, np.add(buffer, ONE))
    share = select(self < zero_of(self.dtype), np.subtract(ONE, share), share)
    return grad_output * share


@derivative(log_sigmoid_backward, wrt="grad_output")
def log_sigmoid_backward_grad_output(grad, self, buffer):
    return log_sigmoid_backward(grad, self, buffer)


@derivative(log_sigmoid_backward, wrt="self")
def log_sigmoid_backward_self(grad, grad_output, self):
    share = sigmoid(self)
    return grad * grad_output * share * (share - 1)


@derivative(log_sigmoid_forward, wrt="self")
def log_sigmoid_forward_self(grad_result, self, buffer):
    return log_sigmoid_backward(grad_result, self, buffer)


@tangent_of(log_sigmoid_forward)
def log_sigmoid_forward_tangent(self_t, self):
    return self_t * sigmoid(-self)


# --- glu -------------------------------------------------------------------------------------


def _halves(values: ndarray, dim: int) -> tuple[ndarray, ndarray]:
    axis = dim % values.ndim
    half = values.shape[axis] // 2
    before = (slice(None),) * axis
    return values[(*before, slice(None, half))], values[(*before, slice(half, None))]


@op(promote=SAME, upcast=True, public=False, method=False)
def glu(self: Array, dim: int = -1) -> Array:
    """Multiply the first half along a dimension by the sigmoid of the second."""
    if self.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {axis} is size {self.shape[axis]}"
        )
    not_implemented("glu_cpu", *NOT_FLOATING)(dtypes.FROM_NUMPY[self.dtype], ())
    halves = _halves(self, dim)
    return ELEMENTWISE(np.multiply(halves[0], logistic(halves[1])), halves)


@op(node="GluBackwardBackward0", upcast=True, public=False, method=False)
def glu_backward(grad_output: Array, self: Array, dim: int) -> Array:
    """Compute the gradient of glu."""
    first, second = _halves(self, dim)
    share = logistic(second)
    result = np.empty(self.shape, self.dtype)
    by_first, by_second = _halves(result, dim)
    np.multiply(grad_output, share, by_first)
    np.multiply(by_first, np.multiply(np.subtract(ONE, share), first), by_second)
    return result


@derivative(glu, wrt="self")
def glu_self(grad, self, dim):
    return glu_backward(grad, self, dim)


def _tensor_halves(value: Any, dim: int) -> tuple[Any, Any]:
    half = value.shape[dim] // 2
    return value.narrow(dim, 0, half), value.narrow(dim, half, half)


@derivative(glu_backward, wrt=("grad_output", "self"))
def glu_backward_all(grad, grad_output, self, dim, needs):
    tensors = isinstance(grad, Tensor)
    halves = _tensor_halves if tensors else _halves
    first, second = halves(self, dim)
    by_first, by_second = halves(grad, dim)
    share = sigmoid(second)
    bend = share * (1 - share)
    by_grad = by_first * share + by_second * first * bend if needs[0] else None
    if not needs[1]:
        return by_grad, None
    first_part = by_second * grad_output * bend
    second_part = grad_output * bend * (by_first + by_second * first * (1 - share * 2))
    joined = (
        cat([first_part, second_part], dim)
        if tensors
        else np.concatenate([first_part, second_part], dim)
    )
    return by_grad, joined


@tangent_of(glu)
def glu_tangent(self_t, self, dim):
    first, second = _tensor_halves(self, dim)
    first_t, second_t = _tensor_halves(self_t, dim)
    share = sigmoid(second)
    return first_t * share + first * share * (1 - share) * second_t


@tangent_of(glu_backward)
def glu_backward_tangent(grad_output_t, self_t, grad_output, self, dim):
    total = None
    if grad_output_t is not None:
        total = glu_backward(grad_output_t, self, dim)
    if self_t is not None:
        _, change = glu_backward_all(self_t, grad_output, self, dim, (False, True))
        total = change if total is None else total + change
    return total
