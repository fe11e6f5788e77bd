"""A script of the tour, run on taper with everything recorded that a picture may show."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import taper
from taper import compat
from taper.viz import Graph, Step, Tape, debug_backward
from taper.viz.reading import read

SCRIPTS = Path(__file__).parents[2] / "examples" / "tour"


@dataclass
class Pass:
    """One call of `backward()`: the graph before it, and what each node did."""

    graph: Graph
    values: dict[int, str]  # id in the graph -> the variable and its number, `v = 6`
    steps: list[Step] = field(default_factory=list)

    def step_of(self, id: int) -> Step:
        """Return the step of a node or leaf, by its id in the graph."""
        return next(step for step in self.steps if step.node == id)


@dataclass
class Run:
    """What a script printed, the names it left behind, and its backward passes."""

    printed: str
    names: dict[str, Any]
    passes: list[Pass]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.names[name]
        except KeyError:
            raise AttributeError(name) from None


def shown(value: Any) -> str:
    """Return a number or a small tensor in few digits."""
    if isinstance(value, taper.Tensor):
        value = value.tolist()
    if isinstance(value, list):
        return f"[{', '.join(shown(each) for each in value)}]"
    return f"{value:.4g}"


def values_of(objects: list[Any], variables: dict[str, Any]) -> dict[int, str]:
    """Return for nodes and leaves the variable that holds their tensor, with its numbers."""
    named: dict[int, str] = {}
    places = {id(each): place for place, each in enumerate(objects)}
    for name, tensor in variables.items():
        if isinstance(tensor, taper.Tensor):
            place = places.get(id(tensor), places.get(id(tensor.grad_fn)))
            if place is not None and place not in named:
                numbers = f" = {shown(tensor)}" if tensor.numel() <= 4 else ""
                named[place] = f"{name}{numbers}"
    return named


def snapshot(tensor: Any, variables: dict[str, Any]) -> Pass:
    """Return the graph of a tensor, with the names and numbers of a program's variables."""
    tensors = {n: t for n, t in variables.items() if isinstance(t, taper.Tensor)}
    graph, objects = read(tensor, None, {id(t): n for n, t in reversed(tensors.items())})
    return Pass(graph, values_of(objects, variables))


@contextlib.contextmanager
def _recording(passes: list[Pass], tape: Tape) -> Iterator[None]:
    """Note the graph of every tensor before its `backward()` frees it."""
    original = taper.Tensor.backward

    def backward(_self: Any, *arguments: Any, **settings: Any) -> None:
        if not _self.requires_grad:
            return original(_self, *arguments, **settings)
        frame = sys._getframe(1)
        passes.append(snapshot(_self, {**frame.f_globals, **frame.f_locals}))
        before = len(tape)
        original(_self, *arguments, **settings)
        passes[-1].steps = list(tape)[before:]

    taper.Tensor.backward = backward
    try:
        yield
    finally:
        taper.Tensor.backward = original


def play(name: str) -> Run:
    """Run the script of that name with taper as torch."""
    passes: list[Pass] = []
    printed = io.StringIO()
    with (
        compat.installed(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(printed),
        debug_backward() as tape,
        _recording(passes, tape),
    ):
        warnings.simplefilter("ignore")
        names = runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")
    return Run(printed.getvalue(), names, passes)
