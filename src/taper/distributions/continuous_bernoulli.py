"""The continuous Bernoulli distribution: on [0, 1], with series near `probs` of one half."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import Number, OfTwo, expanded_by_name, one_of
from taper.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)
from taper.ops.creation.filled import ones_like, zeros_like
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.clamping import maximum
from taper.ops.loss.binary_cross_entropy import binary_cross_entropy_with_logits
from taper.ops.random.draws import rand
from taper.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(OfTwo, ExponentialFamily):
    """A distribution on [0, 1] with density proportional to `probs**x * (1 - probs)**(1 - x)`.

    Args:
        probs: the parameter, between 0 and 1.
        logits: its log-odds; give one of the two.
        lims: the formulas divide by `1 - 2 * probs`; between these two numbers the first terms of
            their series are used instead.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.ContinuousBernoulli(taper.tensor(0.3)).mean
    tensor(0.4302)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name, given = one_of(probs, logits)
        (self._param,) = broadcast_all(given)
        if probs is not None:
            is_checked = validate_args is not None
            if is_checked and not constraints.unit_interval.check(self._param).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = clamp_probs(self._param)  # 0 and 1 would give infinities
        setattr(self, name, self._param)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        names = ("probs", "logits", "_param")
        return expanded_by_name(self, ContinuousBernoulli, new, batch_shape, *names)

    def _outside_unstable_region(self) -> Tensor:
        return maximum(self.probs <= self._lims[0], self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Return the probabilities, moved out of the region where the formulas fail."""
        return where(
            self._outside_unstable_region(), self.probs, self._lims[0] * ones_like(self.probs)
        )

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of the factor that makes the density integrate to one."""
        cut = self._cut_probs()
        below = where(cut <= 0.5, cut, zeros_like(cut))
        above = where(cut >= 0.5, cut, ones_like(cut))
        log_norm = ((-cut).log1p() - cut.log()).abs().log() - where(
            cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log()
        )
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return where(self._outside_unstable_region(), log_norm, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return where(self._outside_unstable_region(), mean, series)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        variance = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (
            (-cut).log1p() - cut.log()
        ).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return where(self._outside_unstable_region(), variance, series)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return (
            -binary_cross_entropy_with_logits(logits, value, reduction="none")
            + self._cont_bern_log_norm()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        inside = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = where(self._outside_unstable_region(), inside, value)
        return where(
            value <= 0.0,
            zeros_like(value),
            where(value >= 1.0, ones_like(value), inside),
        )

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        quantile = ((-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()) / (
            cut.log() - (-cut).log1p()
        )
        return where(self._outside_unstable_region(), quantile, value)

    def entropy(self) -> Tensor:
        log_probs0 = (-self.probs).log1p()
        log_probs1 = self.probs.log()
        return self.mean * (log_probs0 - log_probs1) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        outside = maximum(x <= self._lims[0] - 0.5, x > self._lims[1] - 0.5)
        cut = where(outside, x, (self._lims[0] - 0.5) * ones_like(x))
        log_norm = cut.expm1().abs().log() - cut.abs().log()
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return where(outside, log_norm, series)
