"""Rows of random tensors; the parity templates seed both sides alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_case import Dtype, OpCase, Raises, Sample, sample

DOUBLE, HALF, BFLOAT, INTEGER, BOOL, COMPLEX = (
    Dtype(name) for name in "float64 float16 bfloat16 int64 bool complex64".split()
)


def row(name: str, *samples: Sample, errors: tuple[Raises, ...] = (), **claims: Any) -> OpCase:
    claims.setdefault("differentiable", False)
    claims.setdefault("dtypes", ("float32", "float64"))
    return OpCase(name, lambda rng: samples, errors=errors, random=True, **claims)


def fails(error: type[Exception], text: str, *args: Any, **kwargs: Any) -> Raises:
    return Raises(error, text, sample(*args, **kwargs))


NO_KERNEL = "not implemented for 'Long'"
NO_GRADIENTS = "Only Tensors of floating point and complex dtype can require gradients"
FROM_TO = "random_ expects 'from' to be less than 'to', but got from=5 >= to=2"
NO_OVERLOAD = "received an invalid combination of arguments"

NEW = [
    row(
        name,
        sample(3),
        sample(2, 3),
        sample((5, 7)),
        sample(()),
        sample(size=[0, 2]),
        sample(17, dtype=DOUBLE),
        sample(16, dtype=HALF),
        sample(40, dtype=BFLOAT, requires_grad=True),
        sample(9, dtype=COMPLEX),
        errors=(
            fails(NotImplementedError, NO_KERNEL, 2, dtype=INTEGER),
            fails(RuntimeError, "negative dimension -1: [-1]", -1),
            fails(TypeError, NO_OVERLOAD),
            fails(TypeError, "argument 'size' (position 1) must be tuple of ints, not str", "a"),
        ),
    )
    for name in ("rand", "randn")
] + [
    row(
        "randint",
        sample(10, (4,)),
        sample(-3, 5, (2, 3)),
        sample(high=5, size=(3,)),
        sample(low=2, high=2**40, size=(3,)),
        sample(2, (4,), dtype=BOOL),
        sample(100, (4,), dtype=HALF),
        errors=(
            fails(RuntimeError, FROM_TO, 5, 2, (3,)),
            fails(RuntimeError, NO_GRADIENTS, 2, (3,), requires_grad=True),
            fails(TypeError, "argument 'high' (position 1) must be int, not float", 5.0, (3,)),
            fails(TypeError, "argument 'size' (position 2) must be tuple of ints, not int", 5, 3),
            fails(TypeError, NO_OVERLOAD, 5),
            fails(RuntimeError, "to - 1 is out of bounds for bool", 3, (3,), dtype=BOOL),
        ),
    ),
    row(
        "randperm",
        sample(0),
        sample(10),
        sample(7, dtype=DOUBLE),
        errors=(
            fails(RuntimeError, "negative dimension -5: [-5]", -5),
            fails(NotImplementedError, "\"randperm\" not implemented for 'Bool'", 3, dtype=BOOL),
            fails(TypeError, "argument 'n' (position 1) must be int, not float", 3.0),
        ),
    ),
]

MATRIX = np.linspace(0.05, 0.95, 24).reshape(4, 6)
TURNED = np.asfortranarray(MATRIX)

LIKE = [
    row(name, sample(MATRIX), sample(TURNED), sample(MATRIX, dtype=HALF), sample(MATRIX[0]))
    for name in ("rand_like", "randn_like")
] + [
    row(
        "randint_like",
        sample(MATRIX, 9),
        sample(TURNED, -2, 3),
        sample(MATRIX, low=1, high=5, dtype=INTEGER),
        errors=(fails(RuntimeError, FROM_TO, MATRIX, 5, 2), fails(TypeError, NO_OVERLOAD, MATRIX)),
    )
]

BY_PARAMETERS = [
    row(
        "normal",
        sample(MATRIX, 2.0),
        sample(MATRIX),
        sample(3.0, MATRIX),
        sample(MATRIX, MATRIX[:, :1]),
        sample(1.0, 2.0, (20,)),
        sample(mean=0, std=1, size=(3,), dtype=DOUBLE),
        differentiable=True,
        errors=(
            fails(RuntimeError, "normal expects std >= 0.0, but found std -1", MATRIX, -1.0),
            fails(RuntimeError, "normal expects all elements of std >= 0.0", MATRIX, -MATRIX),
            fails(RuntimeError, "tensor a (4) must match", np.zeros(4), np.ones(3)),
            fails(TypeError, NO_OVERLOAD, 1.0, 2.0),
        ),
    ),
    row(
        "bernoulli",
        sample(MATRIX),
        sample(TURNED),
        differentiable=True,
        errors=(
            fails(RuntimeError, "Expected p_in >= 0 && p_in <= 1", MATRIX + 1.0),
            fails(RuntimeError, "bernoulli_ expects p to be in [0, 1]", MATRIX, 1.5),
            fails(NotImplementedError, NO_KERNEL, np.ones(3, np.int64)),
        ),
    ),
    row(
        "poisson",
        sample(MATRIX),
        sample(MATRIX * 100.0),
        differentiable=True,
        errors=(fails(RuntimeError, "invalid Poisson rate", -MATRIX),),
    ),
    row(
        "multinomial",
        sample(MATRIX, 3),
        sample(MATRIX[0], 9, True),
        sample(MATRIX, num_samples=1),
        errors=(
            fails(RuntimeError, "n_sample <= 0", MATRIX, 0),
            fails(RuntimeError, "without replacement", MATRIX, 7),
            fails(TypeError, "argument 'num_samples' (position 2) must be int", MATRIX, 2.0),
        ),
    ),
]

FILLS = [
    row("Tensor.normal_", sample(MATRIX), sample(TURNED, 3, 0.5), sample(MATRIX[0], std=2)),
    row("Tensor.uniform_", sample(MATRIX), sample(TURNED, -2, 3.5), sample(MATRIX[0], to=2)),
    row("Tensor.random_", sample(MATRIX), sample(TURNED, 9), sample(MATRIX[0], -2, 5)),
    row("Tensor.bernoulli_", sample(MATRIX), sample(TURNED, 0.2), sample(MATRIX, MATRIX)),
    row("Tensor.exponential_", sample(MATRIX), sample(TURNED, 2), sample(MATRIX, lambd=0.5)),
    row("Tensor.geometric_", sample(MATRIX, 0.5), sample(TURNED, p=0.1)),
    row("Tensor.cauchy_", sample(MATRIX), sample(TURNED, 1, 2), sample(MATRIX, sigma=3)),
    row("Tensor.log_normal_", sample(MATRIX), sample(TURNED, 0, 0.5), sample(MATRIX, std=1)),
]

CASES = NEW + LIKE + BY_PARAMETERS + FILLS
