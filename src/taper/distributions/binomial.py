"""Binomial: the number of successes in several trials."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import OfTwo, expanded_by_name, one_of
from taper.distributions.utils import (
    broadcast_all,
)
from taper.ops.creation.ranges import arange
from taper.ops.elementwise.unary import exp, log1p
from taper.ops.random.binomial import binomial
from taper.ops.special.basic import lgamma
from taper.tensor import Tensor

__all__ = ["Binomial"]


def _clamp_by_zero(x: Tensor) -> Tensor:
    """Return `max(x, 0)` with the gradient one half at zero."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(OfTwo, Distribution):
    """The number of successes in `total_count` trials, each of probability `probs`.

    Args:
        total_count: the number of trials.
        probs: the probability of a success.
        logits: its log-odds; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Binomial(4, taper.tensor([0.5])).log_prob(taper.tensor([2.0])).exp()
    tensor([0.3750])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
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
        return expanded_by_name(self, Binomial, _instance, batch_shape, *names)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count, logits = self.total_count, self.logits
        # log(1 + exp(logits)) without overflow, times the count.
        normalizer = count * _clamp_by_zero(logits) + count * log1p(exp(-logits.abs()))
        normalizer = normalizer - lgamma(count + 1)
        return value * logits - lgamma(value + 1) - lgamma(count - value + 1) - normalizer

    def _common_count(self, method: str) -> int:
        """Return the number of trials, which must be the same everywhere."""
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return total_count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total_count = self._common_count("enumerate_support")
        values = arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
