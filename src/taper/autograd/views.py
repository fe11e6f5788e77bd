"""Histories of tensors: edges, version counters, views, and what a write in place does to them.

Owns: `requires_grad`, `gradient_edge`, `accumulator`, `set_history` (named as in the notes), the
rules for writing in place, `rebase_history` and the regeneration of a view's `grad_fn`.  Knows
tensors and nodes but not the operator table: the operators it needs (`as_strided`, `copy_`) are
methods of Tensor.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from taper.arrays.strides import empty_with
from taper.autograd.accumulate import AccumulateGrad, former_accumulator, meta_of
from taper.autograd.builtin import BuiltinNode
from taper.autograd.conjugate import (
    CONJUGATE,
    NEGATIVE,
    ConjugateCounter,
    memory_of,
    on_memory,
    showing,
    together,
)
from taper.autograd.meta import (
    ASK,
    INFERENCE_COUNTER,
    AliasCounter,
    Creation,
    VersionCounter,
    ViewRecord,
    is_inference,
)
from taper.autograd.node import FREED, LIVE, Node, Place
from taper.autograd.provenance import describe, user_frame
from taper.autograd.state import INFERENCE, NO_GRAD, State, local
from taper.tensor import Tensor, element_strides, storage_offset, wrap


def version_counter(tensor: Tensor) -> Any:
    """Return the tensor's counter, made on first use; a node that saved its output shares it."""
    counter = tensor._counter
    if counter is None:
        node = tensor._grad_fn
        counter = VersionCounter() if node is None else node._output_counter(tensor._output_nr)
        tensor._counter = counter
    return counter


def bump_version(tensor: Tensor) -> None:
    """Count a write and remember the user's line that made it."""
    counter = version_counter(tensor)
    if counter is INFERENCE_COUNTER:
        return
    counter.value += 1
    frame = user_frame(sys._getframe(1))
    counter.code = frame.f_code
    counter.offset = frame.f_lasti


def requires_grad(tensor: Tensor) -> bool:
    """Return whether a tensor requires a gradient; brings a view's history up to date (§V6)."""
    flag = tensor._requires_grad
    if flag is not ASK:
        return flag is True
    record = tensor._view
    if record.version != tensor._counter.value:
        regenerate(tensor)
    if tensor._grad_fn is not None or record.requires_grad:
        return True
    return requires_grad(record.base)


def wants_grad(tensor: Tensor) -> bool:
    """Return the same without bringing a view up to date, which may be refused."""
    flag = tensor._requires_grad
    if flag is not ASK:
        return flag is True
    record = tensor._view
    return tensor._grad_fn is not None or record.requires_grad or wants_grad(record.base)


def gradient_edge(tensor: Tensor) -> tuple[Node | None, int]:
    """Return where a tensor's gradient goes: to its `grad_fn`, or to a leaf's AccumulateGrad."""
    if tensor._requires_grad is ASK:
        requires_grad(tensor)
        if tensor._grad_fn is None:
            return (accumulator(tensor), 0) if tensor._view.requires_grad else (None, 0)
    node = tensor._grad_fn
    if node is not None:
        return node, tensor._output_nr
    return (accumulator(tensor), 0) if tensor._requires_grad else (None, 0)


def accumulator(tensor: Tensor, sequence: int | None = None) -> AccumulateGrad | None:
    """Return the leaf's AccumulateGrad: one while anybody holds it, held weakly by the leaf (I7).

    For a node with a sequence number it is the one of the time when the node was recorded.
    """
    meta = meta_of(tensor)
    if meta.former is not None and sequence is not None:
        node = former_accumulator(tensor, sequence)
        if node is not None:
            return node
    node = meta.accumulator()
    if node is not None:
        return node
    if tensor._view is not None and not tensor._view.requires_grad:
        # A view made in no_grad mode requires grad through its base, but no gradient reaches it.
        return None
    node = AccumulateGrad(tensor)
    meta.accumulator = weakref.ref(node)
    return node


# For nodes, which do not know tensors.
Tensor._accumulator = accumulator  # type: ignore[assignment,method-assign]


def set_history(tensor: Tensor, node: Node, output_nr: int = 0) -> None:
    """Make `tensor` the output `output_nr` of `node`."""
    tensor._grad_fn = node
    tensor._output_nr = output_nr
    if tensor._requires_grad is not ASK:
        tensor._requires_grad = True


def make_view(
    source: Tensor,
    array: np.ndarray,
    creation: str = Creation.PLAIN,
    step: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    frame: FrameType | None = None,
) -> Tensor:
    """Return a tensor on `array`, part of the memory of `source`, as a view of its root (§V1)."""
    view = wrap(array)
    if source._change is not None:
        part = memory_of(source) if step is None else _part(source, step)
        view = on_memory(part, source._change)
    return tracked(view, source, creation, step, frame)


def of_memory(source: Tensor, step: Any) -> Any:
    """Return what a view operator gives of the memory behind a conjugate."""
    function, arguments = step
    return _unrecorded(function, wrap(memory_of(source)), arguments)


def _unrecorded(function: Callable[..., Any], tensor: Tensor, arguments: Sequence[Any]) -> Any:
    state = local.state
    mode = state.mode
    state.mode = NO_GRAD
    try:
        return function(tensor, *arguments)
    finally:
        state.mode = mode


def _part(source: Tensor, step: Any) -> np.ndarray:
    """Return the part of the memory behind a conjugate that a view operator gives."""
    part: np.ndarray = of_memory(source, step)._array
    if part.dtype != memory_of(source).dtype and source._change is not NEGATIVE:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )
    return part


def conjugate_view(
    source: Tensor,
    step: Any = None,
    creation: str = Creation.PLAIN,
    change: Any = CONJUGATE,
) -> Tensor:
    """Return the conjugate (negative) of a tensor as a view; of a conjugate, the memory itself."""
    memory = memory_of(source)
    left = together(source._change, change)
    view = tracked(showing(memory, left), source, creation, step)
    if view._counter is not INFERENCE_COUNTER:
        if left is None:
            view._counter = source._counter.shared
        elif source._change is None:
            view._counter = ConjugateCounter(view._counter)
    return view


def tracked(
    view: Tensor, source: Tensor, creation: str, step: Any, frame: FrameType | None = None
) -> Tensor:
    """Make a new tensor, which shares memory with `source`, a view of the root of `source`.

    `frame` is the user's frame, if the caller knows it.
    """
    counter = source._counter
    if is_inference(counter):  # views of inference tensors are plain inference tensors (§I2)
        view._counter = INFERENCE_COUNTER
        return view
    if counter is None:
        counter = version_counter(source)
    view._counter = counter
    view._requires_grad = ASK
    parent = source._view
    if frame is None:
        frame = user_frame(sys._getframe(1))
    if parent is None:
        view._view = ViewRecord(
            source, creation, counter.value, (None, step), frame.f_code, frame.f_lasti
        )
    else:
        if parent.creation != Creation.PLAIN and (
            creation == Creation.PLAIN or parent.creation == Creation.INFERENCE
        ):
            creation = parent.creation
        view._view = ViewRecord(
            parent.base,
            creation,
            counter.value,
            (parent.replay, step),
            frame.f_code,
            frame.f_lasti,
        )
    return view


def alias(source: Tensor) -> Tensor:
    """Return a tensor on the same memory and counter without history: `detach()`."""
    if source._change is None:  # 0.1 us less than `showing`
        tensor = wrap(source._array)
    else:
        tensor = on_memory(memory_of(source), source._change)
    inference = is_inference(source._counter)
    tensor._counter = alias_counter() if inference else version_counter(source)
    return tensor


def alias_counter() -> Any:
    """Return the counter for a tensor that is to share an inference tensor's memory."""
    return INFERENCE_COUNTER if local.state.mode & INFERENCE else AliasCounter()


def replay(link: Any, base: Tensor) -> Tensor:
    """Make a view anew from `base` by running its view operators again (`ViewRecord.replay`)."""
    for function, arguments in _steps(link):
        base = function(base, *arguments)
    return base


def can_stride(view: Tensor, base: Tensor) -> bool:
    """Return whether strides alone express the view: not if it looks at memory as another dtype."""
    if view._change is not None or base._change is not None:
        return False
    return view._array.dtype is base._array.dtype


def regenerate(view: Tensor) -> None:
    """Give a view whose memory was written through another tensor its base's history (§V4)."""
    record = view._view
    base = record.base
    if view._grad_fn is None and not requires_grad(base):
        return
    refuse_view(view, direct=False)
    state = local.state
    mode = state.mode
    state.mode = 0
    try:
        fresh = remake(view, base) if requires_grad(base) else _remade_alone(view, base)
    finally:
        state.mode = mode
    if view._grad_fn is not None and fresh._grad_fn is not None:
        move_retained(view._grad_fn, view._output_nr, fresh._grad_fn, fresh._output_nr)
    view._grad_fn = fresh._grad_fn
    view._output_nr = fresh._output_nr
    record.version = view._counter.value


def remake(view: Tensor, base: Tensor) -> Tensor:
    """Return a recorded view of `base` with the geometry of `view`."""
    if local.state.view_replay:
        return replay(view._view.replay, base)
    if can_stride(view, base):
        return _as_strided(base, view._array)
    if base._change is not None:
        return replay(view._view.replay, base)
    return _remade_in_steps(view._view.replay, base)


def _remade_alone(view: Tensor, base: Tensor) -> Tensor:
    """Return a recorded view of a base that has lost its history (§V17): it leads nowhere."""
    stand_in = alias(base)
    stand_in._requires_grad = True
    fresh = remake(view, stand_in)
    node: Any = fresh._grad_fn
    while node._edges[0] is not stand_in:
        node = node._edges[0]
    node._edges, node._edge_nrs = (None,), (0,)
    return fresh


def _as_strided(base: Tensor, array: np.ndarray) -> Tensor:
    """Return a recorded view of `base` with the geometry of `array`, on the same memory."""
    view: Tensor = base.as_strided(array.shape, element_strides(array), storage_offset(array))
    return view


def _remade_in_steps(link: Any, base: Tensor) -> Tensor:
    """Run the view operators again, with a stride view for each that only looks at memory.

    Those before the first that shows other values (another dtype, conjugates) are joined into one.
    """
    shown = wrap(base._array)
    waiting = changed = False
    for function, arguments in _steps(link):
        following = _unrecorded(function, shown, arguments)
        if _meaning(following) != _meaning(shown):
            if waiting:
                base = _as_strided(base, shown._array)
                waiting = False
            base = function(base, *arguments)
            changed = True
        elif changed:
            base = _as_strided(base, memory_of(following))
        else:
            waiting = True
        shown = following
    return base


def _meaning(tensor: Any) -> tuple[Any, Any]:
    """Return how a tensor looks at its memory."""
    return memory_of(tensor).dtype, tensor._change


def _steps(link: Any) -> list[Any]:
    """Return the view operators that lead from a base to a view, with their arguments."""
    steps = []
    while link is not None:
        link, step = link
        if step is None:
            raise RuntimeError("This view cannot be made again from its base.")
        steps.append(step)
    steps.reverse()
    return steps


# --- writing in place ------------------------------------------------------------------------


_MOVE_BOTH = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {} block (if you don't "
    "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
_REASONS = {
    Creation.NO_GRAD: _MOVE_BOTH.format("no_grad"),
    Creation.INFERENCE: _MOVE_BOTH.format("inference_mode"),
    Creation.MULTIPLE: " This view is the output of a function that returns multiple views. Such "
    "functions do not allow the output views to be modified inplace. You should replace the "
    "inplace operation by an out-of-place one.",
    Creation.FUNCTION: " This view was created inside a custom Function (or because an input was "
    "returned as-is) and the autograd logic to handle view+inplace would override the custom "
    "backward associated with the custom Function, leading to incorrect gradients. This behavior "
    "is forbidden. You can fix this by cloning the output of the custom Function.",
}


def refuse_view(view: Tensor, direct: bool) -> None:
    """Raise if the way in which a view was made forbids writing it (V10 to V14)."""
    record = view._view
    creation = record.creation
    if creation == Creation.PLAIN:
        return
    what = "is being" if direct else "its base or another view of its base has been"
    node = view._grad_fn
    output = "" if node is None else f"Output {view._output_nr} of {node._forward_name()}"
    if node is not None and creation in (Creation.MULTIPLE, Creation.FUNCTION):
        text = f"{output} is a view and {what} modified inplace."
    else:
        text = f"{output} is a view of a view which was" if output else "A view was"
        if creation == Creation.INFERENCE:
            text += f" created in inference mode and {what} modified inplace in normal mode."
        else:
            text += f" created in no_grad mode and {what} modified inplace with grad mode enabled."
    place = describe((record.code, record.offset))
    raise RuntimeError(f"{text}{_REASONS[creation]}\nThe view was made at {place}")


def refuse_inference(tensor: Tensor, state: State) -> None:
    """Raise if the tensor was made in inference mode and may not be written now (§I4)."""
    if tensor._counter is INFERENCE_COUNTER and not state.mode & INFERENCE:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def check_inplace(
    tensor: Tensor, others_require_grad: bool, state: State, last: bool = True
) -> bool:
    """Return whether a write to `tensor` must be recorded; raise where it is forbidden (V9 to V16).

    `last` says that nothing else will be checked, so a write to an inference tensor is refused
    here.
    """
    if last:
        refuse_inference(tensor, state)
    if state.mode & (NO_GRAD | INFERENCE):
        return False
    own = wants_grad(tensor)
    if not (own or others_require_grad):
        return False
    if tensor._view is not None:
        refuse_view(tensor, direct=True)
        base = tensor._view.base
        if own and base.is_leaf:
            place = describe((tensor._view.code, tensor._view.offset))
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                f"operation.\nThe view was made at {place}"
            )
    if own and tensor.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    return True


def rebase_history(tensor: Tensor, node: Node, nr: int = 0) -> None:
    """Make output `nr` of `node`, which wrote the tensor, the tensor's history."""
    record = tensor._view
    if record is None:
        move_retained(tensor._grad_fn, tensor._output_nr, node, nr)
        set_history(tensor, node, nr)
        return
    base = record.base
    copy_slices = CopySlices(base, tensor, node)
    move_retained(base._grad_fn, base._output_nr, copy_slices, 0)
    set_history(base, copy_slices)
    regenerate(tensor)


def move_retained(old: Node | None, nr: int, new: Node, new_nr: int) -> None:
    """Move `retain_grad` with the tensor to its new node; hooks stay at the old one (§H9)."""
    if old is not None and old._extra is not None and nr in old._extra.retained:
        new._rarely().retained[new_nr] = old._extra.retained.pop(nr)


class CopySlices(BuiltinNode):
    """The history of a base after a write through a view: the written part goes through `fn`.

    Works on Tensors in both modes, since it consists of views and a write itself.
    """

    _public_name = "torch::autograd::CopySlices"
    _saves = True

    __slots__ = ("base_strides", "fn", "steps", "view_offset", "view_shape", "view_strides")

    def __init__(self, base: Tensor, view: Tensor, fn: Node) -> None:
        edge, nr = gradient_edge(base)
        self._edges = (edge, *fn._edges[1:])
        self._edge_nrs = (nr, *fn._edge_nrs[1:])
        state = local.state
        self._sequence = state.sequence
        state.sequence += 1
        self._status = LIVE
        self._shape = base._array.shape
        self._dtype = base._array.dtype
        self._code, self._offset = fn._code, fn._offset
        self._extra = None
        self.fn = fn
        self.steps = None if can_stride(view, base) else view._view.replay
        self.view_shape = view._array.shape
        self.view_strides = element_strides(view._array)
        self.view_offset = storage_offset(view._array) - storage_offset(base._array)
        self.base_strides = element_strides(base._array)

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        return run_through_tensors(self, grads)

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        return self._compute(grads[0], [each is not None for each in self._edges])

    def _run_partly(self, grads: list[Any], needs: Sequence[bool], tensors: bool) -> Sequence[Any]:
        if tensors:
            return self._compute(grads[0], needs)
        return run_unrecorded(self, [wrap(grads[0])], needs)

    def _freed_error(self) -> RuntimeError:
        """Return the error of a second pass, which `saved` words."""
        raise NotImplementedError

    def _compute(self, grad: Tensor, needs: Sequence[bool]) -> Sequence[Any]:
        if self._status == FREED:
            raise self._freed_error()
        whole = grad.new_empty_strided(self._shape, self.base_strides)
        whole.copy_(grad)
        if self.steps is None:
            part = whole.as_strided(self.view_shape, self.view_strides, self.view_offset)
        else:
            part = replay(self.steps, whole)
        inner = self._run_inner(part.clone(), needs)
        if needs[0]:
            if inner[0] is None:
                part.zero_()
            else:
                part.copy_(inner[0])
        return (whole if needs[0] else None, *inner[1:])

    def _run_inner(self, grad: Tensor, needs: Sequence[bool]) -> Sequence[Any]:
        """Return the gradients of the operator that wrote the view."""
        fn = self.fn
        inner = [needs[0] and fn._edges[0] is not None, *needs[1:]]
        if local.state.mode & NO_GRAD:
            return fn._run_partly([grad], inner, True)
        extra = fn._rarely()
        extra.within = self
        try:
            return fn._run_partly([grad], inner, True)
        finally:
            extra.within = None

    def view_edge(self) -> tuple[Node | None, int]:
        """Return where the gradient of the written view goes, which the operator may have saved."""
        whole = wrap(empty_with(self._shape, self.base_strides, self._dtype))
        set_history(whole, self)
        if self.steps is None:
            view = whole.as_strided(self.view_shape, self.view_strides, self.view_offset)
        else:
            view = replay(self.steps, whole)
        return gradient_edge(view)

    def _release(self, place: Place) -> None:
        self._status = FREED
        self._freed_at = place
        self.fn._release(place)


def run_through_tensors(node: Node, grads: list[Any]) -> Sequence[Any]:
    """Run a node that computes on Tensors in a pass that computes on arrays."""
    return run_unrecorded(node, [None if grad is None else wrap(grad) for grad in grads])


def run_unrecorded(
    node: Node, grads: list[Any], needs: Sequence[bool] | None = None
) -> Sequence[Any]:
    """Run a node on Tensors without recording, perhaps for some edges only; return arrays."""
    state = local.state
    before = state.mode & NO_GRAD
    state.mode |= NO_GRAD
    try:
        if needs is None:
            results = node._run_tensors(grads)
        else:
            results = node._run_partly(grads, needs, True)
    finally:
        state.mode = state.mode & ~NO_GRAD | before
    return [None if result is None else result._array for result in results]
