"""The log-normal distribution: the exponential of normal numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import Shape
from taper.distributions.normal import Normal
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.transforms import ExpTransform
from taper.tensor import Tensor

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """Exponentials of normally distributed numbers.

    Args:
        loc: the mean of the logarithm.
        scale: its standard deviation; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
