"""OneHotCategorical: one of several categories as a vector with a single one."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.categorical import Categorical
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.ops.creation.filled import eye
from taper.ops.index.categories import one_hot
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Like `Categorical`, but a draw is a vector that is one at its index and zero elsewhere.

    Args:
        probs: nonnegative weights, which are normalised.
        logits: logarithms of weights; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> weather = taper.distributions.OneHotCategorical(taper.tensor([1.0, 1.0, 2.0]))
    >>> weather.mode
    tensor([0., 0., 1.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        batch_shape = self._categorical.batch_shape
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        categorical = self._categorical.expand(batch_shape)
        return expanded(
            self,
            OneHotCategorical,
            _instance,
            batch_shape,
            self.event_shape,
            _categorical=categorical,
        )

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities of the categories."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        return self._as_vectors(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self._categorical.probs * (1 - self._categorical.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    def _as_vectors(self, indices: Tensor) -> Tensor:
        return one_hot(indices, self._categorical._num_events).to(self._categorical.probs)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        return self._as_vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((count, *[1] * len(self.batch_shape), count))
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Like `OneHotCategorical`; a draw's gradient goes to `probs` as if it were `probs`.

    >>> import taper
    >>> probs = taper.tensor([0.3, 0.7], requires_grad=True)
    >>> draw = taper.distributions.OneHotCategoricalStraightThrough(probs).rsample()
    >>> draw.sum().item(), draw.requires_grad
    (1.0, True)
    """

    has_rsample = True

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())
