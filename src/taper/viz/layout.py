"""Where to put the boxes of a directed graph, in layers, and how to lead the lines between them.

Owns the geometry only: sizes and pairs of indices go in, coordinates come out.  Must not know what
a box shows or how it is drawn.

The steps are those of Sugiyama, Tagawa and Toda (1981): turn edges round until there is no cycle,
give each box a rank, lead edges over several ranks through waypoints, order each rank so that few
lines cross, then find coordinates.  All steps are loops; nothing recurses over the graph.

Invariants: (I1) boxes do not overlap; (I2) no line runs through a box: between two ranks it is
free, and where it passes a rank it has a waypoint with a place of its own.  If a graph needs more
waypoints than can be placed in reasonable time, its longest lines go straight instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from taper.viz.coordinates import bands_of, horizontal_coordinates
from taper.viz.mesh import Mesh, Point
from taper.viz.ordering import order_layers

__all__ = ["Layout", "Point", "place"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each box and the way of each edge.

    Two consecutive points of a route are joined by a straight line if they lie on the axis of flow,
    else by a curve that leaves and arrives along that axis.  Edges of one group with the same upper
    end share their way; only one of them has the shared part in its route.
    """

    centres: list[Point]
    routes: list[list[Point]]
    width: float
    height: float
    horizontal: bool


def place(
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    groups: Sequence[Hashable] | None = None,
    *,
    horizontal: bool = False,
) -> Layout:
    """Lay out boxes of the given (width, height), with edges (tail, head) that point down.

    `groups` names a group for each edge; edges of different groups never share a line.
    `horizontal` lets edges point to the right instead. An edge from a box to itself gets an empty
    route.

    >>> layout = place([(40, 20), (40, 20), (40, 20)], [(0, 2), (1, 2)])
    >>> layout.centres
    [(20.0, 10.0), (82.0, 10.0), (51.0, 68.0)]
    >>> layout.routes[0]
    [(20.0, 20.0), (43.0, 58.0)]
    """
    if horizontal:
        sizes = [(height, width) for width, height in sizes]
    mesh = Mesh(sizes, edges, groups if groups is not None else [None] * len(edges))
    order_layers(mesh)
    mesh.spread_ports()
    xs = horizontal_coordinates(mesh)
    bands = bands_of(mesh, xs)
    centres = [(round(xs[box], 1), bands.middle(mesh.layer_of[box])) for box in range(len(sizes))]
    routes = [mesh.route(edge, xs, bands) for edge in range(len(edges))]
    width = max((x + mesh.widths[point] / 2 for point, x in enumerate(xs)), default=0.0)
    height = bands.bottoms[-1] if bands.bottoms else 0.0
    if horizontal:
        centres = [(y, x) for x, y in centres]
        routes = [[(y, x) for x, y in route] for route in routes]
        width, height = height, width
    return Layout(centres, routes, round(width, 1), round(height, 1), horizontal)
