"""Node: one recorded operation, the unit of the backward graph.

Owns: edges, output metadata, hooks and the release of saved values.  Knows only the hook handles
and the dtypes: it never sees Tensor or the engine.

A node points to the nodes of its inputs (`edges`), never to its outputs, so that dropping the last
output frees the graph by reference counting alone (I7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, ClassVar, NamedTuple

from taper import dtypes
from taper.autograd.handles import HookDict, RemovableHandle
from taper.autograd.meta import VersionCounter
from taper.device import device

# Node.status
LIVE = 0
FREED = 1  # backward ran and dropped the saved values
PACKED = 2  # a saved value went through a pack hook or was looked at

# The number of an edge that holds a leaf itself instead of its AccumulateGrad, which is made only
# when somebody looks at it: finding it costs a recorded operation 40 ns an edge.
LEAF = -1

_BACKWARD = re.compile(r"(.*)Backward(\d?)")

Place = tuple[CodeType | None, int]  # a user's line: code object and instruction offset (D6)


class NodeExtra:
    """What few nodes have: hooks, retained gradients, the metadata dict."""

    __slots__ = (
        "metadata",
        "post_hooks",
        "pre_hooks",
        "retained",
        "saved",
        "tangents",
        "tensor_hooks",
        "watchers",
        "within",
    )

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self.tensor_hooks: dict[int, HookDict] = {}  # by output number
        self.retained: dict[int, Any] = {}  # output number -> weak reference to the tensor
        self.pre_hooks: HookDict | None = None
        self.post_hooks: HookDict | None = None
        self.watchers: list[Callable[[], None]] = []  # the library's own post-hooks
        self.saved: dict[str, Any] = {}  # name -> SavedValue, once looked at or packed
        self.tangents: dict[int, Any] = {}  # number of a saved output -> record of its tangent
        self.within: Any = None  # the CopySlices that runs this node as its part


class InputMetadata(NamedTuple):
    """What a node knows about one output of the forward operation."""

    shape: list[int]
    dtype: dtypes.dtype
    device: device
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


class Node:
    """A step of the backward graph, named like PyTorch's, with edges to the next steps.

    Subclasses provide `_run(grads)` on arrays and `_run_tensors(grads)` on Tensors (used under
    `create_graph=True`); both return one gradient or None for each edge.
    """

    __slots__ = (
        "_code",
        "_dtype",
        "_edge_nrs",
        "_edges",
        "_extra",
        "_freed_at",
        "_module",
        "_offset",
        "_sequence",
        "_shape",
        "_status",
    )

    _edges: tuple[Any, ...]  # nodes, None, or leaves (with the number LEAF)
    _edge_nrs: tuple[int, ...]
    _sequence: int  # order of recording, within a thread
    _status: int
    _shape: tuple[int, ...]  # of output 0; nodes with more outputs keep theirs in `rest`
    _dtype: Any
    _code: CodeType | None  # with `offset`: the user's line (D6)
    _offset: int
    _extra: NodeExtra | None
    _module: Any  # weak reference to the module whose forward recorded the node, or None
    _freed_at: Place  # the line of the pass that freed the saved values; only with status FREED

    _public_name: ClassVar[str | None] = None
    _output_count: ClassVar[int] = 1
    _without_grad: frozenset[int] = frozenset()  # outputs that are not differentiable
    _unseen_outputs: ClassVar[frozenset[int]] = frozenset()  # those of them that hooks do not see
    _saves: ClassVar[bool] = False  # whether `_release` has something to do
    _takes_real_part: ClassVar[bool] = True  # a complex gradient of a real input is allowed (§E18)
    # If all gradients are None the node does not run, and None goes on (§E15).
    _passes_undefined: ClassVar[bool] = True

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        raise NotImplementedError(f"{self.name()} has no backward computation")

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        raise NotImplementedError(f"{self.name()} has no differentiable backward computation")

    def _run_once(self, grads: list[Any], place: Place) -> Sequence[Any]:
        """Call `_run`, then `_release`."""
        results = self._run(grads)
        if self._saves:
            self._release(place)
        return results

    def _run_partly(self, grads: list[Any], needs: Sequence[bool], tensors: bool) -> Sequence[Any]:
        """Run like the other two, for a pass that needs some of the edges; may compute all."""
        return self._run_tensors(grads) if tensors else self._run(grads)

    def _release(self, place: Place) -> None:
        """Drop the saved values; `place` is the line of the pass that ran without retaining."""

    @classmethod
    def _class_name(cls) -> str:
        return cls._public_name or cls.__name__

    def name(self) -> str:
        """Return the name that PyTorch gives the node."""
        return self._class_name()

    def _forward_name(self) -> str:
        """Return what PyTorch's errors call the operation of this node: `Add`, `Sum1`."""
        match = _BACKWARD.fullmatch(self._class_name())
        return self._class_name() if match is None else match[1] + match[2].removesuffix("0")

    def _output_counter(self, nr: int) -> VersionCounter:
        """Return the version counter of output `nr`; a node that saved it shares its own."""
        return VersionCounter()

    def _saves_output(self, nr: int) -> bool:
        """Return whether the forward output `nr` is among the saved values."""
        return False

    def _output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        """Return shape and NumPy dtype of the forward output `nr`; a dtype may be None."""
        return self._shape, self._dtype

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        known = [self._output_metadata(nr) for nr in range(self._output_count)]
        return tuple(
            InputMetadata(list(shape), dtypes.FROM_NUMPY[dtype], device("cpu"))
            for shape, dtype in known
            if dtype is not None
        )

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple(zip(self._nodes_ahead(), self._edge_nrs, strict=True))

    def _nodes_ahead(self) -> tuple[Node | None, ...]:
        """Return the nodes that the edges lead to; edges that held a leaf now hold its node."""
        if LEAF in self._edge_nrs:
            self._edges = tuple(
                each._accumulator(self._sequence) if nr == LEAF else each
                for each, nr in zip(self._edges, self._edge_nrs, strict=True)
            )
            self._edge_nrs = tuple(0 if nr == LEAF else nr for nr in self._edge_nrs)
        return self._edges

    @property
    def metadata(self) -> dict[str, Any]:
        return self._rarely().metadata

    @property
    def requires_grad(self) -> bool:
        return True

    def _rarely(self) -> NodeExtra:
        """Return the record of what few nodes have, made on first use."""
        if self._extra is None:
            self._extra = NodeExtra()
        return self._extra

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; it may replace the former."""
        extra = self._rarely()
        if extra.post_hooks is None:
            extra.post_hooks = HookDict()
        return extra.post_hooks.add(fn)

    def register_prehook(self, fn: Callable[[Any], Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; it may replace them."""
        extra = self._rarely()
        if extra.pre_hooks is None:
            extra.pre_hooks = HookDict()
        return extra.pre_hooks.add(fn)

    def _register_hook_dict(self, tensor: Any) -> None:
        """Run the hooks of `tensor._backward_hooks` at this node."""
        if not hasattr(tensor, "_backward_hooks"):
            raise TypeError("_register_hook_dict expected a variable")
        self._rarely().tensor_hooks[tensor.output_nr] = tensor._backward_hooks

    def _sequence_nr(self) -> int:
        return self._sequence

    def _set_sequence_nr(self, sequence: int) -> None:
        if not isinstance(sequence, int):
            raise TypeError("an integer is required")
        if sequence < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if sequence >= 2**64:
            raise OverflowError("int too big to convert")
        self._sequence = sequence

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"
