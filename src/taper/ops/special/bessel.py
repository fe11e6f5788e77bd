"""Bessel and Airy functions, element by element.

Owns: the operators; the numbers come from `arrays.bessel` and `arrays.airy`. Where PyTorch has no
derivative its result does not require grad, and neither does ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from taper.arrays import bessel as arrays
from taper.arrays.airy import airy_ai as airy_array
from taper.arrays.elements import LOW_PRECISION
from taper.arrays.layouts import ELEMENTWISE
from taper.dtypes import no_kernel
from taper.opdef import FLOAT, FUNCTION, POINTWISE, Array, derivative, op
from taper.opdef.dtype_checks import COMPLEX, not_implemented
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.unary import reciprocal, sgn
from taper.tensor import array_of

_LOW = ("float16", "bfloat16")


def _declare(
    name: str, function: Callable[[ndarray], ndarray], what: str, at_one: str, letter: bool
) -> Any:
    """Declare an operator without derivative; `letter`: its argument is called x in PyTorch.

    `at_one` is its value at 1, for the example.
    """

    def of_x(x: Array) -> Any:
        return function(x)

    def of_self(self: Array) -> Any:
        return function(self)

    kernel: Any = of_x if letter else of_self
    kernel.__doc__ = f"""{what}; without a gradient, as in PyTorch.

    >>> import taper
    >>> taper.special.{name}(taper.tensor([1.0]))
    tensor([{at_one}])
    """
    return op(
        name=f"special_{name}",
        promote=FLOAT,
        out=True,
        public=False,
        method=False,
        check=not_implemented(f"{name}_cpu", *_LOW, *COMPLEX),
        layout=ELEMENTWISE,
    )(kernel)


airy_ai = _declare("airy_ai", airy_array, "The Airy function Ai", "0.1353", True)
bessel_j0, bessel_j1, bessel_y0, bessel_y1 = (
    _declare(name, getattr(arrays, name), what, at_one, False)
    for name, what, at_one in (
        ("bessel_j0", "The Bessel function of the first kind of order 0", "0.7652"),
        ("bessel_j1", "The Bessel function of the first kind of order 1", "0.4401"),
        ("bessel_y0", "The Bessel function of the second kind of order 0", "0.0883"),
        ("bessel_y1", "The Bessel function of the second kind of order 1", "-0.7812"),
    )
)
modified_bessel_i0, modified_bessel_i1, modified_bessel_k0, modified_bessel_k1 = (
    _declare(name, getattr(arrays, name), what, at_one, False)
    for name, what, at_one in (
        ("modified_bessel_i0", "The modified Bessel function I of order 0", "1.2661"),
        ("modified_bessel_i1", "The modified Bessel function I of order 1", "0.5652"),
        ("modified_bessel_k0", "The modified Bessel function K of order 0", "0.4210"),
        ("modified_bessel_k1", "The modified Bessel function K of order 1", "0.6019"),
    )
)
scaled_modified_bessel_k0, scaled_modified_bessel_k1, spherical_bessel_j0 = (
    _declare(name, getattr(arrays, name), what, at_one, True)
    for name, what, at_one in (
        ("scaled_modified_bessel_k0", "exp(x) modified_bessel_k0(x)", "1.1445"),
        ("scaled_modified_bessel_k1", "exp(x) modified_bessel_k1(x)", "1.6362"),
        ("spherical_bessel_j0", "sin(x) / x, a spherical Bessel function of order 0", "0.8415"),
    )
)


@op(
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    check=not_implemented("i0_vml_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def i0(self: Array) -> Array:
    """Compute the modified Bessel function of the first kind of order 0.

    >>> import taper
    >>> taper.i0(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return arrays.modified_bessel_i0(self)


@derivative(i0, wrt="self")
def i0_self(grad, self):
    return grad * i1(self)


@op(
    name="special_i0e",
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("i0e_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def i0e(self: Array) -> Array:
    """Compute exp(-abs(x)) i0(x), which does not overflow.

    >>> import taper
    >>> taper.special.i0e(taper.tensor([0.0, 1.0, 1000.0]))
    tensor([1.0000, 0.4658, 0.0126])
    """
    return arrays.scaled_modified_bessel_i0(self)


@derivative(i0e, wrt="self")
def i0e_self(grad, self, result):
    return grad * (i1e(self) - sgn(self) * result)


@op(
    name="special_i1",
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("i1_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def i1(self: Array) -> Array:
    """Compute the modified Bessel function of the first kind of order 1.

    >>> import taper
    >>> taper.special.i1(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """
    return arrays.modified_bessel_i1(self)


def _refuse_half(kernel: str, value: Any) -> None:
    """Raise in a formula that PyTorch has for float32 and float64 only."""
    if array_of(value).dtype in LOW_PRECISION:
        raise no_kernel(kernel, array_of(value).dtype)


@derivative(i1, wrt="self")
def i1_self(grad, self, result):
    _refuse_half("i1_backward", self)
    # Close to zero the quotient of two small numbers is replaced by its limit.
    near = ~(abs(self) > 1e-7)
    quotient = result * reciprocal(where(near, 1.0, self))
    return grad * where(near, 0.5, i0(self) - quotient)


@op(
    name="special_i1e",
    promote=FLOAT,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("i1e_cpu", *COMPLEX),
    layout=ELEMENTWISE,
)
def i1e(self: Array) -> Array:
    """Compute exp(-abs(x)) i1(x), which does not overflow.

    >>> import taper
    >>> taper.special.i1e(taper.tensor([0.0, 1.0, 1000.0]))
    tensor([0.0000, 0.2079, 0.0126])
    """
    return arrays.scaled_modified_bessel_i1(self)


@derivative(i1e, wrt="self")
def i1e_self(grad, self, result):
    _refuse_half("i1e_backward", self)
    near = abs(self) <= 1e-7
    quotient = result * (sgn(self) + reciprocal(where(near, 1.0, self)))
    return grad * where(near, 0.5, i0e(self) - quotient)
