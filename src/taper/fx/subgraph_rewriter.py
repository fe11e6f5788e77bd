"""Replacing a small graph by another one, wherever it stands in a large one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from taper import nn
from taper.fx._symbolic_trace import symbolic_trace
from taper.fx.graph import Graph
from taper.fx.graph_module import GraphModule
from taper.fx.node import Node
from taper.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = [
    "Match",
    "ReplacedPatterns",
    "replace_pattern",
    "replace_pattern_with_filters",
]

Filter = Callable[[InternalMatch, Graph, Graph], bool]
Pattern = Callable[..., Any] | Graph | GraphModule


class Match(NamedTuple):
    """A place where a pattern was replaced."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was replaced, and the new nodes."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace what a function does, wherever it stands in a graph, by what another one does.

    Args:
        gm: the module whose graph is changed.
        pattern: the function that is looked for; its arguments fit any values.
        replacement: the function that comes in its place, with the same arguments.

    Returns:
        the places that were found.

    Example:
        >>> import taper
        >>> traced = taper.fx.symbolic_trace(lambda x: taper.relu(x) + 1)
        >>> old, new = lambda x: taper.relu(x), lambda x: taper.tanh(x)
        >>> places = taper.fx.replace_pattern(traced, old, new)
        >>> print(traced.code.strip())
        def forward(self, x):
            tanh = torch.tanh(x);  x = None
            add = tanh + 1;  tanh = None
            return add
    """
    done = _replace(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in done]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replace a pattern as `replace_pattern` does, where all filters agree.

    Args:
        gm: the module whose graph is changed.
        pattern: what is looked for.
        replacement: what comes in its place.
        match_filters: functions of the place, the graph and the pattern, which say yes or no.
        ignore_literals: numbers in the pattern fit any others.
        replacement_callback: returns the replacement for a place, if none is given.
        node_name_match: accepted.

    Example:
        >>> import taper
        >>> from taper.fx.subgraph_rewriter import replace_pattern_with_filters
        >>> traced = taper.fx.symbolic_trace(lambda x: taper.relu(x))
        >>> replace_pattern_with_filters(
        ...     traced, lambda x: taper.relu(x), lambda x: x, [lambda match, graph, pattern: False]
        ... )
        []
    """
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback)


def _graph_of(pattern: Any) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _replace(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Any = None,
) -> list[ReplacedPatterns]:
    small = _graph_of(pattern)
    matcher = SubgraphMatcher(small, ignore_literals=ignore_literals)
    places = matcher.match(gm.graph)
    places = [
        each
        for each in places
        if all(wanted(each, gm.graph, small) for wanted in match_filters or [])
    ]
    common = None if replacement is None else _graph_of(replacement)
    if common is None and replacement_callback is None:
        raise AssertionError(
            "Must provide either a replacement GraphModule or a replacement callback"
        )
    done: list[ReplacedPatterns] = []
    renamed: dict[Node, Node] = {}
    for place in places:
        new = common if common is not None else replacement_callback(place, gm.graph, small)
        done.append(_exchange(gm, small, new, place, renamed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _replace_attributes(gm, replacement)
    return done


def _exchange(
    gm: GraphModule, small: Graph, new: Graph, place: InternalMatch, renamed: dict[Node, Node]
) -> ReplacedPatterns:
    """Put the new nodes of one place in, and take the old ones out."""
    old_arguments = small.find_nodes(op="placeholder")
    new_arguments = new.find_nodes(op="placeholder")
    if len(old_arguments) != len(new_arguments):
        raise AssertionError(
            f"Placeholder count mismatch: match has {len(old_arguments)}, "
            f"replacement has {len(new_arguments)}"
        )
    values: dict[Node, Any] = {}
    for theirs, ours in zip(old_arguments, new_arguments, strict=True):
        value: Any = place.nodes_map[theirs]
        if isinstance(value, Node):  # another place's result, since
            value = place.nodes_map[theirs] = renamed.get(value, value)
        values[ours] = value
    first = _first_user(gm.graph, place)
    before = set(gm.graph.nodes)
    with gm.graph.inserting_before(first):
        result = gm.graph.graph_copy(new, values)
    made = [node for node in gm.graph.nodes if node not in before]
    results = [result] if isinstance(result, Node) else list(result or ())
    for old, each in zip(place.returning_nodes, results, strict=True):
        old.replace_all_uses_with(each)
        renamed[old] = each
    for node in reversed(small.nodes):
        found = place.nodes_map.get(node)
        if node.op not in ("placeholder", "output") and isinstance(found, Node):
            if not found.users and not found._erased:
                gm.graph.erase_node(found)
    return ReplacedPatterns(place.anchors[0], place.nodes_map, made)


def _first_user(graph: Graph, place: InternalMatch) -> Node:
    """Return the node before which the new nodes stand: the first that uses their results."""
    own = {node for node in place.nodes_map.values() if isinstance(node, Node)}
    users = {user for node in place.returning_nodes for user in node.users if user not in own}
    return next((node for node in graph.nodes if node in users), graph.output_node())


def _replace_attributes(gm: GraphModule, replacement: nn.Module) -> None:
    """Give a module the parts of the replacement that its new nodes use, and drop others."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        path = str(node.target)
        if _look(gm, path) is not None:
            continue
        value = _look(replacement, path)
        if value is None:
            raise RuntimeError(
                'Attempted to create a "', node.op, '" node during subgraph rewriting '
                f"with target {path}, but the referenced attribute does not exist in the "
                "replacement GraphModule",
            )  # fmt: skip
        if isinstance(value, nn.Module):
            gm.add_submodule(path, copy.deepcopy(value))
        else:
            setattr(gm, path, value)
    gm.graph.lint()


def _look(module: Any, path: str) -> Any:
    for each in path.split("."):
        module = getattr(module, each, None)
    return module
