"""Rows of the views that copy, of the parts of floating point numbers, and of coordinates."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, sample


def calls(shape, *arguments, **keywords):
    """Return one sample for each tuple of arguments."""

    def make(rng):
        given = arguments or ((),)
        return [sample(rng.standard_normal(shape), *each, **keywords) for each in given]

    return make


def row(name, samples, reference=None, **options):
    settings = {"complex": True, "forward_dtypes": ("int64",), "out": True, **options}
    return OpCase(name, samples, reference=reference, **settings)


COPIES = [
    row("alias_copy", calls((2, 3)), np.array),
    row("as_strided_copy", calls((3, 4), ((2, 2), (1, 2)), ((2, 2), (1, 1), 3))),
    row("expand_copy", calls((2, 1, 3), ((2, 5, 3),), ((4, 2, 2, 3),)), np.broadcast_to),
    row("narrow_copy", calls((3, 4), (0, 1, 2), (-1, 0, 3))),
    row("permute_copy", calls((2, 3, 4), ((2, 0, 1),)), np.transpose),
    row("select_copy", calls((3, 4), (0, 1), (-1, -2)), complex=False),
    row("slice_copy", calls((3, 4), (0, 1, 3), (1, 0, 4, 2), ()), complex=False),
    row("squeeze_copy", calls((2, 1, 3, 1), (), (1,), ((1, 3),), (0,))),
    row("t_copy", calls((3, 4)), np.transpose),
    row("transpose_copy", calls((2, 3, 4), (0, 1), (-1, 0)), np.swapaxes),
    row("unfold_copy", calls((5, 2), (0, 2, 1), (0, 3, 2))),
    row("unsqueeze_copy", calls((2, 3), (0,), (-1,)), np.expand_dims),
    row(
        "view_copy",
        calls((2, 6), ((12,),), ((3, -1),)),
        np.reshape,
        errors=(
            Raises(RuntimeError, "shape '[5, -1]' is invalid for", sample(np.ones(12), (5, -1))),
            Raises(RuntimeError, "only one dimension can be", sample(np.ones(12), (-1, -1))),
            Raises(TypeError, "got (Tensor, int), but expected", sample(np.ones(12), 12)),
            Raises(TypeError, "got (Tensor, dtype=list), but", sample(np.ones(12), dtype=[12])),
        ),
    ),
    row("split_copy", calls((5, 2), (2,), (1, 1)), out=False),
    row("split_with_sizes_copy", calls((5, 2), ((1, 4),)), out=False),
    row("unbind_copy", calls((3, 2), (), (1,)), out=False),
    row(
        "view_as_real_copy",
        lambda rng: [sample(rng.standard_normal((2, 3)) + 1j)],
        complex=False,
        forward_dtypes=(),
    ),
    row(
        "view_as_complex_copy",
        calls((3, 2)),
        lambda x: x[..., 0] + 1j * x[..., 1],
        complex=False,
        forward_dtypes=(),
        differentiable=False,
    ),
    row("detach_copy", calls((2, 3)), np.array, differentiable=False),
]


def pairs(rng):
    normal = rng.standard_normal
    return [
        sample(normal((3, 4)), normal((3, 4))),
        sample(normal((3, 1)), normal(4)),
        sample(np.array([0.0, 1.0, -1.0, 0.0]), np.array([1.0, np.inf, -2.0, -0.5])),
        sample(np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0, 2.0])),
    ]


CASES = [
    *COPIES,
    OpCase(
        "frexp",
        calls((3, 4)),
        reference=np.frexp,
        forward_dtypes=("float16", "bfloat16"),
        out=True,
        errors=(
            Raises(RuntimeError, "only supports floating-point dtypes", sample(np.array([1, 2]))),
        ),
    ),
    OpCase(
        "nextafter",
        pairs,
        reference=np.nextafter,
        forward_dtypes=("float16", "bfloat16"),
        differentiable=False,
        inplace="nextafter_",
        out=True,
        errors=(
            Raises(
                NotImplementedError,
                "\"nextafter_cpu\" not implemented for 'Long'",
                sample(np.array([1]), np.array([2])),
            ),
        ),
    ),
    OpCase(
        "nonzero_static",
        lambda rng: [
            sample(np.array([1, 0, 2]), size=3),
            sample(np.array([[1, 0], [2, 3]]), size=2, fill_value=7),
            sample(np.array(1), size=2),
            sample(rng.standard_normal((2, 2)), size=0),
        ],
        differentiable=False,
        errors=(
            Raises(
                RuntimeError,
                "'size' must be an non-negative integer",
                sample(np.array([1]), size=-1),
            ),
        ),
    ),
    OpCase(
        "unravel_index",
        lambda rng: [
            sample(np.array([5, 7]), (3, 4)),
            sample(np.array(5), 12),
            sample(np.array([[1, 50], [-1, 0]]), (3, 4)),
        ],
        differentiable=False,
        errors=(
            Raises(TypeError, "to be integer dtype, but got torch", sample(np.array([0.5]), (3,))),
            Raises(ValueError, "cannot have negative values", sample(np.array([5]), (3, -4))),
            Raises(TypeError, "to only contain ints", sample(np.array([5]), (3.0, 4))),
        ),
    ),
    OpCase(
        "nn.functional.linear_cross_entropy",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), np.array([0, 2, 4])),
            sample(
                rng.standard_normal((3, 4)),
                rng.standard_normal((5, 4)),
                np.array([0, 2, 4]),
                linear_bias=rng.standard_normal(5),
                reduction="sum",
                label_smoothing=0.1,
                ignore_index=2,
            ),
            sample(
                rng.standard_normal((3, 4)),
                rng.standard_normal((5, 2, 4)),
                np.array([[0, 1], [2, 4], [3, 3]]),
                linear_bias=rng.standard_normal((5, 2)),
            ),
        ],
        errors=(
            Raises(
                RuntimeError,
                "expected input with dimensionality 1 or 2, got 3",
                sample(np.ones((1, 1, 2)), np.ones((2, 2)), np.array([[0]])),
            ),
        ),
    ),
]
