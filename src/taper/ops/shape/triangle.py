"""Triangles and diagonals of matrices: tril, triu, diag, diag_embed, trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.native import native
from taper.arrays.reduction import sum_array
from taper.arrays.strides import Shape, wrap_dim
from taper.dtypes import no_kernel
from taper.factory import finish, options, refuse_size
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.opdef.writes import compute_into
from taper.ops.linalg.matmul import same_dtype
from taper.ops.shape.parts import diagonal, diagonal_backward
from taper.ops.shape.reshape import expand, reshape
from taper.tensor import Tensor

# --- triangles -------------------------------------------------------------------------------


def _triangle(function: Any, name: str, array: ndarray, diagonal: int) -> ndarray:
    if array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    if native is not None:
        found: ndarray | None = native.triangle(array, diagonal, function is np.tril)
        if found is not None:
            return found
    return np.ascontiguousarray(function(array, diagonal))


@op(tangent=LINEAR, inplace=True, out=True)
def tril(self: Array, diagonal: int = 0) -> Array:
    """Keep the lower triangle of a matrix; set the rest to zero.

    result[i, j] = input[i, j] where j ≤ i + diagonal, else 0

    Args:
        input: a matrix or a batch of matrices.
        diagonal: which diagonal ends the triangle; positive ones lie above the main one.
        out: tensor that receives the result.

    Shape: (*, n, m) gives (*, n, m).

    Example:
        >>> import taper
        >>> taper.tril(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 0],
                [3, 4]])
    """
    return _triangle(np.tril, "tril", self, diagonal)


@derivative(tril, wrt="self")
def tril_self(grad: Array, diagonal: int) -> Array:
    return tril(grad, diagonal)


@op(tangent=LINEAR, inplace=True, out=True)
def triu(self: Array, diagonal: int = 0) -> Array:
    """Keep the upper triangle of a matrix; set the rest to zero.

    result[i, j] = input[i, j] where j ≥ i + diagonal, else 0

    Args:
        input: a matrix or a batch of matrices.
        diagonal: which diagonal begins the triangle; positive ones lie above the main one.
        out: tensor that receives the result.

    Shape: (*, n, m) gives (*, n, m).

    Example:
        >>> import taper
        >>> taper.triu(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 2],
                [0, 4]])
    """
    return _triangle(np.triu, "triu", self, diagonal)


@derivative(triu, wrt="self")
def triu_self(grad: Array, diagonal: int) -> Array:
    return triu(grad, diagonal)


def _coordinates(name: str, mask: ndarray, dtype: Any, where: Any) -> Tensor:
    if dtype not in (dtypes.int32, dtypes.int64):
        raise no_kernel(name, dtype)
    return finish(np.array(np.nonzero(mask)).astype(dtype.numpy), False, where)


def _check_lengths(row: int, col: int) -> None:
    if row < 0:
        raise RuntimeError(f"row must be non-negative, got{row}")
    if col < 0:
        raise RuntimeError(f"col must be non-negative, got{col}")


@composite(method=False)
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = dtypes.int64,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """List the coordinates of the lower triangle of a matrix: a line of rows, one of columns.

    >>> import taper
    >>> taper.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    which, where = options("tril_indices", dtype, layout, device, pin_memory)
    _check_lengths(row, col)
    refuse_size((row, col), np.dtype(bool))
    return _coordinates("tril_indices", np.tri(row, col, offset, bool), which, where)


@composite(method=False)
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = dtypes.int64,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """List the coordinates of the upper triangle of a matrix: a line of rows, one of columns.

    >>> import taper
    >>> taper.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    which, where = options("triu_indices", dtype, layout, device, pin_memory)
    _check_lengths(row, col)
    refuse_size((row, col), np.dtype(bool))
    return _coordinates("triu_indices", ~np.tri(row, col, offset - 1, bool), which, where)


# --- diagonals -------------------------------------------------------------------------------


@op(node="DiagonalBackward0_copy", tangent=LINEAR, out=same_dtype, method=False)
def diagonal_copy(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """Copy a diagonal.

    >>> import taper
    >>> taper.diagonal_copy(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return np.array(diagonal(self, offset, dim1, dim2), order="C")


@derivative(diagonal_copy, wrt="self")
def diagonal_copy_self(grad: Array, self_shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
    return diagonal_backward(grad, self_shape, offset, dim1, dim2)


@op(tangent=LINEAR)
def diag_embed(self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Make matrices with the tensor's last dimension on a diagonal, zero elsewhere.

    >>> import taper
    >>> taper.diag_embed(taper.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = self.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, size)
    result = np.zeros(shape, self.dtype)
    diagonal(result, offset, first, second)[...] = self
    return result


@derivative(diag_embed, wrt="self")
def diag_embed_self(grad: Array, offset: int, dim1: int, dim2: int) -> Array:
    return diagonal(grad, offset, dim1, dim2)


@composite(quick="diagonal_matrix(local.state, input, diagonal, out)")
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Put a vector on a diagonal, or take a diagonal from a matrix.

    Args:
        input: a vector or a matrix.
        diagonal: which diagonal; positive ones lie above the main one.
        out: tensor that receives the result.

    Shape: (n,) gives (n + |diagonal|, n + |diagonal|); (n, m) gives the vector of its diagonal.

    Example:
        >>> import taper
        >>> taper.diag(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    ndim = input._array.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if out is not None:
        return compute_into("diag", diag, (input, diagonal), out)
    return diag_embed(input, diagonal) if ndim == 1 else diagonal_copy(input, diagonal, 0, 1)


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Make a matrix with all elements of the tensor on a diagonal.

    >>> import taper
    >>> taper.diagflat(taper.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(reshape(input, (-1,)), offset)


@op(tangent=LINEAR)
def trace(self: Array) -> Array:
    """Sum the main diagonal of a matrix.

    >>> import taper
    >>> taper.trace(taper.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if self.dtype == np.bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return np.asarray(sum_array(diagonal(self, 0, 0, 1), None, False, None))


@derivative(trace, wrt="self")
def trace_self(grad: Array, self_shape: Shape) -> Array:
    return diagonal_backward(expand(grad, min(self_shape)), self_shape, 0, 0, 1)
