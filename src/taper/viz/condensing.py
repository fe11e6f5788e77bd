"""Reading a very large graph line by line: all nodes of one name, line and module are one.

Owns what `show` does with graphs that no page could hold node by node.  Only the first node of each
group is described, so that a million nodes take seconds, and a bar shows how far it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from taper.opdef.nodes import TableNode
from taper.utils._progress import progress
from taper.viz.reading import Reader
from taper.viz.records import Edge, Graph, GraphNode, Storage

__all__ = ["merged", "read_condensed"]


def read_condensed(reader: Reader) -> tuple[Graph, list[int]]:
    """Return the graph that a reader has collected with groups as nodes, and how many each has."""
    nodes = reader.nodes
    groups: dict[Any, int] = {}
    firsts: list[int] = []
    counts: list[int] = []
    place_of: list[int] = []
    shown: progress[Any] = progress(
        total=2 * len(nodes), desc="reading the graph", delay=1, leave=False
    )
    with shown as bar:
        for index, node in enumerate(nodes):
            key = node.__class__, node._code, node._offset, id(getattr(node, "_module", None))
            place = groups.setdefault(key, len(groups))
            if place == len(firsts):
                firsts.append(index)
                counts.append(0)
            counts[place] += 1
            place_of.append(place)
            if not index & 0xFFFF:
                bar.update(min(0x10000, len(nodes) - index))
        described = _described(reader, firsts, place_of, bar)
    shift = len(firsts) - len(nodes)

    def new(id: int) -> int:
        return place_of[id] if id < len(place_of) else id + shift

    edges = sorted(_edges(reader, new), key=lambda edge: edge.target)
    graph = merged(reader.assembled(described, edges))
    graph = replace(
        graph,
        outputs=tuple(replace(each, source=new(each.source)) for each in graph.outputs),
        leaves=tuple(replace(each, id=new(each.id)) for each in graph.leaves),
        storages=tuple(
            replace(each, leaf=None if each.leaf is None else new(each.leaf))
            for each in graph.storages
        ),
    )
    return graph, counts


def merged(graph: Graph) -> Graph:
    """Return the graph with the pieces of memory that the same nodes hold as one piece."""
    places: dict[Any, int] = {}
    sizes: list[int] = []
    new: list[int] = []
    for each in graph.storages:
        place = places.setdefault((each.leaf, each.holders), len(places))
        if place == len(sizes):
            sizes.append(0)
        sizes[place] += each.bytes
        new.append(place)

    def moved(node: GraphNode) -> GraphNode:
        saved = [
            each if each.storage is None else replace(each, storage=new[each.storage])
            for each in node.saved
        ]
        return replace(node, saved=tuple(saved))

    kept = [
        Storage(place, size, leaf, holders)
        for ((leaf, holders), place), size in zip(places.items(), sizes, strict=True)
    ]
    return replace(graph, nodes=tuple(map(moved, graph.nodes)), storages=tuple(kept))


def _described(
    reader: Reader, firsts: list[int], place_of: list[int], bar: progress[Any]
) -> tuple[GraphNode, ...]:
    """Return the first node of each group, and count the memory that the others keep with it."""
    found: dict[int, GraphNode] = {}
    keeps: dict[type, bool] = {}
    first_of = {index: place for place, index in enumerate(firsts)}
    for index, node in enumerate(reader.nodes):
        if index in first_of:
            place = first_of[index]
            found[place] = reader.node(place, node)
        else:
            kind = node.__class__
            if kind not in keeps:
                keeps[kind] = not isinstance(node, TableNode) or bool(
                    node.saved_tensor_names or node.saved_output_names
                )
            if keeps[kind]:
                for _ in reader.saved(place_of[index], node):
                    pass  # it is noted in the reader's storages
        if not index & 0xFFFF:
            bar.update(min(0x10000, len(reader.nodes) - index))
    return tuple(found[place] for place in range(len(firsts)))


def _edges(reader: Reader, new: Any) -> Iterator[Edge]:
    seen: set[tuple[int, int]] = set()
    for target, node in enumerate(reader.nodes):
        group = new(target)
        for place, (end, nr) in enumerate(zip(node._edges, node._edge_nrs, strict=True)):
            if end is not None:
                ends = new(reader.id_of(end)), group
                if ends[0] != ends[1] and ends not in seen:
                    seen.add(ends)
                    yield Edge(ends[0], max(nr, 0), ends[1], place)
