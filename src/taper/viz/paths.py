"""The way of a gradient from a loss to a tensor, with its size at each step.

Owns: the measuring (a pass that keeps the graph and adds to no `.grad`), the choice of the way on
which most of the gradient comes, and where it vanishes or explodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from taper.autograd.accumulate import AccumulateGrad
from taper.autograd.backward import grad
from taper.autograd.callers import described, module_of
from taper.autograd.provenance import line_of, place_name
from taper.opdef.nodes import TableNode
from taper.tensor import Tensor, wrap
from taper.viz.arithmetic import short_formula
from taper.viz.summaries import Summary, number
from taper.viz.tape import debug_backward, walk

LONG = 20_000  # nodes of a graph beyond which nobody follows a gradient
SHOWN = 30  # steps of a path that are printed
SMALL = 1e-3  # a step that leaves less of the gradient, or makes more of it
LARGE = 1e3


@dataclass(frozen=True, slots=True)
class PathStep:
    """One node on the way: what arrived, what it sent on, and how it computes that."""

    name: str
    place: str
    derivative: str
    arrived: float
    sent: float
    nan: bool

    @property
    def factor(self) -> float:
        """How much of the gradient's norm is left."""
        return self.sent / self.arrived if self.arrived else math.nan


def path(loss: Tensor, target: Tensor) -> list[PathStep]:
    """Return the steps from the loss to a tensor on which most of the gradient comes."""
    nodes, numbers = walk([loss._grad_fn])
    with debug_backward() as tape:
        given = None if loss._array.size == 1 else wrap(np.ones_like(loss._array))
        grad(loss, target, given, retain_graph=True, allow_unused=True)
    runs = {step.node: step for step in tape}
    senders: dict[int, list[tuple[int, int]]] = {}  # node or leaf -> who sends to it, by which edge
    for place, node in enumerate(nodes):
        for nr, end in enumerate(node._edges):
            if end is not None and place in runs:
                leaf = end.variable if isinstance(end, AccumulateGrad) else end
                senders.setdefault(numbers[id(leaf)], []).append((place, nr))
    way: list[PathStep] = []
    here = numbers[id(target if target._grad_fn is None else target._grad_fn)]
    while senders.get(here):
        sent = [(_norm(runs[place].outputs[nr]), place, nr) for place, nr in senders[here]]
        _, here, nr = max(sent)
        way.append(_step(nodes[here], nr, runs[here]))
    return way[::-1]


def _norm(summary: Summary | None) -> float:
    if summary is None:
        return -1.0
    return math.inf if math.isnan(summary.norm) else summary.norm


def _step(node: Any, nr: int, run: Any) -> PathStep:
    module = module_of(node)
    parts = [] if module is None else [described(module)]
    if node._code is not None:
        parts.append(place_name(node._code.co_filename, line_of(node._code, node._offset)))
    sent = run.outputs[nr]
    arrived = math.sqrt(sum(each.norm**2 for each in run.inputs if each is not None))
    nan = sent is not None and sent.nan > 0
    norm = 0.0 if sent is None else sent.norm
    return PathStep(run.name, " at ".join(parts), _derivative(node, nr), arrived, norm, nan)


def _derivative(node: Any, nr: int) -> str:
    """Return the formula of an edge, if it is short."""
    if not isinstance(node, TableNode):
        return ""
    params = [each.name for each in node.op.params if node.op.formula_for(each.name) is not None]
    if len(params) != len(node._edges):
        return ""
    formula = node.op.formula_for(params[nr])
    text = "" if formula is None else short_formula(formula)
    return text if len(text) <= 40 else ""


def table(steps: list[PathStep], start: str, end: str) -> list[str]:
    """Return the path as lines of text."""
    shown = list(enumerate(steps))
    if len(shown) > SHOWN:
        half = SHOWN // 2
        shown = [*shown[:half], *shown[-half:]]
    rows = [(start, f"norm {number(steps[0].arrived)}", "", "", "")]
    before = -1
    for place, each in shown:
        if place != before + 1:
            rows.append((f"... {place - before - 1:,} more steps ...", "", "", "", ""))
        before = place
        factor = "" if math.isnan(each.factor) else f"x {number(each.factor)}"
        rows.append((each.name, f"norm {number(each.sent)}", factor, each.derivative, each.place))
    rows.append((end, "", "", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  "
        + "  ".join(
            f"{text:<{width}}" for text, width in zip(row, [*widths, 0], strict=True)
        ).rstrip()
        for row in rows
    ]


def verdict(steps: list[PathStep]) -> str:
    """Return where the gradient is lost, or grows out of bounds, in a sentence."""
    last = steps[-1].sent
    bad = next((each for each in steps if each.nan or math.isnan(each.sent)), None)
    if bad is not None:
        return f"It becomes NaN at {_named(bad)}."
    for each in steps:
        if each.arrived and not each.sent:
            return f"It becomes zero at {_named(each)}: nothing of it goes on from there."
        if math.isinf(each.sent):
            return f"It becomes infinite at {_named(each)}."
    least = min(steps, key=lambda each: each.factor)
    most = max(steps, key=lambda each: each.factor)
    if most.factor >= LARGE:
        return f"It explodes at {_named(most)}: {number(most.factor)} times what arrived."
    if least.factor <= SMALL:
        return f"It vanishes at {_named(least)}: {number(least.factor)} of what arrived is left."
    whole = last / steps[0].arrived if steps[0].arrived else math.nan
    if whole <= SMALL or whole >= LARGE:
        word = "vanishes" if whole < 1 else "explodes"
        return f"It {word} little by little: {number(whole)} of what started arrives."
    return "It arrives in good health."


def _named(step: PathStep) -> str:
    return f"{step.name} ({step.place})" if step.place else step.name
