"""A recorded graph as a panel of a picture: leaves above, the result below, gradients beside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from canvas import WIDTH, Box, Canvas, box_size, number

from taper.viz import Edge, Graph
from taper.viz.layout import place


@dataclass
class Panel:
    """Where the boxes of a graph lie, by id, and where the panel ends."""

    boxes: dict[int, Box]
    bottom: float


def draw_graph(
    canvas: Canvas,
    top: float,
    graph: Graph,
    lines_of: Callable[[int], Sequence[str]],
    *,
    left: float = 0,
    width: float = WIDTH,
    label: Callable[[Edge], str] | None = None,
    kind_of: Callable[[int], str] | None = None,
) -> Panel:
    """Draw a graph in the middle of a strip, with the way of the forward pass downwards.

    `lines_of` gives the text of a node or leaf by its id, `label` what is written beside an edge.
    """
    count = len(graph.nodes) + len(graph.leaves)
    texts = [list(lines_of(id)) for id in range(count)]
    edges = [(edge.source, edge.target) for edge in graph.edges]
    layout = place([box_size(lines) for lines in texts], edges, list(range(len(edges))))
    dx, dy = left + (width - layout.width) / 2, top
    routes = [[(x + dx, y + dy) for x, y in route] for route in layout.routes]
    for points in routes:
        _draw_route(canvas, points)
    for edge, points in zip(graph.edges, routes, strict=True):
        text = "" if label is None else label(edge)
        if text:
            x, y = points[-1]
            ends = [
                each[-1][0]
                for other, each in zip(graph.edges, routes, strict=True)
                if other.target == edge.target
            ]
            is_left = x == min(ends)
            side, anchor = (-7, "end") if is_left else (7, "start")
            canvas.text(x + side, y - 9, text, "code grad halo", anchor)
    boxes = {}
    for id, (lines, (x, y)) in enumerate(zip(texts, layout.centres, strict=True)):
        kind = "leaf" if id >= len(graph.nodes) else "node"
        kind = kind if kind_of is None else kind_of(id) or kind
        height = box_size(lines)[1]
        boxes[id] = canvas.box(x + dx, y + dy - height / 2, lines, kind, soft=range(1, len(lines)))
    return Panel(boxes, top + layout.height)


def _draw_route(canvas: Canvas, points: list[tuple[float, float]]) -> None:
    """Draw a line through points, upright at both ends, with a head at its end."""
    steps = [f"M{number(points[0][0])} {number(points[0][1])}"]
    last = len(points) - 1
    for place_, (x, y) in enumerate(points[1:], 1):
        before = points[place_ - 1]
        end = y - 7 if place_ == last else y
        bend = (before[1] + end) / 2
        steps.append(
            f"C{number(before[0])} {number(bend)} {number(x)} {number(bend)} "
            f"{number(x)} {number(end)}"
        )
    canvas.path("".join(steps), "line", points[-1][1])
    canvas.tip(points[-1], math.pi / 2)
