"""Affine maps of layers: `linear`, `bilinear`.

Made of matrix products as in PyTorch, so that graphs have the same nodes.
"""

from __future__ import annotations

import math
import string
from typing import Any

import numpy as np
from numpy import ndarray

from taper.autograd.grad_mode import is_grad_enabled
from taper.autograd.state import local
from taper.dtypes import C_NAMES, no_kernel
from taper.opdef import MULTILINEAR, Array, composite, derivative, op
from taper.ops.linalg.addmm import addmm
from taper.ops.linalg.matmul import matmul, not_tensors, product_into
from taper.ops.shape.ones import reshape, t, view_as_shape
from taper.tensor import Tensor


@composite(method=False, public=False)
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Apply an affine map to the last dimension.

    result = input @ weightᵀ + bias

    Args:
        input: a tensor (*, in).
        weight: matrix (out, in), or a vector (in,).
        bias: vector (out,), or None.
        out: tensor that receives the result.

    Shape: (*, out); with a vector as weight (*).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.linear(taper.ones(2, 3), taper.ones(1, 3), taper.tensor([0.5]))
        tensor([[3.5000],
                [3.5000]])
    """
    if out is not None:
        return product_into("linear", linear, (input, weight, bias), out)
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        raise not_tensors("linear", input=input, weight=weight)
    array = input._array
    if bias is None:
        bias_ndim = 0
    elif isinstance(bias, Tensor):
        if array.ndim == 2:
            return addmm(bias, input, t(weight))
        bias_ndim = bias._array.ndim
    else:
        raise not_tensors("linear", input=input, weight=weight, bias=bias)
    ndim = weight._array.ndim
    if not array.ndim or not ndim:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are "
            f"{array.ndim}D and {ndim}D"
        )
    if bias is None:
        return matmul(input, t(weight))
    if bias_ndim > 1 or not array.flags.c_contiguous:
        product = matmul(input, t(weight))
        shown = local.state.interceptors
        # The bias may differ from example to example; modes and classes see no write.
        if local.state.transforms or (shown and hasattr(shown[-1], "answer")):
            return product.add(bias)
        return product.add_(bias)
    *lead, features = array.shape
    rows = view_as_shape(input, (math.prod(lead), features))
    return view_as_shape(addmm(bias, rows, t(weight)), (*lead, weight._array.shape[0]))


# --- bilinear --------------------------------------------------------------------------------


@op(name="_trilinear", tangent=MULTILINEAR, public=False, method=False)
def trilinear(
    i1: Array,
    i2: Array,
    i3: Array,
    expand1: tuple[int, ...],
    expand2: tuple[int, ...],
    expand3: tuple[int, ...],
    sumdim: tuple[int, ...],
) -> Array:
    """Sum the product of three tensors over `sumdim`.

    Each tensor lacks the dimensions of the product that its `expand` lists.
    """
    letters = string.ascii_letters[: i1.ndim + len(expand1)]
    names = ["".join(_others(letters, each)) for each in (expand1, expand2, expand3, sumdim)]
    subscripts = f"{names[0]},{names[1]},{names[2]}->{names[3]}"
    factors = [i1, i2, i3]
    if i1.dtype.kind == "b" and i1.size and i2.size and i3.size:
        raise no_kernel("bmm", i1.dtype)
    if i1.dtype.itemsize == 2:
        factors = [each.astype(np.float32) for each in factors]
    # The layout of NumPy's result depends on its path; a fresh result of PyTorch is row-major.
    result = np.ascontiguousarray(np.einsum(subscripts, *factors, optimize=True))
    return result.astype(i1.dtype, copy=False)


def _others(letters: str, dims: tuple[int, ...]) -> list[str]:
    return [letter for dim, letter in enumerate(letters) if dim not in dims]


@derivative(trilinear, wrt="i1")
def trilinear_i1(grad, i2, i3, expand1, expand2, expand3, sumdim):
    return trilinear(grad, i2, i3, sumdim, expand2, expand3, expand1)


@derivative(trilinear, wrt="i2")
def trilinear_i2(grad, i1, i3, expand1, expand2, expand3, sumdim):
    return trilinear(i1, grad, i3, expand1, sumdim, expand3, expand2)


@derivative(trilinear, wrt="i3")
def trilinear_i3(grad, i1, i2, expand1, expand2, expand3, sumdim):
    return trilinear(i1, i2, grad, expand1, expand2, sumdim, expand3)


@composite(method=False)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a bilinear map to two inputs.

    result[k] = input1 @ weight[k] @ input2ᵀ + bias[k]

    Args:
        input1: a tensor (*, in1).
        input2: a tensor (*, in2).
        weight: a tensor (out, in1, in2).
        bias: vector (out,), or None.

    Shape: (*, out).

    Example:
        >>> import taper
        >>> taper.bilinear(taper.ones(1, 2), taper.ones(1, 3), taper.ones(1, 2, 3))
        tensor([[6.]])
    """
    if not all(isinstance(each, Tensor) for each in (input1, input2, weight)):
        raise not_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    _check_dtypes(input1=input1, input2=input2, weight=weight, bias=bias)
    _check_bilinear(input1._array, input2._array, weight._array, bias)
    if input1.dtype.is_complex and is_grad_enabled():
        if any(each.requires_grad for each in (input1, input2, weight)):
            raise RuntimeError(
                "_trilinear does not support automatic differentiation for outputs with complex "
                "dtype."
            )
    *lead, features1 = input1._array.shape
    rows = math.prod(lead)
    flat1 = reshape(input1, (rows, features1))
    flat2 = reshape(input2, (rows, input2._array.shape[-1]))
    # The product has the dimensions row, output feature, and the two that are summed.
    flat = trilinear(flat1, weight, flat2, (1, 3), (0,), (1, 2), (2, 3))
    result = reshape(flat, (*lead, weight._array.shape[0]))
    return result if bias is None else result + bias


def _check_dtypes(**given: Tensor | None) -> None:
    tensors = {name: each.dtype for name, each in given.items() if each is not None}
    if len(set(tensors.values())) > 1:
        names = ", ".join(f"{name}: {C_NAMES[kind]}" for name, kind in tensors.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {names}")


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
        if not given.ndim or weight.ndim <= nr:
            number = nr if given.ndim else -1
            raise IndexError(f"Dimension specified as {number} but tensor has no dimensions")
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
