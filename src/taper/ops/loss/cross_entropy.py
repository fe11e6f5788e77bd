"""Losses over classes: nll_loss and cross_entropy.

nll_loss is linear in the log-probabilities; its backward is the transpose, an operator of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import INT64, LOW_PRECISION
from taper.arrays.foreign import has_elements
from taper.arrays.native import native
from taper.arrays.reduction import Shape, scalar_type
from taper.arrays.strides import existing_dim
from taper.autograd.transforms import whole
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.activation.softmax import log_softmax_dim
from taper.ops.elementwise.number import add_scalar, div_scalar, mul_scalar
from taper.ops.elementwise.unary import zeros_like
from taper.ops.loss.elementwise import MEAN, NONE, SUM, reduction_number, refuse_gradient
from taper.ops.reduction.sums import sum_all, sum_dim
from taper.tensor import Tensor, wrap

# --- nll_loss: the kernel --------------------------------------------------------------------


def _check_values(
    array: np.ndarray, weight: np.ndarray | None, classes: int, spatial: bool
) -> None:
    if weight is not None and weight.shape != (classes,):
        detail = (
            "all or no classes"
            if spatial
            else f"all {classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
        raise RuntimeError(f"weight tensor should be defined either for {detail}")
    if array.dtype.kind not in "fV":
        kernel = "nll_loss2d_forward_out_frame" if spatial else "nll_loss_out_frame"
        raise no_kernel(kernel, array.dtype)
    if weight is not None and weight.dtype != array.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type(array.dtype)} but found {scalar_type(weight.dtype)}"
        )


def _check_nll(array: np.ndarray, target: np.ndarray, spatial: bool) -> None:
    if not spatial and target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    _check_kind(target)
    if spatial:
        if target.ndim != 3:
            raise RuntimeError(
                "only batches of spatial targets supported (3D tensors) but got targets of "
                f"dimension: {target.ndim}"
            )
        if array.shape[:1] + array.shape[2:] != target.shape:
            raise RuntimeError(
                f"size mismatch (got input: {list(array.shape)} , target: {list(target.shape)}"
            )


def _check_kind(target: np.ndarray) -> None:
    if target.dtype != INT64 and target.dtype != np.uint8:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_type(target.dtype)}"
        )


class Picked:
    """Tells which log-probability each target picks, in an array (batch, classes, places).

    `flat` are positions in the flattened array; `weights` is None where all are one; `keep` is None
    where no target is ignored.
    """

    __slots__ = ("flat", "keep", "weights")

    def __init__(
        self, shape: Shape, target: np.ndarray, weight: np.ndarray | None, ignore_index: int
    ) -> None:
        class_dim = 0 if len(shape) == 1 else 1
        classes = shape[class_dim]
        self.keep: np.ndarray | None = None
        # As unsigned numbers, negative targets are too large as well: one reduction checks both.
        unsigned = target.view(np.uint64) if target.dtype == INT64 else target
        valid = not target.size or np.maximum.reduce(unsigned, None) < classes
        if not valid or 0 <= ignore_index < classes:
            self.keep = target != ignore_index
            target = np.where(self.keep, target, 0)
            wrong = (target < 0) | (target >= classes)
            if wrong.any():
                raise IndexError(f"Target {target[wrong].reshape(-1)[0]} is out of bounds.")
        places = int(np.prod(shape[2:])) if len(shape) > 2 else 1
        if len(shape) == 1:
            self.flat = target
        else:
            start: Any = np.arange(shape[0]) * (classes * places)
            if len(shape) > 2:
                start = start[:, None] + np.arange(places)
                start = start.reshape(target.shape)
            self.flat = start + (target if places == 1 else target * places)
        self.weights = None if weight is None else weight[target]
        if self.weights is not None and self.keep is not None:
            self.weights = np.where(self.keep, self.weights, self.weights.dtype.type(0))

    def total(self, dtype: np.dtype) -> Any:
        """Sum the weights of the targets that count."""
        if self.weights is not None:
            return _total(self.weights)
        return dtype.type(self.flat.size if self.keep is None else np.count_nonzero(self.keep))


_LEVELS = 8  # of partial sums; one of the highest level counts at least 16 ** 7 elements


def _total(values: np.ndarray) -> Any:
    """Add up losses or weights.

    In half precision every sum is rounded, as in PyTorch.  It folds partial sums after the first
    element and then after every 16, or more where there are many, into those of the next level.
    """
    if values.dtype not in LOW_PRECISION or not values.size:
        return np.add.reduce(values, None)
    first, rest = values.reshape(-1)[0], values.reshape(-1)[1:]
    step = 1 << max(4, (values.size - 1).bit_length() // _LEVELS)
    total = values.dtype.type(0)
    for _ in range(_LEVELS - 1):
        whole = rest.size - rest.size % step
        total = total + _in_order(rest[whole:])
        rest = _in_order(rest[:whole].reshape(-1, step).T)
    return total + (first + _in_order(rest))


def _in_order(values: np.ndarray) -> Any:
    """Add up along the first dimension, one after the other."""
    total = np.zeros(values.shape[1:], values.dtype)
    for each in values:
        total = total + each
    return total


def _pick_rows(array: np.ndarray, target: np.ndarray, ignore_index: int) -> np.ndarray | None:
    """Pick one element of each row of a matrix, if every row has a target that counts."""
    shape = array.shape
    if len(shape) != 2 or 0 <= ignore_index < shape[1]:
        return None
    if native is not None and (found := native.pick_rows(array, target)) is not None:
        picked: np.ndarray = found
        return picked
    if not target.size or target.dtype != INT64:
        return None
    if np.maximum.reduce(target.view(np.uint64), None) >= shape[1]:
        return None
    return array.reshape(-1)[_row_places(shape, target)]


def _put_rows(shape: Shape, target: np.ndarray, value: Any) -> np.ndarray:
    """Make zeros with `value` where the targets of the rows of a matrix are."""
    if native is not None:
        found: np.ndarray | None = native.put_rows(*shape, target, np.asarray(value))
        if found is not None:
            return found
    result = np.zeros(shape, value.dtype)
    result.reshape(-1)[_row_places(shape, target)] = value
    return result


def _row_places(shape: Shape, target: np.ndarray) -> np.ndarray:
    """Find where the targets of the rows of a matrix are in the flattened matrix."""
    places = np.arange(0, shape[0] * shape[1], shape[1])
    places += target
    return places


def _nll(
    array: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    reduction: int,
    ignore_index: int,
) -> tuple[Any, Any]:
    dtype = array.dtype
    found = _pick_rows(array, target, ignore_index) if weight is None and reduction else None
    if found is not None:
        loss = 0.0 - _total(found)  # avoids a negative zero
        size = dtype.type(found.size)
        loss = loss / size if reduction == MEAN else loss
        return np.asarray(loss, dtype), np.asarray(size, dtype)
    picked = Picked(array.shape, target, weight, ignore_index)
    found = array.reshape(-1)[picked.flat] if array.size else np.zeros(target.shape, dtype)
    if picked.weights is not None:
        found = found * picked.weights
    if picked.keep is not None:
        found = np.where(picked.keep, found, dtype.type(-0.0))
    if reduction == NONE and array.ndim > 1:
        return np.asarray(-found), np.zeros((), dtype)
    total = picked.total(dtype)
    loss = 0.0 - _total(found)
    if reduction == MEAN:
        loss = loss / total
    return np.asarray(loss, dtype), np.asarray(total, dtype)


# --- nll_loss: the operators -----------------------------------------------------------------


_NLL: Any = {
    "outputs": ("output", "total_weight"),
    "nondifferentiable": (1,),
    "public": False,
    "method": False,
    "label": "nll_loss",
}


@op(name="nll_loss_forward", node="NllLossBackward0", **_NLL)
def nll_loss_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """Compute minus the log-probabilities of the targets, and the sum of their weights."""
    _check_nll(self, target, False)
    _check_values(self, weight, self.shape[-1], False)
    return _nll(self, target, weight, reduction, ignore_index)


@op(name="nll_loss2d_forward", node="NllLoss2DBackward0", **_NLL)
def nll_loss2d_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """Compute `nll_loss_forward` for input of shape (batch, classes, height, width)."""
    _check_nll(self, target, True)
    _check_values(self, weight, self.shape[1], True)
    return _nll(self, target, weight, reduction, ignore_index)


@derivative(nll_loss_forward, wrt="self")
@derivative(nll_loss2d_forward, wrt="self")
def nll_loss_self(
    grad_output: Any,
    self: Any,
    target: Any,
    weight: Any,
    total_weight: Any,
    reduction: int,
    ignore_index: int,
) -> Any:
    backward = nll_loss_backward if self.ndim <= 2 else nll_loss2d_backward
    return backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)


@tangent_of(nll_loss_forward)
@tangent_of(nll_loss2d_forward)
def nll_loss_tangent(
    self_t: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int
) -> tuple[Tensor, None]:
    forward = nll_loss_forward if self_t.ndim <= 2 else nll_loss2d_forward
    return forward(self_t, target, weight, reduction, ignore_index)[0], None


def _nll_backward(
    grad_output: ndarray,
    self: ndarray,
    target: ndarray,
    weight: ndarray | None,
    reduction: int,
    ignore_index: int,
    total_weight: ndarray,
) -> Any:
    """Put minus `grad_output` at the log-probabilities that are picked."""
    shape = self.shape
    if weight is None and reduction and len(shape) == 2 and total_weight.item() == shape[0]:
        return _put_rows(shape, target, -grad_output / (shape[0] if reduction == MEAN else 1))
    result = np.zeros(shape, grad_output.dtype)
    picked = Picked(shape, target, weight, ignore_index)
    if not result.size:
        return result
    grad = -grad_output / total_weight if reduction == MEAN else -grad_output
    if picked.weights is not None:
        grad = grad * picked.weights
    if picked.keep is not None:
        grad = np.where(picked.keep, grad, result.dtype.type(0))
    result.reshape(-1)[picked.flat] = grad
    return result


@op(node="NllLossBackwardBackward0", public=False, method=False)
def nll_loss_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    """Compute the gradient of nll_loss."""
    return _nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)


@op(node="NllLoss2DBackwardBackward0", public=False, method=False)
def nll_loss2d_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    """Compute the gradient of nll_loss2d."""
    return _nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)


@derivative(nll_loss_backward, wrt=("grad_output", "self"))
@derivative(nll_loss2d_backward, wrt=("grad_output", "self"))
def nll_loss_backward_all(
    grad: Any, target: Any, weight: Any, reduction: int, ignore_index: int, needs: Any
) -> Any:
    forward = nll_loss_forward if grad.ndim <= 2 else nll_loss2d_forward
    by_grad = forward(grad, target, weight, reduction, ignore_index)[0] if needs[0] else None
    return by_grad, zeros_like(grad) if needs[1] else None


@tangent_of(nll_loss_backward)
@tangent_of(nll_loss2d_backward)
def nll_loss_backward_tangent(
    grad_output_t: Any,
    self: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    if grad_output_t is None:
        return zeros_like(self)
    backward = nll_loss_backward if self.ndim <= 2 else nll_loss2d_backward
    return backward(grad_output_t, self, target, weight, reduction, ignore_index, total_weight)


# --- nll_loss: the function ------------------------------------------------------------------


@composite(public=False, method=False)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute the negative log-likelihood of target classes.

    loss = -weight[y] · input[y] for the class y

    Args:
        input: log-probabilities (N, C, *) or (C,), C the number of classes.
        target: classes (N, *) or ().
        weight: a factor for each class; "mean" is then the weighted mean.
        size_average, reduce: old forms of `reduction`; deprecated.
        ignore_index: class whose elements do not count.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N, *) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.nll_loss(taper.tensor([[-1.0, -2.0]]), taper.tensor([1]))
        tensor(2.)
    """
    number = reduction_number(reduction, size_average, reduce)
    return _nll_loss(input, target, weight, number, ignore_index)


def _nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    shape, wanted = input._array.shape, target._array.shape
    if weight is not None:
        refuse_gradient("nll_loss_forward", "weight", weight)
    if len(shape) == 2 and len(wanted) == 1 and shape[0] == wanted[0]:
        return nll_loss_forward(input, target, weight, reduction, ignore_index)[0]
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) == 1:
        if len(wanted) == 1 and wanted[0] != 1:
            _check_kind(target._array)
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}"
            )
    elif shape[0] != (wanted[0] if wanted else 0):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size "
            f"({wanted[0] if wanted else 0})."
        )
    if len(shape) <= 2:
        return nll_loss_forward(input, target, weight, reduction, ignore_index)[0]
    if len(shape) == 4:
        return nll_loss2d_forward(input, target, weight, reduction, ignore_index)[0]
    return _nll_loss_nd(input, target, weight, reduction, ignore_index)


def _nll_loss_nd(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """Compute other numbers of spatial dimensions as two, of which the first has length 1."""
    shape = input._array.shape
    wanted = shape[:1] + shape[2:]
    if target._array.shape != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target._array.shape)}")
    flat = (shape[0], 1, int(np.prod(wanted[1:])))
    values = input.reshape(shape[0], shape[1], *flat[1:])
    found, _ = nll_loss2d_forward(values, target.reshape(flat), weight, reduction, ignore_index)
    return found.view(wanted) if reduction == NONE else found


# --- cross_entropy ---------------------------------------------------------------------------


@composite(public=False, method=False)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compute the cross entropy of logits with target classes or target probabilities.

    loss = -weight[y] · log_softmax(input)[y] for a class y,
    or -Σ weight · target · log_softmax(input) for probabilities

    Args:
        input: logits (N, C, *) or (C,), C the number of classes.
        target: classes (N, *) or (), or probabilities in the shape of `input`.
        weight: a factor for each class; of target classes "mean" is then the weighted mean.
        size_average, reduce: old forms of `reduction`; deprecated.
        ignore_index: class whose elements do not count.
        reduction: "mean", "sum", or "none" for the losses one by one.
        label_smoothing: share of the uniform distribution that is mixed into the target, 0 to 1.

    Shape: 0-d; with "none" (N, *) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.cross_entropy(taper.zeros(1, 2), taper.tensor([1]))
        tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    if not isinstance(target, Tensor):
        raise TypeError(
            "cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not "
            f"{type(target).__name__}"
        )
    class_dim = 0 if input.ndim == 1 else 1
    if target._array.shape == input._array.shape:
        _check_probabilities(input, target, weight, class_dim, ignore_index)
        return _probability_loss(input, target, weight, number, label_smoothing, class_dim)
    if label_smoothing > 0.0:
        if label_smoothing > 1.0:
            raise RuntimeError(
                f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
            )
        return _smoothed(input, target, weight, number, ignore_index, label_smoothing, class_dim)
    return _nll_loss(log_softmax_dim(input, class_dim), target, weight, number, ignore_index)


def _check_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, class_dim: int, ignore_index: int
) -> None:
    if target._array.dtype.kind not in "fV":
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{scalar_type(target._array.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input._array.shape[class_dim] if input.ndim else 1
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {list(weight._array.shape)}"
        )


def _probability_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    label_smoothing: float,
    class_dim: int,
) -> Tensor:
    classes = input._array.shape[existing_dim(class_dim, input.ndim)]
    if label_smoothing > 0.0:
        target = mul_scalar(target, 1 - label_smoothing)
        target = add_scalar(target, label_smoothing / classes)
    losses = log_softmax_dim(input, class_dim) * target
    if weight is not None:
        losses = losses * _along_classes(weight, input.ndim)
    if reduction == NONE:
        return -sum_dim(losses, (class_dim,))
    if reduction == SUM:
        return -sum_all(losses)
    if not input._array.size:
        result = -sum_all(losses)
        result._array.fill(np.nan)
        return result
    return div_scalar(-sum_all(losses), input._array.size // classes)


def _along_classes(weight: Tensor, ndim: int) -> Tensor:
    return weight.view((1, -1) + (1,) * (ndim - 2)) if ndim > 1 else weight


def _counted(target: Tensor, ignored: np.ndarray, weight: Any) -> Any:
    """Return how many targets count, or the sum of their weights."""
    if not has_elements(ignored):
        return 1
    counted = target._array[~ignored]
    return counted.size if weight is None else weight._array[counted].sum()


@whole("smoothed_cross_entropy")
def _smoothed(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    class_dim: int,
) -> Tensor:
    """Mix the loss of the target classes with that of the uniform distribution."""
    values = log_softmax_dim(input, class_dim)
    exact = _nll_loss(values, target, weight, reduction, ignore_index)
    if weight is None:
        uniform = -sum_dim(values, (class_dim,))
    else:
        uniform = -sum_dim(values * _along_classes(weight, input.ndim), (class_dim,))
    ignored = target._array == ignore_index
    uniform = uniform.masked_fill(wrap(ignored.reshape(uniform._array.shape)), 0.0)
    if reduction == MEAN:
        uniform = sum_all(uniform) / wrap(np.asarray(_counted(target, ignored, weight)))
    elif reduction == SUM:
        uniform = sum_all(uniform)
    share = label_smoothing / input._array.shape[class_dim]
    return mul_scalar(exact, 1 - label_smoothing) + mul_scalar(uniform, share)
