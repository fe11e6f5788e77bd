"""The generalized Pareto distribution: what lies above a threshold."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded_by_name
from taper.distributions.utils import broadcast_all
from taper.ops.creation.filled import ones_like, zeros_like
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.compare import isclose
from taper.ops.random.draws import rand
from taper.ops.shape.reshape import broadcast_to
from taper.tensor import Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution of excesses over a threshold; exponential where `concentration` is 0.

    Args:
        loc: the threshold.
        scale: the scale; positive.
        concentration: the shape; the tail is heavier the larger it is.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.GeneralizedPareto(0.0, 1.0, 0.5).cdf(taper.tensor(2.0))
    tensor(0.7500)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        names = ("loc", "scale", "concentration")
        return expanded_by_name(self, GeneralizedPareto, _instance, batch_shape, *names)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, concentration = self._split_concentration()
        power = 1 / concentration + ones_like(z)
        # At a power of 0 the logarithm may be infinite, and the product then NaN.
        heavy = where(power == 0, power, power * (concentration * z).log1p())
        return -self.scale.log() - where(is_zero, z, heavy)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, concentration = self._split_concentration()
        return where(is_zero, -z, -(concentration * z).log1p() / concentration)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of `cdf`."""
        if self._validate_args:
            self._validate_sample(value)
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, concentration = self._split_concentration()
        log_survival = (-value).log1p()
        light = self.loc - self.scale * log_survival
        heavy = self.loc + self.scale / concentration * (-concentration * log_survival).expm1()
        return where(is_zero, light, heavy)

    def _z(self, value: Tensor) -> Tensor:
        return (value - self.loc) / self.scale

    def _split_concentration(self) -> tuple[Tensor, Tensor]:
        """Return where it is 0, and the concentration with ones there, by which one can divide."""
        is_zero = isclose(self.concentration, zeros_like(self.concentration))
        return is_zero, where(is_zero, ones_like(self.concentration), self.concentration)

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        concentration = where(exists, self.concentration, 0.5)
        return where(exists, self.loc + self.scale / (1 - concentration), math.nan)

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        concentration = where(exists, self.concentration, 0.25)
        spread = self.scale**2 / ((1 - concentration) ** 2 * (1 - 2 * concentration))
        return where(exists, spread, math.nan)

    def entropy(self) -> Tensor:
        return broadcast_to(self.scale.log() + self.concentration + 1, self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, math.inf))
