"""Gradients where functions have kinks, ties or poles: PyTorch's choices, measured with float64."""

from __future__ import annotations

import pytest

import taper
import taper.nn.functional as F
from subgradient_cases import PAIRS, POINTS, assert_same, pair_of_slopes, slopes


@pytest.mark.parametrize(("expression", "points", "expected"), POINTS)
def test_at_a_point(expression, points, expected):
    assert_same(slopes(taper, expression, points), expected)


@pytest.mark.parametrize(("expression", "first", "second", "expected"), PAIRS)
def test_at_a_pair_of_points(expression, first, second, expected):
    assert_same(pair_of_slopes(taper, expression, first, second), expected)


def test_the_gradient_of_relu_is_chosen_not_multiplied():
    assert_same(slopes(taper, "torch.sqrt(F.relu(x))", (-1, 4)), (0, 0.25))
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
    plain = taper.tensor(points, dtype=taper.float64, requires_grad=True)
    (expected,) = taper.autograd.grad(function(plain).sum(), plain)
    assert taper.allclose(grad, expected, rtol=1e-12)
