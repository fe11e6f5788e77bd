"""The order of the points within each layer, so that few lines cross.

Reads a mesh's links and sorts its layers; knows nothing of sizes or coordinates.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from taper.viz.mesh import Mesh

__all__ = ["order_layers"]

_ROUNDS = 24
_PATIENCE = 4  # rounds without gain before giving up
_EXCHANGE_LIMIT = 4_000  # links; with more, exchanging neighbours costs seconds and gains little


def order_layers(mesh: Mesh) -> None:
    """Sort each layer by the median of its neighbours, down and up, and keep the best order."""
    _first_order(mesh)
    best, fewest = [layer[:] for layer in mesh.layers], _crossings(mesh)
    rounds_without_gain = 0
    for number in range(_ROUNDS):
        if not fewest or rounds_without_gain == _PATIENCE:
            break
        _median_sweep(mesh, downwards=number % 2 == 0, reverse_ties=number % 4 > 1)
        if len(mesh.links) <= _EXCHANGE_LIMIT:
            _exchange_neighbours(mesh)
        crossings = _crossings(mesh)
        rounds_without_gain = 0 if crossings < fewest else rounds_without_gain + 1
        if crossings < fewest:
            best, fewest = [layer[:] for layer in mesh.layers], crossings
    mesh.layers = best


def _first_order(mesh: Mesh) -> None:
    """Return an order, depth first from the bottom, in which related points start side by side."""
    seen = bytearray(len(mesh.layer_of))
    starts = sorted(range(len(seen)), key=lambda point: -mesh.layer_of[point])
    for start in starts:
        pending = [start]
        while pending:
            point = pending.pop()
            if seen[point]:
                continue
            seen[point] = 1
            mesh.layers[mesh.layer_of[point]].append(point)
            pending += reversed(mesh.below[point])
            pending += reversed(_longest_in_the_middle(mesh.above[point], mesh.first_ranks))


def _longest_in_the_middle(points: list[int], first_ranks: list[int]) -> list[int]:
    """Move the longest history to the middle of an order, so that it can go straight up."""
    earliest = min((first_ranks[point] for point in points), default=0)
    longest = [point for point in points if first_ranks[point] == earliest]
    others = [point for point in points if first_ranks[point] != earliest]
    middle = len(others) // 2
    return others[:middle] + longest + others[middle:]


def _median_sweep(mesh: Mesh, *, downwards: bool, reverse_ties: bool) -> None:
    neighbours = mesh.above if downwards else mesh.below
    layers = mesh.layers if downwards else mesh.layers[::-1]
    place_in_layer: dict[int, int] = {}
    for layer in layers:
        free = [point for point in layer if neighbours[point]]
        keys = {
            point: _median([place_in_layer[other] for other in neighbours[point]]) for point in free
        }
        if reverse_ties:
            free.reverse()
        free.sort(key=keys.__getitem__)
        # Points without neighbours on the fixed side stay where they are.
        in_order = iter(free)
        layer[:] = [next(in_order) if neighbours[point] else point for point in layer]
        place_in_layer = {point: index for index, point in enumerate(layer)}


def _median(values: list[int]) -> float:
    """Return the median; between two middle values, nearer to where the values lie denser."""
    values = sorted(values)
    middle = len(values) // 2
    if len(values) % 2:
        return float(values[middle])
    left, right = values[middle - 1], values[middle]
    if len(values) == 2:
        return (left + right) / 2
    left_spread, right_spread = left - values[0], values[-1] - right
    if left_spread + right_spread == 0:
        return (left + right) / 2
    return (left * right_spread + right * left_spread) / (left_spread + right_spread)


def _crossings(mesh: Mesh) -> int:
    return sum(
        _crossings_between(upper, lower, mesh.below) for upper, lower in pairwise(mesh.layers)
    )


def _crossings_between(upper: list[int], lower: list[int], below: list[list[int]]) -> int:
    """Return how many pairs of links between two layers cross: inversions of lower ends."""
    place_in_layer = {point: index for index, point in enumerate(lower)}
    tree = [0] * (len(lower) + 1)  # Fenwick tree of the lower ends met so far
    total = met = 0
    for point in upper:
        ends = sorted(place_in_layer[other] for other in below[point])
        for end in ends:
            index, not_right = end + 1, 0
            while index:
                not_right += tree[index]
                index &= index - 1
            total += met - not_right
        for end in ends:
            index = end + 1
            while index < len(tree):
                tree[index] += 1
                index += index & -index
        met += len(ends)
    return total


def _exchange_neighbours(mesh: Mesh) -> None:
    """Exchange neighbours in a layer where that lowers the number of crossings."""
    place_in_layer = {point: index for layer in mesh.layers for index, point in enumerate(layer)}
    for layer in mesh.layers:
        ends = {
            point: [
                sorted(place_in_layer[other] for other in side[point])
                for side in (mesh.above, mesh.below)
            ]
            for point in layer
        }
        for index in range(len(layer) - 1):
            left, right = layer[index], layer[index + 1]
            pairs = list(zip(ends[left], ends[right], strict=True))
            now = sum(_inversions(first, second) for first, second in pairs)
            if now > sum(_inversions(second, first) for first, second in pairs):
                layer[index], layer[index + 1] = right, left
        for index, point in enumerate(layer):
            place_in_layer[point] = index


def _inversions(left: list[int], right: list[int]) -> int:
    """Return how many pairs have an end of the left point right of an end of the right one."""
    return sum(bisect_left(right, end) for end in left)
