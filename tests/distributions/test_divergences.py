"""Kullback-Leibler divergences: values by summing or integrating, and the choice of the formula."""

from __future__ import annotations

import numpy as np
import pytest

import taper as torch
from taper import distributions as d
from taper.distributions import kl

t = torch.tensor
A, B = t([0.3, 2.5]).double(), t([1.3, 2.0]).double()
C = t([2.5, 0.5]).double()
COUNTS = torch.arange(200.0, dtype=torch.float64).view(-1, 1)
POSITIVE = torch.linspace(0.0, 80.0, 400_001, dtype=torch.float64)[1:].view(-1, 1)
REAL = torch.linspace(-60.0, 60.0, 400_001, dtype=torch.float64).view(-1, 1)
UNIT = torch.linspace(0.0, 1.0, 200_001, dtype=torch.float64)[1:-1].view(-1, 1)

SUMMED = {
    "Bernoulli": (d.Bernoulli(t([0.3, 0.6])), d.Bernoulli(t([0.7, 0.2])), COUNTS[:2]),
    "Binomial": (d.Binomial(5, t([0.3, 0.6])), d.Binomial(5, t([0.7, 0.2])), COUNTS[:6]),
    "Geometric": (d.Geometric(t([0.3, 0.6])), d.Geometric(t([0.7, 0.2])), COUNTS),
    "Poisson": (d.Poisson(A), d.Poisson(B), COUNTS),
    "Bernoulli and Poisson": (d.Bernoulli(t([0.3, 0.6])), d.Poisson(B), COUNTS[:2]),
    "Categorical": (d.Categorical(torch.ones(2)), d.Categorical(t([1.0, 3.0])), t([0, 1])),
}
INTEGRATED = {
    "Beta": (d.Beta(A + 1, C + 1), d.Beta(B, C), UNIT),
    "Beta and Gamma": (d.Beta(A + 1, C + 1), d.Gamma(B, C), UNIT),
    "Beta and Normal": (d.Beta(A + 1, C + 1), d.Normal(B, C), UNIT),
    "Beta and Exponential": (d.Beta(A + 1, C + 1), d.Exponential(B), UNIT),
    "Cauchy": (d.Cauchy(A, 0.1), d.Cauchy(B, 0.2), REAL),
    "Exponential": (d.Exponential(A + 0.5), d.Exponential(B), POSITIVE),
    "Exponential and Gamma": (d.Exponential(A + 0.5), d.Gamma(B, C), POSITIVE),
    "Exponential and Gumbel": (d.Exponential(A + 0.5), d.Gumbel(B, C), POSITIVE),
    "Exponential and Normal": (d.Exponential(A + 0.5), d.Normal(B, C), POSITIVE),
    "Gamma": (d.Gamma(A + 1, B), d.Gamma(B, C), POSITIVE),
    "Gamma and Exponential": (d.Gamma(A + 1, B), d.Exponential(C), POSITIVE),
    "Gamma and Gumbel": (d.Gamma(A + 1, B), d.Gumbel(B, C), POSITIVE),
    "Gamma and Normal": (d.Gamma(A + 1, B), d.Normal(B, C), POSITIVE),
    "Gumbel": (d.Gumbel(A, B), d.Gumbel(B, C + 2), REAL),
    "Gumbel and Normal": (d.Gumbel(A, B), d.Normal(B, C), REAL),
    "HalfNormal": (d.HalfNormal(A), d.HalfNormal(B), POSITIVE),
    "Laplace": (d.Laplace(A, B), d.Laplace(B, C), REAL),
    "Laplace and Normal": (d.Laplace(A, B), d.Normal(B, C), REAL),
    "Normal": (d.Normal(A, B), d.Normal(B, C), REAL),
    "Normal and Gumbel": (d.Normal(A, B), d.Gumbel(B, C + 2), REAL),
    "Normal and Laplace": (d.Normal(A, B), d.Laplace(B, C), REAL),
}


@pytest.mark.parametrize("name", SUMMED)
def test_divergence_is_a_sum(name):
    p, q, values = SUMMED[name]
    log_p, log_q = p.log_prob(values), q.log_prob(values)
    expected = (log_p.exp() * (log_p - log_q)).sum(0)
    np.testing.assert_allclose(d.kl_divergence(p, q).numpy(), expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", INTEGRATED)
def test_divergence_is_an_integral(name):
    p, q, values = INTEGRATED[name]
    log_p, log_q = p.log_prob(values), q.log_prob(values)
    expected = (log_p.exp() * (log_p - log_q)).sum(0) * (values[1] - values[0])
    np.testing.assert_allclose(d.kl_divergence(p, q).numpy(), expected.numpy(), rtol=2e-2)


def test_low_rank_and_full_covariances_agree():
    torch.manual_seed(0)
    parts = [(torch.randn(4), torch.randn(4, 2), torch.rand(4) + 0.5) for _ in range(2)]
    low = [d.LowRankMultivariateNormal(*(each.double() for each in part)) for part in parts]
    full = [d.MultivariateNormal(each.loc, each.covariance_matrix) for each in low]
    expected = d.kl_divergence(*full).item()
    for p, q in [(low[0], low[1]), (low[0], full[1]), (full[0], low[1])]:
        assert d.kl_divergence(p, q).item() == pytest.approx(expected)


def test_the_exponential_family_agrees_with_the_special_formula():
    p, q = d.Gamma(A, B), d.Gamma(B, C)
    general = kl._KL_REGISTRY[d.ExponentialFamily, d.ExponentialFamily](p, q)
    np.testing.assert_allclose(general.detach().numpy(), d.kl_divergence(p, q).numpy())


def test_what_the_second_cannot_give_makes_it_infinite():
    assert d.kl_divergence(d.Normal(A, B), d.Gamma(A, B)).tolist() == [float("inf")] * 2
    certain = d.Categorical(t([0.5, 0.5])), d.Categorical(t([0.0, 1.0]))
    assert d.kl_divergence(*certain).item() == float("inf")
    assert d.kl_divergence(*reversed(certain)).item() == pytest.approx(np.log(2))


def test_batches_and_events_are_kept_apart():
    p = d.Independent(d.Normal(torch.zeros(4, 3), 1.0), 1)
    q = d.Independent(d.Normal(torch.ones(3), 1.0), 1)
    assert d.kl_divergence(p, q).tolist() == [1.5] * 4


def test_a_pair_that_nobody_registered():
    with pytest.raises(NotImplementedError) as found:
        d.kl_divergence(d.Cauchy(0.0, 1.0), d.Normal(0.0, 1.0))
    assert str(found.value) == ("No KL(p || q) is implemented for p type Cauchy and q type Normal")


def test_a_subclass_has_the_divergence_of_its_class():
    p, q = d.Chi2(t(3.0)), d.Gamma(t(1.5), t(0.5))
    assert d.kl_divergence(p, q).item() == pytest.approx(0.0, abs=1e-6)


@pytest.fixture
def register():
    before = dict(kl._KL_REGISTRY)
    yield d.register_kl
    kl._KL_REGISTRY.clear()
    kl._KL_REGISTRY.update(before)
    kl._KL_MEMOIZE.clear()


def test_the_first_argument_decides_with_a_warning(register):
    class First(d.Normal):
        pass

    class Second(d.Normal):
        pass

    register(First, d.Normal)(lambda p, q: "first")
    register(d.Normal, Second)(lambda p, q: "second")
    p, q = First(0.0, 1.0), Second(0.0, 1.0)
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(First, Second\)"):
        assert d.kl_divergence(p, q) == "first"
    assert d.kl_divergence(p, q) == "first"  # remembered: no second warning
    register(First, Second)(lambda p, q: "both")
    assert d.kl_divergence(p, q) == "both"
    assert d.kl_divergence(q, q) == "second"
