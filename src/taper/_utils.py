"""PyTorch's private helpers that programs import from `torch._utils`: lists of tensors as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taper.ops.shape.join import cat
from taper.ops.shape.parts import narrow
from taper.ops.sparse.rules import _rebuild_sparse_tensor
from taper.tensor import Tensor

__all__ = ["_flatten_dense_tensors", "_rebuild_sparse_tensor", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Return all elements in one vector; of a single tensor it is a view.

    >>> import taper
    >>> from taper._utils import _flatten_dense_tensors
    >>> _flatten_dense_tensors([taper.ones(2), taper.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    vectors = [each.contiguous().view(-1) for each in tensors]
    return vectors[0] if len(vectors) == 1 else cat(vectors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return views of a vector in the shapes of `tensors`, from which it was made.

    >>> import taper
    >>> from taper._utils import _unflatten_dense_tensors
    >>> _unflatten_dense_tensors(taper.arange(3), [taper.ones(1), taper.ones(2)])
    (tensor([0]), tensor([1, 2]))
    """
    parts, start = [], 0
    for each in tensors:
        parts.append(narrow(flat, 0, start, each.numel()).view(each.shape))
        start += each.numel()
    return tuple(parts)
