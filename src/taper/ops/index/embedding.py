"""Rows of a table looked up by number: embedding, with its gradient and its renormalisation."""

from __future__ import annotations

import importlib

import numpy as np

from taper import dtypes
from taper.arrays.foreign import has_elements, two_devices
from taper.arrays.reduction import add_rows, no_norm
from taper.arrays.strides import Shape
from taper.autograd.interception import announce_write
from taper.autograd.views import bump_version
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.tensor import Tensor

_INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))


@op(tangent=LINEAR, method=False, saved_sizes={"weight": (0,)}, complex_gradient=False)
def embedding(
    weight: Array,
    indices: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    """Look up the rows of `weight` at `indices`; the shape of `indices` gains a dimension.

    >>> import taper
    >>> taper.embedding(taper.tensor([[1.0], [2.0]]), taper.tensor([1, 0]))
    tensor([[2.],
            [1.]])
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in _INTEGERS:
        name = dtypes.backend_type_name(dtypes.FROM_NUMPY[indices.dtype])
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {name} instead (while checking arguments for embedding)"
        )
    if indices.size and indices.view(f"u{indices.itemsize}").max() >= len(weight):
        raise IndexError("index out of range in self")
    return weight.take(indices, 0)


@derivative(embedding, wrt="weight")
def embedding_weight(
    grad: Array,
    weight_shape: Shape,
    indices: Array,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Array:
    if sparse:
        # late: few gradients are sparse
        gradients = importlib.import_module("taper.ops.sparse.gradients")
        found: Array = gradients.of_rows(
            grad, indices, weight_shape, padding_idx, scale_grad_by_freq
        )
        return found
    return embedding_dense_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@op(public=False, method=False, tangent=LINEAR)
def embedding_dense_backward(
    grad_output: Array,
    indices: Array,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Array:
    """Sum for each row of the table the gradients of all places that looked it up."""
    width = grad_output.shape[-1]
    rows = indices.ravel()
    values = grad_output.reshape(-1, width)
    result = np.zeros((num_weights, width), grad_output.dtype)
    if not scale_grad_by_freq and add_rows(result, rows, values, padding_idx):
        return result
    if padding_idx >= 0:
        kept = rows != padding_idx
        rows, values = rows[kept], values[kept]
    if scale_grad_by_freq and rows.size:
        counts = np.bincount(rows, minlength=num_weights).astype(values.dtype)
        values = values / counts[rows][:, None]
    places = rows.astype(np.int64)[:, None] * width + np.arange(width)
    np.add.at(result.reshape(-1), places.ravel(), values.ravel())
    return result


@derivative(embedding_dense_backward, wrt="grad_output")
def embedding_dense_backward_grad(grad: Array, indices: Array, padding_idx: int) -> Array:
    return embedding_without_padding(grad, indices, padding_idx)


@op(public=False, method=False, tangent=LINEAR)
def embedding_without_padding(self: Array, indices: Array, padding_idx: int) -> Array:
    """Look up rows, zero for padding; as in PyTorch not divided by frequency."""
    result = self.take(indices, 0)
    if padding_idx >= 0:
        result[indices == padding_idx] = 0
    return result


@derivative(embedding_without_padding, wrt="self")
def embedding_without_padding_self(
    grad: Array, self_shape: Shape, indices: Array, padding_idx: int
) -> Array:
    return embedding_dense_backward(grad, indices, self_shape[0], padding_idx, False)


@composite(method=False, name="embedding_renorm_", arrays=True)
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows at `indices` down to the norm `max_norm`, in place and unrecorded.

    >>> import taper
    >>> taper.embedding_renorm_(taper.tensor([[3.0, 4.0]]), taper.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
    table = input._array
    if table.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {table.ndim}-dimensional tensor for argument "
            "#1 'self' (while checking arguments for embedding_renorm_)"
        )
    if indices._array.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.type()} instead (while checking arguments for "
            "embedding_renorm_)"
        )
    if not has_elements(table):
        return input
    if input.device != indices.device:
        raise two_devices(str(input.device), str(indices.device))
    rows = np.unique(indices._array)
    if rows.size and not -len(table) <= rows[0] <= rows[-1] < len(table):
        raise IndexError("index out of range in self")
    if table.dtype.kind in "biu" and rows.size:
        raise no_norm(table.dtype)
    found = table[rows].astype(np.float32 if table.dtype.itemsize == 2 else table.dtype)
    norms = np.linalg.norm(found, norm_type, axis=1)
    long = norms > max_norm
    announce_write(input)
    scale = max_norm / (norms[long] + 1e-7)
    table[rows[long]] = (found[long] * scale[:, None].astype(found.dtype)).astype(table.dtype)
    bump_version(input)
    return input


def functional_embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of a table.

    result = weight[input]

    Args:
        input: integer tensor of row numbers.
        weight: table (rows, width).
        padding_idx: row that gets no gradient.
        max_norm: rows that are looked up are first scaled down, in place, to this norm.
        norm_type: order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        sparse: whether the gradient of `weight` is sparse, with a row for each index.

    Shape: (*) gives (*, width).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> table = taper.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> F.embedding(taper.tensor([1, 0, 1]), table)
        tensor([[3., 4.],
                [1., 2.],
                [3., 4.]])
    """
    count = weight._array.shape[0] if weight._array.ndim else 0
    if padding_idx is None:
        padding_idx = -1
    elif not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += count
    if max_norm is not None:
        input = input.contiguous()
        embedding_renorm_(weight, input, max_norm, norm_type)
    return embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
