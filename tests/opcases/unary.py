"""Rows of the functions of one tensor: arithmetic, trigonometry, rounding, special, complex."""

from __future__ import annotations

import math

import numpy as np

from op_case import Fixed, OpCase, Raises, sample

LOW = ("float16", "bfloat16")
WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
SHAPES = [(3, 4), (5,), (), (0,), (2, 0, 3)]


def values(low, high, shapes=SHAPES, away_from=()):
    """Return samples of one tensor with elements between two numbers, away from some."""

    def make(rng):
        found = []
        for shape in shapes:
            array = np.asarray(rng.uniform(low, high, shape))
            for kink in away_from:
                array = np.where(np.abs(array - kink) < 0.05, array + 0.1, array)
            found.append(sample(np.asarray(array)))
        return found

    return make


def fails(error, text, dtype, *more, **kwargs):
    return Raises(error, text, sample(np.ones(2).astype(dtype), *more, **kwargs))


def unary(name, low=-2.0, high=2.0, reference=None, away_from=(), **options):
    """Return a row with in-place method and `out=`, for floating point and whole numbers."""
    settings = {
        "reference": reference or getattr(np, name, None),
        "forward_dtypes": (*LOW, *WHOLE),
        "inplace": f"{name}_",
        "out": True,
        **options,
    }
    return OpCase(name, values(low, high, away_from=away_from), **settings)


def np_sinc(x):
    return np.sinc(x)


def special(name):
    return np.vectorize(getattr(math, name), otypes=[np.float64])


ARITHMETIC = [
    unary(
        "neg",
        reference=np.negative,
        forward_dtypes=(*LOW, "uint8", "int8", "int64"),
        complex=True,
        errors=(
            fails(RuntimeError, "Negation, the `-` operator, on a bool tensor", bool),
            fails(NotImplementedError, "\"neg_cpu\" not implemented for 'UInt16'", np.uint16),
        ),
    ),
    OpCase(
        "positive",
        values(-2, 2),
        reference=np.positive,
        complex=True,
        forward_dtypes=(*LOW, "int64"),
        errors=(fails(RuntimeError, "The `+` operator, on a bool tensor", bool),),
    ),
    unary(
        "abs",
        away_from=(0,),
        complex=True,
        forward_dtypes=(*LOW, "uint8", "int8", "int64"),
        errors=(fails(NotImplementedError, "\"abs_cpu\" not implemented for 'Bool'", bool),),
    ),
    unary(
        "sign",
        away_from=(0,),
        errors=(
            fails(NotImplementedError, "torch.sign is not intended to support complex", complex),
        ),
    ),
    unary("sgn", reference=np.sign, away_from=(0,), complex=True),
    unary("reciprocal", 0.5, 2, complex=True),
    unary("sqrt", 0.5, 2, complex=True),
    unary("rsqrt", 0.5, 2, reference=lambda x: 1 / np.sqrt(x), complex=True),
    unary("square", complex=True, reference=np.square),
    unary("exp", complex=True),
    unary("exp2", complex=True),
    unary("expm1", complex=True),
    unary("log", 0.5, 2, complex=True),
    unary("log2", 0.5, 2, complex=True),
    unary("log10", 0.5, 2, complex=True),
    unary("log1p", -0.5, 2, complex=True),
    unary("sigmoid", reference=lambda x: 1 / (1 + np.exp(-x)), complex=True),
    OpCase(
        "logit",
        lambda rng: [
            sample(rng.uniform(0.2, 0.8, (3, 4))),
            sample(np.array(0.3)),
            sample(np.empty((0, 2))),
            sample(rng.uniform(0.2, 0.8, 5), 0.1),
            sample(np.array([0.05, 0.5, 0.95]), eps=0.1),
        ],
        forward_dtypes=LOW,
        inplace="logit_",
        out=True,
        errors=(
            fails(NotImplementedError, '"logit_cpu" not implemented', complex),
            fails(TypeError, "argument 'eps' (position 2) must be float, not str", float, "a"),
        ),
    ),
]

TRIGONOMETRY = [
    unary("sin", complex=True),
    unary("cos", complex=True),
    unary("tan", -1, 1, complex=True),
    unary("asin", -0.8, 0.8, reference=np.arcsin, complex=True),
    unary("acos", -0.8, 0.8, reference=np.arccos, complex=True),
    unary("atan", -0.8, 0.8, reference=np.arctan, complex=True),
    unary("sinh", complex=True),
    unary("cosh", complex=True),
    unary("tanh", complex=True),
    unary("asinh", -0.8, 0.8, reference=np.arcsinh, complex=True),
    unary("acosh", 1.5, 3, reference=np.arccosh, complex=True, forward_dtypes=LOW),
    unary("atanh", -0.8, 0.8, reference=np.arctanh, complex=True),
    unary("sinc", reference=np_sinc, away_from=(0,), complex=True),
    unary(
        "deg2rad",
        errors=(fails(RuntimeError, "deg2rad is not supported for complex tensors.", complex),),
    ),
    unary(
        "rad2deg",
        errors=(fails(RuntimeError, "rad2deg is not supported for complex tensors.", complex),),
    ),
]

WHOLE_BUT_BOOL = ("uint8", "int8", "int64")
ROUNDING = [
    unary(
        "floor",
        away_from=(-1, 0, 1),
        forward_dtypes=(*LOW, *WHOLE_BUT_BOOL),
        errors=(
            fails(NotImplementedError, "\"floor_vml_cpu\" not implemented for 'Bool'", bool),
            fails(NotImplementedError, "floor is not supported for complex inputs", complex),
        ),
    ),
    unary(
        "ceil",
        away_from=(-1, 0, 1),
        forward_dtypes=(*LOW, *WHOLE_BUT_BOOL),
        errors=(fails(NotImplementedError, "ceil is not supported for complex", complex),),
    ),
    unary(
        "trunc",
        away_from=(-1, 0, 1),
        forward_dtypes=(*LOW, *WHOLE_BUT_BOOL),
        errors=(fails(NotImplementedError, "trunc is not supported for complex", complex),),
    ),
    unary(
        "frac",
        reference=lambda x: x - np.trunc(x),
        away_from=(-1, 0, 1),
        forward_dtypes=LOW,
        errors=(fails(NotImplementedError, "\"frac_cpu\" not implemented for 'Long'", int),),
    ),
    OpCase(
        "round",
        lambda rng: [
            sample(rng.uniform(0.1, 0.4, (3, 4)) + np.arange(4)),
            sample(np.array(1.3)),
            sample(np.empty(0)),
            sample(rng.uniform(0.01, 0.04, 5) + 1.2, decimals=1),
            sample(np.array([11.0, 28.0]), decimals=-1),
            sample(np.array([1.2]), decimals=0),
        ],
        forward_dtypes=LOW,
        inplace="round_",
        out=True,
        errors=(
            fails(NotImplementedError, "\"round_cpu\" not implemented for 'Long'", int, decimals=1),
            fails(NotImplementedError, "\"round_vml_cpu\" not implemented for 'Bool'", bool),
        ),
    ),
    OpCase(
        "nan_to_num",
        lambda rng: [
            sample(rng.standard_normal((3, 4))),
            sample(np.array(1.0)),
            sample(np.array([1.0, -2.0]), 1.0, posinf=2.0, neginf=-3.0),
            sample(Fixed(np.array([np.nan, np.inf, -np.inf, 1.0]))),
            sample(Fixed(np.array([np.nan, np.inf, -np.inf, 1.0])), 1.0, 2.0, 3.0),
        ],
        forward_dtypes=(*LOW, *WHOLE, "complex64"),
        inplace="nan_to_num_",
        out=True,
    ),
]

SPECIAL = [
    unary(
        "erf",
        reference=special("erf"),
        errors=(fails(NotImplementedError, '"erf_vml_cpu" not implemented', complex),),
    ),
    unary("erfc", reference=special("erfc")),
    unary("erfinv", -0.9, 0.9, forward_dtypes=LOW),
    unary("lgamma", 0.5, 5, reference=special("lgamma")),
    unary("digamma", 0.5, 5),
    OpCase(
        "polygamma",
        lambda rng: [
            sample(1, rng.uniform(0.5, 3, (3, 4))),
            sample(2, rng.uniform(0.5, 3, 5)),
            sample(0, np.array(1.5)),
            sample(3, np.empty(0)),
            sample(1, np.array([-1.5, -0.3])),
        ],
        forward_dtypes=LOW,
        out=True,
        errors=(
            Raises(
                RuntimeError, "polygamma(n, x) does not support negative n.", sample(-1, np.ones(2))
            ),
        ),
    ),
]

COMPLEX = [
    OpCase("conj", values(-2, 2), np.conj, complex=True, forward_dtypes=("int64", "bool")),
    OpCase("conj_physical", values(-2, 2), np.conj, complex=True, out=True),
    OpCase("resolve_conj", values(-2, 2), np.positive, complex=True),
    OpCase("resolve_neg", values(-2, 2), np.positive, complex=True),
    OpCase("_neg_view", values(-2, 2), reference=np.negative, complex=True),
    OpCase("is_conj", values(-2, 2), differentiable=False),
    OpCase("is_neg", values(-2, 2), differentiable=False),
    OpCase("real", values(-2, 2), np.real, complex=True, forward_dtypes=("int64", "bool")),
    OpCase(
        "imag",
        lambda rng: [sample(rng.standard_normal((3, 2)) + 1j), sample(np.array(2 + 1j))],
        np.imag,
        dtypes=("complex64", "complex128"),
        errors=(
            fails(RuntimeError, "imag is not implemented for tensors with non-complex", float),
        ),
    ),
    OpCase(
        "angle",
        lambda rng: [
            sample(rng.uniform(0.5, 2, (3, 4))),
            sample(np.array(-1.0)),
            sample(np.empty(0)),
        ],
        np.angle,
        complex=True,
        forward_dtypes=(*LOW, *WHOLE),
        out=True,
    ),
    OpCase(
        "complex",
        lambda rng: [
            sample(rng.standard_normal((3, 4)), rng.standard_normal(4)),
            sample(np.array(1.0), np.array(2.0)),
            sample(np.empty(0), np.empty(0)),
        ],
        lambda real, imag: real + 1j * imag,
        out=True,
        errors=(
            Raises(
                RuntimeError,
                "Expected both inputs to be Half, Float or Double tensors but got Double and Long",
                sample(np.ones(2), np.ones(2, int)),
            ),
        ),
    ),
    OpCase(
        "polar",
        lambda rng: [
            sample(rng.uniform(0.5, 2, (3, 4)), rng.standard_normal(4)),
            sample(np.array(1.0), np.array(2.0)),
        ],
        lambda size, angle: size * np.exp(1j * angle),
        out=True,
    ),
    OpCase(
        "view_as_real",
        lambda rng: [sample(rng.standard_normal((3, 2)) + 1j), sample(np.array(2 + 1j))],
        lambda z: np.stack([z.real, z.imag], -1),
        dtypes=("complex64", "complex128"),
        errors=(fails(RuntimeError, "view_as_real is only supported for complex tensors", float),),
    ),
    OpCase(
        "view_as_complex",
        lambda rng: [sample(rng.standard_normal((3, 2))), sample(np.array([1.0, 2.0]))],
        lambda pair: pair[..., 0] + 1j * pair[..., 1],
        errors=(
            Raises(RuntimeError, "must have a last dimension of size 2", sample(np.ones((2, 3)))),
            Raises(RuntimeError, "must have one or more dimensions", sample(np.array(1.0))),
            fails(RuntimeError, "only supported for half, float and double tensors", int),
        ),
    ),
]

BASIC = [*ARITHMETIC, *TRIGONOMETRY, *ROUNDING, *SPECIAL, *COMPLEX]


def renamed(name, original):
    """Return the row of another name of an operator."""
    row = next(case for case in BASIC if case.name == original)
    inplace = f"{name}_" if row.inplace else None
    settings = {**row.__dict__, "name": name, "inplace": inplace, "errors": ()}
    return OpCase(**settings)


ALIASES = [
    renamed("negative", "neg"),
    renamed("absolute", "abs"),
    renamed("fix", "trunc"),
    *[
        renamed(f"arc{name[1:]}", name)
        for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")
    ],
]

CASES = [
    *BASIC,
    *ALIASES,
    OpCase("conj_physical_", values(-2, 2), differentiable=False, complex=True),
]
