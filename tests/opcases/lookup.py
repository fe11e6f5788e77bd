"""Rows of bags of embeddings, one-hot vectors, distances of pairs and drawn categories."""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

NUMBERS = np.array([0, 1, 2, 2, 5])
OFFSETS = np.array([0, 2, 2, 4])


def table(rng):
    return rng.standard_normal((6, 3))


def plain_bags(rng: np.random.Generator) -> list[Sample]:
    found = [sample(table(rng), NUMBERS, OFFSETS, False, mode) for mode in (0, 1, 2)]
    found += [
        sample(table(rng), NUMBERS, OFFSETS, False, mode, False, None, False, 2)
        for mode in (0, 1, 2)
    ]
    found.append(sample(table(rng), NUMBERS, OFFSETS, False, 0, False, rng.standard_normal(5)))
    return found


def bags(rng: np.random.Generator) -> list[Sample]:
    found = [
        sample(NUMBERS, table(rng), OFFSETS, mode=mode, **options)
        for mode in ("sum", "mean", "max")
        for options in ({}, {"padding_idx": 2})
    ]
    ends = np.array([0, 2, 2, 5])
    found += [
        sample(NUMBERS, table(rng), ends, mode=mode, include_last_offset=True)
        for mode in ("sum", "mean", "max")
    ]
    found += [
        sample(np.array([[0, 1], [2, 2]]), table(rng)),
        sample(NUMBERS, table(rng), OFFSETS, mode="sum", per_sample_weights=rng.standard_normal(5)),
    ]
    return found


def np_bags(input, weight, offsets=None, mode="mean", **options):
    """Compute bag by bag."""
    if offsets is None:
        parts = list(input)
    else:
        ends = [*offsets[1:], len(input)]
        if options.get("include_last_offset"):
            offsets = offsets[:-1]
            ends = ends[:-1]
        parts = [input[slice(*each)] for each in zip(offsets, ends, strict=True)]
    samples = options.get("per_sample_weights")
    begin, rows = 0, []
    for part in parts:
        kept = part != options.get("padding_idx", -1)
        values = weight[part[kept]]
        if samples is not None:
            values = values * samples[begin : begin + len(part), None]
        begin += len(part)
        if not len(values):
            rows.append(np.zeros(weight.shape[1]))
        elif mode == "max":
            rows.append(values.max(0))
        else:
            rows.append(values.sum(0) if mode == "sum" else values.mean(0))
    return np.stack(rows)


def one_hots(rng: np.random.Generator) -> list[Sample]:
    return [sample(np.array([0, 2, 1])), sample(np.array([[1], [3]]), 5), sample(np.array(2))]


def np_one_hot(numbers, count=-1):
    return np.eye(count if count > 0 else numbers.max() + 1, dtype=np.int64)[numbers]


def points(rng: np.random.Generator) -> list[Sample]:
    found = [sample(rng.standard_normal((4, 3)), p) for p in (2.0, 1.0, 3.0, 1.5, float("inf"))]
    return [*found, sample(rng.standard_normal((5, 2)))]


def np_pdist(x, p=2.0):
    rows = [
        np.linalg.norm(x[first] - x[second], p)
        for first in range(len(x))
        for second in range(first + 1, len(x))
    ]
    return np.array(rows)


def trials(rng: np.random.Generator) -> list[Sample]:
    counts = np.floor(rng.random((3, 40)) * 200)
    return [
        sample(Fixed(counts), Fixed(rng.random(40))),
        sample(Fixed(np.array([10.0])), Fixed(np.array([0.3]))),
    ]


CASES = [
    OpCase(
        "embedding_bag",
        plain_bags,
        gradgrad=False,
        forward_ad=False,
        forward_dtypes=("float16", "bfloat16"),
        errors=(
            Raises(
                RuntimeError,
                "`mode` must be sum, mean, or max.",
                sample(np.ones((2, 2)), np.array([0]), np.array([0]), False, 5),
            ),
        ),
    ),
    OpCase(
        "nn.functional.embedding_bag",
        bags,
        reference=np_bags,
        gradgrad=False,
        forward_ad=False,
        errors=(
            Raises(
                ValueError,
                "offsets has to be a 1D Tensor but got None",
                sample(np.array([0]), np.ones((2, 2))),
            ),
        ),
    ),
    OpCase("nn.functional.one_hot", one_hots, reference=np_one_hot, differentiable=False),
    OpCase(
        "nn.functional.gumbel_softmax",
        lambda rng: [
            sample(rng.standard_normal((3, 4))),
            sample(rng.standard_normal((3, 4)), 0.5, True, dim=0),
        ],
        random=True,
    ),
    OpCase(
        "pdist",
        points,
        reference=np_pdist,
        gradgrad=False,
        forward_ad=False,
        errors=(
            Raises(RuntimeError, "pdist only supports 2D tensors, got: 1D", sample(np.ones(3))),
            Raises(RuntimeError, "non-negative p values", sample(np.ones((2, 2)), -1.0)),
        ),
    ),
    OpCase("binomial", trials, differentiable=False, random=True),
]
