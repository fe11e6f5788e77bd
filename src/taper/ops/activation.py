"""Activation functions."""

from __future__ import annotations

from taper.opdef import POINTWISE, Array, derivative, op
import numpy as np


@op(tangent=POINTWISE, inplace=True)
def relu(self: Array) -> Array:
    """The positive part: x where it is above zero, else zero.

    >>> import taper
    >>> taper.relu(taper.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return np.maximum(self, np.zeros((), self.dtype))


@derivative(relu, wrt="self")
def relu_self(grad, result):
    return grad * (result > 0)
