"""Frames: one for each checkpointed call, with the way to compute again what was not kept.

Owns: what stands in for saved tensors (§P6), recomputation, and its checks (§P7, §P8, §P11).  It
uses saved-tensor hooks only and knows neither random numbers nor what the call computes.

Note [Who owns what]: a node keeps a Holder instead of a saved tensor; a Holder owns its frame and
the values recomputed for it; a frame owns the inputs of the call and refers to its Holders weakly.
Nothing leads back to the graph, so all of it dies with the nodes (§W1).  Recomputed values are
filed weakly under the pass that needs them: values that a pass has not used end with it.

Note [Nested calls]: the inputs of a call go through the hooks that are active around it.  Inside
another checkpoint these are the outer frame's, so the inputs of the inner call are recomputed, too,
and are dropped again with the pass (§P9).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.grad_mode import enable_grad
from taper.autograd.graph import saved_tensors_hooks
from taper.autograd.provenance import here
from taper.autograd.saved import SavedValue
from taper.autograd.state import SAVED_HOOKS, State, local
from taper.autograd.views import alias
from taper.tensor import Tensor

PUBLIC_MODULE = "taper.utils.checkpoint"

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint-debug mode globally.
"""
_MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
    f"original forward pass.\n{_TIP}"
)
_UNPACKED_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
    "once. {hint}If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
    "Otherwise please open an issue with details on your use case."
)
_OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order "
    "to compute gradients) is not allowed while under the "
    "torch.utils.checkpoint.GraphExecGroup context. "
)


class CheckpointError(RuntimeError):
    """The recomputation did not give what the original forward saved."""

    __module__ = PUBLIC_MODULE


class _StopRecomputationError(Exception):
    """Ends a recomputation that has made everything that is needed (§P7)."""


# --- which pass asks -------------------------------------------------------------------------


class GraphExecGroup:
    """Let several backward calls in a block share one recomputation of each checkpoint.

    The calls must not need the same saved values.

    >>> import taper
    >>> from taper.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x, y = taper.ones(1, requires_grad=True), taper.ones(1, requires_grad=True)
    >>> def two(x, y):
    ...     print("computed")
    ...     return x * x, y * y
    >>> one, other = checkpoint(two, x, y, use_reentrant=False)
    computed
    >>> with GraphExecGroup():
    ...     one.backward()
    ...     other.backward()
    computed
    """

    __module__ = PUBLIC_MODULE

    def __enter__(self) -> GraphExecGroup:
        active = _groups.get(local.state)
        if active is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {active}"
            )
        _groups[local.state] = self
        return self

    def __exit__(self, *exception: object) -> None:
        _groups.pop(local.state, None)

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _groups.get(local.state)


# By state, not by thread: a deeply nested pass runs on a thread of its own with the same state.
_groups: weakref.WeakKeyDictionary[State, GraphExecGroup] = weakref.WeakKeyDictionary()


class _OutsideAnyPass:
    """Stands for the pass when a saved value is read outside of any pass."""


def _current_pass() -> Any:
    """Return what recomputed values are filed under."""
    return GraphExecGroup._get_current_group() or local.state.graph_task or _OutsideAnyPass()


# --- frames ----------------------------------------------------------------------------------


class Holder:
    """What a node keeps instead of a saved tensor."""

    __slots__ = ("__weakref__", "frame", "position", "values")

    def __init__(self, frame: Frame, position: int) -> None:
        self.frame = frame
        self.position = position
        self.values: weakref.WeakKeyDictionary[Any, Tensor] | None = None  # by pass

    def keep(self, value: Tensor, asked_by: Any) -> None:
        if self.values is None:
            self.values = weakref.WeakKeyDictionary()
        self.values[asked_by] = value

    def take(self, asked_by: Any) -> Tensor:
        """Return and drop the recomputed value: a pass needs it once."""
        value = None if self.values is None else self.values.pop(asked_by, None)
        if value is None:
            hint = _OVERLAP if isinstance(asked_by, GraphExecGroup) else ""
            raise CheckpointError(_UNPACKED_TWICE.format(hint=hint))
        return value


class _Saver:
    """Who saved the inputs of a call, for the error about one that was written since."""

    def __init__(self) -> None:
        self._code, self._offset = here()

    @staticmethod
    def _class_name() -> str:
        return "checkpoint"


class Frame:
    """One checkpointed call: its inputs, who waits for its saved tensors, and how to run it again.

    `run(*inputs)` computes the call again.  `explain(error)` may replace a CheckpointError.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        early_stop: bool,
        checks_metadata: bool,
        explain: Callable[[CheckpointError], CheckpointError] | None,
    ) -> None:
        self.run = run
        self.early_stop = early_stop
        self.explain = explain
        self.completed = False  # whether the original forward has ended
        self.holders: list[weakref.ref[Holder]] = []
        self.metadata: list[tuple[Any, ...]] | None = [] if checks_metadata else None
        self.recomputed: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def keep_inputs(self, inputs: Sequence[Any]) -> None:
        """Save the tensors among the inputs as a node would (Note [Nested calls])."""
        state = local.state
        self.saver: Any = _Saver()
        self.inputs = list(inputs)
        for position, value in enumerate(inputs):
            if isinstance(value, Tensor):
                saved = SavedValue(value)
                if state.mode & SAVED_HOOKS and state.saved_hooks:
                    saved.pack(*state.saved_hooks[-1], value)
                self.inputs[position] = saved

    def pack(self, tensor: Tensor) -> Holder:
        """Keep only the place of a tensor: the pack hook of the original forward."""
        holder = Holder(self, len(self.holders))
        self.holders.append(weakref.ref(holder))
        if self.metadata is not None:
            self.metadata.append(_metadata(tensor))
        return holder

    def recompute(self, asked_by: Any) -> None:
        """Run the call again and hand what it saves to the holders that still wait."""
        inputs = [
            each.unpack(self.saver) if isinstance(each, SavedValue) else each
            for each in self.inputs
        ]
        recording = _Recording(self, asked_by)
        try:
            with saved_tensors_hooks(recording.pack, _identity), enable_grad():
                self.run(*inputs)
        except _StopRecomputationError:
            pass
        recording.check()
        self.recomputed[asked_by] = recording.count


class _Recording:
    """What one recomputation of a frame has saved so far."""

    def __init__(self, frame: Frame, asked_by: Any) -> None:
        self.frame = frame
        self.asked_by = asked_by
        self.count = 0
        self.differences: list[str] = []

    def pack(self, tensor: Tensor) -> Tensor:
        """Keep a tensor for its holder: the pack hook of a recomputation."""
        frame, position = self.frame, self.count
        self.count += 1
        value = alias(tensor)
        expected = len(frame.holders)
        if position >= expected and frame.completed and not frame.early_stop:
            raise CheckpointError(_MORE)
        if position < expected:
            holder = frame.holders[position]()
            if holder is not None:
                holder.keep(value, self.asked_by)
                self._compare(position, tensor)
        if frame.early_stop and self.count >= expected:
            raise _StopRecomputationError
        return value  # the recomputation may run its own graph inside

    def _compare(self, position: int, tensor: Tensor) -> None:
        known = self.frame.metadata
        if known is not None and known[position] != _metadata(tensor):
            self.differences.append(
                f"tensor at position {position}:\n"
                f"saved metadata: {_shown(known[position])}\n"
                f"recomputed metadata: {_shown(_metadata(tensor))}\n"
            )

    def check(self) -> None:
        """Raise if the tensors saved are not those that the original forward saved."""
        expected = len(self.frame.holders)
        if self.count < expected:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {expected}\n"
                f"Number of tensors saved during recomputation: {self.count}.\n{_TIP}"
            )
        if self.differences:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{''.join(self.differences)}."
                f"\n{_TIP}"
            )


def unpack(holder: Holder) -> Tensor:
    """Return the value, computed again if need be: the unpack hook of the original forward."""
    frame = holder.frame
    asked_by = _current_pass()
    try:
        if frame.recomputed.get(asked_by, 0) <= holder.position:
            frame.recompute(asked_by)
        return holder.take(asked_by)
    except CheckpointError as error:
        if frame.explain is None:
            raise
        raise frame.explain(error) from error


def _identity(value: Tensor) -> Tensor:
    return value


def _metadata(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype, tensor.device


def _shown(metadata: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("shape", "dtype", "device"), metadata, strict=True))
