"""The graph as the later steps of the layout see it: points in layers, joined by short links.

Owns the way of every edge from rank to rank.  Knows neither how layers are ordered nor where a
point ends up; it keeps the order that `ordering` finds and returns routes for the coordinates that
`coordinates` finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from taper.viz.ranks import Arc, longest_path_ranks, turned_edges

__all__ = ["Bands", "Mesh", "Point"]

Point = tuple[float, float]

_BOX_GAP = 22.0  # between neighbours of a rank
_LINE_GAP = 12.0  # between a line that passes a rank and its neighbours
_PORT_GAP = 16.0  # between the ends of lines on one side of a box
_PORT_MARGIN = 8.0  # from the corner of a box to the nearest line
_MAX_WAYPOINTS = 60_000


@dataclass(slots=True)
class Bands:
    """The strip of the picture that each rank takes, from top to bottom."""

    tops: list[float] = field(default_factory=list)
    bottoms: list[float] = field(default_factory=list)

    def middle(self, rank: int) -> float:
        return round((self.tops[rank] + self.bottoms[rank]) / 2, 1)


class Mesh:
    """Points are boxes (first) and waypoints; a link joins points of neighbouring ranks."""

    def __init__(
        self, sizes: Sequence[Point], edges: Sequence[Arc], groups: Sequence[Hashable]
    ) -> None:
        self.box_count = len(sizes)
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.turned = turned_edges(len(sizes), edges)
        self.arcs = [
            (head, tail) if turned else (tail, head)
            for (tail, head), turned in zip(edges, self.turned, strict=True)
        ]
        self.layer_of = longest_path_ranks(
            len(sizes), [arc for arc in self.arcs if arc[0] != arc[1]]
        )
        self.links: list[Arc] = []
        self.ways: list[list[int]] = [[] for _ in edges]  # links of each edge, from upper to lower
        self.direct: set[int] = set()  # edges that got no waypoints
        self._lead_edges(groups)
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer_of, default=-1) + 1)]
        self.above: list[list[int]] = [[] for _ in self.layer_of]
        self.below: list[list[int]] = [[] for _ in self.layer_of]
        for upper, lower in self.links:
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        self.first_ranks = self.layer_of[:]  # the highest rank of all that lies above a point
        self.last_ranks = self.layer_of[:]  # the lowest rank of all that lies below it
        by_rank = sorted(range(len(self.layer_of)), key=self.layer_of.__getitem__)
        for point in by_rank:
            for lower in self.below[point]:
                self.first_ranks[lower] = min(self.first_ranks[lower], self.first_ranks[point])
        for point in reversed(by_rank):
            for upper in self.above[point]:
                self.last_ranks[upper] = max(self.last_ranks[upper], self.last_ranks[point])
        self.upper_ports: list[float] = []
        self.lower_ports: list[float] = []

    def _lead_edges(self, groups: Sequence[Hashable]) -> None:
        trunks: dict[Hashable, list[int]] = {}
        for edge, (upper, lower) in enumerate(self.arcs):
            if upper == lower:
                continue
            if self.layer_of[lower] - self.layer_of[upper] == 1:
                self._link(edge, upper, lower)
            else:
                trunks.setdefault((upper, groups[edge], self.turned[edge]), []).append(edge)

        def longest(members: list[int]) -> int:
            return max(self.layer_of[self.arcs[edge][1]] for edge in members)

        room = _MAX_WAYPOINTS
        for members in sorted(
            trunks.values(),
            key=lambda group: longest(group) - self.layer_of[self.arcs[group[0]][0]],
        ):
            upper = self.arcs[members[0]][0]
            room -= longest(members) - self.layer_of[upper] - 1
            if room < 0:
                self.direct.update(members)
            else:
                self._lead_along_trunk(upper, members)

    def _lead_along_trunk(self, upper: int, members: list[int]) -> None:
        """Lead all edges of a group along one line of waypoints; each leaves it where it must."""
        members = sorted(members, key=lambda edge: -self.layer_of[self.arcs[edge][1]])
        start = self.layer_of[upper]
        trunk = [upper]
        for edge in members:
            lower = self.arcs[edge][1]
            while start + len(trunk) < self.layer_of[lower]:  # only for the first, the longest
                trunk.append(self._waypoint(start + len(trunk)))
                self._link(edge, trunk[-2], trunk[-1])
            self._link(edge, trunk[self.layer_of[lower] - start - 1], lower)

    def _waypoint(self, rank: int) -> int:
        self.layer_of.append(rank)
        self.widths.append(0.0)
        self.heights.append(0.0)
        return len(self.layer_of) - 1

    def _link(self, edge: int, upper: int, lower: int) -> None:
        self.ways[edge].append(len(self.links))
        self.links.append((upper, lower))

    def spread_ports(self) -> None:
        """Give each link its own place on the boxes it joins, in the order of the other ends."""
        place_in_layer = [0] * len(self.layer_of)
        for layer in self.layers:
            for index, point in enumerate(layer):
                place_in_layer[point] = index
        self.upper_ports = [0.0] * len(self.links)
        self.lower_ports = [0.0] * len(self.links)
        for side, other, ports in ((0, 1, self.upper_ports), (1, 0, self.lower_ports)):
            ends: dict[int, list[int]] = {}
            for number, link in enumerate(self.links):
                if link[side] < self.box_count:
                    ends.setdefault(link[side], []).append(number)
            for box, numbers in ends.items():
                numbers.sort(key=lambda number: place_in_layer[self.links[number][other]])
                room = max(self.widths[box] - 2 * _PORT_MARGIN, 0.0)
                step = min(_PORT_GAP, room / max(len(numbers) - 1, 1))
                for index, number in enumerate(numbers):
                    ports[number] = (index - (len(numbers) - 1) / 2) * step

    def separation(self, left: int, right: int) -> float:
        """Return the least distance of the centres of two neighbours in a layer."""
        both_boxes = left < self.box_count and right < self.box_count
        gap = _BOX_GAP if both_boxes else _LINE_GAP
        return (self.widths[left] + self.widths[right]) / 2 + gap

    def straightness(self, link: Arc) -> float:
        """Return how much a link wants to be vertical: a bend far from any box looks worst.

        Next come the links of the longest path, so that the picture has a straight spine.
        """
        upper, lower = link
        waypoints = (upper >= self.box_count) + (lower >= self.box_count)
        if waypoints:
            return (2.0, 8.0)[waypoints - 1]
        is_longest = self.first_ranks[upper] == self.first_ranks[lower]
        is_longest &= self.last_ranks[upper] == self.last_ranks[lower]
        return 6.0 if is_longest else 1.0

    def route(self, edge: int, xs: list[float], bands: Bands) -> list[Point]:
        """Return the points of an edge from its tail to its head; see `Layout`."""
        upper, lower = self.arcs[edge]
        if edge in self.direct:
            points = [*self._leave(upper, xs[upper], bands), *self._arrive(lower, xs[lower], bands)]
        else:
            points = []
            for number in self.ways[edge]:
                above, below = self.links[number]
                points += self._leave(above, xs[above] + self.upper_ports[number], bands)
                points += self._arrive(below, xs[below] + self.lower_ports[number], bands)
        points = _without_needless([(round(x, 1), round(y, 1)) for x, y in points])
        return points[::-1] if self.turned[edge] else points

    def _leave(self, point: int, x: float, bands: Bands) -> list[Point]:
        rank = self.layer_of[point]
        bottom = (x, bands.bottoms[rank])
        if point >= self.box_count:
            return [bottom]
        return [(x, bands.middle(rank) + self.heights[point] / 2), bottom]

    def _arrive(self, point: int, x: float, bands: Bands) -> list[Point]:
        rank = self.layer_of[point]
        top = (x, bands.tops[rank])
        if point >= self.box_count:
            return [top]
        return [top, (x, bands.middle(rank) - self.heights[point] / 2)]


def _without_needless(points: list[Point]) -> list[Point]:
    """Return the line without points that repeat, or lie between two others on a vertical."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        if len(kept) > 1 and kept[-2][0] == kept[-1][0] == point[0]:
            kept.pop()
        kept.append(point)
    return kept
