"""How tensors travel between processes: through multiprocessing's pipes and queues by descriptor.

`register` teaches multiprocessing's pickler; from then on both sides share the memory.  Knows
pickling and shared memory; must not know data loaders.
"""

from __future__ import annotations

from multiprocessing import context, reduction
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.memory import on_bytes
from taper.arrays.shared_memory import AVAILABLE, Segment, bytes_of, keeper_of
from taper.autograd.overrides import watch
from taper.autograd.views import requires_grad
from taper.factory import finish
from taper.pickling import reduce_tensor, warn_if_has_hooks
from taper.storage import UntypedStorage, on_memory, shared_copy, shared_memory
from taper.tensor import Tensor, element_strides, wrap


def register(*classes: type) -> None:
    """Let multiprocessing send tensors of exactly these classes by their memory's descriptor.

    >>> import taper
    >>> from taper.multiprocessing.pickling import register
    >>> register(taper.Tensor)
    """
    for each in classes:
        if issubclass(each, Tensor):
            reduction.ForkingPickler.register(each, reduce_shared)
        else:
            reduction.ForkingPickler.register(each, _reduce_storage)


def sendable(tensor: Tensor) -> Tensor:
    """Return the tensor, or its computed values if it is a conjugate; refuse one with history."""
    if not tensor.is_leaf and requires_grad(tensor):
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the "
            "data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    warn_if_has_hooks(tensor)
    return tensor if tensor._change is None else wrap(tensor._array)


def reduce_shared(tensor: Tensor) -> tuple[Any, ...]:
    """Take a tensor apart for multiprocessing: descriptor, offset, shape, strides.

    A tensor that is not shared yet is moved into shared memory first, as `share_memory_` does.

    Differs: a view takes a copy of its storage along; only its base is moved.
    """
    tensor = sendable(tensor)
    if not AVAILABLE:
        return reduce_tensor(tensor, 5)
    array = tensor._array
    segment: Any = keeper_of(array)
    if not isinstance(segment, Segment) or segment.descriptor is None:
        array = shared_copy(array)
        if tensor._view is None:
            tensor._array = array
        segment = keeper_of(array)
    duplicate, nbytes = _handed_over(segment)
    offset = array.ctypes.data - segment.address if array.size else 0
    return _rebuild_shared, (
        type(tensor),
        duplicate,
        nbytes,
        tensor.dtype,
        offset // array.itemsize,
        array.shape,
        element_strides(array),
        requires_grad(tensor),
    )


def _handed_over(segment: Any) -> tuple[Any, int]:
    """Return the handle of the descriptor for the other process, and the segment's size."""
    popen = context.get_spawning_popen()
    if popen is not None:
        # A process that is being started takes the descriptor a little later, so it must stay open.
        popen.__dict__.setdefault("taper_segments", []).append(segment)
    return reduction.DupFd(segment.descriptor), segment.nbytes


def _rebuild_shared(
    kind: type[Tensor],
    descriptor: Any,
    nbytes: int,
    dtype: dtypes.dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    wants_grad: bool,
) -> Tensor:
    memory = bytes_of(Segment(nbytes, descriptor.detach()))
    if 0 in shape:
        array = np.ndarray(shape, dtype.numpy, memory)
    else:
        array = on_bytes(memory, dtype.numpy, offset, shape, strides)
    made = finish(array, wants_grad)
    if kind is not Tensor:
        made.__class__ = kind
        watch(made)
    return made


def _reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    memory = storage._memory
    segment: Any = keeper_of(memory)
    if not isinstance(segment, Segment) or segment.descriptor is None:
        memory = shared_memory(memory)
        segment = keeper_of(memory)
        if storage._memory.base is None:
            storage._memory = memory
    return _rebuild_storage, (*_handed_over(segment), memory.nbytes)


def _rebuild_storage(descriptor: Any, nbytes: int, used: int) -> UntypedStorage:
    return on_memory(bytes_of(Segment(nbytes, descriptor.detach()), 0, used))
