"""Pictures of graphs, as Graphviz's language says them."""

from __future__ import annotations

from typing import Any

from taper.fx.graph_module import GraphModule
from taper.fx.node import Node

__all__ = ["FxGraphDrawer"]


class FxGraphDrawer:
    """Draws a graph: its nodes as boxes, with an arrow from each value to its users.

    Args:
        graph_module: the module of the graph.
        name: the name of the picture.
        ignore_getattr: leave out the looks at attributes.

    Example:
        >>> import taper
        >>> from taper.fx.passes.graph_drawer import FxGraphDrawer
        >>> drawer = FxGraphDrawer(taper.fx.symbolic_trace(lambda x: x + 1), "plus")
        >>> print(drawer.get_dot_text().splitlines()[0])
        digraph plus {
    """

    def __init__(self, graph_module: GraphModule, name: str, ignore_getattr: bool = False) -> None:
        self._name = name
        self._module = graph_module
        self._ignored = ("get_attr",) if ignore_getattr else ()

    def get_dot_text(self) -> str:
        """Return the picture as text for Graphviz."""
        lines = [f"digraph {self._name} {{", "    rankdir=TB;"]
        for node in self._module.graph.nodes:
            if node.op in self._ignored:
                continue
            lines.append(f'    {node.name} [shape=record, label="{_label(node)}"];')
            lines += [f"    {node.name} -> {user.name};" for user in node.users]
        return "\n".join([*lines, "}"])

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """Return the picture as a graph of the package `pydot`, which must be installed."""
        try:
            # late: an optional package
            import pydot  # type: ignore[import-not-found]
        except ImportError:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed. Please install pydot "
                "through your favorite Python package manager."
            ) from None
        return pydot.graph_from_dot_data(self.get_dot_text())[0]


def _label(node: Node) -> str:
    target = node._pretty_print_target(node.target)
    rows = [f"name=%{node.name}", f"op_code={node.op}", f"target={target}"]
    rows.append(f"num_users={len(node.users)}")
    return (
        "{" + "|".join(row.replace("<", "\\\\<").replace(">", "\\\\>") for row in rows) + "\\\\n}"
    )
