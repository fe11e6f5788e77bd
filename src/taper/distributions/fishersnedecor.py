"""FisherSnedecor: the quotient of two chi-squared numbers."""

from __future__ import annotations

from math import nan
from typing import Any, ClassVar

from taper.device import contiguous_format
from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.gamma import Gamma
from taper.distributions.parameters import expanded
from taper.distributions.utils import broadcast_all
from taper.dtypes import finfo
from taper.ops.elementwise.unary import log, log1p
from taper.tensor import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The quotient of chi-squared numbers, each divided by its degrees of freedom.

    Args:
        df1: the degrees of freedom of the numerator; positive.
        df2: those of the denominator.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> taper.distributions.FisherSnedecor(taper.tensor([1.0]), taper.tensor([4.0])).mean
    tensor([2.])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        names = ("df1", "df2", "_gamma1", "_gamma2")
        parameters = {name: getattr(self, name).expand(batch_shape) for name in names}
        return expanded(self, FisherSnedecor, _instance, batch_shape, **parameters)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.clone(memory_format=contiguous_format)
        df2[df2 <= 2] = nan
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = nan
        return mode

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.clone(memory_format=contiguous_format)
        df2[df2 <= 4] = nan
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        tiny = finfo(below.dtype).tiny
        below.clamp_(min=tiny)
        quotient = above / below
        quotient.clamp_(min=tiny)
        return quotient

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * log(value)
        return normalizer + power - (half1 + half2) * log1p(ratio * value)
