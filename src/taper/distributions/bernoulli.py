"""Bernoulli: one trial."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import Number, OfTwo, expanded_by_name, one_of
from taper.distributions.utils import (
    broadcast_all,
)
from taper.ops.creation.ranges import arange
from taper.ops.elementwise.unary import exp, log1p, logit
from taper.ops.loss.binary_cross_entropy import binary_cross_entropy_with_logits
from taper.ops.random.distributions import bernoulli
from taper.tensor import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(OfTwo, ExponentialFamily):
    """One trial: 1 with probability `probs`, else 0.

    Args:
        probs: the probability of 1.
        logits: the log-odds of 1; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> coin = taper.distributions.Bernoulli(taper.tensor([0.25]))
    >>> coin.log_prob(taper.tensor([1.0]))
    tensor([-1.3863])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = one_of(probs, logits)
        (self._param,) = broadcast_all(value)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        names = ("probs", "logits", "_param")
        return expanded_by_name(self, Bernoulli, _instance, batch_shape, *names)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return log1p(exp(x))
