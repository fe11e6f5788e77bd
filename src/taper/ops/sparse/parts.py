"""The parts of sparse tensors as arrays, whatever their layout; no history.

Owns: reading any layout as coordinates and elements, and making a layout from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.device import sparse_coo, sparse_csr
from taper.ops.sparse import arrays
from taper.ops.sparse.tensor import BLOCKS, ROWS_FIRST, SparseTensor, sparse
from taper.tensor import Tensor

Parts = tuple[np.ndarray, np.ndarray]


def is_sparse(value: Any) -> bool:
    """Whether a value is a tensor of any sparse layout."""
    return isinstance(value, SparseTensor)


def array(value: Tensor) -> np.ndarray:
    """The elements of a dense tensor."""
    return value._array


def coordinates(x: SparseTensor) -> Parts:
    """Where the elements of a tensor are, and which they are; batches become a dimension."""
    if x._kind is sparse_coo:
        return x._where, x._content
    begins, plain = x._where
    if begins.ndim == 1:
        where, content = _of_one(x, begins, plain, x._content)
        return where, content
    places, elements = [], []
    for index in np.ndindex(*begins.shape[:-1]):
        where, content = _of_one(x, begins[index], plain[index], x._content[index])
        batch = np.repeat(np.array(index, np.int64)[:, None], where.shape[1], axis=1)
        places.append(np.concatenate((batch, where)))
        elements.append(content)
    return np.concatenate(places, axis=1), np.concatenate(elements)


def _of_one(x: SparseTensor, begins: np.ndarray, plain: np.ndarray, content: np.ndarray) -> Parts:
    pair = (arrays.expanded(begins), plain.astype(np.int64))
    where = np.stack(pair if x._kind in ROWS_FIRST else pair[::-1])
    if x._kind not in BLOCKS:
        return where, content
    height, width = content.shape[1:3]
    inside = np.indices((height, width)).reshape(2, -1)
    corners = where * np.array([[height], [width]])
    spread = (corners[:, :, None] + inside[:, None, :]).reshape(2, -1)
    return spread, content.reshape(-1, *content.shape[3:])


def ordered(x: SparseTensor) -> Parts:
    """As `coordinates`, sorted, each place once."""
    if x._kind is sparse_coo and x._ordered:
        return x._where, x._content
    return arrays.coalesced(*coordinates(x), x._size)


def dense(x: Any) -> np.ndarray:
    """All elements."""
    if not is_sparse(x):
        return array(x)
    return arrays.to_dense(*coordinates(x), x._size)


def coo(parts: Parts, size: Sequence[int], is_ordered: bool = False) -> SparseTensor:
    """Make a tensor of coordinates; none or one alone are in order."""
    return sparse(sparse_coo, *parts, size, is_ordered or parts[0].shape[1] < 2)


def compress(
    parts: Parts, size: Sequence[int], kind: Any = sparse_csr, blocks: Any = None
) -> SparseTensor:
    """Make a tensor of a compressed layout of sorted coordinates; more dims are a batch."""
    where, content = parts
    batch = len(where) - 2
    if not batch:
        return sparse(kind, *_compressed(where, content, size, kind, blocks), size)
    keys = arrays.keys_of(where[:batch], size[:batch])
    pieces = []
    for number in range(int(np.prod(size[:batch]))):
        own = keys == number
        sizes = size[batch:]
        pieces.append(_compressed(where[batch:, own], content[own], sizes, kind, blocks))
    counts = {len(each[0][1]) for each in pieces}
    if len(counts) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    lengths = tuple(size[:batch])
    begins = np.stack([each[0][0] for each in pieces]).reshape(*lengths, -1)
    plain = np.stack([each[0][1] for each in pieces]).reshape(*lengths, -1)
    values = np.stack([each[1] for each in pieces])
    values = values.reshape(*lengths, *values.shape[1:])
    return sparse(kind, (begins, plain), values, size)


def _compressed(
    where: np.ndarray, content: np.ndarray, size: Sequence[int], kind: Any, blocks: Any
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    rows, columns = size[0], size[1]
    if kind in BLOCKS:
        where, content = _in_blocks(where, content, (rows, columns), blocks)
        rows, columns = rows // blocks[0], columns // blocks[1]
    first, second, count = (0, 1, rows) if kind in ROWS_FIRST else (1, 0, columns)
    order = np.lexsort((where[second], where[first]))
    begins = arrays.compressed(where[first, order], count)
    return (begins, where[second, order]), content[order]


def _in_blocks(
    where: np.ndarray, content: np.ndarray, size: Sequence[int], blocks: Sequence[int]
) -> Parts:
    height, width = blocks
    corner = np.stack((where[0] // height, where[1] // width))
    keys, number = np.unique(corner[0] * (size[1] // width) + corner[1], return_inverse=True)
    values = np.zeros((len(keys), height, width, *content.shape[1:]), content.dtype)
    values[number.reshape(-1), where[0] % height, where[1] % width] = content
    return arrays.coordinates_of(keys, (size[0] // height, size[1] // width)), values


def like(x: SparseTensor, content: np.ndarray) -> SparseTensor:
    """The places of a tensor with other elements."""
    return x._with(content)


def blocksize(x: SparseTensor) -> tuple[int, int] | None:
    """Height and width of the blocks of a tensor, None if it has none."""
    if x._kind not in BLOCKS:
        return None
    at = x._where[0].ndim
    return x._content.shape[at], x._content.shape[at + 1]
