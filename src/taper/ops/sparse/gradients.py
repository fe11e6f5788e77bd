"""Sparse gradients of dense tensors: those of looking up rows and elements.

A formula calls these with arrays, and with Tensors under `create_graph` (D5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.strides import wrap_dim
from taper.device import sparse_coo
from taper.ops.sparse.making import sparse_coo_tensor
from taper.ops.sparse.tensor import sparse
from taper.tensor import Tensor, array_of


def _made(where: np.ndarray, content: Any, size: Sequence[int]) -> Any:
    if isinstance(content, Tensor):
        return sparse_coo_tensor(where, content, tuple(size))
    return sparse(sparse_coo, where, content, size, where.shape[1] < 2)


def of_rows(grad: Any, indices: Any, size: Sequence[int], padding_idx: int, scaled: bool) -> Any:
    """Return the gradient of a table of which rows were looked up."""
    if scaled:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    rows = array_of(indices).reshape(-1).astype(np.int64)
    if isinstance(grad, np.ndarray) and not any(grad.strides):  # all the same: stays one number
        content: Any = np.broadcast_to(grad.reshape(-1)[:1], (len(rows), size[1]))
    else:
        content = grad.reshape(-1, size[1])
    if padding_idx >= 0:
        kept = np.flatnonzero(rows != padding_idx)
        rows, content = rows[kept], content[kept]
    return _made(rows[None, :], content, size)


def of_elements(grad: Any, index: Any, dim: int, size: Sequence[int]) -> Any:
    """Return the gradient of a tensor of which elements were gathered along a dimension."""
    places = array_of(index)
    if not len(size):
        return _made(np.zeros((0, 1), np.int64), grad.reshape(1), size)
    where = np.indices(places.shape).reshape(places.ndim, -1).astype(np.int64)
    where[wrap_dim(dim, len(size))] = places.reshape(-1)
    return _made(where, grad.reshape(-1), size)


def of_bags(rows: np.ndarray, content: np.ndarray, size: Sequence[int]) -> Any:
    """Return the gradient of a table whose rows were combined in bags."""
    return _made(rows[None, :], content, size)
