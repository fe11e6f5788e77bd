"""Rows of the activation functions, those of the package and those of `nn.functional`."""

from __future__ import annotations

import math

import numpy as np

from op_case import OpCase, Raises, sample

LOW = ("float16", "bfloat16")
KINKS = (-3, -1, -0.5, 0, 0.5, 1, 3, 6)


def away(array):
    """Move elements away from where the functions have kinks."""
    for kink in KINKS:
        array = np.where(np.abs(array - kink) < 0.02, kink + 0.05, array)
    return np.asarray(array)


def values(*args, **kwargs):
    """Return samples of one tensor and further arguments; large ones test the other path."""

    def make(rng):
        shapes = [(3, 4), (6,), (), (0,), (2, 0, 3)]
        found = [sample(away(rng.uniform(-7, 7, shape)), *args, **kwargs) for shape in shapes]
        return [*found, sample(away(rng.uniform(-2, 2, 5)), *args, **kwargs)]

    return make


def several(*arguments):
    def make(rng):
        return [each for args, kwargs in arguments for each in values(*args, **kwargs)(rng)]

    return make


def fails(error, text, *args, **kwargs):
    return Raises(error, text, sample(*args, **kwargs))


def refused(kernel, *args):
    return fails(
        NotImplementedError, f"\"{kernel}\" not implemented for 'Long'", np.ones(2, int), *args
    )


def functional(name, samples=None, reference=None, **options):
    settings = {"forward_dtypes": LOW, **options}
    return OpCase(f"nn.functional.{name}", samples or values(), reference, **settings)


def np_sigmoid(x):
    return 1 / (1 + np.exp(-x))


def np_softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, 50))) / beta)


def np_gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def np_elu(x, alpha=1.0, inplace=False):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def np_glu(x, dim=-1):
    first, second = np.split(x, 2, dim)
    return first * np_sigmoid(second)


PACKAGE = [
    OpCase(
        "relu",
        values(),
        lambda x: np.maximum(x, 0),
        forward_dtypes=(*LOW, "int64", "uint8"),
        inplace="relu_",
        errors=(
            fails(RuntimeError, "Boolean inputs not supported for relu", np.array([True])),
            fails(NotImplementedError, "clamp is not supported for complex", np.ones(2) * 1j),
        ),
    ),
    OpCase(
        "threshold",
        values(0.7, 10.0),
        lambda x, threshold, value: np.where(x > threshold, x, value),
        forward_dtypes=(*LOW, "int64", "uint8"),
        out=True,
        errors=(
            fails(NotImplementedError, '"threshold_cpu" not implemented', np.array([True]), 0, 1),
        ),
    ),
    OpCase(
        "celu",
        several(((), {}), ((0.5,), {})),
        lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
        forward_dtypes=LOW,
        errors=(
            refused("elu_cpu"),
            fails(RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU", np.ones(2), 0),
        ),
    ),
    OpCase(
        "selu",
        values(),
        lambda x: 1.0507009873554805 * np_elu(x, 1.6732632423543772),
        forward_dtypes=LOW,
    ),
    OpCase(
        "hardshrink",
        several(((), {}), ((0.3,), {})),
        lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0),
        forward_dtypes=LOW,
        out=True,
        errors=(refused("hardshrink_cpu"),),
    ),
    OpCase(
        "rrelu",
        several(((), {}), ((0.1, 0.3), {})),
        lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, x * (lower + upper) / 2),
        forward_dtypes=LOW,
        errors=(
            refused("leaky_relu_cpu"),
            fails(RuntimeError, "Lower bound should be less than or equal", np.ones(1), 0.5, 0.3),
        ),
    ),
    OpCase(
        "prelu",
        lambda rng: [
            sample(away(rng.uniform(-3, 3, (2, 3, 4))), rng.uniform(0.1, 0.5, 3)),
            sample(away(rng.uniform(-3, 3, (2, 3))), np.array([0.25])),
            sample(away(rng.uniform(-3, 3, 5)), np.array([0.25])),
            sample(np.array(-1.5), np.array([0.25])),
            sample(away(rng.uniform(-3, 3, (2, 3))), np.array(0.25)),
        ],
        forward_dtypes=LOW,
        errors=(
            fails(RuntimeError, "Mismatch of parameter numbers", np.ones((2, 3)), np.ones(2)),
            fails(RuntimeError, "Not allow zero-dim input tensor.", np.array(1.0), np.ones(3)),
            fails(RuntimeError, "to be a scalar or 1D tensor", np.ones((2, 3)), np.ones((3, 1))),
        ),
    ),
]

FUNCTIONAL = [
    functional("relu", reference=lambda x: np.maximum(x, 0)),
    functional("relu6", reference=lambda x: np.clip(x, 0, 6)),
    functional(
        "leaky_relu",
        several(((), {}), ((0.2,), {}), ((-0.3,), {}), ((0,), {}), ((1.5,), {})),
        lambda x, slope=0.01: np.where(x > 0, x, x * slope),
        errors=(refused("leaky_relu_cpu"),),
    ),
    functional("elu", several(((), {}), ((2.0,), {})), np_elu, errors=(refused("elu_cpu"),)),
    functional(
        "gelu",
        several(((), {}), ((), {"approximate": "tanh"})),
        np_gelu,
        errors=(
            refused("GeluKernelImpl"),
            fails(
                RuntimeError,
                "approximate argument must be either none or tanh.",
                np.ones(2),
                approximate="no",
            ),
        ),
    ),
    functional(
        "silu",
        reference=lambda x: x * np_sigmoid(x),
        forward_dtypes=(*LOW, "complex64"),
        errors=(refused("silu_cpu"),),
    ),
    functional(
        "mish", reference=lambda x: x * np.tanh(np_softplus(x)), errors=(refused("mish_cpu"),)
    ),
    functional(
        "softplus",
        several(((), {}), ((2, 1), {}), ((), {"beta": 0.5})),
        np_softplus,
        errors=(refused("softplus_cpu"),),
    ),
    functional(
        "hardtanh",
        several(((), {}), ((-2.1, 0.2), {})),
        lambda x, low=-1.0, high=1.0: np.clip(x, low, high),
        forward_dtypes=(*LOW, "int64"),
        errors=(
            fails(ValueError, "min_val cannot be greater than max_val", np.ones(1), 2, 1),
            fails(RuntimeError, "Bool inputs not supported for hardtanh", np.array([True])),
        ),
    ),
    functional(
        "hardswish",
        reference=lambda x: x * np.clip(x + 3, 0, 6) / 6,
        errors=(refused("hardswish_cpu"),),
    ),
    functional(
        "hardsigmoid",
        reference=lambda x: np.clip(x + 3, 0, 6) / 6,
        gradgrad=False,
        errors=(refused("hardsigmoid_cpu"),),
    ),
    functional("softsign", reference=lambda x: x / (1 + np.abs(x))),
    functional("tanhshrink", reference=lambda x: x - np.tanh(x)),
    functional(
        "softshrink",
        several(((), {}), ((0.3,), {})),
        lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
        errors=(
            refused("softshrink_check"),
            fails(RuntimeError, "lambda must be in range", np.ones(1), -1),
        ),
    ),
    functional(
        "logsigmoid",
        reference=lambda x: np.log(np_sigmoid(x)),
        errors=(refused("log_sigmoid_cpu"),),
    ),
    functional(
        "glu",
        lambda rng: [
            sample(rng.standard_normal((3, 4))),
            sample(rng.standard_normal((4, 3)), 0),
            sample(rng.standard_normal((2, 4, 3)), dim=1),
            sample(np.empty((2, 0))),
        ],
        np_glu,
        errors=(
            refused("glu_cpu"),
            fails(RuntimeError, "Halving dimension must be even", np.ones(3)),
            fails(RuntimeError, "glu does not support scalars", np.array(1.0)),
            fails(IndexError, "Dimension out of range", np.ones((2, 2)), 2),
        ),
    ),
    functional(
        "rrelu",
        several(((), {"training": True}), ((0.1, 0.3, True), {})),
        random=True,
        forward_dtypes=("bfloat16",),
    ),
    functional("sigmoid", reference=np_sigmoid),
    functional("tanh", reference=np.tanh),
]

IN_PLACE = [
    OpCase("relu_", values(), differentiable=False),
    OpCase("selu_", values(), differentiable=False),
    OpCase("celu_", values(0.5), differentiable=False),
    OpCase("threshold_", values(0.7, 10.0), differentiable=False),
    OpCase("rrelu_", values(0.1, 0.3), differentiable=False),
    functional("elu_", values(1.5), differentiable=False),
    functional("leaky_relu_", values(0.1), differentiable=False),
    functional("hardtanh_", values(), differentiable=False),
]

CASES = [*PACKAGE, *FUNCTIONAL, *IN_PLACE]
