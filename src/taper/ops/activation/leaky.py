"""Activation functions with a slope below zero: leaky_relu, prelu, rrelu.

Owns: the operators and their gradients.  At zero the gradient is that of the negative side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import select, zero_of
from taper.arrays.foreign import has_elements
from taper.arrays.layouts import ELEMENTWISE, ROW_MAJOR
from taper.arrays.native import curve
from taper.autograd.transforms import whole
from taper.opdef import (
    POINTWISE,
    SAME,
    Array,
    composite,
    derivative,
    inplace_function,
    op,
    tangent_of,
)
from taper.opdef.dtype_checks import NOT_FLOATING, not_implemented
from taper.opdef.operands import scalar_array
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.unary import inside, zeros_like
from taper.ops.linalg.matmul import not_tensors
from taper.sampling.fill import source
from taper.sampling.normals import uniform53
from taper.tensor import Tensor, wrap

_native_leaky, _native_leaky_backward = curve("leaky_relu"), curve("leaky_relu_backward")


def _leaky(values: ndarray, slope: Any) -> Any:
    if (found := _native_leaky(values, None, slope)) is not None:
        return found
    scaled = np.multiply(values, scalar_array(slope, values.dtype))
    if 0 < slope <= 1:
        return np.maximum(values, scaled)
    return select(values > zero_of(values.dtype), values, scaled)


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("leaky_relu_cpu", *NOT_FLOATING),
)
def leaky_relu(self: Array, negative_slope: float = 0.01) -> Array:
    """Keep x above zero, else multiply it by `negative_slope`."""
    return _leaky(self, negative_slope)


@op(
    node="LeakyReluBackwardBackward0",
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
)
def leaky_relu_backward(grad_output: Array, self: Array, negative_slope: float) -> Array:
    """Compute the gradient of leaky_relu; `self` may be its input or its output."""
    found = _native_leaky_backward(self, grad_output, negative_slope)
    if found is not None:
        return found
    scaled = np.multiply(grad_output, scalar_array(negative_slope, grad_output.dtype))
    return select(self > zero_of(self.dtype), grad_output, scaled)


@derivative(leaky_relu_backward, wrt="grad_output")
def leaky_relu_backward_grad_output(grad, self, negative_slope):
    return leaky_relu_backward(grad, self, negative_slope)


@derivative(leaky_relu_backward, wrt="self")
def leaky_relu_backward_self(grad):
    return zeros_like(grad)


@derivative(leaky_relu, wrt="self")
def leaky_relu_self(grad, self, negative_slope):
    return leaky_relu_backward(grad, self, negative_slope)


@op(
    name="_leaky_relu_in_place",
    label="leaky_relu_",
    node="LeakyReluBackward1",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("leaky_relu_cpu", *NOT_FLOATING),
)
def _leaky_relu_in_place(self: Array, negative_slope: float = 0.01) -> Array:
    """Compute `leaky_relu` as PyTorch's in-place operator, which saves the result."""
    return _leaky(self, negative_slope)


@derivative(_leaky_relu_in_place, wrt="self")
def _leaky_relu_in_place_self(grad, result, negative_slope):
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is "
            "not supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead. File an issue at "
            "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
            "backward calculation with negative slope"
        )
    return leaky_relu_backward(grad, result, negative_slope)


leaky_relu_in_place = inplace_function(_leaky_relu_in_place)
leaky_relu_in_place.__doc__ = """Scale down negative elements in place.

    result = x where x > 0, else negative_slope · x

    Args:
        input: the tensor that is changed.
        negative_slope: factor of negative elements.

    Returns: `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.leaky_relu_(taper.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """


@op(
    name="_prelu_kernel",
    label="prelu",
    node="PreluKernelBackward0",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("prelu_cpu", *NOT_FLOATING),
)
def _prelu_kernel(self: Array, weight: Array) -> Array:
    """Keep x above zero, else multiply it by `weight`."""
    return select(self > zero_of(self.dtype), self, np.multiply(self, weight))


@derivative(_prelu_kernel, wrt=("self", "weight"))
def _prelu_kernel_all(grad, self, weight, needs):
    found = _prelu_kernel_backward(grad, self, weight)
    return found[0] if needs[0] else None, found[1] if needs[1] else None


@op(
    node="PreluKernelBackwardBackward0",
    outputs=("grad_input", "grad_weight"),
    upcast=True,
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def _prelu_kernel_backward(grad_output: Array, self: Array, weight: Array) -> tuple[Array, Array]:
    """Compute the gradients of input and weight, the latter element by element."""
    zero = zero_of(self.dtype)
    above = self > zero
    by_weight = select(above, zero, np.multiply(grad_output, self))
    return select(above, grad_output, np.multiply(grad_output, weight)), by_weight


@derivative(_prelu_kernel_backward, wrt=("grad_output", "self", "weight"))
def _prelu_kernel_backward_all(
    grad_output, self, weight, needs, grad_grad_input=None, grad_grad_weight=None
):
    above = self > 0
    by_grad = by_self = by_weight = None
    if grad_grad_input is not None:
        by_grad = where(above, grad_grad_input, grad_grad_input * weight) if needs[0] else None
        by_weight = inside(grad_grad_input * grad_output, ~above) if needs[2] else None
    if grad_grad_weight is not None:
        if needs[0]:
            moved = inside(grad_grad_weight * self, ~above)
            by_grad = moved if by_grad is None else by_grad + moved
        by_self = inside(grad_grad_weight * grad_output, ~above) if needs[1] else None
    if by_self is None and needs[1]:
        by_self = zeros_like(self)
    return by_grad, by_self, by_weight


@tangent_of(_prelu_kernel_backward)
def _prelu_kernel_backward_tangent(grad_output_t, self_t, weight_t, grad_output, self, weight):
    above = self > 0
    by_self = by_weight = zeros_like(grad_output)
    if grad_output_t is not None:
        by_self = by_self + where(above, grad_output_t, grad_output_t * weight)
        by_weight = by_weight + inside(grad_output_t * self, ~above)
    if weight_t is not None:
        by_self = by_self + inside(grad_output * weight_t, ~above)
    if self_t is not None:
        by_weight = by_weight + inside(grad_output * self_t, ~above)
    return by_self, by_weight


@composite()
def prelu(input: Any, weight: Any) -> Any:
    """Scale negative elements by a learnable weight.

    result = x where x > 0, else weight · x

    Args:
        input: a tensor; its second dimension are the channels.
        weight: one number for all, or a vector with one for each channel.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.prelu(taper.tensor([-1.0, 2.0]), taper.tensor([0.25]))
        tensor([-0.2500,  2.0000])
    """
    if not isinstance(weight, Tensor):
        raise not_tensors("prelu", input=input, weight=weight)
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_type} and "
            f"{weight.dtype.scalar_type}"
        )
    count, ndim = weight._array.size, input._array.ndim
    if count != 1:
        if ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input._array.shape[1] if ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    if weight._array.ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight._array.ndim}"
        )
    if weight._array.ndim != ndim or ndim > 1:
        shape = [1, count, *[1] * (ndim - 2)] if ndim > 1 else [count] * ndim
        weight = weight.view(shape)
    return _prelu_kernel(input, weight)


@op(
    node="RreluWithNoiseBackward0",
    label="rrelu",
    promote=SAME,
    unpromoted=("noise",),
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("leaky_relu_cpu", *NOT_FLOATING),
    layout=ROW_MAJOR,
)
def rrelu_with_noise(
    self: Array, noise: Array, lower: float, upper: float, training: bool
) -> Array:
    """Keep x above zero, else multiply it by the noise or, when not training, by the mean bound."""
    if training:
        return np.multiply(self, noise.astype(self.dtype, copy=False))
    return _leaky(self, (lower + upper) / 2)


@op(
    node="RreluWithNoiseBackwardBackward0",
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
)
def rrelu_with_noise_backward(
    grad_output: Array, self: Array, noise: Array, lower: float, upper: float, training: bool
) -> Array:
    """Compute the gradient of rrelu; `self` may be its input or its output."""
    if training and upper - lower > 1e-6:
        return np.multiply(grad_output, noise.astype(grad_output.dtype, copy=False))
    scaled = np.multiply(grad_output, scalar_array((lower + upper) / 2, grad_output.dtype))
    return select(self > zero_of(self.dtype), grad_output, scaled)


@derivative(rrelu_with_noise_backward, wrt="grad_output")
def rrelu_with_noise_backward_grad_output(grad, self, noise, lower, upper, training):
    return rrelu_with_noise_backward(grad, self, noise, lower, upper, training)


@derivative(rrelu_with_noise_backward, wrt="self")
def rrelu_with_noise_backward_self(grad):
    return zeros_like(grad)


@derivative(rrelu_with_noise, wrt="self")
def rrelu_with_noise_self(grad, self, noise, lower, upper, training):
    return rrelu_with_noise_backward(grad, self, noise, lower, upper, training)


@op(
    name="_rrelu_in_place",
    node="RreluWithNoiseBackward1",
    label="rrelu_",
    promote=SAME,
    unpromoted=("noise",),
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    check=not_implemented("leaky_relu_cpu", *NOT_FLOATING),
)
def _rrelu_in_place(self: Array, noise: Array, lower: float, upper: float, training: bool) -> Array:
    """Compute `rrelu_with_noise` as PyTorch's in-place operator, which saves the result."""
    if training:
        return np.multiply(self, noise.astype(self.dtype, copy=False))
    return _leaky(self, (lower + upper) / 2)


@derivative(_rrelu_in_place, wrt="self")
def _rrelu_in_place_self(grad, result, noise, lower, upper, training):
    return rrelu_with_noise_backward(grad, result, noise, lower, upper, training)


_rrelu_with_noise_in_place = inplace_function(_rrelu_in_place)


@whole("rrelu")
def draw_slopes(input: Any, lower: float, upper: float, training: bool, generator: Any) -> Tensor:
    """Draw the slope of every element: 1 above zero, else from [lower, upper]."""
    values = input._array
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return wrap(np.empty_like(values))
    kind = input.dtype
    not_implemented("rrelu_with_noise_out_cpu", *NOT_FLOATING, "float16")(kind, ())
    if not has_elements(values):
        return wrap(np.empty_like(values))
    noise = np.ones(values.shape, values.dtype)
    low = values <= 0
    drawn = uniform53(source(generator), int(np.count_nonzero(low)))
    noise[low] = (drawn * (upper - lower) + lower).astype(values.dtype)
    return wrap(noise)


@composite(method=False)
def rrelu(
    input: Any,
    lower: float = 0.125,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Keep x above zero, else multiply it by a slope.

    The slope is drawn from [lower, upper] while training, and their mean otherwise.

    >>> import taper
    >>> taper.rrelu(taper.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    noise = draw_slopes(input, lower, upper, training, generator)
    return rrelu_with_noise(input, noise, lower, upper, training)


@composite(name="rrelu_", method=False)
def rrelu_in_place(
    input: Any,
    lower: float = 0.125,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Scale down negative elements by a random slope, in place; see `rrelu`.

    Args:
        input: the tensor that is changed.
        lower: smallest slope.
        upper: largest slope.
        training: whether slopes are drawn.
        generator: source of random numbers; by default the one that `manual_seed` seeds.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.rrelu_(taper.tensor([-48.0, 2.0]))
        tensor([-11.,   2.])
    """
    noise = draw_slopes(input, lower, upper, training, generator)
    return _rrelu_with_noise_in_place(input, noise, lower, upper, training)
