"""InverseGamma: one over a gamma number."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import Shape
from taper.distributions.gamma import Gamma
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.transforms import PowerTransform
from taper.ops.elementwise.blend import where
from taper.tensor import Tensor

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """One over a number of the gamma distribution with these parameters.

    Args:
        concentration: the shape parameter; positive.
        rate: the scale of this distribution; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.InverseGamma(taper.tensor([3.0]), taper.tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        base_dist = Gamma(concentration, rate, validate_args=validate_args)
        minus_one = -base_dist.rate.new_ones(())
        super().__init__(base_dist, PowerTransform(minus_one), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(InverseGamma, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution, which scales this one."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return where(self.concentration > 1, self.rate / (self.concentration - 1), inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        below = (self.concentration - 1).square() * (self.concentration - 2)
        return where(self.concentration > 2, self.rate.square() / below, inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
