"""AccumulateGrad: the last node of a path, which adds the arriving gradient to a leaf's `.grad`.

It holds its leaf; the leaf holds it only weakly (I7).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.autograd.builtin import BuiltinNode
from taper.autograd.hooks import check_replacement
from taper.autograd.meta import INFERENCE_COUNTER, UNSET, AutogradMeta, VersionCounter
from taper.autograd.node import LIVE
from taper.autograd.state import INFERENCE, NO_GRAD, local
from taper.strides import empty_with, is_dense, row_major
from taper.tensor import Tensor, element_strides, wrap

LAST = 2**64 - 1  # sequence number: runs as soon as it is ready (E12)

# Passes on several threads may end in the same leaf: read, add and write as one step (R6).
# Re-entrant, because adding under `create_graph` may call the user's saved-tensor hooks.
_lock = threading.RLock()

# References to a gradient that only the pass holds: `grads`, the local name, getrefcount's own.
_SOLE_OWNER = 3


class AccumulateGrad(BuiltinNode):
    """Adds the gradient that arrives to `variable.grad`."""

    __slots__ = ("__weakref__", "variable")

    _public_name = "torch::autograd::AccumulateGrad"
    _passes_undefined = False

    # The same for all: a training step makes one of these for each parameter.
    _edges = ()
    _edge_nrs = ()
    _status = LIVE
    _code = None
    _offset = 0

    def __init__(self, variable: Tensor) -> None:
        array = variable._array
        meta = variable._meta
        self.variable = variable
        self._sequence = LAST
        self._extra = None
        self._shape = array.shape
        if meta is None or meta.grad_dtype is UNSET:
            self._dtype = array.dtype
        else:
            self._dtype = meta.grad_dtype and meta.grad_dtype.numpy  # None: no cast (L6)

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        meta = self.variable._meta
        _accumulate(self.variable, meta, grads)
        if meta.post_accumulate_hooks:
            self._run_post_accumulate_hooks(meta)
        return ()

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        """Under `create_graph`: out of place, so that the old gradient and its graph stay (E16)."""
        grad = grads[0]
        meta = self.variable._meta
        if local.state.mode & NO_GRAD:  # a pass on Tensors for the sake of tangents
            return self._run([grad if grad is None else grad._array])
        if grad is not None and self.variable._requires_grad:
            with _lock:
                if meta.grad is None:
                    meta.grad = _recorded_copy(grad, self.variable._array)
                else:
                    meta.grad = meta.grad + grad
        if meta.post_accumulate_hooks:
            self._run_post_accumulate_hooks(meta)
        return ()

    def _run_post_accumulate_hooks(self, meta: Any) -> None:
        leaf = self.variable
        for hook in list(meta.post_accumulate_hooks.values()):
            result = hook(leaf)
            if result is not None and result is not leaf:
                check_replacement(leaf, result, hook)
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _accumulate(leaf: Tensor, meta: AutogradMeta, grads: list[Any]) -> None:
    """Add the gradient to that of the leaf, or let it be the leaf's gradient (E16)."""
    grad = grads[0]
    if grad is None or not leaf._requires_grad:  # it may have stopped to require one
        return
    with _lock:
        if meta.grad is not None:
            add_into(meta.grad, grad)
        else:
            shared = sys.getrefcount(grad) > _SOLE_OWNER
            if shared or not _may_keep(grad, leaf):
                grad = _laid_out(grad, leaf._array)
            meta.grad = wrap(grad)
            if local.state.mode & INFERENCE:
                meta.grad._counter = INFERENCE_COUNTER


def accumulate_simply(leaf: Any, grads: list[Any]) -> bool:
    """Do what AccumulateGrad does, if nobody can see that there is none; False if one can."""
    if leaf.__class__ is AccumulateGrad or leaf._view is not None:
        return False
    meta = leaf._meta
    if meta is None:
        meta = leaf._meta = AutogradMeta()
    elif meta.hooks or meta.post_accumulate_hooks or meta.accumulator() is not None:
        return False
    if meta.grad_dtype is not UNSET:
        return False
    _accumulate(leaf, meta, grads)
    return True


def _may_keep(grad: np.ndarray, variable: Tensor) -> bool:
    """Whether `grad` may become `.grad` itself: nobody else sees its memory, the layout fits."""
    if grad.base is not None:
        # A transposed or reshaped fresh result: its memory is ours if only `grad` refers to it.
        if grad.base.__class__ is not np.ndarray or sys.getrefcount(grad.base) > 2:
            return False
        if grad.base.base is not None or grad.base.nbytes != grad.nbytes:
            return False
    if not grad.flags.writeable:
        return False
    return grad.strides == variable._array.strides or not local.state.grad_layout


def layout(like: np.ndarray) -> tuple[int, ...]:
    """The strides of a fresh gradient: the leaf's where that is dense, else row-major (E17)."""
    strides = element_strides(like)
    return strides if is_dense(like.shape, strides) else row_major(like.shape)


def _laid_out(grad: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy of `grad` in the layout for the leaf `like`."""
    if not local.state.grad_layout:
        return grad.copy(order="K")
    if like.flags.c_contiguous:
        return grad.copy(order="C")
    copy = empty_with(grad.shape, layout(like), grad.dtype)
    copy[...] = grad
    return copy


def _recorded_copy(grad: Any, like: np.ndarray) -> Any:
    """As `_laid_out`, on a Tensor and recorded; PyTorch's node for it is CopyBackwards."""
    if is_dense(like.shape, element_strides(like)):
        return grad.new_empty_strided(like.shape, layout(like)).copy_(grad)
    return grad.clone()


def add_into(total: Tensor, grad: np.ndarray) -> None:
    """Add to a gradient in place, and count the write."""
    array = total._array
    counter = total._counter
    if counter.__class__ is not VersionCounter or not _is_simple(array, grad):
        total.add_(wrap(grad))  # which may refuse, with PyTorch's words
        return
    np.add(array, grad, array)
    counter.value += 1
    counter.code = None  # no line of the user's wrote it


def _is_simple(array: np.ndarray, grad: np.ndarray) -> bool:
    """Whether NumPy may add `grad` to `array`: same kind, and memory that nobody shares."""
    if array.shape != grad.shape or array.dtype is not grad.dtype:
        return False
    flags = array.flags
    return flags.writeable and (flags.forc or 0 not in array.strides)
