"""Cross entropy of probabilities or logits with targets between 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import FLOAT32, LOW_PRECISION, in_float32, is_low
from taper.arrays.layouts import ELEMENTWISE, FIRST
from taper.arrays.reduction import scalar_type
from taper.dtypes import no_kernel
from taper.opdef import POINTWISE, Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.unary import abs, exp, log, log1p, sigmoid
from taper.ops.loss.elementwise import (
    MEAN,
    NONE,
    check_number,
    clipped,
    elementwise_tangent,
    reduced_array,
    reduction_number,
    require_floating,
    weighted,
)
from taper.size import Size
from taper.tensor import Tensor

# Logarithms are limited to -100, and denominators to 1e-12, so that 0 and 1 stay finite.
_LOWEST_LOG = -100.0
_SMALLEST = 9.999999960041972e-13  # single precision, as in PyTorch
_ADDED = 1e-12  # added to both factors of the denominator of the second derivative


# --- binary_cross_entropy --------------------------------------------------------------------


@op(
    name="binary_cross_entropy_reduced",
    label="binary_cross_entropy",
    node="BinaryCrossEntropyBackward0",
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def binary_cross_entropy_reduced(
    self: Array, target: Array, weight: Array | None, reduction: int
) -> Array:
    """Compute -(target * log(input) + (1 - target) * log(1 - input))."""
    if self.dtype != target.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type(target.dtype)} but expected {scalar_type(self.dtype)}"
        )
    require_floating("binary_cross_entropy", self)
    if not ((self >= 0) & (self <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    of_one = np.maximum(np.log(self), self.dtype.type(_LOWEST_LOG))
    of_zero = np.maximum(np.log1p(-self), self.dtype.type(_LOWEST_LOG))
    losses = (target - self.dtype.type(1)) * of_zero - target * of_one
    return reduced_array(np.asarray(losses if weight is None else losses * weight), reduction)


@op(
    name="_binary_cross_entropy_slope",
    node="BinaryCrossEntropyBackwardBackward0",
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def slope_of_losses(self: Array, target: Array) -> Array:
    """Compute the derivative of each loss, whose own derivatives PyTorch limits differently."""
    return (self - target) / np.maximum((1 - self) * self, self.dtype.type(_SMALLEST))


@derivative(slope_of_losses, wrt="self")
def slope_of_losses_self(grad: Any, self: Any, target: Any) -> Any:
    below = (self + _ADDED) * (1 - self + _ADDED)
    return grad * (self * self - 2 * self * target + target) / (below * below)


@derivative(slope_of_losses, wrt="target")
def slope_of_losses_target(grad: Any, self: Any) -> Any:
    return -grad / clipped((1 - self) * self, _ADDED, None)


def _probability_slope(self: Any, target: Any, weight: Any) -> Any:
    slope = slope_of_losses(self, target)
    return slope if weight is None else slope * weight


def _target_slope(self: Any, weight: Any) -> Any:
    slope = log(1 - self) - log(self)
    return slope if weight is None else slope * weight


@derivative(binary_cross_entropy_reduced, wrt="self")
def binary_cross_entropy_self(
    grad: Any, self: Any, target: Any, weight: Any, reduction: int
) -> Any:
    if is_low(self):
        return _slope_in_steps(grad, self, target, weight, reduction)
    return weighted(_probability_slope(self, target, weight), grad, 1.0, reduction)


def _slope_in_steps(grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    """Compute a gradient in half precision, rounded after every step as in PyTorch."""
    below = (self.dtype.type(1) - self) * self
    slope = grad * (self - target) / np.maximum(below, self.dtype.type(_SMALLEST))
    return _shared(slope if weight is None else slope * weight, reduction)


def _shared(slope: Any, reduction: int) -> Any:
    """Divide the gradient of a mean in half precision by the number of elements."""
    return (in_float32(slope)[0] / slope.size).astype(slope.dtype) if reduction == MEAN else slope


@derivative(binary_cross_entropy_reduced, wrt="target")
def binary_cross_entropy_target(
    grad: Any, self: Any, target: Any, weight: Any, reduction: int
) -> Any:
    return weighted(_target_slope(self, weight), grad, 1.0, reduction)


@tangent_of(binary_cross_entropy_reduced)
def binary_cross_entropy_tangent(
    self: Tensor, target: Tensor, weight: Any, self_t: Any, target_t: Any, reduction: int
) -> Tensor:
    of_self, of_target = _probability_slope(self, target, weight), _target_slope(self, weight)
    return elementwise_tangent(self_t, target_t, of_self, of_target, reduction)


@composite(public=False, method=False)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the cross entropy of probabilities with targets.

    loss = -weight · (target · ln input + (1 - target) · ln(1 - input)), logarithms at least -100

    Args:
        input: probabilities in [0, 1].
        target: true values in [0, 1].
        weight: factors of the losses, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.binary_cross_entropy(taper.tensor([0.5]), taper.tensor([1.0]))
        tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    shape = target._array.shape
    if shape != input._array.shape:
        raise ValueError(
            f"Using a target size ({Size(shape)}) that is different to the input size "
            f"({Size(input._array.shape)}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None and weight._array.shape != shape:
        weight = weight.expand(_common_shape(shape, weight._array.shape))
    return binary_cross_entropy_reduced(input, target, weight, number)


def _common_shape(shape: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        pairs = zip(reversed(shape), reversed(other), strict=False)
        place, (_, wrong) = next(
            (nr, pair) for nr, pair in enumerate(pairs, 1) if 1 not in pair and pair[0] != pair[1]
        )
        raise RuntimeError(
            f"Attempting to broadcast a dimension of length {wrong} at {-place}! Mismatching "
            f"argument at index 1 had {Size(other)}; but expected shape should be broadcastable "
            f"to {list(shape)}"
        ) from None


# --- binary_cross_entropy_with_logits --------------------------------------------------------


def log_sigmoid(value: Any) -> Any:
    """Compute log(sigmoid(value)) without overflow; arrays and Tensors."""
    return clipped(value, None, 0.0) - log1p(exp(-abs(value)))


@op(
    name="binary_cross_entropy_with_logits_reduced",
    label="binary_cross_entropy_with_logits",
    node="BinaryCrossEntropyWithLogitsBackward0",
    public=False,
    method=False,
    # PyTorch starts with `1 - target` and goes on in place.
    layout=lambda result, given: FIRST(result, given[1:2]),
    complex_gradient=False,
)
def binary_cross_entropy_with_logits_reduced(
    self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    """Compute the cross entropy of sigmoid(input), without overflow."""
    if self.dtype.kind not in "fV":
        raise no_kernel("log_sigmoid_cpu", self.dtype)
    _refuse_integers(self, target)
    exact = self.astype(FLOAT32) if self.dtype in LOW_PRECISION else self
    logs = np.asarray(np.minimum(exact, 0) - np.log1p(np.exp(-np.abs(exact))), self.dtype)
    if pos_weight is not None:
        logs = np.asarray(logs * ((pos_weight - 1) * target + 1), self.dtype)
    # What PyTorch computes in place has the dtype of the target after each step.
    losses = np.asarray((1 - target) * self, target.dtype)
    losses = np.asarray(losses - logs, target.dtype)
    if weight is not None:
        losses = np.asarray(losses * weight, target.dtype)
    if target.dtype in LOW_PRECISION and reduction != NONE:
        return reduced_array(losses.astype(FLOAT32), reduction).astype(target.dtype)
    return reduced_array(losses, reduction)


def _refuse_integers(self: ndarray, target: ndarray) -> None:
    """Refuse integer targets: the losses have the dtype of the target, which must hold them."""
    if target.dtype == bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
            "or `logical_xor()` operator instead."
        )
    if target.dtype.kind in "iu":
        raise RuntimeError(
            f"result type {scalar_type(self.dtype)} can't be cast to the desired output type "
            f"{scalar_type(target.dtype)}"
        )


def _logit_slope(self: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    if pos_weight is None:
        slope = sigmoid(self) - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * sigmoid(self) - positive
    return slope if weight is None else slope * weight


def _logit_target_slope(self: Any, weight: Any, pos_weight: Any) -> Any:
    slope = -self if pos_weight is None else log_sigmoid(-self) - pos_weight * log_sigmoid(self)
    return slope if weight is None else slope * weight


@derivative(binary_cross_entropy_with_logits_reduced, wrt="self")
def binary_cross_entropy_with_logits_self(
    grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> Any:
    slope = _logit_slope(self, target, weight, pos_weight)
    if is_low(slope):
        return _shared(slope * grad, reduction)
    return weighted(slope, grad, 1.0, reduction)


@derivative(binary_cross_entropy_with_logits_reduced, wrt="target")
def binary_cross_entropy_with_logits_target(
    grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> Any:
    return weighted(_logit_target_slope(self, weight, pos_weight), grad, 1.0, reduction)


@tangent_of(binary_cross_entropy_with_logits_reduced)
def binary_cross_entropy_with_logits_tangent(
    self: Tensor,
    target: Tensor,
    weight: Any,
    pos_weight: Any,
    self_t: Any,
    target_t: Any,
    reduction: int,
) -> Tensor:
    of_self = _logit_slope(self, target, weight, pos_weight)
    of_target = _logit_target_slope(self, weight, pos_weight)
    return elementwise_tangent(self_t, target_t, of_self, of_target, reduction)


@composite(name="binary_cross_entropy_with_logits", method=False)
def numbered_binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = NONE,
) -> Tensor:
    """Compute `nn.functional.binary_cross_entropy_with_logits`, given a reduction's number.

    >>> import taper
    >>> taper.binary_cross_entropy_with_logits(taper.tensor([0.0]), taper.tensor([1.0]))
    tensor([0.6931])
    """
    number = check_number("binary_cross_entropy_with_logits", reduction)
    return binary_cross_entropy_with_logits_reduced(input, target, weight, pos_weight, number)


@composite(public=False, method=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Compute the cross entropy of sigmoid(input) with targets, without overflow.

    loss = -weight · (pos_weight · target · ln p + (1 - target) · ln(1 - p)), p = sigmoid(input)

    Args:
        input: logits.
        target: true values in [0, 1].
        weight: factors of the losses, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        pos_weight: factors of the part where the target is 1, or None.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> f = F.binary_cross_entropy_with_logits
        >>> f(taper.tensor([0.0]), taper.tensor([1.0]))
        tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Target size ({Size(target._array.shape)}) must be the same as input size "
            f"({Size(input._array.shape)})"
        )
    return binary_cross_entropy_with_logits_reduced(input, target, weight, pos_weight, number)
