"""The Cauchy distribution: a location, a scale, and tails so heavy that there is no mean."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded_by_name
from taper.distributions.utils import broadcast_all
from taper.ops.creation.filled import full
from taper.tensor import Tensor

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The distribution of a ratio of normal variables; it has a median `loc` but no mean.

    Args:
        loc: the median.
        scale: half of the width between the quartiles; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Cauchy(0.0, 1.0).cdf(taper.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded_by_name(self, Cauchy, _instance, batch_shape, "loc", "scale")

    def _constant(self, value: float) -> Tensor:
        return full(self._extended_shape(), value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Tensor:
        return self._constant(math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._constant(math.inf)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - distance.log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
