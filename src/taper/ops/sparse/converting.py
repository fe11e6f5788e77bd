"""From dense tensors to sparse ones and back; the parts of a sparse tensor.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.strides import existing_dim
from taper.device import (
    layout as Layout,
)
from taper.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from taper.opdef import composite
from taper.ops.sparse.making import at
from taper.ops.sparse.nodes import record
from taper.ops.sparse.parts import blocksize as blocks_of
from taper.ops.sparse.parts import compress, coo, coordinates, dense, ordered
from taper.ops.sparse.reductions import at_places
from taper.ops.sparse.tensor import (
    BLOCKS,
    COMPRESSED,
    LAYOUT_NAMES,
    ROWS_FIRST,
    SparseTensor,
    sparse,
    unsupported,
)
from taper.tensor import Tensor, wrap


def _layout_name(x: Tensor) -> str:
    return LAYOUT_NAMES.get(x.layout, "Strided")


def _refuse(name: str, x: Tensor, wanted: str = "sparse coordinate tensor layout") -> None:
    raise RuntimeError(f"{name} expected {wanted} but got {_layout_name(x)}")


# --- to sparse ---------------------------------------------------------------------------------


def _from_dense(x: Tensor, sparse_dims: int) -> SparseTensor:
    array = x._array
    if not array.ndim:
        count = 1 if array != 0 else 0
        return coo((np.zeros((0, count), np.int64), array.reshape(1)[:count].copy()), ())
    filled = array != 0
    if sparse_dims < array.ndim:
        filled = filled.any(axis=tuple(range(sparse_dims, array.ndim)))
    where = np.stack(filled.nonzero()).astype(np.int64)
    return coo((where, np.ascontiguousarray(array[tuple(where)])), array.shape, True)


def _back_to(x: Tensor) -> Any:
    """The formula of a conversion: the gradient in the layout of what was converted."""
    kind, dims, blocks = x.layout, x.ndim, None
    if isinstance(x, SparseTensor):
        dims, blocks = x._sparse_dims, blocks_of(x)

    def formula(grad: Any, needs: Any) -> Any:
        if kind is strided:
            return (to_dense(grad),)
        if kind is sparse_coo:
            return (to_sparse(grad, dims if not isinstance(grad, SparseTensor) else None),)
        return (to_sparse(grad, layout=kind, blocksize=blocks),)

    return formula


@composite(public=False)
def to_sparse(
    self: Tensor,
    sparse_dim: Any = None,
    *,
    layout: Layout | None = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """Keep the elements that are not zero, in a sparse layout.

    Args:
        sparse_dim: how many dimensions have coordinates; the others are stored whole.
        layout: the sparse layout; coordinates by default.
        blocksize: height and width of the blocks, for layouts that have them.
        dense_dim: how many dimensions are stored whole, for compressed layouts.

    Example:
        >>> import taper
        >>> taper.eye(2).to_sparse()
        tensor(indices=tensor([[0, 1],
                               [0, 1]]),
               values=tensor([1., 1.]),
               size=(2, 2), nnz=2, layout=torch.sparse_coo)
    """
    if isinstance(sparse_dim, Layout):
        sparse_dim, layout = None, sparse_dim
    if layout is not None and layout is not sparse_coo:
        return _to_compressed(self, layout, blocksize, dense_dim)
    if isinstance(self, SparseTensor):
        return _sparse_to_coordinates(self, sparse_dim)
    dims = self.ndim if sparse_dim is None else sparse_dim
    if not 0 <= dims <= self.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{self.ndim}] range, but {dims} "
            "is given"
        )
    if self.ndim and not dims:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    name = "ToSparseBackward1" if sparse_dim is None else "ToSparseBackward0"
    made: Tensor = record(name, _from_dense(self, dims), (self,), _back_to(self))
    return made


def _sparse_to_coordinates(x: SparseTensor, sparse_dim: int | None) -> Tensor:
    if x._kind is sparse_coo:
        if sparse_dim is not None and sparse_dim != x._sparse_dims:
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                "!=self.sparse_dim() is not supported"
            )
        return x
    made: Tensor = record("ToSparseBackward1", coo(ordered(x), x._size, True), (x,), _back_to(x))
    return made


def _check_dense_dim(x: Tensor, name: str, dense_dim: int) -> None:
    """Raise unless a tensor has so many dimensions that can be stored whole."""
    if isinstance(x, SparseTensor):
        before = str(x.layout).rpartition("_")[2]
        kind = "Sparse" if before == "coo" else f"Sparse{before.capitalize()}"
        raise RuntimeError(
            f"{'coo_' if before == 'coo' else ''}to_sparse_{name}: conversion from {kind} to "
            f"Sparse{name.capitalize()} with dense_dim argument given is not supported"
        )
    if not 0 <= dense_dim <= x.ndim - 2:
        raise RuntimeError(
            f"dense_to_sparse_{name}: dense_dim argument must be in [0,{x.ndim - 2}] range, but "
            f"{dense_dim} is given"
        )


def _to_compressed(x: Tensor, kind: Any, blocks: Any, dense_dim: int | None) -> Tensor:
    name = str(kind)[-3:]
    if kind in BLOCKS:
        if blocks is None:
            raise RuntimeError(f"to_sparse_{name}: blocksize is needed")
        if len(blocks) != 2:
            raise RuntimeError(
                f"dense_to_sparse_{name}: blocksize needs to be a tuple of size 2, but got "
                f"{len(blocks)}"
            )
        whole = dense_dim or 0
        rows, columns = (x.shape[existing_dim(each - whole, x.ndim)] for each in (-2, -1))
        if rows % blocks[0] or columns % blocks[1]:
            raise RuntimeError(
                f"dense_to_sparse_{name}: tensor sparse size ({rows},{columns}) must be divisible "
                f"by given blocksize ({blocks[0]},{blocks[1]})"
            )
    if dense_dim is not None:
        _check_dense_dim(x, name, dense_dim)
    if x.ndim < 2:
        raise IndexError(
            f"select(): index 1 out of range for tensor of size [{x.numel()}, {x.ndim}] at "
            "dimension 1"
        )
    if x.layout is kind and blocks_of(x) == (None if blocks is None else tuple(blocks)):  # type: ignore[arg-type]
        return x
    if isinstance(x, SparseTensor):
        parts = ordered(x)
    else:
        found = _from_dense(x, x.ndim - (dense_dim or 0))
        parts = found._where, found._content
    made: Tensor = compress(parts, x.shape, kind, blocks)
    label = f"ToSparse{name.capitalize()}Backward0"
    recorded: Tensor = record(label, made, (x,), _back_to(x))
    return recorded


@composite(public=False)
def to_sparse_coo(self: Tensor) -> Tensor:
    """Keep the elements that are not zero, with their coordinates."""
    return to_sparse(self)


@composite(public=False)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Keep the elements that are not zero, compressed by rows.

    >>> import taper
    >>> taper.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _to_compressed(self, sparse_csr, None, dense_dim)


@composite(public=False)
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Keep the elements that are not zero, compressed by columns.

    >>> import taper
    >>> taper.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return _to_compressed(self, sparse_csc, None, dense_dim)


@composite(public=False)
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """Keep the blocks that are not all zero, compressed by rows.

    >>> import taper
    >>> taper.eye(4).to_sparse_bsr((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return _to_compressed(self, sparse_bsr, tuple(blocksize), dense_dim)


@composite(public=False)
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """Keep the blocks that are not all zero, compressed by columns.

    >>> import taper
    >>> taper.eye(4).to_sparse_bsc((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return _to_compressed(self, sparse_bsc, tuple(blocksize), dense_dim)


# --- to dense ----------------------------------------------------------------------------------


@composite(public=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor with all its elements, zeros too.

    Args:
        dtype: dtype of the result, for tensors that are dense already.
        masked_grad: whether the gradient has the places of the sparse tensor; it has by default.

    Example:
        >>> import taper
        >>> taper.sparse_coo_tensor([[1]], [5.0], (3,)).to_dense()
        tensor([0., 5., 0.])
    """
    if not isinstance(self, SparseTensor):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    mask = self._alias()

    def formula(grad: Any, needs: Any) -> Any:
        if masked_grad is False:
            return (grad,)
        return (sparse_mask(grad, mask if mask._kind is not sparse_coo else coalesce(mask)),)

    made: Tensor = record("ToDenseBackward0", wrap(dense(self)), (self,), formula)
    return made


@composite(public=False)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Take the elements at the places where a sparse tensor has some.

    Args:
        mask: a sparse tensor of the same shape; its elements do not count.

    Example:
        >>> import taper
        >>> mask = taper.sparse_coo_tensor([[1]], [5.0], (3,))
        >>> taper.tensor([7.0, 8.0, 9.0]).sparse_mask(mask).to_dense()
        tensor([0., 8., 0.])
    """
    if not isinstance(mask, SparseTensor):
        raise _only_sparse("sparse_mask")
    if self.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}"
        )
    where, _ = coordinates(mask)
    content = at_places(self.detach(), where)
    if mask._kind in BLOCKS:
        content = content.reshape(mask._content.shape)
    elif mask._where[0].ndim > 1 and mask._kind is not sparse_coo:
        content = content.reshape(mask._content.shape)
    own = self
    places = mask._alias()

    def formula(grad: Any, needs: Any) -> Any:
        masked = sparse_mask(grad, places)
        return (masked if isinstance(own, SparseTensor) else to_dense(masked),)

    made: Tensor = record("SparseMaskBackward0", mask._with(content), (self,), formula)
    return made


def _only_sparse(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. This could be "
        "because the operator doesn't exist for this backend: it is for sparse tensors."
    )


# --- coordinates -------------------------------------------------------------------------------


@composite(public=False)
def coalesce(self: Tensor) -> Tensor:
    """Sort the coordinates and add up the elements of each place.

    Example:
        >>> import taper
        >>> x = taper.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (3,))
        >>> x.coalesce().values()
        tensor([2., 4.])
    """
    if not isinstance(self, SparseTensor) or self._kind is not sparse_coo:
        _refuse("coalesce", self)
    x: Any = self
    if x._ordered:
        return self
    made = sparse(sparse_coo, *ordered(x), x._size, True)
    result: Tensor = record("CoalesceBackward0", made, (self,), lambda grad, needs: (grad,))
    return result


@composite(public=False)
def is_coalesced(input: Tensor) -> bool:
    """Tell whether the coordinates of a sparse tensor are sorted and different.

    >>> import taper
    >>> taper.eye(2).to_sparse().is_coalesced()
    True
    """
    if not isinstance(input, SparseTensor) or input._kind is not sparse_coo:
        _refuse("is_coalesced", input)
    x: Any = input
    return bool(x._ordered)


@composite(public=False)
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say whether the coordinates are sorted and different."""
    x: Any = self
    x._ordered = bool(coalesced)
    return self


@composite(public=False)
def _nnz(self: Tensor) -> int:
    """Count the elements that are stored."""
    if not isinstance(self, SparseTensor):
        raise _only_sparse("_nnz")
    if self._kind is sparse_coo:
        return int(self._where.shape[1])
    return int(self._where[1].shape[-1])


@composite(public=False)
def _indices(self: Tensor) -> Tensor:
    """Return the coordinates, as they are."""
    if not isinstance(self, SparseTensor):
        raise _only_sparse("_indices")
    if self._kind is not sparse_coo:
        raise unsupported("_indices", self._kind)
    return wrap(self._where)


@composite(public=False)
def _values(self: Tensor) -> Tensor:
    """Return the elements, as they are, without history."""
    if not isinstance(self, SparseTensor):
        raise _only_sparse("_values")
    if self._kind is not sparse_coo:
        raise unsupported("_values", self._kind)
    return wrap(self._content)


@composite(public=False)
def indices(self: Tensor) -> Tensor:
    """Return the coordinates of a coalesced tensor, a row for each dimension.

    >>> import taper
    >>> taper.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    if not isinstance(self, SparseTensor) or self._kind is not sparse_coo:
        _refuse("indices", self)
    x: Any = self
    _refuse_uncoalesced("indices", x)
    return wrap(x._where)


def _refuse_uncoalesced(name: str, x: SparseTensor) -> None:
    if x._kind is sparse_coo and not x._ordered:
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )


@composite(public=False)
def values(self: Tensor) -> Tensor:
    """Return the elements of a coalesced or compressed tensor; gradients flow through them.

    >>> import taper
    >>> taper.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    if not isinstance(self, SparseTensor):
        _refuse("values", self, "sparse tensor layout")
    x: Any = self
    _refuse_uncoalesced("values", x)
    places = x._alias()

    def formula(grad: Any, needs: Any) -> Any:
        return (with_values(places, grad),)

    made: Tensor = record("ValuesBackward0", wrap(x._content), (self,), formula)
    return made


def with_values(places: SparseTensor, content: Tensor) -> Tensor:
    """The places of a tensor with other elements, recorded."""
    made = places._with(content._array)
    result: Tensor = record(
        "SparseCooTensorWithDimsAndTensorsBackward0",
        made,
        (content,),
        lambda grad, needs: (at(grad, coordinates(places)[0]),),
    )
    return result


def _index_method(name: str, by_rows: bool, which: int) -> None:
    wanted = f"sparse {'row' if by_rows else 'column'} compressed tensor layout"

    def read(self: Tensor) -> Tensor:
        kind = self.layout
        if kind not in COMPRESSED or (kind in ROWS_FIRST) != by_rows:
            _refuse(name, self, wanted)
        x: Any = self
        return wrap(x._where[which])

    read.__name__ = read.__qualname__ = name
    read.__module__ = __name__
    read.__doc__ = "Return the " + (
        "begins of the " + ("rows" if by_rows else "columns")
        if which == 0
        else ("column" if by_rows else "row") + " of each element"
    )
    read.__doc__ += " of a compressed tensor."
    globals()[name] = composite(public=False)(read)


_index_method("crow_indices", True, 0)
_index_method("col_indices", True, 1)
_index_method("ccol_indices", False, 0)
_index_method("row_indices", False, 1)


@composite(public=False)
def sparse_dim(self: Tensor) -> int:
    """Count the dimensions that have coordinates; none for a dense tensor.

    >>> import taper
    >>> taper.ones(2, 3).to_sparse(1).sparse_dim()
    1
    """
    return self._sparse_dims if isinstance(self, SparseTensor) else 0


@composite(public=False)
def dense_dim(self: Tensor) -> int:
    """Count the dimensions that are stored whole; all for a dense tensor.

    >>> import taper
    >>> taper.ones(2, 3).to_sparse(1).dense_dim()
    1
    """
    return self._dense_dims if isinstance(self, SparseTensor) else self.ndim


composite(public=False, name="_dimI")(sparse_dim)
composite(public=False, name="_dimV")(dense_dim)


@composite(public=False)
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a sparse tensor another shape, in place; its elements stay where they are.

    Args:
        size: the new shape, at least as large if there are elements.
        sparse_dim, dense_dim: how many dimensions have coordinates, and how many are stored whole.

    Example:
        >>> import taper
        >>> x = taper.eye(2).to_sparse()
        >>> x.sparse_resize_((3, 3), 2, 0).shape
        torch.Size([3, 3])
    """
    return _resized("sparse_resize_", self, size, sparse_dim, dense_dim, False)


@composite(public=False)
def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a sparse tensor another shape and no elements, in place."""
    return _resized("sparse_resize_and_clear_", self, size, sparse_dim, dense_dim, True)


def _resized(
    name: str, self: Tensor, size: Any, sparse_dims: int, dense_dims: int, clear: bool
) -> Tensor:
    if not isinstance(self, SparseTensor) or self._kind is not sparse_coo:
        raise _only_sparse(name)
    shape = tuple(size)
    if len(shape) != sparse_dims + dense_dims:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {sparse_dims}, dense_dim = {dense_dims}"
        )
    if clear or not len(self._content):
        where = np.zeros((sparse_dims, 0), np.int64)
        content = np.zeros((0, *shape[sparse_dims:]), self._content.dtype)
        self._become(sparse(sparse_coo, where, content, shape, True))
        return self
    if sparse_dims != self._sparse_dims or dense_dims != self._dense_dims:
        which, one, two = ("sparse", self._sparse_dims, sparse_dims)
        if sparse_dims == self._sparse_dims:
            which, one, two = ("dense", self._dense_dims, dense_dims)
        raise RuntimeError(
            f"changing the number of {which} dimensions (from {one} to {two}) on a non-empty "
            "sparse tensor is not supported"
        )
    if any(new < old for new, old in zip(shape, self._size, strict=True)):
        raise RuntimeError(
            "shrinking the size of sparse dimensions (from "
            f"{list(self._size[:sparse_dims])} to {list(shape[:sparse_dims])}) on a non-empty "
            "sparse tensor is not supported."
        )
    content = np.zeros((len(self._content), *shape[sparse_dims:]), self._content.dtype)
    content[tuple(slice(n) for n in self._content.shape)] = self._content
    self._become(sparse(sparse_coo, self._where, content, shape, self._ordered))
    return self
