"""Arithmetic, element by element: sums, products, quotients, powers and their relatives.

Owns: the operators of two or more tensors that compute numbers.  Functions of one tensor are in
`unary`, comparisons in `compare`.  Knows the operator table only; other families build on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.opdef import (
    FLOAT,
    LINEAR,
    MULTILINEAR,
    POINTWISE,
    SAME,
    Array,
    Operand,
    composite,
    derivative,
    op,
)
from taper.ops.unary import conj
from taper.tensor import Tensor


@op(promote=SAME, tangent=LINEAR, inplace=True, out=True)
def add(self: Array, other: Operand, *, alpha: Any = 1) -> Array:
    """Sum of two tensors, the second multiplied by `alpha`.

    >>> import taper
    >>> taper.add(taper.tensor([1.0, 2.0]), taper.tensor([3.0, 4.0]), alpha=2)
    tensor([ 7., 10.])
    """
    return np.add(self, other) if alpha == 1 else np.add(self, np.multiply(other, alpha))


@derivative(add, wrt="self")
def add_self(grad):
    return grad


@derivative(add, wrt="other")
def add_other(grad, alpha):
    return grad if alpha == 1 else grad * conj(alpha)


@op(promote=SAME, tangent=LINEAR, inplace=True, out=True)
def sub(self: Array, other: Operand, *, alpha: Any = 1) -> Array:
    """Difference of two tensors, the second multiplied by `alpha`.

    >>> import taper
    >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    return np.subtract(self, other) if alpha == 1 else np.subtract(self, np.multiply(other, alpha))


@derivative(sub, wrt="self")
def sub_self(grad):
    return grad


@derivative(sub, wrt="other")
def sub_other(grad, alpha):
    return -grad if alpha == 1 else grad * -conj(alpha)


@op(name="rsub_scalar", node="RsubBackward1", promote=SAME, public=False, method=False)
def rsub_scalar(self: Array, other: Operand, alpha: Any = 1) -> Array:
    """Number minus tensor."""
    return np.subtract(other, self) if alpha == 1 else np.subtract(other, np.multiply(self, alpha))


@derivative(rsub_scalar, wrt="self")
def rsub_scalar_self(grad, alpha):
    return -grad if alpha == 1 else grad * -conj(alpha)


@op(promote=SAME, tangent=MULTILINEAR, inplace=True, out=True, ufunc=np.multiply)
def mul(self: Array, other: Operand) -> Array:
    """Product of two tensors, element by element.

    >>> import taper
    >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
    return np.multiply(self, other)


@derivative(mul, wrt="self")
def mul_self(grad, other):
    return grad * conj(other)


@derivative(mul, wrt="other")
def mul_other(grad, self):
    return grad * conj(self)


@op(promote=FLOAT, tangent=POINTWISE, inplace=True, out=True, ufunc=np.divide)
def div(self: Array, other: Operand) -> Array:
    """Quotient of two tensors, element by element.

    >>> import taper
    >>> taper.div(taper.tensor([1.0, 2.0]), 4)
    tensor([0.2500, 0.5000])
    """
    return np.divide(self, other)


@derivative(div, wrt="self")
def div_self(grad, other):
    return grad / conj(other)


@derivative(div, wrt="other")
def div_other(grad, self, other):
    return -grad * conj((self / other) / other)


@op(name="pow_scalar", node="PowBackward0", promote=SAME, tangent=POINTWISE, public=False, method=False)
def pow_scalar(self: Array, exponent: Any) -> Array:
    """Tensor to the power of a number."""
    return np.square(self) if exponent == 2 else np.power(self, exponent)


@derivative(pow_scalar, wrt="self")
def pow_scalar_self(grad, self, exponent):
    if exponent == 2:
        return grad * conj(self * 2)
    if exponent == 0:
        return grad * 0
    return grad * conj(self ** (exponent - 1) * exponent)


@op(name="pow_tensor", node="PowBackward1", promote=SAME, public=False, method=False)
def pow_tensor(self: Array, exponent: Array) -> Array:
    """Tensor to the power of a tensor."""
    return np.power(self, exponent)


@op(name="pow_base", node="PowBackward2", promote=SAME, public=False, method=False)
def pow_base(self: Operand, exponent: Array) -> Array:
    """Number to the power of a tensor."""
    return np.power(self, exponent)


@composite()
def pow(input: Any, exponent: Any) -> Any:
    """`input` to the power of `exponent`, either of which may be a number.

    >>> import taper
    >>> taper.pow(taper.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if isinstance(exponent, Tensor):
        return pow_tensor(input, exponent) if isinstance(input, Tensor) else pow_base(input, exponent)
    return pow_scalar(input, exponent)
