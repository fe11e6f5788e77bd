"""Categorical: the index of one of several categories."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded, one_of
from taper.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from taper.dtypes import finfo, int64
from taper.ops.creation.filled import full
from taper.ops.creation.ranges import arange
from taper.ops.elementwise.clamping import clamp
from taper.ops.random.distributions import multinomial
from taper.ops.shape.reshape import broadcast_tensors
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The index of a category, drawn with the weights along the last dimension of `probs`.

    Args:
        probs: nonnegative weights, which are normalised.
        logits: logarithms of weights; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> weather = taper.distributions.Categorical(taper.tensor([1.0, 1.0, 2.0]))
    >>> weather.probs
    tensor([0.2500, 0.2500, 0.5000])
    >>> weather.log_prob(taper.tensor(2))
    tensor(-0.6931)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, value = one_of(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self._param = self.probs = value / value.sum(-1, keepdim=True)
        else:
            self._param = self.logits = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        parameters: dict[str, Any] = {
            name: self.__dict__[name].expand((*batch_shape, self._num_events))
            for name in ("probs", "logits", "_param")
            if name in self.__dict__
        }
        parameters["_num_events"] = self._num_events
        return expanded(self, Categorical, _instance, batch_shape, **parameters)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return self._not_a_number()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._not_a_number()

    def _not_a_number(self) -> Tensor:
        shape = self._extended_shape()
        return full(shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        samples = multinomial(rows, sample_shape.numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        indices, log_probs = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, indices[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # A category of probability zero has the logit minus infinity; zero times that must be zero.
        logits = clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
