"""Rows of `ops/norm/weight.py`."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, Sample, sample


def norms(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((3, 4))),
        sample(normal((3, 4, 2)), 2, 1),
        sample(normal((3, 4, 2)), 3, 2),
        sample(normal((3, 2)), 1, -1),
        sample(normal((3, 2, 2)), pow=2, dim=-2),
    ]


def np_norms(x, pow=2, dim=0) -> np.ndarray:
    other = tuple(each for each in range(x.ndim) if each != dim % x.ndim)
    if dim == -1:
        return (np.abs(x) ** pow).sum() ** (1 / pow)
    return (np.abs(x) ** pow).sum(other, keepdims=True) ** (1 / pow)


def fused(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((3, 4)), normal((3, 1)), 0),
        sample(normal((3, 4, 2)), normal((1, 1, 2)), 2),
        sample(normal((3, 4)), normal(3), 0),
        sample(normal(3), normal(3)),
    ]


def all_dims(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        *fused(rng),
        sample(normal((3, 4, 2)), normal((1, 4, 1)), 1),
        sample(normal((3, 4)), normal(()), -1),
        sample(normal((3, 4, 2)), normal((3, 1, 1)), dim=-3),
    ]


def np_weight_norm(v, g, dim=0) -> np.ndarray:
    return v * (g.reshape(np_norms(v, 2, dim).shape) / np_norms(v, 2, dim))


def np_fused(v, g, dim=0) -> tuple[np.ndarray, np.ndarray]:
    kept = np.abs(v) if v.ndim == 1 else np_norms(v, 2, dim)
    return v * (g.reshape(kept.shape) / kept), kept.reshape(g.shape)


ONES = np.ones((2, 2))
CASES = [
    OpCase(
        "norm_except_dim",
        norms,
        reference=np_norms,
        forward_dtypes=("int64", "bool"),
        errors=(
            Raises(IndexError, "Dimension out of range", sample(ONES, 2, 3)),
            Raises(TypeError, "argument 'pow' (position 2) must be int", sample(ONES, 2.5, 0)),
        ),
    ),
    OpCase(
        "_weight_norm_interface",
        fused,
        reference=np_fused,
        forward_dtypes=("float16", "bfloat16"),
    ),
    OpCase(
        "_weight_norm",
        all_dims,
        forward_dtypes=("float16", "bfloat16"),
        errors=(
            Raises(TypeError, "argument 'g' (position 2) must be Tensor", sample(ONES, 3)),
            Raises(IndexError, "tensor has no dimensions", sample(np.ones(()), np.ones(()))),
            Raises(IndexError, "Dimension out of range", sample(ONES, np.ones(2), 3)),
        ),
    ),
]
