"""Rules that move elements: other dimensions, parts, and several tensors joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.strides import wrap_dim
from taper.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from taper.opdef import Op
from taper.ops.sparse.elementwise import common_dtype
from taper.ops.sparse.parts import array, coo, is_sparse, ordered
from taper.ops.sparse.table import not_there, rule
from taper.ops.sparse.tensor import BLOCKS, SparseTensor, sparse
from taper.tensor import wrap

_TURNED = {
    sparse_csr: sparse_csc,
    sparse_csc: sparse_csr,
    sparse_bsr: sparse_bsc,
    sparse_bsc: sparse_bsr,
}


def only_coordinates(op: Op, *arguments: Any) -> None:
    """Raise if the first argument is compressed."""
    if arguments[0]._kind is not sparse_coo:
        raise not_there(op, arguments)


# --- order of dimensions -----------------------------------------------------------------------


@rule("t")
def t(op: Op, self: Any) -> Any:
    """Transpose a matrix."""
    if self._kind is sparse_coo and (self._sparse_dims > 2 or self._dense_dims):
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{self._sparse_dims} sparse and {self._dense_dims} dense dimensions"
        )
    return self._alias() if self.ndim < 2 else transpose(op, self, 0, 1)


@rule("transpose")
def transpose(op: Op, self: Any, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions."""
    one, two = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    if self._kind is not sparse_coo:
        return _turned(self, one, two)
    if max(one, two) >= self._sparse_dims:
        raise RuntimeError(
            "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
            f"{self._sparse_dims}, d0: {one}, d1: {two}"
        )
    order = list(range(self.ndim))
    order[one], order[two] = two, one
    return _permuted(self, order)


def _turned(x: SparseTensor, one: int, two: int) -> SparseTensor:
    batch = x._where[0].ndim - 1
    if one == two:
        return x._alias()
    if sorted((one - batch, two - batch)) != [0, 1]:
        raise RuntimeError(
            "transpose(): can only transpose the sparse dimensions of a compressed tensor"
        )
    content = x._content
    if x._kind in BLOCKS:
        content = np.ascontiguousarray(content.swapaxes(batch + 1, batch + 2))
    size = list(x._size)
    size[one], size[two] = size[two], size[one]
    return sparse(_TURNED[x._kind], x._where, content, size)


def _permuted(x: SparseTensor, order: Sequence[int]) -> SparseTensor:
    count = x._sparse_dims
    where = x._where[list(order[:count])]
    moved = [0] + [dim - count + 1 for dim in order[count:]]
    content = x._content.transpose(moved)
    size = [x._size[dim] for dim in order]
    keeps = list(order[:count]) == list(range(count))
    return coo((where, content), size, x._ordered and keeps)


@rule("permute")
def permute(op: Op, self: Any, dims: Sequence[int]) -> Any:
    """Put the dimensions into another order."""
    only_coordinates(op, self)
    if len(dims) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {self.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(dim, self.ndim) for dim in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    count = self._sparse_dims
    if any(dim >= count for dim in order[:count]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed.Only transpositions within sparse and dense dimensions are supported."
        )
    return _permuted(self, order)


@rule("unsqueeze")
def unsqueeze(op: Op, self: Any, dim: int) -> Any:
    """Add a dimension of length 1."""
    only_coordinates(op, self, dim)
    place = wrap_dim(dim, self.ndim + 1)
    size = [*self._size[:place], 1, *self._size[place:]]
    if place > self._sparse_dims:
        content = np.expand_dims(self._content, place - self._sparse_dims + 1)
        return coo((self._where, content), size, self._ordered)
    where = np.insert(self._where, place, 0, axis=0)
    return coo((where, self._content), size)


@rule("expand", "_expand")
def expand(op: Op, self: Any, *more: Any) -> Any:
    """Refuse, as PyTorch does."""
    raise RuntimeError("expand is unsupported for Sparse tensors")


# --- parts -------------------------------------------------------------------------------------


@rule("select")
def select(op: Op, self: Any, dim: int, index: int) -> Any:
    """Take the part at one index; if no sparse dimension is left, it is dense."""
    place = wrap_dim(dim, self.ndim)
    length = self._size[place]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self._size)} at "
            f"dimension {place}"
        )
    at = index % length
    x = self if self._kind is sparse_coo else coo(ordered(self), self._size, True)
    size = [n for number, n in enumerate(x._size) if number != place]
    if place >= x._sparse_dims:
        content = x._content.take(at, place - x._sparse_dims + 1)
        return coo((x._where, content), size, x._ordered)
    chosen = x._where[place] == at
    if x._sparse_dims == 1:
        return wrap(np.asarray(x._content[chosen].sum(0, dtype=x._content.dtype)))
    where = np.delete(x._where, place, axis=0)[:, chosen]
    return coo((where, x._content[chosen]), size, x._ordered)


@rule("unbind")
def unbind(op: Op, self: Any, dim: int = 0) -> Any:
    """Take all parts along a dimension."""
    place = wrap_dim(dim, self.ndim)
    return tuple([select(op, self, place, index) for index in range(self._size[place])])


@rule("index_select")
def index_select(op: Op, self: Any, dim: int, index: Any) -> Any:
    """Take the parts at some indices of a dimension."""
    only_coordinates(op, self, dim, index)
    place = wrap_dim(dim, self.ndim)
    wanted = array(index)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise RuntimeError("index_select(): index must be 1-D integers")
    length = self._size[place]
    if wanted.size and not (-length <= wanted.min() and wanted.max() < length):
        bad = next(e for e in wanted.tolist() if not -length <= e < length)
        raise IndexError(
            f"index_select(): index contains {bad} that is out of range for tensor of size "
            f"{list(self._size)} at dimension {place}"
        )
    wanted = wanted % length if length else wanted
    size = [*self._size[:place], len(wanted), *self._size[place + 1 :]]
    if place >= self._sparse_dims:
        content = self._content.take(wanted, place - self._sparse_dims + 1)
        return coo((self._where, content), size, self._ordered)
    order = np.argsort(self._where[place], kind="stable")
    begins = np.searchsorted(self._where[place][order], np.arange(length + 1))
    counts = (begins[1:] - begins[:-1])[wanted]
    target = np.repeat(np.arange(len(wanted)), counts)
    offsets = np.arange(len(target)) - np.repeat(np.cumsum(counts) - counts, counts)
    picked = order[begins[wanted][target] + offsets]
    where = self._where[:, picked]
    where[place] = target
    return coo((where, self._content[picked]), size)


def narrowed(x: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """Take the elements of a range along a dimension."""
    place = wrap_dim(dim, x.ndim)
    size = [*x._size[:place], length, *x._size[place + 1 :]]
    if place >= x._sparse_dims:
        at = place - x._sparse_dims + 1
        content = x._content.take(range(start, start + length), at)
        return coo((x._where, content), size, x._ordered)
    chosen = (x._where[place] >= start) & (x._where[place] < start + length)
    where = x._where[:, chosen]
    where[place] -= start
    return coo((where, x._content[chosen]), size, x._ordered)


# --- several -----------------------------------------------------------------------------------


@rule("cat")
def cat(op: Op, tensors: Sequence[Any], dim: int) -> Any:
    """Join tensors along a dimension."""
    first = tensors[0]
    for position, each in enumerate(tensors):
        if not is_sparse(each):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}."
            )
        only_coordinates(op, each)
    place = wrap_dim(dim, first.ndim)
    dtype = common_dtype(*tensors)
    for position, each in enumerate(tensors[1:], 1):
        _check_alike(first, each, place, position)
    total = sum(each._size[place] for each in tensors)
    size = [*first._size[:place], total, *first._size[place + 1 :]]
    places, contents, start = [], [], 0
    for each in tensors:
        where = each._where.copy()
        content = each._content.astype(dtype)
        if place < first._sparse_dims:
            where[place] += start
        else:
            at = place - first._sparse_dims + 1
            before, after = list(content.shape), list(content.shape)
            before[at], after[at] = start, total - start - content.shape[at]
            ends = [np.zeros(shape, dtype) for shape in (before, after)]
            content = np.concatenate((ends[0], content, ends[1]), axis=at)
        start += each._size[place]
        places.append(where)
        contents.append(content)
    return coo((np.concatenate(places, axis=1), np.concatenate(contents)), size)


def _check_alike(first: SparseTensor, each: SparseTensor, place: int, position: int) -> None:
    sizes = [list(x._size) for x in (first, each)]
    if first.ndim != each.ndim or any(
        a != b for dim, (a, b) in enumerate(zip(*sizes, strict=True)) if dim != place
    ):
        raise RuntimeError(
            f"All tensors must have the same shape: {sizes[0]} (except in the concatenating "
            f"dimension), but found shape: {sizes[1]} at position {position}"
        )
    if first._sparse_dims != each._sparse_dims:
        raise RuntimeError(
            "All tensors must have the same sparse_dim and dense_dim: "
            f"{first._sparse_dims}, {first._dense_dims}, but tensor at position {position} has "
            f"{each._sparse_dims}, {each._dense_dims}."
        )


@rule("stack")
def stack(op: Op, tensors: Sequence[Any], dim: int) -> Any:
    """Join tensors along a new dimension."""
    first = tensors[0]
    for each in tensors:
        if each.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at "
                f"entry 0 and {list(each.shape)} at entry {tensors.index(each)}"
            )
    place = wrap_dim(dim, first.ndim + 1)
    return cat(
        op, [unsqueeze(op, each, place) if is_sparse(each) else each for each in tensors], place
    )
