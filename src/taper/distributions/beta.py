"""Beta: a random probability."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.dirichlet import Dirichlet
from taper.distributions.distribution import Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.parameters import Number, expanded
from taper.distributions.utils import broadcast_all
from taper.ops.creation.data import tensor
from taper.ops.shape.split import stack
from taper.ops.special.basic import lgamma
from taper.tensor import Tensor

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Numbers in [0, 1] with density `x**(concentration1 - 1) * (1 - x)**(concentration0 - 1)`.

    Args:
        concentration1: the first parameter, often called alpha; positive.
        concentration0: the second, often called beta; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Beta(taper.tensor([1.0]), taper.tensor([3.0])).mean
    tensor([0.2500])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(concentration1, Number) and isinstance(concentration0, Number):
            both = tensor([float(concentration1), float(concentration0)])
        else:
            both = stack(broadcast_all(concentration1, concentration0), -1)
        # A number x and its rest 1 - x are a point of a simplex.
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        dirichlet = self._dirichlet.expand(batch_shape)
        return expanded(self, Beta, _instance, batch_shape, _dirichlet=dirichlet)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def concentration1(self) -> Tensor:
        """The first parameter, often called alpha."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The second parameter, often called beta."""
        return self._dirichlet.concentration[..., 1]

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return lgamma(x) + lgamma(y) - lgamma(x + y)
