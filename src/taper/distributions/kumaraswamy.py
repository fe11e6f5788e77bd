"""The Kumaraswamy distribution: like Beta, with a density that is easy to invert."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import Shape
from taper.distributions.transformed_distribution import TransformedDistribution
from taper.distributions.transforms import AffineTransform, PowerTransform
from taper.distributions.uniform import Uniform
from taper.distributions.utils import broadcast_all, euler_constant
from taper.ops.creation.filled import full_like
from taper.tensor import Tensor

__all__ = ["Kumaraswamy"]


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """Return the mean of the n-th power: b * B(1 + n / a, b)."""
    arg = 1 + n / a
    log_beta = arg.lgamma() + b.lgamma() - (arg + b).lgamma()
    return b * log_beta.exp()


class Kumaraswamy(TransformedDistribution):
    """A distribution on (0, 1) like Beta's, with a simple cumulative distribution function.

    Args:
        concentration1: the first parameter; positive.
        concentration0: the second; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
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
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            full_like(self.concentration0, 0),
            full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        log_mode = (
            self.concentration0.reciprocal() * (-self.concentration0).log1p()
            - (-self.concentration0 * self.concentration1).log1p()
        )
        log_mode[(self.concentration0 < 1) | (self.concentration1 < 1)] = math.nan
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        rest1 = 1 - self.concentration1.reciprocal()
        rest0 = 1 - self.concentration0.reciprocal()
        harmonic = (self.concentration0 + 1).digamma() + euler_constant
        return rest0 + rest1 * harmonic - self.concentration1.log() - self.concentration0.log()
