"""What indices of sparse tensors must fulfil, and whether that is checked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.dtypes import FROM_NUMPY
from taper.ops.sparse.arrays import keys_of
from taper.ops.sparse.tensor import BLOCKS, ROWS_FIRST


class _State:
    enabled = False


state = _State()


def check_coordinates(where: np.ndarray, shape: Sequence[int], coalesced: bool = False) -> None:
    """Raise unless coordinates lie in a shape, and are in order if they are said to be."""
    for dim, row in enumerate(where):
        if not row.size:
            continue
        if row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {dim}")
        if row.max() >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but "
                f"found index {row.max()}"
            )
    keys = keys_of(where, shape[: len(where)])
    if coalesced and not (keys[1:] > keys[:-1]).all():
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        )


def _refuse(text: str) -> None:
    raise RuntimeError(f"`{text}` is not satisfied.")


def index_names(kind: Any) -> tuple[str, str]:
    """Return what the two index tensors of a compressed layout are named after."""
    return ("crow", "col") if kind in ROWS_FIRST else ("ccol", "row")


def check_dimensions(kind: Any, begins: np.ndarray, plain: np.ndarray) -> None:
    """Raise unless both index tensors have the same number of dimensions."""
    first, second = index_names(kind)
    if begins.ndim != plain.ndim:
        raise RuntimeError(
            f"{first}_indices and {second}_indices dimensionalities must be equal but got "
            f"{begins.ndim} and {plain.ndim}, respectively"
        )


def check_compressed(
    kind: Any, begins: np.ndarray, plain: np.ndarray, content: np.ndarray, shape: Sequence[int]
) -> None:
    """Raise unless the parts of a compressed tensor fit together."""
    by_rows = kind in ROWS_FIRST
    first, second = index_names(kind)
    check_dimensions(kind, begins, plain)
    batch = begins.ndim - 1
    base = 2
    dense = content.ndim - 1 - batch - (2 if kind in BLOCKS else 0)
    if len(shape) != batch + base + dense:
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={batch} + {base} + {dense}) but got {len(shape)}"
        )
    rows, columns = shape[batch], shape[batch + 1]
    if kind in BLOCKS:
        rows, columns = rows // content.shape[batch + 1], columns // content.shape[batch + 2]
    count, other = (rows, columns) if by_rows else (columns, rows)
    names = ("rows", "ncols") if by_rows else ("columns", "nrows")
    if begins.shape[-1] != count + 1:
        raise RuntimeError(
            f"{first}_indices.shape[-1] must be equal to the number of {names[0]} + 1 "
            f"(={count + 1}), but got {begins.shape[-1]}"
        )
    elements = content.shape[batch]
    if plain.shape[-1] != elements:
        raise RuntimeError(
            f"{second}_indices.shape[-1] must be equal to nnz (={elements}) as defined by "
            f"values.shape[{batch}], but got {plain.shape[-1]}"
        )
    if begins.dtype != plain.dtype:
        kinds = [FROM_NUMPY[each.dtype].scalar_type for each in (begins, plain)]
        raise RuntimeError(
            f"{first}_indices and {second}_indices must have the same dtype, bot got {kinds[0]} "
            f"and {kinds[1]}, respectively"
        )
    for index in np.ndindex(*begins.shape[:-1]):
        _check_one(first, second, names, begins[index], plain[index], other, elements)


def _check_one(
    first: str,
    second: str,
    names: tuple[str, str],
    begins: np.ndarray,
    plain: np.ndarray,
    other: int,
    elements: int,
) -> None:
    if begins[0] != 0:
        _refuse(f"{first}_indices[..., 0] == 0")
    if begins[-1] != elements:
        _refuse(f"{first}_indices[..., -1] == nnz")
    steps = np.diff(begins)
    if (steps < 0).any() or (steps > other).any():
        _refuse(f"0 <= {first}_indices[..., 1:] - {first}_indices[..., :-1] <= {names[1]}")
    if plain.size and (plain.min() < 0 or plain.max() >= other):
        _refuse(f"0 <= {second}_indices < {names[1]}")
    for start, end in itertools.pairwise(begins):
        part = plain[int(start) : int(end)]
        if not (part[1:] > part[:-1]).all():
            count = "nrows" if names[0] == "rows" else "ncols"
            _refuse(
                f"{second}_indices[..., {first}_indices[..., i - 1]:{first}_indices[..., i]] for "
                f"all i = 1, ..., {count} are sorted and distinct along the last dimension values"
            )
