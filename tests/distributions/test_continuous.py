"""Continuous distributions: recorded numbers, and what must hold of every one of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper
from taper import distributions
from taper.distributions import Normal, constraints, kl_divergence
from taper.distributions.relaxed_bernoulli import LogitRelaxedBernoulli

NAMES = {
    **{name: getattr(distributions, name) for name in distributions.__all__},
    "LogitRelaxedBernoulli": LogitRelaxedBernoulli,
    "t": taper.tensor,
}

# (constructor, two draws after manual_seed(0), their log_prob), from PyTorch 2.13.
RECORDED = [
    ("Normal(0.5, 2.0)", [3.58199, -0.08686], [-2.79942, -1.65514]),
    ("Uniform(-1.0, 2.0)", [0.48877, 1.30467], [-1.09861, -1.09861]),
    ("Laplace(0.5, 2.0)", [0.48497, 2.03765], [-1.39381, -2.15512]),
    ("Cauchy(0.5, 2.0)", [21.69546, 2.02953], [-6.56802, -2.29838]),
    ("LogNormal(0.5, 0.25)", [2.42359, 1.53211], [-1.60523, -0.00234]),
    ("HalfNormal(2.0)", [3.08199, 0.58686], [-2.10627, -0.96199]),
    ("HalfCauchy(2.0)", [21.19546, 1.52953], [-5.87487, -1.60523]),
    ("Gumbel(0.5, 2.0)", [1.21146, 3.16606], [-1.74954, -2.28985]),
    ("Weibull(2.0, 1.5)", [4.61775, 2.29645], [-3.37763, -1.44896]),
    ("Pareto(1.0, 3.0)", [3.2202, 1.50701], [-3.57916, -0.5419]),
    ("GeneralizedPareto(0.5, 2.0, 0.25)", [1.99593, 4.0298], [-1.55026, -2.52062]),
    ("Kumaraswamy(2.0, 3.0)", [0.45638, 0.29007], [0.54023, 0.37834]),
    ("RelaxedBernoulli(t(0.5), 0.25)", [0.09734, 0.54968], [0.35249, -1.02258]),
    (
        "LogisticNormal(t([0.0, 1.0]), t([1.0, 2.0]))",
        [[0.70012, 0.18048, 0.1194], [0.05356, 0.84653, 0.09991]],
        [0.43248, 0.33092],
    ),
    (
        "RelaxedOneHotCategorical(t(0.5), t([0.2, 0.3, 0.5]))",
        [[0.05744, 0.91259, 0.02997], [0.00763, 0.05058, 0.94179]],
        [1.29804, 3.41893],
    ),
    ("VonMises(t(0.5), t(2.0))", [0.29848, 0.07482], [-0.70234, -0.83994]),
    ("ContinuousBernoulli(t(0.25))", [0.36567, 0.65332], [0.09778, -0.21823]),
    (
        "LKJCholesky(2, 1.5)",
        [[[1.0, 0.0], [0.17369, 0.9848]], [[1.0, 0.0], [-0.33537, 0.94209]]],
        [-0.4669, -0.51124],
    ),
    (
        "MixtureSameFamily(Categorical(t([0.25, 0.75])), Normal(t([-1.0, 1.0]), 0.5))",
        [1.28422, 0.3007],
        [-0.67502, -1.46188],
    ),
]


def make(text, **names):
    return eval(text, NAMES | names)


@pytest.mark.parametrize("text, draws, log_probs", RECORDED)
def test_draws_and_densities_are_those_of_pytorch(text, draws, log_probs):
    taper.manual_seed(0)
    distribution = make(text)
    found = distribution.sample((2,))
    np.testing.assert_allclose(found.numpy(), np.float32(draws), atol=2e-5, rtol=2e-5)
    np.testing.assert_allclose(
        distribution.log_prob(found).numpy(), np.float32(log_probs), atol=1e-4
    )


# One-dimensional distributions in float64, and the interval that holds nearly all of them.
DENSITIES = [
    ("Normal(t(0.5), t(2.0))", -20, 20),
    ("Uniform(t(-1.0), t(2.0))", -1, 2),
    ("Laplace(t(0.5), t(2.0))", -60, 60),
    ("LogNormal(t(0.5), t(0.25))", 1e-6, 12),
    ("HalfNormal(t(2.0))", 0, 20),
    ("Gumbel(t(0.5), t(2.0))", -12, 80),
    ("Weibull(t(2.0), t(1.5))", 1e-9, 25),
    ("Pareto(t(1.0), t(9.0))", 1, 30),
    ("GeneralizedPareto(t(0.5), t(2.0), t(-0.25))", 0.5, 8.5),
    ("GeneralizedPareto(t(0.5), t(2.0), t(0.0))", 0.5, 70),
    ("Kumaraswamy(t(2.0), t(3.0))", 1e-9, 1 - 1e-9),
    ("LogitRelaxedBernoulli(t(0.5), t(0.25))", -100, 100),
    ("ContinuousBernoulli(t(0.25))", 0, 1),
    ("ContinuousBernoulli(t(0.5))", 0, 1),
    ("VonMises(t(0.5), t(2.0))", -math.pi, math.pi),
    ("VonMises(t(0.5), t(12.0))", -math.pi, math.pi),
    (
        "MixtureSameFamily(Categorical(t([0.25, 0.75])), Normal(t([-1.0, 1.0]), t(0.5)))",
        -10,
        10,
    ),
]
BY_DENSITY = pytest.mark.parametrize("text, low, high", DENSITIES, ids=[d[0] for d in DENSITIES])


def double(values):
    return taper.tensor(values, dtype=taper.float64)


def of_doubles(text):
    return make(text, t=double)


def grid(low, high):
    return taper.linspace(low, high, 200_001, dtype=taper.float64)


def answers(distribution, name, *arguments):
    """Return what a distribution says, or None if it does not know."""
    try:
        found = getattr(distribution, name)
        return found(*arguments) if callable(found) else found
    except NotImplementedError:
        return None


@BY_DENSITY
def test_density_integrates_to_one_and_gives_mean_variance_and_entropy(text, low, high):
    distribution, x = of_doubles(text), grid(low, high)
    log_density = distribution.log_prob(x)
    density = log_density.exp()
    assert taper.trapezoid(density, x).item() == pytest.approx(1, abs=1e-5)
    if "VonMises" in text:  # its moments are those of a circle
        return
    mean = taper.trapezoid(density * x, x).item()
    variance = taper.trapezoid(density * (x - mean) ** 2, x).item()
    entropy = -taper.trapezoid(density * log_density.clamp(min=-1e3), x).item()
    for name, expected in [("mean", mean), ("variance", variance), ("entropy", entropy)]:
        found = answers(distribution, name)
        assert found is None or found.item() == pytest.approx(expected, rel=2e-4, abs=1e-4), name


@BY_DENSITY
def test_cdf_is_the_integral_of_the_density_and_icdf_its_inverse(text, low, high):
    distribution = of_doubles(text)
    middle = low + 0.4 * (high - low)
    below = grid(low, middle)
    probability = answers(distribution, "cdf", double(middle))
    if probability is not None:
        expected = taper.trapezoid(distribution.log_prob(below).exp(), below).item()
        assert probability.item() == pytest.approx(expected, abs=1e-5)
    quantiles = double([0.1, 0.5, 0.9])
    values = answers(distribution, "icdf", quantiles)
    if values is not None and probability is not None:
        np.testing.assert_allclose(distribution.cdf(values).numpy(), quantiles.numpy(), rtol=1e-8)


@BY_DENSITY
def test_draws_have_the_mean_and_the_spread_they_should(text, low, high):
    taper.manual_seed(3)
    distribution = of_doubles(text)
    draws = distribution.sample((20_000,))
    assert distribution.support.check(draws).all()
    x = grid(low, high)
    density = distribution.log_prob(x).exp()
    mean = taper.trapezoid(density * x, x).item()
    deviation = taper.trapezoid(density * (x - mean) ** 2, x).sqrt().item()
    assert draws.mean().item() == pytest.approx(mean, abs=5 * deviation / math.sqrt(20_000))
    assert draws.std().item() == pytest.approx(deviation, rel=0.1)


@BY_DENSITY
def test_mode_is_where_the_density_is_largest(text, low, high):
    distribution, x = of_doubles(text), grid(low, high)
    mode = answers(distribution, "mode")
    if mode is not None and not mode.isnan():
        largest = distribution.log_prob(x).max().item()
        assert distribution.log_prob(mode).item() >= largest - 1e-6


DIFFERENTIABLE = [
    ("Normal(a, b)", 0.5, 2.0),
    ("Uniform(a, b)", -0.5, 2.0),
    ("Laplace(a, b)", 0.5, 2.0),
    ("Cauchy(a, b)", 0.5, 2.0),
    ("LogNormal(a, b)", 0.5, 0.25),
    ("HalfNormal(a * b)", 0.5, 2.0),
    ("HalfCauchy(a * b)", 0.5, 2.0),
    ("Gumbel(a, b)", 0.5, 2.0),
    ("Weibull(a, b)", 0.5, 2.0),
    ("Pareto(a, b)", 0.5, 2.0),
    ("GeneralizedPareto(a, b, a)", 0.5, 2.0),
    ("Kumaraswamy(a, b)", 0.5, 2.0),
    ("RelaxedBernoulli(b, a)", 0.25, 0.7),
    ("RelaxedBernoulli(b, logits=a)", -0.25, 0.7),
    ("LogisticNormal(a, b)", -0.25, 0.7),
    ("RelaxedOneHotCategorical(b, (a * t([1.0, 2.0])).softmax(-1))", 0.25, 0.7),
    ("ContinuousBernoulli(a * b)", 0.25, 0.7),
    ("TransformedDistribution(Normal(a, b), [ExpTransform(), AffineTransform(a, b)])", 0.2, 0.7),
    ("Independent(Normal(a.expand(2), b), 1)", 0.5, 2.0),
]


@pytest.mark.parametrize("text, a, b", DIFFERENTIABLE)
def test_gradient_of_a_draw_is_that_of_finite_differences(text, a, b):
    def draw(a, b):
        taper.manual_seed(5)
        return make(text, t=double, a=a, b=b).rsample((3,)).sin().sum()

    assert_gradients(draw, a, b)


@pytest.mark.parametrize("text, a, b", DIFFERENTIABLE)
def test_gradient_of_log_prob_is_that_of_finite_differences(text, a, b):
    taper.manual_seed(5)
    value = make(text, t=double, a=double(a), b=double(b)).sample((3,))
    # Differences are of no use at the ends of a support that depends on a parameter.
    assert_gradients(lambda a, b: make(text, t=double, a=a, b=b).log_prob(value).sum(), a, b)


def assert_gradients(function, *values, step=1e-6):
    leaves = [double(each).requires_grad_() for each in values]
    found = taper.autograd.grad(function(*leaves), leaves, allow_unused=True)
    for number, gradient in enumerate(found):
        up, down = list(values), list(values)
        up[number] += step
        down[number] -= step
        difference = function(*map(double, up)) - function(*map(double, down))
        expected = difference.item() / (2 * step)
        value = 0.0 if gradient is None else gradient.item()
        assert value == pytest.approx(expected, rel=1e-4, abs=1e-6), f"parameter {number}"


@pytest.mark.parametrize("text", [text for text, _, _ in RECORDED])
def test_expanded_distribution_draws_as_many_and_agrees(text):
    distribution = make(text)
    expanded = distribution.expand((4, *distribution.batch_shape))
    assert type(expanded) is type(distribution)
    assert expanded.batch_shape == (4, *distribution.batch_shape)
    assert expanded.event_shape == distribution.event_shape
    draws = expanded.sample((3,))
    assert draws.shape == (3, *expanded.batch_shape, *expanded.event_shape)
    # An expanded mixture is added up along another layout.
    rounding = 5e-7 if text.startswith("MixtureSameFamily") else 0
    np.testing.assert_allclose(
        expanded.log_prob(draws).numpy(), distribution.log_prob(draws).numpy(), rtol=rounding
    )
    assert distribution.support.check(draws).all()


@pytest.mark.parametrize("text, a, b", DIFFERENTIABLE)
def test_only_rsample_records(text, a, b):
    leaves = {"a": double(a).requires_grad_(), "b": double(b).requires_grad_()}
    distribution = make(text, t=double, **leaves)
    assert not distribution.sample().requires_grad
    assert distribution.rsample().requires_grad


@pytest.mark.parametrize("text", [text for text, _, _ in RECORDED[-4:] if "Cont" not in text])
def test_distribution_that_cannot_be_reparametrized_says_so(text):
    distribution = make(text)
    assert not distribution.has_rsample
    with pytest.raises(NotImplementedError):
        distribution.rsample()


# --- what is particular to one -------------------------------------------------------------------


def test_uniform_outside_of_its_interval_has_no_probability_if_unchecked():
    uniform = distributions.Uniform(0.0, 1.0, validate_args=False)
    assert uniform.log_prob(taper.tensor([-1.0, 0.5, 2.0])).exp().tolist() == [0, 1, 0]
    assert uniform.cdf(taper.tensor([-1.0, 0.5, 2.0])).tolist() == [0, 0.5, 1]


def test_generalized_pareto_works_in_every_floating_dtype():
    for dtype in (taper.float32, taper.float64):
        zero, one = taper.zeros((), dtype=dtype), taper.ones((), dtype=dtype)
        pareto = distributions.GeneralizedPareto(zero, one, zero)
        assert pareto.cdf(one).dtype is dtype
        assert pareto.cdf(one).item() == pytest.approx(1 - math.exp(-1), rel=1e-6)


def test_moments_that_do_not_exist_are_said_to():
    assert distributions.Cauchy(0.0, 1.0).mean.isnan()
    assert distributions.Cauchy(0.0, 1.0).variance.isinf()
    assert distributions.HalfCauchy(1.0).mean.isinf()
    assert distributions.Pareto(1.0, 0.5).mean.isinf()
    assert distributions.Pareto(1.0, 1.5).variance.isinf()
    assert distributions.GeneralizedPareto(0.0, 1.0, 1.5).mean.isnan()


def test_lkj_draws_are_factors_of_correlation_matrices():
    taper.manual_seed(1)
    factors = distributions.LKJCholesky(4, double([0.5, 3.0])).sample((500,))
    assert constraints.corr_cholesky.check(factors).all()
    correlations = (factors @ factors.mT)[..., 1, 0]
    assert correlations[:, 0].std() > 1.5 * correlations[:, 1].std()  # concentrated around 0


def test_lkj_density_of_two_dimensions_integrates_to_one():
    r = taper.linspace(-1 + 1e-7, 1 - 1e-7, 100_001, dtype=taper.float64)
    rest = (1 - r * r).sqrt()
    zero, one = taper.zeros_like(r), taper.ones_like(r)
    factors = taper.stack([one, zero, r, rest], -1).view(-1, 2, 2)
    density = distributions.LKJCholesky(2, double(2.0)).log_prob(factors).exp()
    assert taper.trapezoid(density, r).item() == pytest.approx(1, abs=1e-6)


def test_von_mises_draws_lie_on_the_circle_around_their_direction():
    taper.manual_seed(2)
    around = distributions.VonMises(double(3.0), double(4.0))
    draws = around.sample((5000,))
    assert (draws.abs() <= math.pi).all()
    sine, cosine = draws.sin().mean(), draws.cos().mean()
    assert taper.atan2(sine, cosine).item() == pytest.approx(3.0, abs=0.05)
    length = (sine**2 + cosine**2).sqrt().item()
    assert 1 - length == pytest.approx(around.variance.item(), abs=0.02)


def test_mixture_of_vectors_keeps_events_together():
    taper.manual_seed(0)
    components = distributions.Independent(Normal(taper.tensor([[-9.0, -9.0], [9.0, 9.0]]), 1.0), 1)
    mixture = distributions.MixtureSameFamily(distributions.Categorical(taper.ones(2)), components)
    draws = mixture.sample((200,))
    assert draws.shape == (200, 2)
    assert (draws[:, 0].sign() == draws[:, 1].sign()).all()
    np.testing.assert_allclose(mixture.variance.numpy(), [82, 82], rtol=1e-6)


def test_log_normal_is_the_exponential_of_a_normal():
    value = taper.tensor([0.5, 2.0])
    found = distributions.LogNormal(0.3, 0.7).log_prob(value)
    expected = Normal(0.3, 0.7).log_prob(value.log()) - value.log()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_divergence_of_a_distribution_from_itself_is_zero():
    normal = Normal(taper.tensor([0.3, 1.0]), 0.7)
    assert kl_divergence(normal, normal).tolist() == [0, 0]
