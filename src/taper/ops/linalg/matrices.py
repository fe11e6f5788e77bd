"""Matrix algebra for formulas: the same text on arrays and on Tensors (D5).

Owns: transposes, products, parts and triangles of the last two dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.ops.elementwise.complexes import conj
from taper.ops.linalg.matmul import matmul
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.parts import diagonal, slice_dim
from taper.ops.shape.split import cat_along
from taper.ops.shape.transpose import transpose
from taper.ops.shape.triangle import diag_embed, tril, triu
from taper.tensor import Tensor, array_of, is_complex, wrap


def mt(matrix: Any) -> Any:
    """Transpose each matrix."""
    if type(matrix) is ndarray:
        return matrix.swapaxes(-1, -2)
    return transpose(matrix, -2, -1)


def mh(matrix: Any) -> Any:
    """Conjugate and transpose each matrix."""
    return conj(mt(matrix))


def product(first: Any, *others: Any) -> Any:
    """Multiply matrices, from the left."""
    for each in others:
        first = matmul(first, each)
    return first


def diagonal_of(matrix: Any) -> Any:
    return diagonal(matrix, 0, -2, -1)


def diagonal_matrix(vector: Any) -> Any:
    return diag_embed(vector, 0, -2, -1)


def scaled_columns(matrix: Any, factors: Any) -> Any:
    """Multiply the matrix by a diagonal one."""
    return matrix * unsqueeze(factors, -2)


def scaled_rows(matrix: Any, factors: Any) -> Any:
    """Multiply a diagonal matrix by the matrix."""
    return matrix * unsqueeze(factors, -1)


def columns(matrix: Any, start: int | None, stop: int | None) -> Any:
    return slice_dim(matrix, -1, start, stop, 1)


def rows(matrix: Any, start: int | None, stop: int | None) -> Any:
    return slice_dim(matrix, -2, start, stop, 1)


def joined(parts: list[Any], dim: int) -> Any:
    """Join arrays or Tensors along a dimension."""
    return np.concatenate(parts, dim) if type(parts[0]) is ndarray else cat_along(parts, dim)


def symmetric(matrix: Any) -> Any:
    return matrix + mh(matrix)


def skew(matrix: Any) -> Any:
    return matrix - mh(matrix)


def lower_with_half_diagonal(matrix: Any) -> Any:
    """Take the lower triangle with half the diagonal: X of X + X^H = the Hermitian matrix."""
    return tril(matrix, -1) + diagonal_matrix(diagonal_of(matrix) * 0.5)


def upper_with_half_diagonal(matrix: Any) -> Any:
    return triu(matrix, 1) + diagonal_matrix(diagonal_of(matrix) * 0.5)


def real_of(value: Any) -> Any:
    return value.real if is_complex(value) else value


def with_unit_diagonal(differences: Any) -> Any:
    """Replace the zeros on the diagonal of differences by 1, so that they can be divided by."""
    size = differences.shape[-1]
    identity = np.eye(size, dtype=array_of(differences).dtype)
    return differences + constant(identity, differences)


def pairwise_differences(values: Any) -> Any:
    """Compute values_j - values_i at place (i, j), with 1 on the diagonal."""
    return with_unit_diagonal(unsqueeze(values, -2) - unsqueeze(values, -1))


def without_diagonal(matrix: Any) -> Any:
    return matrix - diagonal_matrix(diagonal_of(matrix))


def constant(array: ndarray, like: Any) -> Any:
    """Convert an array to what the formula computes with: an array or a Tensor."""
    return wrap(array) if isinstance(like, Tensor) else array


def to_dtype(value: Any, dtype: np.dtype) -> Any:
    """Convert an array or Tensor to another dtype."""
    if isinstance(value, Tensor):
        return value.to(dtypes.FROM_NUMPY[dtype])
    return value.astype(dtype, copy=False)
