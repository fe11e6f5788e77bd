"""Rewriting networks for inference: normalisation folded into convolutions, no dropout."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from taper import nn
from taper.fx import Graph, GraphModule, Node, Tracer, symbolic_trace
from taper.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout"]
__all__ += ["replace_node_module"]

_PATTERNS = (
    (nn.Conv1d, nn.BatchNorm1d),
    (nn.Conv2d, nn.BatchNorm2d),
    (nn.Conv3d, nn.BatchNorm3d),
)


def _parent_name(target: str) -> tuple[str, str]:
    """Split the path of a module into that of its parent and its own name."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(
    pattern: Iterable[type], node: Node, modules: dict[str, nn.Module]
) -> bool:
    """Return whether a node and the one before it call modules of two classes.

    >>> from taper import fx, nn
    >>> from taper.fx.experimental.optimization import matches_module_pattern
    >>> traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    >>> last = [node for node in traced.graph.nodes if node.op == "call_module"][-1]
    >>> matches_module_pattern((nn.Linear, nn.ReLU), last, dict(traced.named_modules()))
    True
    """
    if not node.args:
        return False
    for kind, each in zip(pattern, (node.args[0], node), strict=True):
        if not isinstance(each, Node) or each.op != "call_module":
            return False
        if type(modules.get(str(each.target))) is not kind:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Put another module in the place of the one that a node calls.

    >>> from taper import fx, nn
    >>> from taper.fx.experimental.optimization import replace_node_module
    >>> traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> node = [node for node in traced.graph.nodes if node.op == "call_module"][0]
    >>> replace_node_module(node, dict(traced.named_modules()), nn.Tanh())
    >>> getattr(traced, "0")
    Tanh()
    """
    parent, name = _parent_name(str(node.target))
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """Fold each batch normalisation into the convolution before it, for evaluation.

    Args:
        model: the network, in evaluation mode.
        inplace: whether the network itself may be changed.
        no_trace: whether it is traced already.

    >>> import taper
    >>> from taper import nn
    >>> from taper.fx.experimental.optimization import fuse
    >>> len(list(fuse(nn.Sequential(nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2)).eval()).children()))
    1
    """
    if not inplace:
        model = copy.deepcopy(model)
    if no_trace and not isinstance(model, GraphModule):
        raise AssertionError("Expected GraphModule when no_trace=True")
    traced: Any = model if no_trace else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in _PATTERNS:
        for node in graph.nodes:
            if matches_module_pattern(pattern, node, modules) and len(node.args[0].users) == 1:
                norm = modules[node.target]
                if norm.track_running_stats:
                    joined = fuse_conv_bn_eval(modules[node.args[0].target], norm)
                    replace_node_module(node.args[0], modules, joined)
                    node.replace_all_uses_with(node.args[0])
                    graph.erase_node(node)
    return GraphModule(traced, graph)


class _DropoutRemover(Tracer):
    """Traces a network as if its dropouts were not there."""

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(m, nn.Dropout):
            return args[0]
        return super().call_module(m, forward, args, kwargs)


def remove_dropout(model: nn.Module) -> nn.Module:
    """Return a network without its dropouts.

    >>> from taper import nn
    >>> from taper.fx.experimental.optimization import remove_dropout
    >>> list(remove_dropout(nn.Sequential(nn.Tanh(), nn.Dropout())).children())
    [Tanh()]
    """
    return GraphModule(model, _DropoutRemover().trace(model))


def extract_subgraph(
    orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> nn.Module:
    """Return some nodes of a graph as a network of their own.

    >>> import taper
    >>> from taper import fx, nn
    >>> from taper.fx.experimental.optimization import extract_subgraph
    >>> traced = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Tanh()))
    >>> first, relu, tanh, last = traced.graph.nodes
    >>> extract_subgraph(traced, [relu], [first], [relu])(taper.tensor([-1.0]))
    (tensor([0.]),)
    """
    graph = Graph()
    known: dict[Node, Node] = {each: graph.placeholder(each.name) for each in inputs}
    for each in nodes:
        known[each] = graph.node_copy(each, known.__getitem__)
    graph.output(tuple(known[each] for each in outputs))
    graph.lint()
    return GraphModule(orig_module, graph)
