"""The engine: one backward pass over the graph, in plain Python on the caller's thread.

Knows nodes and how to wrap a gradient in a Tensor for hooks; not operators.

I1  A node runs once, when no gradient is still to come (`entry[0] == 0`).
I2  What a node receives for an output is the sum of all that was sent; None means zero.
I3  Of the ready nodes the one recorded last runs first; AccumulateGrad as soon as it is ready.
I4  An edge is counted down even if its gradient is None, or the pass would stall.
I5  No recursion over the graph: depth is limited by memory only.
I6  A gradient that was handed to several receivers is borrowed: nobody adds into it in place.

Gradients are arrays; with `create_graph` they are Tensors and every formula is recorded (D5).
A pass started inside another (from a hook or a custom backward) runs to its end first (§R1).
"""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy import add, ndarray

from taper import dtypes
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.reduction import column_sums, sum_array
from taper.arrays.strides import broadcast_clash
from taper.autograd import anomaly_mode as anomaly
from taper.autograd.accumulate import (
    LAST,
    AccumulateGrad,
    accumulate_simply,
    former_metadata,
)
from taper.autograd.cuts import IN_BACKWARD
from taper.autograd.hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from taper.autograd.meta import UNSET, nobody
from taper.autograd.natively import count_incoming as count_natively
from taper.autograd.natively import first_gradient
from taper.autograd.node import FREED, LEAF, Node
from taper.autograd.pass_log import active_logger, log_node
from taper.autograd.provenance import user_frame
from taper.autograd.saved import freed_error
from taper.autograd.state import INFERENCE, NO_GRAD, SAVED_HOOKS, State, local
from taper.tensor import Tensor, is_key

Root = tuple[Node, int, Any]

# What a pass keeps for a node: how many gradients are still to come, those received for each
# output (a list, None before the first), and the outputs whose sum the pass itself has made; for
# a leaf in the place of its AccumulateGrad also the shape and dtype of its gradient.
Entry = list[Any]

# The third part of an entry of a node with one output, once the pass has made a sum for it.
SUMMED = frozenset({0})

_task_ids = itertools.count()

# Modes that a pass leaves as it found them, whatever the user's code in it does (§M6, §S18).
_OF_A_PASS = NO_GRAD | SAVED_HOOKS

# Passes inside passes before the next one gets a thread, and so a stack, of its own (§R2).
LEVELS_ON_A_THREAD = 20


class GraphTask:
    """One pass: what it was asked for, and what belongs to it while it runs."""

    # node -> {output number: positions in the list of results}, for a pass that is not for leaves
    wanted: dict[Node, dict[int, list[int]]] | None = None
    needed: set[Node] | None = None  # the nodes on a path to one that is wanted
    depth = 0  # how many passes this one is inside of
    outer: GraphTask | None = None  # the next of them
    recorder: Any = None  # of the profiler, if one is on
    log: Any = None  # the logger, if it takes a record for each node (§E29)
    roots: Sequence[Root] = ()
    reached: dict[Node, Entry]  # every node this pass can reach

    def __init__(self, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        self.id = next(_task_ids)
        self.keep_graph = keep_graph
        self.create_graph = create_graph  # or at least compute on Tensors, see `records`
        self.records = create_graph
        self.accumulate = accumulate
        self.captured: dict[int, Any] = {}
        self.callbacks: list[Callable[[], None]] = []
        # Who frees the graph, and since when: nodes recorded later belong to another pass.
        state = local.state
        frame = user_frame(sys._getframe(1))
        self.place: Any = (frame.f_code, frame.f_lasti, state.sequence, state)

    def will_run(self, node: Node) -> bool:
        """Whether this pass runs `node`, or has run it."""
        if self.needed is not None:
            return node in self.needed
        if node in self.reached or not isinstance(node, AccumulateGrad):
            return node in self.reached
        return is_key(node.variable) and node.variable in self.reached


def count_incoming(roots: list[Node]) -> dict[Node, Entry]:
    """An entry for each node that can be reached from the roots, with the edges that lead to it."""
    waiting, leaves = (count_natively or _count_in_python)(roots)
    for each in leaves:
        _enter_leaf(each, waiting)
    return waiting


def _edges_to_keys(node: Any) -> tuple[Any, ...]:
    """The edges of a node; a leaf that is no key has its AccumulateGrad there from now on."""
    edges: tuple[Any, ...] = node._edges
    for each in edges:
        if each is not None and not is_key(each):
            edges = node._nodes_ahead()
            break
    return edges


def _count_in_python(roots: list[Node]) -> tuple[dict[Any, Entry], list[Tensor]]:
    """The entries, and the leaves whose entry is not complete."""
    waiting: dict[Any, Entry] = {}
    stack: list[Any] = []
    known_leaves = []
    for node in roots:
        if node not in waiting:
            waiting[node] = [0, None, None]
            stack.append(node)
    while stack:
        node = stack.pop()
        edges = _edges_to_keys(node)
        if not edges and isinstance(node, Tensor):
            meta = node._meta
            if meta is None or (meta.accumulator is nobody and meta.grad_dtype is UNSET):
                waiting[node] += (node._array.shape, node._array.dtype)
            else:
                known_leaves.append(node)
        for following in edges:
            if following is not None:
                if following in waiting:
                    waiting[following][0] += 1
                else:
                    waiting[following] = [1, None, None]
                    stack.append(following)
    return waiting, known_leaves


def _enter_leaf(leaf: Tensor, waiting: dict[Any, Entry]) -> None:
    """Complete the entry of a leaf; it is that of its AccumulateGrad too, if that exists."""
    entry = waiting[leaf]
    meta = leaf._meta
    node = None
    if meta is not None:
        node = leaf._accumulator() if meta.grad_dtype is not UNSET else meta.accumulator()
    if node is None:
        entry += (leaf._array.shape, leaf._array.dtype)
        return
    if node in waiting:
        waiting[node][0] += entry[0]
        entry = waiting[leaf] = waiting[node]
    else:
        waiting[node] = entry
    entry[3:] = node._shape, node._dtype


def nodes_leading_to(targets: Iterable[Node], roots: Iterable[Node]) -> set[Node]:
    """The nodes on a path from a root to a target, the targets included."""
    leading = set(targets)
    visited: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in roots]
    while stack:
        node, finished = stack.pop()
        if finished:
            if any(each in leading for each in node._edges if each is not None):
                leading.add(node)
        elif node not in visited:
            visited.add(node)
            stack.append((node, True))
            stack.extend((each, False) for each in node._nodes_ahead() if each is not None)
    return leading & visited


def run(roots: Sequence[Root], task: GraphTask) -> dict[int, Any]:
    """Run a pass; returns what was captured for `task.wanted`."""
    state = local.state
    task.roots = roots
    outer = state.graph_task
    if outer is not None:
        task.depth = outer.depth + 1
        task.outer = outer
        if task.depth % LEVELS_ON_A_THREAD == 0:
            return _on_fresh_thread(roots, task, state)
    return _run(roots, task, state)


def _run(roots: Sequence[Root], task: GraphTask, state: State) -> dict[int, Any]:
    outer, current, hooks = state.graph_task, state.current_node, state.saved_hooks
    cut = state.cut
    before = state.mode & _OF_A_PASS
    state.graph_task = task
    state.mode = state.mode & ~NO_GRAD | (0 if task.records else NO_GRAD)
    if not task.records:
        state.cut = IN_BACKWARD
    try:
        if task.wanted is not None:
            task.needed = nodes_leading_to(task.wanted, [node for node, _, _ in roots])
        _loop(roots, task, state)
        state.current_node = None
        while task.callbacks:  # one may queue another
            task.callbacks.pop(0)()
    except Exception as error:
        if anomaly.enabled and state.current_node is not None:
            anomaly.report(state.current_node)
        if isinstance(error, AttributeError) and _freed_meanwhile(error, state.current_node):
            raise freed_error(state.current_node) from None
        if isinstance(error, ValueError) and (clash := _clash_of_sizes(error)) is not None:
            raise clash from error
        raise
    finally:
        state.mode = state.mode & ~_OF_A_PASS | before
        state.graph_task, state.current_node, state.saved_hooks = outer, current, hooks
        state.cut = cut
    return task.captured


def _on_fresh_thread(roots: Sequence[Root], task: GraphTask, state: State) -> dict[int, Any]:
    """Run a deeply nested pass where Python's limit on recursion counts anew (§R2)."""
    failures: list[BaseException] = []

    def work() -> None:
        local.state = state  # the thread stands in for its starter, which waits
        try:
            _run(roots, task, state)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures.pop()
    return task.captured


def _freed_meanwhile(error: AttributeError, node: Node | None) -> bool:
    """Whether generated code found a saved value gone: another thread runs the same graph (§R7)."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    generated = trace is not None and trace.tb_frame.f_code.co_filename.startswith("<op ")
    return generated and node is not None and node._status == FREED


def _clash_of_sizes(error: ValueError) -> RuntimeError | None:
    """PyTorch's words for what NumPy says when a saved tensor has got data of another shape."""
    text = str(error)
    if not text.startswith("operands could not be broadcast together with shapes"):
        return None
    shapes = [
        tuple(int(length) for length in each.split(",") if length)
        for each in re.findall(r"\(([\d,]*)\)", text)
    ]
    return broadcast_clash(shapes)


def _loop(roots: Sequence[Root], task: GraphTask, state: State) -> None:
    # Long, because a call for each node or edge costs more than the lines it would hide.
    waiting = task.reached = count_incoming([node for node, _, _ in roots])
    ready: list[tuple[int, int, Node]] = []
    tick = itertools.count()
    keep, tensors, needed, place = task.keep_graph, task.create_graph, task.needed, task.place
    recorder = task.recorder = state.recorder
    run_watched = run_carefully if recorder is None else recorder.evaluate
    log = task.log = active_logger()
    watched = needed is not None or recorder is not None or log is not None
    watched = watched or (anomaly.enabled and anomaly.check_nan)
    unseen = not (watched or tensors)  # so that leaves may do without their AccumulateGrad
    upcoming: Node | None = None  # the only ready node needs no heap
    upcoming_entry: Entry = []
    quick = None if state.mode & INFERENCE else first_gradient
    leaves: list[Any] = []  # those that the node that has just run was the last to reach
    if len(roots) == 1 and roots[0][0]._output_count == 1:
        upcoming, _, grad = roots[0]
        upcoming_entry = waiting[upcoming]
        upcoming_entry[1] = [grad]
    else:
        for node, nr, grad in roots:
            deliver(waiting[node], node, nr, grad, tensors)
        for node in dict.fromkeys([node for node, _, _ in roots]):
            if not waiting[node][0]:
                heappush(ready, (-node._sequence, next(tick), node))
    grad = None
    while ready or upcoming is not None:
        if upcoming is None:
            node = heappop(ready)[2]
            entry = waiting[node]
        else:
            node, upcoming = upcoming, None
            entry = upcoming_entry
        grads = entry[1]
        entry[1] = None
        state.current_node = node
        if watched or node._extra is not None or grads[0] is None or node._sequence == LAST:
            results = run_watched(node, grads, task)
            if results is None:
                continue
        else:
            if tensors:
                results = node._run_tensors(grads)
                if node._saves and not keep:
                    node._release(place)
            else:
                results = node._run(grads) if keep else node._run_once(grads, place)
            if node._extra is not None:  # a hook was registered while the node ran (§H10)
                results = run_post_hooks(node, fit_all(node, results), (), tensors)
        edge_nrs = node._edge_nrs
        position = -1
        for following in node._edges:  # by position: `zip` costs 0.3 us a node more
            position += 1
            if following is None:
                continue
            try:
                entry = waiting[following]
            except KeyError:  # the node of a leaf that somebody has asked for during the pass
                entry = waiting[following] = waiting[following.variable]
            grad = results[position]
            nr = edge_nrs[position]
            if grad is not None:
                if nr:
                    if nr > 0:
                        grad = fit(grad, following, nr, node, position)
                    elif (
                        grad.__class__ is not ndarray
                        or grad.dtype is not entry[4]
                        or grad.shape != entry[3]
                    ):
                        grad = fit(grad, following, nr, node, position)
                elif (
                    grad.__class__ is not ndarray
                    or grad.dtype is not following._dtype
                    or grad.shape != following._shape
                ):
                    grad = fit(grad, following, nr, node, position)
                if entry[1] is None and following._output_count == 1:
                    entry[1] = [grad]
                elif grad is None:
                    pass  # it would reach nobody
                elif entry[2] is SUMMED:
                    add(entry[1][0], grad, entry[1][0])
                else:
                    deliver(entry, following, nr, grad, tensors)
            left = entry[0] - 1
            entry[0] = left
            if not left and (needed is None or following in needed):
                if entry[1] is None:
                    entry[1] = [None] * following._output_count
                if nr < 0 and unseen:
                    leaves.append(following)
                elif upcoming is not None:
                    heappush(ready, (-upcoming._sequence, next(tick), upcoming))
                    upcoming = None
                    heappush(ready, (-following._sequence, next(tick), following))
                elif ready:
                    heappush(ready, (-following._sequence, next(tick), following))
                else:
                    upcoming, upcoming_entry = following, entry
        # AccumulateGrad looks who else holds a gradient.
        results = grads = grad = entry = None  # type: ignore[assignment]
        if leaves:
            for node in leaves:  # at once, which spares each the way through the heap
                entry = waiting[node]
                grads, entry[1] = entry[1], None
                if not (quick and quick(node, grads)) and not accumulate_simply(node, grads):
                    state.current_node = node
                    run_carefully(node, grads, task)
            leaves.clear()


def run_carefully(node: Node, grads: list[Any], task: GraphTask) -> Sequence[Any] | None:
    """Run a node with all that few nodes have; None if it was only asked for its gradients."""
    tensors = task.create_graph
    if isinstance(node, Tensor):  # a leaf, which few ask for its AccumulateGrad
        seen = tensors or task.recorder is not None or task.log is not None
        if not seen and accumulate_simply(node, grads):
            return ()
        node = node._accumulator()
        if node is None:
            return ()
        local.state.current_node = node
    extra = node._extra
    leaf_hooks = node.variable._meta.hooks if isinstance(node, AccumulateGrad) else None
    runs = task.needed is None or _runs(node, task)
    if runs and task.wanted is not None:  # what is asked for on the way is that before its hooks
        _capture(node, grads, task)
    if leaf_hooks or (extra is not None and (extra.tensor_hooks or extra.retained)):
        run_tensor_hooks(node, leaf_hooks, grads, tensors)
    if not runs:
        _capture(node, grads, task)
        return None
    observed = extra is not None and bool(extra.post_hooks)
    if extra is not None and extra.pre_hooks:
        grads = run_pre_hooks(node, grads, tensors)
    if task.log is not None:
        log_node(task.log, node, grads)
    needs = None if task.needed is None else needed_edges(node, task.needed)
    if grads[0] is None and node._passes_undefined and all([grad is None for grad in grads]):
        results: Sequence[Any] = (None,) * len(node._edges)
    elif task.recorder is not None:
        results = task.recorder.run_node(node, grads, tensors)
    elif needs is not None:
        results = node._run_partly(grads, needs, tensors)
    elif tensors:
        results = node._run_tensors(grads)
    else:
        results = node._run(grads)
    if node._saves and not task.keep_graph:
        node._release(task.place)
    if node._extra is not None and node._extra.post_hooks:
        # A hook registered while the node ran finds the gradients gone (§H10).
        results = run_post_hooks(node, fit_all(node, results), grads if observed else (), tensors)
    if anomaly.enabled and anomaly.check_nan:
        anomaly.refuse_nan(node, results)
    return results


def needed_edges(node: Node, needed: set[Node]) -> list[bool] | None:
    """Which edges of a node lead to what is wanted; None if all do, so that it runs as usual."""
    edges = node._edges
    needs = [each in needed for each in edges]
    return None if needs.count(False) == edges.count(None) else needs


def deliver(entry: Entry, node: Node, nr: int, grad: Any, tensors: bool) -> None:
    """Add a gradient to what a node has received for its output `nr` (I2, I6)."""
    nr = max(nr, 0)  # a leaf has one place
    grads = entry[1]
    if grads is None:
        grads = entry[1] = [None] * node._output_count
    present = grads[nr]
    if present is None:
        grads[nr] = grad
    elif tensors:
        grads[nr] = present + grad
    elif entry[2] is not None and nr in entry[2]:
        add(present, grad, present)
    else:
        total = grads[nr] = np.asarray(add(present, grad))
        steps = present.strides
        if steps != total.strides and 0 not in steps:  # the first decides, as in PyTorch
            grads[nr] = ELEMENTWISE(total, (present, grad))
        if len(grads) == 1:
            entry[2] = SUMMED
        else:
            entry[2] = {nr} if entry[2] is None else entry[2] | {nr}


def _capture(node: Node, grads: list[Any], task: GraphTask) -> None:
    """Keep the gradients of a node that were asked for."""
    for nr, positions in (task.wanted or {}).get(node, {}).items():
        for position in positions:
            task.captured[position] = grads[nr]


def _runs(node: Node, task: GraphTask) -> bool:
    """Whether a pass that is not for leaves runs a node, or only asks for its gradients."""
    needed = task.needed or ()
    if node not in needed:
        return False
    if task.accumulate or node not in (task.wanted or ()):
        return True  # in `backward(inputs=)` the nodes of the inputs run, for no edge if need be
    if isinstance(node, AccumulateGrad):
        return False
    return any(each in needed for each in node._edges if each is not None)


def fit_all(node: Node, results: Sequence[Any]) -> list[Any]:
    """What a node returned, each gradient fitted to where it goes."""
    return [
        grad if grad is None or following is None else fit(grad, following, nr, node, position)
        for position, (grad, following, nr) in enumerate(
            zip(results, node._edges, node._edge_nrs, strict=True)
        )
    ]


def fit(grad: Any, target: Node, nr: int, source: Node, position: int) -> Any:
    """A gradient in the shape and dtype of what it is the gradient of (§E18)."""
    if nr == LEAF:
        leaf: Any = target
        shape, dtype = leaf._array.shape, leaf._array.dtype
        if leaf._meta is not None:
            if leaf._meta.former is not None:
                shape, dtype = former_metadata(leaf, source._sequence)
            if leaf._meta.grad_dtype is not UNSET:
                dtype = leaf._accumulator()._dtype
    else:
        shape, dtype = target._output_metadata(nr)
    array = grad._array if isinstance(grad, Tensor) else np.asarray(grad)
    if array is grad and array.ndim == 2 and array.shape[1:] == shape and array.dtype is dtype:
        return column_sums(array)  # of a bias, in most cases
    if array.shape != shape:
        if isinstance(target, AccumulateGrad) and target.variable._meta.former is not None:
            shape = former_metadata(target.variable, source._sequence)[0]
        if not expands_to(shape, array.shape):
            if nr == LEAF and not _takes_gradients(leaf):
                return None  # it may have changed since in any way
            raise RuntimeError(
                f"Function {source._class_name()} returned an invalid gradient at index {position} "
                f"- got {list(array.shape)} but expected shape compatible with {list(shape)}"
            )
        grad = grad.sum_to_size(shape) if isinstance(grad, Tensor) else sum_to(array, shape)
    elif not isinstance(grad, Tensor):
        grad = array
    if array.dtype is not dtype and array.dtype != dtype and dtype is not None:
        if array.dtype.kind == "c" and dtype.kind != "c":
            if not source._takes_real_part:
                raise RuntimeError(
                    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                    "grad_is_complex) to be true, but got false.  (Could this error message be "
                    "improved?  If so, please report an enhancement request to PyTorch.)"
                )
            grad = grad.real
        if isinstance(grad, Tensor):
            grad = grad.to(dtypes.FROM_NUMPY[dtype])
        else:
            grad = grad.astype(dtype)
    return grad


def _takes_gradients(leaf: Tensor) -> bool:
    return bool(leaf._requires_grad if leaf._view is None else leaf._view.requires_grad)


def expands_to(shape: Sequence[int], wide: Sequence[int]) -> bool:
    if len(shape) > len(wide):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(wide), strict=False))


def sum_to(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sum away what broadcasting has added, so that the result has `shape`; half in float32."""
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + dim
        for dim, length in enumerate(shape)
        if length == 1 and array.shape[lead + dim] != 1
    )
    return np.asarray(sum_array(array, axes, True, array.dtype)).reshape(shape)
