"""Pictures of the autograd graph, without another program or package.

`make_dot` has the signature and the meaning of torchviz's function of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from taper.utils._progress import progress
from taper.viz.dot import Dot
from taper.viz.drawing import Drawing, Vertex, is_tensor
from taper.viz.explaining import Explanation, explain
from taper.viz.history import History
from taper.viz.layers import Layer
from taper.viz.leaks import Leak, LeakReport, leaks
from taper.viz.memory import SavedRow, SavedTable, saved_tensors
from taper.viz.module_summary import ModuleSummary, summary
from taper.viz.page import Page, show
from taper.viz.reading import graph, variables_around
from taper.viz.records import (
    Derivative,
    Edge,
    Graph,
    GraphLeaf,
    GraphNode,
    ModuleRef,
    Output,
    Saved,
    SourceLine,
    Storage,
    Value,
)
from taper.viz.summaries import Summary
from taper.viz.svg import Arrow, Box, printable
from taper.viz.tape import Step, Tape, debug_backward
from taper.viz.timeline import MemoryEvent, MemoryTimeline, Owner, memory_timeline

__all__ = [
    "graph",
    "show",
    "Page",
    "Graph",
    "GraphNode",
    "GraphLeaf",
    "Edge",
    "Output",
    "Value",
    "Saved",
    "Storage",
    "SourceLine",
    "ModuleRef",
    "Derivative",
    "Tape",
    "Step",
    "Summary",
    "debug_backward",
    "MemoryEvent",
    "MemoryTimeline",
    "Owner",
    "memory_timeline",
    "Leak",
    "LeakReport",
    "leaks",
    "Explanation",
    "explain",
    "SavedRow",
    "SavedTable",
    "saved_tensors",
    "Layer",
    "ModuleSummary",
    "summary",
    "History",
    "progress",
    "Dot",
    "make_dot",
    "make_dot_from_trace",
]

_FILLS = {
    "function": "lightgrey",
    "leaf": "lightblue",
    "output": "darkolivegreen1",
    "base": "darkolivegreen3",
    "saved": "orange",
}


def make_dot(
    var: Any,
    params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Dot:
    """Draw the graph that the gradient of `var` flows through.

    Grey boxes are backward functions, blue ones leaves that require grad, light green ones the
    outputs, dark green ones the base of an output that is a view, orange ones tensors saved for the
    backward pass.  Arrows go the way of the forward computation.

    Args:
        var: a tensor, or a tuple of tensors.
        params: names of tensors: a dict, or the pairs of `named_parameters()`; other tensors have
            the names of the variables where `make_dot` is called.
        show_attrs: list what each function keeps besides tensors.
        show_saved: draw saved tensors; those of custom functions are always drawn.
        max_attr_chars: cut each listed value to so many characters.

    Returns: a `Dot`, which a notebook shows and `render` writes to a file.

    Differs: a leaf that requires grad is always blue; torchviz paints some saved ones orange.

    >>> import taper
    >>> from taper.viz import make_dot
    >>> x = taper.ones(3, requires_grad=True)
    >>> make_dot((x * 2).sum(), params={"x": x})
    <Dot of 5 boxes and 4 arrows>
    """
    named = _with_variables(var, _named(params))
    graph = Drawing(var, named, saved=show_saved, attributes=show_attrs)
    boxes = [_box(vertex, max_attr_chars) for vertex in graph.vertices]
    arrows = [
        Arrow(edge.tail, edge.head, directed=edge.kind != "saved", dotted=edge.kind == "view")
        for edge in graph.edges
    ]
    return Dot(boxes, arrows, _title(graph))


def make_dot_from_trace(trace: object) -> NoReturn:
    """Refused: there are no traces; `make_dot` draws the graph of any result."""
    raise NotImplementedError(
        "make_dot_from_trace: there are no traces to draw. Use make_dot on a result instead."
    )


def _named(params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None) -> dict[str, Any]:
    try:
        named = dict(() if params is None else params)
    except (TypeError, ValueError):
        named = {}
        is_named = False
    else:
        is_named = all(isinstance(name, str) for name in named)
    if not is_named:
        raise TypeError(
            "make_dot: expected a dict or an iterable of (name, tensor) for 'params', "
            f"got {type(params).__name__}"
        )
    for name, tensor in named.items():
        if not is_tensor(tensor):
            # The type that torchviz raises here.
            raise AssertionError(
                f"make_dot: expected a tensor for parameter {name!r}, got {type(tensor).__name__}"
            )
    return named


def _with_variables(var: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Add the user's variables where `make_dot` is called, for tensors that have no name."""
    known = {id(each) for each in named.values()}
    for tensor, name in variables_around():
        if id(tensor) not in known and name not in named:
            named[name] = tensor
    return named


def _title(graph: Drawing) -> str:
    counts = dict.fromkeys(_FILLS, 0)
    for vertex in graph.vertices:
        counts[vertex.kind] += 1
    return (
        f"Autograd graph: {counts['function']} functions, {counts['leaf']} leaves that require grad"
    )


def _box(vertex: Vertex, max_attr_chars: int) -> Box:
    fill = _FILLS[vertex.kind]
    if vertex.shape is None:
        rows = tuple((name, _shown(value, max_attr_chars)) for name, value in vertex.attributes)
        return Box((printable(vertex.name),), fill, rows)
    shape = ", ".join(str(size) for size in vertex.shape)
    return Box((*printable(vertex.name).split("\n"), f"({shape})"), fill)


def _signed(value: Any) -> Any:
    """Return an integer as the user gave it: PyTorch's nodes show -100 as 2**64 - 100."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return value - 2**64
    if isinstance(value, tuple | list):
        return type(value)(map(_signed, value)) if type(value) in (tuple, list) else value
    return value


def _shown(value: Any, max_attr_chars: int) -> str:
    if is_tensor(value):
        text = "[saved tensor]"
    elif isinstance(value, tuple | list) and any(is_tensor(element) for element in value):
        text = "[saved tensors]"
    else:
        text = printable(str(_signed(value))).replace("\n", "\\n")
    limit = max(max_attr_chars, 3)
    return text if len(text) <= limit else text[: limit - 3] + "..."
