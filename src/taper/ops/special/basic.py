"""Special functions, element by element: erf and its relatives, and the gamma family.

Owns: the operators; the numbers come from `taper.arrays.special_functions`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.arrays import special_functions
from taper.arrays.layouts import ELEMENTWISE
from taper.dtypes import FROM_NUMPY
from taper.opdef import (
    FLOAT,
    FUNCTION,
    POINTWISE,
    Array,
    composite,
    derivative,
    inplace_function,
    methods,
    op,
)
from taper.opdef.dtype_checks import COMPLEX, not_implemented
from taper.ops.elementwise.number import scaled
from taper.ops.elementwise.unary import exp

_SLOPE = 2 / math.sqrt(math.pi)  # the slope of erf at zero


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    check=not_implemented("erf_vml_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def erf(self: Array) -> Array:
    """Compute the error function: the probability that a normal deviate of variance 1/2 is in +-x.

    >>> import taper
    >>> taper.erf(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
    return special_functions.erf(self)


@derivative(erf, wrt="self")
def erf_self(grad, self):
    return scaled(exp(-self * self), _SLOPE) * grad


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    check=not_implemented("erfc_vml_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def erfc(self: Array) -> Array:
    """Compute 1 - erf(x), accurately where that is small.

    >>> import taper
    >>> taper.erfc(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """
    return special_functions.erfc(self)


@derivative(erfc, wrt="self")
def erfc_self(grad, self):
    return scaled(exp(-self * self), -_SLOPE) * grad


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=not_implemented("erfinv_vml_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def erfinv(self: Array) -> Array:
    """Invert the error function.

    >>> import taper
    >>> taper.erfinv(taper.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """
    return special_functions.erfinv(self)


@derivative(erfinv, wrt="self")
def erfinv_self(grad, self):
    inverse = erfinv(self)
    return scaled(exp(inverse * inverse), 1 / _SLOPE) * grad


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=not_implemented("lgamma_vml_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def lgamma(self: Array) -> Array:
    """Take the logarithm of the absolute value of the gamma function.

    >>> import taper
    >>> taper.lgamma(taper.tensor([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """
    return special_functions.lgamma(self)


@derivative(lgamma, wrt="self")
def lgamma_self(grad, self):
    return grad * digamma(self)


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=not_implemented("digamma", *COMPLEX),
    layout=ELEMENTWISE,
)
def digamma(self: Array) -> Array:
    """Compute the derivative of lgamma.

    >>> import taper
    >>> taper.digamma(taper.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
    return special_functions.digamma(self)


@derivative(digamma, wrt="self")
def digamma_self(grad, self):
    return grad * derived_digamma(self, 1)


def _refuse_complex(array: np.ndarray, n: int) -> None:
    if array.dtype.kind == "c":
        kernel = ("digamma", "trigamma", "polygamma")[min(n, 2)]
        name = FROM_NUMPY[array.dtype].scalar_type
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{name}'")


@op(
    name="derived_digamma",
    label="polygamma",
    node="PolygammaBackward0",
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    layout=ELEMENTWISE,
)
def derived_digamma(self: Array, n: int) -> Array:
    """Compute the derivative of order `n` of digamma."""
    _refuse_complex(self, n)
    return special_functions.polygamma(n, self)


@op(
    name="_polygamma_in_place",
    label="polygamma_",
    node="PolygammaBackward1",
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    public=False,
    method=False,
)
def _derived_in_place(self: Array, n: int) -> Array:
    """Compute `derived_digamma` as the operator that PyTorch records in place."""
    _refuse_complex(self, n)
    return special_functions.polygamma(n, self)


@derivative(derived_digamma, wrt="self")
@derivative(_derived_in_place, wrt="self")
def derived_digamma_self(grad, self, n):
    return grad * derived_digamma(self, n + 1)


_polygamma_in_place = inplace_function(_derived_in_place)


def _order(n: int) -> int:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return n


@composite(method=False)
def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """Compute the derivative of order `n` of digamma.

    >>> import taper
    >>> taper.polygamma(1, taper.tensor([1.0]))
    tensor([1.6449])
    """
    return derived_digamma(input, _order(n), out=out)


def _polygamma_method(self: Any, n: int) -> Any:
    """Compute the derivative of order `n` of digamma."""
    return polygamma(n, self)


def _polygamma_method_in_place(self: Any, n: int) -> Any:
    """In-place version of `polygamma`."""
    return _polygamma_in_place(self, _order(n))


methods["polygamma"] = _polygamma_method
methods["polygamma_"] = _polygamma_method_in_place
