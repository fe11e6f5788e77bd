"""Rows of normalisations and of dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from op_case import Fixed, OpCase, Raises, Sample, sample

HALF = ("float16", "bfloat16")


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


# --- batch_norm, instance_norm ---------------------------------------------------------------


def batch_norms(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    mean, var = Fixed(normal(3)), Fixed(rng.uniform(0.5, 2.0, 3))
    found = []
    for shape in [(4, 3), (4, 3, 5), (2, 3, 2, 2), (2, 3, 2, 1, 2)]:
        found += [
            sample(normal(shape), None, None, training=True),
            sample(normal(shape), None, None, normal(3), normal(3), True),
            sample(normal(shape), mean, var, normal(3), normal(3), eps=0.1),
            sample(normal(shape), mean, var, bias=normal(3)),
        ]
    found.append(sample(zeros(0, 3), None, None, normal(3), normal(3), True))
    return found


def np_batch_norm(
    x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
) -> np.ndarray:
    axes = (0, *range(2, x.ndim))
    shape = (1, -1, *[1] * (x.ndim - 2))
    if not x.size:
        return x
    used = [x.mean(axes), x.var(axes)] if training else [_array(mean), _array(var)]
    result = (x - used[0].reshape(shape)) / np.sqrt(used[1].reshape(shape) + eps)
    result = result if weight is None else result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def _array(value: Any) -> np.ndarray:
    return value.array if isinstance(value, Fixed) else value


def instance_norms(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 3, 4))),
        sample(normal((2, 3, 4)), weight=normal(3), bias=normal(3), eps=0.1),
        sample(normal((2, 3, 2, 3)), weight=normal(3)),
    ]


def np_instance_norm(x, weight=None, bias=None, eps=1e-5) -> np.ndarray:
    axes = tuple(range(2, x.ndim))
    shape = (1, -1, *[1] * (x.ndim - 2))
    result = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    result = result if weight is None else result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


# --- layer_norm, group_norm, rms_norm --------------------------------------------------------


def layer_norms(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((4, 3)), (3,)),
        sample(normal((2, 4, 3)), [4, 3], normal((4, 3)), normal((4, 3))),
        sample(normal((2, 4, 3)), (3,), normal(3), eps=0.1),
        sample(normal(3), (3,), bias=normal(3)),
        sample(zeros(0, 3), (3,), normal(3)),
    ]


def np_layer_norm(x, shape, weight=None, bias=None, eps=1e-5) -> np.ndarray:
    axes = tuple(range(-len(shape), 0))
    result = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def group_norms(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 6)), 2),
        sample(normal((2, 6, 3)), 2, normal(6), normal(6)),
        sample(normal((2, 6, 2, 2)), 6, normal(6), eps=0.1),
        sample(normal((2, 6, 2)), 1, normal(6), normal(6)),
    ]


def np_group_norm(x, groups, weight=None, bias=None, eps=1e-5) -> np.ndarray:
    rows = x.reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + eps)
    shape = (1, -1, *[1] * (x.ndim - 2))
    result = rows.reshape(x.shape)
    result = result if weight is None else result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def rms_norms(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((4, 3)), (3,)),
        sample(normal((2, 4, 3)), (4, 3), normal((4, 3))),
        sample(normal(3), (3,), eps=0.1),
    ]


def np_rms_norm(x, shape, weight=1.0, eps=2.0**-52) -> np.ndarray:
    axes = tuple(range(-len(shape), 0))
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + eps) * weight


def normalizes(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 5))),
        sample(normal((2, 5)), 1.0, 0),
        sample(normal((2, 3, 4)), p=3.0, dim=(1, 2)),
        sample(normal(4), dim=-1, eps=0.1),
    ]


def np_normalize(x, p=2.0, dim=1, eps=1e-12) -> np.ndarray:
    lengths = (np.abs(x) ** p).sum(axis=dim, keepdims=True) ** (1 / p)
    return x / np.maximum(lengths, eps)


def responses(rng: np.random.Generator) -> list[Sample]:
    normal = rng.standard_normal
    return [
        sample(normal((2, 5, 3)), 3, alpha=0.5, beta=0.6, k=2.0),
        sample(normal((2, 5, 3)), 2),
        sample(normal((2, 5, 2, 2)), 4, 0.5),
    ]


NOT_DIVISIBLE = "Expected number of channels in input to be divisible by num_groups, but got input"
MORE_VALUES = "Expected more than 1 value per channel when training, got input size torch.Size"
WEIGHT = "Expected weight to be of same shape as normalized_shape, but got weight of shape [3]"

NORMS = [
    OpCase(
        "nn.functional.batch_norm",
        batch_norms,
        reference=np_batch_norm,
        forward_dtypes=HALF,
        tolerance=1e-4,
        errors=(
            fails(ValueError, MORE_VALUES, zeros(1, 3), None, None, training=True),
            fails(RuntimeError, "running_mean must be defined", zeros(4, 3), None, None),
            fails(
                RuntimeError,
                "weight should contain 3 elements not 4",
                zeros(4, 3),
                None,
                None,
                zeros(4),
                training=True,
            ),
            fails(
                ValueError, "eps must be positive", zeros(4, 3), None, None, training=True, eps=0.0
            ),
            fails(
                NotImplementedError,
                "\"batch_norm\" not implemented for 'Long'",
                np.ones((4, 3), np.int64),
                None,
                None,
                training=True,
            ),
        ),
    ),
    OpCase(
        "nn.functional.instance_norm",
        instance_norms,
        reference=np_instance_norm,
        forward_dtypes=HALF,
        tolerance=1e-4,
        errors=(
            fails(ValueError, "more than 1 spatial element", zeros(2, 3, 1)),
            fails(
                RuntimeError,
                "to be defined when use_input_stats is false",
                zeros(2, 3, 4),
                use_input_stats=False,
            ),
        ),
    ),
    OpCase(
        "nn.functional.layer_norm",
        layer_norms,
        reference=np_layer_norm,
        forward_dtypes=HALF,
        tolerance=1e-4,
        errors=(
            fails(RuntimeError, "expected input with shape [*, 3], but got", zeros(2, 4), (3,)),
            fails(RuntimeError, WEIGHT, zeros(2, 4), (4,), zeros(3)),
            fails(RuntimeError, "to be at least 1-dimensional", zeros(2, 4), ()),
            fails(TypeError, "must be tuple of ints, not int", zeros(2, 4), 4),
        ),
    ),
    OpCase(
        "nn.functional.group_norm",
        group_norms,
        reference=np_group_norm,
        forward_dtypes=HALF,
        tolerance=1e-4,
        errors=(
            fails(RuntimeError, NOT_DIVISIBLE, zeros(2, 6), 4),
            fails(RuntimeError, "Expected at least 2 dimensions", zeros(6), 3),
            fails(ValueError, "Expected more than 1 value per channel", zeros(1, 6), 6),
        ),
    ),
    OpCase(
        "nn.functional.rms_norm",
        rms_norms,
        reference=np_rms_norm,
        forward_dtypes=HALF,
        errors=(fails(RuntimeError, "with shape [*3], but got input", zeros(2, 4), (3,)),),
    ),
    OpCase(
        "nn.functional.normalize",
        normalizes,
        reference=np_normalize,
        complex=True,
        forward_dtypes=HALF,
        out=True,
        errors=(
            fails(
                RuntimeError,
                "Expected a floating point or complex tensor",
                np.ones((2, 3), np.int64),
            ),
        ),
    ),
    OpCase(
        "nn.functional.local_response_norm",
        responses,
        forward_dtypes=("float16", "int32", "int64", "bool", "complex128"),
        differentiable=False,  # its nodes differ from PyTorch's; gradients are in test_norm.py
        errors=(fails(ValueError, "Expected 3D or higher dimensionality", zeros(2, 3), 3),),
    ),
]


# --- dropout ---------------------------------------------------------------------------------


def shaped(*shapes: tuple[int, ...], **options: Any) -> Callable[..., list[Sample]]:
    def samples(rng: np.random.Generator) -> list[Sample]:
        found = []
        for shape in shapes:
            found += [
                sample(rng.standard_normal(shape), 0.5, True, **options),
                sample(rng.standard_normal(shape), 0.25, True, **options),
                sample(rng.standard_normal(shape), 0.5, False, **options),
                sample(rng.standard_normal(shape), 1.0, True, **options),
            ]
        return found

    return samples


BETWEEN = "dropout probability has to be between 0 and 1, but got 1.5"
NO_INTEGERS = "result type Float can't be cast to the desired output type Long"


def dropout_row(name: str, *shapes: tuple[int, ...], **claims: Any) -> OpCase:
    functional = name.startswith("nn")
    errors = (
        fails(ValueError if functional else RuntimeError, BETWEEN, np.ones((2, 3, 4)), 1.5, True),
        fails(RuntimeError, NO_INTEGERS, np.ones((2, 3, 4), np.int64), 0.5, True),
    )
    claims.setdefault("forward_dtypes", HALF)
    return OpCase(name, shaped(*shapes), random=True, errors=errors, **claims)


DROPOUTS = [
    dropout_row("nn.functional.dropout", (4, 5), (3,), (), (0, 2)),
    dropout_row("nn.functional.alpha_dropout", (4, 5), (3,)),
    dropout_row("nn.functional.feature_alpha_dropout", (4, 5), (2, 3, 4)),
    dropout_row("nn.functional.dropout1d", (3, 4), (2, 3, 4)),
    OpCase("nn.functional.dropout2d", shaped((2, 3, 2, 2)), random=True),
    OpCase("nn.functional.dropout3d", shaped((3, 2, 2, 2), (2, 3, 2, 1, 2)), random=True),
    dropout_row("feature_dropout", (4, 5), (2, 3, 4)),
]
IN_PLACE = [
    OpCase(name, shaped((4, 5)), random=True, differentiable=False)
    for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_")
]

CASES = NORMS + DROPOUTS + IN_PLACE
