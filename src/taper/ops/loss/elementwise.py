"""Losses that compare input and target element by element, for `nn.functional`.

Every loss ends in a reduction: "none", "mean" or "sum", the numbers 0, 1, 2 on nodes.  The margin
and embedding losses are in `margin`, the losses over classes in `cross_entropy`.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.layouts import ELEMENTWISE, FIRST, ROW_MAJOR
from taper.arrays.native import curve
from taper.arrays.reduction import Shape, scalar_type, total_of
from taper.autograd.grad_mode import no_grad
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.dtypes import no_kernel
from taper.factory import refuse
from taper.opdef import SAME, Array, composite, derivative, op, tangent_of
from taper.opdef.dtype_checks import no_negation, refuse_lower
from taper.opdef.operands import broadcast_clash
from taper.ops.elementwise.number import add_scalar, mul_scalar
from taper.ops.elementwise.unary import abs, exp, log, sigmoid
from taper.ops.reduction.sums import mean_all, sum_all
from taper.size import Size
from taper.tensor import Tensor, array_of
from taper.userwarning import warn_user

NONE, MEAN, SUM = range(3)
_NUMBERS = {"none": NONE, "mean": MEAN, "sum": SUM}


_BY_ELEMENTS: Any = {"upcast": True, "public": False, "method": False, "layout": ELEMENTWISE}
_LIKE_INPUT: Any = {**_BY_ELEMENTS, "layout": FIRST}
_SLOPE: Any = {**_BY_ELEMENTS, "layout": ROW_MAJOR}

# --- reductions ------------------------------------------------------------------------------


def reduction_number(reduction: Any, size_average: Any = None, reduce: Any = None) -> int:
    """Return a reduction's number; the deprecated arguments override it, with a warning."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    number = _NUMBERS.get(reduction)
    if number is not None:
        return number
    if reduction == "elementwise_mean":
        warn_user(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead."
        )
        return MEAN
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average: Any, reduce: Any) -> str:
    """Tell what `size_average` and `reduce` mean, with the warning that they are deprecated."""
    average = True if size_average is None else size_average
    reduces = True if reduce is None else reduce
    found = ("mean" if average else "sum") if reduces else "none"
    warn_user(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead."
    )
    return found


def check_number(function: str, reduction: Any) -> int:
    """Check a reduction's number, as PyTorch's functions outside of `nn` take it.

    An unknown number means no reduction.
    """
    if type(reduction) is not int:
        refuse(function, "reduction", 0, "int", reduction)
    return reduction if reduction in (MEAN, SUM) else NONE


def reduced(losses: Tensor, reduction: int) -> Tensor:
    """Reduce losses of single elements by operators of their own."""
    if reduction == MEAN:
        return mean_all(losses)
    return sum_all(losses) if reduction == SUM else losses


def reduced_array(losses: np.ndarray, reduction: int) -> Any:
    """Reduce losses of single elements inside a kernel."""
    if reduction == NONE:
        return losses
    total = total_of(losses)
    return total / losses.dtype.type(losses.size) if reduction == MEAN else total


def weighted(slope: Any, grad: Any, factor: float, reduction: int) -> Any:
    """Compute slope * grad * factor, divided by the number of elements for a mean.

    `slope` is a temporary of the caller: an array is overwritten.
    """
    if reduction == MEAN:
        count = slope.size if isinstance(slope, (ndarray, np.generic)) else slope._array.size
        factor = factor / count if count else math.nan
    if slope.__class__ is ndarray and grad.__class__ is ndarray and not grad.ndim:
        slope *= grad.item() * factor
        return slope
    return slope * (grad if factor == 1.0 else grad * factor)


def warn_about_size(input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        warn_user(
            f"Using a target size ({Size(target._array.shape)}) that is different to the input "
            f"size ({Size(input._array.shape)}). This will likely lead to incorrect results due "
            "to broadcasting. Please ensure they have the same size."
        )


def broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Bring both tensors to their common shape."""
    first, second = input._array.shape, target._array.shape
    if first == second:
        return input, target
    shape = common_shape(first, second)
    return (
        input if first == shape else input.expand(shape),
        target if second == shape else target.expand(shape),
    )


def common_shape(first: Shape, second: Shape) -> Shape:
    """Broadcast two shapes; raise PyTorch's error if they do not fit."""
    clash = broadcast_clash((first, second))
    if clash is not None:
        raise clash
    return np.broadcast_shapes(first, second)


def clipped(value: Any, low: float | None, high: float | None) -> Any:
    """Limit values to a range; arrays and Tensors."""
    return value.clamp(low, high) if isinstance(value, Tensor) else np.clip(value, low, high)


def require_floating(kernel: str, array: np.ndarray) -> None:
    """Raise PyTorch's error of a missing kernel unless an array holds real floating numbers."""
    if array.dtype.kind not in "fV":
        raise no_kernel(kernel, array.dtype)


# --- mse_loss, l1_loss -----------------------------------------------------------------------


@op(
    name="mse_loss_reduced",
    label="mse_loss",
    node="MseLossBackward0",
    promote=SAME,
    **_BY_ELEMENTS,
)
def mse_loss_reduced(self: Array, target: Array, reduction: int) -> Array:
    """Compute the squared difference."""
    require_floating("mse_cpu", self)
    losses = np.asarray(self - target)
    np.multiply(losses, losses, losses)
    return reduced_array(losses, reduction)


@derivative(mse_loss_reduced, wrt="self")
def mse_loss_self(grad: Any, self: Any, target: Any, reduction: int) -> Any:
    return mse_loss_backward(grad, self, target, reduction)


@derivative(mse_loss_reduced, wrt="target")
def mse_loss_target(grad: Any, self: Any, target: Any, reduction: int) -> Any:
    return mse_loss_backward(grad, target, self, reduction)


@op(node="MseLossBackwardBackward0", **_SLOPE)
def mse_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    """Compute the gradient of mse_loss by its first argument."""
    return weighted(np.asarray(self - target), grad_output, 2.0, reduction)


@derivative(mse_loss_backward, wrt=("grad_output", "self", "target"))
def mse_loss_backward_all(grad, grad_output, self, target, reduction, needs):
    slope = (self - target) * 2.0 if needs[0] else None
    return _of_slope(grad, grad_output, slope, 2.0, reduction, needs)


@tangent_of(mse_loss_backward)
def mse_loss_backward_tangent(
    grad_output_t, self_t, target_t, grad_output, self, target, reduction
):
    slope = (self - target) * 2.0
    return _slope_moved(grad_output_t, self_t, target_t, grad_output, slope, 2.0, reduction)


def _of_slope(
    grad: Any, grad_output: Any, slope: Any, curvature: Any, reduction: int, needs: Any
) -> tuple[Any, Any, Any]:
    """Differentiate the gradient of a loss, slope times `grad_output`, by its three arguments."""
    by_grad = reduced(grad * slope, reduction) if needs[0] else None
    curved = None
    if needs[1] or needs[-1]:
        curved = weighted(grad * curvature, grad_output, 1.0, reduction)
    return by_grad, curved if needs[1] else None, -curved if needs[-1] else None  # type: ignore[operator]


def _slope_moved(
    grad_output_t: Any,
    self_t: Any,
    target_t: Any,
    grad_output: Any,
    slope: Any,
    curvature: Any,
    reduction: int,
) -> Any:
    """Compute the tangent of the gradient of a loss, some of whose arguments have none."""
    moved = slope * 0.0 if grad_output_t is None else weighted(slope, grad_output_t, 1.0, reduction)
    if self_t is not None:
        moved = moved + weighted(self_t * curvature, grad_output, 1.0, reduction)
    if target_t is not None:
        moved = moved - weighted(target_t * curvature, grad_output, 1.0, reduction)
    return moved


def elementwise_tangent(
    self_t: Any, target_t: Any, slope_self: Any, slope_target: Any, reduction: int
) -> Tensor:
    """Compute the tangent of a loss from its slopes; one of the two may lack a tangent."""
    if target_t is None:
        return reduced(self_t * slope_self, reduction)
    if self_t is None:
        return reduced(target_t * slope_target, reduction)
    return reduced(self_t * slope_self + target_t * slope_target, reduction)


@tangent_of(mse_loss_reduced)
def mse_loss_tangent(
    self: Tensor, target: Tensor, self_t: Any, target_t: Any, reduction: int
) -> Tensor:
    difference = (self - target) * 2.0
    return elementwise_tangent(self_t, target_t, difference, -difference, reduction)


@composite(public=False, method=False)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Compute the mean squared error.

    loss = (input - target)²

    Args:
        input: predictions.
        target: true values.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        weight: factors of the losses; "mean" then divides by their sum.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.mse_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(2.)
    """
    warn_about_size(input, target)
    number = reduction_number(reduction, size_average, reduce)
    first, second = broadcast(input, target)
    if weight is None:
        return mse_loss_reduced(first, second, number)
    return _with_weights((first - second) ** 2, first, weight, number)


def _with_weights(losses: Tensor, input: Tensor, weight: Tensor, reduction: int) -> Tensor:
    if weight._array.shape != input._array.shape:
        raise ValueError("Weights and input must have the same size.")
    losses = losses * weight
    if reduction == MEAN:
        return sum_all(losses) / sum_all(weight)
    return sum_all(losses) if reduction == SUM else losses


@composite(public=False, method=False)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Compute the mean absolute error.

    loss = |input - target|

    Args:
        input: predictions.
        target: true values.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        weight: factors of the losses; "mean" then divides by their sum.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.l1_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(1.)
    """
    warn_about_size(input, target)
    number = reduction_number(reduction, size_average, reduce)
    first, second = broadcast(input, target)
    if weight is None:
        return l1_loss_reduced(first, second, number)
    return _with_weights(abs(first - second), first, weight, number)


def l1_loss_reduced(input: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Compute the absolute difference of two tensors of one shape."""
    return reduced(abs(input - target), reduction)


# --- smooth_l1_loss, huber_loss --------------------------------------------------------------

_native_smooth_l1, _native_smooth_l1_slope = curve("smooth_l1"), curve("smooth_l1_slope")
_native_huber, _native_huber_slope = curve("huber"), curve("huber_slope")


def _one_by_one(
    slope: Any, grad: Any, self: ndarray, target: ndarray, bound: float, reduction: int
) -> Any:
    """Compute natively a slope times a gradient that is one number; None if it is not."""
    if grad.ndim or grad.__class__ is not ndarray or not self.size:
        return None
    factor = grad.item() / self.size if reduction == MEAN else grad.item()
    return slope(self, target, bound, factor)


@op(
    name="smooth_l1_loss_reduced",
    label="smooth_l1_loss",
    node="SmoothL1LossBackward0",
    promote=SAME,
    **_BY_ELEMENTS,
)
def smooth_l1_loss_reduced(self: Array, target: Array, reduction: int, beta: float) -> Array:
    """Compute a difference that is squared below `beta`, absolute above."""
    require_floating("smooth_l1_cpu", self)
    losses = _native_smooth_l1(self, target, beta)
    if losses is None:
        size = np.abs(self - target)
        near = 0.5 * size * size / beta
        losses = np.asarray(np.where(size < beta, near, size - 0.5 * beta))
    return reduced_array(losses, reduction)


def _smooth_l1_slope(difference: Any, beta: float) -> Any:
    return clipped(difference / beta, -1.0, 1.0)


@derivative(smooth_l1_loss_reduced, wrt="self")
def smooth_l1_loss_self(grad: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    return smooth_l1_loss_backward(grad, self, target, reduction, beta)


@derivative(smooth_l1_loss_reduced, wrt="target")
def smooth_l1_loss_target(grad: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    return smooth_l1_loss_backward(grad, target, self, reduction, beta)


@op(node="SmoothL1LossBackwardBackward0", **_SLOPE)
def smooth_l1_loss_backward(
    grad_output: Array, self: Array, target: Array, reduction: int, beta: float
) -> Array:
    """Compute the gradient of smooth_l1_loss by its first argument."""
    found = _one_by_one(_native_smooth_l1_slope, grad_output, self, target, beta, reduction)
    if found is not None:
        return found
    slope = np.asarray(_smooth_l1_slope(self - target, beta))
    return weighted(slope, grad_output, 1.0, reduction)


@derivative(smooth_l1_loss_backward, wrt=("grad_output", "self", "target"))
def smooth_l1_loss_backward_all(grad, grad_output, self, target, reduction, beta, needs):
    difference = self - target
    curvature = (abs(difference) < beta) * (1.0 / beta)
    slope = _smooth_l1_slope(difference, beta)
    return _of_slope(grad, grad_output, slope, curvature, reduction, needs)


@tangent_of(smooth_l1_loss_backward)
def smooth_l1_loss_backward_tangent(
    grad_output_t, self_t, target_t, grad_output, self, target, reduction, beta
):
    difference = self - target
    curvature = (abs(difference) < beta) * (1.0 / beta)
    slope = _smooth_l1_slope(difference, beta)
    return _slope_moved(grad_output_t, self_t, target_t, grad_output, slope, curvature, reduction)


@tangent_of(smooth_l1_loss_reduced)
def smooth_l1_loss_tangent(
    self: Tensor, target: Tensor, self_t: Any, target_t: Any, reduction: int, beta: float
) -> Tensor:
    slope = _smooth_l1_slope(self - target, beta)
    return elementwise_tangent(self_t, target_t, slope, -slope, reduction)


@composite(public=False, method=False)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Compute an error that is squared near zero and absolute far from it.

    loss = d² / (2·beta) where d < beta, else d - beta / 2, with d = |input - target|

    Args:
        input: predictions.
        target: true values.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.
        beta: where the square ends.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.smooth_l1_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(0.7500)
    """
    warn_about_size(input, target)
    number = reduction_number(reduction, size_average, reduce)
    first, second = broadcast(input, target)
    if beta == 0.0:
        return l1_loss_reduced(first, second, number)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return smooth_l1_loss_reduced(first, second, number, beta)


def _check_huber(self: np.ndarray, target: np.ndarray) -> None:
    common = dtypes.result_type((self, target))
    refuse_lower(common, dtypes.FROM_NUMPY[self.dtype])
    if common.category != dtypes.FLOATING:
        raise no_kernel("huber_cpu", common.numpy)


@op(
    name="huber_loss_reduced",
    label="huber_loss",
    node="HuberLossBackward0",
    **_LIKE_INPUT,
)
def huber_loss_reduced(self: Array, target: Array, reduction: int, delta: float) -> Array:
    """Compute half the square below `delta`, a linear function above."""
    if self.dtype.kind not in "fV" or target.dtype.kind not in "fV":
        _check_huber(self, target)
    losses = _native_huber(self, target, delta)
    if losses is None:
        size = np.abs(self - target)
        far = delta * (size - 0.5 * delta)
        losses = np.where(size <= delta, 0.5 * size * size, far)
    return reduced_array(np.asarray(losses, self.dtype), reduction)


def _refuse_other_dtype(own: Any, other: Any) -> None:
    if own.dtype != other.dtype:
        names = [scalar_type(array_of(each).dtype) for each in (other, own)]
        raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")


@derivative(huber_loss_reduced, wrt="self")
def huber_loss_self(grad: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    _refuse_other_dtype(self, target)
    return huber_loss_backward(grad, self, target, reduction, delta)


@derivative(huber_loss_reduced, wrt="target")
def huber_loss_target(grad: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    _refuse_other_dtype(target, self)
    return huber_loss_backward(grad, target, self, reduction, delta)


@op(node="HuberLossBackwardBackward0", **_SLOPE)
def huber_loss_backward(
    grad_output: Array, self: Array, target: Array, reduction: int, delta: float
) -> Array:
    """Compute the gradient of huber_loss by its first argument."""
    found = _one_by_one(_native_huber_slope, grad_output, self, target, delta, reduction)
    if found is not None:
        return found
    slope = np.asarray(clipped(self - target, -delta, delta))
    return weighted(slope, grad_output, 1.0, reduction)


@derivative(huber_loss_backward, wrt=("grad_output", "self", "target"))
def huber_loss_backward_all(grad, grad_output, self, target, reduction, delta, needs):
    difference = self - target
    slope = clipped(difference, -delta, delta)
    return _of_slope(grad, grad_output, slope, abs(difference) < delta, reduction, needs)


@tangent_of(huber_loss_backward)
def huber_loss_backward_tangent(
    grad_output_t, self_t, target_t, grad_output, self, target, reduction, delta
):
    difference = self - target
    slope, curvature = clipped(difference, -delta, delta), abs(difference) < delta
    return _slope_moved(grad_output_t, self_t, target_t, grad_output, slope, curvature, reduction)


@tangent_of(huber_loss_reduced)
def huber_loss_tangent(
    self: Tensor, target: Tensor, self_t: Any, target_t: Any, reduction: int, delta: float
) -> Tensor:
    slope = clipped(self - target, -delta, delta)
    return elementwise_tangent(self_t, target_t, slope, -slope, reduction)


@composite(public=False, method=False)
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Compute an error that is squared near zero and absolute far from it.

    loss = d² / 2 where d ≤ delta, else delta · (d - delta / 2), with d = |input - target|

    Args:
        input: predictions.
        target: true values.
        reduction: "mean", "sum", or "none" for the losses one by one.
        delta: where the square ends.
        weight: factors of the losses; "mean" then divides by their sum.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.huber_loss(taper.tensor([1.0, 3.0]), taper.tensor([1.0, 1.0]))
        tensor(0.7500)
    """
    warn_about_size(input, target)
    number = reduction_number(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    first, second = broadcast(input, target)
    if weight is None:
        return huber_loss_reduced(first, second, number, delta)
    if weight._array.shape != first._array.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduced(huber_loss_reduced(first, second, NONE, delta) * weight, number)


# --- soft_margin_loss ------------------------------------------------------------------------


def _check_soft_margin(self: np.ndarray, target: np.ndarray) -> None:
    own, common = dtypes.FROM_NUMPY[self.dtype], dtypes.result_type((self, target))
    no_negation(own, (self,))
    refuse_lower(common if common.category >= dtypes.FLOATING else dtypes.get_default_dtype(), own)


@op(
    name="soft_margin_loss_reduced",
    label="soft_margin_loss",
    node="SoftMarginLossBackward0",
    **_BY_ELEMENTS,
)
def soft_margin_loss_reduced(self: Array, target: Array, reduction: int) -> Array:
    """Compute log(1 + exp(-target * input))."""
    together = np.broadcast_shapes(self.shape, target.shape)
    if together != self.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape "
            f"{list(together)}"
        )
    if self.dtype.kind not in "fV" or target.dtype.kind not in "fV":
        _check_soft_margin(self, target)
    losses = np.log1p(np.exp(-self * target))
    return reduced_array(np.asarray(losses, self.dtype), reduction)


def _soft_margin_slope(self: Any, target: Any) -> Any:
    return -target * sigmoid(-target * self)


@derivative(soft_margin_loss_reduced, wrt="self")
def soft_margin_loss_self(grad: Any, self: Any, target: Any, reduction: int) -> Any:
    return soft_margin_loss_backward(grad, self, target, reduction)


@op(node="SoftMarginLossBackwardBackward0", **_BY_ELEMENTS)
def soft_margin_loss_backward(
    grad_output: Array, self: Array, target: Array, reduction: int
) -> Array:
    """Compute the gradient of soft_margin_loss."""
    return weighted(np.asarray(_soft_margin_slope(self, target)), grad_output, 1.0, reduction)


@derivative(soft_margin_loss_backward, wrt=("grad_output", "self"))
def soft_margin_loss_backward_all(grad, grad_output, self, target, reduction, needs):
    slope, curvature = _soft_margin_slope(self, target), _soft_margin_curvature(self, target)
    return _of_slope(grad, grad_output, slope, curvature, reduction, (*needs, False))[:2]


@tangent_of(soft_margin_loss_backward)
def soft_margin_loss_backward_tangent(grad_output_t, self_t, grad_output, self, target, reduction):
    slope, curvature = _soft_margin_slope(self, target), _soft_margin_curvature(self, target)
    return _slope_moved(grad_output_t, self_t, None, grad_output, slope, curvature, reduction)


def _soft_margin_curvature(self: Any, target: Any) -> Any:
    share = sigmoid(-target * self)
    return target * target * share * (1.0 - share)


@tangent_of(soft_margin_loss_reduced)
def soft_margin_loss_tangent(self: Tensor, target: Tensor, self_t: Any, reduction: int) -> Tensor:
    return reduced(self_t * _soft_margin_slope(self, target), reduction)


@composite(public=False, method=False)
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the logistic loss of two classes.

    loss = ln(1 + exp(-target · input))

    Args:
        input: scores.
        target: 1 or -1 for each score.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.soft_margin_loss(taper.tensor([0.0]), taper.tensor([1.0]))
        tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    refuse_gradient("soft_margin_loss", "target", target)
    return soft_margin_loss_reduced(input, target, number)


def refuse_gradient(function: str, argument: str, value: Tensor | None) -> None:
    """Raise PyTorch's error for an input that has no derivative but requires one."""
    if value is not None and not local.state.mode & NO_GRAD and requires_grad(value):
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument "
            f"'{argument}'. This input cannot have requires_grad True."
        )


# --- kl_div, poisson_nll_loss, gaussian_nll_loss ---------------------------------------------


@composite(name="kl_div", method=False)
def numbered_kl_div(
    input: Tensor, target: Tensor, reduction: int = NONE, *, log_target: bool = False
) -> Tensor:
    """Compute `nn.functional.kl_div`, given a reduction's number.

    >>> import taper
    >>> taper.kl_div(taper.tensor([-1.0]), taper.tensor([1.0]))
    tensor([1.])
    """
    number = check_number("kl_div", reduction)
    kinds = {input._array.dtype.kind, target._array.dtype.kind}
    if not kinds <= {"f", "V"}:
        name = "Complex" if "c" in kinds else "Integral"
        raise RuntimeError(f"kl_div: {name} inputs not supported.")
    if log_target:
        losses = exp(target) * (target - input)
    else:
        shared = target * input
        losses = target.xlogy(target) - shared
    return reduced(losses, number)


@composite(public=False, method=False)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Compute the Kullback-Leibler divergence of a distribution from a target distribution.

    loss = target · (ln target - input)

    Args:
        input: log-probabilities.
        target: probabilities.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "batchmean" (the sum divided by the batch size: the mathematical definition),
            "mean" (over all elements), "sum" or "none".
        log_target: whether `target` holds log-probabilities, too.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.kl_div(taper.tensor([-1.0]), taper.tensor([1.0]), reduction="sum")
        tensor(1.)
    """
    if size_average is not None or reduce is not None:
        number = reduction_number(reduction, size_average, reduce)
    else:
        if reduction == "mean":
            warn_user(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
                "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
                "major release."
            )
        number = SUM if reduction == "batchmean" else reduction_number(reduction)
    result = numbered_kl_div(input, target, number, log_target=log_target)
    return result / input._array.shape[0] if reduction == "batchmean" and input.ndim else result


@composite(name="poisson_nll_loss", method=False)
def numbered_poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """Compute `nn.functional.poisson_nll_loss`, given a reduction's number.

    >>> import taper
    >>> taper.poisson_nll_loss(taper.zeros(1), taper.full((1,), 2.0), True, False, 1e-8, 0)
    tensor([1.])
    """
    number = check_number("poisson_nll_loss", reduction)
    if log_input:
        expected = target * input
        losses = exp(input) - expected
    else:
        losses = input - target * log(add_scalar(input, eps))
    if full:
        spread = mul_scalar(log(mul_scalar(target, 2 * math.pi)), 0.5)
        stirling = target * log(target) - target + spread
        losses = losses + stirling.masked_fill(target <= 1, 0.0)
    return reduced(losses, number)


@composite(public=False, method=False)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood of counts under Poisson distributions.

    loss = exp(input) - target · input, or input - target · ln(input + eps) without `log_input`

    Args:
        input: logarithms of the rates, or the rates.
        target: counts.
        log_input: whether `input` holds logarithms.
        full: add the term of the target alone, by Stirling's formula.
        size_average, reduce: old forms of `reduction`; deprecated.
        eps: keeps the logarithm finite.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` broadcast; the result is 0-d, with "none" of their shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.poisson_nll_loss(taper.tensor([0.0]), taper.tensor([2.0]))
        tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbered_poisson_nll_loss(input, target, log_input, full, eps, _NUMBERS[reduction])


def _has_negative(var: Tensor) -> bool:
    array = var._array
    return bool((array < 0 if array.dtype.kind in "fV" else (var < 0)._array).any().item())


@composite(public=False, method=False, arrays=True)
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood of targets under normal distributions.

    loss = (ln max(var, eps) + (input - target)² / max(var, eps)) / 2

    Args:
        input: means.
        target: true values.
        var: variances, a tensor that broadcasts, or a number.
        full: add the constant ln(2π) / 2.
        eps: smallest variance; gradients ignore it.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` have one shape; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> one = taper.ones(1)
        >>> F.gaussian_nll_loss(taper.tensor([3.0]), one, one)
        tensor(2.)
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * input.new_ones(input._array.shape)
    elif not isinstance(var, Tensor):
        raise TypeError(
            f"any() received an invalid combination of arguments - got ({type(var).__name__})"
        )
    elif _has_negative(var):
        raise ValueError("var has negative entry/entries")
    shape, given = input._array.shape, var._array.shape
    if given != shape:
        if shape[:-1] == given:
            var = var.unsqueeze(-1)
        elif not (shape[:-1] == given[:-1] and given[-1:] == (1,)):
            raise ValueError("var is of incorrect size")
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(float(eps))
    losses = 0.5 * (log(var) + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, _NUMBERS[reduction])
