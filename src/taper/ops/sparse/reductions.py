"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.reduction import axes_of
from taper.device import sparse_coo
from taper.opdef import Op
from taper.ops.sparse import arrays
from taper.ops.sparse.parts import compress, coo, coordinates, ordered
from taper.ops.sparse.table import rule
from taper.ops.sparse.tensor import SparseTensor
from taper.tensor import Tensor, wrap


def _total(content: np.ndarray, dtype: Any) -> Tensor:
    return wrap(content).sum(dtype=dtype)


@rule("sum_all")
def sum_all(op: Op, self: Any, dtype: Any = None) -> Any:
    """Add up all elements."""
    return _total(self._content, dtype)


@rule("sum_dim")
def sum_dim(op: Op, self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """Add up along dimensions; the result is dense if no sparse dimension is left."""
    axes = tuple(sorted(axes_of(dim, self.ndim)))
    x = self
    if dtype is not None:
        x = x._with(x._content.astype(dtype.numpy))
    elif x._content.dtype.kind in "biu":
        x = x._with(x._content.astype(np.int64))
    result = summed(x, axes)
    if not keepdim:
        return result
    size = [1 if number in axes else n for number, n in enumerate(x._size)]
    if not isinstance(result, SparseTensor):
        return result.reshape(size)
    where, count = result._where, 0
    for number in axes:
        if number < x._sparse_dims:
            where, count = np.insert(where, number, 0, axis=0), count + 1
    content = result._content.reshape(len(result._content), *size[x._sparse_dims :])
    if x._kind is not sparse_coo:
        return compress((where, content), size, x._kind)
    return coo((where, content), size)


def summed(x: SparseTensor, axes: Sequence[int]) -> Tensor:
    """Add up along dimensions, which then are gone."""
    where, content = coordinates(x)
    count = len(where)
    inner = tuple([axis - count + 1 for axis in axes if axis >= count])
    if inner:
        content = content.sum(inner, dtype=content.dtype)
    kept = [dim for dim in range(count) if dim not in axes]
    size = [n for number, n in enumerate(x._size) if number not in axes]
    if not kept:
        return wrap(np.asarray(content.sum(0, dtype=content.dtype)))
    if len(kept) == count:
        return coo((where, content), size, x._ordered)
    return coo(arrays.coalesced(where[kept], content, size), size, True)


@rule("any_reduced", "any_all", "any")
def any_element(op: Op, self: Any, *more: Any) -> Any:
    """Tell whether an element is not zero."""
    return wrap(np.array(bool(self._content.any())))


def softmax(x: SparseTensor, dim: int, logarithm: bool) -> SparseTensor:
    """Take the softmax of the elements that are there, along a dimension."""
    where, content = ordered(x)
    if dim < len(where):
        values = arrays.softmax_along(where, content, x._size, dim, logarithm)
    else:
        inner: Any = wrap(content)
        axis = dim - len(where) + 1
        values = (inner.log_softmax(axis) if logarithm else inner.softmax(axis))._array
    return coo((where, values), x._size, True)


def softmax_gradient(grad: Any, result: SparseTensor, dim: int, logarithm: bool) -> SparseTensor:
    """Return the gradient of `softmax`, at the places of its result."""
    where, content = result._where, result._content
    given = at_places(grad, where)
    terms = given if logarithm else given * content
    if dim < len(where):
        groups = arrays.groups_along(where, result._size, dim)
        count = int(groups.max()) + 1 if len(groups) else 0
        total = arrays.group_sums(terms, groups, count)[groups]
    else:
        total = terms.sum(dim - len(where) + 1, keepdims=True)
    found = given - np.exp(content) * total if logarithm else (given - total) * content
    return coo((where, found.astype(content.dtype)), result._size)


def at_places(x: Any, where: np.ndarray) -> np.ndarray:
    """Return the elements of a tensor at some places; zeros where it has none."""
    if not isinstance(x, SparseTensor):
        picked: np.ndarray = x._array[tuple(where)]
        return picked
    places, content = ordered(x)
    lengths = x._size[: len(places)]
    keys, wanted = arrays.keys_of(places, lengths), arrays.keys_of(where, lengths)
    result = np.zeros((len(wanted), *content.shape[1:]), content.dtype)
    if len(keys):
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        meets = keys[found] == wanted
        result[meets] = content[found[meets]]
    return result
