"""What the scripts of the page are given: a graph with its repetitions in tables.

Owns the form of that JSON.  Lines, modules and operators are in tables of their own, because ten
thousand nodes share a few of them; a graph of more than `MOST_NODES` is given line by line instead
of node by node.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, replace
from typing import Any, TypeVar

from taper.viz.condensing import merged
from taper.viz.records import Edge, Graph, GraphNode, SourceLine

__all__ = ["MOST_NODES", "condensed", "facts_of", "page_data"]

MOST_NODES = 20_000  # a page of more than that is slow to open
_AROUND = 3  # neighbours of a source line that are shown
# Operators that change neither numbers nor meaning: the picture shows them on lines.
_COPIES = frozenset({"clone", "contiguous"})

Entry = TypeVar("Entry", bound=Hashable)


class _Table(dict[Any, int]):
    """Numbers for values, in the order of their first use."""

    def place(self, value: Entry | None) -> int | None:
        return None if value is None else self.setdefault(value, len(self))


def page_data(graph: Graph, tape: Any = None, counts: list[int] | None = None) -> dict[str, Any]:
    """Return the JSON of a page; `counts` says how many nodes each one stands for."""
    if counts is None and len(graph.nodes) > MOST_NODES:
        graph, counts = condensed(graph)
        tape = None
    elif counts is not None:
        tape = None
    else:
        counts = [1] * len(graph.nodes)
    lines, operators = _Table(), _Table()
    modules = _Table()
    for each in graph.modules:
        modules.place(each)
    nodes = [
        _node(node, count, lines, modules, operators)
        for node, count in zip(graph.nodes, counts, strict=True)
    ]
    return {
        "nodes": nodes,
        "leaves": [asdict(each) for each in graph.leaves],
        "edges": [[e.source, e.output, e.target, e.input] for e in graph.edges],
        "outputs": [asdict(each) for each in graph.outputs],
        "inputs": _inputs(graph),
        "storages": [asdict(each) for each in graph.storages],
        "lines": [_line(each) for each in lines],
        "modules": [asdict(each) for each in modules],
        "operators": [
            {"summary": summary, "derivatives": [asdict(each) for each in derivatives]}
            for summary, derivatives in operators
        ],
        "tape": tape,
    }


def _node(
    node: GraphNode, count: int, lines: _Table, modules: _Table, operators: _Table
) -> dict[str, Any]:
    single = sum(value is not None for value in node.inputs) == 1
    return {
        "name": node.name,
        "operator": node.operator,
        "about": operators.place((node.summary, node.derivatives)),
        "line": lines.place(node.line),
        "module": modules.place(node.module),
        "inputs": [None if each is None else asdict(each) for each in node.inputs],
        "outputs": [asdict(each) for each in node.outputs],
        "saved": [asdict(each) for each in node.saved],
        "settings": node.settings,
        "view": node.view,
        "quiet": (node.view or node.operator in _COPIES) and single,
        "freed": node.freed,
        "count": count,
    }


def _line(line: SourceLine) -> dict[str, Any]:
    """Return a line with its neighbours; their common indent is left out."""
    source = linecache.getlines(line.file)
    place = line.number - 1
    first = max(0, place - _AROUND)
    near = [text.rstrip("\n").expandtabs(4) for text in source[first : place + _AROUND + 1]]
    indents = [len(text) - len(text.lstrip()) for text in near if text.strip()]
    near = [text[min(indents, default=0) :] for text in near]
    own = place - first
    known = own < len(near)
    return {
        **asdict(line),
        "before": near[:own] if known else [],
        "full": near[own] if known else line.text,
        "after": near[own + 1 :] if known else [],
    }


def _inputs(graph: Graph) -> list[dict[str, Any]]:
    """Return the tensors without gradient that nodes keep, as far as they have names."""
    found: dict[str, dict[str, Any]] = {}
    for node in graph.nodes:
        for saved in node.saved:
            if saved.kind == "constant" and saved.variable:
                entry = found.setdefault(
                    saved.variable,
                    {
                        "name": saved.variable,
                        "shape": saved.shape,
                        "dtype": saved.dtype,
                        "bytes": saved.bytes,
                        "users": [],
                    },
                )
                entry["users"].append(node.id)
    return list(found.values())


def facts_of(graph: Graph, counts: list[int] | None = None) -> str:
    """Return what a graph consists of, for a line under its title."""
    nodes = len(graph.nodes) if counts is None else sum(counts)
    parameters = sum(_size(each.shape) for each in graph.leaves)
    parts = [
        f"{nodes:,} node{'s' * (nodes != 1)}",
        f"{len(graph.leaves):,} {'leaf' if len(graph.leaves) == 1 else 'leaves'} "
        f"({parameters:,} number{'s' * (parameters != 1)})",
    ]
    if any(node.freed for node in graph.nodes):
        parts.append("saved values freed by a backward pass")
    return " · ".join(parts)


def _size(shape: Iterable[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def condensed(graph: Graph) -> tuple[Graph, list[int]]:
    """Return the graph with nodes of one name, line and module as one, and how many they are."""
    groups: dict[Any, int] = {}
    place_of: list[int] = []
    first: list[GraphNode] = []
    counts: list[int] = []
    for node in graph.nodes:
        place = groups.setdefault((node.name, node.line, node.module), len(groups))
        if place == len(first):
            first.append(replace(node, id=place))
            counts.append(0)
        counts[place] += 1
        place_of.append(place)
    shift = len(first) - len(graph.nodes)

    def new(id: int) -> int:
        return place_of[id] if id < len(place_of) else id + shift

    return merged(_renumbered(graph, tuple(first), new)), counts


def _renumbered(graph: Graph, nodes: tuple[GraphNode, ...], new: Callable[[int], int]) -> Graph:
    """Return the graph with other nodes; `new` gives the new ids of nodes and leaves."""
    edges: dict[tuple[int, int], Edge] = {}
    for edge in graph.edges:
        ends = new(edge.source), new(edge.target)
        if ends[0] != ends[1]:
            edges.setdefault(ends, Edge(ends[0], edge.output, ends[1], edge.input))
    storages = [
        replace(
            each,
            leaf=None if each.leaf is None else new(each.leaf),
            holders=tuple(dict.fromkeys(map(new, each.holders))),
        )
        for each in graph.storages
    ]
    return replace(
        graph,
        outputs=tuple(replace(each, source=new(each.source)) for each in graph.outputs),
        nodes=nodes,
        leaves=tuple(replace(each, id=new(each.id)) for each in graph.leaves),
        edges=tuple(sorted(edges.values(), key=lambda edge: edge.target)),
        storages=tuple(storages),
    )
