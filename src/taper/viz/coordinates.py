"""Coordinates for the points of an ordered mesh: short, straight lines and no overlaps.

Reads the order of the layers, the sizes and the ports of a mesh; changes nothing in it.
"""

from __future__ import annotations

from math import inf

from taper.viz.mesh import Bands, Mesh

__all__ = ["bands_of", "horizontal_coordinates"]

# For each point its neighbours on one side: the neighbour, the distance to keep, the weight.
_Pulls = list[list[tuple[int, float, float]]]

_RANK_GAP = 38.0
_ROUNDS = 10


def horizontal_coordinates(mesh: Mesh) -> list[float]:
    """Return the x of every point, the leftmost box at the left border.

    Each layer in turn takes the places nearest to where its neighbours want it, with the given
    order and distances: a weighted least-squares problem that `_fit_layer` solves exactly.
    """
    xs = [0.0] * len(mesh.layer_of)
    upward: _Pulls = [[] for _ in xs]
    downward: _Pulls = [[] for _ in xs]
    for number, (upper, lower) in enumerate(mesh.links):
        shift = mesh.upper_ports[number] - mesh.lower_ports[number]
        weight = mesh.straightness((upper, lower))
        upward[lower].append((upper, shift, weight))
        downward[upper].append((lower, -shift, weight))
    for layer in mesh.layers:
        _fit_layer(mesh, layer, xs, [])
    for number in range(_ROUNDS):
        both = [upward, downward] if number >= _ROUNDS // 2 else None
        for layer in mesh.layers:
            _fit_layer(mesh, layer, xs, both or [upward])
        for layer in reversed(mesh.layers):
            _fit_layer(mesh, layer, xs, both or [downward])
    for layer in mesh.layers:  # what is seen first: each box in the middle below its inputs
        _fit_layer(mesh, layer, xs, [upward])
    _straighten(mesh, xs, upward, downward)
    left = min((x - mesh.widths[point] / 2 for point, x in enumerate(xs)), default=0.0)
    return [x - left for x in xs]


def _straighten(mesh: Mesh, xs: list[float], upward: _Pulls, downward: _Pulls) -> None:
    """Make chains of links vertical, as far as the room between neighbours allows."""
    neighbours: dict[int, tuple[int | None, int | None]] = {}
    for layer in mesh.layers:
        for index, point in enumerate(layer):
            right = layer[index + 1] if index + 1 < len(layer) else None
            neighbours[point] = (layer[index - 1] if index else None, right)
    for chain in _chains(mesh):
        run: list[int] = []
        low, high = -inf, inf
        for point in chain:
            left, right = neighbours[point]
            lowest = -inf if left is None else xs[left] + mesh.separation(left, point)
            highest = inf if right is None else xs[right] - mesh.separation(point, right)
            if run and max(low, lowest) > min(high, highest):
                _align(mesh, run, low, high, xs, upward, downward)
                run, low, high = [], -inf, inf
            run.append(point)
            low, high = max(low, lowest), min(high, highest)
        _align(mesh, run, low, high, xs, upward, downward)


def _chains(mesh: Mesh) -> list[list[int]]:
    """Return points that should be in one vertical, from top to bottom; longest chains first.

    These are the waypoints of a line, and boxes in a row that are joined to nothing else.
    """
    next_below: dict[int, int] = {}
    has_above: set[int] = set()
    for upper, lower in mesh.links:
        are_waypoints = upper >= mesh.box_count and lower >= mesh.box_count
        are_alone = len(mesh.below[upper]) == 1 == len(mesh.above[lower])
        if are_waypoints or (are_alone and max(upper, lower) < mesh.box_count):
            next_below[upper] = lower
            has_above.add(lower)
    chains = []
    for first in range(len(mesh.layer_of)):
        if first not in has_above and (first in next_below or first >= mesh.box_count):
            chain = [first]
            while chain[-1] in next_below:
                chain.append(next_below[chain[-1]])
            chains.append(chain)
    return sorted(chains, key=lambda chain: -len(chain))


def _align(
    mesh: Mesh,
    run: list[int],
    low: float,
    high: float,
    xs: list[float],
    upward: _Pulls,
    downward: _Pulls,
) -> None:
    """Return one x between `low` and `high` for all; a line prefers that of one of its ends."""
    mean = sum(xs[point] for point in run) / len(run)
    place = min(max(mean, low), high)
    if run[0] >= mesh.box_count:
        ends = [xs[other] + shift for other, shift, _ in (*upward[run[0]], *downward[run[-1]])]
        place = next((end for end in ends if low <= end <= high), place)
    for point in run:
        xs[point] = place


def _fit_layer(
    mesh: Mesh,
    layer: list[int],
    xs: list[float],
    sides: list[_Pulls],
) -> None:
    """Put the layer's points where their neighbours on the given sides want them, without overlap.

    Least squares under the least distances, by pooling: a run of points that would be too close
    becomes one block at its weighted mean.
    """
    blocks: list[tuple[float, float, int]] = []  # place of the block's start, weight, points
    offsets: list[float] = []
    offset = 0.0
    for index, point in enumerate(layer):
        if index:
            offset += mesh.separation(layer[index - 1], point)
        offsets.append(offset)
        pulls = [pull for side in sides for pull in side[point]]
        weight = sum(pull[2] for pull in pulls)
        if weight:
            wanted = sum((xs[other] + shift) * pull for other, shift, pull in pulls) / weight
        else:
            wanted, weight = xs[point], 0.1
        start, members = wanted - offset, 1
        while blocks and blocks[-1][0] > start:
            other_start, other_weight, other_members = blocks.pop()
            total = weight + other_weight
            start = (start * weight + other_start * other_weight) / total
            weight, members = total, members + other_members
        blocks.append((start, weight, members))
    index = 0
    for start, _, members in blocks:
        for position in range(index, index + members):
            xs[layer[position]] = start + offsets[position]
        index += members


def bands_of(mesh: Mesh, xs: list[float]) -> Bands:
    """Return the ranks from top to bottom, farther apart where lines go far to the side."""
    reach = [0.0] * len(mesh.layers)
    for upper, lower in mesh.links:
        rank = mesh.layer_of[upper]
        reach[rank] = max(reach[rank], abs(xs[upper] - xs[lower]))
    bands = Bands()
    top = 0.0
    for rank, layer in enumerate(mesh.layers):
        bottom = top + max((mesh.heights[point] for point in layer), default=0.0)
        bands.tops.append(top)
        bands.bottoms.append(bottom)
        top = bottom + _RANK_GAP + min(0.06 * max(reach[rank] - 300.0, 0.0), 3 * _RANK_GAP)
    return bands
