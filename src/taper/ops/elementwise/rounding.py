"""Rounding to whole numbers, and repairing what is not a number.

Owns: functions that are constant in pieces, or the identity except at a few elements.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from taper import dtypes
from taper.arrays.layouts import PRESERVED
from taper.arrays.scalars import type_name
from taper.opdef import (
    FUNCTION,
    POINTWISE,
    SAME,
    Array,
    alias,
    composite,
    derivative,
    inplace_function,
    op,
)
from taper.opdef.dtype_checks import BOOL, COMPLEX, INTEGERS, WIDE, all_of, not_implemented, refuse
from taper.ops.elementwise.unary import zeros_like
from taper.tensor import Tensor


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    ufunc=np.floor,
    check=all_of(
        not_implemented("floor_vml_cpu", *BOOL),
        refuse(NotImplementedError, "floor is not supported for complex inputs", *COMPLEX),
    ),
)
def floor(self: Array) -> Array:
    """Round every element down to a whole number.

    >>> import taper
    >>> taper.floor(taper.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """
    return np.floor(self)


@derivative(floor, wrt="self")
def floor_self(grad):
    return zeros_like(grad)


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    ufunc=np.ceil,
    check=all_of(
        not_implemented("ceil_vml_cpu", *BOOL),
        refuse(NotImplementedError, "ceil is not supported for complex inputs", *COMPLEX),
    ),
)
def ceil(self: Array) -> Array:
    """Round every element up to a whole number.

    >>> import taper
    >>> taper.ceil(taper.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """
    return np.ceil(self)


@derivative(ceil, wrt="self")
def ceil_self(grad):
    return zeros_like(grad)


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    ufunc=np.trunc,
    check=all_of(
        not_implemented("trunc_vml_cpu", *BOOL),
        refuse(NotImplementedError, "trunc is not supported for complex inputs", *COMPLEX),
    ),
)
def trunc(self: Array) -> Array:
    """Cut off the fraction of every element.

    >>> import taper
    >>> taper.trunc(taper.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """
    return np.trunc(self)


@derivative(trunc, wrt="self")
def trunc_self(grad):
    return zeros_like(grad)


alias("fix", trunc)


@op(
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    check=not_implemented("frac_cpu", *BOOL, *INTEGERS, *WIDE, *COMPLEX),
)
def frac(self: Array) -> Array:
    """Keep the fraction of every element, with its sign.

    >>> import taper
    >>> taper.frac(taper.tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])
    """
    return np.subtract(self, np.trunc(self))


@derivative(frac, wrt="self")
def frac_self(grad):
    return grad


@op(
    name="round_whole",
    label="round",
    node="RoundBackward0",
    promote=SAME,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
    check=not_implemented("round_vml_cpu", *BOOL, *COMPLEX),
)
def round_whole(self: Array) -> Array:
    """Round to the nearest whole number, halves to the even one."""
    return self.copy() if self.dtype.kind in "iu" else np.rint(self)


@derivative(round_whole, wrt="self")
def round_whole_self(grad):
    return zeros_like(grad)


@op(
    name="round_decimals",
    label="round",
    node="RoundBackward1",
    promote=SAME,
    upcast=True,
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
)
def round_decimals(self: Array, decimals: int) -> Array:
    """Round to so many decimals; negative ones count to the left of the point."""
    if self.dtype.kind != "f":
        kind = dtypes.FROM_NUMPY[self.dtype]
        not_implemented("round_cpu" if decimals else "round_vml_cpu", kind.name)(kind, ())
    if decimals == 0:
        return np.rint(self)
    power = self.dtype.type(10.0 ** (-decimals if decimals < 0 else decimals))
    if decimals < 0:
        return np.rint(self / power) * power
    return np.rint(self * power) / power


@derivative(round_decimals, wrt="self")
def round_decimals_self(grad):
    return zeros_like(grad)


_round_whole_in_place = inplace_function(round_whole)
_round_decimals_in_place = inplace_function(round_decimals)


@composite()
def round(input: Any, *, decimals: int | None = None, out: Any = None) -> Any:
    """Round to the nearest whole number, or to `decimals` places; halves to the even one.

    >>> import taper
    >>> taper.round(taper.tensor([0.5, 1.5, -2.7]))
    tensor([ 0.,  2., -3.])
    """
    if decimals is None:
        return round_whole(input, out=out)
    return round_decimals(input, decimals, out=out)


@composite(name="round_")
def round_in_place(input: Any, *, decimals: int | None = None) -> Any:
    """In-place version of `round`."""
    if decimals is None:
        return _round_whole_in_place(input)
    return _round_decimals_in_place(input, decimals)


# --- not a number ----------------------------------------------------------------------------


@op(tangent=POINTWISE, inplace=FUNCTION, out=True, layout=PRESERVED, complex_gradient=False)
def nan_to_num(
    self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Replace nan by `nan` (0), inf by `posinf` and -inf by `neginf` (the dtype's limits).

    >>> import taper
    >>> taper.nan_to_num(taper.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    for position, value in enumerate((nan, posinf, neginf), 2):
        if value is not None and not isinstance(value, (float, int)):
            # ml_dtypes ends the process if bfloat16 is made from a string.
            name = ("nan", "posinf", "neginf")[position - 2]
            raise TypeError(
                f"nan_to_num(): argument '{name}' (position {position}) must be float, not "
                f"{type_name(value)}"
            )
    if self.dtype.kind in "biu":
        return self.copy()
    if self.dtype.kind == "c":
        result = np.empty_like(self)
        result.real = _repaired(self.real, nan, posinf, neginf)
        result.imag = _repaired(self.imag, nan, posinf, neginf)
        return result
    return _repaired(self, nan, posinf, neginf)


def _repaired(values: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    limits: Any = ml_dtypes.finfo(values.dtype)
    kind = values.dtype.type
    result = np.where(np.isnan(values), kind(0.0 if nan is None else nan), values)
    result = np.where(values == np.inf, kind(limits.max if posinf is None else posinf), result)
    return np.where(values == -np.inf, kind(limits.min if neginf is None else neginf), result)


@derivative(nan_to_num, wrt="self")
def nan_to_num_self(grad, self):
    if isinstance(self, Tensor):
        return grad * self.isfinite()
    return grad * np.isfinite(self)
