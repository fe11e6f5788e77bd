"""Finding a small graph in a large one.

Owns: what counts as the same: kind, target, arguments that are no nodes, and the nodes around.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from taper.fx.graph import Graph
from taper.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place where a pattern was found."""

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Finds all places in a graph where another one, the pattern, stands.

    Args:
        pattern: the small graph.
        match_output: the pattern's output must be the graph's output.
        match_placeholder: the pattern's arguments must be the graph's arguments.
        remove_overlapping_matches: no node belongs to two places.
        ignore_literals: numbers in the pattern fit any others.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError(
                "SubgraphMatcher cannot be initialized with an empty pattern"
            )  # fmt: skip
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = pattern.find_nodes(op="placeholder")
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output]
            if match_output
            else [each for each in self.pattern_returning_nodes if len(each.users) == 1]
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the places, in the order of the graph."""
        found: list[InternalMatch] = []
        candidates = [
            [n for n in graph.nodes if self._same_node(anchor, n)]
            for anchor in self.pattern_anchors
        ]
        self._choose(candidates, InternalMatch(list(self.pattern_anchors)), 0, found)
        found = [each for each in found if self._is_closed(each.nodes_map)]
        found.sort(key=lambda each: _position(graph, each))
        if self.remove_overlapping_matches:
            found = self._without_overlaps(found)
        for each in found:
            each.placeholder_nodes = [each.nodes_map[p] for p in self.pattern_placeholder_nodes
                                      if p in each.nodes_map]  # fmt: skip
            each.returning_nodes = [each.nodes_map[p] for p in self.pattern_returning_nodes]
        return found

    def _choose(
        self,
        candidates: list[list[Node]],
        match: InternalMatch,
        number: int,
        found: list[InternalMatch],
    ) -> None:
        """Try each candidate for an anchor, then those for the next one."""
        if number == len(candidates):
            found.append(match)
            return
        for node in candidates[number]:
            trial = InternalMatch(match.anchors, dict(match.nodes_map))
            if self._match_nodes(self.pattern_anchors[number], node, trial.nodes_map):
                self._choose(candidates, trial, number + 1, found)

    def _same_node(self, pattern: Node, node: Node) -> bool:
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._same_attribute(pattern, node)
        return pattern.target == node.target

    def _same_attribute(self, pattern: Node, node: Node) -> bool:
        return type(_fetched(pattern)) is type(_fetched(node))

    def _match_nodes(self, pattern: Node, node: Node, known: dict[Node, Node]) -> bool:
        if pattern in known:
            return known[pattern] is node
        if node in known.values() and pattern.op != "placeholder":
            return False
        if not self._same_node(pattern, node):
            return False
        before = dict(known)
        known[pattern] = node
        if pattern.op == "placeholder":
            return True
        if self._match_arguments(pattern, node, known):
            return True
        known.clear()
        known.update(before)
        return False

    def _match_arguments(self, pattern: Node, node: Node, known: dict[Node, Node]) -> bool:
        left = _flat([list(pattern.args), dict(sorted(pattern.kwargs.items()))])
        right = _flat([list(node.args), dict(sorted(node.kwargs.items()))])
        if [kind for kind, _ in left] != [kind for kind, _ in right]:
            return False
        return all(
            self._match_leaf(a, b, known) for (_, a), (_, b) in zip(left, right, strict=True)
        )

    def _match_leaf(self, pattern: Any, value: Any, known: dict[Node, Node]) -> bool:
        if isinstance(pattern, Node):
            if isinstance(value, Node):
                return self._match_nodes(pattern, value, known)
            if pattern.op == "placeholder":  # a number in the place of an argument
                known[pattern] = value
                return True
            return False
        if isinstance(value, Node):
            return False
        return self.ignore_literals or (type(pattern) is type(value) and pattern == value)

    def _is_closed(self, nodes_map: dict[Node, Node]) -> bool:
        """Return whether values inside a place are used nowhere else, but for its results."""
        inside = {
            node for pattern, node in nodes_map.items()
            if pattern.op not in ("placeholder", "output") and isinstance(node, Node)
        }  # fmt: skip
        for pattern, node in nodes_map.items():
            if pattern.op in ("placeholder", "get_attr", "output"):
                continue
            if pattern in self.pattern_returning_nodes:
                continue
            if any(user not in inside for user in node.users):
                return False
        return True

    def _without_overlaps(self, found: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        used: set[Node] = set()
        for each in found:
            own = {
                node for pattern, node in each.nodes_map.items()
                if pattern.op not in ("placeholder", "output") and isinstance(node, Node)
            }  # fmt: skip
            if not own & used:
                used |= own
                kept.append(each)
        return kept


def _position(graph: Graph, match: InternalMatch) -> int:
    places = {node: number for number, node in enumerate(graph.nodes)}
    return places[match.nodes_map[match.anchors[0]]]


def _fetched(node: Node) -> Any:
    """Return the attribute that a node fetches."""
    value: Any = node.graph.owning_module
    for each in str(node.target).split("."):
        value = getattr(value, each, None)
    return value


def _flat(value: Any, kind: str = "") -> list[tuple[str, Any]]:
    """Return the leaves of arguments, each with the containers around it."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in _flat(each, f"{kind}.{key}")]
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in _flat(each, f"{kind}[{len(value)}]")]
    if isinstance(value, slice):
        return _flat([value.start, value.stop, value.step], f"{kind}:")
    return [(kind, value)]
