"""Saved values: what a node keeps for its backward, and every way in which using it can fail.

A node of the operator table keeps its values in slots and reads them at full speed.  As soon as a
value is packed or looked at, it moves into a `SavedValue` (status PACKED), which knows hooks.
Custom Functions keep SavedValues from the start.

Note [Saved outputs]: a node must not own its output (I7).  So a saved output is the bare array and
the version counter it shares with the tensor; reading it makes a new tensor with the node as
`grad_fn`.  A saved input is the Tensor itself, and comes back as the same object.

Note [Packed values]: a value that a hook packed has lost its place in the graph, so the SavedValue
keeps where the gradient of the original goes.  Unpacking gives a new tensor at that place; a leaf's
stand-in shares the accumulator of the leaf, so gradients still end in the leaf (§S15).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper import dtypes
from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.callers import described, module_of, origin
from taper.autograd.meta import (
    INFERENCE_SAVED,
    DetachedCounter,
    DetachedVersion,
    VersionCounter,
    is_inference,
)
from taper.autograd.node import FREED, PACKED, Node
from taper.autograd.overrides import dispatches
from taper.autograd.provenance import describe
from taper.autograd.state import ANOMALY, NO_GRAD, local
from taper.autograd.views import (
    CopySlices,
    alias,
    gradient_edge,
    meta_of,
    requires_grad,
    set_history,
    version_counter,
)
from taper.tensor import Tensor, wrap

Hook = Callable[[Any], Any]

FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling backward."
)
DETACHED_TEXT = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)
PACK_WRITES_TEXT = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)


# Where PyTorch sends those who look for the line.  They are part of the text, which programs
# compare; `tracebacks` shows an error that nobody caught without them, since the lines follow.
_HINTS = {
    True: " Hint: the backtrace further above shows the operation that failed to compute its "
    "gradient. The variable in question was changed in there or anywhere later. Good luck!",
    False: " Hint: enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).",
}


# The version of a saved Python number, which has no counter.
NUMBER_VERSION = -1


# --- errors ----------------------------------------------------------------------------------


def freed_error(node: Node) -> RuntimeError:
    """Return the error for a graph without saved values: who recorded, freed and still uses it.

    What ties the pass to an earlier one is the oldest part of its way to `node`: a result that was
    recorded before the earlier pass ran, used by a node that was recorded since.
    """
    text = FREED_TEXT
    if node._code is not None:
        text += f"\n{node._class_name()} was recorded {origin(node)}"
    freed_at = getattr(node, "_freed_at", None)
    if freed_at is None:
        return RuntimeError(text)
    code, offset, sequence, state = freed_at
    text += f"\nIts saved values were freed by the backward pass at {describe((code, offset))}"
    task = local.state.graph_task
    if task is not None and state is local.state:
        running = local.state.current_node  # the node itself, or the one that runs it as its part
        text += _tie([root for root, _, _ in task.roots], running or node, sequence)
    return RuntimeError(text)


CopySlices._freed_error = freed_error  # type: ignore[assignment,method-assign]


def _tie(roots: list[Node], freed: Node, sequence: int) -> str:
    """Return what connects the roots of a pass with a node that an earlier pass freed."""
    way = _way(roots, freed)
    if not way or way[0]._sequence < sequence:
        return (
            "\nThis pass goes through it again, and was recorded before that one: let the earlier "
            "pass retain the graph, or run one pass over the sum of what both start from."
        )
    older = next(index for index, node in enumerate(way) if node._sequence < sequence)
    user, shared = way[older - 1], way[older]
    nr = next(nr for node, nr in user.next_functions if node is shared)
    shape, dtype = shared._output_metadata(nr)
    kind = dtypes.FROM_NUMPY[dtype] if dtype is not None else "tensor"
    return (
        f"\nThe two passes share the result of {shared._class_name()} ({kind} {list(shape)}), "
        f"recorded before the earlier one {origin(shared)}\n"
        f"and used since by {user._class_name()} {origin(user)}\n"
        "Record it anew for each pass, or detach() it where the second one begins."
    )


def _way(roots: list[Node], target: Node) -> list[Node]:
    """Return the nodes of a path from a root to the target, both included."""
    before: dict[Node, Node | None] = dict.fromkeys(roots)
    stack = list(roots)
    while stack and target not in before:
        node = stack.pop()
        for following, _ in node.next_functions:
            if following is not None and following not in before:
                before[following] = node
                stack.append(following)
    way: list[Node] = []
    step = target if target in before else None
    while step is not None:
        way.append(step)
        step = before[step]
    return way[::-1]


def modified_error(
    node: Node | None,
    array: np.ndarray,
    producer: Node | None,
    nr: int,
    counter: Any,
    expected: int,
) -> RuntimeError:
    """Return the error for a saved tensor that was written since: who saved it and who wrote it."""
    if isinstance(counter, DetachedCounter) and not isinstance(expected, DetachedVersion):
        return RuntimeError(DETACHED_TEXT)
    kind = dtypes.backend_type_name(dtypes.FROM_NUMPY[array.dtype])
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{kind} {list(array.shape)}]"
    )
    if producer is not None and nr not in producer._without_grad:
        text += f", which is output {nr} of {producer._forward_name()},"
    text += f" is at version {int(counter.value)}; expected version {int(expected)} instead."
    text += _HINTS[bool(local.state.mode & ANOMALY)]
    if node is not None and node._code is not None:
        text += f"\nIt was saved by {node._class_name()} {origin(node)}"
    if counter.code is not None:
        text += f"\nand overwritten {_written_at(node, producer, counter)}"
    return RuntimeError(text)


def _written_at(node: Node | None, producer: Node | None, counter: Any) -> str:
    """Return the line of a write, with its node and module if it was recorded."""
    place = describe((counter.code, counter.offset))
    if node is not None and node._code and place == describe((node._code, node._offset)):
        place = "the same line"
    task = local.state.graph_task
    writers = []
    for each in () if task is None or producer is None else task.reached_nodes():
        if each._code is counter.code and each._offset == counter.offset and each is not node:
            if any(end is producer for end in each._edges):
                writers.append(each)
    module = module_of(writers[0]) if len(writers) == 1 else None
    if module is None:
        return f"at {place}"
    return f"by {writers[0]._class_name()} in {described(module)} at {place}"


# --- one saved tensor ------------------------------------------------------------------------


class SavedValue:
    """One saved tensor in the general form: the value, or what a hook packed it into."""

    __slots__ = (
        "array",
        "counter",
        "edge",
        "freed",
        "is_output",
        "output_nr",
        "packed",
        "tensor",
        "unpack_hook",
        "version",
    )

    def __init__(self, tensor: Tensor | None, is_output: bool = False, output_nr: int = 0) -> None:
        self.tensor = None if is_output else tensor
        self.is_output = is_output
        self.output_nr = output_nr
        self.freed = False
        self.packed: Any = None
        self.unpack_hook: Hook | None = None
        self.edge: tuple[Node, int] | None = None  # Note [Packed values]
        self.array: np.ndarray | None = None
        self.counter: Any = None
        self.version = 0
        if tensor is not None:
            if is_inference(tensor._counter):
                raise RuntimeError(INFERENCE_SAVED)
            self.counter = version_counter(tensor)
            self.version = self.counter.value
            self.array = tensor._array

    @property
    def is_none(self) -> bool:
        return self.array is None and self.unpack_hook is None and not self.freed

    def pack(self, pack: Hook, unpack: Hook, shown: Tensor) -> None:
        """Replace the value by what `pack(shown)` returns."""
        before = self.counter.value
        state = local.state
        mode = state.mode
        state.mode = mode | NO_GRAD
        try:
            packed = pack(shown)
        finally:
            state.mode = mode
        if self.counter.value != before:
            raise RuntimeError(PACK_WRITES_TEXT)
        if self.tensor is not None and requires_grad(self.tensor):
            node, nr = gradient_edge(self.tensor)
            self.edge = None if node is None else (node, nr)
        self.packed = packed
        self.unpack_hook = unpack
        self.tensor = self.array = None

    def without_history(self) -> Tensor:
        """Return the value as a tensor that is not part of the graph."""
        if self.tensor is not None:
            return alias(self.tensor)
        tensor = wrap(_required(self.array))
        tensor._counter = self.counter
        return tensor

    def unpack(self, node: Node | None) -> Tensor | None:
        """Return the value as a version-checked Tensor; an output needs its node for that."""
        if node is None and self.is_output:
            raise RuntimeError(DETACHED_TEXT)
        if self.freed:
            raise freed_error(_required(node))
        if self.unpack_hook is not None:
            return self._unpacked(node)
        if self.array is None:
            return None
        if self.counter.value != self.version:
            tensor = self.tensor
            producer, nr = (node, self.output_nr) if tensor is None else _producer(tensor)
            raise modified_error(node, self.array, producer, nr, self.counter, self.version)
        if self.is_output:
            return as_output(self.array, _required(node), self.output_nr, self.counter)
        return self.tensor

    def _unpacked(self, node: Node | None) -> Tensor:
        value = _required(self.unpack_hook)(self.packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(value).__name__}"
            )
        if self.is_output and dispatches(type(value)):  # its array says nothing
            if local.state.mode & NO_GRAD:
                return value
            shown = value.detach()
            shown._requires_grad, shown._grad_fn, shown._output_nr = True, node, self.output_nr
            return shown
        if self.is_output:
            counter = version_counter(value)
            return as_output(value._array, _required(node), self.output_nr, counter)
        if self.edge is None:
            return alias(value) if requires_grad(value) else value
        stand_in = alias(value)
        target, nr = self.edge
        if isinstance(target, AccumulateGrad):
            stand_in._requires_grad = True
            meta_of(stand_in).accumulator = lambda: target  # nobody else may hold the accumulator
        else:
            set_history(stand_in, target, nr)
        return stand_in

    def release(self) -> None:
        self.freed = True
        self.tensor = self.array = self.packed = self.unpack_hook = self.edge = None


def _producer(tensor: Tensor) -> tuple[Node | None, int]:
    """Return the node that made a tensor; for a view that was written since, its present node."""
    requires_grad(tensor)
    return tensor._grad_fn, tensor._output_nr


def _required(value: Any) -> Any:
    if value is None:
        raise RuntimeError("the saved value is gone")
    return value


def as_output(array: np.ndarray, node: Node, nr: int, counter: VersionCounter | None) -> Tensor:
    """Return a new tensor that stands for output `nr` of `node` (Note [Saved outputs])."""
    tensor = wrap(array)
    tensor._counter = counter
    if nr in node._without_grad:
        return tensor
    tensor._requires_grad = True
    tensor._grad_fn = node
    tensor._output_nr = nr
    extra = node._extra
    if extra is not None:
        if nr in extra.tangents:
            kept, meta = extra.tangents[nr], meta_of(tensor)
            meta.tangent, meta.tangent_generation = kept.tangent, kept.tangent_generation
        if extra.within is not None:
            tensor._grad_fn, tensor._output_nr = extra.within.view_edge()
    return tensor


# --- what users see of it --------------------------------------------------------------------


class SavedTensor:
    """A saved tensor as users see it (`node._raw_saved_<name>`), to register pack and unpack hooks.

    >>> import taper
    >>> x = taper.tensor([2.0], requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda x: x.half(), lambda x: x.float())
    >>> y.backward()
    >>> x.grad, x.exp()
    (tensor([7.3906]), tensor([7.3891], grad_fn=<ExpBackward0>))
    """

    __slots__ = ("_node", "_value")

    _node: Node | None
    _value: SavedValue

    def __new__(cls, *arguments: Any) -> SavedTensor:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @property
    def data(self) -> Any:
        """The packed object if hooks were used, else the saved tensor; None once it is freed."""
        value = self._value
        if value.unpack_hook is not None:
            return value.packed
        if value.is_output and value.array is not None:
            return value.without_history()
        return value.tensor

    @property
    def unpack_hook(self) -> Any:
        return self._value.unpack_hook

    def unpack(self) -> Any:
        """Return the saved tensor."""
        return self._value.unpack(self._node)

    def register_hooks(self, pack_hook: Any = None, unpack_hook: Any = None) -> None:
        """Pack the value now with `pack_hook`; `unpack_hook` restores it at every use."""
        value = self._value
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types "
                "are supported:\n    1. (self: torch._C._autograd.SavedTensor, arg0: "
                "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked "
                f"with: {self!r}, {pack_hook!r}, {unpack_hook!r}"
            )
        if value.freed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if value.unpack_hook is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        if value.is_none:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        value.pack(pack_hook, unpack_hook, value.without_history())


def handle(node: Node | None, value: Any) -> Any:
    """Return the public handle of a saved value, or of each of several; `node` may be None."""
    if isinstance(value, tuple):
        return tuple(handle(node, each) for each in value)
    saved = object.__new__(SavedTensor)
    saved._node = node
    saved._value = value
    return saved


def make_saved_tensor(
    tensor: Tensor, is_output: bool, is_inplace_on_view: bool = False
) -> SavedTensor:
    """Return a saved tensor that no node holds, packed by the active hooks (§S12).

    >>> import taper
    >>> x = taper.ones(2)
    >>> taper._C._autograd._make_saved_tensor(x, is_output=False).unpack() is x
    True
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "_make_saved_tensor(): incompatible function arguments. The following argument types "
            "are supported:\n    1. (tensor: torch.Tensor, is_output: bool, is_inplace_on_view: "
            "bool = False) -> torch._C._autograd.SavedTensor\n\nInvoked with: "
            f"{tensor!r}; kwargs: is_output={is_output}"
        )
    value = SavedValue(tensor, is_output)
    hooks = local.state.saved_hooks
    if hooks:
        value.pack(*hooks[-1], tensor)
    saved: SavedTensor = handle(None, value)
    return saved


# --- the slots of table nodes ----------------------------------------------------------------


def general_form(node: Any, name: str) -> Any:
    """Move a slot of a table node into SavedValues, where the node reads it from then on."""
    extra = node._rarely()
    known = extra.saved.get(name)
    if known is not None:
        return known
    kept = getattr(node, f"kept_{name}", None)
    version: Any = getattr(node, f"version_{name}", 0)
    value: Any
    if node._status == FREED:
        value = SavedValue(None)
        value.freed = True
        return value
    if name in node.saved_output_names:
        nr = node.op.outputs.index(name)
        value = SavedValue(None, True, nr)
        if kept is not None:
            value.array, value.counter = kept, node._output_counter(nr)
            value.version = version
    elif isinstance(kept, tuple):
        value = tuple(_saved_input(*pair) for pair in zip(kept, version, strict=True))
    else:
        value = _saved_input(kept, version)
    extra.saved[name] = value
    setattr(node, f"kept_{name}", None)
    node._status = PACKED
    return value


def _saved_input(kept: Any, version: int) -> SavedValue:
    if kept is not None and not isinstance(kept, Tensor):
        kept, version = wrap(np.array(kept)), 0  # a Python number shows as a 0-d tensor
    value = SavedValue(kept)
    value.version = version
    return value


def read_saved(node: Any, name: str) -> Any:
    """Return a saved tensor (or number, or None) of a table node as a Tensor, with all checks."""
    extra = node._extra
    if extra is not None and name in extra.saved:
        value = extra.saved[name]
        if isinstance(value, tuple):
            return tuple(each.unpack(node) for each in value)
        tensor = value.unpack(node)
        number = getattr(node, f"version_{name}") == NUMBER_VERSION and tensor is not None
        return tensor.item() if number else tensor
    if node._status == FREED:
        raise freed_error(node)
    kept = getattr(node, f"kept_{name}")
    if kept is None:
        return None
    expected = getattr(node, f"version_{name}")
    if name in node.saved_output_names:
        nr = node.op.outputs.index(name)
        counter = node._output_counter(nr)
        if counter.value != expected:
            raise modified_error(node, kept, node, nr, counter, expected)
        return kept if isinstance(kept, Tensor) else as_output(kept, node, nr, counter)
    if isinstance(kept, tuple):
        return tuple(_checked(node, *pair) for pair in zip(kept, expected, strict=True))
    return _checked(node, kept, expected)


def _checked(node: Node, kept: Any, expected: int) -> Any:
    if isinstance(kept, Tensor):
        counter = kept._counter
        if counter is not None and counter.value != expected:
            raise modified_error(node, kept._array, *_producer(kept), counter, expected)
    return kept


def pack_saved(node: Any, hooks: tuple[Hook, Hook], outputs: Any) -> None:
    """Send everything that a fresh table node saved through the hooks of the active block (§S13).

    A hook sees the saved tensor itself.  The order is PyTorch's: by name, outputs last.
    """
    pack_inputs(node, hooks)
    pack_outputs(node, hooks, outputs)


def pack_inputs(node: Any, hooks: tuple[Hook, Hook]) -> None:
    """Send the saved inputs through the hooks."""
    for name in sorted(node.saved_tensor_names):
        kept = getattr(node, f"kept_{name}")
        if not isinstance(kept, (Tensor, tuple)):
            continue  # numbers are never packed (§S3)
        value = general_form(node, name)
        for each in value if isinstance(value, tuple) else (value,):
            if not each.is_none:
                each.pack(*hooks, each.tensor)


def pack_outputs(node: Any, hooks: tuple[Hook, Hook], outputs: Any) -> None:
    """Send the saved outputs through the hooks."""
    for name in node.saved_output_names:
        value = general_form(node, name)
        if not value.is_none:
            value.pack(*hooks, outputs[value.output_nr])
