"""StudentT: a normal number divided by a random scale."""  # noqa: N999

from __future__ import annotations

import math
from math import inf, nan
from typing import Any, ClassVar

from taper.device import contiguous_format
from taper.distributions import constraints
from taper.distributions.chi2 import Chi2
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.distributions.utils import _standard_normal, broadcast_all
from taper.ops.elementwise.unary import log1p, rsqrt
from taper.ops.special.basic import digamma, lgamma
from taper.tensor import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution, shifted and scaled.

    Args:
        df: the degrees of freedom; positive.
        loc: the median.
        scale: the scale; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.StudentT(taper.tensor([4.0])).variance
    tensor([2.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone(memory_format=contiguous_format)
        mean[self.df <= 1] = nan
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        df, finite = self.df, self.df > 2
        variance = df.clone(memory_format=contiguous_format)
        variance[finite] = self.scale[finite].pow(2) * df[finite] / (df[finite] - 2)
        variance[(df <= 2) & (df > 1)] = inf
        variance[df <= 1] = nan
        return variance

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        names = ("df", "loc", "scale", "_chi2")
        parameters = {name: getattr(self, name).expand(batch_shape) for name in names}
        return expanded(self, StudentT, _instance, batch_shape, **parameters)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * rsqrt(squares / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + lgamma(0.5 * self.df)
            - lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        log_beta = lgamma(0.5 * self.df) + math.lgamma(0.5) - lgamma(0.5 * (self.df + 1))
        slope = digamma(0.5 * (self.df + 1)) - digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * slope + 0.5 * self.df.log() + log_beta
