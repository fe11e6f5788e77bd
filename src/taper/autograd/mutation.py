"""`allow_mutation_on_saved_tensors`: write what is saved, and backward still sees the old value.

A saved tensor is packed as a handle.  Before its memory is written, the value behind the handle is
cloned, once, however many nodes hold the handle (§S20).  The block sees the writes of operators as
an interceptor.  The tensors kept behind handles are aliases, so nothing here keeps a graph alive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from taper.autograd.interception import Call, intercepting
from taper.autograd.saved_hooks import saved_tensors_hooks
from taper.autograd.state import local
from taper.autograd.views import alias
from taper.tensor import Tensor, wrap

OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


class _Handle:
    """What a node keeps instead of a saved tensor."""

    __slots__ = ("__weakref__",)


def _memory(array: np.ndarray) -> int:
    """Return the same number for all arrays on one piece of memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


class _AllowMutationOnSavedContext:
    """The saved values of a block: the unchanged ones, and copies of those written since."""

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        # By tensor and version: its handle, for as long as a node holds it.
        self.tid_to_weakhandle: WeakValueDictionary[Any, _Handle] = WeakValueDictionary()
        # By piece of memory: what was saved of it and has not been written since.
        self.sid_to_tid: defaultdict[int, set[Any]] = defaultdict(set)
        self._most = 1000  # entries before the useless ones are removed

    def clear(self) -> None:
        """Forget all values; no graph of the block can run any more."""
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()
        self.sid_to_tid.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        """Return the handle of a tensor at its present version."""
        array = tensor._array
        version = 0 if tensor._counter is None else tensor._counter.value
        tid = (id(tensor), array.ctypes.data, array.shape, array.strides, version)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = alias(tensor)
            self.sid_to_tid[_memory(array)].add(tid)
            if len(self.sid_to_tid) > self._most:
                self._forget_the_dead()
        return handle

    def _forget_the_dead(self) -> None:
        for sid, tids in list(self.sid_to_tid.items()):
            alive = {tid for tid in tids if tid in self.tid_to_weakhandle}
            if alive:
                self.sid_to_tid[sid] = alive
            else:
                del self.sid_to_tid[sid]
        self._most = 2 * len(self.sid_to_tid) + 1000

    def unpack(self, handle: _Handle) -> Tensor:
        """Return the tensor as it was when it was saved."""
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None:
            raise AssertionError(OUTSIDE)
        return found

    def about_to_write(self, tensor: Tensor) -> None:
        """Clone all saved values that lie in the tensor's memory."""
        for tid in self.sid_to_tid.pop(_memory(tensor._array), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                self.cloned[handle] = wrap(self.original.pop(handle)._array.copy(order="K"))

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        """See a call of an operator before it runs."""
        if call.kind == "inplace":
            self.about_to_write(call.arguments[0])
        elif call.kind == "out":
            out = call.arguments[-1]
            for each in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(each, Tensor):
                    self.about_to_write(each)
        return run()


@contextmanager
def allow_mutation_on_saved_tensors() -> Generator[_AllowMutationOnSavedContext, None, None]:
    """Let saved tensors be written in place during the block; backward must run inside it, too.

    >>> import taper
    >>> with taper.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = taper.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     y = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if any(isinstance(each, _AllowMutationOnSavedContext) for each in local.state.interceptors):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(context.pack, context.unpack), intercepting(context):
        try:
            yield context
        finally:
            context.clear()
