"""A graph cut into modules that call each other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.fx.graph import Graph
from taper.fx.graph_module import GraphModule
from taper.fx.node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One part of a graph: its nodes, and what comes in and goes out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.dependencies: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)}"


def split_module(
    m: GraphModule,
    root_m: nn.Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
) -> GraphModule:
    """Cut a traced module into modules, by what a function says of each node.

    Args:
        m: the traced module.
        root_m: the module that was traced; its parts become parts of the new modules.
        split_callback: gives for a node the number of its part.
        qualname_map: gets for each path in a new module the path in the old one.
        keep_original_order: let the parts run in the order of their first nodes.
        keep_original_node_name: keep the names of nodes in the parts.
        keep_original_input_name: keep the names of nodes as names of the parts' arguments.
        partition_affix: a word in the names of the new modules.

    Returns:
        a module that calls the parts.

    Example:
        >>> import taper
        >>> from taper.fx.passes.split_module import split_module
        >>> traced = taper.fx.symbolic_trace(lambda x: taper.relu(x) + 1)
        >>> parts = split_module(traced, traced, lambda node: int(node.name == "add"))
        >>> print(parts.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
    """
    parts: dict[str, Partition] = {}
    owner: dict[Node, Partition] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part = parts.setdefault(name, Partition(name))
        if partition_affix:
            part.submod_name = f"submod_{partition_affix}_{name}"
        part.node_names.append(node.name)
        owner[node] = part
    for node in m.graph.nodes:
        _note_uses(node, owner)
    order = list(parts.values()) if keep_original_order else _in_order(parts)
    for part in order:
        for given in part.inputs:
            part.environment[given] = part.graph.placeholder(given.name, type_expr=given.type)
            part.environment[given].meta = given.meta.copy()
    for node in m.graph.nodes:
        if node in owner:
            _copy_into(owner[node], node, root_m, qualname_map)
    return _joined(m, order, owner)


def _note_uses(node: Node, owner: dict[Node, Partition]) -> None:
    """Note which values cross the borders of parts."""
    user = owner.get(node)
    for given in node.all_input_nodes:
        maker = owner.get(given)
        if maker is user:
            continue
        if maker is not None:
            maker.outputs.setdefault(given)
        if user is not None:
            user.inputs.setdefault(given)
            if maker is not None:
                user.dependencies.setdefault(maker.name)


def _in_order(parts: dict[str, Partition]) -> list[Partition]:
    """Return the parts so that each comes after those it needs."""
    waiting = dict(parts)
    order: list[Partition] = []
    while waiting:
        ready = [each for each in waiting.values() if not set(each.dependencies) & set(waiting)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        for each in ready:
            order.append(each)
            del waiting[each.name]
    return order


def _copy_into(part: Partition, node: Node, root: nn.Module, names: dict[str, str] | None) -> None:
    args = map_arg(node.args, lambda each: part.environment[each])
    kwargs = map_arg(node.kwargs, lambda each: part.environment[each])
    target: Any = node.target
    if node.op == "call_module":
        target = str(node.target).replace(".", "_")
        part.targets[target] = root.get_submodule(str(node.target))
        if names is not None:
            names[f"{part.submod_name}.{target}"] = str(node.target)
    made = part.graph.create_node(node.op, target, args, kwargs, node.name, node.type)
    made.meta = node.meta.copy()
    part.environment[node] = made


def _joined(m: GraphModule, order: list[Partition], owner: dict[Node, Partition]) -> GraphModule:
    """Return the module that calls the parts."""
    graph = Graph()
    values: dict[Node, Any] = {}
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            values[node] = graph.placeholder(str(node.target), node.type, default)
        elif node.op == "get_attr":
            values[node] = graph.get_attr(str(node.target))
            attributes[str(node.target)] = _attribute(m, str(node.target))
        else:
            continue
        values[node].meta = node.meta.copy()
    for part in order:
        outputs = list(part.outputs)
        results = tuple(part.environment[each] for each in outputs)
        part.graph.output(results[0] if len(results) == 1 else results)
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        given = tuple(values[each] for each in part.inputs)
        call = graph.call_module(part.submod_name, given)
        if len(outputs) == 1:
            values[outputs[0]] = call
            continue
        for number, each in enumerate(outputs):
            values[each] = graph.call_function(operator.getitem, (call, number))
    end = m.graph.output_node()
    graph.output(map_arg(end.args[0], lambda each: values[each]))
    return GraphModule(attributes, graph)


def _attribute(module: Any, path: str) -> Any:
    for each in path.split("."):
        module = getattr(module, each)
    return module
