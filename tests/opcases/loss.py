"""Rows of the losses of `nn.functional`: every reduction, weights, shapes, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

REDUCTIONS = ("none", "mean", "sum")
CLASH = "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1"
BAD = "bad is not a valid value for reduction"
Make = Callable[[np.random.Generator], list[Sample]]


def reduced(make: Make) -> Make:
    """Return every sample with every reduction."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        return [
            Sample(each.args, {**each.kwargs, "reduction": reduction})
            for each in make(rng)
            for reduction in REDUCTIONS
        ]

    return samples


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


OTHERS = ("int64", "uint8", "bool", "complex128")  # most losses refuse these, in several ways


def row(
    name: str, make: Make, *errors: Raises, forward_dtypes: tuple[str, ...] = (), **claims: Any
) -> OpCase:
    dtypes = (*forward_dtypes, *OTHERS)
    return OpCase(
        f"nn.functional.{name}", reduced(make), errors=errors, forward_dtypes=dtypes, **claims
    )


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def signs(rng: np.random.Generator, *shape: int) -> Fixed:
    return Fixed(rng.integers(0, 2, shape) * 2.0 - 1.0)


# --- input and target of one shape -----------------------------------------------------------


def pairs(*keywords: dict[str, Any]) -> Make:
    """Return pairs of tensors, both differentiable and with a fixed target."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        normal = rng.standard_normal
        found = [
            sample(normal((2, 3)), normal((2, 3)) * 3),
            sample(normal(3), Fixed(normal(3))),
            sample(normal(()), normal(())),
        ]
        return found + [Sample((normal((2, 3)), normal((2, 3)) * 3), each) for each in keywords]

    return samples


WRONG_REDUCTION = fails(ValueError, BAD, zeros(2), zeros(2), reduction="bad")
WEIGHT = Fixed(np.array([[0.5, 1.0, 2.0], [1.5, 0.25, 3.0]]))
WRONG_WEIGHT = fails(
    ValueError, "Weights and input must have the same size", zeros(2), zeros(2), weight=zeros(3)
)
INTS = np.ones(2, np.int64)

ELEMENTWISE = [
    row(
        "mse_loss",
        pairs({"weight": WEIGHT}),
        WRONG_REDUCTION,
        WRONG_WEIGHT,
        fails(NotImplementedError, "\"mse_cpu\" not implemented for 'Long'", INTS, INTS),
        forward_dtypes=("float16", "bfloat16"),
    ),
    row("l1_loss", pairs({"weight": WEIGHT}), WRONG_REDUCTION, WRONG_WEIGHT),
    row(
        "smooth_l1_loss",
        pairs({"beta": 0.5}, {"beta": 0.0}),
        WRONG_REDUCTION,
        fails(RuntimeError, "does not support negative values", zeros(2), zeros(2), beta=-1.0),
        fails(NotImplementedError, '"smooth_l1_cpu" not implemented', INTS, INTS),
        forward_dtypes=("float16",),
    ),
    row(
        "huber_loss",
        pairs({"delta": 0.5}, {"weight": WEIGHT}),
        WRONG_REDUCTION,
        WRONG_WEIGHT,
        fails(RuntimeError, "does not support non-positive values", zeros(2), zeros(2), delta=0.0),
        fails(RuntimeError, "result type Double can't be cast", INTS, zeros(2)),
        fails(RuntimeError, "result type ComplexDouble can't be cast", zeros(2), zeros(2) * 1j),
        forward_dtypes=("float16",),
    ),
    row(
        "soft_margin_loss",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), signs(rng, 2, 3)),
            sample(rng.standard_normal(()), signs(rng)),
        ],
        WRONG_REDUCTION,
        fails(RuntimeError, CLASH, zeros(2, 3), zeros(2)),
        fails(RuntimeError, "result type Double can't be cast", INTS, zeros(2)),
        fails(RuntimeError, "result type ComplexDouble can't be cast", zeros(2), zeros(2) * 1j),
    ),
    row(
        "poisson_nll_loss",
        lambda rng: [
            sample(rng.standard_normal((2, 3)), rng.random((2, 3)) * 4),
            sample(rng.random(3) + 1, Fixed(rng.random(3) * 4), log_input=False, eps=1e-3),
            sample(rng.standard_normal((2, 3)), rng.random((2, 3)) * 4 + 1.5, full=True),
        ],
        WRONG_REDUCTION,
        fails(RuntimeError, "non-singleton dimension 1", zeros(2, 3), zeros(2)),
    ),
    row(
        "gaussian_nll_loss",
        lambda rng: [
            sample(
                rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), rng.random((2, 3)) + 1
            ),
            sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), rng.random(2) + 1),
            sample(
                rng.standard_normal((2, 3)), Fixed(zeros(2, 3)), rng.random((2, 1)) + 1, full=True
            ),
            sample(rng.standard_normal(3), Fixed(zeros(3)), 0.5),
        ],
        fails(ValueError, "var is of incorrect size", zeros(2, 3), zeros(2, 3), zeros(4)),
        fails(ValueError, "var has negative entry/entries", zeros(2), zeros(2), zeros(2) - 1),
        fails(ValueError, "bad is not valid", zeros(2), zeros(2), zeros(2) + 1, reduction="bad"),
    ),
]


def probabilities(rng: np.random.Generator) -> list[Sample]:
    def inside(*shape: int) -> np.ndarray:
        return np.asarray(rng.random(shape) * 0.8 + 0.1)

    return [
        sample(inside(2, 3), inside(2, 3)),
        sample(inside(3), Fixed(inside(3))),
        sample(inside(2, 3), inside(2, 3), Fixed(inside(3))),
        sample(inside(), inside()),
    ]


def logits(rng: np.random.Generator) -> list[Sample]:
    normal, share = rng.standard_normal, rng.random
    return [
        sample(normal((2, 3)), share((2, 3))),
        sample(normal(3) * 50, Fixed(share(3))),
        sample(normal((2, 3)), share((2, 3)), Fixed(share(3))),
        sample(normal((2, 3)), share((2, 3)), pos_weight=Fixed(share(3) * 3)),
        sample(normal((2, 3)), Fixed(share((2, 3))), Fixed(share(3)), pos_weight=Fixed(share(3))),
        sample(normal(()), share(())),
    ]


HALVES = np.full(3, 0.5)
BINARY = [
    row(
        "binary_cross_entropy",
        probabilities,
        fails(ValueError, BAD, HALVES, HALVES, reduction="bad"),
        fails(RuntimeError, "all elements of input should be between 0 and 1", HALVES * 4, HALVES),
        fails(ValueError, "Using a target size (torch.Size([2]))", HALVES, zeros(2)),
        fails(RuntimeError, "Found dtype Long but expected Double", HALVES, np.ones(3, np.int64)),
        fails(RuntimeError, "broadcast a dimension of length 2 at -1!", HALVES, HALVES, zeros(2)),
    ),
    row(
        "binary_cross_entropy_with_logits",
        logits,
        fails(ValueError, BAD, HALVES, HALVES, reduction="bad"),
        fails(ValueError, "Target size (torch.Size([2])) must be", HALVES, zeros(2)),
        fails(RuntimeError, "The size of tensor a (3) must match", HALVES, HALVES, zeros(2)),
    ),
]


def divergences(rng: np.random.Generator) -> list[Sample]:
    normal, share = rng.standard_normal, rng.random
    calls = [
        sample(normal((2, 3)), share((2, 3)) + 0.1),
        sample(normal((2, 3)), Fixed(share((2, 3)))),
        sample(normal((2, 3)), normal((2, 3)), log_target=True),
        sample(normal(()), np.array(0.6)),
    ]
    names = ("none", "sum", "batchmean")  # "mean" warns
    return [
        Sample(each.args, {**each.kwargs, "reduction": name}) for each in calls for name in names
    ]


# --- classes ---------------------------------------------------------------------------------


def classes(rng: np.random.Generator, log: bool) -> list[Sample]:
    """Return inputs of every shape with class indices, weights and ignored targets."""

    def scores(*shape: int) -> np.ndarray:
        found = rng.standard_normal(shape)
        return found - 3 if log else found

    def labels(*shape: int) -> np.ndarray:
        return np.asarray(rng.integers(0, 4, shape))

    weight = Fixed(rng.random(4) + 0.5)
    some_ignored = np.array([1, -100, 3])
    return [
        sample(scores(3, 4), labels(3)),
        sample(scores(3, 4), labels(3), weight),
        sample(scores(3, 4), some_ignored),
        sample(scores(3, 4), some_ignored, weight),
        sample(scores(3, 4), labels(3), ignore_index=2),
        sample(scores(20, 4), labels(20)),
        sample(scores(4), labels()),
        sample(scores(4), labels(), weight),
        sample(scores(2, 4, 3), labels(2, 3)),
        sample(scores(2, 4, 3, 2), labels(2, 3, 2), weight, ignore_index=1),
        sample(scores(2, 4, 2, 2, 2), labels(2, 2, 2, 2)),
        sample(scores(3, 4), labels(3).astype(np.uint8)),
    ]


def entropies(rng: np.random.Generator) -> list[Sample]:
    normal, share = rng.standard_normal, rng.random
    weight = Fixed(share(4) + 0.5)
    smooth = {"label_smoothing": 0.2}
    indices = classes(rng, log=False)
    return [
        *indices,
        *(Sample(each.args, {**each.kwargs, **smooth}) for each in indices[:-1]),
        sample(normal((3, 4)), share((3, 4))),
        sample(normal((3, 4)), Fixed(share((3, 4))), weight),
        sample(normal((2, 4, 3)), share((2, 4, 3)), weight, label_smoothing=0.1),
        sample(normal(4), share(4)),
    ]


SCORES = zeros(3, 4)
LABELS = np.array([0, 1, 3])
NOT_LONG = "expected target dtype to be Long or Byte, but got Int"
CLASS_ERRORS = (
    fails(ValueError, BAD, SCORES, LABELS, reduction="bad"),
    fails(IndexError, "Target 4 is out of bounds.", SCORES, LABELS + 1),
    fails(IndexError, "Target -1 is out of bounds.", SCORES, LABELS - 1),
    fails(ValueError, "Expected input batch_size (3) to match target", SCORES, LABELS[:2]),
    fails(RuntimeError, NOT_LONG, SCORES, LABELS.astype(np.int32)),
    fails(RuntimeError, "all 4 classes or no classes but got", SCORES, LABELS, zeros(3)),
    fails(
        RuntimeError,
        "Expected target size [2, 3], got [2, 5]",
        zeros(2, 4, 3),
        np.ones((2, 5), int),
    ),
)
CATEGORICAL = [
    row(
        "nll_loss",
        lambda rng: classes(rng, log=True),
        *CLASS_ERRORS,
        fails(ValueError, "Expected 1 or more dimensions (got 0)", zeros(), np.array(0)),
        fails(RuntimeError, "0D or 1D target tensor expected", SCORES, np.ones((3, 4), int)),
        fails(
            RuntimeError, "size mismatch (got input:", zeros(2, 4, 3, 3), np.ones((2, 3, 2), int)
        ),
        forward_dtypes=("float16",),
    ),
    row(
        "cross_entropy",
        entropies,
        *CLASS_ERRORS,
        fails(
            RuntimeError, "Expected floating point type for target", SCORES, np.ones((3, 4), int)
        ),
        fails(RuntimeError, "label_smoothing must be between", SCORES, LABELS, label_smoothing=1.5),
        fails(RuntimeError, "ignore_index is not supported", SCORES, SCORES, ignore_index=1),
        fails(RuntimeError, "cross_entropy: weight tensor should be", SCORES, SCORES, zeros(3)),
    ),
]


# --- margins ---------------------------------------------------------------------------------


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return numbers whose differences stay away from margins of halves."""
    count = int(np.prod(shape))
    return np.asarray(rng.permutation(count).reshape(shape) * 0.37 - 0.6)


MANY_LABELS = np.array([[3, 0, -1, 1], [1, 2, 0, -1], [-1, 0, 1, 2]])
MARGINS = [
    row(
        "hinge_embedding_loss",
        lambda rng: [
            sample(spread(rng, 2, 3), signs(rng, 2, 3)),
            sample(spread(rng, 3), signs(rng, 3), margin=0.5),
        ],
        fails(RuntimeError, "The size of tensor a (2) must match", zeros(3), zeros(2)),
        fails(ValueError, BAD, zeros(3), zeros(3), reduction="bad"),
    ),
    row(
        "margin_ranking_loss",
        lambda rng: [
            sample(spread(rng, 4), spread(rng, 4) + 0.1, signs(rng, 4)),
            sample(spread(rng, 2, 3), spread(rng, 2, 3) + 0.1, signs(rng, 2, 3), 0.5),
        ],
        fails(RuntimeError, "should have same dimension", zeros(2), zeros(2), zeros(2, 1)),
    ),
    row(
        "cosine_embedding_loss",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), np.array([1, -1, 1])),
            sample(
                rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), np.array([-1, -1, 1]), 0.2
            ),
            sample(rng.standard_normal(4), rng.standard_normal(4), np.array(1)),
        ],
        fails(RuntimeError, "multi-target not supported", SCORES, SCORES, np.ones((3, 4))),
        fails(RuntimeError, "1D target tensor expects 2D", SCORES, zeros(4), np.ones(3)),
        fails(RuntimeError, "0D target tensor expects 1D", SCORES, SCORES, np.array(1)),
    ),
    row(
        "triplet_margin_loss",
        lambda rng: [
            Sample(tuple(rng.standard_normal((3, 4)) for _ in range(3)), keywords)
            for keywords in ({}, {"swap": True, "margin": 3.0}, {"p": 1, "eps": 1e-3})
        ],
        fails(ValueError, "margin must be greater than 0", SCORES, SCORES, SCORES, margin=0.0),
        fails(RuntimeError, "the same number of dimensions", SCORES, SCORES, zeros(4)),
        tolerance=1e-4,  # a difference of large distances
    ),
    row(
        "triplet_margin_with_distance_loss",
        lambda rng: [
            Sample(tuple(rng.standard_normal((3, 4)) for _ in range(3)), keywords)
            for keywords in ({}, {"swap": True, "margin": 3.0})
        ],
        fails(ValueError, "margin must be greater than 0", SCORES, SCORES, SCORES, margin=-1.0),
    ),
    row(
        "multi_margin_loss",
        lambda rng: [
            sample(spread(rng, 3, 4), LABELS),
            sample(spread(rng, 3, 4), LABELS, p=2, margin=0.5, weight=Fixed(rng.random(4))),
            sample(spread(rng, 4), np.array(1)),
        ],
        fails(ValueError, "only p == 1 and p == 2 supported", SCORES, LABELS, p=3),
        fails(RuntimeError, "target out of range", SCORES, LABELS + 1),
        fails(RuntimeError, "Expected target size [3], but got [2]", SCORES, LABELS[:2]),
        fails(RuntimeError, "inconsistent weight size", SCORES, LABELS, weight=zeros(2)),
        fails(RuntimeError, "expected scalar type Long", SCORES, LABELS.astype(np.int32)),
        fails(RuntimeError, "Expected non-empty vector or matrix", zeros(2, 3, 4), LABELS),
        gradgrad=False,
    ),
    row(
        "multilabel_margin_loss",
        lambda rng: [
            sample(spread(rng, 3, 4), MANY_LABELS),
            sample(spread(rng, 4), MANY_LABELS[0]),
        ],
        fails(RuntimeError, "inconsistent target size: [2, 4]", SCORES, MANY_LABELS[:2]),
        fails(RuntimeError, "argument #2 'target' is out of range", SCORES, MANY_LABELS + 9),
        gradgrad=False,
    ),
    row(
        "multilabel_soft_margin_loss",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), rng.random((3, 4))),
            sample(rng.standard_normal((3, 4)), Fixed(rng.random((3, 4))), Fixed(rng.random(4))),
            sample(rng.standard_normal(4), Fixed(rng.random(4))),
        ],
        fails(ValueError, "bad is not valid", SCORES, SCORES, reduction="bad"),
    ),
]

CASES = [
    *ELEMENTWISE,
    *BINARY,
    OpCase("nn.functional.kl_div", divergences, forward_dtypes=OTHERS),
    *CATEGORICAL,
    *MARGINS,
]
