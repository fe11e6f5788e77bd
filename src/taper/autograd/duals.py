"""Where tangents live: on tensors; those of views stay in step with those of their bases (§D6).

Owns: reading and setting the tangent of a tensor, its layout, and which tensor a view shares its
tangent with.  Knows nothing of operators: `tangents` says how tangents follow from each other.

A tangent hangs on the tensor (`_autograd_meta.tangent`), so it dies with the tensor (§D10).
The level only holds weak references to the tensors that have one, to drop the tangents at its end.
A tangent has the layout of its tensor, down to offset and length of the storage, so that a view of
the tensor is the same view of the tangent (§D9).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.arrays.strides import within
from taper.autograd.builtin import BuiltinNode
from taper.autograd.conjugate import memory_of, showing, write_through
from taper.autograd.meta import AutogradMeta, ViewRecord
from taper.autograd.node import LIVE, Node
from taper.autograd.state import DUAL, INFERENCE, local
from taper.autograd.views import (
    CopySlices,
    can_stride,
    gradient_edge,
    meta_of,
    replay,
    requires_grad,
    set_history,
)
from taper.tensor import Tensor, element_strides, storage_of, storage_offset


class DualRecord(ViewRecord):
    """The record of a view that shares no tangent with its root.

    `forward_base` is the tensor whose tangent the view shares: the dual that it is a view of.  It
    is None for the views by which `make_dual` and `unpack_dual` separate primal and dual; otherwise
    a write to one would show in the other.
    """

    __slots__ = ("forward_base",)

    forward_base: Tensor | None


def keep_apart(view: Tensor, forward_base: Tensor | None) -> Tensor:
    """Let a view share its tangent with `forward_base` instead of its root."""
    record = view._view
    if record is not None:
        own = DualRecord(
            record.base, record.creation, record.version, record.replay, record.code, record.offset
        )
        own.requires_grad = record.requires_grad
        own.forward_base = forward_base
        view._view = own
    return view


def inherit(source: Any, views: Sequence[Any]) -> None:
    """Let views of a tensor that is kept apart from its root share the tangent of that tensor."""
    record = source._view if isinstance(source, Tensor) else None
    if record.__class__ is not DualRecord:
        return
    base = source if record.forward_base is None else record.forward_base
    for view in views:
        if view._view is not None and view._view.__class__ is not DualRecord:
            keep_apart(view, base)


class CppFunction(BuiltinNode):
    """The history of an unpacked primal: hands its gradient on."""

    __slots__ = ()

    _public_name = "torch::autograd::Identity"

    def __init__(self, tensor: Tensor) -> None:
        edge, nr = gradient_edge(tensor)
        state = local.state
        self._edges, self._edge_nrs = (edge,), (nr,)
        self._sequence = state.sequence
        state.sequence += 1
        self._status = LIVE
        self._code, self._offset, self._extra = None, 0, None
        self._shape, self._dtype = tensor._array.shape, tensor._array.dtype

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return grads

    _run_tensors = _run


def dual_of(tensor: Tensor) -> Tensor:
    """Return a view of the whole tensor that shares its history but not its tangent."""
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        return keep_apart(tensor.view_as(tensor), None)
    finally:
        state.mode = mode


def primal_of(tensor: Tensor) -> Tensor:
    """Return a view of the whole tensor without its tangent."""
    primal = dual_of(tensor)
    if primal._grad_fn is not None:
        set_history(primal, CppFunction(tensor))
    return primal


def follow(source: Tensor, view: Tensor, function: Callable[[Tensor], Tensor]) -> None:
    """Give a view that no operator of the table made the same view of the tangent."""
    inherit(source, [view])
    found = tangent(source)
    if found is None:
        return
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        set_tangent(view, function(found))
    finally:
        state.mode = mode


def _forward_base(tensor: Tensor) -> Tensor | None:
    record = tensor._view
    if record is None:
        return None
    base: Tensor | None = record.forward_base if record.__class__ is DualRecord else record.base
    return base


# --- reading and setting ---------------------------------------------------------------------


def are_visible() -> bool:
    """Return whether tangents can be seen and made on this thread now."""
    state = local.state
    return state.dual_level >= 0 and state.dual_enabled and not state.mode & INFERENCE


def tangent(tensor: Any) -> Tensor | None:
    """Return the tangent of a tensor, None if it has none; a view takes part of its base's."""
    if not isinstance(tensor, Tensor) or not are_visible():
        return None
    meta = tensor._autograd_meta
    if meta is not None and meta.tangent is not None:
        if meta.tangent_generation == local.state.dual_generation:
            found: Tensor = meta.tangent
            return found
        meta.tangent = None
    base = _forward_base(tensor)
    whole = None if base is None else tangent(base)
    if base is None or whole is None:
        return None
    return _part(whole, tensor, base)


def _part(whole: Tensor, view: Tensor, base: Tensor) -> Tensor | None:
    """Return the view's tangent as the same view of its base's tangent."""
    record = view._view
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        if whole._array.__class__ is not np.ndarray and base is record.base:
            found = replay(record.replay, whole)  # one example of a batch has no storage of its own
        elif can_stride(view, base):
            array = view._array
            start = storage_offset(array) - storage_offset(base._array)
            found = whole.as_strided(
                array.shape, element_strides(array), storage_offset(whole._array) + start
            )
        elif base is record.base:
            found = replay(record.replay, whole)
        else:
            return None
    finally:
        state.mode = mode
    set_tangent(view, found)
    return found


def set_tangent(tensor: Tensor, found: Tensor) -> None:
    """Let `tensor` carry a tangent until the level closes."""
    _attach(meta_of(tensor), found)
    node = tensor._grad_fn
    if node is not None:
        _keep_for_backward(node, tensor._output_nr, found)


def _attach(meta: AutogradMeta, found: Tensor) -> None:
    state = local.state
    meta.tangent = found
    meta.tangent_generation = state.dual_generation
    state.dual_carriers.add(meta)


def open_level() -> None:
    """Let tensors carry tangents from now on."""
    local.state.dual_carriers = weakref.WeakSet()


def close_level() -> None:
    """Drop the tangents of all tensors (§D1)."""
    state = local.state
    for meta in list(state.dual_carriers):
        meta.tangent = None
    state.dual_carriers = ()
    state.dual_generation += 1


def _keep_for_backward(node: Node, nr: int, found: Tensor) -> None:
    """Keep the tangent of an output for a node that saved its array (Note [Saved outputs])."""
    if isinstance(node, CopySlices):
        node = node.fn
    if node._saves_output(nr):
        meta = AutogradMeta()
        _attach(meta, found)
        node._rarely().tangents[nr] = meta


def check_size(tensor: Tensor, found: Tensor) -> None:
    """Raise if a tensor cannot have this tangent because of its size."""
    if tensor._array.shape != found._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor._array.shape)} while "
            f"the given forward gradient is of size {list(found._array.shape)}."
        )


# --- layout ----------------------------------------------------------------------------------


def _length_of_storage(array: np.ndarray) -> int:
    return storage_of(array).nbytes // array.itemsize


def lies_like(found: Tensor, tensor: Tensor) -> bool:
    """Return whether two tensors agree in shape, strides, offset and storage length (§D9)."""
    if found._change is not tensor._change:
        return False
    one, other = memory_of(found), memory_of(tensor)
    if one.shape != other.shape or _length_of_storage(one) != _length_of_storage(other):
        return False
    if not other.size:
        return True
    if storage_offset(one) != storage_offset(other):
        return False
    steps = zip(element_strides(one), element_strides(other), other.shape, strict=True)
    return all(first == second or length == 1 for first, second, length in steps)


def zeros_like(tensor: Tensor, dtype: np.dtype[Any] | None = None) -> Tensor:
    """Return zeros with the layout of a tensor, its storage included."""
    array = memory_of(tensor)
    storage = np.zeros(_length_of_storage(array), dtype or array.dtype)
    steps = tuple([step * storage.itemsize for step in element_strides(array)])
    offset = storage_offset(array) * storage.itemsize
    zeros = within(storage, array.shape, steps, offset, storage.dtype)
    return showing(zeros, tensor._change)


def laid_out(found: Tensor, tensor: Tensor) -> Tensor:
    """Return a tangent with the layout of its tensor: the tangent itself, or a recorded copy."""
    if found._array.__class__ is not np.ndarray or lies_like(found, tensor):
        return found  # the tangent of one example of a batch has no layout of its own
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        return zeros_like(tensor).copy_(found)
    finally:
        state.mode = mode


def overwrite(target: Tensor, found: Tensor | None) -> None:
    """Make `found` the tangent of a tensor that was written; write an existing one in place."""
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        current = tangent(target)
        if found is None:
            if current is not None:
                current.zero_()
            return
        if current is None:
            current = _first_tangent(target, found)
        else:
            _write(current, found)
        set_tangent(target, current)
        root = None if target._view is None else target._view.base._grad_fn
        if root is not None:
            _keep_for_backward(root, 0, current)
    finally:
        state.mode = mode


def _first_tangent(target: Tensor, found: Tensor) -> Tensor:
    """Make the tangent of a tensor without one; a view makes it on its base, for all views."""
    base = _forward_base(target)
    if base is None:
        return laid_out(found, target)
    if lies_like(found, base) and lies_like(found, target):
        set_tangent(base, found)
        return found
    if found._array.__class__ is not np.ndarray:
        set_tangent(base, found.new_zeros(base._array.shape))
    else:
        set_tangent(base, zeros_like(base))
    current = tangent(target)
    if current is None:
        return laid_out(found, target)
    _write(current, found)
    return current


def _write(current: Tensor, found: Tensor) -> None:
    if found is current:
        return
    if 0 in current._array.strides and not requires_grad(found):
        # `copy_` refuses to write expanded tensors.
        write_through(current, lambda array: np.copyto(array, found._array))
    else:
        current.copy_(found)
