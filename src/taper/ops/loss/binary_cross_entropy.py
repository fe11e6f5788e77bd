"""Cross entropy of probabilities or logits with targets between 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import LOW_PRECISION
from taper.arrays.layouts import ELEMENTWISE, FIRST
from taper.arrays.reduction import scalar_type
from taper.dtypes import no_kernel
from taper.opdef import POINTWISE, Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.unary import abs, exp, log, log1p, sigmoid
from taper.ops.loss.elementwise import (
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
_SMALLEST = 9.999999960041972e-13  # PyTorch has it in single precision
_ADDED = 1e-12  # to both factors of the denominator of the second derivative


# --- binary_cross_entropy --------------------------------------------------------------------


@op(
    name="binary_cross_entropy_reduced",
    label="binary_cross_entropy",
    node="BinaryCrossEntropyBackward0",
    upcast=True,
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def binary_cross_entropy_reduced(
    self: Array, target: Array, weight: Array | None, reduction: int
) -> Array:
    """-(target * log(input) + (1 - target) * log(1 - input))."""
    if self.dtype != target.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type(target.dtype)} but expected {scalar_type(self.dtype)}"
        )
    require_floating("binary_cross_entropy", self)
    if not ((self >= 0) & (self <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    of_one = np.maximum(np.log(self), self.dtype.type(_LOWEST_LOG))
    of_zero = np.maximum(np.log1p(-self), self.dtype.type(_LOWEST_LOG))
    losses = (target - 1) * of_zero - target * of_one
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
    """The derivative of each loss, whose own derivatives PyTorch limits in another way."""
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
    return weighted(_probability_slope(self, target, weight), grad, 1.0, reduction)


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
    """The cross entropy of probabilities with targets between 0 and 1.

    >>> import taper
    >>> taper.nn.functional.binary_cross_entropy(taper.tensor([0.5]), taper.tensor([1.0]))
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
    """log(sigmoid(value)) without overflow; takes arrays and Tensors."""
    return clipped(value, None, 0.0) - log1p(exp(-abs(value)))


@op(
    name="binary_cross_entropy_with_logits_reduced",
    label="binary_cross_entropy_with_logits",
    node="BinaryCrossEntropyWithLogitsBackward0",
    upcast=True,
    public=False,
    method=False,
    # PyTorch starts with `1 - target` and goes on in place.
    layout=lambda result, given: FIRST(result, given[1:2]),
    complex_gradient=False,
)
def binary_cross_entropy_with_logits_reduced(
    self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    """The cross entropy of sigmoid(input), without overflow."""
    if self.dtype.kind not in "fV":
        raise no_kernel("log_sigmoid_cpu", self.dtype)
    _refuse_integers(self, target)
    losses = np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))
    if pos_weight is not None:
        losses = losses * ((pos_weight - 1) * target + 1)
    losses = (1 - target) * self - losses
    if weight is not None:
        losses = losses * weight
    return reduced_array(np.asarray(losses, target.dtype), reduction)


def _refuse_integers(self: ndarray, target: ndarray) -> None:
    """The losses are of the dtype of the target, which must hold them."""
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


def _as_wide_as(input: Tensor, target: Tensor) -> Tensor:
    """Logits of half precision in the dtype of a target of another one, as the losses are."""
    low, wanted = input._array.dtype, target._array.dtype
    if low is wanted or low not in LOW_PRECISION or wanted in LOW_PRECISION:
        return input
    _refuse_integers(input._array, target._array)
    return input.to(target.dtype)


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
    return weighted(_logit_slope(self, target, weight, pos_weight), grad, 1.0, reduction)


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
    """`nn.functional.binary_cross_entropy_with_logits` with the number of a reduction.

    >>> import taper
    >>> taper.binary_cross_entropy_with_logits(taper.tensor([0.0]), taper.tensor([1.0]))
    tensor([0.6931])
    """
    number = check_number("binary_cross_entropy_with_logits", reduction)
    input = _as_wide_as(input, target)
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
    """The cross entropy of sigmoid(input) with targets between 0 and 1.

    `weight` scales every element, `pos_weight` the part of the target that is one.

    >>> import taper
    >>> f = taper.nn.functional.binary_cross_entropy_with_logits
    >>> f(taper.tensor([0.0]), taper.tensor([1.0]))
    tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Target size ({Size(target._array.shape)}) must be the same as input size "
            f"({Size(input._array.shape)})"
        )
    input = _as_wide_as(input, target)
    return binary_cross_entropy_with_logits_reduced(input, target, weight, pos_weight, number)
