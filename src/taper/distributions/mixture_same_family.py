"""MixtureSameFamily: a mixture whose components are one batch of a distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.autograd.grad_mode import no_grad
from taper.distributions import constraints
from taper.distributions.categorical import Categorical
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.ops.activation.softmax import log_softmax
from taper.ops.reduction.sums import logsumexp
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a component is drawn first, then a value from it.

    Args:
        mixture_distribution: a `Categorical` with the components' weights.
        component_distribution: the components, along the last batch dimension.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> from taper.distributions import Categorical, MixtureSameFamily, Normal
    >>> weights = Categorical(taper.tensor([0.25, 0.75]))
    >>> MixtureSameFamily(weights, Normal(taper.tensor([0.0, 4.0]), 1.0)).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        mixture_shape = mixture_distribution.batch_shape
        component_shape = component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(mixture_shape), reversed(component_shape), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({component_shape})"
                )
        mixture_components = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if mixture_components != components:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_components}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = components
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        components = self._component_distribution.expand((*batch_shape, self._num_component))
        return expanded(
            self,
            MixtureSameFamily,
            _instance,
            batch_shape,
            self.event_shape,
            _component_distribution=components,
            _mixture_distribution=self._mixture_distribution.expand(batch_shape),
            _num_component=self._num_component,
            _event_ndims=self._event_ndims,
        )

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the components' numbers."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The batch of components."""
        return self._component_distribution

    def _weighted(self, values: Tensor) -> Tensor:
        """Return the mean over the components."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (probs * values).sum(dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        # The mean of the variances, plus the variance of the means.
        within = self._weighted(self.component_distribution.variance)
        distances = self.component_distribution.mean - self._pad(self.mean)
        return within + self._weighted(distances.pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        cdf = self.component_distribution.cdf(self._pad(x))
        return (cdf * self.mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._pad(x))
        return logsumexp(log_prob + log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        with no_grad():
            sample_len = len(sample_shape)
            batch_len = len(self.batch_shape)
            where = sample_len + batch_len
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            ones = Size([1] * (self._event_ndims + 1))
            index = chosen.reshape(chosen.shape + ones)
            index = index.repeat(Size([1] * len(chosen.shape)) + Size([1]) + self.event_shape)
            return samples.gather(where, index).squeeze(where)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        batch_dims = len(self.batch_shape)
        mixture_dims = len(self.mixture_distribution.batch_shape)
        padding = 0 if mixture_dims == 1 else batch_dims - mixture_dims
        shape = x.shape
        return x.reshape(
            shape[:-1] + Size(padding * [1]) + shape[-1:] + Size(self._event_ndims * [1])
        )

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
