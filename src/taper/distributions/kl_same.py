"""Divergences of two distributions of one family."""

from __future__ import annotations

from math import inf
from typing import Any

from taper.autograd.backward import grad
from taper.distributions.bernoulli import Bernoulli
from taper.distributions.beta import Beta
from taper.distributions.binomial import Binomial
from taper.distributions.categorical import Categorical
from taper.distributions.cauchy import Cauchy
from taper.distributions.continuous_bernoulli import ContinuousBernoulli
from taper.distributions.dirichlet import Dirichlet
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.exponential import Exponential
from taper.distributions.gamma import Gamma
from taper.distributions.geometric import Geometric
from taper.distributions.gumbel import Gumbel
from taper.distributions.half_normal import HalfNormal
from taper.distributions.independent import Independent
from taper.distributions.kl_registry import kl_divergence, register_kl
from taper.distributions.laplace import Laplace
from taper.distributions.normal import Normal
from taper.distributions.one_hot_categorical import OneHotCategorical
from taper.distributions.pareto import Pareto
from taper.distributions.poisson import Poisson
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.uniform import Uniform
from taper.distributions.utils import _sum_rightmost
from taper.distributions.utils import euler_constant as _euler_gamma
from taper.ops.activation.smooth import softplus
from taper.ops.creation.filled import full_like
from taper.ops.elementwise.unary import exp, log1p
from taper.ops.special.basic import digamma, lgamma
from taper.tensor import Tensor


def _infinite_like(tensor: Tensor) -> Tensor:
    return full_like(tensor, inf)


# --- distributions that consist of others ----------------------------------------------------


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    result = kl_divergence(p.base_dist, q.base_dist)
    return _sum_rightmost(result, p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    """Return the Bregman divergence of the log normalizer; for families without a better way."""
    if type(p) is not type(q):
        # The gap is PyTorch's: programs may compare the text.
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot"
            + " " * 29
            + "be computed using Bregman divergences"
        )
    of_p = [each.detach().requires_grad_() for each in p._natural_params]
    normalizer = p._log_normalizer(*of_p)
    gradients = grad(normalizer.sum(), of_p, create_graph=True)
    of_q = q._natural_params
    result = q._log_normalizer(*of_q) - normalizer
    for mine, theirs, gradient in zip(of_p, of_q, gradients, strict=True):
        result -= _sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return result


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: Any, q: Any) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: Any, q: Any) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


# --- discrete --------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones[q.probs == 0] = inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros[q.probs == 1] = inf
    zeros[p.probs == 1] = 0
    return ones + zeros


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    result = p.total_count * trial
    outside = p.total_count > q.total_count
    result[outside] = _infinite_like(result[outside])
    return result


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# --- continuous ------------------------------------------------------------------------------


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Tensor:
    total_p = p.concentration1 + p.concentration0
    total_q = q.concentration1 + q.concentration0
    above = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    below = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    return (
        above
        - below
        + (p.concentration1 - q.concentration1) * digamma(p.concentration1)
        + (p.concentration0 - q.concentration0) * digamma(p.concentration0)
        + (total_q - total_p) * digamma(total_p)
    )


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Tensor:
    # From Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
    # Cauchy distributions" (2019).
    above = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return above - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    of_p = p._cont_bern_log_norm() + log1p(-p.probs)
    of_q = -q._cont_bern_log_norm() - log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + of_p + of_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    totals = total_p.lgamma() - total_q.lgamma()
    parts = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    means = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return totals - parts + ((p.concentration - q.concentration) * means).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + (lgamma(q.concentration) - lgamma(p.concentration))
        + (p.concentration - q.concentration) * digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Tensor:
    ratio, of_q, of_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return (
        -ratio.log()
        - of_q
        + of_p
        + ratio * _euler_gamma
        + exp(of_q + (1 + ratio).lgamma() - of_p)
        - (1 + _euler_gamma)
    )


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * exp(-distance / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() + -ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = inf
    return result


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = inf
    return result
