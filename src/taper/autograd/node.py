"""Node: one recorded operation, the unit of the backward graph.

Owns: edges, output metadata, hooks and the release of saved values.  Knows nobody but the hook
handles: it never sees Tensor or the engine.

A node points to the nodes of its inputs (`edges`), never to its outputs, so that dropping the
last output frees the graph by reference counting alone (I7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, ClassVar

from taper.autograd.handles import HookDict, RemovableHandle
from taper.autograd.meta import VersionCounter

# Node.status
LIVE = 0
FREED = 1  # backward ran and dropped the saved values
PACKED = 2  # some saved value went through a pack hook


class NodeExtra:
    """What few nodes have: hooks, retained gradients, the metadata dict."""

    __slots__ = ("metadata", "post_hooks", "pre_hooks", "retained", "saved", "tensor_hooks")

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self.tensor_hooks: dict[int, HookDict] = {}  # by output number
        self.retained: dict[int, Any] = {}  # output number -> weak reference to the tensor
        self.pre_hooks = HookDict()
        self.post_hooks = HookDict()
        self.saved: dict[str, Any] = {}  # name -> SavedTensor, once looked at or packed


class Node:
    """A step of the backward graph: callable, named like PyTorch's, with edges to what is next.

    Subclasses provide `apply(grads)` on arrays and `apply_tensors(grads)` on Tensors (used under
    `create_graph=True`); both return one gradient or None for each edge.
    """

    __slots__ = (
        "code",
        "dtype",
        "edge_nrs",
        "edges",
        "extra",
        "offset",
        "sequence",
        "shape",
        "status",
    )

    edges: tuple[Node | None, ...]
    edge_nrs: tuple[int, ...]
    sequence: int  # order of recording, within a thread
    status: int
    shape: tuple[int, ...]  # of output 0; nodes with more outputs keep theirs in `rest`
    dtype: Any
    code: CodeType | None  # with `offset`: the user's line (D6)
    offset: int
    extra: NodeExtra | None

    public_name: ClassVar[str | None] = None
    output_count: ClassVar[int] = 1

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        raise NotImplementedError(f"{self.name()} has no backward computation")

    def apply_tensors(self, grads: list[Any]) -> Sequence[Any]:
        raise NotImplementedError(f"{self.name()} has no differentiable backward computation")

    def release(self) -> None:
        """Drop the saved values; called when the node has run and the graph is not retained."""

    def name(self) -> str:
        return self.public_name or type(self).__name__

    def forward_name(self) -> str:
        """The operation this node belongs to, as PyTorch's errors call it: `Add`, `Sum1`."""
        return self.name().replace("Backward", "").removesuffix("0")

    def output_counter(self, nr: int) -> VersionCounter:
        """The version counter of output `nr`; a node that saved the output shares its own."""
        return VersionCounter()

    def output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        """Shape and NumPy dtype of the forward output `nr`."""
        return self.shape, self.dtype

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple(zip(self.edges, self.edge_nrs, strict=True))

    @property
    def metadata(self) -> dict[str, Any]:
        return self.rarely().metadata

    @property
    def requires_grad(self) -> bool:
        return True

    def rarely(self) -> NodeExtra:
        """The record of rare things, made on first use."""
        if self.extra is None:
            self.extra = NodeExtra()
        return self.extra

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run; it may replace the former."""
        return self.rarely().post_hooks.add(fn)

    def register_prehook(self, fn: Callable[[Any], Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; it may replace them."""
        return self.rarely().pre_hooks.add(fn)

    def _register_hook_dict(self, hooks: Any) -> None:
        self.rarely().tensor_hooks[0] = hooks

    def _sequence_nr(self) -> int:
        return self.sequence

    def _set_sequence_nr(self, sequence: int) -> None:
        self.sequence = sequence

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"
