"""The logistic-normal distribution: normal numbers broken into sticks that sum to one."""

from __future__ import annotations

from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import Shape
from taper.distributions.independent import Independent
from taper.distributions.normal import Normal
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.transforms import StickBreakingTransform
from taper.tensor import Tensor

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Probability vectors, one longer than `loc`, made of normal numbers by stick breaking.

    Args:
        loc: the means of the normal numbers.
        scale: their standard deviations; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.distributions.LogisticNormal(taper.zeros(3), taper.ones(3)).sample()
    tensor([0.6088, 0.1062, 0.0290, 0.2560])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale
