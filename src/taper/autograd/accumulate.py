"""AccumulateGrad: the last node of a path, which adds the arriving gradient to a leaf's `.grad`.

It holds its leaf; the leaf holds it only weakly (I7).
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.foreign import ForeignArray
from taper.arrays.strides import copied_in_rows, copied_with, empty_with, is_dense, row_major
from taper.autograd.builtin import BuiltinNode
from taper.autograd.conjugate import as_gradient
from taper.autograd.disturbances import new_lock
from taper.autograd.hooks import check_replacement
from taper.autograd.interception import are_formulas_seen, seen_made
from taper.autograd.meta import (
    INFERENCE_COUNTER,
    UNSET,
    AutogradMeta,
    FormerData,
    VersionCounter,
    nobody,
)
from taper.autograd.node import LIVE
from taper.autograd.state import INFERENCE, NO_GRAD, local
from taper.device import CPU, contiguous_format, strided
from taper.tensor import Tensor, array_or_sparse, element_strides, outline_of, wrap
from taper.userwarning import warn_once

LAST = 2**64 - 1  # sequence number: runs as soon as it is ready (§E12)

# Passes on several threads may end in the same leaf: read, add and write as one step (§R6).
# Re-entrant, because adding under `create_graph` may call the user's saved-tensor hooks.
lock = new_lock(threading.RLock)

# How many changes of its data a leaf remembers, for graphs that are older.
_REMEMBERED = 8

# References to a gradient that only the pass holds: `grads`, the local name, getrefcount's own.
_SOLE_OWNER = 3


def meta_of(tensor: Tensor) -> AutogradMeta:
    """Return the tensor's AutogradMeta, made on first use."""
    if tensor._autograd_meta is None:
        with lock:  # two threads that make one each would lose a gradient
            if tensor._autograd_meta is None:
                tensor._autograd_meta = AutogradMeta()
    return tensor._autograd_meta


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
        array = outline_of(variable)
        meta = variable._autograd_meta
        self.variable = variable
        self._sequence = LAST
        self._extra = None
        self._shape = array.shape
        if meta is None or meta.grad_dtype is UNSET:
            self._dtype = array.dtype
        else:
            self._dtype = meta.grad_dtype and meta.grad_dtype.numpy  # None: no cast (§L6)

    def _accumulator(self, sequence: int | None = None) -> AccumulateGrad:
        """Itself: another thread has put the node in the place of its leaf (`_nodes_ahead`)."""
        return self

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        meta = self.variable._autograd_meta
        _accumulate(self.variable, meta, grads)
        if meta.post_accumulate_hooks:
            self._run_post_accumulate_hooks(meta)
        return ()

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        """Add under `create_graph`: out of place, so the old gradient and its graph stay (§E16)."""
        grad = grads[0]
        meta = self.variable._autograd_meta
        if local.state.mode & NO_GRAD:  # a pass on Tensors for the sake of tangents
            if grad is not None and grad.layout is strided and are_formulas_seen(local.state):
                _accumulate_seen(self.variable, meta, grad)
                grad = None
            return self._run([grad if grad is None else array_or_sparse(grad)])
        if grad is not None and self.variable._requires_grad:
            with lock:
                if _is_sparse(grad) or _is_sparse(meta.grad):
                    meta.grad = _sum_of_sparse(meta.grad, grad)
                elif meta.grad is None:
                    meta.grad = _recorded_copy(grad, outline_of(self.variable))
                else:
                    meta.grad = meta.grad + grad
                    _watch_layout(meta.grad._array, outline_of(self.variable), " ")
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
    """Add the gradient to that of the leaf, or let it be the leaf's gradient (§E16)."""
    grad = grads[0]
    if grad is None or not leaf._requires_grad:  # it may have stopped to require one
        return
    with lock:
        total = meta.grad
        if isinstance(grad, Tensor) or (total.__class__ is not Tensor and _is_sparse(total)):
            meta.grad = _sum_of_sparse(total, grad)
        elif total is not None:
            add_into(total, grad)
            if meta.odd_layout:
                _watch_layout(total._array, outline_of(leaf))
        else:
            shared = sys.getrefcount(grad) > _SOLE_OWNER
            if shared or not _may_keep(grad, leaf):
                grad = _laid_out(grad, outline_of(leaf))
            meta.grad = as_gradient(grad)
            if local.state.mode & INFERENCE:
                meta.grad._counter = INFERENCE_COUNTER


# --- sparse gradients -------------------------------------------------------------------------


def _is_sparse(grad: Any) -> bool:
    """Whether a gradient is a tensor that has no array."""
    return isinstance(grad, Tensor) and grad.layout is not strided


def _sum_of_sparse(total: Any, grad: Any) -> Tensor:
    """The gradient of a leaf, if what it has or what arrives is sparse.

    Two sparse ones stay the same tensor; a dense one is written into; dense after sparse gives a
    new tensor, as in PyTorch.
    """
    value: Any = grad if isinstance(grad, Tensor) else wrap(grad)
    recorded = not local.state.mode & NO_GRAD
    if total is None:
        fresh: Tensor = value.clone() if recorded else value._as_gradient()
        return fresh
    if _is_sparse(total) and not _is_sparse(value):
        result: Tensor = value + total
        return result
    if recorded:
        return total + value
    total.add_(value)
    return total


def _accumulate_seen(leaf: Tensor, meta: AutogradMeta, grad: Tensor) -> None:
    """Do the work of `_accumulate` with operators, for who sees them."""
    if not leaf._requires_grad:
        return
    if meta.grad is not None:
        meta.grad.add_(grad)
        return
    array = grad._array
    if array.strides == leaf._array.strides and _is_fresh(grad):
        meta.grad = seen_made("detach", (grad,), {}, wrap(array))
        return
    sizes, strides = list(array.shape), list(layout(leaf._array))
    options = {"dtype": grad.dtype, "layout": strided, "device": CPU}
    made = wrap(empty_with(array.shape, tuple(strides), array.dtype, array))
    made = seen_made("new_empty_strided", (grad, sizes, strides), options, made)
    meta.grad = made.copy_(grad)


def _is_fresh(grad: Tensor) -> bool:
    """Return whether a gradient has memory of its own, which it fills."""
    base = grad._array.base
    return base is None or getattr(base, "nbytes", None) == grad._array.nbytes


def accumulate_simply(leaf: Any, grads: list[Any]) -> bool:
    """Do what AccumulateGrad does, if nobody can see that there is none; False if one can.

    Only the native engine reaches leaves without their node (D11).
    """
    if leaf._view is not None:
        return False
    meta = meta_of(leaf)
    if meta.hooks or meta.post_accumulate_hooks or meta.accumulator() is not None:
        return False
    if meta.grad_dtype is not UNSET:
        return False
    _accumulate(leaf, meta, grads)
    return True


def _may_keep(grad: np.ndarray, variable: Tensor) -> bool:
    """Whether `grad` may become `.grad` itself: nobody else sees its memory, the layout fits."""
    if grad.base is not None:
        # A transposed or reshaped fresh result: its memory is ours if only `grad` refers to it.
        if isinstance(grad, ForeignArray):
            if not _is_sole_owner(grad):
                return False
        elif grad.base.__class__ is not np.ndarray or sys.getrefcount(grad.base) > 2:
            return False
        elif grad.base.base is not None or grad.base.nbytes != grad.nbytes:
            return False
    if not grad.flags.writeable:
        return False
    if grad.strides == outline_of(variable).strides:
        return True
    if local.state.grad_layout:
        return False
    variable._autograd_meta.odd_layout = True
    return True


def layout(like: np.ndarray) -> tuple[int, ...]:
    """The strides of a fresh gradient: the leaf's where that is dense, else row-major (§E17)."""
    strides = element_strides(like)
    return strides if is_dense(like.shape, strides) else row_major(like.shape)


_LAYOUT_WARNING = (
    "grad and param do not obey the gradient layout contract. This is not an error, but may impair "
    "performance.\ngrad.sizes() = {}, strides() = {}\nparam.sizes() = {}, strides() = {}"
)


def _watch_layout(grad: np.ndarray, like: np.ndarray, way: str = "") -> None:
    """Warn of a gradient in another layout than its leaf's: once for each `way` of adding."""
    if not local.state.grad_layout:
        return
    strides = element_strides(grad)
    wanted = layout(like)
    if grad.ndim == like.ndim and all(
        length == 1 or one == other
        for length, one, other in zip(grad.shape, strides, wanted, strict=True)
    ):
        return
    shapes = [list(grad.shape), list(strides), list(like.shape), list(element_strides(like))]
    warn_once(_LAYOUT_WARNING.format(*shapes), once="layout" + way)


def _is_sole_owner(grad: Any) -> bool:
    """Whether an array of another device has all of its memory, and nobody else looks at it."""
    nbytes = grad.nbytes
    while isinstance(grad.base, np.ndarray):
        if sys.getrefcount(grad.base) > 2:
            return False
        grad = grad.base
    found: bool = sys.getrefcount(grad.base) <= 2 and grad.base.nbytes == nbytes
    return found


def _laid_out(grad: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy of `grad` in the layout for the leaf `like`, also where the policy is off."""
    if (like.flags.c_contiguous and grad.size) or like.shape != grad.shape:
        return copied_in_rows(grad)
    return copied_with(grad, layout(like))


def _recorded_copy(grad: Any, like: np.ndarray) -> Any:
    """As `_laid_out`, on a Tensor and recorded; PyTorch's node for it is CopyBackwards."""
    if is_dense(like.shape, element_strides(like)):
        return grad.new_empty_strided(like.shape, layout(like)).copy_(grad)
    return grad.clone(memory_format=contiguous_format)


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


# --- leaves that got other data ---------------------------------------------------------------


def remember_former(leaf: Tensor, kept: bool) -> None:
    """Before a leaf gets data of another kind: graphs recorded so far end in it as it is (§E25).

    `kept`: its AccumulateGrad stays, if it has one, and then expects what it expected.
    """
    meta = meta_of(leaf)
    node = meta.accumulator
    if kept:
        if node() is not None:
            return
        node = None
    else:
        meta.accumulator = nobody
    array = outline_of(leaf)
    record = FormerData(array.shape, array.dtype, local.state.sequence, node)
    meta.former = [*(meta.former or [])[1 - _REMEMBERED :], record]


def former_metadata(leaf: Tensor, sequence: int) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of a leaf as the node with a sequence number saw it."""
    for record in leaf._autograd_meta.former or ():
        if sequence < record.until:
            return record.shape, record.dtype
    array = outline_of(leaf)
    return array.shape, array.dtype


def former_accumulator(leaf: Tensor, sequence: int) -> AccumulateGrad | None:
    """The AccumulateGrad of a leaf at the time of a sequence number; None if it is today's."""
    for record in leaf._autograd_meta.former or ():
        if sequence < record.until and record.accumulator is not None:
            node: AccumulateGrad | None = record.accumulator()
            if node is None:
                node = AccumulateGrad(leaf)
                node._shape, node._dtype = former_metadata(leaf, sequence)
                record.accumulator = weakref.ref(node)
            return node
    return None
