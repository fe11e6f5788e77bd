"""Backward passes seen by a recording: formulas, what the engine does between them, the leaves.

Owns: a pass that computes what `autograd.engine` computes, in the same order, and writes it down.
Hooks of tensors, custom Functions and writes into views compute with operators, which the recorder
sees as any others; what comes back from them as an array that nobody knows ends the recording.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from taper.arrays.foreign import as_array
from taper.autograd import engine
from taper.autograd.accumulate import AccumulateGrad, _accumulate
from taper.autograd.context import BackwardCFunction
from taper.autograd.engine import GraphTask
from taper.autograd.fitting import fit, fit_array, lay_out_sum
from taper.autograd.hooks import run_tensor_hooks
from taper.autograd.node import Node
from taper.autograd.state import State
from taper.opdef import devices
from taper.opdef.nodes import TableNode, apply_slowly
from taper.program import calls
from taper.program.form import Value
from taper.program.watching import watched

# What a pass does with a gradient that has arrived at a leaf, or at the edge of what was captured.
Arrival = Callable[[Any, np.ndarray | None], None]
Edge = tuple[Any, int]  # a node, and the number of its output


def run_pass(
    recorder: Any,
    task: GraphTask,
    state: State,
    arrive: Arrival | None = None,
    border: dict[Edge, Any] | None = None,
) -> None:
    """Run every node that the roots lead to; see `engine.run_in_python`.

    With `arrive` gradients go there and not into `.grad`; those for an edge of `border` go there
    for its tensor, and not beyond.
    """
    if task.records:
        recorder.give_up("a pass with create_graph=True runs")
    elif task.create_graph:
        recorder.give_up("a backward pass runs under autocast")
    if recorder.refusal is not None and arrive is None:
        with watched(recorder.watcher):
            engine.run_in_python(task, state)
        return
    _Pass(recorder, task, arrive, border or {}).run(state)


class _Pass:
    """One pass that is written down."""

    def __init__(
        self, recorder: Any, task: GraphTask, arrive: Arrival | None, border: dict[Edge, Any]
    ) -> None:
        self.recorder, self.task = recorder, task
        self.arrive, self.border = arrive, border
        self.received: dict[Node, list[Any]] = {}
        self.at_border: dict[Node, list[Any]] = {}
        self.awaited: dict[Node, int] = {}

    def run(self, state: State) -> None:
        """Run all nodes, of those that are ready the last recorded first (I3)."""
        task, recorder = self.task, self.recorder
        roots = list(dict.fromkeys([node for node, _, _ in task.roots]))
        self.awaited = task.reached = _count_incoming(roots, self.border)
        for node, nr, grad in task.roots:
            if recorder.find(grad) is None:
                recorder.constant(grad)  # the implicit gradient of a loss
            _receive(recorder, self.received, node, nr, grad)
        ready: list[tuple[int, int, Node]] = []
        tick = itertools.count()
        got_ready = [node for node in roots if not self.awaited[node]]
        while ready or got_ready:
            for node in got_ready:
                heappush(ready, (-node._sequence, next(tick), node))
            node = heappop(ready)[2]
            state.current_node = node
            grads = self.received.pop(node, None) or [None] * node._output_count
            got_ready = self._send(node, _evaluate(recorder, node, grads, task, self.arrive))
        for (node, nr), tensor in self.border.items():
            if self.arrive is not None and node in self.at_border:
                self.arrive(tensor, self.at_border[node][nr])

    def _send(self, node: Node, results: Sequence[Any] | None) -> list[Node]:
        """Send gradients along their edges; returns the nodes that then are ready."""
        got_ready: list[Node] = []
        if results is None:
            return got_ready
        needed = self.task.needed
        for position, following in enumerate(node._edges):
            if following is None:
                continue
            grad, nr = results[position], node._edge_nrs[position]
            outside = (following, nr) in self.border
            if grad is not None:
                fitted = _fit(self.recorder, grad, following, nr, node, position)
                target = self.at_border if outside else self.received
                _receive(self.recorder, target, following, nr, fitted)
            if outside:
                continue
            self.awaited[following] -= 1
            if not self.awaited[following] and (needed is None or following in needed):
                got_ready.append(following)
        return got_ready


def _count_incoming(roots: list[Node], border: dict[Edge, Any]) -> dict[Node, int]:
    """For each node on this side of the border: how many edges lead to it."""
    if not border:
        return engine.count_incoming(roots)
    awaited = dict.fromkeys(roots, 0)
    stack = list(roots)
    while stack:
        node = stack.pop()
        for following, nr in zip(node._nodes_ahead(), node._edge_nrs, strict=True):
            if following is None or (following, nr) in border:
                continue
            if following not in awaited:
                awaited[following] = 0
                stack.append(following)
            awaited[following] += 1
    return awaited


def _receive(
    recorder: Any, received: dict[Node, list[Any]], node: Node, nr: int, grad: Any
) -> None:
    grads = received.setdefault(node, [None] * node._output_count)
    present = grads[nr]
    if present is None or grad is None:
        grads[nr] = grad if present is None else present
        return
    total = grads[nr] = added(present, grad)
    if recorder.refusal is None:
        arguments = recorder.references((present, grad))
        recorder.emit("add", "add", added, arguments, [recorder.made(total)], place=_place(node))


def added(present: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The sum of two gradients, laid out as the first."""
    return lay_out_sum(as_array(present + grad), present, grad)


def _fit(
    recorder: Any, grad: Any, following: Any, nr: int, node: Node, position: int
) -> np.ndarray:
    fitted = fit(grad, following, nr, node, position)
    if fitted is not grad and recorder.refusal is None:
        run = functools.partial(fit_array, shape=fitted.shape, dtype=fitted.dtype)
        argument = recorder.references(grad)
        recorder.emit("fit", "fit", run, (argument,), [recorder.made(fitted)], place=_place(node))
    return fitted


def _evaluate(
    recorder: Any, node: Node, grads: list[Any], task: GraphTask, arrive: Arrival | None
) -> Sequence[Any] | None:
    """Run one node, and write down its formulas; None if it was only asked for its gradients."""
    recorder.meet(node)
    if recorder.refusal is not None:
        if arrive is not None:
            raise NotWrittenDownError
        with watched(recorder.watcher):
            return engine.evaluate(node, grads, task)
    runs = task.needed is None or engine.runs(node, task)
    if runs and task.wanted is not None:
        engine.capture(node, grads, task)
    if arrive is None:
        _run_tensor_hooks(recorder, node, grads)
    else:
        _refuse_code_of_users(recorder, node)
    if not runs:
        engine.capture(node, grads, task)
        return None
    if isinstance(node, AccumulateGrad):
        _arrive(recorder, node, grads, arrive)
        return ()
    if recorder.refusal is not None:
        with watched(recorder.watcher):
            return engine.apply(node, grads, task)
    if not isinstance(node, TableNode):
        return _through_operators(recorder, node, grads, task)
    if node._passes_undefined and all([grad is None for grad in grads]):
        return (None,) * len(node._edges)
    needs = None if task.needed is None else engine.needed_edges(node, task.needed)
    run = functools.partial(_formula, recorder, node)
    results = apply_slowly(node, grads, False, needs, call=run)
    if node._saves and not task.keep_graph:
        node._release(task.place)
    return results


class NotWrittenDownError(RuntimeError):
    """A pass that runs only in order to be written down cannot be."""


def _refuse_code_of_users(recorder: Any, node: Node) -> None:
    """Give up where a pass that nobody has asked for would call functions of the user's."""
    if isinstance(node, AccumulateGrad):
        return  # its hooks run when the gradient arrives
    extra = node._extra
    hooks = extra is not None and (
        extra.tensor_hooks or extra.retained or extra.pre_hooks or extra.post_hooks
    )
    if hooks or isinstance(node, BackwardCFunction):
        recorder.give_up(f"{node.name()} has hooks, or is a custom Function", _place(node))
        raise NotWrittenDownError


def _run_tensor_hooks(recorder: Any, node: Node, grads: list[Any]) -> None:
    """Run the hooks of tensors, whose operators the recorder sees."""
    extra = node._extra
    hooks = node.variable._autograd_meta.hooks if isinstance(node, AccumulateGrad) else None
    if not hooks and (extra is None or not extra.tensor_hooks):
        return
    for grad in grads:
        if grad is not None and recorder.find(grad) is None:
            recorder.constant(grad)
    with watched(recorder.watcher):
        run_tensor_hooks(node, hooks, grads, False)
    _must_be_known(recorder, grads, "a hook returns")


def _through_operators(
    recorder: Any, node: Any, grads: list[Any], task: GraphTask
) -> Sequence[Any]:
    """Run a node that computes with operators, which the recorder sees."""
    if isinstance(node, BackwardCFunction):
        for nr, grad in enumerate(grads):
            made = node._materialized(nr, grad) if grad is None else None
            if made is not None:
                recorder.constant(made._array)
                grads[nr] = made._array
    with watched(recorder.watcher):
        results = engine.apply(node, grads, task)
    _must_be_known(recorder, results, f"{node.name()} is no operator of the table and returns")
    return results


def _must_be_known(recorder: Any, arrays: Sequence[Any], who: str) -> None:
    for each in arrays:
        if each is not None and recorder.find(each) is None:
            recorder.give_up(f"{who} a tensor that no operator has made")


def _formula(recorder: Any, node: Any, formula: Any, arguments: list[Any]) -> Any:
    """Call a formula, and write it down."""
    function = devices.formula(formula.function)
    with recorder.suspended():
        result = function(*arguments)
    if recorder.refusal is None:
        for each in arguments:
            if isinstance(each, np.ndarray) and recorder.find(each) is None and not each.any():
                recorder.constant(each)  # in the place of a gradient that nobody sent
        given = recorder.references(tuple(arguments))
        result = _as_arrays(result)
        found = flat(result)
        outputs = [recorder.made(each) for each in found]
        name = node.name()
        run = flattened(function)
        recorder.emit("formula", name, run, given, outputs, place=_place(node), of=formula)
    return result


def _as_arrays(result: Any) -> Any:
    """NumPy's numbers among results become arrays, which keep their identity."""
    if isinstance(result, tuple | list):
        return type(result)([_as_arrays(each) for each in result])
    return np.asarray(result) if isinstance(result, np.generic) else result


def flattened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A formula whose results are arrays and Nones, in one row."""

    def run(*arguments: Any) -> Any:
        found = flat(function(*arguments))
        return found[0] if len(found) == 1 else tuple(found)

    return run


def flat(result: Any) -> list[Any]:
    """The gradients that a formula returned, those of lists included."""
    if isinstance(result, tuple | list):
        return [each for part in result for each in flat(part)]
    return [result]


def _arrive(recorder: Any, node: AccumulateGrad, grads: list[Any], arrive: Arrival | None) -> None:
    leaf, grad = node.variable, grads[0]
    if arrive is not None:
        arrive(leaf, grad)
        return
    meta: Any = leaf._autograd_meta
    if leaf._view is not None:
        recorder.give_up("a leaf is a view")
    if meta.post_accumulate_hooks and not recorder.watches(leaf):
        recorder.give_up("a leaf has hooks that no variable of the function leads to")
    known = recorder.find(leaf._array)
    if known is not None and known.origin == "input":  # another call has another one
        recorder.give_up("an argument receives a gradient inside the function")
    argument = None if grad is None or recorder.refusal else recorder.references(grad)
    with recorder.suspended():
        _accumulate(leaf, meta, grads)
    if grad is not None and recorder.refusal is None and leaf._requires_grad:
        outputs: list[Value | None] = [recorder.made(meta.grad._array)]
        run = calls.leaf_call(leaf)
        recorder.emit("accumulate", "accumulate", run, (argument,), outputs, of=leaf)
    if meta.post_accumulate_hooks:
        with watched(recorder.watcher):
            node._run_post_accumulate_hooks(meta)


def _place(node: Node) -> Any:
    return node._code, node._offset
