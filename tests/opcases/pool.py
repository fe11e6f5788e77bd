"""Rows of pooling: largest elements, averages, powers, adaptive and fractional forms, unpooling."""

from __future__ import annotations

import numpy as np

from op_case import Fixed, OpCase, Raises, sample


def apart(rng, *shape):
    """Return values that are far from each other, so that no maximum is near a tie."""
    count = int(np.prod(shape))
    return (rng.permutation(count).reshape(shape) - count / 2) * 0.25 + 0.1


def row(name, *calls, **claims):
    """Return a row whose samples are given as (shape, further arguments, keywords)."""

    def samples(rng):
        found = []
        for shape, *args in calls:
            keywords = args.pop() if args and isinstance(args[-1], dict) else {}
            found.append(sample(apart(rng, *shape), *args, **keywords))
        return found

    return OpCase(name, samples, **claims)


def fails(text, shape, *args, error=RuntimeError, **kwargs):
    return Raises(error, text, sample(np.ones(shape), *args, **kwargs))


HALF = ("float16", "bfloat16")
WHOLE = ("int64", "int32", "uint8", "int8")

MAX_1D = (
    ((2, 3, 8), 2),
    ((3, 7), 3, 2, 1),
    ((2, 3, 9), 3, 2, 1, 2, True),
    ((0, 3, 8), 2),
)
MAX_2D = (
    ((2, 3, 6, 8), 2),
    ((3, 7, 5), 3, 2, 1),
    ((1, 2, 7, 8), (3, 2), (2, 1), (1, 0), (1, 2), True),
    ((0, 3, 4, 4), 2),
)
MAX_3D = (
    ((1, 2, 4, 4, 4), 2),
    ((2, 5, 4, 6), (2, 1, 3), 2, (1, 0, 1)),
    ((1, 1, 4, 5, 6), 2, 3, 1, (2, 1, 1), True),
)

LARGEST = [
    row(
        "nn.functional.max_pool1d",
        *MAX_1D,
        ((2, 3, 8), 2, {"return_indices": True}),
        errors=(
            fails("max_pool1d() stride must be greater than zero, but got 0", (1, 2, 4), 2, 0),
            fails("max_pool1d() Invalid computed output size: 0", (1, 2, 4), 5),
            fails("Expected 2D or 3D (batch mode) tensor", (4,), 2),
            fails("padding should be at most half of kernel size", (1, 2, 4), 2, None, 2),
        ),
    ),
    row(
        "nn.functional.max_pool2d",
        *MAX_2D,
        ((2, 3, 6, 6), 3, {"return_indices": True}),
        forward_dtypes=(*HALF, *WHOLE),
        errors=(
            fails("Output size is too small", (1, 2, 4, 4), 5),
            fails("stride should not be zero", (1, 2, 4, 4), 2, 0),
            fails("pad should be at most half of effective kernel size", (1, 4, 4), 2, 2, 2),
            fails("non-empty 3D or 4D (batch mode) tensor expected for input", (4, 4), 2),
            fails("must be tuple of ints, not float", (1, 4, 4), 2.5, error=TypeError),
            fails("tuple of two ints", (1, 4, 4), (1, 2, 3)),
        ),
    ),
    row(
        "nn.functional.max_pool3d",
        *MAX_3D,
        ((1, 2, 4, 4, 4), 2, {"return_indices": True}),
        forward_dtypes=(*HALF, *WHOLE),
        errors=(fails("non-batch dimension 0 has length zero", (1, 0, 4, 4, 4), 2),),
    ),
    row("max_pool1d", *MAX_1D, forward_dtypes=HALF),
    row("max_pool1d_with_indices", *MAX_1D, forward_dtypes=(*HALF, *WHOLE)),
    row("max_pool2d", *MAX_2D),
    row("max_pool3d", *MAX_3D),
    row("nn.functional.max_pool1d_with_indices", *MAX_1D),
    row("nn.functional.max_pool2d_with_indices", *MAX_2D),
    row("nn.functional.max_pool3d_with_indices", *MAX_3D),
]

AVG_1D = (((2, 3, 8), 2), ((3, 7), 3, 2, 1), ((2, 3, 8), 3, 2, 1, True, False), ((0, 3, 8), 2))
AVERAGES = [
    row("avg_pool1d", *AVG_1D, forward_dtypes=(*HALF, "int64")),
    row(
        "nn.functional.avg_pool2d",
        ((2, 3, 6, 8), 2),
        ((3, 7, 5), 3, 2, 1),
        ((1, 2, 7, 8), (3, 2), (2, 1), (1, 0), True),
        ((1, 2, 7, 8), 3, 2, 1, True, False),
        ((1, 2, 7, 8), 3, 2, 1, False, True, 5),
        ((0, 3, 4, 4), 2),
        forward_dtypes=(*HALF, "int64"),
        errors=(
            fails("divisor must be not zero", (1, 2, 4, 4), 2, divisor_override=0),
            fails("Dimension out of range", (4, 4), 2, error=IndexError),
            fails("Output size is too small", (1, 2, 4, 4), 5),
        ),
    ),
    row(
        "nn.functional.avg_pool3d",
        ((1, 2, 4, 4, 4), 2),
        ((2, 5, 4, 6), (2, 1, 3), 2, (1, 0, 1)),
        ((1, 1, 4, 5, 6), 2, 3, 1, True, False),
        forward_dtypes=("int64",),
        errors=(fails("smaller than kernel size (kT: 5 kH: 5 kW: 5)", (1, 4, 4, 4), 5),),
    ),
    row("nn.functional.lp_pool1d", ((2, 3, 8), 2.0, 2), ((3, 7), 2.0, 3, 2, True), gradgrad=False),
    row("nn.functional.lp_pool2d", ((2, 3, 4, 6), 2.0, 2), ((1, 4, 6), float("inf"), (2, 3))),
    row("nn.functional.lp_pool3d", ((1, 2, 4, 4, 4), 2.0, 2), ((1, 4, 4, 4), float("inf"), 2, 1)),
]

ADAPTIVE = [
    row(
        "adaptive_avg_pool1d",
        ((2, 3, 8), 3),
        ((3, 8), 4),
        ((2, 3, 4), 1),
        ((2, 3, 4), 7),
        ((0, 3, 8), 2),
        forward_dtypes=HALF,
        errors=(fails("should contain one int (got 2)", (1, 2, 4), (2, 2)),),
    ),
    row(
        "nn.functional.adaptive_avg_pool2d",
        ((2, 3, 8, 7), (3, 5)),
        ((2, 3, 8, 6), (4, 3)),
        ((2, 3, 4, 4), 1),
        ((3, 4, 5), (None, 2)),
        ((1, 2, 3, 3), 5),
        ((0, 3, 4, 4), 2),
        forward_dtypes=HALF,
        errors=(
            fails("Expected 3D or 4D tensor, but got [4, 4]", (4, 4), 2),
            fails("elements of output_size must be greater than or equal to 0", (1, 4, 4), -1),
            fails("output_size must be 2", (1, 2, 4, 4), (1, 2, 3)),
        ),
    ),
    row(
        "nn.functional.adaptive_avg_pool3d",
        ((1, 2, 4, 5, 6), (3, 2, 4)),
        ((2, 4, 4, 6), (2, 2, 3)),
        ((1, 2, 3, 3, 3), 1),
    ),
    row("adaptive_max_pool1d", ((2, 3, 8), 3), ((3, 8), 4), ((2, 3, 4), 7), forward_dtypes=HALF),
    row("nn.functional.adaptive_max_pool1d", ((2, 3, 8), 3), ((3, 8), 4, True)),
    row(
        "nn.functional.adaptive_max_pool2d",
        ((2, 3, 8, 7), (3, 5)),
        ((3, 8, 6), (4, 3), True),
        ((1, 2, 3, 3), 5),
        ((2, 3, 4, 5), (None, 2)),
        forward_dtypes=HALF,
        errors=(
            fails("Trying to create tensor with negative dimension -1", (1, 2, 4, 4), -1),
            fails("with dimension 1 being empty", (1, 0, 4, 4), 2),
        ),
    ),
    row(
        "nn.functional.adaptive_max_pool3d",
        ((1, 2, 4, 5, 6), (3, 2, 4)),
        ((2, 4, 4, 6), (2, 2, 3), True),
    ),
]


def fractional(rng, rank, shape, *args, **kwargs):
    """Return a sample with given random numbers, so that every library places the windows alike."""
    batch = shape[0] if len(shape) == rank + 2 else 1
    numbers = rng.random((batch, shape[-rank - 1], rank))
    return sample(apart(rng, *shape), *args, _random_samples=Fixed(numbers), **kwargs)


FRACTIONAL = [
    OpCase(
        "nn.functional.fractional_max_pool2d",
        lambda rng: [
            fractional(rng, 2, (2, 3, 9, 8), 2, (4, 3)),
            fractional(rng, 2, (3, 9, 8), (2, 3), output_ratio=(0.5, 0.6)),
            fractional(rng, 2, (2, 3, 9, 8), 2, 4, return_indices=True),
        ],
        errors=(
            fails("requires specifying either an output_size", (1, 4, 4), 2, error=ValueError),
            fails("pool height 2 too large relative to input height 4", (1, 4, 4), 2, 4),
        ),
    ),
    OpCase(
        "nn.functional.fractional_max_pool3d",
        lambda rng: [
            fractional(rng, 3, (1, 2, 5, 6, 7), 2, (2, 3, 4)),
            fractional(rng, 3, (2, 5, 6, 7), (1, 2, 3), output_ratio=0.5, return_indices=True),
        ],
        errors=(fails("pool time 2 too large", (1, 4, 4, 4), 2, 4),),
    ),
]


def unpooled(rng, shape, wanted, *args, **kwargs):
    """Return a sample whose indices are different from each other in each plane."""
    planes = int(np.prod(shape[: -len(wanted)]))
    count, size = int(np.prod(shape[-len(wanted) :])), int(np.prod(wanted))
    indices = np.stack([rng.permutation(size)[:count] for _ in range(planes)])
    return sample(rng.standard_normal(shape), indices.reshape(shape), *args, **kwargs)


def no_unpooling(text, shape, indices, *args, **kwargs):
    return Raises(RuntimeError, text, sample(np.ones(shape), indices, *args, **kwargs))


UNPOOLING = [
    OpCase(
        "nn.functional.max_unpool1d",
        lambda rng: [
            unpooled(rng, (2, 3, 4), (8,), 2),
            unpooled(rng, (3, 4), (9,), 2, output_size=(9,)),
        ],
        errors=(
            no_unpooling("Found an invalid max index: 9", (1, 2), np.array([[9, 0]]), 2),
            no_unpooling("should be type int64", (1, 2), np.zeros((1, 2), np.int32), 2),
        ),
    ),
    OpCase(
        "nn.functional.max_unpool2d",
        lambda rng: [
            unpooled(rng, (2, 3, 4, 3), (8, 6), 2),
            unpooled(rng, (3, 4, 3), (9, 7), 3, 2, 0, (9, 7)),
        ],
        forward_dtypes=HALF,
        errors=(
            no_unpooling("Expected shape of indices", (1, 2, 2), np.zeros((1, 2, 3), int), 2),
            Raises(
                ValueError,
                "(dim 0 must be between 2 and 6)",
                sample(np.ones((1, 2, 2)), np.zeros((1, 2, 2), int), 2, output_size=(9, 9)),
            ),
        ),
    ),
    OpCase(
        "nn.functional.max_unpool3d",
        lambda rng: [
            unpooled(rng, (1, 2, 2, 3, 2), (4, 6, 4), 2),
            unpooled(rng, (2, 2, 2, 2), (4, 4, 4), (2, 2, 2)),
        ],
    ),
]

CASES = [*LARGEST, *AVERAGES, *ADAPTIVE, *FRACTIONAL, *UNPOOLING]
