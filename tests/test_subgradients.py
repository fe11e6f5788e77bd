"""Gradients where functions have kinks, ties or poles: PyTorch's choices, measured with float64."""

from __future__ import annotations

import math

import pytest

import taper
import taper.nn.functional as F

INF, NAN = math.inf, math.nan


def slopes(function, *points):
    x = taper.tensor([float(point) for point in points], dtype=taper.float64, requires_grad=True)
    function(x).backward(taper.ones_like(x))
    return x.grad.tolist()


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one == other or (math.isnan(one) and math.isnan(other)), (found, expected)


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (F.relu, (0, -1, 1, NAN), (0, 0, 1, 1)),
        (F.relu6, (0, 6, 3), (0, 0, 1)),
        (lambda x: F.threshold(x, 0.5, 1.0), (0.5, 0.6), (0, 1)),
        (F.softshrink, (0.5, -0.5, 0.6), (0, 0, 1)),
        (F.hardshrink, (0.5, -0.5, 0.6), (0, 0, 1)),
        (F.hardtanh, (-1, 1, 0), (0, 0, 1)),
        (lambda x: F.hardsigmoid(x) * 6, (-3, 3, 0), (0, 0, 1)),
        (lambda x: F.leaky_relu(x, 0.25), (0, 1, -1), (0.25, 1, 0.25)),
        (F.elu, (0, 1), (1, 1)),
        (F.gelu, (0,), (0.5,)),
        (F.hardswish, (3, -3, 0), (1, 0, 0.5)),
        (F.softplus, (21, 30), (1, 1)),
        (taper.abs, (0, -2, 3), (0, -1, 1)),
        (taper.sign, (0, -2), (0, 0)),
        (taper.sgn, (0, -2), (0, 0)),
        (taper.floor, (0.5, 1), (0, 0)),
        (taper.frac, (0.5, 1), (1, 1)),
        (lambda x: x.clamp(0, 1), (0, 1, -1, 2, 0.5, NAN), (1, 1, 0, 0, 1, 0)),
        (lambda x: x.clamp_min(0), (0, -1), (1, 0)),
        (taper.sqrt, (0, 4), (INF, 0.25)),
        (taper.log, (0, 2), (INF, 0.5)),
        (taper.rsqrt, (0,), (-INF,)),
        (taper.asin, (1,), (INF,)),
        (lambda x: x**0, (0, 2), (0, 0)),
        (lambda x: x**0.5, (0, 4), (INF, 0.25)),
        (lambda x: x**2, (0, 3), (0, 6)),
        (taper.sinc, (0,), (0,)),
        (taper.nan_to_num, (NAN, INF, 1), (0, 0, 1)),
        (lambda x: taper.xlogy(x, taper.zeros_like(x)), (0,), (0,)),
        (lambda x: taper.where(x > 0, x.log(), 0), (-0.0, 2), (NAN, 0.5)),
    ],
)
def test_at_a_point(function, points, expected):
    same(slopes(function, *points), expected)


def pair(function, first, second):
    x = taper.tensor(float(first), dtype=taper.float64, requires_grad=True)
    y = taper.tensor(float(second), dtype=taper.float64, requires_grad=True)
    function(x, y).backward()
    return [x.grad.item(), y.grad.item()]


@pytest.mark.parametrize(
    ("function", "first", "second", "expected"),
    [
        (taper.maximum, 1, 1, (0.5, 0.5)),
        (taper.minimum, 1, 1, (0.5, 0.5)),
        (taper.fmax, 1, 1, (1, 0)),
        (taper.atan2, 0, 0, (0, 0)),
        (taper.hypot, 0, 0, (NAN, NAN)),
        (taper.pow, 0, -1, (-INF, -INF)),
        (taper.pow, 0, 0, (0, 0)),
        (taper.pow, 0, 1, (1, 0)),
        (taper.pow, -2, 2, (-4, NAN)),
        (taper.xlogy, 0, 0, (0, NAN)),
        (taper.clamp, 1, 1, (1, 0)),
        (taper.remainder, 7, 3, (1, -2)),
        (taper.fmod, -7, 3, (1, 2)),
        (taper.copysign, 0, 1, (0, 0)),
        (lambda x, w: F.prelu(x, w), 0, 0.25, (0.25, 0)),
    ],
)
def test_at_a_pair_of_points(function, first, second, expected):
    same(pair(function, first, second), expected)


def test_the_gradient_of_relu_is_chosen_not_multiplied():
    same(slopes(lambda x: taper.sqrt(F.relu(x)), -1, 4), (0, 0.25))
    many = taper.full((1000,), -1.0, requires_grad=True)
    taper.sqrt(F.relu(many)).sum().backward()
    assert many.grad.tolist() == [0.0] * 1000


def test_in_place_activations_refuse_what_they_cannot_invert():
    x = taper.tensor([-1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="In-place leakyReLu backward calculation is triggered"):
        F.leaky_relu(x.clone(), -0.5, inplace=True).sum().backward()
    with pytest.raises(RuntimeError, match="In-place elu backward calculation is triggered"):
        F.elu(x.clone(), -0.5, inplace=True).sum().backward()


@pytest.mark.parametrize(
    ("function", "node"),
    [
        (F.relu, "ReluBackward0"),
        (F.elu, "EluBackward1"),
        (F.selu, "EluBackward1"),
        (F.celu, "CeluBackward1"),
        (F.leaky_relu, "LeakyReluBackward1"),
        (F.rrelu, "RreluWithNoiseBackward1"),
        (F.hardtanh, "HardtanhBackward0"),
        (F.silu, "SiluBackward0"),
        (F.hardswish, "HardswishBackward0"),
        (F.mish, "MishBackward0"),
    ],
)
def test_in_place_activations_have_the_gradient_of_the_others(function, node):
    points = [-2.5, -0.7, 0.3, 2.0]
    x = taper.tensor(points, dtype=taper.float64, requires_grad=True)
    copy = x.clone()
    found = function(copy, inplace=True)
    assert found is copy
    assert type(found.grad_fn).__name__ == node
    (grad,) = taper.autograd.grad(found.sum(), x)
    expected = slopes(function, *points)
    assert taper.allclose(grad, taper.tensor(expected, dtype=taper.float64), rtol=1e-12)
