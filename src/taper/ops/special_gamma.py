"""Further functions of the gamma family: mvlgamma."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import special_functions
from taper.dtypes import dtype
from taper.opdef import FLOAT, POINTWISE, Array, derivative, op
from taper.ops.special import digamma


def _check_mvlgamma(common: dtype, operands: Sequence[Any]) -> None:
    if any(each.dtype == bool for each in operands):
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if common.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{common.scalar_type}'")


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=_check_mvlgamma,
)
def mvlgamma(self: Array, p: int) -> Array:
    """The logarithm of the gamma function of dimension `p`, without its constant sign.

    >>> import taper
    >>> taper.mvlgamma(taper.tensor([3.0]), 2)
    tensor([1.5502])
    """
    if isinstance(p, float):
        raise TypeError("mvlgamma(): argument 'p' (position 2) must be int, not float")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    result = special_functions.lgamma(self)
    for number in range(1, p):
        result = result + special_functions.lgamma(self - self.dtype.type(0.5 * number))
    return np.add(result, self.dtype.type(0.25 * p * (p - 1) * math.log(math.pi)))


@derivative(mvlgamma, wrt="self")
def mvlgamma_self(grad, self, p):
    total = digamma(self)
    for number in range(1, p):
        total = total + digamma(self - 0.5 * number)
    return grad * total
