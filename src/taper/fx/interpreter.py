"""Running a graph node by node: for analyses (`Interpreter`) and for new graphs (`Transformer`).

Owns: the two classes.  Every kind of node has a method that a subclass may replace.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from taper import nn
from taper.fx import traceback as fx_traceback
from taper.fx._symbolic_trace import Tracer
from taper.fx.graph import Graph
from taper.fx.graph_module import GraphModule
from taper.fx.node import Argument, Node, Target, map_aggregate, map_arg
from taper.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module node by node.

    Args:
        module: the module; it has a graph, unless one is given.
        garbage_collect_values: forget a value when no later node needs it.
        graph: another graph to run with the module's attributes.

    Example:
        >>> import taper
        >>> class Counter(taper.fx.Interpreter):
        ...     calls = 0
        ...     def call_function(self, target, args, kwargs):
        ...         self.calls += 1
        ...         return super().call_function(target, args, kwargs)
        >>> counter = Counter(taper.fx.symbolic_trace(lambda x: taper.relu(x) + 1))
        >>> counter.run(taper.tensor(-1.0)), counter.calls
        (tensor(1.), 2)
    """

    def __init__(
        self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            self.user_to_last_uses = _last_uses(self.graph)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph and return what it returns.

        Args:
            args: the arguments, in the order of the placeholders.
            initial_env: values of nodes that are known already.
            enable_io_processing: take nested arguments apart, and nest the result, as the graph's
                code does.
        """
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _add_place(error, node)
                raise
            for unused in self.user_to_last_uses.get(node, ()):
                del self.env[unused]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with the arguments of a list, which is emptied."""
        values = dict(
            zip(self.graph.find_nodes(op="placeholder"), args_list, strict=False)
        )  # fmt: skip
        args_list.clear()
        return self.run(initial_env=values)

    @contextlib.contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with (
            fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"),
            fx_traceback.set_current_replay_node(node),
        ):
            yield

    def run_node(self, n: Node) -> Any:
        """Run one node and return its value."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Return the value of an argument of the program."""
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, but got {type(target)}")
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Return the value of an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Call a function and return what it returns."""
        return target(*args, **kwargs)  # type: ignore[operator]

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Call a method of the first argument and return what it returns."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Call a module inside the module and return what it returns."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Return what the program returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return the value of an attribute of the module by its path."""
        value: Any = self.module
        path = target.split(".")
        for number, each in enumerate(path):
            if not hasattr(value, each):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(path[: number + 1])}"
                )
            value = getattr(value, each)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the values of the arguments of a node."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return args, dict(kwargs)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Return some arguments with the values of the nodes among them."""

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Return for each node those that no later node needs."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for user in reversed(graph.nodes):
        for node in user._input_nodes:
            if node not in seen:
                seen.add(node)
                found.setdefault(user, []).append(node)
    return found


def _add_place(error: Exception, node: Node) -> None:
    """Say in the text of an error which node was running."""
    text = f"While executing {node.format_node()}"
    message = f"{error.args[0]}\n\n{text}" if error.args else text
    message += (
        f"\nOriginal traceback:\n{node.stack_trace}\nUse tlparse to see full graph. "
        "(https://github.com/pytorch/tlparse?tab=readme-ov-file#tlparse-parse-structured-pt2-logs)"
    )
    error.args = (message, *error.args[1:])


class Transformer(Interpreter):
    """Runs a graph with proxies and returns the new graph's module: replace methods to change it.

    Args:
        module: the module whose graph is changed.

    Example:
        >>> import taper
        >>> class Smooth(taper.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         target = taper.tanh if target is taper.relu else target
        ...         return super().call_function(target, args, kwargs)
        >>> traced = taper.fx.symbolic_trace(lambda x: taper.relu(x))
        >>> print(Smooth(traced).transform().code.strip())
        def forward(self, x):
            tanh = torch.tanh(x);  x = None
            return tanh
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            """Adds nodes to the new graph; every module is one step."""

            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.root = nn.Module()

            def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Proxy:
        """Add an argument of the new program."""
        default = next(iter(args)) if args else inspect.Signature.empty
        given = () if default is inspect.Signature.empty else (default,)
        return self.tracer.create_proxy("placeholder", target, given, {})

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Proxy:
        """Add a look at an attribute of the module."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Add a call of a module."""
        return self.tracer.call_module(self.fetch_attr(str(target)), _no_forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: Any) -> Any:
        """Add a call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module with the new graph."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            value = map_aggregate(
                result, lambda each: each.node if isinstance(each, Proxy) else each
            )
            old = self.graph.output_node()
            new = self.new_graph.output(value, old.type)
            new.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)


_no_forward: Callable[..., Any] = lambda *args, **kwargs: None  # noqa: E731
