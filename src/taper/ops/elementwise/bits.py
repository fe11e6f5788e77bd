"""Bits of whole numbers, element by element; nothing here is differentiable.

Owns: the bitwise operators, which are logic for bool, and what is defined for whole numbers only.
"""

from __future__ import annotations

import numpy as np

from taper.arrays.layouts import ELEMENTWISE
from taper.opdef import FUNCTION, SAME, Array, Operand, op
from taper.opdef.dtype_checks import BOOL, WIDE, require_whole

_OVERLOADS = (
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Number self, Tensor other)",
    "(Tensor input, Number other, *, Tensor out = None)",
)


@op(
    node="NotImplemented",
    promote=SAME,
    inplace=True,
    out=True,
    numbers=True,
    signatures=_OVERLOADS,
    layout=ELEMENTWISE,
)
def bitwise_and(self: Array, other: Operand) -> Array:
    """Keep the bits that both elements have; for bool logical and.

    >>> import taper
    >>> taper.bitwise_and(taper.tensor([6, 5]), 3)
    tensor([2, 1])
    """
    require_whole("bitwise_and_cpu", self)
    return np.bitwise_and(self, other)


@op(
    node="NotImplemented",
    promote=SAME,
    inplace=True,
    out=True,
    numbers=True,
    signatures=_OVERLOADS,
    layout=ELEMENTWISE,
)
def bitwise_or(self: Array, other: Operand) -> Array:
    """Keep the bits that one of the elements has; for bool logical or.

    >>> import taper
    >>> taper.bitwise_or(taper.tensor([6, 5]), 3)
    tensor([7, 7])
    """
    require_whole("bitwise_or_cpu", self)
    return np.bitwise_or(self, other)


@op(
    node="NotImplemented",
    promote=SAME,
    inplace=True,
    out=True,
    numbers=True,
    signatures=_OVERLOADS,
    layout=ELEMENTWISE,
)
def bitwise_xor(self: Array, other: Operand) -> Array:
    """Keep the bits that exactly one of the elements has; for bool logical xor.

    >>> import taper
    >>> taper.bitwise_xor(taper.tensor([6, 5]), 3)
    tensor([5, 6])
    """
    require_whole("bitwise_xor_cpu", self)
    return np.bitwise_xor(self, other)


@op(node="NotImplemented", promote=SAME, inplace=True, out=True, layout=ELEMENTWISE)
def bitwise_not(self: Array) -> Array:
    """Turn all bits; for bool logical not.

    >>> import taper
    >>> taper.bitwise_not(taper.tensor([0, -1]))
    tensor([-1,  0])
    """
    require_whole("bitwise_not_cpu", self, *WIDE)
    return np.invert(self)


@op(
    node="NotImplemented",
    promote=SAME,
    inplace=True,
    out=True,
    numbers=True,
    signatures=_OVERLOADS,
    layout=ELEMENTWISE,
)
def bitwise_left_shift(self: Array, other: Operand) -> Array:
    """Move the bits up by `other` places; those pushed out are lost.

    >>> import taper
    >>> taper.bitwise_left_shift(taper.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """
    require_whole("lshift_cpu", self, *BOOL, *WIDE)
    return np.left_shift(self, other)


@op(
    node="NotImplemented",
    promote=SAME,
    inplace=True,
    out=True,
    numbers=True,
    signatures=_OVERLOADS,
    layout=ELEMENTWISE,
)
def bitwise_right_shift(self: Array, other: Operand) -> Array:
    """Move the bits down by `other` places; the sign stays.

    >>> import taper
    >>> taper.bitwise_right_shift(taper.tensor([4, -8]), 2)
    tensor([ 1, -2])
    """
    require_whole("rshift_cpu", self, *BOOL, *WIDE)
    return np.right_shift(self, other)


@op(node="NotImplemented", promote=SAME, inplace=FUNCTION, out=True, layout=ELEMENTWISE)
def gcd(self: Array, other: Array) -> Array:
    """Find the greatest common divisor of two whole numbers.

    >>> import taper
    >>> taper.gcd(taper.tensor([12, 18]), taper.tensor([8, 27]))
    tensor([4, 9])
    """
    require_whole("gcd_cpu", self, *BOOL, *WIDE)
    return np.gcd(self, other)


@op(node="NotImplemented", promote=SAME, inplace=FUNCTION, out=True, layout=ELEMENTWISE)
def lcm(self: Array, other: Array) -> Array:
    """Find the least common multiple of two whole numbers.

    >>> import taper
    >>> taper.lcm(taper.tensor([4, 6]), taper.tensor([6, 9]))
    tensor([12, 18])
    """
    require_whole("lcm_cpu", self, *BOOL, *WIDE)
    return np.lcm(self, other)
