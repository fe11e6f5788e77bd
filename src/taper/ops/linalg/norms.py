"""Norms of matrices: `linalg.matrix_norm`, `linalg.norm`, `linalg.cond`, `renorm`.

Owns: what is written in terms of vector norms and singular values, and the operator `renorm`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import LOW_PRECISION
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.reduction import Dims, dims_of, no_norm, scalar_type
from taper.arrays.strides import wrap_dim
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.numpy_names import with_numpy_names
from taper.opdef.operands import invalid_combination
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.rounding import nan_to_num
from taper.ops.index.masked import masked_fill
from taper.ops.linalg.checks import (
    check_floating,
    check_matrices,
    check_square,
    check_tensors,
    write_out,
)
from taper.ops.linalg.matmul import same_dtype
from taper.ops.linalg.matrices import real_of
from taper.ops.linalg.solve import inverse_ex
from taper.ops.linalg.svd import singular_values
from taper.ops.reduction.extrema import amax, amin
from taper.ops.reduction.sums import sum_dim
from taper.ops.reduction.vector_norm import norm_dim, norm_gradient, vector_norm, vector_norm_dim
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.ops.shape.parts import narrow
from taper.ops.shape.transpose import permute_dims
from taper.tensor import Tensor
from taper.userwarning import warn_once

_ORDERS = (1, -1, 2, -2, math.inf, -math.inf)
_MATRIX_NORM = (
    "(Tensor input, Number ord, tuple of ints dim = {-2,-1}, bool keepdim = False, *, torch.dtype "
    "dtype = None, Tensor out = None)",
    '(Tensor input, str ord = "fro", tuple of ints dim = {-2,-1}, bool keepdim = False, *, '
    "torch.dtype dtype = None, Tensor out = None)",
)


# --- matrix_norm -----------------------------------------------------------------------------


@with_numpy_names
def linalg_matrix_norm(
    input: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Any:
    """Compute a norm of each matrix: "fro", "nuc", or of order 1, 2, inf or their negatives.

    >>> import taper
    >>> taper.linalg.matrix_norm(taper.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    check_tensors("linalg_matrix_norm", input=input)
    if not isinstance(dim, (tuple, list)):
        given = (input, ord, dim)
        error = invalid_combination("linalg_matrix_norm", given, _MATRIX_NORM)
        error.args = (error.args[0].replace(", int)", ", dim=int)"),)
        raise error
    if out is not None:
        arguments = (input, ord, tuple(dim), keepdim, dtype)
        return write_out(None, _matrix_norm, arguments, out, None, _check_norm_dtype)
    return _matrix_norm(input, ord, tuple(dim), keepdim, dtype)


def _check_norm_dtype(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"linalg.matrix_norm expected out tensor dtype {scalar_type(result.dtype)} but got: "
            f"{scalar_type(out.dtype)}"
        )


def _order_name(order: Any) -> str:
    return order if isinstance(order, str) else f"{order:g}"


def _matrix_norm(A: Tensor, order: Any, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    supported = order in ("fro", "nuc") if isinstance(order, str) else order in _ORDERS
    if not supported:
        raise RuntimeError(f"linalg.matrix_norm: Order {_order_name(order)} not supported.")
    check_matrices("linalg.matrix_norm", A._array)
    check_floating("linalg.matrix_norm", A._array)
    if len(dim) != 2:
        shown = " ".join(str(each) for each in dim)
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (wrap_dim(each, A.dim()) for each in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    _check_dtype(A, dtype)
    if order == "fro":
        return vector_norm(A, 2, (first, second), keepdim, dtype=dtype)
    if order == "nuc" or abs(order) == 2:
        return _norm_of_singular_values(A, order, first, second, keepdim, dtype)
    if abs(order) == math.inf:
        first, second = second, first
    sums = vector_norm(A, 1.0, (first,), keepdim, dtype=dtype)
    if second > first and not keepdim:
        second -= 1
    return _extreme(sums, order, second, keepdim)


def _extreme(values: Any, order: float, dim: int, keepdim: bool) -> Any:
    """Find the largest value (the smallest for a negative order); 0 if there are none."""
    if order < 0:
        return amin(values, dim, keepdim)
    if not values.shape[dim]:
        return sum_dim(values, (dim,), keepdim)
    return amax(values, dim, keepdim)


def _check_dtype(A: Tensor, dtype: Any) -> None:
    if dtype is None:
        return
    name = "linalg.matrix_norm"
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {dtype.scalar_type}"
        )
    if dtype.is_complex != A.dtype.is_complex:
        kind = "complex" if A.dtype.is_complex else "real"
        raise RuntimeError(
            f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.scalar_type}"
        )
    if dtypes.promote_types(A.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({A.dtype.scalar_type}) should be convertible "
            f"without narrowing to the specified dtype ({dtype.scalar_type})"
        )


def _norm_of_singular_values(
    A: Tensor, order: Any, first: int, second: int, keepdim: bool, dtype: Any
) -> Any:
    check_floating("linalg.matrix_norm", A._array, low=False)
    others = [dim for dim in range(A.dim()) if dim not in (first, second)]
    order_of_dims = (*others, first, second)
    matrices = permute_dims(A if dtype is None else A.to(dtype), order_of_dims)
    values = singular_values(matrices)
    if order == "nuc":
        found = sum_dim(values, (-1,), keepdim)
    else:
        found = _extreme(values, order, -1, keepdim)
    if not keepdim:
        return found
    back = tuple([order_of_dims.index(dim) for dim in range(A.dim())])
    return permute_dims(unsqueeze(found, -1), back)


def linalg_vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Compute the norm of order `ord` of all elements, or along dimensions.

    >>> import taper
    >>> taper.linalg.vector_norm(taper.tensor([3.0, -4.0]))
    tensor(5.)
    """
    check_tensors("linalg_vector_norm", input=x)
    dim, keepdim = (dim if axis is None else axis), keepdim or keepdims
    return vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


# --- linalg.norm, nuclear_norm --------------------------------------------------------------------


def linalg_norm(
    input: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Compute the norm of a vector or, with two dimensions and an `ord`, of a matrix.

    >>> import taper
    >>> taper.linalg.norm(taper.tensor([[3.0, 0.0], [0.0, 4.0]]), ord=2)
    tensor(4.)
    """
    check_tensors("linalg_norm", input=input)
    dims, keepdim = dims_of(dim if axis is None else axis, "linalg_norm"), keepdim or keepdims
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if dims is None and ord is not None and input.dim() not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.dim()}D."
        )
    of_matrix = isinstance(ord, str) or (
        ord is not None and (len(dims) if dims is not None else input.dim()) == 2
    )

    def compute(given: Tensor) -> Any:
        if of_matrix:
            return _matrix_norm(given, ord, (-2, -1) if dims is None else dims, keepdim, dtype)
        return vector_norm(given, 2.0 if ord is None else ord, dims, keepdim, dtype=dtype)

    if out is not None:
        return write_out(None, compute, (input,), out)
    return compute(input)


@composite(method=False, numpy_names=True)
def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Any:
    """Sum the singular values; `linalg.matrix_norm` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.nuclear_norm(taper.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    check_tensors("nuclear_norm", input=input)
    warn_once(
        "at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be "
        "removed in a future PyTorch release. Please use `linalg.matrix_norm(A, 'nuc', dim, "
        "keepdim)` instead"
    )
    dims = dims_of(dim, "nuclear_norm") or ()
    if len(dims) == 1:
        dims = dims * 2  # a single number fills the pair
    return linalg_matrix_norm(input, "nuc", dims, keepdim, out=out)


@composite(method=False, numpy_names=True)
def frobenius_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Any:
    """Compute the root of the sum of squares; `linalg.vector_norm` is the name to use.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.frobenius_norm(taper.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    check_tensors("frobenius_norm", input=input)
    if dim is None:
        raise TypeError('frobenius_norm() missing 1 required positional arguments: "dim"')
    warn_once(
        "at::frobenius_norm is deprecated and it is just left for JIT compatibility. It will be "
        "removed in a future PyTorch release. Please use `linalg.vector_norm(A, 2., dim, keepdim)` "
        "instead"
    )
    dims = dims_of(dim, "frobenius_norm") or ()
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise no_norm(input.dtype.numpy)
    if out is not None:
        return write_out("norm", norm_dim, (input, 2.0, dims, keepdim), out)
    return norm_dim(input, 2.0, dims, keepdim)


# --- cond ------------------------------------------------------------------------------------


def linalg_cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Any:
    """Compute the condition number: the norm of a matrix times that of its inverse.

    >>> import taper
    >>> taper.linalg.cond(taper.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
    check_tensors("linalg_cond", input=input)
    if input.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if out is not None:
        return write_out(None, _condition, (input, p), out, None, None)
    return _condition(input, p)


def _condition(A: Tensor, order: Any) -> Any:
    square = isinstance(order, str)
    if not square and order is not None and order not in _ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {_order_name(order)}")
    if square or (order is not None and abs(order) != 2):
        check_square(f"linalg.cond(ord={_order_name(order)})", A._array)
    if square and order not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {order}")
    if not A.numel():
        real = A.real if A.dtype.is_complex else A
        return real.detach().new_zeros(A._array.shape[:-2])
    if order is None or order in (2, -2):
        values = singular_values(A)
        largest = narrow(values, -1, 0, 1)
        smallest = narrow(values, -1, values.shape[-1] - 1, 1)
        ratio = smallest / largest if order == -2 else largest / smallest
        return squeeze_dim(ratio, -1)
    if order == "nuc":
        values = singular_values(A)
        return sum_dim(values, (-1,)) * sum_dim(values.reciprocal(), (-1,))
    inverse, info = inverse_ex(A)
    failed = unsqueeze(unsqueeze(info, -1), -1) > 0
    inverse = masked_fill(inverse, failed, math.inf)
    norms = [_matrix_norm(each, order, (-2, -1), False, None) for each in (A, inverse)]
    return nan_to_num(norms[0] * norms[1], math.inf, math.inf, -math.inf)


# --- renorm ----------------------------------------------------------------------------------

_MARGIN = 1e-7


def _others(dim: int, ndim: int) -> Dims:
    return tuple([each for each in range(ndim) if each != wrap_dim(dim, ndim)])


def _is_real(number: Any) -> bool:
    return not isinstance(number, complex)


@op(inplace=True, out=same_dtype, layout=ROW_MAJOR)
def renorm(self: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Scale down slices along `dim` whose norm is larger than `maxnorm`.

    >>> import taper
    >>> taper.renorm(taper.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.0)
    tensor([[1.2000, 1.6000],
            [0.0000, 1.0000]])
    """
    if not _is_real(p):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not _is_real(maxnorm):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    others = _others(dim, self.ndim)
    wide = self.astype(np.float32) if self.dtype in LOW_PRECISION else self
    if not self.size and self.dtype.kind in "fcV":
        return self.copy()
    size = np.asarray(vector_norm_dim(wide, float(p), others, True))
    factor = np.where(size > maxnorm, maxnorm / (size + _MARGIN), 1).astype(size.dtype)
    return (wide * factor).astype(self.dtype)


@derivative(renorm, wrt="self")
def renorm_self(grad, self, p, dim, maxnorm):
    return _renorm_gradient(grad, self, float(p), _others(dim, self.ndim), float(maxnorm))


def _renorm_gradient(grad: Any, values: Any, p: float, others: Dims, maxnorm: float) -> Any:
    size = norm_dim(values, p, others, True)
    inner = real_of(sum_dim(conj(values) * grad, others, True))
    along = norm_gradient(inner, values, size, p, others, True)
    inverse = 1.0 / (size + _MARGIN)
    scaled = maxnorm * inverse * (grad - inverse * along)
    return where(size > maxnorm, scaled, grad)


@tangent_of(renorm)
def renorm_tangent(self, self_t, p, dim, maxnorm):
    others = _others(dim, self.dim())
    size = norm_dim(self, float(p), others, True)
    ones = size.new_ones(size.shape)
    gradient = norm_gradient(ones, self, size, float(p), others, True)
    of_size = real_of(sum_dim(conj(gradient) * self_t, others, True))
    inverse = 1.0 / (size + _MARGIN)
    scaled = float(maxnorm) * inverse * (self_t - inverse * of_size * self)
    return where(size > float(maxnorm), scaled, self_t)
