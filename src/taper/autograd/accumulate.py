"""AccumulateGrad: the last node of every path, which adds the arriving gradient to a leaf's `.grad`.

It holds its leaf; the leaf holds it only weakly (I7).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.autograd.handles import HookDict
from taper.autograd.meta import VersionCounter
from taper.autograd.node import LIVE, Node
from taper.tensor import Tensor, wrap

LAST = 2**64 - 1  # sequence number: runs as soon as it is ready (E12)

# Passes on several threads may end in the same leaf: read, add and write as one step (R6).
_lock = threading.Lock()

# References to a gradient that only the pass holds: `grads`, the local name, getrefcount's argument.
_SOLE_OWNER = 3


class AccumulateGrad(Node):
    """Adds the gradient that arrives to `variable.grad`."""

    __slots__ = ("__weakref__", "variable")

    public_name = "torch::autograd::AccumulateGrad"

    def __init__(self, variable: Tensor) -> None:
        self.edges = ()
        self.edge_nrs = ()
        self.sequence = LAST
        self.status = LIVE
        self.shape = variable._array.shape
        self.dtype = variable._array.dtype
        self.code = None
        self.offset = 0
        self.extra = None
        self.variable = variable

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        grad = grads[0]
        meta = self.variable._meta
        if grad is not None:
            with _lock:
                if meta.grad is not None:
                    _add_into(meta.grad, grad)
                else:
                    shared = sys.getrefcount(grad) > _SOLE_OWNER
                    if shared or not _is_own_memory(grad, self.variable):
                        grad = _copy_like(grad, self.variable._array)
                    meta.grad = wrap(grad)
        if meta.post_accumulate_hooks:
            self._run_post_accumulate_hooks(meta.post_accumulate_hooks)
        return ()

    def apply_tensors(self, grads: list[Any]) -> Sequence[Any]:
        """Under `create_graph`: out of place, so that the old gradient and its graph stay (E16)."""
        grad = grads[0]
        if grad is not None:
            meta = self.variable._meta
            with _lock:
                meta.grad = grad.clone() if meta.grad is None else meta.grad + grad
        hooks = self.variable._meta.post_accumulate_hooks
        if hooks:
            self._run_post_accumulate_hooks(hooks)
        return ()

    def _run_post_accumulate_hooks(self, hooks: HookDict) -> None:
        for hook in list(hooks.values()):
            result = hook(self.variable)
            if isinstance(result, Tensor):
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
            if result is not None:
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def _is_own_memory(grad: np.ndarray, variable: Tensor) -> bool:
    """Whether `grad` may become `.grad` itself: nobody else sees its memory, and the layout fits."""
    if grad.base is not None:
        # A transposed or reshaped fresh result: its memory is ours if only `grad` refers to it.
        if grad.base.__class__ is not np.ndarray or sys.getrefcount(grad.base) > 2:
            return False
        if grad.base.base is not None or grad.base.nbytes != grad.nbytes:
            return False
    return grad.strides == variable._array.strides and grad.flags.writeable


def _copy_like(grad: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy of `grad` in the layout of the leaf where that is dense, else row-major (E17)."""
    if like.flags.c_contiguous or not like.T.flags.c_contiguous:
        return np.array(grad, order="C")
    return np.array(grad, order="F")


def _add_into(total: Tensor, grad: np.ndarray) -> None:
    np.add(total._array, grad, out=total._array, casting="same_kind")
    if total._counter is None:
        total._counter = VersionCounter()
    total._counter.value += 1
