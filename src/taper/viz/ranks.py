"""The first steps of the layout: edges turned round until there is no cycle, and ranks.

Knows boxes as numbers and edges as pairs of them, nothing of sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["longest_path_ranks", "turned_edges"]

Arc = tuple[int, int]


def turned_edges(count: int, edges: Sequence[Arc]) -> list[bool]:
    """Return for each edge whether it must be turned round for the graph to have no cycle."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, (tail, _) in enumerate(edges):
        outgoing[tail].append(number)
    turned = [False] * len(edges)
    on_path, done = bytearray(count), bytearray(count)
    for start in range(count):
        if done[start]:
            continue
        path = [(start, iter(outgoing[start]))]
        on_path[start] = 1
        while path:
            box, remaining = path[-1]
            for number in remaining:
                head = edges[number][1]
                if on_path[head]:
                    turned[number] = True
                elif not done[head]:
                    on_path[head] = 1
                    path.append((head, iter(outgoing[head])))
                    break
            else:
                path.pop()
                on_path[box], done[box] = 0, 1
    return turned


def _topological_order(above: list[list[int]], below: list[list[int]]) -> list[int]:
    missing = [len(boxes) for boxes in above]
    order = [box for box, number in enumerate(missing) if not number]
    for box in order:  # grows during the loop
        for lower in below[box]:
            missing[lower] -= 1
            if not missing[lower]:
                order.append(lower)
    return order


def longest_path_ranks(count: int, arcs: Sequence[Arc]) -> list[int]:
    """Return a rank for each box, such that arcs point to higher ranks and are short.

    The box with the longest path to it is served first: everything it depends on sits as close
    above its consumers as possible. What remains is hung below or beside what is already there.
    """
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in arcs:
        above[lower].append(upper)
        below[upper].append(lower)
    order = _topological_order(above, below)
    position, depth = [0] * count, [0] * count
    for index, box in enumerate(order):
        position[box] = index
        depth[box] = 1 + max((depth[upper] for upper in above[box]), default=0)
    ranks: list[int | None] = [None] * count
    sinks = [box for box in range(count) if not below[box]]
    for sink in sorted(sinks, key=lambda box: -depth[box]):
        _rank_ancestors(sink, above, below, position, ranks)
    return _tighten([rank or 0 for rank in ranks], order, above, below)


def _rank_ancestors(
    sink: int,
    above: list[list[int]],
    below: list[list[int]],
    position: list[int],
    ranks: list[int | None],
) -> None:
    members, seen = [sink], {sink}
    for box in members:  # grows during the loop
        for upper in above[box]:
            if ranks[upper] is None and upper not in seen:
                seen.add(upper)
                members.append(upper)
    members.sort(key=position.__getitem__)
    for box in members:
        known = [rank for upper in above[box] if (rank := ranks[upper]) is not None]
        if known:
            ranks[box] = max(known) + 1
    for box in reversed(members):
        if ranks[box] is None:
            ranks[box] = min((ranks[lower] or 0 for lower in below[box]), default=1) - 1


def _tighten(
    ranks: list[int], order: list[int], above: list[list[int]], below: list[list[int]]
) -> list[int]:
    """Move boxes that have room towards the side with more arcs; the lowest rank is 0."""
    for box in order:
        if len(above[box]) > len(below[box]):
            ranks[box] = max(ranks[upper] for upper in above[box]) + 1
    for box in reversed(order):
        if len(below[box]) > len(above[box]):
            ranks[box] = min(ranks[lower] for lower in below[box]) - 1
    lowest = min(ranks, default=0)
    return [rank - lowest for rank in ranks]
