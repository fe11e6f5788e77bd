"""Arrays of coordinates and elements: what sparse tensors compute with.

Coordinates are an int64 array (dims, elements); elements are an array (elements, ...).  Knows no
Tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.elements import LOW_PRECISION

# How many products of a matrix product are in memory at once.
_AT_ONCE = 1 << 20


def keys_of(where: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return the place of each coordinate in the row-major order of all places."""
    keys = np.zeros(where.shape[1], np.int64)
    for row, length in zip(where, shape, strict=False):
        keys = keys * length + row
    return keys


def coordinates_of(keys: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return the coordinates of places: the other way round."""
    where = np.empty((len(shape), len(keys)), np.int64)
    for dim in range(len(shape) - 1, -1, -1):
        keys, where[dim] = np.divmod(keys, max(shape[dim], 1))
    return where


def summed_by(keys: np.ndarray, content: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key once, sorted, and the sum of the elements with that key."""
    if not len(keys):
        return keys, content.copy()
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    starts = np.concatenate(([True], in_order[1:] != in_order[:-1])).nonzero()[0]
    if len(starts) == len(keys):
        return in_order, content[order]
    return in_order[starts], sums_from(content[order], starts)


def sums_from(content: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sums of the rows from each start to the next; half precision in float32."""
    low = content.dtype if content.dtype in LOW_PRECISION else None
    wide = content if low is None else content.astype(np.float32)
    if wide.dtype.kind == "b":
        return np.logical_or.reduceat(wide, starts, axis=0)
    found: np.ndarray = np.add.reduceat(wide, starts, axis=0, dtype=wide.dtype)
    return found if low is None else found.astype(low)


def coalesced(
    where: np.ndarray, content: np.ndarray, shape: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted coordinates without repetition, and their elements, added up."""
    lengths = shape[: len(where)]
    keys, total = summed_by(keys_of(where, lengths), content)
    return coordinates_of(keys, lengths), total


def to_dense(where: np.ndarray, content: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return all elements; those at the same place are added up."""
    result = np.zeros(shape, content.dtype)
    if where.shape[1]:
        places, total = coalesced(where, content, shape)
        result[tuple(places)] = total if len(places) else total[0]
    return result


def merged_sum(
    left: tuple[np.ndarray, np.ndarray],
    right: tuple[np.ndarray, np.ndarray],
    shape: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Add two sets of elements by walking both at once, as PyTorch does.

    Places that meet are added; if the coordinates are sorted, the result is.
    """
    (one, values), (two, others) = left, right
    lengths = shape[: len(one)]
    first, second = keys_of(one, lengths), keys_of(two, lengths)
    if _ascends(first) and _ascends(second):
        both = np.concatenate((first, second))
        keys, total = summed_by(both, np.concatenate((values, others)))
        return coordinates_of(keys, lengths), total
    picked: list[tuple[int, int]] = []
    i = j = 0
    while i < len(first) or j < len(second):
        take_first = j == len(second) or (i < len(first) and first[i] <= second[j])
        take_second = i == len(first) or (j < len(second) and second[j] <= first[i])
        picked.append((i if take_first else -1, j if take_second else -1))
        i, j = i + take_first, j + take_second
    chosen = np.array(picked, np.int64).reshape(-1, 2)
    has_first, has_second = chosen[:, 0] >= 0, chosen[:, 1] >= 0
    total = np.zeros((len(chosen), *values.shape[1:]), values.dtype)
    total[has_first] = values[chosen[has_first, 0]]
    total[has_second] += others[chosen[has_second, 1]]
    keys = np.empty(len(chosen), np.int64)
    keys[has_second] = second[chosen[has_second, 1]]
    keys[has_first] = first[chosen[has_first, 0]]
    return coordinates_of(keys, lengths), total


def _ascends(keys: np.ndarray) -> bool:
    return bool((keys[1:] > keys[:-1]).all())


# --- compressed ------------------------------------------------------------------------------


def compressed(sorted_rows: np.ndarray, count: int) -> np.ndarray:
    """Return for each row where its elements begin, and the end of the last."""
    ends = np.cumsum(np.bincount(sorted_rows, minlength=count)[:count])
    return np.concatenate(([0], ends)).astype(np.int64)


def expanded(begins: np.ndarray) -> np.ndarray:
    """Return the row of each element: the other way round."""
    return np.repeat(np.arange(len(begins) - 1, dtype=np.int64), np.diff(begins))


# --- products --------------------------------------------------------------------------------


def times_dense(where: np.ndarray, content: np.ndarray, rows: int, dense: np.ndarray) -> np.ndarray:
    """Multiply a matrix, given by sorted coordinates, with a dense one."""
    low = content.dtype if content.dtype in LOW_PRECISION else None
    if low is not None:
        content, dense = content.astype(np.float32), dense.astype(np.float32)
    result = np.zeros((rows, dense.shape[1]), np.result_type(content, dense))
    begins = compressed(where[0], rows)
    block = max(1, _AT_ONCE // max(1, dense.shape[1]))
    row = 0
    while row < rows and dense.shape[1]:
        last = int(np.searchsorted(begins, begins[row] + block, side="right")) - 1
        last = min(rows, max(last, row + 1))
        part = slice(int(begins[row]), int(begins[last]))
        own = where[0, part]
        if len(own):
            starts = np.concatenate(([True], own[1:] != own[:-1])).nonzero()[0]
            terms = content[part, None] * dense[where[1, part]]
            result[own[starts]] = np.add.reduceat(terms, starts, axis=0)
        row = last
    return result if low is None else result.astype(low)


def times_sparse(
    left: tuple[np.ndarray, np.ndarray],
    right: tuple[np.ndarray, np.ndarray],
    shape: tuple[int, int],
    inner: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Multiply two matrices, given by coordinates; the right one's are sorted."""
    (one, values), (two, others) = left, right
    begins = compressed(two[0], inner)
    counts = np.diff(begins)[one[1]]
    source = np.repeat(np.arange(len(values)), counts)
    offsets = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    target = begins[one[1]][source] + offsets
    where = np.stack((one[0][source], two[1][target]))
    return coalesced(where, values[source] * others[target], shape)


# --- along a dimension -----------------------------------------------------------------------


def groups_along(where: np.ndarray, shape: Sequence[int], dim: int) -> np.ndarray:
    """Return a number for each element: the same for those that differ in one dimension only."""
    rest = [row for row in range(len(where)) if row != dim]
    keys = keys_of(where[rest], [shape[row] for row in rest])
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def softmax_along(
    where: np.ndarray, content: np.ndarray, shape: Sequence[int], dim: int, logarithm: bool
) -> np.ndarray:
    """Return the softmax of the elements of each group; places without element do not count."""
    groups = groups_along(where, shape, dim)
    count = int(groups.max()) + 1 if len(groups) else 0
    largest = np.full((count, *content.shape[1:]), -np.inf, content.dtype)
    np.maximum.at(largest, groups, content)
    shifted = content - largest[groups]
    weights = np.exp(shifted)
    total = group_sums(weights, groups, count)
    if logarithm:
        return shifted - np.log(total)[groups]
    found: np.ndarray = weights / total[groups]
    return found


def group_sums(content: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of the elements of each group."""
    total: Any = np.zeros((count, *content.shape[1:]), content.dtype)
    np.add.at(total, groups, content)
    return np.asarray(total)
