"""Norms of vectors: `norm`, `linalg.vector_norm`, `dist`.

Owns: one kernel and one gradient, which PyTorch shows under three node names
(LinalgVectorNormBackward0, NormBackward1 of pairwise_distance, DistBackward0).
Matrix norms are in `linalg.norms`, which is loaded for the one that `norm` knows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, FLOAT64, LOW_PRECISION
from taper.arrays.layouts import ELEMENTWISE, ROW_MAJOR, settled
from taper.arrays.reduction import (
    LENGTH,
    Dims,
    axes_of,
    dims_of,
    no_norm,
    reduce_natively,
    scalar_type,
    sum_array,
)
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.writes import run_out
from taper.ops import on_demand
from taper.ops.elementwise.arithmetic import refuse_bool
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.unary import abs, sgn
from taper.ops.reduction.along import filled, in_dtype_of
from taper.ops.reduction.sums import sum_dim, unreduced
from taper.tensor import Tensor, is_complex
from taper.userwarning import warn_once

_BLOCK = 8192  # small enough that OpenBLAS starts no threads

_add: Any = np.add.reduce
_largest: Any = np.maximum.reduce
_smallest: Any = np.minimum.reduce
_multiply, _divide = settled(np.multiply, ELEMENTWISE), settled(np.divide, ELEMENTWISE)


# --- the kernel ------------------------------------------------------------------------------


def _norm(array: np.ndarray, order: float, dim: Dims, keepdim: bool) -> Any:
    """Compute the norm of an array of floating point numbers; it is real."""
    if order == 2 and array.dtype is FLOAT32:
        axes = axes_of(dim, array.ndim) if dim else None
        if (found := reduce_natively(LENGTH, array, axes, keepdim)) is not None:
            return found
    low = array.dtype if array.dtype in LOW_PRECISION else None
    if low is not None:
        array = array.astype(FLOAT32)
    axes = axes_of(dim, array.ndim)
    one = (array.ndim or dim in (None, ())) and all(array.shape[each] == 1 for each in axes)
    if order == 0 and one and array.dtype.kind == "c":
        warn_once("Casting complex values to real discards the imaginary part")
    whole = len(axes) == array.ndim and not keepdim
    if order == 2 and whole and array.dtype in (FLOAT32, FLOAT64) and array.flags.c_contiguous:
        result = array.dtype.type(math.sqrt(_square_sum(array.reshape(-1))))
    else:
        result = _general_norm(array, order, axes, keepdim)
    return result if low is None else np.asarray(result).astype(low)


def _square_sum(flat: np.ndarray) -> float:
    """Sum squares block by block: as fast as BLAS and as exact as a pairwise sum."""
    if flat.size <= _BLOCK:
        return float(flat.dot(flat))
    total = 0.0
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        total += float(block.dot(block))
    return total


def _general_norm(array: np.ndarray, order: float, axes: Any, keepdim: bool) -> Any:
    if order == 0:
        real = array.real.dtype
        return np.asarray(_add(array != 0, axes, np.int64, None, keepdim)).astype(real)
    size = np.abs(array)
    if order == math.inf:
        return _largest(size, axes, None, None, keepdim)
    if order == -math.inf:
        return _smallest(size, axes, None, None, keepdim)
    if order == 1:
        return sum_array(size, axes, keepdim, None)
    if order == 2:
        return np.sqrt(sum_array(size * size, axes, keepdim, None))
    power = size.dtype.type(order)
    return np.power(sum_array(np.power(size, power), axes, keepdim, None), 1 / power)


# --- the gradient ----------------------------------------------------------------------------


def norm_gradient(
    grad: Any, values: Any, result: Any, order: float, dim: Dims, keepdim: bool
) -> Any:
    """Compute the gradient of a norm; zero where the norm is zero."""
    if order == 0:
        return None
    values = in_dtype_of(values, result) if not is_complex(values) else values
    grad = unreduced(grad, values.shape, dim, keepdim)
    norm = unreduced(result, values.shape, dim, keepdim)
    if order == 1:
        return sgn(values) * grad
    if order == 2:
        if norm.__class__ is ndarray and norm.all():
            return _multiply(grad, _divide(values, norm))  # two passes over memory, not four
        return grad * filled(values / norm, norm == 0, 0.0)
    if math.isinf(order):
        mask = (abs(values) == norm) | (values != values)
        return sgn(values) * (mask * (grad / sum_dim(mask, dim, True)))
    if order < 1:
        direction = sgn(values) * filled(abs(values) ** (order - 1), values == 0, 0.0)
        return direction * grad * norm ** (1 - order)
    if order < 2:
        direction = sgn(values) * abs(values) ** (order - 1)
    else:
        direction = values * abs(values) ** (order - 2)
    return direction * filled(grad / norm ** (order - 1), norm == 0, 0.0)


def _norm_tangent(
    values: Tensor, tangent: Tensor, result: Tensor, order: float, dim: Dims, keepdim: bool
) -> Tensor:
    gradient = norm_gradient(result.new_ones(result.shape), values, result, order, dim, keepdim)
    if gradient is None:
        return result.detach() * 0
    total = sum_dim(conj(gradient) * tangent, dim, keepdim)
    total = total.real if is_complex(total) else total
    return total if order == 1 or math.isinf(order) else filled(total, result == 0, 0.0)


# --- linalg.vector_norm ----------------------------------------------------------------------


def _checked(array: np.ndarray, order: float, dim: Dims, dtype: Any) -> np.ndarray:
    """Convert to the dtype asked for, after PyTorch's checks of dtypes and empty dimensions."""
    if array.dtype.kind not in "fcV":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type(array.dtype)}"
        )
    if dtype is not None:
        _check_dtype(dtypes.FROM_NUMPY[array.dtype], dtype)
        array = array.astype(dtype.numpy, copy=False)
    if (order < 0 or order == math.inf) and not array.size:
        shown = f"{order:g}"
        if not dim:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because "
                "the operation does not have an identity"
            )
        for each in dim:
            if not array.shape[each]:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {shown} norm on the dimension {each}"
                    "because this dimension is empty and the operation does not have an identity"
                )
    return array


def _check_dtype(source: dtypes.dtype, wanted: dtypes.dtype) -> None:
    if wanted.category < dtypes.FLOATING:
        raise RuntimeError(
            "linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{wanted.scalar_type}"
        )
    if wanted.is_complex != source.is_complex:
        kind = "complex" if source.is_complex else "real"
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got "
            f"{wanted.scalar_type}"
        )
    if dtypes.promote_types(source, wanted) is not wanted:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({source.scalar_type}) should be "
            "convertible without narrowing to the specified dtype "
            f"({wanted.scalar_type})"
        )


@op(
    name="linalg_vector_norm",
    node="LinalgVectorNormBackward0",
    out=True,
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def vector_norm_dim(
    self: Array, ord: float, dim: Dims, keepdim: bool = False, dtype: Any = None
) -> Array:
    """Compute the norm of order `ord` along dimensions."""
    return _norm(_checked(self, ord, dim, dtype), ord, dim, keepdim)


@derivative(vector_norm_dim, wrt="self")
def vector_norm_self(
    grad: Any, self: Any, result: Any, ord: float, dim: Dims, keepdim: bool
) -> Any:
    return norm_gradient(grad, self, result, ord, dim, keepdim)


@tangent_of(vector_norm_dim)
def vector_norm_tangent(
    self: Tensor, self_t: Tensor, result: Tensor, ord: float, dim: Dims, keepdim: bool
) -> Tensor:
    return _norm_tangent(self, self_t, result, ord, dim, keepdim)


@composite(public=False, method=False)
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Compute the norm of order `ord` of all elements, or along dimensions.

    >>> import taper
    >>> from taper.ops.reduction.vector_norm import vector_norm
    >>> vector_norm(taper.tensor([3.0, -4.0]))
    tensor(5.)
    """
    dims = dims_of(dim, "linalg_vector_norm")
    if out is not None:
        return run_out(vector_norm_dim.op, (x, ord, dims, keepdim, dtype), out)
    return vector_norm_dim(x, ord, dims, keepdim, dtype)


# --- norm ------------------------------------------------------------------------------------


@composite()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """Compute a norm of all elements, or along dimensions.

    result = (Σ |x|ᵖ)^(1/p); `linalg.vector_norm` and `linalg.matrix_norm` are the newer functions.

    Args:
        input: a floating point or complex tensor.
        p: order of the norm; "fro" means 2, inf the largest |x|, 0 the number of nonzero elements,
            "nuc" the sum of the singular values of matrices.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        dtype: dtype that `input` is converted to first.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.norm(taper.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    if input.__class__ is not Tensor and getattr(input, "_run_function", None) is not None:
        return input.norm(p, dim, keepdim, dtype)
    if p == "nuc":
        dims = tuple(range(input.dim())) if dim is None else dims_of(dim, "norm")
        of_matrices = on_demand.load_family("linalg.norms")
        found: Tensor = of_matrices.linalg_matrix_norm(
            input, "nuc", dims, keepdim, dtype=dtype, out=out
        )
        return found
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "fro" and isinstance(dim, (tuple, list)) and len(dim) > 2:
        listed = " ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {listed}")
    order = 2 if p == "fro" else 2.0 if p is None else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


@op(
    name="norm_dim",
    label="norm",
    node="NormBackward1",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def norm_dim(self: Array, p: float, dim: Dims, keepdim: bool = False) -> Array:
    """Compute the norm for `pairwise_distance`, which has a node of its own."""
    return _norm(self, p, dim, keepdim)


@derivative(norm_dim, wrt="self")
def norm_dim_self(grad: Any, self: Any, result: Any, p: float, dim: Dims, keepdim: bool) -> Any:
    return norm_gradient(grad, self, result, p, dim, keepdim)


@tangent_of(norm_dim)
def norm_dim_tangent(
    self: Tensor, self_t: Tensor, result: Tensor, p: float, dim: Dims, keepdim: bool
) -> Tensor:
    return _norm_tangent(self, self_t, result, p, dim, keepdim)


# --- dist ------------------------------------------------------------------------------------


@op(promote="same", check=refuse_bool)
def dist(self: Array, other: Array, p: float = 2) -> Array:
    """Compute the norm of order `p` of the difference of two tensors.

    >>> import taper
    >>> taper.dist(taper.tensor([1.0, 2.0]), taper.tensor([4.0, 6.0]))
    tensor(5.)
    """
    if self.dtype.kind not in "fcV":
        raise no_norm(self.dtype)
    return _norm(_checked(np.asarray(self - other), p, None, None), p, None, False)


@derivative(dist, wrt="self")
def dist_self(grad: Any, self: Any, other: Any, result: Any, p: float) -> Any:
    return norm_gradient(grad, self - other, result, p, None, False)


@derivative(dist, wrt="other")
def dist_other(grad: Any, self: Any, other: Any, result: Any, p: float) -> Any:
    gradient = norm_gradient(grad, self - other, result, p, None, False)
    return None if gradient is None else -gradient


@tangent_of(dist)
def dist_tangent(
    self: Tensor,
    other: Tensor,
    self_t: Tensor | None,
    other_t: Tensor | None,
    result: Tensor,
    p: float,
) -> Tensor:
    tangent: Any = self_t
    if other_t is not None:
        tangent = -other_t if self_t is None else self_t - other_t
    return _norm_tangent(self - other, tangent, result, p, None, False)
