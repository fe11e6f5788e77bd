"""Affine maps of layers: `linear`, `bilinear`.

Made of matrix products as in PyTorch, so that graphs have the same nodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.opdef import MULTILINEAR, Array, composite, derivative, op
from taper.ops.addmm import addmm
from taper.ops.matmul import conjugate, matmul, not_tensors
from taper.ops.shape import reshape, t, view_as_shape
from taper.tensor import Tensor


@composite(method=False, public=False)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dimension of `input`.

    >>> import taper
    >>> from taper.ops.linear import linear
    >>> linear(taper.ones(2, 3), taper.ones(1, 3), taper.tensor([0.5]))
    tensor([[3.5000],
            [3.5000]])
    """
    try:
        array, turned = input._array, t(weight)
        bias_ndim = 0 if bias is None else bias._array.ndim
    except AttributeError:
        raise not_tensors("linear", input=input, weight=weight, bias=bias) from None
    if bias is None:
        return matmul(input, turned)
    if array.ndim == 2:
        return addmm(bias, input, turned)
    if not array.ndim or not weight._array.ndim:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are "
            f"{array.ndim}D and {weight._array.ndim}D"
        )
    if bias_ndim > 1 or not array.flags.c_contiguous:
        return matmul(input, turned) + bias
    *lead, features = array.shape
    rows = view_as_shape(input, (math.prod(lead), features))
    return view_as_shape(addmm(bias, rows, turned), (*lead, weight._array.shape[0]))


# --- bilinear --------------------------------------------------------------------------------


@op(name="_trilinear", node="TrilinearBackward0", tangent=MULTILINEAR, public=False, method=False)
def trilinear(i1: Array, i2: Array, i3: Array, subscripts: str) -> Array:
    """The sum over named indices of a product of three tensors, as in `einsum`."""
    if i1.dtype.itemsize == 2:
        wide = [each.astype(np.float32) for each in (i1, i2, i3)]
        return np.einsum(subscripts, *wide, optimize=True).astype(i1.dtype)
    return np.ascontiguousarray(np.einsum(subscripts, i1, i2, i3, optimize=True))


def _third(subscripts: str, wanted: int) -> tuple[int, int, str]:
    """Which two factors remain in the gradient of factor `wanted`, and their subscripts."""
    inputs, _, output = subscripts.partition("->")
    names = inputs.split(",")
    first, second = (nr for nr in range(3) if nr != wanted)
    return first, second, f"{output},{names[first]},{names[second]}->{names[wanted]}"


def _gradient(grad: Any, factors: tuple[Any, ...], subscripts: str, wanted: int) -> Any:
    first, second, renamed = _third(subscripts, wanted)
    return trilinear(grad, conjugate(factors[first]), conjugate(factors[second]), renamed)


@derivative(trilinear, wrt="i1")
def trilinear_i1(grad, i2, i3, subscripts):
    return _gradient(grad, (None, i2, i3), subscripts, 0)


@derivative(trilinear, wrt="i2")
def trilinear_i2(grad, i1, i3, subscripts):
    return _gradient(grad, (i1, None, i3), subscripts, 1)


@derivative(trilinear, wrt="i3")
def trilinear_i3(grad, i1, i2, subscripts):
    return _gradient(grad, (i1, i2, None), subscripts, 2)


@composite(method=False)
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    >>> import taper
    >>> taper.bilinear(taper.ones(1, 2), taper.ones(1, 3), taper.ones(1, 2, 3))
    tensor([[6.]])
    """
    for each in (input1, input2, weight):
        if not isinstance(each, Tensor):
            raise not_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    _check_bilinear(input1._array, input2._array, weight._array, bias)
    *lead, features1 = input1._array.shape
    rows = math.prod(lead)
    flat1 = reshape(input1, (rows, features1))
    flat2 = reshape(input2, (rows, input2._array.shape[-1]))
    flat = trilinear(flat1, weight, flat2, "ni,oij,nj->no")
    result = reshape(flat, (*lead, weight._array.shape[0]))
    return result if bias is None else result + bias


def _check_bilinear(input1: ndarray, input2: ndarray, weight: ndarray, bias: Any) -> None:
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
        )
    for dim, (one, other) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if one != other:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {one} and "
                f"{other}"
            )
    for nr, given in ((1, input1), (2, input2)):
        if given.shape[-1] != weight.shape[nr]:
            raise RuntimeError(
                f"bilinear(): input{nr} size does not match weight size: got {given.shape[-1]} "
                f"but expected {weight.shape[nr]}"
            )
    if bias is not None and bias._array.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._array.shape[0]} but "
            f"expected {weight.shape[0]}"
        )
