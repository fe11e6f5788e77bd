"""Divergences of distributions of different families.

If the first can give values that the second cannot, the divergence is infinite.
"""

from __future__ import annotations

import math
from math import inf
from typing import Any

from taper.distributions.bernoulli import Bernoulli
from taper.distributions.beta import Beta
from taper.distributions.binomial import Binomial
from taper.distributions.continuous_bernoulli import ContinuousBernoulli
from taper.distributions.exponential import Exponential
from taper.distributions.gamma import Gamma
from taper.distributions.gumbel import Gumbel
from taper.distributions.kl_registry import register_kl
from taper.distributions.kl_same import _infinite_like
from taper.distributions.laplace import Laplace
from taper.distributions.normal import Normal
from taper.distributions.pareto import Pareto
from taper.distributions.poisson import Poisson
from taper.distributions.uniform import Uniform
from taper.distributions.utils import euler_constant as _euler_gamma
from taper.ops.creation.filled import ones_like
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.power import square, xlogy
from taper.ops.elementwise.unary import exp, log, log1p
from taper.ops.special.basic import erf
from taper.tensor import Tensor


def _x_log_x(tensor: Tensor) -> Tensor:
    return xlogy(tensor, tensor)


# --- always infinite -------------------------------------------------------------------------


@register_kl(Beta, Pareto)
def _kl_beta_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.concentration1)


@register_kl(ContinuousBernoulli, Pareto)
def _kl_continuous_bernoulli_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.probs)


@register_kl(Exponential, Beta)
@register_kl(Exponential, ContinuousBernoulli)
@register_kl(Exponential, Pareto)
@register_kl(Exponential, Uniform)
def _kl_exponential_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.rate)


@register_kl(Gamma, Beta)
@register_kl(Gamma, ContinuousBernoulli)
@register_kl(Gamma, Pareto)
@register_kl(Gamma, Uniform)
def _kl_gamma_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.concentration)


@register_kl(Gumbel, Beta)
@register_kl(Gumbel, ContinuousBernoulli)
@register_kl(Gumbel, Exponential)
@register_kl(Gumbel, Gamma)
@register_kl(Gumbel, Pareto)
@register_kl(Gumbel, Uniform)
def _kl_gumbel_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.loc)


@register_kl(Laplace, Beta)
@register_kl(Laplace, ContinuousBernoulli)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Gamma)
@register_kl(Laplace, Pareto)
@register_kl(Laplace, Uniform)
def _kl_laplace_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.loc)


@register_kl(Normal, Beta)
@register_kl(Normal, ContinuousBernoulli)
@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Normal, Pareto)
@register_kl(Normal, Uniform)
def _kl_normal_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.loc)


@register_kl(Pareto, Beta)
@register_kl(Pareto, ContinuousBernoulli)
@register_kl(Pareto, Uniform)
def _kl_pareto_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.scale)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _kl_poisson_infinity(p: Any, q: Any) -> Tensor:
    return _infinite_like(p.rate)


# --- Bernoulli -------------------------------------------------------------------------------


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# --- Beta ------------------------------------------------------------------------------------


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Any, q: Any) -> Tensor:
    mean = p.concentration1 / (p.concentration1 + p.concentration0)
    return -p.entropy() - q.rate.log() + q.rate * mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Any, q: Any) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    total = p.concentration1 + p.concentration0
    mean_log = p.concentration1.digamma() - total.digamma()
    return (
        -p.entropy()
        + normalizer
        - (q.concentration - 1) * mean_log
        + q.rate * p.concentration1 / (p.concentration1 + p.concentration0)
    )


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Any, q: Any) -> Tensor:
    mean = p.concentration1 / (p.concentration1 + p.concentration0)
    variance = q.scale.pow(2)
    own = mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1)
    half_square = (own + mean.pow(2)) * 0.5
    distance = half_square - q.loc * mean + q.loc.pow(2) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + distance / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = inf
    return result


# --- ContinuousBernoulli ---------------------------------------------------------------------


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: Any, q: Any) -> Tensor:
    constant = 0.5 * (math.log(2.0 * math.pi) + square(q.loc / q.scale)) + log(q.scale)
    moment = p.variance + square(p.mean) - 2.0 * q.loc * p.mean
    return -p.entropy() + constant + moment / (2.0 * square(q.scale))


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    outside = (q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound)
    return where(outside, ones_like(result) * inf, result)


# --- Exponential -----------------------------------------------------------------------------


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return (
        -q.concentration * log(ratio)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * _euler_gamma
        - (1 + _euler_gamma)
    )


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, offset = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - offset + exp(offset) * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Any, q: Any) -> Tensor:
    variance, rate_squared = q.scale.pow(2), p.rate.pow(2)
    constant = 0.5 * log(rate_squared * variance * 2 * math.pi)
    distance = rate_squared.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return constant - 1 + distance / variance


# --- Gamma -----------------------------------------------------------------------------------


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Any, q: Any) -> Tensor:
    product, offset = p.rate * q.scale, q.loc / q.scale
    own = (
        (p.concentration - 1) * p.concentration.digamma()
        - p.concentration.lgamma()
        - p.concentration
    )
    return (
        own
        + (product.log() + p.concentration / product)
        + (exp(offset) * (1 + product.reciprocal()).pow(-p.concentration) - offset)
    )


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Any, q: Any) -> Tensor:
    variance, rate_squared = q.scale.pow(2), p.rate.pow(2)
    constant = (
        0.5 * log(rate_squared * variance * 2 * math.pi)
        - p.concentration
        - p.concentration.lgamma()
    )
    half_square = 0.5 * (p.concentration.pow(2) + p.concentration) / rate_squared
    distance = half_square - q.loc * p.concentration / p.rate + 0.5 * q.loc.pow(2)
    return constant + (p.concentration - 1) * p.concentration.digamma() + distance / variance


# --- Gumbel, Laplace, Normal -----------------------------------------------------------------


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    mean = p.loc + p.scale * _euler_gamma
    return (
        -(ratio / math.sqrt(2 * math.pi)).log()
        + (math.pi * ratio * 0.5).pow(2) / 3
        + ((mean - q.loc) / q.scale).pow(2) * 0.5
        - (_euler_gamma + 1)
    )


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    distance = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -(0.5 * log(2 * ratio / math.pi)) + ratio + distance / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Tensor:
    mean, offset = p.loc / q.scale, q.loc / q.scale
    ratio = (p.scale / q.scale).pow(2)
    return (
        -(ratio.log() * 0.5)
        + (mean - offset)
        + exp(-mean + 0.5 * ratio + offset)
        - (0.5 * (1 + math.log(2 * math.pi)))
    )


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Tensor:
    difference = p.loc - q.loc
    scaled = difference / p.scale
    peak = math.sqrt(2 / math.pi) * p.scale * exp(-0.5 * scaled.pow(2))
    sides = difference * erf(math.sqrt(0.5) * scaled)
    return (
        -(p.scale / q.scale).log()
        + (peak + sides) / q.scale
        - (0.5 * (1 + math.log(0.5 * math.pi)))
    )


# --- Pareto ----------------------------------------------------------------------------------


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    result = (
        (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    )
    result[p.alpha <= 1] = inf
    return result


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    result = (
        p.alpha.log()
        - mean_log
        + (q.concentration.lgamma() - q.concentration * q.rate.log())
        + (1 - q.concentration) * mean_log
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
        - 1
    )
    result[p.alpha <= 1] = inf
    return result


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Any, q: Any) -> Tensor:
    twice_variance = 2 * q.scale.pow(2)
    step = p.scale / (p.alpha - 1)
    own = p.alpha * step.pow(2) / (p.alpha - 2)
    distance = (p.alpha * step - q.loc).pow(2)
    result = (
        (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
        - p.alpha.reciprocal()
        + (own + distance) / twice_variance
        - 1
    )
    result[p.alpha <= 2] = inf
    return result


# --- Uniform ---------------------------------------------------------------------------------


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    heads = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    tails = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    normalizer = (
        q.concentration1.lgamma()
        + q.concentration0.lgamma()
        - (q.concentration1 + q.concentration0).lgamma()
    )
    result = tails + normalizer - log(width) - heads
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = inf
    return result


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - log1p(-q.probs) - q._cont_bern_log_norm()
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return where(outside, ones_like(result) * inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p: Any, q: Any) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = inf
    return result


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    logs = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = (
        -width.log()
        + (q.concentration.lgamma() - q.concentration * q.rate.log())
        + logs
        + q.rate * (p.high + p.low) / 2
    )
    result[p.low < q.support.lower_bound] = inf
    return result


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Tensor:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * (exp(-high) - exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    constant = (math.sqrt(math.pi * 2) * q.scale / width).log()
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return constant + 0.5 * (width.pow(2) / 12 + distance) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    constant = (q.alpha * q.scale.pow(q.alpha) * width).log()
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = mean_log * (q.alpha + 1) - constant
    result[p.low < q.support.lower_bound] = inf
    return result
