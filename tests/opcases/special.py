"""Rows of `special` and of the special functions that are methods as well."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, Sample, sample

LOW = ("float16", "bfloat16")
SHAPES = [(3, 4), (5,), (), (0,)]


def between(low, high):
    def make(rng: np.random.Generator) -> list[Sample]:
        return [sample(np.asarray(rng.uniform(low, high, shape))) for shape in SHAPES]

    return make


def pairs(low, high):
    def make(rng: np.random.Generator) -> list[Sample]:
        shapes = [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2,)), ((0,), (1,))]
        return [
            sample(*(np.asarray(rng.uniform(low, high, shape)) for shape in each))
            for each in shapes
        ]

    return make


def degrees(rng: np.random.Generator) -> list[Sample]:
    x = rng.uniform(-1.2, 1.2, (3, 4))
    return [sample(x, np.arange(4.0)), sample(x, 5), sample(x, -1), sample(0.5, np.arange(6.0))]


SERIES = {
    "hermite_polynomial_h": np.polynomial.hermite.hermval,
    "hermite_polynomial_he": np.polynomial.hermite_e.hermeval,
    "laguerre_polynomial_l": np.polynomial.laguerre.lagval,
    "legendre_polynomial_p": np.polynomial.legendre.legval,
    "chebyshev_polynomial_t": np.polynomial.chebyshev.chebval,
}


def np_polynomial(value):
    def reference(x, n):
        def one(x, n):
            return value(x, np.eye(1, int(n) + 1, int(n))[0]) if n >= 0 else 0.0

        return np.vectorize(one, otypes=[np.float64])(x, n)

    return reference


POLYNOMIALS = [
    OpCase(
        f"special.{name}",
        degrees,
        reference=np_polynomial(SERIES[name]) if name in SERIES else None,
        differentiable=False,
        out=True,
    )
    for name in (
        *SERIES,
        *(f"chebyshev_polynomial_{letter}" for letter in "uvw"),
        *(f"shifted_chebyshev_polynomial_{letter}" for letter in "tuvw"),
    )
]
WITHOUT_GRADIENT = [
    OpCase(
        f"special.{name}",
        between(0.1, 4.0),
        differentiable=False,
        forward_dtypes=("int64",),
        out=True,
    )
    for name in (
        "airy_ai",
        "bessel_j0",
        "bessel_j1",
        "bessel_y0",
        "bessel_y1",
        "modified_bessel_i0",
        "modified_bessel_i1",
        "modified_bessel_k0",
        "modified_bessel_k1",
        "scaled_modified_bessel_k0",
        "scaled_modified_bessel_k1",
        "spherical_bessel_j0",
    )
]
WITH_GRADIENT = [
    OpCase(f"special.{name}", between(low, high), out=True, forward_dtypes=more)
    for name, low, high, more in (
        ("entr", 0.2, 2.0, (*LOW, "int64")),
        ("erfcx", -1.0, 3.0, ("int64",)),
        ("i0e", 0.2, 3.0, (*LOW, "int64")),
        ("i1", -3.0, 3.0, (*LOW, "int64")),
        ("i1e", 0.2, 3.0, (*LOW, "int64")),
        ("log_ndtr", -3.0, 3.0, ("int64",)),
        ("ndtr", -3.0, 3.0, (*LOW, "int64")),
        ("ndtri", 0.02, 0.98, ()),
    )
]

CASES = [
    *POLYNOMIALS,
    *WITHOUT_GRADIENT,
    *WITH_GRADIENT,
    OpCase(
        "i0",
        between(-3.0, 3.0),
        reference=np.i0,
        forward_dtypes=(*LOW, "int64", "bool"),
        inplace="i0_",
        out=True,
    ),
    OpCase("i0_", between(-3.0, 3.0), reference=np.i0, differentiable=False),
    OpCase(
        "mvlgamma",
        lambda rng: [sample(rng.uniform(2.0, 5.0, shape), p) for shape in SHAPES for p in (1, 3)],
        forward_dtypes=("int64",),
        inplace="mvlgamma_",
        out=True,
        errors=(
            Raises(RuntimeError, "p has to be greater than or equal to 1", sample(np.ones(2), 0)),
        ),
    ),
    *(
        OpCase(
            name,
            pairs(0.3, 4.0),
            differentiable=False,
            forward_dtypes=LOW,
            inplace=f"{name}_",
            out=True,
            errors=(
                Raises(
                    NotImplementedError,
                    f"\"{name}_cpu\" not implemented for 'Long'",
                    sample(np.array([1]), np.array([1])),
                ),
            ),
        )
        for name in ("igamma", "igammac")
    ),
    OpCase(
        "special.xlog1py",
        pairs(0.3, 4.0),
        reference=lambda x, y: x * np.log1p(y),
        forward_dtypes=LOW,
        out=True,
    ),
    OpCase("special.zeta", pairs(1.5, 4.0), differentiable=False, out=True),
]
