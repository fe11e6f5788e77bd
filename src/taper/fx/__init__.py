"""`taper.fx`: programs as graphs that can be read, changed and run.

`symbolic_trace` calls a module or function with proxies and returns a `GraphModule`, whose code is
generated from the graph.  The texts are PyTorch's, so code says `torch`.
"""

from __future__ import annotations

from taper.fx import (
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    proxy,
    subgraph_rewriter,
    traceback,
)
from taper.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from taper.fx.graph import CodeGen, Graph
from taper.fx.graph_module import GraphModule
from taper.fx.interpreter import Interpreter, Transformer
from taper.fx.node import Node, has_side_effect, map_arg
from taper.fx.proxy import Proxy
from taper.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "graph",
    "graph_module",
    "has_side_effect",
    "immutable_collections",
    "interpreter",
    "map_arg",
    "node",
    "proxy",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "traceback",
    "wrap",
]
