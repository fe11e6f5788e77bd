"""Rows of functions at the top level of PyTorch: losses by number, slopes, in-place functions."""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

NONE, MEAN, SUM = 0, 1, 2
EVERY = (NONE, MEAN, SUM, 7)  # an unknown number means none
PLACES = np.array([0.0, 1.0, 1.5, 3.5, 4.0])


def apart(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return numbers that stay on their side of the corners of margins."""
    signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    return signs * (0.2 + rng.random(shape) * 0.5)


def signs(*shape: int) -> np.ndarray:
    return np.where(np.arange(np.prod(shape, dtype=int)) % 2, -1, 1).reshape(shape)


def logits(rng: np.random.Generator) -> list[Sample]:
    x, weight = rng.standard_normal((2, 3)), Fixed(rng.random((2, 3)))
    found = [sample(x, rng.random((2, 3)), reduction=each) for each in EVERY]
    return [*found, sample(x, rng.random((2, 3)), weight, weight, MEAN)]


def divergences(rng: np.random.Generator) -> list[Sample]:
    x = rng.standard_normal((2, 3))
    found = [sample(x, Fixed(rng.random((2, 3)) + 0.1), each) for each in EVERY]
    return [*found, sample(x, rng.standard_normal((2, 3)), SUM, log_target=True)]


def counts(rng: np.random.Generator) -> list[Sample]:
    x, target = rng.random((2, 3)) + 0.5, Fixed(rng.random((2, 3)) * 3 + 1.5)
    found = [sample(x, target, True, False, 1e-8, each) for each in EVERY]
    return [*found, sample(x, target, False, True, 1e-8, MEAN)]


def hinges(rng: np.random.Generator) -> list[Sample]:
    return [
        sample(apart(rng, 2, 3), signs(2, 3)),
        *(sample(apart(rng, 2, 3), signs(2, 3), 0.8, each) for each in EVERY),
    ]


def rankings(rng: np.random.Generator) -> list[Sample]:
    low, high = rng.random((2, 3)), rng.random((2, 3)) + 2
    return [
        sample(low, high, signs(2, 3)),
        sample(low, high, np.array(1)),
        *(sample(low, high, signs(2, 3), 0.5, each) for each in EVERY),
    ]


def angles(rng: np.random.Generator) -> list[Sample]:
    first, second = rng.random((2, 3)) + 0.1, rng.random((2, 3)) + 0.1
    return [
        sample(first, second, signs(2)),
        sample(first[0], second[0], np.array(1)),
        *(sample(first, second, signs(2), 0.1, each) for each in EVERY),
    ]


def triplets(rng: np.random.Generator) -> list[Sample]:
    anchor, positive, negative = (rng.standard_normal((2, 3)) for _ in range(3))
    return [
        sample(anchor, positive, negative, margin=9.0),
        *(sample(anchor, positive, negative, 9.0, 3.0, 1e-5, True, each) for each in EVERY),
    ]


def slopes(rng: np.random.Generator) -> list[Sample]:
    x = rng.standard_normal((5, 4))
    return [
        sample(x),
        sample(x, spacing=2.0, dim=1),
        sample(x, spacing=[2.0, 0.5], edge_order=2),
        sample(x, spacing=0.5, dim=(1, -2)),
        sample(x, spacing=[PLACES], dim=0),
        sample(x, spacing=[PLACES], dim=0, edge_order=2),
        sample(rng.standard_normal(3), edge_order=2),
        sample(x, dim=[]),
        sample(np.array(1.0)),
    ]


STRING = "argument 'reduction' must be int, not str"
TINY = np.zeros((2, 3))
OTHERS = ("int64", "uint8", "bool", "complex128")  # beside the dtypes that losses are for

CASES = [
    OpCase(
        "binary_cross_entropy_with_logits",
        logits,
        errors=(Raises(TypeError, STRING, sample(TINY, TINY, reduction="mean")),),
    ),
    OpCase(
        "kl_div",
        divergences,
        forward_dtypes=OTHERS,
        errors=(
            Raises(TypeError, STRING, sample(TINY, TINY, reduction="mean")),
            Raises(
                RuntimeError,
                "kl_div: Integral inputs not supported.",
                sample(np.zeros(2, np.int64), np.zeros(2, np.int64)),
            ),
        ),
    ),
    OpCase("poisson_nll_loss", counts, forward_dtypes=OTHERS),
    OpCase("hinge_embedding_loss", hinges, forward_dtypes=OTHERS),
    OpCase("margin_ranking_loss", rankings, forward_dtypes=OTHERS),
    OpCase(
        "cosine_embedding_loss",
        angles,
        forward_dtypes=OTHERS,
        errors=(
            Raises(
                RuntimeError, "0D target tensor expects 1D input", sample(TINY, TINY, np.array(1))
            ),
        ),
    ),
    OpCase("triplet_margin_loss", triplets, forward_dtypes=OTHERS),
    OpCase(
        "gradient",
        slopes,
        complex=True,
        forward_dtypes=("float16", "bfloat16", "int64", "int8"),
        errors=(
            Raises(RuntimeError, "only supports edge_order=1 and", sample(TINY, edge_order=3)),
            Raises(RuntimeError, "at least edge_order+1", sample(TINY, edge_order=2)),
            Raises(RuntimeError, "equal to 'self.dim() = 2', since", sample(TINY, spacing=[1.0])),
            Raises(
                RuntimeError,
                "got a spacing argument of length 1 and a dim argument of length 2.",
                sample(TINY, spacing=[1.0], dim=(0, 1)),
            ),
            Raises(
                RuntimeError,
                "but got an element with 2 dimensions!",
                sample(np.zeros(2), spacing=[TINY]),
            ),
            Raises(RuntimeError, "dim 0 appears multiple times", sample(TINY, dim=(0, -2))),
            Raises(IndexError, "Dimension out of range (expected", sample(TINY, dim=5)),
            Raises(
                RuntimeError, "does not support uint8 input", sample(np.zeros(3, dtype=np.uint8))
            ),
            Raises(TypeError, "gradient() received an invalid", sample(TINY, spacing=np.zeros(3))),
            Raises(TypeError, "argument 'input' (position 1) must be Tensor", sample(1.0)),
        ),
    ),
    OpCase(
        "as_strided_scatter",
        # PyTorch's gradient of the first is wrong; `test_top_level.py` has ours
        lambda rng: [
            sample(Fixed(rng.random((3, 4))), rng.standard_normal((2, 2)), (2, 2), (4, 1)),
            sample(Fixed(rng.random((3, 4))), rng.standard_normal((2, 2)), (2, 2), (4, 1), 5),
            sample(Fixed(rng.random(6)), rng.standard_normal(()), (), (), 2),
            sample(Fixed(rng.random(6)), rng.standard_normal((0, 2)), (0, 2), (2, 1)),
        ],
        forward_dtypes=("float16", "bfloat16"),
        errors=(
            Raises(
                RuntimeError,
                "src size = [2, 3], slice size = [2, 2]",
                sample(TINY, TINY, (2, 2), (1, 2)),
            ),
            Raises(
                RuntimeError,
                "are out of bounds for storage of size",
                sample(TINY, np.zeros(9), (9,), (1,)),
            ),
        ),
    ),
    OpCase(
        "addmv_",
        lambda rng: [
            sample(Fixed(rng.random(2)), Fixed(rng.random((2, 3))), Fixed(rng.random(3))),
            sample(
                Fixed(rng.random(2)),
                Fixed(rng.random((2, 3))),
                Fixed(rng.random(3)),
                beta=2,
                alpha=3,
            ),
        ],
        differentiable=False,
        errors=(
            Raises(
                RuntimeError, "size mismatch", sample(np.zeros(2), np.zeros((2, 3)), np.zeros(2))
            ),
        ),
    ),
    OpCase(
        "detach_",
        lambda rng: [sample(Fixed(rng.random(2)))],
        differentiable=False,
        errors=(Raises(TypeError, "argument 'input' (position 1) must be Tensor", sample(1)),),
    ),
]
