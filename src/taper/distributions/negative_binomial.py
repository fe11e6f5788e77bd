"""NegativeBinomial: successes before a number of failures."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.gamma import Gamma
from taper.distributions.parameters import OfTwo, expanded_by_name, one_of
from taper.distributions.utils import (
    broadcast_all,
    lazy_property,
)
from taper.ops.activation.functional import logsigmoid
from taper.ops.elementwise.unary import exp, sigmoid
from taper.ops.random.distributions import poisson
from taper.ops.special.basic import lgamma
from taper.tensor import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(OfTwo, Distribution):
    """The number of successes of probability `probs` before `total_count` failures.

    Args:
        total_count: the number of failures.
        probs: the probability of a success.
        logits: its log-odds; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.NegativeBinomial(3, taper.tensor([0.5])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = one_of(probs, logits)
        total_count, self._param = broadcast_all(total_count, value)
        self.total_count = total_count.type_as(self._param)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        names = ("total_count", "probs", "logits", "_param")
        return expanded_by_name(self, NegativeBinomial, _instance, batch_shape, *names)

    @property
    def mean(self) -> Tensor:
        return self.total_count * exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # The counts are Poisson numbers whose rates are gamma numbers.
        rate = exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self.total_count
        weight = count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normalizer = -lgamma(count + value) + lgamma(1.0 + value) + lgamma(count)
        # Before no failure there is certainly no success; the formula would have infinity there.
        return weight - normalizer.masked_fill(count + value == 0.0, 0.0)
