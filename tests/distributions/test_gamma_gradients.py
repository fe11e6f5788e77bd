"""How gamma and beta numbers move with their parameters, against the implicit function theorem.

A number x with the cumulative probability F(x; a) = u moves by dx/da = -(dF/da) / (dF/dx).
PyTorch's formulas, which taper uses, are good to about three digits.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper as torch
from taper.arrays.special_functions import lgamma

ALPHAS = [0.05, 0.4, 1.0, 3.0, 7.5, 9.0, 40.0]
RATIOS = [0.1, 0.5, 0.93, 1.0, 1.07, 2.0, 4.0]
SHAPES = [(0.4, 0.7), (1.0, 3.0), (5.0, 2.0), (8.0, 9.0), (30.0, 12.0)]
PLACES = [0.05, 0.3, 0.47, 0.5, 0.72, 0.93]


def gamma_log_density(alpha, x):
    return (alpha - 1) * math.log(x) - x - math.lgamma(alpha)


def beta_log_density(a, b, x):
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


# Where the density is tiny, a difference of probabilities would be all rounding.
GAMMAS = [(a, a * r) for a in ALPHAS for r in RATIOS if gamma_log_density(a, a * r) > -20]
BETAS = [(a, b, x) for a, b in SHAPES for x in PLACES if beta_log_density(a, b, x) > -12]


def by_differences(cumulative, log_density, parameter):
    """Return -(dF/da) / f by a central difference of fourth order."""
    h = 1e-3 * parameter
    values = [cumulative(parameter + step * h) for step in (-2, -1, 1, 2)]
    slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    return -slope / math.exp(log_density)


@pytest.mark.parametrize("alpha, x", GAMMAS)
def test_a_gamma_number_moves_as_its_probability_says(alpha, x):
    value = torch.tensor(x, dtype=torch.float64)

    def cumulative(a):
        return torch.igamma(torch.tensor(a, dtype=torch.float64), value).item()

    expected = by_differences(cumulative, gamma_log_density(alpha, x), alpha)
    concentration = torch.tensor(alpha, dtype=torch.float64)
    found = torch._standard_gamma_grad(concentration, value).item()
    assert found == pytest.approx(expected, rel=5e-3)


def beta_cumulative(a, b, x):
    """Return the incomplete beta function by Gauss-Legendre quadrature in a smoothed variable."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    power = 4 / min(a, 1.0)  # y = s**power takes the pole at zero away
    s = (nodes + 1) / 2 * x ** (1 / power)
    y = s**power
    logs = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) + np.log(power) + (power - 1) * np.log(s)
    norm = float(lgamma(np.array(a + b)) - lgamma(np.array(a)) - lgamma(np.array(b)))
    return float((weights / 2 * np.exp(logs + norm)).sum()) * x ** (1 / power)


@pytest.mark.parametrize("a, b, x", BETAS)
def test_a_beta_number_moves_as_its_probability_says(a, b, x):
    density = beta_log_density(a, b, x)
    expected = by_differences(lambda value: beta_cumulative(value, b, x), density, a)
    arguments = (torch.tensor(value, dtype=torch.float64) for value in (x, a, a + b))
    found = torch._dirichlet_grad(*arguments).item() * (1 - x)
    assert found == pytest.approx(expected, rel=5e-3, abs=1e-6)


def test_regions_meet():
    """Neighbouring regions differ by no more than the precision of the formulas."""
    alphas = torch.logspace(-2, 3, 200, dtype=torch.float64)
    for ratio in (0.2, 0.9, 1.1, 3.0):
        slopes = torch._standard_gamma_grad(alphas, alphas * ratio).numpy()
        assert (np.abs(np.diff(np.log(slopes))) < 0.15).all()


def test_the_gradient_of_a_dirichlet_number_is_not_differentiable_again():
    concentration = torch.tensor([1.0, 2.0], requires_grad=True)
    drawn = torch.distributions.Dirichlet(concentration).rsample()
    (gradient,) = torch.autograd.grad(drawn[0], concentration, create_graph=True)
    assert gradient.isfinite().all() and not gradient.requires_grad


def test_gradients_of_a_simplex_cancel():
    """The numbers add up to one, whatever the concentrations."""
    concentration = torch.tensor([0.3, 1.0, 9.0], dtype=torch.float64, requires_grad=True)
    drawn = torch.distributions.Dirichlet(concentration).rsample((50,))
    (gradient,) = torch.autograd.grad(drawn.sum(), concentration)
    np.testing.assert_allclose(gradient.numpy(), 0.0, atol=1e-12)


def test_second_derivatives_are_missing_as_in_pytorch():
    alpha = torch.tensor([1.0], requires_grad=True)
    drawn = torch._standard_gamma(alpha)
    (gradient,) = torch.autograd.grad(drawn.sum(), alpha, create_graph=True)
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad'"):
        gradient.sum().backward()
    with pytest.raises(RuntimeError, match="derivative for aten::_sample_dirichlet"):
        torch._sample_dirichlet(alpha).sum().backward()
