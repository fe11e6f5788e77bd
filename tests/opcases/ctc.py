"""Rows of the CTC loss.

Its gradient is meant for log-probabilities that come out of a softmax, and is no derivative without
one: the tests of `nn.CTCLoss` compare it with PyTorch's and with differences.
"""

from __future__ import annotations

import itertools

import numpy as np

from op_case import Fixed, OpCase, Raises, sample


def log_probs(rng, *shape):
    scores = rng.normal(size=shape)
    return Fixed(scores - np.log(np.exp(scores).sum(-1, keepdims=True)))


def collapsed(path, blank):
    """Return what an alignment spells: runs become one label, blanks vanish."""
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def spelled(log_probs, target, blank):
    """Return minus the log of the sum over all alignments that spell the target, one by one."""
    steps, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        if collapsed(path, blank) == tuple(target):
            total += np.exp(sum(log_probs[step, label] for step, label in enumerate(path)))
    return -np.log(total) if total else np.inf


def reference(log_probs, targets, inputs, labels, blank=0, reduction="mean", zero_infinity=False):
    single = log_probs.ndim == 2
    if single:
        log_probs, targets = log_probs[:, None], targets[None]
    if targets.ndim == 1:
        starts = np.cumsum([0, *labels])
        rows = [targets[start:] for start in starts[:-1]]
    else:
        rows = targets
    losses = np.array(
        [
            spelled(log_probs[:steps, nr], rows[nr][:count], blank)
            for nr, (steps, count) in enumerate(zip(inputs, labels, strict=True))
        ]
    )
    if zero_infinity:
        losses[np.isinf(losses)] = 0
    if reduction in ("mean", 1):
        return (losses / np.maximum(labels, 1)).mean()
    if reduction in ("sum", 2):
        return losses.sum()
    return losses[0] if single else losses


def numbered_reference(log_probs, targets, inputs, labels, blank=0, reduction=0, **options):
    return reference(log_probs, targets, inputs, labels, blank, reduction, **options)


def calls(rng, reductions):
    targets = np.array([[1, 2], [2, 2], [1, 0]])
    for reduction in reductions:
        yield sample(log_probs(rng, 4, 3, 3), targets, (4, 4, 3), (2, 2, 1), 0, reduction)
    last = reductions[-1]
    yield sample(log_probs(rng, 4, 2, 3), np.array([0, 1, 1]), (4, 3), (2, 1), 2, last)
    yield sample(log_probs(rng, 3, 2, 3), targets[:2], (3, 2), (0, 2), 0, last)
    yield sample(log_probs(rng, 3, 2, 3), targets[:2], (3, 2), (1, 2), 0, last, zero_infinity=True)
    yield sample(log_probs(rng, 4, 3), np.array([1, 2]), (4,), (2,), 0, last)


WELL = Fixed(np.zeros((2, 1, 3)))
ONE = np.array([[1]])


def wrong(text, *args, error=RuntimeError):
    return Raises(error, text, sample(*args))


ERRORS = (
    wrong("input_lengths must be of size batch_size", WELL, ONE, (2, 2), (1,)),
    wrong("target_lengths must be of size batch_size", WELL, ONE, (2,), (1, 1)),
    wrong("Expected input_lengths to have value at most 2, but got value 3", WELL, ONE, (3,), (1,)),
    wrong("Expected input_lengths to have value at least 0, but got", WELL, ONE, (-1,), (1,)),
    wrong("Expected tensor to have size at least 2 at dimension 1, but", WELL, ONE, (2,), (2,)),
    wrong("Expected tensor to have size 2 at dimension 0, but", WELL, ONE[0], (2,), (2,)),
    wrong("blank must be in label range", WELL, ONE, (2,), (1,), 3),
    wrong("input_lengths must be integral", WELL, ONE, Fixed(np.array([2.0])), np.array([1])),
    wrong("Expected 3-dimensional tensor, but got 2-dim", Fixed(np.zeros(3)), ONE, (2,), (1,)),
    wrong("Expected 1 to 2 dimensions, but got 3-dim", WELL, ONE[None], (2,), (1,)),
    wrong("log_probs tensor must not be empty", Fixed(np.zeros((0, 1, 3))), ONE, (0,), (1,)),
    wrong(
        "\"ctc_loss_cpu\" not implemented for 'Long'",
        np.zeros((2, 1, 3), int),
        ONE,
        (2,),
        (1,),
        error=NotImplementedError,
    ),
)

CASES = [
    OpCase(
        "nn.functional.ctc_loss",
        lambda rng: list(calls(rng, ("mean", "sum", "none"))),
        reference,
        differentiable=False,
        forward_ad=False,
        errors=ERRORS,
    ),
    OpCase(
        "ctc_loss",
        lambda rng: list(calls(rng, (1, 2, 0))),
        numbered_reference,
        differentiable=False,
        forward_ad=False,
    ),
]
