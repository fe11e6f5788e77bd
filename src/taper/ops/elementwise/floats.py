"""Floating point numbers from within: `frexp` and `nextafter`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays.elements import LOW_PRECISION
from taper.arrays.layouts import ELEMENTWISE, PRESERVED
from taper.dtypes import C_NAMES
from taper.opdef import POINTWISE, SAME, Array, derivative, op, tangent_of
from taper.opdef.dtype_checks import NOT_FLOATING, not_implemented
from taper.ops.elementwise.unary import exp2, inside, zeros_like
from taper.sampling.fill import dtype_of
from taper.tensor import Tensor


def _check_out(out: ndarray, result: ndarray) -> None:
    integers = result.dtype == np.int32
    name = "exponent to have int dtype" if integers else "mantissa to have dtype float"
    if out.dtype != result.dtype:
        raise RuntimeError(f"torch.frexp() expects {name} but got {C_NAMES[dtype_of(out)]}")


@op(
    outputs=("mantissa", "exponent"),
    nondifferentiable=(1,),
    returns=return_types.frexp,
    out=_check_out,
    layout=PRESERVED,
)
def frexp(self: Array) -> Array:
    """Split numbers into mantissa * 2**exponent, with a mantissa of size 1/2 to below 1.

    >>> import taper
    >>> taper.frexp(taper.tensor([3.0])).exponent
    tensor([2], dtype=torch.int32)
    """
    if not dtype_of(self).is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    wide = self.astype(np.float32) if self.dtype in LOW_PRECISION else self
    mantissa, exponent = np.frexp(wide)
    exponent = np.where(np.isfinite(wide), exponent, 0)
    return np.asarray(mantissa).astype(self.dtype), np.asarray(exponent).astype(np.int32)


@derivative(frexp, wrt="self")
def frexp_self(grad_mantissa: Any, exponent: Any) -> Any:
    return grad_mantissa / exp2(exponent)


@tangent_of(frexp)
def frexp_tangent(self_t: Tensor, exponent: Tensor) -> Any:
    return self_t / exp2(exponent), None


_BITS: dict[Any, Any] = {
    np.dtype(np.float16): np.int16,
    np.dtype(ml_dtypes.bfloat16): np.int16,
}


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=not_implemented("nextafter_cpu", *NOT_FLOATING),
    layout=ELEMENTWISE,
)
def nextafter(self: Array, other: Array) -> Array:
    """Step from `input` to the next floating point number towards `other`.

    The gradient passes to `input` where the two differ.

    >>> import taper
    >>> taper.nextafter(taper.tensor([1.0]), taper.tensor([2.0])) > 1
    tensor([True])
    """
    if self.dtype not in _BITS:
        return np.nextafter(self, other)
    return _next_of_16_bits(*np.broadcast_arrays(self, other))


def _next_of_16_bits(start: ndarray, towards: ndarray) -> ndarray:
    """Step to the neighbour in the order of bit patterns, which is the order of sizes."""
    kind = start.dtype
    bits = np.array(start, order="C").view(_BITS[kind]).astype(np.int32)
    size = bits & 0x7FFF
    away = (towards > start) == (start > 0)
    moved = np.where(start == 0, 1, np.where(away, size + 1, size - 1))
    negative = np.where(start == 0, towards < 0, start < 0)
    found = (moved | np.where(negative, 0x8000, 0)).astype(np.uint16).view(kind)
    undefined = np.isnan(start) | np.isnan(towards)
    found = np.where(start == towards, towards, found)
    return np.where(undefined, np.array(np.nan, kind), found)


@derivative(nextafter, wrt="self")
def nextafter_self(grad, self, other):
    return inside(grad, self != other)


@derivative(nextafter, wrt="other")
def nextafter_other(grad):
    return zeros_like(grad)
