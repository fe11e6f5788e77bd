"""Further functions of the gamma family: mvlgamma, the incomplete gamma functions, and zeta.

Owns: the operators; the numbers come from `arrays.special_functions` and
`arrays.incomplete_gamma`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays import incomplete_gamma as arrays
from taper.arrays import special_functions
from taper.arrays.layouts import ELEMENTWISE, ROW_MAJOR
from taper.dtypes import dtype
from taper.factory import refuse_size
from taper.opdef import FLOAT, POINTWISE, SAME, Array, composite, derivative, op
from taper.opdef.dtype_checks import COMPLEX, NOT_FLOATING, not_implemented
from taper.ops.elementwise.arithmetic import difference
from taper.ops.elementwise.unary import exp, log
from taper.ops.linalg.checks import no_formula
from taper.ops.special.basic import digamma, lgamma
from taper.ops.special.numbers import SIGNATURES, chosen, with_number


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
    layout=ROW_MAJOR,
)
def mvlgamma(self: Array, p: int) -> Array:
    """Take the logarithm of the gamma function of dimension `p`, without its constant sign.

    >>> import taper
    >>> taper.mvlgamma(taper.tensor([3.0]), 2)
    tensor([1.5502])
    """
    if isinstance(p, float):
        raise TypeError("mvlgamma(): argument 'p' (position 2) must be int, not float")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    # PyTorch computes all terms at once.
    refuse_size((*self.shape, p) if self.size else (p,), self.dtype)
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


# --- incomplete gamma functions --------------------------------------------------------------


@op(
    promote=SAME,
    upcast=True,
    inplace=True,
    out=True,
    check=not_implemented("igamma_cpu", *NOT_FLOATING),
    layout=ELEMENTWISE,
)
def igamma(self: Array, other: Array) -> Array:
    """Compute the regularised lower incomplete gamma function of parameter `input` at `other`.

    >>> import taper
    >>> taper.igamma(taper.tensor([4.0]), taper.tensor([3.0]))
    tensor([0.3528])
    """
    return arrays.igamma(self, other)


@derivative(igamma, wrt="self")
def igamma_self(grad):
    raise no_formula("igamma: input")


@derivative(igamma, wrt="other")
def igamma_other(grad, self, other):
    return grad * exp(difference(self, 1) * log(other) - other - lgamma(self))


@op(
    promote=SAME,
    upcast=True,
    inplace=True,
    out=True,
    check=not_implemented("igammac_cpu", *NOT_FLOATING),
    layout=ELEMENTWISE,
)
def igammac(self: Array, other: Array) -> Array:
    """Compute the regularised upper incomplete gamma function: one minus `igamma`.

    >>> import taper
    >>> taper.igammac(taper.tensor([4.0]), taper.tensor([3.0]))
    tensor([0.6472])
    """
    return arrays.igammac(self, other)


@derivative(igammac, wrt="self")
def igammac_self(grad):
    raise no_formula("igammac: input")


@derivative(igammac, wrt="other")
def igammac_other(grad, self, other):
    return -(grad * exp(difference(self, 1) * log(other) - other - lgamma(self)))


# --- zeta ------------------------------------------------------------------------------------

_REFUSED = not_implemented("zeta_cpu", "float16", "bfloat16", *COMPLEX)


@op(
    name="special_zeta_tensor",
    label="special_zeta",
    node="SpecialZetaBackward0",
    promote=FLOAT,
    out=True,
    public=False,
    method=False,
    check=_REFUSED,
    signatures=SIGNATURES,
    layout=ELEMENTWISE,
)
def zeta_tensor(self: Array, other: Array) -> Array:
    """Compute the zeta function of Hurwitz."""
    return arrays.zeta(self, other)


@derivative(zeta_tensor, wrt="self")
def zeta_tensor_self(grad):
    raise no_formula("zeta")


@derivative(zeta_tensor, wrt="other")
def zeta_tensor_other(grad, self, other):
    return grad * (self * -1.0) * special_zeta(self + 1.0, other)


@op(
    name="special_zeta_self_number",
    label="special_zeta",
    node="SpecialZetaBackward1",
    out=True,
    public=False,
    method=False,
    signatures=SIGNATURES,
    layout=ELEMENTWISE,
)
def zeta_self_number(self: Any, other: Array) -> Array:
    """Compute the zeta function of Hurwitz with a number as exponent."""
    return arrays.zeta(*with_number(_REFUSED, self, other))


@derivative(zeta_self_number, wrt="other")
def zeta_self_number_other(grad, self, other):
    return grad * (self * -1.0) * special_zeta(self + 1.0, other)


@op(
    name="special_zeta_other_number",
    label="special_zeta",
    node="SpecialZetaBackward2",
    out=True,
    public=False,
    method=False,
    signatures=SIGNATURES,
    layout=ELEMENTWISE,
)
def zeta_other_number(self: Array, other: Any) -> Array:
    """Compute the zeta function of Hurwitz that begins at a number."""
    return arrays.zeta(*with_number(_REFUSED, self, other))


@derivative(zeta_other_number, wrt="self")
def zeta_other_number_self(grad):
    raise no_formula("zeta")


@composite(method=False, public=False)
def special_zeta(input: Any, other: Any, *, out: Any = None) -> Any:
    """Sum (other + k)**-input over k = 0, 1, ...: Hurwitz' zeta function.

    >>> import taper
    >>> taper.special.zeta(taper.tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """
    if isinstance(other, (ndarray, np.generic)):
        return arrays.zeta(np.asarray(input, other.dtype), np.asarray(other))
    functions = (zeta_tensor, zeta_self_number, zeta_other_number)
    return chosen("special_zeta", input, other, functions, out)
