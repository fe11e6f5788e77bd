"""Functions of one tensor, element by element: exponentials, logarithms, trigonometry, rounding.

Owns: unary operators that compute numbers.  Knows the operator table only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.opdef import FLOAT, LINEAR, POINTWISE, Array, composite, derivative, op
from taper.tensor import Tensor


@op(name="_conj", node="ConjBackward0", tangent=LINEAR, public=False, method=False)
def _conj(self: Array) -> Array:
    """Complex conjugate of a complex tensor."""
    return np.conjugate(self)


@derivative(_conj, wrt="self")
def _conj_self(grad):
    return conj(grad)


@composite()
def conj(input: Any) -> Any:
    """Complex conjugate; a real tensor is returned as it is.

    >>> import taper
    >>> taper.conj(taper.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if isinstance(input, np.ndarray):
        return np.conjugate(input) if input.dtype.kind == "c" else input
    if isinstance(input, Tensor):
        return _conj(input) if input._array.dtype.kind == "c" else input
    return input.conjugate() if isinstance(input, complex | np.complexfloating) else input


@op(tangent=LINEAR, inplace=True, out=True, ufunc=np.negative)
def neg(self: Array) -> Array:
    """The negative of every element.

    >>> import taper
    >>> taper.neg(taper.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """
    return np.negative(self)


@derivative(neg, wrt="self")
def neg_self(grad):
    return -grad


@op(promote=FLOAT, tangent=POINTWISE, inplace=True, out=True, ufunc=np.exp)
def exp(self: Array) -> Array:
    """e to the power of every element.

    >>> import taper
    >>> taper.exp(taper.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
    return np.exp(self)


@derivative(exp, wrt="self")
def exp_self(grad, result):
    return grad * conj(result)


@op(promote=FLOAT, tangent=POINTWISE, inplace=True, out=True, ufunc=np.log)
def log(self: Array) -> Array:
    """Natural logarithm of every element.

    >>> import taper
    >>> taper.log(taper.tensor([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """
    return np.log(self)


@derivative(log, wrt="self")
def log_self(grad, self):
    return grad / conj(self)


@op(promote=FLOAT, tangent=POINTWISE, inplace=True, out=True, ufunc=np.sqrt)
def sqrt(self: Array) -> Array:
    """Square root of every element.

    >>> import taper
    >>> taper.sqrt(taper.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """
    return np.sqrt(self)


@derivative(sqrt, wrt="self")
def sqrt_self(grad, result):
    return grad / conj(result * 2)


@op(promote=FLOAT, tangent=POINTWISE, inplace=True, out=True, ufunc=np.tanh)
def tanh(self: Array) -> Array:
    """Hyperbolic tangent of every element.

    >>> import taper
    >>> taper.tanh(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return np.tanh(self)


@derivative(tanh, wrt="self")
def tanh_self(grad, result):
    return grad * conj(1 - result * result)


@op(promote=FLOAT, upcast=True, tangent=POINTWISE, inplace=True, out=True)
def sigmoid(self: Array) -> Array:
    """The logistic function 1 / (1 + exp(-x)) of every element.

    >>> import taper
    >>> taper.sigmoid(taper.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """
    result = np.exp(-self)
    result += 1
    return np.divide(1, result, dtype=result.dtype)


@derivative(sigmoid, wrt="self")
def sigmoid_self(grad, result):
    return grad * conj(result * (1 - result))


@op(promote=FLOAT, tangent=POINTWISE, inplace=True, out=True, ufunc=np.reciprocal)
def reciprocal(self: Array) -> Array:
    """1 / x of every element.

    >>> import taper
    >>> taper.reciprocal(taper.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
    return np.reciprocal(self)


@derivative(reciprocal, wrt="self")
def reciprocal_self(grad, result):
    return -grad * conj(result * result)
