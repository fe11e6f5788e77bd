"""Geometric: failures before the first success."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.device import contiguous_format
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import Number, expanded_by_name, one_of
from taper.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from taper.dtypes import finfo
from taper.ops.creation.filled import zeros_like
from taper.ops.loss.binary_cross_entropy import binary_cross_entropy_with_logits
from taper.tensor import Tensor

__all__ = ["Geometric"]


class Geometric(Distribution):
    """The number of failures before the first success of probability `probs`.

    `Tensor.geometric_` counts the success, too.

    Args:
        probs: the probability of a success.
        logits: its log-odds; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Geometric(taper.tensor([0.25])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | Number | None = None,
        logits: Tensor | Number | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = one_of(probs, logits)
        (parameter,) = broadcast_all(value)
        setattr(self, name, parameter)
        super().__init__(parameter.size(), validate_args=validate_args)
        if self._validate_args and name == "probs":
            self._require_positive(parameter)

    def _require_positive(self, probs: Tensor) -> None:
        valid = probs > 0
        if not valid.all():
            raise ValueError(
                "Expected parameter probs "
                f"({type(probs).__name__} of shape {tuple(probs.shape)}) "
                f"of distribution {self!r} "
                f"to be positive but found invalid values:\n{probs.data[~valid]}"
            )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded_by_name(self, Geometric, _instance, batch_shape, "probs", "logits")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            uniforms = self.probs.new(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (uniforms.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=contiguous_format)
        # If success is certain there is no failure: zero times log(0) must be zero.
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        trial = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return trial / self.probs
