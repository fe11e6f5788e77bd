"""Densities, moments and entropies: the relations between them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper as torch
from taper import distributions as d

t = torch.tensor
PROBS = t([0.3, 0.6, 0.95], dtype=torch.float64)
COUNTS = torch.arange(200.0, dtype=torch.float64).view(-1, 1)

# A distribution and (nearly) all of its values, along the first dimension.
DISCRETE = {
    "Bernoulli": (d.Bernoulli(PROBS), None),
    "Bernoulli by logits": (d.Bernoulli(logits=PROBS), None),
    "Binomial": (d.Binomial(7, PROBS), None),
    "Categorical": (d.Categorical(torch.rand(3, 4, dtype=torch.float64)), None),
    "OneHotCategorical": (d.OneHotCategorical(torch.rand(3, 4, dtype=torch.float64)), None),
    "Poisson": (d.Poisson(PROBS * 10), COUNTS),
    "Geometric": (d.Geometric(PROBS), COUNTS),
    "NegativeBinomial": (d.NegativeBinomial(3.5, PROBS - 0.2), COUNTS),
}


@pytest.fixture(params=DISCRETE)
def discrete(request):
    given, values = DISCRETE[request.param]
    values = given.enumerate_support() if values is None else values
    return given, values, given.log_prob(values).exp()


def test_probabilities_add_up_to_one(discrete):
    _, _, probs = discrete
    np.testing.assert_allclose(probs.sum(0).numpy(), 1.0, rtol=1e-6)


def test_mean_and_variance_are_those_of_the_probabilities(discrete):
    given, values, probs = discrete
    if isinstance(given, d.Categorical):
        assert given.mean.isnan().all() and given.variance.isnan().all()
        return
    weights = probs.unsqueeze(-1) if isinstance(given, d.OneHotCategorical) else probs
    mean = (weights * values).sum(0)
    np.testing.assert_allclose(given.mean.numpy(), mean.numpy(), rtol=1e-5)
    variance = (weights * (values - mean) ** 2).sum(0)
    np.testing.assert_allclose(given.variance.numpy(), variance.numpy(), rtol=1e-4)


def test_the_mode_is_most_probable(discrete):
    given, _, probs = discrete
    at_mode = given.log_prob(given.mode).exp()
    np.testing.assert_allclose(at_mode.numpy(), probs.max(0).values.numpy(), rtol=1e-6)


def test_entropy_is_the_mean_of_the_information(discrete):
    given, _, probs = discrete
    expected = -(probs * probs.clamp(min=1e-300).log()).sum(0)
    try:
        found = given.entropy()
    except NotImplementedError:
        assert isinstance(given, d.Poisson | d.NegativeBinomial)
        return
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    np.testing.assert_allclose(given.perplexity().numpy(), expected.exp().numpy(), rtol=1e-5)


def test_multinomial_counts():
    given = d.Multinomial(3, t([0.2, 0.3, 0.5], dtype=torch.float64))
    values = [[a, b, 3 - a - b] for a in range(4) for b in range(4 - a)]
    values = t(values, dtype=torch.float64)
    probs = given.log_prob(values).exp()
    assert probs.sum().item() == pytest.approx(1.0)
    np.testing.assert_allclose(given.mean.numpy(), (probs.unsqueeze(-1) * values).sum(0).numpy())
    assert given.entropy().item() == pytest.approx(-(probs * probs.log()).sum().item())


GRID = torch.linspace(1e-4, 60.0, 600_001, dtype=torch.float64).view(-1, 1)
UNIT = torch.linspace(0.0, 1.0, 400_001, dtype=torch.float64)[1:-1].view(-1, 1)
TWO = t([2.0, 5.5], dtype=torch.float64)
CONTINUOUS = {
    "Gamma": (d.Gamma(TWO, t([1.0, 2.0]).double()), GRID),
    "Beta": (d.Beta(TWO, t([1.5, 2.0]).double()), UNIT),
    "Chi2": (d.Chi2(TWO * 2), GRID),
    "Exponential": (d.Exponential(TWO), GRID),
    "InverseGamma": (d.InverseGamma(TWO + 6, TWO), GRID),
    "FisherSnedecor": (d.FisherSnedecor(TWO + 2, TWO * 9), GRID),
    "StudentT": (d.StudentT(TWO * 9, 30.0, 2.0), GRID),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_integrate_to_one_and_to_the_moments(name):
    given, grid = CONTINUOUS[name]
    step = (grid[1] - grid[0]).item()
    density = given.log_prob(grid).exp()
    weights = density * step
    np.testing.assert_allclose(weights.sum(0).numpy(), 1.0, rtol=2e-3)
    mean = (weights * grid).sum(0)
    np.testing.assert_allclose(given.mean.numpy(), mean.numpy(), rtol=2e-3)
    variance = (weights * (grid - mean) ** 2).sum(0)
    np.testing.assert_allclose(given.variance.numpy(), variance.numpy(), rtol=5e-3)
    if name != "FisherSnedecor":
        entropy = -(weights * given.log_prob(grid)).sum(0)
        np.testing.assert_allclose(given.entropy().numpy(), entropy.numpy(), rtol=3e-3)
    peak = given.log_prob(given.mode.clamp(min=1e-4)).exp()
    np.testing.assert_allclose(peak.numpy(), density.max(0).values.numpy(), rtol=1e-3)


@pytest.mark.parametrize("name", ["Gamma", "Chi2", "Exponential", "InverseGamma"])
def test_the_cumulative_distribution_is_the_integral_of_the_density(name):
    given, grid = CONTINUOUS[name]
    step = (grid[1] - grid[0]).item()
    sums = given.log_prob(grid).exp().cumsum(0) * step
    for place in (1000, 10000, 50000):
        found = given.cdf(grid[place])
        np.testing.assert_allclose(found.numpy(), sums[place].numpy(), atol=2e-3)


# --- vectors ---------------------------------------------------------------------------------


def test_three_ways_to_one_normal_distribution():
    loc = t([0.3, -1.0], dtype=torch.float64)
    covariance = t([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    ways = [
        d.MultivariateNormal(loc, covariance),
        d.MultivariateNormal(loc, precision_matrix=covariance.inverse()),
        d.MultivariateNormal(loc, scale_tril=torch.linalg.cholesky(covariance)),
    ]
    value = t([1.0, 2.0], dtype=torch.float64)
    offset = (value - loc).numpy()
    expected = -0.5 * offset @ np.linalg.inv(covariance.numpy()) @ offset
    expected -= math.log(2 * math.pi) + 0.5 * math.log(np.linalg.det(covariance.numpy()))
    for way in ways:
        assert way.log_prob(value).item() == pytest.approx(expected)
        np.testing.assert_allclose(way.covariance_matrix.numpy(), covariance.numpy())
        np.testing.assert_allclose(way.precision_matrix.numpy(), np.linalg.inv(covariance.numpy()))
        np.testing.assert_allclose(way.variance.numpy(), [2.0, 1.0])


def test_a_low_rank_covariance_is_a_covariance():
    torch.manual_seed(0)
    loc, factor = torch.randn(4, 5).double(), torch.randn(5, 2).double()
    diagonal = torch.rand(5).double() + 0.5
    low = d.LowRankMultivariateNormal(loc, factor, diagonal)
    full = d.MultivariateNormal(loc, low.covariance_matrix)
    value = torch.randn(3, 4, 5).double()
    for name in ("precision_matrix", "scale_tril", "variance", "mean"):
        ours, theirs = getattr(low, name), getattr(full, name)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-10)
    np.testing.assert_allclose(low.log_prob(value).numpy(), full.log_prob(value).numpy())
    np.testing.assert_allclose(low.entropy().numpy(), full.entropy().numpy())


def test_many_vectors_share_the_solution_of_a_triangle():
    """Each pair of a triangle and a vector gives what it gives alone."""
    torch.manual_seed(0)
    triangles = torch.randn(3, 1, 2, 2).double().tril()
    triangles.diagonal(dim1=-2, dim2=-1).abs_().add_(0.5)
    given = d.MultivariateNormal(torch.zeros(3, 4, 2).double(), scale_tril=triangles)
    values = torch.randn(5, 3, 4, 2).double()
    found = given.log_prob(values)
    for place in np.ndindex(5, 3, 4):
        alone = d.MultivariateNormal(torch.zeros(2).double(), scale_tril=triangles[place[1], 0])
        assert found[place].item() == pytest.approx(alone.log_prob(values[place]).item())


def test_a_wishart_matrix_of_one_row_is_a_chi_squared_number():
    wishart = d.Wishart(t(3.0).double(), t([[2.0]]).double())
    chi2 = d.Chi2(t(3.0).double())
    value = t([[1.7]]).double()
    scaled = chi2.log_prob(value[0, 0] / 2) - math.log(2)
    assert wishart.log_prob(value).item() == pytest.approx(scaled.item())
    assert wishart.entropy().item() == pytest.approx(chi2.entropy().item() + math.log(2))
    assert wishart.variance.item() == pytest.approx(4 * chi2.variance.item())


# --- gradients, expansion, checks ------------------------------------------------------------


@pytest.mark.parametrize(
    "log_prob",
    [
        lambda p: d.Bernoulli(p).log_prob(t([1.0, 0.0, 1.0]).double()),
        lambda p: d.Binomial(5, p).log_prob(t([1.0, 0.0, 5.0]).double()),
        lambda p: d.Categorical(p).log_prob(t(1)),
        lambda p: d.Multinomial(5, p).log_prob(t([1.0, 0.0, 4.0]).double()),
        lambda p: d.Geometric(p).log_prob(t([1.0, 0.0, 4.0]).double()),
        lambda p: d.NegativeBinomial(p * 3, p).log_prob(t([1.0, 0.0, 4.0]).double()),
        lambda p: d.Poisson(p).log_prob(t([1.0, 0.0, 4.0]).double()),
        lambda p: d.Gamma(p, p + 1).log_prob(t([1.0, 0.1, 4.0]).double()),
        lambda p: d.Beta(p, p + 1).log_prob(t([0.5, 0.1, 0.9]).double()),
        lambda p: d.Dirichlet(p).log_prob(t([0.5, 0.1, 0.4]).double()),
        lambda p: d.StudentT(p, p, p).log_prob(t([0.5, 0.1, 0.4]).double()),
        lambda p: d.FisherSnedecor(p, p + 1).log_prob(t([0.5, 0.1, 0.4]).double()),
        lambda p: d.InverseGamma(p, p + 1).log_prob(t([0.5, 0.1, 0.4]).double()),
        lambda p: d.LowRankMultivariateNormal(p, p.view(3, 1), p).log_prob(PROBS),
    ],
)
def test_gradients_of_densities(log_prob):
    assert torch.autograd.gradcheck(log_prob, (PROBS.clone().requires_grad_(),))


def test_what_is_given_is_what_is_shown():
    by_probs, by_logits = d.Bernoulli(t([0.5, 0.5])), d.Bernoulli(logits=0.5)
    assert repr(by_probs) == "Bernoulli(probs: torch.Size([2]))"
    assert repr(by_logits) == "Bernoulli(logits: 0.5)"
    assert repr(by_probs.expand((3, 2))) == "Bernoulli(probs: torch.Size([3, 2]))"
    by_probs.logits  # computed when asked for, and then an attribute
    assert "logits" in repr(by_probs)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: d.Bernoulli(), "Either `probs` or `logits` must be specified, but not both."),
        (lambda: d.Categorical(t(0.5)), "`probs` parameter must be at least one-dimensional."),
        (lambda: d.Geometric(t([0.0])), "to be positive but found invalid values:\ntensor([0.])"),
        (lambda: d.Gamma(t([-1.0]), 1.0), "to satisfy the constraint GreaterThan(lower_bound=0.0)"),
        (lambda: d.Dirichlet(t(1.0)), "`concentration` parameter must be at least one-dimension"),
        (lambda: d.MultivariateNormal(t([0.0])), "Exactly one of covariance_matrix or precision"),
        (lambda: d.Wishart(t(1.0), torch.eye(2)), "Value of df=1.0 expected to be greater than"),
        (lambda: d.Poisson(t([1.0])).log_prob(t([0.5])), "to be within the support"),
    ],
)
def test_errors_are_those_of_pytorch(make, text):
    with pytest.raises(ValueError) as found:
        make()
    assert text in str(found.value)
