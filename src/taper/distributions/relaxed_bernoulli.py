"""Relaxed Bernoulli distributions: differentiable stand-ins for coin tosses."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import Number, OfTwo, expanded_by_name, one_of
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.transforms import SigmoidTransform
from taper.distributions.utils import (
    broadcast_all,
    clamp_probs,
)
from taper.ops.random.draws import rand
from taper.tensor import Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(OfTwo, Distribution):
    """The log-odds of `RelaxedBernoulli`, which are numerically easier than its values.

    Args:
        temperature: how far from 0 and 1 the values are.
        probs: the probability of 1.
        logits: its log-odds; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> from taper.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(taper.tensor(1.0), probs=0.5).log_prob(taper.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        name, given = one_of(probs, logits)
        (self._param,) = broadcast_all(given)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogitRelaxedBernoulli, _instance)
        new.temperature = self.temperature
        names = ("probs", "logits", "_param")
        return expanded_by_name(self, LogitRelaxedBernoulli, new, batch_shape, *names)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        uniforms = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        odds = uniforms.log() - (-uniforms).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1), a coin toss with gradients: `rsample` is differentiable.

    Args:
        temperature: the lower, the nearer values are to 0 or 1.
        probs: the probability of 1.
        logits: its log-odds; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.distributions.RelaxedBernoulli(taper.tensor(0.5), probs=0.9).rsample()
    tensor(0.9874)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1 the values are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
