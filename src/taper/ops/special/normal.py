"""The normal distribution and entropy, element by element: entr, erfcx, ndtr, ndtri, xlog1py ...

Owns: the operators; the numbers come from `arrays.normal`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays import normal as arrays
from taper.arrays.layouts import ELEMENTWISE
from taper.opdef import FLOAT, POINTWISE, Array, composite, derivative, op
from taper.opdef.dtype_checks import COMPLEX, not_implemented
from taper.opdef.writes import compute_into
from taper.ops.elementwise.number import add_scalar, mul_scalar
from taper.ops.elementwise.unary import exp, log
from taper.ops.reduction.along import filled
from taper.ops.special.basic import erf
from taper.ops.special.numbers import SIGNATURES, chosen, with_number
from taper.tensor import Tensor

_LOW = ("float16", "bfloat16")
_SLOPE = 2 / math.sqrt(math.pi)


@op(
    name="special_entr",
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("entr_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def entr(self: Array) -> Array:
    """Compute -x log(x); zero at zero and -inf below it.

    >>> import taper
    >>> taper.special.entr(taper.tensor([-1.0, 0.0, 0.5]))
    tensor([  -inf, 0.0000, 0.3466])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found = -self * np.log(self)
    return np.where(self == 0, 0, np.where(self < 0, -np.inf, found)).astype(self.dtype, copy=False)


@derivative(entr, wrt="self")
def entr_self(grad, self):
    return grad * -(log(self) + 1)


@op(
    name="special_erfcx",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("erfcx_cpu", *_LOW, *COMPLEX),
    layout=ELEMENTWISE,
)
def erfcx(self: Array) -> Array:
    """Compute exp(x**2) erfc(x).

    >>> import taper
    >>> taper.special.erfcx(taper.tensor([0.0, 1.0, 10.0]))
    tensor([1.0000, 0.4276, 0.0561])
    """
    return arrays.erfcx(self)


@derivative(erfcx, wrt="self")
def erfcx_self(grad, self, result):
    return (2.0 * self * result - _SLOPE) * grad


@op(
    name="special_log_ndtr",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("log_ndtr_cpu", *_LOW, *COMPLEX),
    layout=ELEMENTWISE,
)
def log_ndtr(self: Array) -> Array:
    """Take the logarithm of `ndtr`, even where `ndtr` rounds to 0.

    >>> import taper
    >>> taper.special.log_ndtr(taper.tensor([-50.0, 0.0]))
    tensor([-1.2548e+03, -6.9315e-01])
    """
    return arrays.log_ndtr(self)


@derivative(log_ndtr, wrt="self")
def log_ndtr_self(grad, self, result):
    return grad * (exp(-(result + self * self / 2)) * (1 / math.sqrt(2 * math.pi)))


@op(
    name="special_ndtri",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("ndtri_cpu", *_LOW, *COMPLEX),
    layout=ELEMENTWISE,
)
def ndtri(self: Array) -> Array:
    """Invert `ndtr`.

    >>> import taper
    >>> taper.special.ndtri(taper.tensor([0.025, 0.5, 1.0]))
    tensor([-1.9600,  0.0000,     inf])
    """
    return arrays.ndtri(self)


@derivative(ndtri, wrt="self")
def ndtri_self(grad, result):
    return grad * (exp(result * result / 2) * math.sqrt(2 * math.pi))


@composite(method=False, public=False)
def special_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Compute the probability that a standard normal deviate is below `input`.

    >>> import taper
    >>> taper.special.ndtr(taper.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
    if out is not None:
        return compute_into("special_ndtr", special_ndtr, (input,), out)
    if not isinstance(input, Tensor):
        raise TypeError(
            "special_ndtr(): argument 'input' (position 1) must be Tensor, not "
            f"{type(input).__name__}"
        )
    if input.dtype.category < dtypes.FLOATING:
        input = input.to(dtypes.default.float)
    return mul_scalar(add_scalar(erf(mul_scalar(input, math.sqrt(0.5))), 1), 0.5)


# --- xlog1py ---------------------------------------------------------------------------------

_REFUSED = not_implemented("xlog1py_cpu", *COMPLEX)


def _xlog1py(x: ndarray, y: ndarray) -> ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = x * np.log1p(y)
    return np.where((x == 0) & ~np.isnan(y), np.zeros((), found.dtype), found)


@op(
    name="special_xlog1py_tensor",
    label="special_xlog1py",
    node="SpecialXlog1PyBackward0",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=_REFUSED,
    signatures=SIGNATURES,
)
def xlog1py_tensor(self: Array, other: Array) -> Array:
    """Compute x log(1 + y); zero where x is zero."""
    return _xlog1py(self, other)


@derivative(xlog1py_tensor, wrt="self")
def xlog1py_tensor_self(grad, self, other):
    return filled(xlog1py(grad, other), (self == 0) & (other <= -1), 0.0)


@derivative(xlog1py_tensor, wrt="other")
def xlog1py_tensor_other(grad, self, other):
    return grad * self / (other + 1)


@op(
    name="special_xlog1py_self_number",
    label="special_xlog1py",
    node="SpecialXlog1PyBackward1",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=SIGNATURES,
)
def xlog1py_self_number(self: Any, other: Array) -> Array:
    """Compute x log(1 + y) with a number x."""
    return _xlog1py(*with_number(_REFUSED, self, other))


@derivative(xlog1py_self_number, wrt="other")
def xlog1py_self_number_other(grad, self, other):
    return grad * self / (other + 1)


@op(
    name="special_xlog1py_other_number",
    label="special_xlog1py",
    node="SpecialXlog1PyBackward2",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    signatures=SIGNATURES,
)
def xlog1py_other_number(self: Array, other: Any) -> Array:
    """Compute x log(1 + y) with a number y."""
    return _xlog1py(*with_number(_REFUSED, self, other))


@derivative(xlog1py_other_number, wrt="self")
def xlog1py_other_number_self(grad, self, other):
    slope = xlog1py(grad, other)
    return slope if other > -1 else filled(slope, self == 0, 0.0)


@composite(method=False, public=False, name="special_xlog1py")
def xlog1py(input: Any, other: Any, *, out: Any = None) -> Any:
    """Compute x log(1 + y); zero where x is zero. One of the two may be a number.

    >>> import taper
    >>> taper.special.xlog1py(taper.tensor([0.0, 2.0]), taper.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    if isinstance(input, (ndarray, np.generic)):
        return _xlog1py(np.asarray(input), np.asarray(other, input.dtype))
    functions = (xlog1py_tensor, xlog1py_self_number, xlog1py_other_number)
    return chosen("special_xlog1py", input, other, functions, out)
