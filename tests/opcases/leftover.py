"""Rows of histograms with edges, segments, hashes, and PyTorch's kernels under their own names."""

from __future__ import annotations

import os

import numpy as np

from op_case import Dtype, Fixed, OpCase, Raises, Sample, sample

VALUES = np.array([[0.1, 1.2, 2.6], [3.1, 3.9, 1.3]])
EDGES = np.array([0.0, 1.0, 2.0, 4.0])
WEIGHTS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
POINTS = np.array([[0.0, 0.0], [1.0, 1.1], [2.0, 0.5], [1.0, 3.0], [2.0, 2.2]])


def fails(error: type[Exception], text: str, *args, **kwargs) -> Raises:
    return Raises(error, text, Sample(args, kwargs))


def np_histogram(x, bins=100, *, range=None, weight=None, density=False):
    return np.histogram(x, bins, range, density, weight)


HISTOGRAMS = [
    OpCase(
        "histogram",
        lambda rng: [
            sample(Fixed(VALUES)),
            sample(Fixed(VALUES), 4),
            sample(Fixed(VALUES), bins=4, range=(0.0, 3.0)),
            sample(Fixed(VALUES), Fixed(EDGES)),
            sample(Fixed(VALUES), Fixed(EDGES), weight=WEIGHTS),
            sample(Fixed(VALUES), Fixed(EDGES), weight=WEIGHTS, density=True),
            sample(Fixed(np.array(2.0)), 3),
            sample(Fixed(np.full(3, 2.0)), 4, density=True),
        ],
        reference=np_histogram,
        differentiable=False,
        out=True,
        errors=(
            fails(RuntimeError, "bins must be > 0, but got 0 for dimension 0", VALUES, 0),
            fails(RuntimeError, "min should not exceed max", VALUES, 4, range=(3.0, 0.0)),
            fails(RuntimeError, "range should have 2 elements", VALUES, 4, range=(0.0,)),
            fails(RuntimeError, "[0, inf] is not finite", VALUES, 4, range=(0.0, float("inf"))),
            fails(RuntimeError, "bins tensor should have one dimension", VALUES, VALUES),
            fails(RuntimeError, "it should have the same shape", VALUES, EDGES, weight=EDGES),
            fails(
                NotImplementedError, "\"histogramdd\" not implemented for 'Long'", np.arange(3), 2
            ),
            fails(TypeError, "invalid combination of arguments", VALUES, "a"),
        ),
    ),
    OpCase(
        "histogramdd",
        lambda rng: [
            sample(Fixed(POINTS), 2),
            sample(Fixed(POINTS), [2, 3]),
            sample(Fixed(POINTS), (2, 3), [0.0, 2.0, 0.0, 2.0]),
            sample(Fixed(POINTS), [Fixed(EDGES), Fixed(EDGES)], weight=Fixed(np.arange(5.0))),
            sample(Fixed(POINTS), [2, 3], weight=Fixed(np.arange(5.0)), density=True),
            sample(Fixed(np.empty((0, 2))), 2),
        ],
        differentiable=False,
        errors=(
            fails(RuntimeError, "input tensor should have at least 2 dimensions", EDGES, 2),
            fails(RuntimeError, "The size of bins must be equal to the innermost", POINTS, [2]),
            fails(RuntimeError, "range should have 4 elements", POINTS, 2, [0.0, 1.0]),
            fails(TypeError, "invalid combination of arguments", POINTS, "a"),
        ),
    ),
]

LENGTHS = np.array([2, 0, 3, 1])


def np_segments(x, reduce, *, lengths, axis=0, initial=None):
    functions = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}
    ends = np.cumsum(lengths)
    parts = [x[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return np.stack([functions[reduce](part, 0) for part in parts])


SEGMENTS = [
    OpCase(
        "segment_reduce",
        lambda rng: (
            [
                sample(rng.standard_normal((6, 2)), reduce, lengths=np.array([2, 3, 1]))
                for reduce in ("sum", "mean", "prod", "max", "min")
            ]
            + [sample(rng.standard_normal(6), "sum", lengths=np.array([1, 5]))]
        ),
        reference=np_segments,
        gradgrad=False,
        forward_ad=False,
        forward_dtypes=("float16",),
        errors=(
            fails(RuntimeError, "Either lengths or offsets must be defined", VALUES, "sum"),
            fails(RuntimeError, "got foo", VALUES, "foo", lengths=np.array([2])),
            fails(
                RuntimeError, "contains negative value", VALUES, "sum", lengths=np.array([3, -1])
            ),
            fails(RuntimeError, "to sum to data.size", VALUES, "sum", lengths=np.array([1])),
            fails(RuntimeError, "indices based", VALUES, "sum", indices=np.array([1])),
            fails(RuntimeError, "to be the last", VALUES, "sum", lengths=np.array([2]), axis=1),
            fails(TypeError, "(position 2) must be str, not int", VALUES, 1),
        ),
    ),
]


def np_normalised(x, axes, eps):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps), mean, 1 / np.sqrt(variance + eps)


def np_layer(x, shape, weight, bias, eps):
    found, mean, inverse = np_normalised(x, tuple(range(-len(shape), 0)), eps)
    return found * weight + bias, mean, inverse


def np_batch(x, weight, bias, mean, variance, training, momentum, eps):
    axes = (0, *range(2, x.ndim))
    found, mean, inverse = np_normalised(x, axes, eps)
    shape = (-1,) + (1,) * (x.ndim - 2)
    return found * weight.reshape(shape) + bias.reshape(shape), mean.ravel(), inverse.ravel()


NATIVE = [
    OpCase(
        "native_batch_norm",
        lambda rng: [
            sample(rng.standard_normal((4, 3)), *rng.random((2, 3)), None, None, True, 0.1, 1e-5),
            sample(
                rng.standard_normal((2, 3, 4)), *rng.random((2, 3)), None, None, True, 0.1, 1e-5
            ),
        ],
        reference=np_batch,
        out=True,
        tolerance=1e-4,
        errors=(
            fails(
                *(RuntimeError, "must have at least one element, but got input_sizes = [0, 3]"),
                *(np.zeros((0, 3)), None, None, None, None, True, 0.1, 1e-5),
            ),
        ),
    ),
    OpCase(
        "native_layer_norm",
        lambda rng: [sample(rng.standard_normal((4, 3)), (3,), *rng.random((2, 3)), 1e-5)],
        reference=np_layer,
        tolerance=1e-4,
        errors=(fails(TypeError, "must be tuple of ints, not int", EDGES, 4, None, None, 1e-5),),
    ),
    OpCase(
        "native_group_norm",
        lambda rng: [
            sample(rng.standard_normal((2, 4, 3)), *rng.random((2, 4)), 2, 4, 3, 2, 1e-5),
            sample(rng.standard_normal((2, 4)), None, None, 2, 4, 1, 2, 1e-5),
        ],
        tolerance=1e-4,
        errors=(
            fails(
                *(RuntimeError, "to be divisible by num_groups"),
                *(np.ones((2, 4)), None, None, 2, 4, 1, 3, 1e-5),
            ),
            fails(
                *(RuntimeError, "Expected X.numel() == N * C * HxW to be true"),
                *(np.ones((2, 4)), None, None, 2, 4, 2, 2, 1e-5),
            ),
        ),
    ),
    OpCase(
        "native_norm",
        lambda rng: [],
        differentiable=False,
        errors=(
            fails(TypeError, "argument 'p' (position 2) must be Number, not str", EDGES, "fro"),
        ),
    ),
    OpCase(
        "native_dropout",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), 0.5, True),
            sample(rng.standard_normal((3, 4)), 1.0, True),
            sample(rng.standard_normal((3, 4)), 0.5, False),
        ],
        random=True,
        errors=(
            fails(RuntimeError, "bernoulli_ expects p to be in [0, 1]", EDGES, -1.0, True),
            fails(RuntimeError, "result type Float can't be cast", np.arange(3), 0.5, True),
            fails(TypeError, "'train' (position 3) must be bool, not int", EDGES, 0.5, 1),
        ),
    ),
    OpCase(
        "native_channel_shuffle",
        lambda rng: [sample(Fixed(rng.standard_normal((2, 4, 3))), 2)],
        reference=lambda x, groups: x[:, [0, 2, 1, 3]],
        differentiable=False,
        errors=(
            fails(RuntimeError, "Number of channels must be divisible", np.ones((1, 4, 1)), 3),
        ),
    ),
]


def np_hash(x, dim=None, keepdim=False):
    bits = x.astype(np.float64 if x.dtype.kind == "f" else np.int64).view(np.uint64)
    return np.bitwise_xor.reduce(bits, axis=dim, keepdims=keepdim)


def slices(rng: np.random.Generator) -> list[Sample]:
    """Return a slice that is the tensor: a view of everything that `as_strided` could see."""
    whole = rng.standard_normal((3, 4))
    return [sample(whole, whole, 0, 0, 3), sample(whole, whole, 1, None, None)]


OTHERS = [
    OpCase(
        "hash_tensor",
        lambda rng: [
            sample(Fixed(rng.standard_normal((3, 4)))),
            sample(Fixed(rng.standard_normal((3, 4))), 1),
            sample(rng.integers(-9, 9, (3, 4)), (0, 1), keepdim=True),
            sample(rng.integers(-9, 9, 4).astype(np.int8)),
        ],
        reference=lambda x, dim=None, keepdim=False: np_hash(
            x, None if dim is None else dim, keepdim
        ),
        differentiable=False,
        out=True,
        errors=(
            fails(RuntimeError, "Unknown hash_tensor mode: 1", EDGES, mode=1),
            fails(RuntimeError, "Expected reduction dim to be specified", np.empty(0)),
            fails(IndexError, "to have non-zero size", np.empty((0, 3)), 0),
        ),
    ),
    OpCase("slice_inverse", slices, reference=lambda x, src, *rest: x),
    OpCase("is_distributed", lambda rng: [sample(Fixed(EDGES))], differentiable=False),
    OpCase(
        "from_file",
        lambda rng: [sample(os.devnull), sample(os.devnull, False, 0, dtype=Dtype("float64"))],
        differentiable=False,
        errors=(
            fails(
                RuntimeError, "is smaller than the required mapping size <8>", os.devnull, size=2
            ),
            fails(TypeError, "argument 'filename' (position 1) must be str, not int", 3),
        ),
    ),
]

CASES = [*HISTOGRAMS, *SEGMENTS, *NATIVE, *OTHERS]
