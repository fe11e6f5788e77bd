"""What the functions of two arguments in `special` share, of which one may be a Python number."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from taper import dtypes
from taper.opdef.dtype_checks import Check
from taper.opdef.operands import NUMBERS, invalid_combination, scalar_array
from taper.tensor import Tensor

SIGNATURES = (
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Number self, Tensor other, *, Tensor out = None)",
    "(Tensor input, Number other, *, Tensor out = None)",
)


def with_number(check: Check, *operands: Any) -> list[ndarray]:
    """Convert an array and a number to their common floating point dtype."""
    kind = dtypes.result_type(operands)
    if kind.category < dtypes.FLOATING:
        kind = dtypes.default.float
    check(kind, ())
    return [
        scalar_array(each, kind.numpy)
        if each.__class__ in NUMBERS
        else each.astype(kind.numpy, copy=False)
        for each in operands
    ]


def chosen(label: str, input: Any, other: Any, functions: tuple[Any, Any, Any], out: Any) -> Any:
    """Call the function for two tensors, for a number first, or for a number second."""
    first, second = isinstance(input, Tensor), isinstance(other, Tensor)
    if first and second:
        return functions[0](input, other, out=out)
    if second and input.__class__ in NUMBERS:
        return functions[1](input, other, out=out)
    if first and other.__class__ in NUMBERS:
        return functions[2](input, other, out=out)
    raise invalid_combination(label, (input, other), SIGNATURES)
