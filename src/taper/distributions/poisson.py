"""Poisson: counts of independent events."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import Number, expanded_by_name
from taper.distributions.utils import broadcast_all
from taper.ops.elementwise.unary import exp, log
from taper.ops.random.distributions import poisson
from taper.tensor import Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The number of independent events of which `rate` are expected.

    Args:
        rate: the mean; nonnegative.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Poisson(taper.tensor([2.0])).log_prob(taper.tensor([0.0]))
    tensor([-2.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | Number, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded_by_name(self, Poisson, _instance, batch_shape, "rate")

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return poisson(self.rate.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return exp(x)
