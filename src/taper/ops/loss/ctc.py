"""The connectionist temporal classification loss.

Owns: the sums over alignments, forwards (`alpha`) and backwards (`beta`), all samples of a batch at
once.  A label sequence of length S is extended by blanks before, between and after its labels to
2 S + 1 states; an alignment goes through them from left to right and may skip a blank between
different labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.reduction import no_forward_mode, scalar_type
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.creation.data import tensor
from taper.ops.elementwise.blend import where
from taper.ops.loss.elementwise import MEAN, NONE, reduction_number
from taper.tensor import Tensor

Lengths = tuple[int, ...]

_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


# --- checks ----------------------------------------------------------------------------------


def _check(
    log_probs: np.ndarray, targets: np.ndarray, inputs: Lengths, labels: Lengths, blank: int
) -> None:
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dtype.kind != "f" or log_probs.dtype.itemsize < 4:
        name = scalar_type(log_probs.dtype)
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{name}'")
    if log_probs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor for "
            f"argument #1 'log_probs' {_WHERE}"
        )
    if not 1 <= targets.ndim <= 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument "
            f"#2 'targets' {_WHERE}"
        )
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", inputs), ("target_lengths", labels)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
        for length in lengths:
            if length < 0:
                raise RuntimeError(
                    f"Expected {name} to have value at least 0, but got value {length} {_WHERE}"
                )
    _check_targets(targets, labels)
    longest = max(inputs)
    if longest > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {longest} "
            f"{_WHERE}"
        )


def _check_targets(targets: np.ndarray, labels: Lengths) -> None:
    if targets.ndim == 1 and len(targets) != sum(labels):
        raise RuntimeError(
            f"Expected tensor to have size {sum(labels)} at dimension 0, but got size "
            f"{len(targets)} for argument #2 'targets' {_WHERE}"
        )
    if targets.ndim == 2 and targets.shape[1] < max(labels):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(labels)} at dimension 1, but got size "
            f"{targets.shape[1]} for argument #2 'targets' {_WHERE}"
        )


# --- alignments ------------------------------------------------------------------------------


class Alignment:
    """Holds the states of a batch: their labels, which exist, which a skip may reach."""

    def __init__(
        self, log_probs: np.ndarray, targets: np.ndarray, lengths: Lengths, blank: int
    ) -> None:
        batch = log_probs.shape[1]
        self.count = 2 * max(lengths) + 1
        self.labels = np.full((batch, self.count), blank, np.int64)
        start = 0
        for row, length in enumerate(lengths):
            own = targets[row] if targets.ndim == 2 else targets[start:]
            self.labels[row, 1 : 2 * length + 1 : 2] = own[:length]
            start += length
        if self.labels.min() < 0 or self.labels.max() >= log_probs.shape[2]:
            raise IndexError("targets must be in label range")
        self.last = 2 * np.array(lengths, np.int64)  # the state of the last blank
        self.exists = np.arange(self.count) <= self.last[:, None]
        self.skips = np.zeros((batch, self.count), bool)
        self.skips[:, 2:] = self.labels[:, 2:] != self.labels[:, :-2]
        # log_probs of the states: (steps, batch, states)
        self.scores = np.take_along_axis(log_probs, self.labels[None], 2)
        self.scores[:, ~self.exists] = -np.inf

    def forwards(self) -> np.ndarray:
        """Compute for each time and state the log of the sum over alignments that lead there."""
        alpha = np.full_like(self.scores, -np.inf)
        alpha[0, :, :2] = self.scores[0, :, :2]
        for step in range(1, len(alpha)):
            before = alpha[step - 1]
            total = before.copy()
            total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
            skipped = np.where(self.skips[:, 2:], before[:, :-2], -np.inf)
            total[:, 2:] = np.logaddexp(total[:, 2:], skipped)
            alpha[step] = total + self.scores[step]
        return alpha

    def backwards(self, inputs: Lengths) -> np.ndarray:
        """Compute for each time and state the log of the sum over alignments that go on there."""
        beta = np.full_like(self.scores, -np.inf)
        ends = np.array(inputs)
        rows = np.arange(len(ends))
        for step in reversed(range(len(beta))):
            starting = rows[ends == step + 1]
            for state in (self.last[starting], np.maximum(self.last[starting] - 1, 0)):
                beta[step, starting, state] = self.scores[step, starting, state]
            running = ends > step + 1
            if running.any():
                after = beta[step + 1]
                total = after.copy()
                total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
                skipped = np.where(self.skips[:, 2:], after[:, 2:], -np.inf)
                total[:, :-2] = np.logaddexp(total[:, :-2], skipped)
                beta[step, running] = (total + self.scores[step])[running]
        return beta


def _losses(alpha: np.ndarray, inputs: Lengths, labels: Lengths) -> np.ndarray:
    losses = np.zeros(alpha.shape[1], alpha.dtype)
    for row, (length, states) in enumerate(zip(inputs, labels, strict=True)):
        if length == 0:
            losses[row] = np.inf if states else 0
            continue
        end = alpha[length - 1, row]
        found = end[2 * states]
        losses[row] = -(np.logaddexp(found, end[2 * states - 1]) if states else found)
    return losses


# --- the operator ----------------------------------------------------------------------------


@op(
    name="_ctc_loss",
    label="ctc_loss",
    node="CtcLossBackward0",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    public=False,
    method=False,
)
def ctc_losses(
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    """Compute the loss of each sample, and `alpha` as (batch, steps, states)."""
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    alpha = Alignment(log_probs, targets, target_lengths, blank).forwards()
    losses = _losses(alpha, input_lengths, target_lengths)
    return losses, np.ascontiguousarray(alpha.transpose(1, 0, 2))


@derivative(ctc_losses, wrt="log_probs")
def ctc_losses_log_probs(
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Lengths,
    target_lengths: Lengths,
    result0: Any,
    result1: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    return ctc_loss_backward(
        grad,
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        result0,
        result1,
        blank,
        zero_infinity,
    )


@tangent_of(ctc_losses)
def ctc_losses_tangent(log_probs_t: Any) -> Any:
    raise no_forward_mode("_ctc_loss")


@op(name="_ctc_loss_backward", public=False, method=False)
def ctc_loss_backward(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """Compute probability minus share of the alignments that pass, for each time and label."""
    states = Alignment(log_probs, targets, target_lengths, blank)
    passing = log_alpha.transpose(1, 0, 2) + states.backwards(input_lengths)
    shares = np.full_like(log_probs, -np.inf)
    for state in range(states.count):
        places = states.labels[None, :, state : state + 1]
        places = np.broadcast_to(places, (*shares.shape[:2], 1))
        sums = np.logaddexp(np.take_along_axis(shares, places, 2), passing[:, :, state, None])
        np.put_along_axis(shares, places, sums, 2)
    losses = neg_log_likelihood[:, None]
    result = (np.exp(log_probs) - np.exp(shares + losses - log_probs)) * grad[:, None]
    result[np.arange(len(result))[:, None] >= np.array(input_lengths)] = 0
    if zero_infinity:
        result[:, np.isinf(neg_log_likelihood)] = 0
    return result


@derivative(ctc_loss_backward, wrt=("grad", "log_probs"))
def ctc_loss_twice(grad: Any) -> Any:
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")


@tangent_of(ctc_loss_backward)
def ctc_loss_backward_tangent(grad_t: Any) -> Any:
    raise no_forward_mode("_ctc_loss_backward")


# --- public ----------------------------------------------------------------------------------


def _lengths(name: str, lengths: Any) -> Lengths:
    if not isinstance(lengths, Tensor):
        return tuple(lengths)
    if lengths.dtype.is_floating_point or lengths.dtype.is_complex:
        raise RuntimeError(f"{name} must be integral")
    return tuple(lengths.reshape(-1).tolist())


@composite(method=False, name="ctc_loss")
def numbered_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = NONE,
    zero_infinity: bool = False,
) -> Tensor:
    """Compute `nn.functional.ctc_loss`, given a reduction's number.

    >>> import taper
    >>> log_probs = taper.zeros(2, 1, 2).log_softmax(2)
    >>> taper.ctc_loss(log_probs, taper.tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
    batched = log_probs.dim() != 2
    if log_probs.dim() < 3:
        log_probs = log_probs.unsqueeze(1)
    inputs = _lengths("input_lengths", input_lengths)
    labels = _lengths("target_lengths", target_lengths)
    losses = ctc_losses(log_probs, targets, inputs, labels, blank, zero_infinity)[0]
    if zero_infinity:
        losses = where(losses == float("inf"), 0.0, losses)
    if reduction == MEAN:
        counts = tensor([max(length, 1) for length in labels], device=losses.device)
        return (losses / counts).mean()
    if reduction == NONE:
        return losses if batched else losses.squeeze(0)
    return losses.sum()


@composite(method=False, public=False)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Compute the negative log-likelihood of label sequences, summed over all alignments.

    Args:
        log_probs: log-probabilities (T, N, C) or (T, C) of C classes at T steps.
        targets: classes (N, longest) or all sequences in one vector.
        input_lengths: number of steps of each sequence.
        target_lengths: number of labels of each sequence.
        blank: class that stands for no label.
        reduction: "mean" (losses divided by the lengths of their targets), "sum" or "none".
        zero_infinity: replace infinite losses, of targets too long to align, and their gradients by
            0.

    Shape: 0-d; with "none" (N,).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> log_probs = taper.zeros(2, 2).log_softmax(1)
        >>> F.ctc_loss(log_probs, taper.tensor([1]), taper.tensor(2), taper.tensor(1))
        tensor(0.2877)
    """
    number = reduction_number(reduction)
    return numbered_ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity
    )
