"""Sparse tensors from files: their indices must fit, whoever wrote them."""

from __future__ import annotations

from typing import Any

from taper.device import sparse_coo
from taper.ops.sparse import making  # noqa: F401 - the class must have its methods
from taper.ops.sparse.invariants import check_compressed, check_coordinates
from taper.ops.sparse.rules import _rebuild_sparse_tensor
from taper.tensor import Tensor


def loaded(kind: Any, parts: tuple[Any, ...], are_filled: bool) -> Tensor:
    """Make a sparse tensor from the parts in a file; without its memory it cannot be checked."""
    if kind is sparse_coo:
        where, values, size = parts[0]._array, parts[1]._array, tuple(parts[2])
        if where.ndim != 2 or values.ndim < 1 or where.shape[1] != len(values):
            raise RuntimeError("a sparse tensor in a file needs as many elements as coordinates")
        if where.dtype.kind != "i" or len(size) != len(where) + values.ndim - 1:
            raise RuntimeError("the coordinates of a sparse tensor in a file do not fit its shape")
        if are_filled:
            check_coordinates(where, size, bool(len(parts) > 3 and parts[3]))
    elif are_filled:
        begins, plain, values = (each._array for each in parts[:3])
        check_compressed(kind, begins, plain, values, tuple(parts[3]))
    made: Tensor = _rebuild_sparse_tensor(kind, parts)
    return made
