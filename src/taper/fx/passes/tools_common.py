"""Small tools that passes share."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.fx.node import Node

__all__ = ["CALLABLE_NODE_OPS", "get_acc_ops_name", "get_node_target", "is_node_output_tensor"]

Tensors = Any
TensorOrTensors = Any
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """Return the name of a function in lists of operators.

    >>> import operator
    >>> from taper.fx.passes.tools_common import get_acc_ops_name
    >>> get_acc_ops_name(operator.add)
    '_operator.add'
    """
    if isinstance(k, str):
        return k
    module = k.__module__.replace("torch._ops", "torch.ops")
    return f"{module}.{k.__name__}"


def get_node_target(submodules: Any, node: Node) -> str:
    """Return what a node calls: the class of a module, the name of a function or of a method.

    >>> import taper
    >>> from taper.fx.passes.tools_common import get_node_target
    >>> graph = taper.fx.symbolic_trace(lambda x: x.neg()).graph
    >>> get_node_target({}, list(graph.nodes)[1])
    'neg'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            "Expect op types of " + ", ".join(CALLABLE_NODE_OPS) + f", but found {node.op}"
        )
    if node.op == "call_module":
        module: nn.Module = submodules[node.target]
        return str(getattr(module, "_base_class_origin", type(module)).__name__)
    if node.op == "call_function":
        target: Any = node.target
        return (
            f"_operator.{target.__name__}"
            if target.__module__ == "_operator"
            else (get_acc_ops_name(target))
        )
    return str(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Return whether `ShapeProp` found that the value of a node is a tensor.

    >>> import taper
    >>> from taper.fx.passes.tools_common import is_node_output_tensor
    >>> is_node_output_tensor(taper.fx.Graph().placeholder("x"))
    False
    """
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, nn.Parameter.__base__ or object)
