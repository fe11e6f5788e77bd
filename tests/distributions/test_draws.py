"""Draws of discrete, gamma-like and multivariate distributions: PyTorch's numbers, recorded."""

from __future__ import annotations

import numpy as np
import pytest

import taper as torch
from taper.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Chi2,
    Dirichlet,
    Exponential,
    FisherSnedecor,
    Gamma,
    Geometric,
    InverseGamma,
    LowRankMultivariateNormal,
    Multinomial,
    MultivariateNormal,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
    StudentT,
    Wishart,
)

t = torch.tensor
PAIR = t([0.3, 0.6])
THREE = t([0.3, 0.6, 0.1])
SQUARE = t([[2.0, 0.5], [0.5, 1.0]])

# After `manual_seed(3)`.
RECORDED = [
    (Bernoulli(PAIR), (3,), [[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]),
    (Binomial(t([5.0, 100.0]), PAIR), (3,), [[0.0, 63.0], [1.0, 58.0], [1.0, 56.0]]),
    (
        Categorical(t([[0.3, 0.6, 0.1], [1.0, 1.0, 2.0]])),
        (4,),
        [[0, 2], [0, 2], [1, 0], [0, 1]],
    ),
    (OneHotCategorical(THREE), (2,), [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
    (Multinomial(6, THREE), (2,), [[3.0, 3.0, 0.0], [2.0, 4.0, 0.0]]),
    (Geometric(t([0.3, 0.1])), (3,), [[15.0, 21.0], [3.0, 34.0], [2.0, 26.0]]),
    (NegativeBinomial(t([5.0, 0.5]), PAIR), (3,), [[1.0, 2.0], [2.0, 0.0], [1.0, 3.0]]),
    (Poisson(t([0.5, 40.0])), (3,), [[0.0, 36.0], [0.0, 45.0], [0.0, 39.0]]),
    (
        Gamma(t([0.3, 9.0]), t([1.0, 2.0])),
        (2,),
        [[0.56007063, 7.29853535], [0.05885540, 5.99855089]],
    ),
    (
        Beta(t([0.3, 9.0]), t([1.0, 2.0])),
        (2,),
        [[0.14953044, 0.85944444], [0.00453281, 0.86416060]],
    ),
    (
        Dirichlet(t([0.3, 0.9, 2.0])),
        (2,),
        [[0.15164669, 0.26852921, 0.57982409], [0.00651421, 0.11103794, 0.88244784]],
    ),
    (Chi2(t([3.0, 0.5])), (), [4.53432178, 1.01436985]),
    (Exponential(t([3.0, 0.5])), (), [0.01156782, 0.67581916]),
    (FisherSnedecor(t([3.0, 0.5]), t([2.0, 7.0])), (), [4.62081385, 2.86478758]),
    (InverseGamma(t([3.0, 0.5]), t([2.0, 7.0])), (), [0.47559589, 7.52836418]),
    (StudentT(t([3.0, 0.5]), t([2.0, 7.0])), (), [2.87456131, 7.85322618]),
    (
        MultivariateNormal(t([0.3, 1.0]), SQUARE),
        (2,),
        [[1.43600392, 1.44754267], [0.42583406, 0.45737785]],
    ),
    (
        LowRankMultivariateNormal(t([0.3, 1.0]), t([[2.0], [0.5]]), t([1.0, 0.5])),
        (2,),
        [[1.99553013, 0.96767390], [0.69584924, 0.11991131]],
    ),
]


@pytest.mark.parametrize("given, shape, expected", RECORDED, ids=lambda each: type(each).__name__)
def test_draws_are_those_of_pytorch(given, shape, expected):
    torch.manual_seed(3)
    drawn = given.sample(shape)
    np.testing.assert_allclose(drawn.numpy(), expected, rtol=2e-6, atol=1e-8)
    assert not drawn.requires_grad


def test_a_wishart_matrix_is_drawn_twice_as_in_pytorch():
    torch.manual_seed(3)
    with pytest.warns(UserWarning, match="Singular sample detected"):
        drawn = Wishart(t(3.0), SQUARE).sample()
    expected = [[0.89994848, 0.59226155], [0.59226155, 0.66777384]]
    np.testing.assert_allclose(drawn.numpy(), expected, rtol=1e-5)


def test_several_wishart_matrices_can_be_differentiated():
    df = t(3.0, requires_grad=True)
    with pytest.warns(UserWarning, match="Singular sample detected"):
        drawn = Wishart(df, SQUARE).rsample((5,))
    drawn.sum().backward()
    assert df.grad.isfinite() and df.grad != 0


def test_a_straight_through_draw_has_the_gradient_of_the_probabilities():
    logits = t([0.3, -0.9, 0.1], requires_grad=True)
    weights = t([1.0, 2.0, 3.0])
    drawn = OneHotCategoricalStraightThrough(logits=logits).rsample()
    (found,) = torch.autograd.grad((drawn * weights).sum(), logits)
    (expected,) = torch.autograd.grad((logits.softmax(-1) * weights).sum(), logits)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    assert sorted(drawn.tolist()) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "given",
    [
        Binomial(20, t([0.3, 0.7]).double()),
        Poisson(t([3.0, 15.0]).double()),
        NegativeBinomial(t([3.0, 8.0]).double(), t([0.3, 0.6]).double()),
        Geometric(t([0.3, 0.6]).double()),
        Gamma(t([0.4, 6.0]).double(), t([1.0, 2.0]).double()),
        Beta(t([0.4, 6.0]).double(), t([1.0, 2.0]).double()),
        Chi2(t([1.0, 9.0]).double()),
        StudentT(t([9.0, 30.0]).double(), 1.0, t([1.0, 2.0]).double()),
        FisherSnedecor(t([5.0, 9.0]).double(), t([20.0, 30.0]).double()),
        InverseGamma(t([9.0, 6.0]).double(), 3.0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_draws_have_the_mean_and_the_variance(given):
    torch.manual_seed(0)
    drawn = given.sample((4000,))
    error = 5 * (given.variance / 4000).sqrt()
    assert ((drawn.mean(0) - given.mean).abs() < error).all()
    np.testing.assert_allclose(drawn.var(0).numpy(), given.variance.numpy(), rtol=0.35)


def test_a_failed_draw_leaves_the_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    with pytest.raises(NotImplementedError, match='"gamma_cpu" not implemented for'):
        torch._standard_gamma(t([1, 2]))
    assert torch.equal(torch.get_rng_state(), before)


def test_gamma_and_normal_draws_share_the_kept_normal():
    """One gamma number takes one of a pair of normal numbers; the other one comes next."""
    torch.manual_seed(0)
    torch._standard_gamma(t([3.0]))
    following = torch.randn(1)
    torch.manual_seed(0)
    pair = torch.randn(2)
    assert following.item() == pair[1].item()
