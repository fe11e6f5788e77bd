"""Saved values: what a node keeps for its backward, and every way in which using it can fail.

A node of the operator table keeps its values in slots and reads them at full speed.  As soon as
somebody packs or looks at one, it moves into a `SavedValue` (status PACKED), which knows hooks.
Custom Functions keep SavedValues from the start.

Note [Saved outputs]: a node must not own its output (I7).  So a saved output is the bare array and
the version counter it shares with the tensor; reading it makes a new tensor with the node as
`grad_fn`.  A saved input is the Tensor itself, and comes back as the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper import dtypes
from taper.autograd.meta import INFERENCE_COUNTER, INFERENCE_SAVED, VersionCounter
from taper.autograd.node import FREED, PACKED, Node
from taper.autograd.provenance import describe
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import alias, version_counter
from taper.tensor import Tensor, wrap

FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling backward."
)


def freed_error(node: Node) -> RuntimeError:
    """The error for using a graph whose saved values are gone."""
    place = describe((node.code, node.offset)) if node.code is not None else "an unknown line"
    return RuntimeError(f"{FREED_TEXT}\n{node.name()} was recorded at {place}")


def modified_error(
    node: Node, array: np.ndarray, producer: Node | None, nr: int, counter: Any, expected: int
) -> RuntimeError:
    """The error for a saved tensor that was written since; names who saved and who wrote."""
    kind = dtypes.type_name(dtypes.FROM_NUMPY[array.dtype])
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{kind} {list(array.shape)}]"
    )
    if producer is not None:
        text += f", which is output {nr} of {producer.forward_name()},"
    text += f" is at version {counter.value}; expected version {expected} instead."
    text += (
        " Hint: enable anomaly detection to find the operation that failed to compute its "
        "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    if node.code is not None:
        text += f"\nIt was saved by {node.name()} at {describe((node.code, node.offset))}"
    if counter.code is not None:
        text += f"\nand overwritten at {describe((counter.code, counter.offset))}"
    return RuntimeError(text)


class SavedValue:
    """One saved tensor in the general form: the value or what a hook packed it into."""

    __slots__ = (
        "array",
        "counter",
        "edge",
        "freed",
        "is_output",
        "leaf",
        "output_nr",
        "packed",
        "requires_grad",
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
        self.unpack_hook: Callable[[Any], Any] | None = None
        self.leaf = False
        self.requires_grad = False
        self.edge: Any = None
        self.array: np.ndarray | None = None
        self.counter: Any = None
        self.version = 0
        if tensor is None:
            return
        if tensor._counter is INFERENCE_COUNTER:
            raise RuntimeError(INFERENCE_SAVED)
        self.counter = version_counter(tensor)
        self.version = self.counter.value
        self.array = tensor._array

    @property
    def is_none(self) -> bool:
        return self.array is None and self.unpack_hook is None and not self.freed

    def pack(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Replace the value by what `pack` returns."""
        original = self.tensor if self.tensor is not None else wrap(_required(self.array))
        state = local.state
        mode = state.mode
        state.mode = mode | NO_GRAD
        before = self.counter.value
        try:
            packed = pack(alias(original) if self.is_output else original)
        finally:
            state.mode = mode
        if self.counter.value != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook can not be modified by in-place operations as this can lead "
                "to unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )
        if self.tensor is not None:
            tensor = self.tensor
            self.requires_grad = tensor.requires_grad
            self.leaf = tensor.is_leaf
            # A leaf is kept by its accumulator's edge, a result by its node: not by itself.
            self.edge = (tensor.grad_fn, tensor._output_nr) if not self.leaf else tensor
        self.packed = packed
        self.unpack_hook = unpack
        self.tensor = self.array = None

    def unpack(self, node: Node) -> Tensor | None:
        """The value as a Tensor, version-checked."""
        if self.freed:
            raise freed_error(node)
        if self.unpack_hook is not None:
            return self._unpack_with_hook(node)
        if self.array is None:
            return None
        if self.counter.value != self.version:
            producer, nr = (node, self.output_nr)
            if not self.is_output:
                producer = self.tensor._grad_fn if self.tensor is not None else None  # type: ignore[assignment]
                nr = self.tensor._output_nr if self.tensor is not None else 0
            raise modified_error(node, self.array, producer, nr, self.counter, self.version)
        if self.is_output:
            return as_output(self.array, node, self.output_nr, self.counter)
        return self.tensor

    def _unpack_with_hook(self, node: Node) -> Tensor:
        state = local.state
        mode = state.mode
        state.mode = mode | NO_GRAD
        try:
            value = _required(self.unpack_hook)(self.packed)
        finally:
            state.mode = mode
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(value).__name__}"
            )
        if self.is_output:
            return as_output(value._array, node, self.output_nr, None)
        if not self.requires_grad:
            return value
        result = wrap(value._array)
        result._requires_grad = True
        if self.leaf:
            # The gradient of the unpacked leaf belongs to the original one.
            result._meta = self.edge._meta
            if self.edge._meta is None:
                return value if value is self.edge else _as_leaf_of(result, self.edge)
        else:
            result._grad_fn, result._output_nr = self.edge
        return result

    def release(self) -> None:
        self.freed = True
        self.tensor = self.array = self.packed = self.unpack_hook = self.edge = None


def _as_leaf_of(result: Tensor, leaf: Tensor) -> Tensor:
    leaf.grad_fn  # noqa: B018 - brings a view up to date
    return leaf if leaf._array is result._array else result


def _required(value: Any) -> Any:
    if value is None:
        raise RuntimeError("the saved value is gone")
    return value


def as_output(array: np.ndarray, node: Node, nr: int, counter: VersionCounter | None) -> Tensor:
    """A new tensor that stands for output `nr` of `node` (Note [Saved outputs])."""
    tensor = wrap(array)
    tensor._requires_grad = True
    tensor._grad_fn = node
    tensor._output_nr = nr
    tensor._counter = counter
    return tensor


class SavedTensor:
    """`node._raw_saved_<name>`: the handle through which users register pack and unpack hooks."""

    __slots__ = ("_node", "_value")

    def __new__(cls, *arguments: Any) -> SavedTensor:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @property
    def data(self) -> Any:
        """The packed object if hooks were used, else the saved tensor."""
        value = self._value
        if value.freed:
            raise freed_error(self._node)
        if value.unpack_hook is not None:
            return value.packed
        if value.is_output and value.array is not None:
            tensor = wrap(value.array)
            tensor._counter = value.counter
            return tensor
        return value.tensor

    @property
    def unpack_hook(self) -> Any:
        return self._value.unpack_hook

    def unpack(self) -> Any:
        return self._value.unpack(self._node)

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack the value at once with `pack_hook`; `unpack_hook` brings it back at every use."""
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
        value.pack(pack_hook, unpack_hook)


def handle(node: Node, value: SavedValue) -> SavedTensor:
    """The public handle of a saved value."""
    saved = object.__new__(SavedTensor)
    saved._node = node
    saved._value = value
    return saved


def general_form(node: Any, name: str) -> SavedValue:
    """Move a slot of a table node into its SavedValue; from then on the node reads it there."""
    extra = node.rarely()
    value = extra.saved.get(name)
    if value is None:
        is_output = name in node.saved_output_names
        kept = getattr(node, f"kept_{name}")
        value = SavedValue(None, is_output, node.op.outputs.index(name) if is_output else 0)
        if node.status == FREED:
            value.freed = True
        elif is_output:
            value.array = kept
            value.counter = node.output_counter(value.output_nr)
            value.version = getattr(node, f"version_{name}")
        elif isinstance(kept, Tensor):
            value.tensor, value.array = kept, kept._array
            value.counter = version_counter(kept)
            value.version = getattr(node, f"version_{name}")
        else:
            return value
        extra.saved[name] = value
        if node.status != FREED:
            node.status = PACKED
            setattr(node, f"kept_{name}", None)
    return value


def read_saved(node: Any, name: str) -> Any:
    """A saved tensor (or number, or None) of a table node as a Tensor, with all checks."""
    extra = node.extra
    if extra is not None and name in extra.saved:
        return extra.saved[name].unpack(node)
    if node.status == FREED:
        raise freed_error(node)
    kept = getattr(node, f"kept_{name}")
    if kept is None:
        return None
    if name in node.saved_output_names:
        nr = node.op.outputs.index(name)
        counter = node.output_counter(nr)
        expected = getattr(node, f"version_{name}")
        if counter.value != expected:
            raise modified_error(node, kept, node, nr, counter, expected)
        return as_output(kept, node, nr, counter)
    versions = getattr(node, f"version_{name}")
    if isinstance(kept, tuple):
        return tuple(_checked(node, *pair) for pair in zip(kept, versions, strict=True))
    return _checked(node, kept, versions)


def _checked(node: Node, kept: Any, expected: int) -> Any:
    if not isinstance(kept, Tensor):
        return kept
    counter = kept._counter
    if counter is not None and counter.value != expected:
        raise modified_error(node, kept._array, kept._grad_fn, kept._output_nr, counter, expected)
    return kept


def pack_saved(node: Any, hooks: tuple[Callable[[Any], Any], Callable[[Any], Any]]) -> None:
    """Send everything a fresh table node saved through the hooks of the active block (S13)."""
    for name in (*node.saved_tensor_names, *node.saved_output_names):
        value = general_form(node, name)
        if not value.is_none and not value.freed:
            value.pack(*hooks)
