"""Products of sparse matrices, with dense and with sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.device import sparse_coo
from taper.opdef import Op
from taper.ops.sparse import arrays
from taper.ops.sparse.elementwise import _into_dense
from taper.ops.sparse.parts import array, compress, coo, coordinates, is_sparse, ordered
from taper.ops.sparse.table import rule
from taper.ops.sparse.tensor import LAYOUT_NAMES
from taper.tensor import Tensor, wrap


def _check(self: Any, other: Any, dense_name: str) -> None:
    if self.dtype is not other.dtype:
        if is_sparse(self) and is_sparse(other):
            raise RuntimeError(
                "sparse_matmul_kernel: expected both matrices to have the same dtype, but got "
                f"{self.dtype.scalar_type} and {other.dtype.scalar_type}"
            )
        raise RuntimeError(
            f"expected scalar type {self.dtype.scalar_type} but found {other.dtype.scalar_type}"
        )
    if self.shape[1] != other.shape[0]:
        if is_sparse(self) and not is_sparse(other) and self._kind is sparse_coo:
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {self.shape[1]}, got "
                f"{other.shape[0]}"
            )
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
            f"{other.shape[0]}x{other.shape[1]})"
        )


def matrix_product(self: Any, other: Any) -> Any:
    """Multiply two matrices, of which at least one is sparse."""
    for each in (self, other):
        if each.ndim != 2:
            raise RuntimeError("mm: expected 2-D tensors")
    _check(self, other, "dense")
    if is_sparse(self) and is_sparse(other):
        return _of_two_sparse(self, other)
    if is_sparse(self):
        return wrap(arrays.times_dense(*ordered(self), self.shape[0], array(other)))
    where, content = ordered(other)
    turned = where[::-1]
    order = np.lexsort((turned[1], turned[0]))
    product = arrays.times_dense(turned[:, order], content[order], other.shape[1], array(self).T)
    return wrap(np.ascontiguousarray(product.T))


def _of_two_sparse(self: Any, other: Any) -> Tensor:
    if (self._kind is sparse_coo) != (other._kind is sparse_coo):
        names = LAYOUT_NAMES[self._kind], LAYOUT_NAMES[other._kind]
        raise RuntimeError(
            f"addmm: computation on CPU is not implemented for {names[0]} + {names[0]} @ {names[1]}"
        )
    size = (self.shape[0], other.shape[1])
    parts = arrays.times_sparse(ordered(self), ordered(other), size, self.shape[1])
    if self._kind is sparse_coo:
        return coo(parts, size, True)
    return compress(parts, size, self._kind)


@rule("mm")
def mm(op: Op, self: Any, mat2: Any) -> Any:
    """Multiply two matrices."""
    return matrix_product(self, mat2)


@rule("mv")
def mv(op: Op, self: Any, vec: Any) -> Any:
    """Multiply a matrix and a vector."""
    if is_sparse(vec) or vec.ndim != 1 or self.ndim != 2:
        raise RuntimeError("mv: two dim tensor 1 should be a matrix, and a dense vector")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    product = matrix_product(self, wrap(array(vec)[:, None]))
    return wrap(array(product)[:, 0].copy())


@rule("addmm")
def addmm(op: Op, self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """Multiply two matrices and add a third."""
    if is_sparse(self) and not is_sparse(mat2):
        raise RuntimeError("expand is unsupported for Sparse tensors")
    product = matrix_product(mat1, mat2)
    if is_sparse(product):
        scaled = product._with((product._content * alpha).astype(product._content.dtype))
        if is_sparse(self):
            return self * beta + scaled
        return _into_dense(wrap(array(self) * beta), scaled, 1, scaled)
    result = array(product)
    size = result.shape
    own = np.asarray(array(self))
    if own.shape != size and not _expands(own.shape, size):
        wrong = next(d for d in range(2) if own.ndim != 2 or own.shape[d] not in (1, size[d]))
        raise RuntimeError(
            f"The expanded size of the tensor ({size[wrong]}) must match the existing size "
            f"({own.shape[wrong]}) at non-singleton dimension {wrong}.  Target sizes: "
            f"{list(size)}.  Tensor sizes: {list(own.shape)}"
        )
    scaled_array = result if alpha == 1 else (result * alpha).astype(result.dtype)
    if beta == 0:
        return wrap(scaled_array)
    kept = own if beta == 1 else (own * beta).astype(own.dtype)
    return wrap(np.asarray(kept + scaled_array))


def _expands(shape: tuple[int, ...], size: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, size) == size
    except ValueError:
        return False


@rule("bmm")
def bmm(op: Op, self: Any, mat2: Any) -> Any:
    """Multiply two batches of matrices, the left one sparse."""
    if is_sparse(mat2):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    if self._sparse_dims != 3:
        raise RuntimeError(
            f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has {self._sparse_dims}"
        )
    if mat2.ndim != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {mat2.ndim}")
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm_sparse: sizes {list(self.shape)} and {list(mat2.shape)} do not fit"
        )
    where, content = ordered(self)
    batch, rows, columns = self.shape
    # One long matrix: batches below each other, and beside each other.
    joined = np.stack((where[0] * rows + where[1], where[0] * columns + where[2]))
    below = array(mat2).reshape(batch * columns, -1)
    product = arrays.times_dense(joined, content, batch * rows, below)
    return wrap(product.reshape(batch, rows, -1))


def mm_reduced(self: Any, other: Any, reduce: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Combine the products of each row otherwise than by their sum; also which was the largest."""
    where, content = coordinates(self)
    rows = self.shape[0]
    terms = content[:, None] * array(other)[where[1]]
    if reduce in ("amax", "amin"):
        function, start = (np.maximum, -np.inf) if reduce == "amax" else (np.minimum, np.inf)
        result = np.full((rows, terms.shape[1]), start, terms.dtype)
        function.at(result, where[0], terms)
        is_chosen = terms == result[where[0]]
        result[~np.isin(np.arange(rows), where[0])] = 0
        return result, is_chosen
    result = arrays.group_sums(terms, where[0], rows)
    if reduce == "mean":
        counts = np.maximum(np.bincount(where[0], minlength=rows), 1).astype(result.dtype)
        result = result / counts[:, None]
    return result, None


def sampled(self: Any, left: Any, right: Any, beta: Any, alpha: Any) -> np.ndarray:
    """Compute a product of dense matrices where a sparse one has elements, and add that one."""
    where, content = coordinates(self)
    rows, columns = array(left)[where[0]], array(right).T[where[1]]
    found = (rows * columns).sum(1, dtype=content.dtype)
    total: np.ndarray = found * alpha + content * beta
    return total.astype(content.dtype)
