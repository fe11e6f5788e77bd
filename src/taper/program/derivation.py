"""Derivation: the backward of a captured forward pass, as a program of its own.

Owns: a pass over the graph that the recorded call has left, with gradients that stand for those to
come; what it computes is written down, and what it needs of the forward pass is kept by a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.arrays.foreign import is_foreign
from taper.autograd.engine import GraphTask
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import gradient_edge
from taper.program import passes
from taper.program.executor import alive
from taper.program.form import Program, Value
from taper.program.recording import Recorder
from taper.program.replays import BackwardProgram, Result
from taper.tensor import Tensor


def derive(
    recorder: Recorder,
    results: Sequence[tuple[Result, Tensor]],
    build: Callable[[Program], Any],
) -> tuple[BackwardProgram | None, list[Value]]:
    """Write the backward of results down; returns it, and the values that it needs kept.

    There is none if the graph was freed inside the function: the results keep their nodes.
    """
    program = recorder.program
    forward, program.instructions = program.instructions, []
    arrivals = _Arrivals(recorder)
    seeds: list[Value] = []
    roots: list[Any] = []
    for _, tensor in results:
        seed = filled_like(tensor._array, 1)
        seeds.append(recorder.seed(seed, len(seeds)))
        roots.append((*gradient_edge(tensor), seed))
    border = {
        gradient_edge(each.tensor): each.tensor
        for each in (*program.inputs, *program.externals)
        if each.tensor.requires_grad and not each.tensor.is_leaf
    }
    try:
        _run_alone(recorder, roots, arrivals, border)
    except RuntimeError:  # the graph was freed, or the recorder has given up
        return None, []
    finally:
        backward, program.instructions = program.instructions, forward
    for nr, (result, _) in enumerate(results):
        result.live = nr
    made, saved = _as_program(recorder, backward, seeds, arrivals.grads)
    outputs = [(each.shape, each.dtype) for each in seeds]
    reached = [_reached(node, border) for node, _, _ in roots]
    leads = [
        {nr for nr, found in enumerate(reached) if id(leaf) in found} for leaf in arrivals.tensors
    ]
    return BackwardProgram(build(made), outputs, arrivals.leaves, leads), saved


def filled_like(array: Any, number: int) -> Any:
    """A row-major array of one number, where another one is."""
    if is_foreign(array):
        return array.place.filled(array.shape, number, array.dtype, array.device)
    return np.full(array.shape, number, array.dtype)


class _Arrivals:
    """Collect the gradients of leaves, and of arguments with a history."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.tensors: list[Tensor] = []
        self.leaves: list[Value] = []
        self.grads: list[Value] = []

    def __call__(self, leaf: Tensor, grad: np.ndarray | None) -> None:
        value = self.recorder.value_of(leaf)
        found = None if grad is None else self.recorder.find(grad)
        if value is not None and found is not None:
            self.tensors.append(leaf)
            self.leaves.append(value)
            self.grads.append(found)


def _as_program(
    recorder: Recorder, instructions: list[Any], seeds: list[Value], grads: list[Value]
) -> tuple[Program, list[Value]]:
    """A program of these instructions, whose inputs are the seeds and what must be kept."""
    program = Program(instructions, recorder.program.values)
    program.is_on_device = recorder.program.is_on_device
    program.results = tuple(grads)
    made = {each.number for item in instructions for each in item.outputs if each is not None}
    made |= {each.number for each in seeds}
    read = [each for item in alive(program) for each in item.operands()]
    needed = {
        each.number: each
        for each in (*read, *grads)
        if each.number not in made and each.origin != "constant"
    }
    program.externals = [each for each in needed.values() if each.origin == "external"]
    saved = [each for each in needed.values() if each.origin != "external"]
    program.inputs = [*seeds, *saved]
    return program, saved


def _reached(root: Any, border: dict[Any, Any]) -> set[int]:
    """The leaves, and tensors at the border, that a node leads to, by identity."""
    found: set[int] = set()
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found.add(id(leaf))
        for following, nr in zip(node._nodes_ahead(), node._edge_nrs, strict=True):
            if (following, nr) in border:
                found.add(id(border[following, nr]))
            elif following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return found


def _run_alone(recorder: Recorder, roots: list[Any], arrive: Any, border: dict[Any, Any]) -> None:
    """Run a pass that only the recorder sees."""
    state = local.state
    task = GraphTask(keep_graph=True, create_graph=False, accumulate=True)
    task.roots = roots
    mode, current, running = state.mode, state.current_node, state.graph_task
    state.mode = mode | NO_GRAD
    state.graph_task = task
    task.look_around(state)
    try:
        with recorder.recording():  # some nodes compute with operators
            passes.run_pass(recorder, task, state, arrive, border)
    finally:
        state.mode, state.current_node, state.graph_task = mode, current, running
