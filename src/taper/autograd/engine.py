"""The engine: one backward pass over the graph, in plain Python on the caller's thread.

Knows nodes and how to wrap a gradient in a Tensor for hooks; not operators.

I1  A node runs once, when no gradient is still to come (`missing[node] == 0`).
I2  What a node receives for an output is the sum of all that was sent; None means zero.
I3  Of the ready nodes the one recorded last runs first; AccumulateGrad as soon as it is ready.
I4  An edge is counted down even if its gradient is None, or the pass would stall.
I5  No recursion anywhere: depth is limited by memory only.
I6  A gradient that was handed to several receivers is borrowed: nobody adds into it in place.

Gradients are arrays; with `create_graph` they are Tensors and every formula is recorded (D5).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy import ndarray

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.hooks import run_post_hooks, run_pre_hooks
from taper.autograd.node import Node
from taper.autograd.state import NO_GRAD, local
from taper.tensor import Tensor, wrap

Root = tuple[Node, int, Any]

_task_ids = itertools.count()


class GraphTask:
    """One pass: what it was asked for, and what belongs to it while it runs."""

    __slots__ = (
        "accumulate",
        "callbacks",
        "captured",
        "create_graph",
        "id",
        "keep_graph",
        "needed",
        "outer",
        "reached",
        "wanted",
    )

    def __init__(self, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        self.id = next(_task_ids)
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        # node -> {output number: positions in the list of results}
        self.wanted: dict[Node, dict[int, list[int]]] | None = None
        self.needed: set[Node] | None = None
        self.captured: dict[int, Any] = {}
        self.callbacks: list[Callable[[], None]] = []
        self.outer: GraphTask | None = None
        self.reached: dict[Node, int] = {}  # every node this pass can reach


def count_incoming(roots: Iterable[Node]) -> dict[Node, int]:
    """How many edges lead to each node that can be reached from the roots."""
    missing: dict[Node, int] = {}
    stack = []
    for node in roots:
        if node not in missing:
            missing[node] = 0
            stack.append(node)
    while stack:
        for following in stack.pop().edges:
            if following is not None:
                if following in missing:
                    missing[following] += 1
                else:
                    missing[following] = 1
                    stack.append(following)
    return missing


def nodes_leading_to(targets: Iterable[Node], roots: Iterable[Node]) -> set[Node]:
    """The nodes on a path from a root to a target, the targets included."""
    leading = set(targets)
    visited: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in roots]
    while stack:
        node, finished = stack.pop()
        if finished:
            if any(each in leading for each in node.edges if each is not None):
                leading.add(node)
        elif node not in visited:
            visited.add(node)
            stack.append((node, True))
            stack.extend((each, False) for each in node.edges if each is not None)
    return leading & visited


def run(roots: Sequence[Root], task: GraphTask) -> dict[int, Any]:
    """Run a pass; returns what was captured for `task.wanted`."""
    state = local.state
    mode, outer, current = state.mode, state.graph_task, state.current_node
    task.outer = outer
    state.graph_task = task
    state.mode = (mode & ~NO_GRAD) if task.create_graph else (mode | NO_GRAD)
    try:
        if task.wanted is None:
            _loop(roots, task, state)
        else:
            start = [node for node, _, _ in roots]
            task.needed = nodes_leading_to(task.wanted, start)
            _loop(roots, task, state)
        for callback in _drain(task.callbacks):
            callback()
    finally:
        state.mode, state.graph_task, state.current_node = mode, outer, current
    return task.captured


def _drain(callbacks: list[Callable[[], None]]) -> Iterable[Callable[[], None]]:
    while callbacks:  # a callback may queue another
        yield callbacks.pop(0)


def _loop(roots: Sequence[Root], task: GraphTask, state: Any) -> None:
    task.reached = missing = count_incoming([node for node, _, _ in roots])
    pending: dict[Node, list[Any]] = {}
    owned: set[tuple[Node, int]] = set()
    ready: list[tuple[int, int, Node]] = []
    tick = 0
    keep, tensors, needed = task.keep_graph, task.create_graph, task.needed
    for node, nr, grad in roots:
        deliver(pending, owned, node, nr, grad, tensors)
    for node in pending:
        if not missing[node]:
            heappush(ready, (-node.sequence, tick, node))
            tick += 1
    while ready:
        node = heappop(ready)[2]
        grads = pending.pop(node)
        state.current_node = node
        if node.extra is not None or node.__class__ is AccumulateGrad:
            grads = run_pre_hooks(node, grads, tensors, task)
        if needed is not None and _capture(node, grads, task):
            results: Sequence[Any] = ()
        elif grads[0] is None and len(grads) == 1 and node.edges:
            results = (None,) * len(node.edges)
        elif tensors:
            results = node.apply_tensors(grads)
        else:
            results = node.apply(grads)
        if not keep:
            node.release()
        if node.extra is not None and node.extra.post_hooks:
            results = run_post_hooks(node, results, grads, tensors)
        grads = None  # type: ignore[assignment] # AccumulateGrad looks who else holds a gradient
        position = 0
        for following, nr in zip(node.edges, node.edge_nrs, strict=True):
            if following is not None:
                grad = results[position] if results else None
                if grad is not None:
                    if (
                        grad.__class__ is not ndarray
                        or grad.shape != following.shape
                        or grad.dtype is not following.dtype
                        or nr
                    ):
                        grad = fit(grad, following, nr, node, position)
                    buffer = pending.get(following)
                    if buffer is None:
                        buffer = pending[following] = [None] * following.output_count
                    if buffer[nr] is None:
                        buffer[nr] = grad
                    else:
                        deliver(pending, owned, following, nr, grad, tensors)
                elif following not in pending:
                    pending[following] = [None] * following.output_count
                left = missing[following] - 1
                missing[following] = left
                if not left:
                    if needed is None or following in needed:
                        heappush(ready, (-following.sequence, tick, following))
                        tick += 1
                    else:
                        pending.pop(following, None)
            position += 1
        results = grad = buffer = None  # type: ignore[assignment]


def deliver(
    pending: dict[Node, list[Any]],
    owned: set[tuple[Node, int]],
    node: Node,
    nr: int,
    grad: Any,
    tensors: bool,
) -> None:
    """Add a gradient to what a node has received for its output `nr` (I2, I6)."""
    buffer = pending.get(node)
    if buffer is None:
        buffer = pending[node] = [None] * node.output_count
    present = buffer[nr]
    if present is None:
        buffer[nr] = grad
    elif tensors:
        buffer[nr] = present + grad
    elif (node, nr) in owned:
        np.add(present, grad, out=present)
    else:
        buffer[nr] = np.asarray(np.add(present, grad))
        owned.add((node, nr))


def _capture(node: Node, grads: list[Any], task: GraphTask) -> bool:
    """Keep the gradients that were asked for; True if the node itself need not run."""
    wanted = task.wanted or {}
    if node not in wanted:
        return False
    for nr, positions in wanted[node].items():
        for position in positions:
            task.captured[position] = grads[nr]
    if isinstance(node, AccumulateGrad):
        return not task.accumulate
    needed = task.needed or ()
    return not any(each in needed for each in node.edges if each is not None)


def fit(grad: Any, target: Node, nr: int, source: Node, position: int) -> Any:
    """A gradient in the shape and dtype of what it is the gradient of (E18)."""
    shape, dtype = target.output_metadata(nr)
    if isinstance(grad, Tensor):
        array = grad._array
    else:
        array = grad = np.asarray(grad)
    if array.shape != shape:
        if not _expands_to(shape, array.shape):
            raise RuntimeError(
                f"Function {source.name()} returned an invalid gradient at index {position} - got "
                f"{list(array.shape)} but expected shape compatible with {list(shape)}"
            )
        grad = grad.sum_to_size(shape) if isinstance(grad, Tensor) else sum_to(grad, shape)
    if array.dtype is not dtype and array.dtype != dtype:
        if array.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        grad = grad.to(_dtype_of(dtype)) if isinstance(grad, Tensor) else grad.astype(dtype)
    return grad


def _dtype_of(dtype: np.dtype) -> Any:
    return wrap(np.empty(0, dtype)).dtype


def _expands_to(shape: Sequence[int], wide: Sequence[int]) -> bool:
    if len(shape) > len(wide):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(wide), strict=False))


def sum_to(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sum away what broadcasting has added, so that the result has `shape`."""
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + dim for dim, length in enumerate(shape) if length == 1 and array.shape[lead + dim] != 1
    )
    return np.asarray(np.add.reduce(array, axis=axes, keepdims=True)).reshape(shape)
