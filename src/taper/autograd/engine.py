"""The engine: one backward pass over the graph, from the roots to the leaves.

Read on from `run`: a pass counts the edges that lead to every node it can reach, then runs nodes as
they get ready and sends what they return along their edges, until the leaves have it in `.grad`.
Knows nodes and how to wrap a gradient in a Tensor for hooks; not operators.

I1  A node runs once, when no gradient is still to come.
I2  What a node receives for an output is the sum of all that was sent; None means zero.
I3  Of the ready nodes the one recorded last runs first; AccumulateGrad as soon as it is ready.
I4  An edge is counted down even if its gradient is None, or the pass would stall.
I5  No recursion over the graph: depth is limited by memory only.
I6  A gradient that was handed to several receivers is borrowed: nobody adds into it in place.

Gradients are arrays; with `create_graph` they are Tensors and every formula is recorded (D5).
A pass runs on the caller's thread; one started inside another, from a hook or a custom backward,
runs to its end first (§R1).  With the native module `native/engine.c` runs in place of
`run_in_python`, and calls the other functions here for nodes and gradients that are not ordinary:
18 us, not 62, for a chain of 20 small multiplications (D7).
"""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from taper.arrays.foreign import as_array
from taper.arrays.strides import broadcast_clash
from taper.autograd import anomaly_mode as anomaly
from taper.autograd.accumulate import AccumulateGrad, accumulate_simply
from taper.autograd.cuts import IN_BACKWARD
from taper.autograd.fitting import fit, fit_all, lay_out_sum
from taper.autograd.hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from taper.autograd.natively import leading, run_pass
from taper.autograd.node import FREED, Node
from taper.autograd.pass_log import active_logger, log_node
from taper.autograd.provenance import user_frame
from taper.autograd.saved import freed_error
from taper.autograd.state import INFERENCE, NO_GRAD, SAVED_HOOKS, State, local
from taper.device import strided
from taper.tensor import Tensor

Root = tuple[Node, int, Any]

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
    roots: Sequence[Root] = ()
    reached: Any = ()  # every node this pass can reach is in it

    recorder: Any = None  # of the profiler or of a capture, if one is on
    log: Any = None  # the logger, if it takes a record for each node (§E29)
    evaluate: Callable[..., Sequence[Any] | None]  # runs a node, as the function of that name
    watched = False  # whether every node goes through `evaluate`
    plain_leaves = False  # whether leaves may do without their AccumulateGrad (D11)

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

    def look_around(self, state: State) -> None:
        """Find out who watches this pass."""
        recorder = self.recorder = state.recorder
        self.log = active_logger()
        self.evaluate = evaluate if recorder is None else recorder.evaluate
        tape = state.tape
        if tape is not None:
            self.evaluate = tape.recording(self, self.evaluate)
        seen = recorder is not None or self.log is not None or tape is not None
        self.watched = seen or (anomaly.enabled and anomaly.check_nan)
        seen = seen or self.needed is not None
        self.plain_leaves = not (seen or self.create_graph or state.mode & INFERENCE)

    def reached_nodes(self) -> list[Node]:
        """Return every node that this pass can reach, for errors."""
        return list(count_incoming([node for node, _, _ in self.roots]))

    def will_run(self, node: Node) -> bool:
        """Whether this pass runs `node`, or has run it; PyTorch does not count the only root."""
        if len(self.roots) == 1 and node is self.roots[0][0]:
            return False
        return node in (self.reached if self.needed is None else self.needed)


def run(roots: Sequence[Root], task: GraphTask) -> dict[int, Any]:
    """Run a pass; returns what was captured for `task.wanted`."""
    state = local.state
    task.roots = roots
    outer = state.graph_task
    if outer is not None:
        task.depth = outer.depth + 1
        task.outer = outer
        if task.depth % LEVELS_ON_A_THREAD == 0:
            return _on_fresh_thread(task, state)
    return _run(task, state)


def _run(task: GraphTask, state: State) -> dict[int, Any]:
    outer, current, hooks = state.graph_task, state.current_node, state.saved_hooks
    cut = state.cut
    before = state.mode & _OF_A_PASS
    state.graph_task = task
    if outer is None:
        state.earlier_pass, state.last_pass = state.last_pass, state.sequence
    state.mode = state.mode & ~NO_GRAD | (0 if task.records else NO_GRAD)
    if not task.records:
        state.cut = IN_BACKWARD
    try:
        if task.wanted is not None:
            find = leading or nodes_leading_to
            task.needed = find(task.wanted, [node for node, _, _ in task.roots])
        task.look_around(state)
        if task.recorder is not None and task.recorder.runs_passes:
            task.recorder.run_pass(task, state)
        elif run_pass is None:
            run_in_python(task, state)
        else:
            run_pass(task, state, fit, evaluate_leaf, run_late_hooks)
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


# --- the loop ---------------------------------------------------------------------------------


def run_in_python(task: GraphTask, state: State) -> None:
    """Run every node that the roots lead to, of those that are ready the last recorded first."""
    roots = list(dict.fromkeys([node for node, _, _ in task.roots]))
    awaited = task.reached = count_incoming(roots)
    received: dict[Node, list[Any]] = {}  # for each output of a node the sum so far
    for node, nr, grad in task.roots:
        receive(received, node, nr, grad)
    got_ready = [node for node in roots if not awaited[node]]
    ready: list[tuple[int, int, Node]] = []  # a heap; of two alike the one that got ready first
    tick = itertools.count()
    while ready or got_ready:
        for node in got_ready:
            heappush(ready, (-node._sequence, next(tick), node))
        node = heappop(ready)[2]
        state.current_node = node
        got_ready = _run_and_send(node, awaited, received, task)


def count_incoming(roots: list[Node]) -> dict[Node, int]:
    """For each node that the roots lead to: how many edges lead to it."""
    awaited = dict.fromkeys(roots, 0)
    stack = list(roots)
    while stack:
        for following in stack.pop()._nodes_ahead():
            if following is not None:
                if following not in awaited:
                    awaited[following] = 0
                    stack.append(following)
                awaited[following] += 1
    return awaited


def receive(received: dict[Node, list[Any]], node: Node, nr: int, grad: Any) -> None:
    """Add a gradient to what a node has received for its output `nr` (I2), not into it (I6)."""
    grads = received.get(node)
    if grads is None:
        grads = received[node] = [None] * node._output_count
    present = grads[nr]
    if present is None:
        grads[nr] = grad
    elif isinstance(grad, Tensor) or isinstance(present, Tensor):
        # Sparse ones are Tensors in any pass; PyTorch adds the last of them first.
        recorded = isinstance(present, Tensor) and present.layout is strided
        grads[nr] = present + grad if recorded else grad + present
    elif grad is not None:
        grads[nr] = lay_out_sum(as_array(present + grad), present, grad)


def _run_and_send(
    node: Node, awaited: dict[Node, int], received: dict[Node, list[Any]], task: GraphTask
) -> list[Node]:
    """Run a node and send its gradients along its edges; returns the nodes that then are ready."""
    grads = received.pop(node, None) or [None] * node._output_count
    results = task.evaluate(node, grads, task)
    if results is None:
        return []
    got_ready = []
    for position, following in enumerate(node._edges):
        if following is None:
            continue
        grad, nr = results[position], node._edge_nrs[position]
        if grad is not None:
            receive(received, following, nr, fit(grad, following, nr, node, position))
        awaited[following] -= 1  # also without a gradient (I4)
        if not awaited[following] and (task.needed is None or following in task.needed):
            got_ready.append(following)
    return got_ready


# --- one node ---------------------------------------------------------------------------------


def evaluate(node: Node, grads: list[Any], task: GraphTask) -> Sequence[Any] | None:
    """Run a node between its hooks (§H7); None if it was only asked for its gradients."""
    tensors = task.create_graph
    extra = node._extra
    leaf_hooks = node.variable._autograd_meta.hooks if isinstance(node, AccumulateGrad) else None
    is_run = task.needed is None or runs(node, task)
    if is_run and task.wanted is not None:  # what is asked for on the way is that before its hooks
        capture(node, grads, task)
    if leaf_hooks or (extra is not None and (extra.tensor_hooks or extra.retained)):
        run_tensor_hooks(node, leaf_hooks, grads, tensors)
    if not is_run:
        capture(node, grads, task)
        return None
    observed = extra is not None and bool(extra.post_hooks)
    if extra is not None and extra.pre_hooks:
        grads = run_pre_hooks(node, grads, tensors)
    if task.log is not None:
        log_node(task.log, node, grads)
    results = apply(node, grads, task)
    if extra is not None:
        for each in extra.watchers:
            each()
    if node._extra is not None and node._extra.post_hooks:
        # A hook registered while the node ran finds the gradients gone (§H10).
        results = run_post_hooks(node, fit_all(node, results), grads if observed else (), tensors)
    if anomaly.enabled and anomaly.check_nan:
        anomaly.refuse_nan(node, results)
    return results


def apply(node: Node, grads: list[Any], task: GraphTask) -> Sequence[Any]:
    """The node itself: one gradient or None for each edge; then what it saved is released."""
    needs = None if task.needed is None else needed_edges(node, task.needed)
    if grads[0] is None and node._passes_undefined and all([grad is None for grad in grads]):
        results: Sequence[Any] = (None,) * len(node._edges)
    elif task.recorder is not None:
        results = task.recorder.run_node(node, grads, task.create_graph)
    elif needs is not None:
        results = node._run_partly(grads, needs, task.create_graph)
    elif task.create_graph:
        results = node._run_tensors(grads)
    elif task.keep_graph:
        results = node._run(grads)
    else:
        return node._run_once(grads, task.place)
    if node._saves and not task.keep_graph:
        node._release(task.place)
    return results


def run_late_hooks(node: Node, results: Sequence[Any], task: GraphTask) -> Sequence[Any]:
    """For the native engine: the hooks that were registered while a node without any ran (§H10)."""
    return run_post_hooks(node, fit_all(node, results), (), task.create_graph)


def evaluate_leaf(leaf: Tensor, grads: list[Any], task: GraphTask) -> None:
    """For the native engine: what AccumulateGrad does for a leaf, which is made only if need be."""
    if not accumulate_simply(leaf, grads):
        node = leaf._accumulator()
        if node is not None:
            local.state.current_node = node
            evaluate(node, grads, task)


# --- a pass for some inputs -------------------------------------------------------------------


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


def needed_edges(node: Node, needed: set[Node]) -> list[bool] | None:
    """Which edges of a node lead to what is wanted; None if all do, so that it runs as usual."""
    edges = node._edges
    needs = [each in needed for each in edges]
    return None if needs.count(False) == edges.count(None) else needs


def capture(node: Node, grads: list[Any], task: GraphTask) -> None:
    """Keep the gradients of a node that were asked for."""
    for nr, positions in (task.wanted or {}).get(node, {}).items():
        for position in positions:
            task.captured[position] = grads[nr]


def runs(node: Node, task: GraphTask) -> bool:
    """Whether a pass that is not for leaves runs a node, or only asks for its gradients."""
    needed = task.needed or ()
    if node not in needed:
        return False
    if task.accumulate or node not in (task.wanted or ()):
        return True  # in `backward(inputs=)` the nodes of the inputs run, for no edge if need be
    if isinstance(node, AccumulateGrad):
        return False
    return any(each in needed for each in node._edges if each is not None)


# --- deep nesting, and words for what NumPy and Python refuse ----------------------------------


def _on_fresh_thread(task: GraphTask, state: State) -> dict[int, Any]:
    """Run a deeply nested pass where Python's limit on recursion counts anew (§R2)."""
    failures: list[BaseException] = []

    def work() -> None:
        local.state = state  # the thread stands in for its starter, which waits
        try:
            _run(task, state)
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
