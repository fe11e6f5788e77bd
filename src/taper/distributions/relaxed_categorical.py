"""Relaxed categorical distributions: differentiable stand-ins for one-hot vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.categorical import Categorical
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.transforms import ExpTransform
from taper.distributions.utils import broadcast_all, clamp_probs
from taper.ops.creation.filled import full_like
from taper.ops.random.draws import rand
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of `RelaxedOneHotCategorical`.

    Args:
        temperature: how far from one-hot the vectors are.
        probs: nonnegative weights, which are normalised.
        logits: logarithms of weights; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> from taper.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(taper.tensor(1.0), probs=taper.ones(3)).event_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return expanded(
            self,
            ExpRelaxedCategorical,
            _instance,
            batch_shape,
            self.event_shape,
            temperature=self.temperature,
            _categorical=self._categorical.expand(batch_shape),
        )

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameters."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniforms = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(uniforms.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        classes = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = full_like(
            self.temperature, float(classes)
        ).lgamma() - self.temperature.log().mul(-(classes - 1))
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probability vectors, a one-hot vector with gradients: `rsample` is differentiable.

    Args:
        temperature: the lower, the nearer vectors are to one-hot.
        probs: nonnegative weights, which are normalised.
        logits: logarithms of weights; give one of the two.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> relaxed = taper.distributions.RelaxedOneHotCategorical(taper.tensor(0.5), taper.ones(3))
    >>> relaxed.rsample()
    tensor([0.1228, 0.8670, 0.0102])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far from one-hot the values are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
