"""Losses with a margin between classes: multi_margin, multilabel_margin, multilabel_soft_margin."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.elements import INT64
from taper.arrays.reduction import no_forward_mode, scalar_type
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.activation.smooth import log_sigmoid_forward
from taper.ops.loss.elementwise import (
    MEAN,
    NONE,
    legacy_reduction,
    reduced,
    reduced_array,
    reduction_number,
    refuse_gradient,
)
from taper.ops.reduction.sums import sum_dim
from taper.tensor import Tensor

# --- what they share -------------------------------------------------------------------------


def _check_matrix(array: np.ndarray) -> tuple[int, int]:
    """Return batch size and number of classes of a vector or matrix; refuse others."""
    if array.ndim > 2 or (array.ndim and not array.shape[-1]):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(array.shape)}"
        )
    return (1, array.size) if array.ndim < 2 else array.shape


def _check_dtypes(kernel: str, array: np.ndarray, target: np.ndarray) -> None:
    if array.dtype.char not in "fd":
        raise no_kernel(kernel, array.dtype)
    if target.dtype != INT64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_type(target.dtype)}")


def _row_loss(losses: np.ndarray, shape: tuple[int, ...], reduction: int) -> Any:
    """Reduce the losses of rows; unreduced they have the given shape."""
    return losses.reshape(shape) if reduction == NONE else reduced_array(losses, reduction)


# --- multi_margin_loss -----------------------------------------------------------------------


@op(
    name="multi_margin_loss_reduced",
    label="multi_margin_loss",
    node="MultiMarginLossBackward0",
    public=False,
    method=False,
)
def multi_margin_loss_reduced(
    self: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: int
) -> Array:
    """Sum the margins by which other classes come too near to the target, to the power `p`."""
    rows, classes = _check_matrix(self)
    if (target.shape != (rows,)) and not (self.ndim < 2 and target.size == 1):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{rows}], but got {list(target.shape)}. "
            f"Input has shape {list(self.shape)}."
        )
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )
    _check_dtypes("multi_margin_loss_cpu_kernel", self, target)
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type(self.dtype)} but found {scalar_type(weight.dtype)}"
        )
    if ((target < 0) | (target >= classes)).any():
        raise RuntimeError("target out of range")
    excess = _excess(self.reshape(rows, classes), target.reshape(rows, 1), margin)
    losses = (excess * excess if p == 2 else excess).sum(1) / self.dtype.type(classes)
    if weight is not None:
        losses = losses * weight[target.reshape(-1)]
    return _row_loss(losses.astype(self.dtype, copy=False), target.shape, reduction)


def _excess(array: np.ndarray, target: np.ndarray, margin: float) -> np.ndarray:
    """Compute how far each class comes within `margin` of the target; zero for the target."""
    excess = np.maximum(array - np.take_along_axis(array, target, 1) + margin, 0)
    np.put_along_axis(excess, target, 0, 1)
    return excess


@derivative(multi_margin_loss_reduced, wrt="self")
def multi_margin_loss_self(
    grad: Any, self: Any, target: Any, p: int, margin: float, weight: Any, reduction: int
) -> Any:
    return multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)


@tangent_of(multi_margin_loss_reduced)
def multi_margin_loss_tangent(
    self: Tensor,
    self_t: Tensor,
    target: Tensor,
    p: int,
    margin: float,
    weight: Tensor | None,
    reduction: int,
) -> Tensor:
    ones = self.new_ones(self._array.shape[:-1])
    slope = multi_margin_loss_backward(ones, self, target, p, margin, weight, NONE)
    return _rows_tangent(slope * self_t, reduction)


def _rows_tangent(parts: Tensor, reduction: int) -> Tensor:
    return reduced(sum_dim(parts, (-1,)), reduction)


@op(public=False, method=False)
def multi_margin_loss_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    p: int,
    margin: float,
    weight: Array | None,
    reduction: int,
) -> Array:
    """Compute the gradient of `multi_margin_loss`, which PyTorch does not differentiate further."""
    rows, classes = (1, self.size) if self.ndim < 2 else self.shape
    places = target.reshape(rows, 1)
    excess = _excess(self.reshape(rows, classes), places, margin)
    slope = (2 * excess if p == 2 else (excess > 0).astype(self.dtype)) / classes
    if weight is not None:
        slope = slope * weight[places]
    np.put_along_axis(slope, places, -slope.sum(1, keepdims=True), 1)
    return _back(slope, grad_output, rows, reduction).astype(self.dtype).reshape(self.shape)


def _back(slope: np.ndarray, grad: np.ndarray, rows: int, reduction: int) -> np.ndarray:
    if reduction == MEAN:
        return slope * (grad / rows)
    return slope * (np.reshape(grad, (rows, 1)) if reduction == NONE else grad)


@tangent_of(multi_margin_loss_backward)
def multi_margin_loss_backward_tangent(self_t: Any) -> Any:
    raise no_forward_mode("multi_margin_loss_backward")


@derivative(multi_margin_loss_backward, wrt=("grad_output", "self"))
def multi_margin_loss_twice(grad: Any) -> Any:
    raise RuntimeError("derivative for aten::multi_margin_loss_backward is not implemented")


@composite(public=False, method=False)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute how far other classes come within a margin of the target class.

    loss = Σ over classes i ≠ y of weight[y] · max(0, margin - input[y] + input[i])ᵖ / C

    Args:
        input: scores (N, C) or (C,).
        target: classes (N,) or ().
        p: the exponent, 1 or 2.
        margin: by how much the target class should lead.
        weight: a factor for each class, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.multi_margin_loss(taper.tensor([[0.5, 0.0]]), taper.tensor([0]))
        tensor(0.2500)
    """
    number = reduction_number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    refuse_gradient("multi_margin_loss", "weight", weight)
    return multi_margin_loss_reduced(input, target, p, margin, weight, number)


# --- multilabel_margin_loss ------------------------------------------------------------------


@op(
    name="multilabel_margin_loss_forward",
    label="multilabel_margin_loss",
    node="MultilabelMarginLossBackward0",
    outputs=("output", "is_target"),
    nondifferentiable=(1,),
    public=False,
    method=False,
)
def multilabel_margin_loss_forward(
    self: Array, target: Array, reduction: int
) -> tuple[Array, Array]:
    """Sum the margins of classes against every target class; also tell which are targets."""
    rows, classes = _check_matrix(self)
    if target.shape != self.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}"
        )
    if ((target < -1) | (target >= classes)).any():
        raise RuntimeError("argument #2 'target' is out of range")
    _check_dtypes("multilabel_margin_loss_forward_out_frame", self, target)
    times = _times_named(target.reshape(rows, classes), self.dtype)
    excess = _pair_excess(self.reshape(rows, classes), times) * times[:, :, None]
    losses = excess.sum((1, 2)) / self.dtype.type(classes)
    result = _row_loss(losses.astype(self.dtype, copy=False), self.shape[:-1], reduction)
    return np.asarray(result), (times > 0).astype(self.dtype).reshape(self.shape)


def _times_named(target: np.ndarray, dtype: Any) -> np.ndarray:
    """Count how often each class is named in its row before the first -1."""
    times = np.zeros(target.shape, dtype)
    rows, places = np.nonzero(np.logical_and.accumulate(target >= 0, 1))
    np.add.at(times, (rows, target[rows, places]), 1)
    return times


def _pair_excess(array: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Compute max(0, 1 - target class + other class) for each row and pair of classes."""
    margins = np.maximum(1 - array[:, :, None] + array[:, None, :], 0)
    targets = times > 0
    return np.where(targets[:, :, None] & ~targets[:, None, :], margins, array.dtype.type(0))


@derivative(multilabel_margin_loss_forward, wrt="self")
def multilabel_margin_loss_self(
    grad_output: Any, self: Any, target: Any, is_target: Any, reduction: int
) -> Any:
    return multilabel_margin_loss_backward(grad_output, self, target, is_target, reduction)


@tangent_of(multilabel_margin_loss_forward)
def multilabel_margin_loss_tangent(
    self: Tensor, self_t: Tensor, target: Tensor, is_target: Tensor, reduction: int
) -> tuple[Tensor, None]:
    ones = self.new_ones(self._array.shape[:-1])
    slope = multilabel_margin_loss_backward(ones, self, target, is_target, NONE)
    return _rows_tangent(slope * self_t, reduction), None


@op(public=False, method=False)
def multilabel_margin_loss_backward(
    grad_output: Array, self: Array, target: Array, is_target: Array, reduction: int
) -> Array:
    """Compute the gradient of `multilabel_margin_loss`, which has no further derivative."""
    rows, classes = (1, self.size) if self.ndim < 2 else self.shape
    times = _times_named(target.reshape(rows, classes), self.dtype)
    active = (_pair_excess(self.reshape(rows, classes), times) > 0) * times[:, :, None]
    slope = (active.sum(1) - active.sum(2)) / self.dtype.type(classes)
    return _back(slope, grad_output, rows, reduction).astype(self.dtype).reshape(self.shape)


@tangent_of(multilabel_margin_loss_backward)
def multilabel_margin_loss_backward_tangent(self_t: Any) -> Any:
    raise no_forward_mode("multilabel_margin_loss_backward")


@derivative(multilabel_margin_loss_backward, wrt=("grad_output", "self"))
def multilabel_margin_loss_twice(grad: Any) -> Any:
    raise RuntimeError("derivative for aten::multilabel_margin_loss_backward is not implemented")


@composite(public=False, method=False)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute how far other classes come within 1 of any of several target classes.

    loss = Σ over targets y and other classes i of max(0, 1 - input[y] + input[i]) / C

    Args:
        input: scores (N, C) or (C,).
        target: class numbers (N, C) or (C,); in each row the first -1 ends them.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> x, y = taper.tensor([[0.5, 0.0]]), taper.tensor([[0, -1]])
        >>> F.multilabel_margin_loss(x, y)
        tensor(0.2500)
    """
    number = reduction_number(reduction, size_average, reduce)
    return multilabel_margin_loss_forward(input, target, number)[0]


# --- multilabel_soft_margin_loss -------------------------------------------------------------


@composite(public=False, method=False)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the binary cross entropy of logits, averaged over the classes.

    loss = -mean over classes of weight · (target · ln p + (1 - target) · ln(1 - p)),
    with p = sigmoid(input)

    Args:
        input: logits (N, C) or (*, C).
        target: 0 or 1, in the same shape.
        weight: a factor for each class, or None.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" the shape without C.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> x, y = taper.tensor([[0.0, 0.0]]), taper.tensor([[1.0, 0.0]])
        >>> F.multilabel_soft_margin_loss(x, y)
        tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if not input.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    of_ones = target * log_sigmoid_forward(input)[0]
    zeros = 1 - target
    losses = -(of_ones + zeros * log_sigmoid_forward(-input)[0])
    if weight is not None:
        losses = losses * weight
    losses = sum_dim(losses, (input.ndim - 1,)) / input._array.shape[-1]
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return reduced(losses, reduction_number(reduction))
