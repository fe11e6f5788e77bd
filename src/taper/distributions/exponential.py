"""Exponential: the time until the first of independent events."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import expanded_by_name
from taper.distributions.utils import broadcast_all
from taper.ops.creation.filled import zeros_like
from taper.ops.elementwise.unary import exp, log, log1p
from taper.tensor import Tensor

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Positive numbers with density `rate * exp(-rate * x)`.

    Args:
        rate: one over the mean; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Exponential(taper.tensor([2.0])).cdf(taper.tensor([1.0]))
    tensor([0.8647])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded_by_name(self, Exponential, _instance, batch_shape, "rate")

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.rate.new(shape).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -log(-x)
