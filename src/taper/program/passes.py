"""Backward passes seen by a recording: formulas, what the engine does between them, the leaves.

Owns: a pass that computes what `autograd.engine` computes, in the same order, and writes it down.
A node that is no operator of the table, or that somebody has hooks on, ends the recording.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from taper.autograd import engine
from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.engine import GraphTask
from taper.autograd.fitting import fit, fit_array, lay_out_sum
from taper.autograd.node import Node
from taper.autograd.state import State
from taper.opdef.nodes import TableNode, apply_slowly
from taper.program import calls
from taper.program.form import Value

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
    if task.create_graph:
        recorder.give_up("a pass with create_graph=True runs")
    elif task.wanted is not None:
        recorder.give_up("gradients are asked for with autograd.grad or backward(inputs=...)")
    if recorder.refusal is not None and arrive is None:
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

    def _send(self, node: Node, results: Sequence[Any]) -> list[Node]:
        """Send gradients along their edges; returns the nodes that then are ready."""
        got_ready = []
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
            if not self.awaited[following]:
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
    return lay_out_sum(np.asarray(present + grad), present, grad)


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
) -> Sequence[Any]:
    """Run one node, and write down its formulas."""
    if isinstance(node, AccumulateGrad):
        _arrive(recorder, node, grads, task, arrive)
        return ()
    if recorder.refusal is None and _has_hooks(node):
        recorder.give_up(f"{node.name()} has hooks", _place(node))
    if not isinstance(node, TableNode):
        recorder.give_up(f"{node.name()} is no operator of the table", _place(node))
    if recorder.refusal is not None:
        return engine.evaluate(node, grads, task) or ()
    if node._passes_undefined and all([grad is None for grad in grads]):
        return (None,) * len(node._edges)
    results = apply_slowly(node, grads, False, call=functools.partial(_formula, recorder, node))
    if node._saves and not task.keep_graph:
        node._release(task.place)
    return results


def _formula(recorder: Any, node: Any, formula: Any, arguments: list[Any]) -> Any:
    """Call a formula, and write it down."""
    with recorder.suspended():
        result = formula.function(*arguments)
    if recorder.refusal is None:
        for each in arguments:
            if isinstance(each, np.ndarray) and recorder.find(each) is None and not each.any():
                recorder.constant(each)  # in the place of a gradient that nobody sent
        given = recorder.references(tuple(arguments))
        found = flat(result)
        result, found = _as_arrays(result, found)
        outputs = [recorder.made(each) for each in found]
        name = node.name()
        run = flattened(formula.function)
        recorder.emit("formula", name, run, given, outputs, place=_place(node), of=formula)
    return result


def _as_arrays(result: Any, found: list[Any]) -> tuple[Any, list[Any]]:
    """A result that is one NumPy number becomes an array, which keeps its identity."""
    if len(found) == 1 and found[0] is not None and not isinstance(found[0], np.ndarray):
        made = np.asarray(found[0])
        return (made if not isinstance(result, tuple) else (made,)), [made]
    return result, found


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


def _arrive(
    recorder: Any, node: AccumulateGrad, grads: list[Any], task: GraphTask, arrive: Arrival | None
) -> None:
    leaf, grad = node.variable, grads[0]
    if arrive is not None:
        arrive(leaf, grad)
        return
    meta: Any = leaf._meta
    if recorder.refusal is None and (
        meta.hooks or meta.post_accumulate_hooks or _has_hooks(node) or leaf._view is not None
    ):
        recorder.give_up("a leaf has hooks, or is a view")
    known = recorder.find(leaf._array)
    if known is not None and known.origin == "input":  # another call has another one
        recorder.give_up("an argument receives a gradient inside the function")
    argument = None if grad is None or recorder.refusal else recorder.references(grad)
    with recorder.suspended():
        engine.evaluate(node, grads, task)
    if grad is not None and recorder.refusal is None and leaf._requires_grad:
        outputs: list[Value | None] = [recorder.made(meta.grad._array)]
        run = calls.leaf_call(leaf)
        recorder.emit("accumulate", "accumulate", run, (argument,), outputs, of=leaf)


def _has_hooks(node: Node) -> bool:
    extra = node._extra
    return extra is not None and bool(
        extra.tensor_hooks or extra.retained or extra.pre_hooks or extra.post_hooks
    )


def _place(node: Node) -> Any:
    return node._code, node._offset
