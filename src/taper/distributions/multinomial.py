"""Multinomial: how often each category occurs in several draws."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from taper.device import contiguous_format
from taper.distributions import constraints
from taper.distributions.binomial import Binomial
from taper.distributions.categorical import Categorical
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.distributions.utils import broadcast_all
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import ones_like
from taper.ops.elementwise.unary import exp
from taper.ops.special.basic import lgamma
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each category occurs in `total_count` draws.

    Args:
        total_count: the number of draws.
        probs: the weights of the categories, which are normalised.
        logits: logarithms of weights; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Multinomial(4, taper.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        batch_shape = self._categorical.batch_shape
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        parameters = {
            "total_count": self.total_count,
            "_categorical": self._categorical.expand(batch_shape),
        }
        event_shape = self.event_shape
        return expanded(self, Multinomial, _instance, batch_shape, event_shape, **parameters)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities of the categories."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        draws = draws.permute(*range(1, draws.dim()), 0)
        counts = draws.new(self._extended_shape(sample_shape)).zero_()
        counts.scatter_add_(-1, draws, ones_like(draws))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        count = tensor(self.total_count)
        ordered = count * self._categorical.entropy() - lgamma(count + 1)
        # The entropy lost by ignoring the order, from the counts of each category alone.
        support = self._binomial.enumerate_support(expand=False)[1:]
        probs = exp(self._binomial.log_prob(support))
        return ordered + (probs * lgamma(support + 1)).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=contiguous_format)
        permutations = lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1)
        # The power zero of the probability zero is one.
        logits[(value == 0) & (logits == -inf)] = 0
        return permutations + (logits * value).sum(-1)
