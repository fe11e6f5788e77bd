"""Choosing and mixing tensors, element by element: where, lerp, addcmul, addcdiv, copysign ...

Owns: functions of two or three tensors beyond plain arithmetic.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import select
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.reduction import ABSENT
from taper.dtypes import C_NAMES
from taper.opdef import (
    FLOAT,
    LINEAR,
    POINTWISE,
    SAME,
    Array,
    Operand,
    composite,
    derivative,
    inplace_function,
    methods,
    op,
    tangent_of,
)
from taper.opdef.dtype_checks import BOOL, COMPLEX, WIDE, not_implemented
from taper.opdef.in_place import refused_in_place
from taper.opdef.operands import NUMBERS, invalid_combination, python_number
from taper.opdef.writes import refuse_shape
from taper.ops.elementwise.arithmetic import no_derivative
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.unary import inside, zeros_like
from taper.tensor import Tensor

# what C++ calls the types, in error texts


# --- where -----------------------------------------------------------------------------------


_WHERE = (
    "(Tensor condition)",
    "(Tensor condition, Tensor input, Tensor other, *, Tensor out = None)",
    "(Tensor condition, Number self, Tensor other)",
    "(Tensor condition, Tensor input, Number other)",
    "(Tensor condition, Number self, Number other)",
)


@op(
    name="where_self",
    label="where",
    node="WhereBackward0",
    promote=SAME,
    unpromoted=("condition",),
    out=True,
    public=False,
    method=False,
    signatures=_WHERE,
    layout=ELEMENTWISE,
)
def where_self(condition: Array, self: Operand, other: Operand) -> Array:
    """Take `self` where the condition holds, else `other`."""
    return select(condition, self, other)


@derivative(where_self, wrt="self")
def where_self_self(grad, condition):
    return inside(grad, condition)


@derivative(where_self, wrt="other")
def where_self_other(grad, condition):
    return inside(grad, ~condition)


@tangent_of(where_self)
def where_self_tangent(condition, self_t, other_t):
    return where_self(
        condition, 0.0 if self_t is None else self_t, 0.0 if other_t is None else other_t
    )


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Tensor, input: Operand, other: Operand, *, out: Tensor | None = None
) -> Tensor: ...
@composite(method=False)
def where(condition: Any, input: Any = ABSENT, other: Any = ABSENT, *, out: Any = None) -> Any:
    """Choose elements from one of two tensors, as a condition tells.

    result = input where condition holds, else other

    Args:
        condition: a bool tensor.
        input: tensor or number taken where the condition is True.
        other: tensor or number taken where it is False.
        out: tensor that receives the result.

    Shape: the three broadcast together; the result has the broadcast shape.

    Returns: the chosen elements; with the condition alone, its `nonzero(as_tuple=True)`.

    Example:
        >>> import taper
        >>> x = taper.tensor([1.0, -2.0])
        >>> taper.where(x > 0, x, 0)
        tensor([1., 0.])
    """
    if isinstance(condition, (ndarray, np.generic)):
        kind = other.dtype if input.__class__ in NUMBERS else input.dtype
        return select(condition, np.asarray(input, kind), np.asarray(other, kind))
    if not isinstance(condition, Tensor):
        raise invalid_combination("where", (condition, input, other), _WHERE)
    if input is ABSENT and other is ABSENT:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype != np.bool_:
        condition = _boolean(condition)
    return where_self(condition, input, other, out=out)


def _boolean(condition: Tensor) -> Tensor:
    if condition.dtype is dtypes.uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=3,
        )
        return condition.to(dtypes.bool_)
    raise RuntimeError(
        "where expected condition to be a boolean tensor, but got a tensor with dtype "
        f"{condition.dtype.scalar_type}"
    )


def _where_method(self: Any, condition: Any, other: Any) -> Any:
    """Keep the tensor's elements where a condition holds, take others elsewhere.

    Args:
        condition: a bool tensor.
        other: tensor or number taken where the condition is False.

    Shape: the three broadcast together; the result has the broadcast shape.

    Example:
        >>> import taper
        >>> x = taper.tensor([1.0, -2.0])
        >>> x.where(x > 0, 0)
        tensor([1., 0.])
    """
    return where(condition, self, other)


methods["where"] = _where_method


# --- lerp ------------------------------------------------------------------------------------


def _refuse_mixed(first: ndarray, others: dict[str, Any]) -> None:
    """Refuse different dtypes: lerp does not promote."""
    for name, each in others.items():
        if each.dtype != first.dtype and not (name == "weight" and each.ndim == 0):
            kinds = [C_NAMES[dtypes.FROM_NUMPY[array.dtype]] for array in (first, each)]
            raise RuntimeError(f"expected dtype {kinds[0]} for `{name}` but got dtype {kinds[1]}")


def _lerp(first: ndarray, last: ndarray, weight: Any, kernel: str) -> Any:
    """Compute first + weight (last - first) from the nearer end, exact at both ends."""
    kind = dtypes.FROM_NUMPY[first.dtype]
    if kind.category < dtypes.FLOATING:
        not_implemented(kernel, kind.name)(kind, ())
    low = kind.name in ("float16", "bfloat16")
    if low:
        first, last = first.astype(np.float32), last.astype(np.float32)
    weight = np.asarray(weight).astype(first.dtype)
    difference = last - first
    far = np.abs(weight) >= 0.5
    if not far.ndim:
        result = last - difference * (1 - weight) if far else first + weight * difference
    else:
        result = np.where(far, last - difference * (1 - weight), first + weight * difference)
    return result.astype(kind.numpy) if low else result


@op(
    name="lerp_number",
    label="lerp",
    node="LerpBackward0",
    tangent=LINEAR,
    out=True,
    public=False,
    method=False,
    signatures=(
        "(Tensor input, Tensor end, Tensor weight, *, Tensor out = None)",
        "(Tensor input, Tensor end, Number weight, *, Tensor out = None)",
    ),
    layout=ELEMENTWISE,
)
def lerp_number(self: Array, end: Array, weight: Any) -> Array:
    """Go `weight`, a number, of the way from one tensor to another."""
    _refuse_mixed(self, {"end": end})
    if isinstance(weight, complex) and self.dtype.kind != "c":
        name = C_NAMES[dtypes.FROM_NUMPY[self.dtype]]
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return _lerp(self, end, weight, "lerp_kernel_scalar")


@derivative(lerp_number, wrt="self")
def lerp_number_self(grad, weight):
    return grad * conj(1 - weight)


@derivative(lerp_number, wrt="end")
def lerp_number_end(grad, weight):
    return grad * conj(weight)


@op(
    name="lerp_tensor",
    label="lerp",
    node="LerpBackward1",
    tangent=POINTWISE,
    out=True,
    public=False,
    method=False,
)
def lerp_tensor(self: Array, end: Array, weight: Array) -> Array:
    """Go `weight`, a tensor, of the way from one tensor to another."""
    _refuse_mixed(self, {"end": end, "weight": weight})
    return _lerp(self, end, weight, "lerp_kernel_tensor")


@derivative(lerp_tensor, wrt="self")
def lerp_tensor_self(grad, weight):
    return grad * conj(1 - weight)


@derivative(lerp_tensor, wrt="end")
def lerp_tensor_end(grad, weight):
    return grad * conj(weight)


@derivative(lerp_tensor, wrt="weight")
def lerp_tensor_weight(grad, self, end, weight):  # PyTorch saves it whichever gradient is wanted
    return grad * conj(end - self)


@composite()
def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    """Go `weight` of the way from `input` to `end`: input + weight (end - input).

    >>> import taper
    >>> taper.lerp(taper.tensor([0.0, 10.0]), taper.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    if isinstance(weight, Tensor):
        return lerp_tensor(input, end, weight, out=out)
    return lerp_number(input, end, python_number(weight), out=out)


_lerp_number_in_place = inplace_function(lerp_number)
_lerp_tensor_in_place = inplace_function(lerp_tensor)


@composite(name="lerp_", public=False)
def lerp_in_place(self: Any, end: Any, weight: Any) -> Any:
    """In-place version of `lerp`."""
    try:
        if isinstance(weight, Tensor):
            return _lerp_tensor_in_place(self, end, weight)
        return _lerp_number_in_place(self, end, python_number(weight))
    except NotImplementedError:  # of a missing kernel, for which PyTorch looks last
        arrays = [each._array for each in (self, end, weight) if isinstance(each, Tensor)]
        refuse_shape(self._array, np.broadcast(*arrays))
        raise


# --- addcmul, addcdiv ------------------------------------------------------------------------


def _times(values: Any, value: Any) -> Any:
    """Multiply in the dtype of the values, which rounds a fractional factor of integers."""
    if value == 1:
        return values
    return np.multiply(values, np.asarray(value).astype(values.dtype))


@op(
    promote=SAME,
    upcast=True,
    inplace=True,
    out=True,
    tangent=POINTWISE,
    check=not_implemented("addcmul_cpu_out", *BOOL, *WIDE),
)
def addcmul(self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
    """Add `value` times the product of two tensors to `input`.

    >>> import taper
    >>> x = taper.tensor([1.0, 2.0])
    >>> taper.addcmul(x, x, x, value=10)
    tensor([11., 42.])
    """
    return np.add(self, np.multiply(_times(tensor1, value), tensor2))


@derivative(addcmul, wrt="self")
def addcmul_self(grad):
    return grad


@derivative(addcmul, wrt="tensor1")
def addcmul_tensor1(grad, tensor2, value):
    return grad * conj(tensor2 * value)


@derivative(addcmul, wrt="tensor2")
def addcmul_tensor2(grad, tensor1, value):
    return grad * conj(tensor1 * value)


def _refuse_integer_division(common: dtypes.dtype, operands: Sequence[Any]) -> None:
    kinds = [dtypes.FROM_NUMPY[each.dtype] for each in operands[1:]]
    if all(each.category < dtypes.FLOATING for each in kinds):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
            "behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2))"
            ".to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
            "float inputs. The future addcdiv behavior is just the latter implementation: "
            "(input + value * tensor1 / tensor2), for all dtypes."
        )


@op(
    promote=SAME,
    upcast=True,
    inplace=True,
    out=True,
    tangent=POINTWISE,
    check=_refuse_integer_division,
)
def addcdiv(self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
    """Add `value` times the quotient of two tensors to `input`.

    >>> import taper
    >>> x = taper.tensor([1.0, 2.0])
    >>> taper.addcdiv(x, x, x, value=10)
    tensor([11., 12.])
    """
    return np.add(self, np.divide(_times(tensor1, value), tensor2))


@derivative(addcdiv, wrt="self")
def addcdiv_self(grad, tensor2):  # PyTorch saves it whichever gradient is wanted
    return grad


@derivative(addcdiv, wrt="tensor1")
def addcdiv_tensor1(grad, tensor2, value):
    return grad * conj(value / tensor2)


@derivative(addcdiv, wrt="tensor2")
def addcdiv_tensor2(grad, tensor1, tensor2, value):
    return -grad * conj(tensor1 * value / (tensor2 * tensor2))


# --- copysign, heaviside ---------------------------------------------------------------------


@op(
    name="copysign_tensor",
    label="copysign",
    node="CopysignBackward0",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    ufunc=np.copysign,
    public=False,
    method=False,
    check=not_implemented("copysign_cpu", *COMPLEX),
    signatures=(
        "(Tensor input, Tensor other, *, Tensor out = None)",
        "(Tensor input, Number other, *, Tensor out = None)",
    ),
)
def copysign_tensor(self: Array, other: Array) -> Array:
    """Give the absolute values of one tensor the signs of another."""
    return np.copysign(self, other)


@derivative(copysign_tensor, wrt="self")
def copysign_tensor_self(grad, self, result):
    return grad * _sign_change(self, result)


@derivative(copysign_tensor, wrt="other")
def copysign_tensor_other(grad):
    return zeros_like(grad)


def _sign_change(before: Any, after: Any) -> Any:
    """Return 1 or -1; 0 at zero, where the derivative does not exist."""
    return inside(after / before, before != 0)


@op(
    name="copysign_number",
    label="copysign",
    node="CopysignBackward1",
    promote=FLOAT,
    tangent=POINTWISE,
    out=True,
    ufunc=np.copysign,
    public=False,
    method=False,
    check=not_implemented("copysign_cpu", *COMPLEX),
    signatures=(
        "(Tensor input, Tensor other, *, Tensor out = None)",
        "(Tensor input, Number other, *, Tensor out = None)",
    ),
)
def copysign_number(self: Array, other: Operand) -> Array:
    """Give the absolute values of a tensor the sign of a number."""
    return np.copysign(self, other)


@derivative(copysign_number, wrt="self")
def copysign_number_self(grad, self, result):
    return grad * _sign_change(self, result)


@composite()
def copysign(input: Any, other: Any, *, out: Any = None) -> Any:
    """Give the absolute values of `input` the signs of `other`.

    >>> import taper
    >>> taper.copysign(taper.tensor([1.0, -2.0]), taper.tensor([-1.0, 3.0]))
    tensor([-1.,  2.])
    """
    tensor = isinstance(other, Tensor)
    return (copysign_tensor if tensor else copysign_number)(input, other, out=out)


_copysign_tensor_in_place = inplace_function(copysign_tensor)
_copysign_number_in_place = inplace_function(copysign_number)


@composite(name="copysign_", public=False)
def copysign_in_place(self: Any, other: Any) -> Any:
    """In-place version of `copysign`."""
    tensor = isinstance(other, Tensor)
    return (_copysign_tensor_in_place if tensor else _copysign_number_in_place)(self, other)


def _refuse_mixed_heaviside(common: dtypes.dtype, operands: Sequence[Any]) -> None:
    if common.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if operands[0].dtype != operands[1].dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    not_implemented("heaviside_cpu", *WIDE)(common, operands)


@op(
    node="NotImplemented",
    promote=SAME,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=_refuse_mixed_heaviside,
)
def heaviside(self: Array, values: Array) -> Array:
    """Return 0 below zero, 1 above, `values` at zero. Differentiating it fails, as in PyTorch.

    >>> import taper
    >>> taper.heaviside(taper.tensor([-1.0, 0.0, 2.0]), taper.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return np.where(self == 0, values, (self > 0).astype(self.dtype))


@derivative(heaviside, wrt="self")
def heaviside_self(grad):
    raise no_derivative("heaviside")


@derivative(heaviside, wrt="values")
def heaviside_values(grad):
    raise no_derivative("heaviside")


def _heaviside_in_place(grad):
    raise no_derivative("heaviside_")


refused_in_place(heaviside, "NotImplemented", _heaviside_in_place)
