"""The normal distribution, by mean (`loc`) and standard deviation (`scale`)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import expanded_by_name
from taper.distributions.utils import _standard_normal, broadcast_all
from taper.ops.random.distributions import normal
from taper.tensor import Tensor

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Args:
        loc: the mean.
        scale: the standard deviation; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Normal(0.0, 1.0).cdf(taper.tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded_by_name(self, Normal, _instance, batch_shape, "loc", "scale")

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        standard = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + standard * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = -((value - self.loc) ** 2) / (2 * self.scale**2)
        return distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        linear, quadratic = natural_params
        return -0.25 * linear.pow(2) / quadratic + 0.5 * (-math.pi / quadratic).log()
