"""Buckets of gradients: which parameters share one, and the memory in which they are sent.

A bucket holds gradients of one dtype side by side, so that one collective carries them all.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.arrays.strides import is_dense, row_major
from taper.autograd.grad_mode import no_grad
from taper.autograd.views import bump_version
from taper.futures import Future
from taper.tensor import Tensor, element_strides, wrap

DEFAULT_FIRST_BUCKET_BYTES = 1024 * 1024
_LARGE = 1 << 16  # bytes from which on sending alone costs less than two copies


class BuiltinCommHookType(enum.Enum):
    """Hooks of `DistributedDataParallel` that need no Python in PyTorch."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class GradBucket:
    """What a communication hook is given: gradients of several parameters in one flat tensor."""

    def __init__(self, bucket: Bucket, index: int, count: int) -> None:
        self._bucket = bucket
        self._index = index
        self._count = count
        self._buffer = bucket.buffer

    def index(self) -> int:
        """Return the number of the bucket; buckets are sent in this order."""
        return self._index

    def is_last(self) -> bool:
        """Return whether this is the last bucket of the pass."""
        return self._index == self._count - 1

    def buffer(self) -> Tensor:
        """Return the gradients as one flat tensor."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor.

        Args:
            buffer: a tensor as long as the one before.
        """
        self._buffer = buffer
        self._bucket.adopt(buffer)

    def gradients(self) -> list[Tensor]:
        """Return the gradient of each parameter, as views of the flat tensor."""
        return self._bucket.views_of(self._buffer)

    def parameters(self) -> list[Tensor]:
        """Return the parameters whose gradients these are."""
        return list(self._bucket.parameters)


class Bucket:
    """The gradients of some parameters, and how many of them have not arrived in this pass.

    For a hook, and where gradients are views, all lie side by side in one flat tensor.  Otherwise
    only the small ones do: large ones are sent where they are, which saves two copies.
    """

    def __init__(self, parameters: Sequence[Tensor], indices: Sequence[int], limit: int) -> None:
        self.parameters = list(parameters)
        self.indices = list(indices)
        self.limit = limit
        self.pending = len(self.indices)
        # What the pass waits for: the flat tensor with the gradients of all processes.
        self.future: Future[Any] | None = None
        self.work: Any = None
        self._layouts = [_layout(each._array) for each in parameters]
        self._buffer: Tensor | None = None
        self._parts: list[np.ndarray] | None = None
        self._like = parameters[0]._array  # the device and dtype of all
        self.together = np.empty_like(self._like, shape=0)
        self.is_large = [each._array.nbytes >= _LARGE for each in parameters]

    # --- all side by side ----------------------------------------------------------------------

    @property
    def buffer(self) -> Tensor:
        """The flat tensor of all gradients."""
        if self._buffer is None:
            length = sum(each._array.size for each in self.parameters)
            self.adopt(wrap(np.zeros_like(self._like, shape=length)))
        return self._buffer  # type: ignore[return-value]

    @property
    def nbytes(self) -> int:
        """The bytes of all gradients."""
        return sum(each._array.nbytes for each in self.parameters)

    def adopt(self, buffer: Tensor) -> None:
        """Keep the gradients in another flat tensor."""
        self._buffer = buffer
        self.views = self.views_of(buffer)
        self.arrays = [each._array for each in self.views]

    def views_of(self, flat: Tensor) -> list[Tensor]:
        """Return a view of a flat tensor for each parameter, in the parameter's layout."""
        views, start = [], flat.storage_offset()
        with no_grad():
            for each, strides in zip(self.parameters, self._layouts, strict=True):
                views.append(flat.as_strided(each.shape, strides, start))
                start += each._array.size
        return views

    # --- each where it is ----------------------------------------------------------------------

    @property
    def parts(self) -> list[np.ndarray]:
        """What is sent for each parameter: of small ones a part of `together`."""
        if self._parts is None:
            small = [
                each._array.size
                for each, is_large in zip(self.parameters, self.is_large, strict=True)
                if not is_large
            ]
            self.together = np.zeros_like(self._like, shape=sum(small))
            self._parts, start = [], 0
            for each, is_large in zip(self.parameters, self.is_large, strict=True):
                if is_large:
                    self._parts.append(self.together[:0])
                else:
                    end = start + each._array.size
                    self._parts.append(self.together[start:end].reshape(each.shape))
                    start = end
        return self._parts

    def may_be_sent(self, place: int, grad: np.ndarray) -> bool:
        """Whether a large gradient can be sent where it is."""
        return (
            self.is_large[place]
            and grad.flags.c_contiguous
            and grad.flags.writeable
            and grad.dtype == self.together.dtype
        )

    def let_go(self) -> None:
        """Forget the large gradients, whose memory the next pass shall take again."""
        if self._parts is not None:
            for place, is_large in enumerate(self.is_large):
                if is_large:
                    self._parts[place] = self.together[:0]

    def place_for(self, place: int) -> np.ndarray:
        """Return memory for a gradient that cannot be sent where it is."""
        if not self.is_large[place]:
            return self.parts[place]
        return np.empty_like(self._like, order="C", shape=self.parameters[place].shape)


def _layout(array: np.ndarray) -> tuple[int, ...]:
    strides = element_strides(array)
    return strides if is_dense(array.shape, strides) else row_major(array.shape)


def compute_bucket_assignment_by_size(
    tensors: Sequence[Tensor],
    bucket_size_limits: Sequence[int],
    expect_sparse_gradient: Sequence[bool] = (),
    tensor_indices: Sequence[int] = (),
    logger: Any = None,
) -> tuple[list[list[int]], list[int]]:
    """Divide tensors into buckets of one dtype; return the tensors and the size limit of each.

    Args:
        tensors: what is divided, in order.
        bucket_size_limits: a bucket is full from so many bytes on: the first of a dtype, the
            second, ..., the last number for all others.
        expect_sparse_gradient: ignored: gradients are dense.
        tensor_indices: what the tensors are called in the result; then buckets come in the order
            in which they get full, otherwise in the order of their first tensors.
        logger: ignored.
    """
    if not tensors:
        raise RuntimeError("there are no tensors to put into buckets")
    full: list[tuple[list[int], int]] = []
    filling: dict[Any, list[int]] = {}  # by dtype and device
    sizes: dict[Any, int] = {}
    limits: dict[Any, int] = {}  # how many buckets of a dtype are full, the first dtype first
    for place, each in enumerate(tensors):
        kind = each.dtype, each.device
        limits.setdefault(kind, 0)
        filling.setdefault(kind, []).append(tensor_indices[place] if tensor_indices else place)
        sizes[kind] = sizes.get(kind, 0) + each._array.nbytes
        limit = bucket_size_limits[min(limits[kind], len(bucket_size_limits) - 1)]
        if sizes[kind] >= limit:
            full.append((filling.pop(kind), limit))
            sizes[kind] = 0
            limits[kind] += 1
    for kind in reversed(limits):  # PyTorch's order, which hooks can see
        if kind in filling:
            limit = bucket_size_limits[min(limits[kind], len(bucket_size_limits) - 1)]
            full.append((filling[kind], limit))
    if not tensor_indices:
        full.sort(key=lambda each: min(each[0]))
    return [members for members, _ in full], [limit for _, limit in full]


# --- tensors that all processes get from one ------------------------------------------------------


def broadcast_coalesced(
    group: Any, tensors: Sequence[Tensor], buffer_size: int = 250 << 20, authoritative_rank: int = 0
) -> None:
    """Give the values of one process to all, many tensors in one message.

    Args:
        group: who takes part.
        tensors: what is given, or replaced.
        buffer_size: how many bytes a message has at most, unless one tensor has more.
        authoritative_rank: the rank in the group that gives.
    """
    together: list[np.ndarray] = []
    size = 0
    for each in tensors:
        if together and size + each._array.nbytes > buffer_size:
            _broadcast(group, together, authoritative_rank)
            together, size = [], 0
        together.append(each._array)
        size += each._array.nbytes
        bump_version(each)
    if together:
        _broadcast(group, together, authoritative_rank)


def _broadcast(group: Any, arrays: list[np.ndarray], root: int) -> None:
    """Send arrays of any dtypes as bytes."""
    is_root = group.rank() == root
    parts = [
        (each if each.flags.c_contiguous else each.copy()).reshape(-1).view(np.uint8)
        if is_root
        else np.empty_like(each, np.uint8, shape=each.nbytes)
        for each in arrays
    ]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    group._queue.run(_sender(group, whole, root))
    if not is_root:
        start = 0
        for each in arrays:
            part = whole[start : start + each.nbytes]
            np.copyto(each, part.view(each.dtype).reshape(each.shape))
            start += each.nbytes


def _sender(group: Any, whole: np.ndarray, root: int) -> Callable[[], None]:
    return lambda: group._transport.broadcast(whole, root)


# As PyTorch calls them.
_DEFAULT_FIRST_BUCKET_BYTES = DEFAULT_FIRST_BUCKET_BYTES
_compute_bucket_assignment_by_size = compute_bucket_assignment_by_size
_broadcast_coalesced = broadcast_coalesced
