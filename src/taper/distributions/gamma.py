"""Gamma, by concentration (shape) and rate."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import expanded_by_name
from taper.distributions.utils import broadcast_all
from taper.dtypes import finfo
from taper.ops.creation.data import as_tensor
from taper.ops.elementwise.power import xlogy
from taper.ops.elementwise.unary import log
from taper.ops.random.gamma_samples import standard_gamma
from taper.ops.special.basic import digamma, lgamma
from taper.ops.special.gamma import igamma
from taper.tensor import Tensor

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Positive numbers with density proportional to `x**(concentration - 1) * exp(-rate * x)`.

    Args:
        concentration: the shape parameter; positive.
        rate: one over the scale; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Gamma(taper.tensor([2.0]), taper.tensor([4.0])).mean
    tensor([0.5000])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded_by_name(self, Gamma, _instance, batch_shape, "concentration", "rate")

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Densities are infinite or undefined at zero, so draws are moved away from it; gradients do
        # not see the correction.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def _checked(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value)
        return (
            xlogy(self.concentration, self.rate)
            + xlogy(self.concentration - 1, value)
            - self.rate * value
            - lgamma(self.concentration)
        )

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - log(self.rate)
            + lgamma(self.concentration)
            + (1.0 - self.concentration) * digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return lgamma(x + 1) + (x + 1) * log(-y.reciprocal())

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return igamma(self.concentration, self.rate * value)
