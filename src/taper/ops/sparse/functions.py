"""Functions for sparse matrices: those of `taper.sparse`, and a few that `taper` has itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.strides import wrap_dim
from taper.device import sparse_coo, sparse_csc, sparse_csr
from taper.opdef import composite, registry
from taper.ops.linalg import addmm as _dense  # noqa: F401 - the table must have it
from taper.ops.sparse import (
    arrays,
    making,  # noqa: F401 - the class must have its methods
)
from taper.ops.sparse.converting import _only_sparse, coalesce, sparse_mask
from taper.ops.sparse.nodes import record
from taper.ops.sparse.parts import compress, coo, coordinates, is_sparse, ordered
from taper.ops.sparse.products import matrix_product, mm_reduced, sampled
from taper.ops.sparse.reductions import at_places, softmax, softmax_gradient, summed
from taper.ops.sparse.tensor import SparseTensor, unsupported
from taper.tensor import Tensor, wrap


def _op(name: str) -> Any:
    return registry[name].function


def _adjoint(x: Any) -> Any:
    turned = x.t()
    return turned.conj() if x.dtype.is_complex else turned


def _masked(product: Any, like: Any) -> Any:
    """A gradient at the places of a sparse factor; dense factors have all of it."""
    if not isinstance(like, SparseTensor):
        return product
    return sparse_mask(product, coalesce(like) if like._kind is sparse_coo else like)


# --- products ----------------------------------------------------------------------------------


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """Multiply a sparse matrix with a dense or sparse one.

    The gradient of a sparse factor is sparse, at the places of that factor.

    Args:
        mat1: the left factor.
        mat2: the right factor.
        reduce: how to combine the products of a row: "sum", "mean", "amax" or "amin"; for CSR.

    Example:
        >>> import taper
        >>> x = taper.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> taper.sparse.mm(x, taper.ones(2, 1))
        tensor([[2.],
                [3.]])
    """
    if reduce is not None:
        return _mm_reduce(mat1, mat2, reduce)
    if is_sparse(mat1) and is_sparse(mat2):
        return _of_two_sparse(mat1, mat2)
    if is_sparse(mat2):
        turned = mm(_op("transpose")(mat2, -2, -1), _op("transpose")(mat1, -2, -1))
        return _op("transpose")(turned, -2, -1)
    if not is_sparse(mat1):
        return _op("mm")(mat1, mat2)
    zeros = wrap(np.zeros((mat1.shape[0], mat2.shape[1]), mat2._array.dtype))
    return addmm(zeros, mat1, mat2, beta=0)


def _of_two_sparse(one: Any, two: Any) -> Tensor:
    def formula(grad: Any, needs: Any) -> Any:
        first = _masked(matrix_product(grad, _adjoint(two)), one) if needs[0] else None
        second = _masked(matrix_product(_adjoint(one), grad), two) if needs[1] else None
        return first, second

    product = matrix_product(one.detach(), two.detach())
    made: Tensor = record("SparseSparseMatmulBackward0", product, (one, two), formula)
    return made


def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Multiply a sparse matrix with a dense one and add a dense one.

    result = beta · mat + alpha · mat1 @ mat2

    Args:
        mat: the matrix to add.
        mat1: the left factor, sparse.
        mat2: the right factor, dense.
        beta, alpha: factors of the two terms.

    Example:
        >>> import taper
        >>> taper.sparse.addmm(taper.ones(2, 2), taper.eye(2).to_sparse(), taper.ones(2, 2))
        tensor([[2., 2.],
                [2., 2.]])
    """
    if not is_sparse(mat1):
        return _op("addmm")(mat, mat1, mat2, beta=beta, alpha=alpha)

    def formula(grad: Any, needs: Any) -> Any:
        first = _scaled(grad, beta) if needs[0] else None
        second = third = None
        if needs[1]:
            second = _scaled(_masked(_op("mm")(grad, _adjoint(mat2)), mat1), alpha)
        if needs[2]:
            third = _scaled(_op("mm")(_adjoint(mat1), grad), alpha)
        return first, second, third

    rule = registry["addmm"].function
    plain = [each.detach() for each in (mat, mat1, mat2)]
    result = rule(*plain, beta=beta, alpha=alpha)
    made: Tensor = record("SparseAddmmBackward0", result, (mat, mat1, mat2), formula)
    return made


def _scaled(grad: Any, factor: Any) -> Any:
    return grad if factor == 1 else grad * factor


def _mm_reduce(mat1: Any, mat2: Any, reduce: str) -> Tensor:
    if not is_sparse(mat1) or mat1._kind is not sparse_csr:
        if is_sparse(mat1):
            raise unsupported("_sparse_mm_reduce_impl", mat1._kind)
        raise _only_sparse("_sparse_mm_reduce_impl")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    where, content = coordinates(mat1)
    result, chosen = mm_reduced(mat1, mat2, reduce)

    def formula(grad: Any, needs: Any) -> Any:
        shares = grad._array[where[0]]
        if chosen is not None:
            shares = shares * chosen
        elif reduce == "mean":
            counts = np.bincount(where[0], minlength=mat1.shape[0])[where[0]]
            shares = shares / counts[:, None].astype(shares.dtype)
        first = mat1._with((shares * mat2._array[where[1]]).sum(1).astype(content.dtype))
        terms = arrays.group_sums(shares * content[:, None], where[1], mat2.shape[0])
        return first if needs[0] else None, wrap(terms) if needs[1] else None

    made: Tensor = record("SparseMmReduceImplBackward0", wrap(result), (mat1, mat2), formula)
    return made


def sampled_addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """Multiply two dense matrices where a sparse one has elements, and add that one.

    Args:
        input: the sparse matrix (CSR), which decides the places of the result.
        mat1, mat2: the factors.
        beta, alpha: factors of `input` and of the product.
        out: not provided.

    Example:
        >>> import taper
        >>> taper.sparse.sampled_addmm(
        ...     taper.eye(2).to_sparse_csr(), taper.ones(2, 3), taper.ones(3, 2)
        ... ).to_dense()
        tensor([[4., 0.],
                [0., 4.]])
    """
    if not is_sparse(input) or input.layout is not sparse_csr:
        raise RuntimeError(
            "sampled_addmm: Expected self to have sparse csr layout, but got "
            f"{'Sparse' if is_sparse(input) else 'Strided'}"
        )
    given: Any = input

    def formula(grad: Any, needs: Any) -> Any:
        places = sparse_mask(grad, given)
        first = _scaled(places, beta) if needs[0] else None
        second = _scaled(_op("mm")(places, _adjoint(mat2)), alpha) if needs[1] else None
        third = _scaled(_op("mm")(_adjoint(mat1), places), alpha) if needs[2] else None
        return first, second, third

    made = given._with(sampled(given, mat1, mat2, beta, alpha))
    result: Tensor = record("SparseSampledAddmmBackward0", made, (input, mat1, mat2), formula)
    return result


# --- sums --------------------------------------------------------------------------------------


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """Add up the elements of a sparse tensor; the gradient has its places.

    Args:
        input: the sparse tensor.
        dim: dimension or dimensions to reduce; all by default.
        dtype: dtype that the elements are converted to first.

    Returns: a dense tensor if all sparse dimensions are reduced, else a sparse one.

    Example:
        >>> import taper
        >>> taper.sparse.sum(taper.eye(3).to_sparse(), 0).to_dense()
        tensor([1., 1., 1.])
    """
    if dim is None:
        return coalesce(input).values().sum(dtype=dtype)
    x: Any = input if dtype is None else input.to(dtype)
    if not is_sparse(x) or x._kind is not sparse_coo:
        coalesce(x)
    axes = sorted({wrap_dim(each, x.ndim) for each in ([dim] if isinstance(dim, int) else dim)})
    plain = x.detach().coalesce()

    def formula(grad: Any, needs: Any) -> Any:
        return (_spread(grad, plain, axes),)

    made: Tensor = record("SparseSumBackward0", summed(plain, axes), (x,), formula)
    return made


def _spread(grad: Any, x: SparseTensor, axes: Sequence[int]) -> Tensor:
    """The gradient of a sum, at the places of what was summed."""
    count = x._sparse_dims
    kept = [dim for dim in range(count) if dim not in axes]
    if kept:
        content = at_places(grad, x._where[kept])
    else:
        content = np.broadcast_to(grad._array, (len(x._content), *grad.shape))
    for axis in axes:
        if axis >= count:
            content = np.expand_dims(content, axis - count + 1)
    whole = np.broadcast_to(content, x._content.shape)
    return coo((x._where, np.ascontiguousarray(whole)), x._size)


def _softmax(name: str, input: Any, dim: int, dtype: Any, logarithm: bool) -> Tensor:
    if not is_sparse(input):
        raise _only_sparse(f"_sparse_{name}")
    if input._kind is not sparse_coo:
        raise unsupported(f"_sparse_{name}", input._kind)
    x = input if dtype is None else input.to(dtype)
    place = wrap_dim(dim, x.ndim)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.scalar_type}'")
    result = softmax(x.detach(), place, logarithm)
    kept = result._alias()

    def formula(grad: Any, needs: Any) -> Any:
        return (softmax_gradient(grad, kept, place, logarithm),)

    node = "SparseLogSoftmaxBackward0" if logarithm else "SparseSoftmaxBackward0"
    made: Tensor = record(node, result, (x,), formula)
    return made


def softmax_(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Take the softmax along a dimension; places without an element count as minus infinity.

    Args:
        input: the sparse tensor.
        dim: the dimension.
        dtype: dtype that the elements are converted to first.

    Example:
        >>> import taper
        >>> taper.sparse.softmax(taper.eye(2).to_sparse(), 1).to_dense()
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _softmax("softmax", input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Take the logarithm of the softmax along a dimension.

    Args:
        input: the sparse tensor.
        dim: the dimension.
        dtype: dtype that the elements are converted to first.

    Example:
        >>> import taper
        >>> taper.sparse.log_softmax(taper.eye(2).to_sparse(), 1).values()
        tensor([0., 0.])
    """
    return _softmax("log_softmax", input, dim, dtype, True)


# --- diagonals ---------------------------------------------------------------------------------


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """Make a sparse matrix from its diagonals.

    Args:
        diagonals: a matrix, one diagonal a row; the column of an element is its column in the
            result.
        offsets: the number of each diagonal, 0 for the main one, positive above it.
        shape: shape of the result.
        layout: layout of the result, coordinates by default.

    Example:
        >>> import taper
        >>> taper.sparse.spdiags(taper.ones(1, 3), taper.tensor([0]), (3, 3)).to_dense()
        tensor([[1., 0., 0.],
                [0., 1., 0.],
                [0., 0., 1.]])
    """
    rows, numbers = diagonals._array, offsets._array.reshape(-1)
    rows = rows.reshape(1, -1) if rows.ndim == 1 else rows
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if len(numbers) != len(rows):
        raise RuntimeError(
            f"Number of diagonals ({len(rows)}) does not match the number of offsets "
            f"({len(numbers)})"
        )
    if len(set(numbers.tolist())) != len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout is not None and layout not in (sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            f"{str(layout).removeprefix('torch.')}"
        )
    places, contents = [], []
    for row, offset in zip(rows, numbers.tolist(), strict=True):
        columns = np.arange(max(0, offset), min(shape[1], shape[0] + offset, rows.shape[1]))
        places.append(np.stack((columns - offset, columns)))
        contents.append(row[columns])
    parts = np.concatenate(places, axis=1).astype(np.int64), np.concatenate(contents)
    made: Tensor = coo(parts, shape)
    if layout in (sparse_csr, sparse_csc):
        made = compress(arrays.coalesced(*parts, shape), shape, layout)
    return made


# --- functions that `taper` has itself ---------------------------------------------------------


@composite(method=False)
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices, of which one may be sparse.

    >>> import taper
    >>> taper.spmm(taper.eye(2).to_sparse(), taper.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _op("mm")(input, mat2)


@composite(method=False)
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices, of which one may be sparse: an old name of `spmm`.

    >>> import taper
    >>> taper.dsmm(taper.eye(2).to_sparse(), taper.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _op("mm")(input, mat2)


def _all_places(dense: np.ndarray) -> Any:
    where = np.indices(dense.shape).reshape(dense.ndim, -1).astype(np.int64)
    return where, dense.reshape(-1)


@composite()
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one; the result is sparse.

    >>> import taper
    >>> taper.smm(taper.eye(2).to_sparse(), taper.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    if not is_sparse(input):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    product = matrix_product(input, mat2)._array
    rows = np.unique(ordered(input)[0][0])  # type: ignore[arg-type]
    where, content = _all_places(product)
    kept = np.isin(where[0], rows)
    return coo((where[:, kept], content[kept]), product.shape)


@composite(method=False)
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one; the result stores whole rows.

    >>> import taper
    >>> taper.hspmm(taper.eye(2).to_sparse(), taper.ones(2, 1)).sparse_dim()
    1
    """
    if not is_sparse(mat1):
        raise _only_sparse("hspmm")
    product = matrix_product(mat1, mat2)._array
    rows = np.unique(ordered(mat1)[0][0])  # type: ignore[arg-type]
    return coo((rows[None, :], product[rows]), product.shape)


@composite(method=False)
def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix with a dense one: an old name of `hspmm`.

    >>> import taper
    >>> taper.hsmm(taper.eye(2).to_sparse(), taper.ones(2, 1)).sparse_dim()
    1
    """
    return hspmm(mat1, mat2)


@composite()
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Multiply a sparse matrix with a dense one and add a sparse one; the result is sparse.

    >>> import taper
    >>> one = taper.eye(2).to_sparse()
    >>> taper.sspaddmm(one, one, taper.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    product: Any = smm(mat1, mat2)
    own: Any = input
    where = np.concatenate((own._where, product._where), axis=1)
    return coo((where, np.concatenate((own._content * beta, product._content * alpha))), own._size)
