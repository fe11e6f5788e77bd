"""Replays: what a program returns becomes what the function would have returned.

Owns: the form of the results (tensors, numbers, nested), and the node that stands for a whole
captured forward pass in the graph, with its backward program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.foreign import place_of
from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.backward import grad
from taper.autograd.builtin import BuiltinNode
from taper.autograd.grad_mode import enable_grad
from taper.autograd.meta import VersionCounter
from taper.autograd.node import FREED, LEAF, LIVE, Place
from taper.autograd.saved import freed_error
from taper.autograd.state import local
from taper.autograd.views import gradient_edge
from taper.device import device
from taper.program.form import Value
from taper.program.reads import Read, plain_number
from taper.tensor import Tensor, wrap
from taper.utils._pytree import tree_map_only

_CUDA = device("cuda", 0)


class Result:
    """One tensor among the results: where its array comes from, and which history it has."""

    __slots__ = ("flag", "leaf", "live", "node", "number", "position", "tensor", "version")

    def __init__(self, number: int, tensor: Tensor) -> None:
        self.number = number  # among the results of the program
        self.tensor: Tensor | None = None  # itself, if it existed before the call
        self.leaf: Any = None  # the leaf whose gradient it is
        self.position = -1  # among the arguments, if it is one
        self.node = tensor._grad_fn
        if self.node is not None:
            let_go_of_leaves(self.node)
        self.flag = bool(tensor.requires_grad)  # of a view it may have to be asked for
        self.live = -1  # number of its gradient in the backward program
        counter = tensor._counter
        self.version = counter.value if isinstance(counter, VersionCounter) else 0


def let_go_of_leaves(root: Any) -> None:
    """Let a graph that is kept lead to leaves, and not to the nodes that stand for them.

    A gradient arrives at a leaf with less ado while nobody holds its AccumulateGrad (D11).
    """
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        pairs = list(zip(node._edges, node._edge_nrs, strict=True))
        if any(isinstance(each, AccumulateGrad) for each in node._edges):
            pairs = [
                (each.variable, LEAF)
                if isinstance(each, AccumulateGrad) and each._extra is None
                else (each, nr)
                for each, nr in pairs
            ]
            node._edges = tuple([each for each, _ in pairs])
            node._edge_nrs = tuple([nr for _, nr in pairs])
        for each, nr in pairs:
            if nr != LEAF and each is not None and each not in seen:
                seen.add(each)
                stack.append(each)


class Number:
    """A number that the function read with `item()`, and returned."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def plain_results(result: Any) -> Any:
    """The results of the recorded call, with ordinary numbers."""
    return tree_map_only(Read, plain_number, result)


class CapturedBackward(BuiltinNode):
    """The backward of a captured forward pass: one program for all of it."""

    __slots__ = ("again", "inputs", "program", "rest", "saved", "versions")

    _saves = True
    _passes_undefined = True

    def __init__(
        self,
        program: BackwardProgram,
        tensors: Sequence[Tensor],
        saved: list[np.ndarray],
        place: Place,
    ) -> None:
        state = local.state
        self.program, self.saved = program, saved
        self.inputs = tensors
        self.again: Any = None
        self._code, self._offset = place
        self._status = LIVE
        self._extra = None
        self._sequence = state.sequence
        state.sequence += 1
        (self._shape, self._dtype), *self.rest = program.outputs
        edges = [_edge(each) for each in program.tensors(tensors)]
        self._edges = tuple([node for node, _ in edges])
        self._edge_nrs = tuple([nr for _, nr in edges])
        self.versions = [(each, _version(each)) for each in program.watched(tensors)]

    @property
    def _output_count(self) -> int:  # type: ignore[override]
        return 1 + len(self.rest)

    def _output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        found: tuple[tuple[int, ...], Any] = self.rest[nr - 1] if nr else (self._shape, self._dtype)
        return found

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        if self._status == FREED:
            raise freed_error(self)
        for tensor, version in self.versions:
            now = _version(tensor)
            if now != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: [{tensor.type()} {list(tensor.shape)}] is at version "
                    f"{now}; expected version {version} instead. It is a tensor that a captured "
                    "function has used."
                )
        return self.program.run(grads, self.saved)

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        """Differentiate the function itself, called once more: for second derivatives."""
        if self._status == FREED:
            raise freed_error(self)
        if self.again is None:
            raise NotImplementedError(
                "a captured function that writes tensors has no second derivative; call the "
                "function itself (`captured.eager`) where create_graph=True is needed"
            )
        outputs = self.again()
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
        leaves = self.program.tensors(self.inputs)
        with enable_grad():
            return grad([o for o, _ in pairs], leaves, [g for _, g in pairs], None, True, True)

    def _release(self, place: Place) -> None:
        self.saved, self.inputs, self.again = [], (), None
        self._status = FREED
        self._freed_at = place


def _version(tensor: Tensor) -> int:
    counter = tensor._counter
    return counter.value if isinstance(counter, VersionCounter) else 0


def _edge(tensor: Tensor) -> tuple[Any, int]:
    """Where the gradient of a tensor goes."""
    if tensor._grad_fn is None and tensor._view is None:
        return tensor, LEAF
    return gradient_edge(tensor)


class BackwardProgram:
    """The gradients of leaves and arguments as a program of those of the results."""

    def __init__(
        self,
        runner: Any,
        outputs: list[tuple[tuple[int, ...], Any]],
        leaves: list[Value],
        reached: list[set[int]],
    ) -> None:
        self.runner = runner
        self.outputs = outputs  # shape and dtype of what is differentiated
        self.leaves = leaves
        self.reached = reached  # for each leaf: which outputs lead to it
        program = runner.program
        self._read = [each.tensor for each in program.externals]
        self._given = [
            each.index for each in program.inputs if each.origin == "input" and each.index >= 0
        ]

    def tensors(self, given: Sequence[Tensor]) -> list[Tensor]:
        """The leaves and arguments that the program has gradients of."""
        return [
            each.tensor if each.origin == "external" else given[each.index] for each in self.leaves
        ]

    def watched(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The tensors that the backward reads and that others may write meanwhile."""
        return [*self._read, *[tensors[nr] for nr in self._given]]

    def _laid_out(self, grad: np.ndarray) -> np.ndarray:
        """A gradient that lies as the program expects; eager mode's kernels take any as it is."""
        return grad if self.runner.exact or grad.flags.c_contiguous else grad.copy()

    def _zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if self.runner.program.is_on_device:
            return place_of(_CUDA).filled(shape, 0, dtype, _CUDA)
        return np.zeros(shape, dtype)

    def run(self, grads: Sequence[Any], saved: list[np.ndarray]) -> list[Any]:
        """Run for these gradients; where one is None, zeros stand for it."""
        given = [
            self._zeros(shape, dtype) if grad is None else self._laid_out(grad)
            for grad, (shape, dtype) in zip(grads, self.outputs, strict=True)
        ]
        found: list[Any] = self.runner.run([*given, *saved])
        there = {nr for nr, grad in enumerate(grads) if grad is not None}
        if len(there) == len(grads):
            return found
        return [
            grad if there & reached else None
            for grad, reached in zip(found, self.reached, strict=True)
        ]


def tensor_of(result: Result, array: np.ndarray, node: Any) -> Tensor:
    """A result of a replay as a tensor."""
    tensor = wrap(array)
    if result.version:
        tensor._counter = VersionCounter()
        tensor._counter.value = result.version
    if result.live >= 0:
        tensor._requires_grad = True
        tensor._grad_fn, tensor._output_nr = node, result.live
    elif result.node is not None:
        tensor._requires_grad = True
        tensor._grad_fn = result.node
    else:
        tensor._requires_grad = result.flag
    return tensor
