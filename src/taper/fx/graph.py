"""Graphs: a program as a list of nodes, which can be read, changed and written as Python again.

Owns: `Graph`, the list of its nodes, and where new nodes go.  `_codegen.py` writes the Python text.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import taper
from taper.fx._codegen import (
    CodeGen,
    PythonCode,
    _BoxedCodeGen,
    _format_target,
    _PyTreeCodeGen,
    _PyTreeInfo,
)
from taper.fx._names import qualified_name
from taper.fx._namespace import (
    _custom_builtins,
    _Namespace,
    _register_custom_builtin,
    _snake_case,
)
from taper.fx.node import Argument, Node, Target, _type_repr, map_arg
from taper.ops.identity import OpOverload

__all__ = ["CodeGen", "Graph", "PythonCode"]
for _class in (CodeGen, PythonCode, _BoxedCodeGen, _PyTreeCodeGen, _PyTreeInfo, _Namespace):
    _class.__module__ = __name__
_SHARED = (_custom_builtins, _register_custom_builtin)  # PyTorch has them here, too


class _NodeList:
    """The nodes of a graph, in their order; nodes may be erased while one walks."""

    def __init__(self, graph: Graph, direction: Literal["_prev", "_next"] = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, direction = self.graph._root, self.direction
        node = getattr(root, direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, direction)

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, "_next" if self.direction == "_prev" else "_prev")


_NodeList.__name__ = _NodeList.__qualname__ = "_node_list"
_node_list = _NodeList


class _InsertPoint:
    """A block during which new nodes of a graph go to another place."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        self.graph._insert = self.orig_insert


class Graph:
    """A program as a list of nodes.

    Args:
        owning_module: the GraphModule that runs it.
        tracer_cls: the class of the tracer that made it.
        tracer_extras: what the tracer wants to keep with it.

    Example:
        >>> import taper
        >>> graph = taper.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(taper.relu, (x,))
        >>> z = graph.call_method("neg", (y,))
        >>> end = graph.output(z)
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
            %neg : [num_users=1] = call_method[target=neg](args = (%relu,), kwargs = {})
            return neg
    """

    def __init__(
        self,
        owning_module: Any | None = None,
        tracer_cls: Any | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen: CodeGen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    @property
    def owning_module(self) -> Any | None:
        """The module that runs the graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any | None) -> None:
        if mod is not None:
            self._owning_module = mod if not self._owners else None
            self._owners += 1

    @property
    def nodes(self) -> _NodeList:
        """All nodes in their order; `reversed(graph.nodes)` walks backwards."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """Return the node that says what the program returns."""
        return next(iter(reversed(self.nodes)))

    def find_nodes(self, *, op: str, target: Any | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind and, if it is given, with a target."""
        return [
            node
            for node in self.nodes
            if node.op == op and (op == "output" or target is None or node.target == target)
        ]

    # making nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a node at the place where new nodes go: the end, or as `inserting_before` says.

        Args:
            op: the kind of node.
            target: what is called or fetched.
            args: the arguments; nodes stand for results of earlier ones.
            kwargs: the keyword arguments.
            name: the wished name of the variable; a name like the target if it is not given.
            type_expr: the type that the code gives the result.
        """
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        wished = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(wished, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", None) or ():
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target | None) -> str:
        if isinstance(target, OpOverload):
            name = target._opname
        elif callable(target):
            name = qualified_name(target) if hasattr(target, "__name__") else type(target).__name__
            name = name.rpartition(".")[2]
        elif target is None:
            raise AssertionError("Target is None")
        else:
            name = target
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(name)

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = ...
    ) -> Node:
        """Add an argument of the program."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Add a look at an attribute of the module: a parameter, a buffer, any other."""
        self._warn_of_missing(qualified_name)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def _warn_of_missing(self, path: str) -> None:
        module = self.owning_module
        if module is None:
            return
        value: Any = module
        for each in path.split("."):
            if not hasattr(value, each):
                break
            value = getattr(value, each)
        else:
            return
        if each != path.rpartition(".")[2]:
            warnings.warn(f"Failed to fetch module {path.rpartition('.')[0]}!", stacklevel=3)
        warnings.warn(
            "Attempted to insert a get_attr Node with no underlying reference in the owning "
            "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
            "GraphModule.add_parameter to add the necessary Parameter, or "
            "nn.Module.register_buffer to add the necessary buffer",
            stacklevel=3,
        )

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a call of a module inside the program's module."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name=name, type_expr=type_expr
        )

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Add the end of the program: what it returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node
    ) -> Node:
        """Add a copy of a node, which may belong to another graph.

        Args:
            node: the node.
            arg_transform: gives for a node among the arguments what stands here in its place.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument | None:
        """Add copies of all nodes of a graph but its output; return what that one returns.

        Args:
            g: the graph.
            val_map: gets the copy of each node; nodes that it holds already are not copied.
            return_output_node: return the output node of `g`, too.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda each: val_map[each])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda each: val_map[each])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls)
        copies: dict[Node, Node] = {}
        found = made.graph_copy(self, copies, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        for node, other in copies.items():
            memo[id(node)] = other
        if isinstance(found, tuple):
            value, old = found
            end = made.output(value, type_expr=old.type)
            end.meta = copy.copy(old.meta)
            memo[id(old)] = end
        return made

    # changing the list

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Let new nodes go before a node during a `with` block; None means the end."""
        if n is None:
            return _InsertPoint(self, self._root.prepend)
        self._check_own(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Let new nodes go right after a node during a `with` block; None means the end."""
        if n is None:
            return self.inserting_before()
        self._check_own(n)
        return _InsertPoint(self, n.append)

    def _check_own(self, node: Node) -> None:
        if node.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    def erase_node(self, to_erase: Node) -> None:
        """Take a node that nobody uses out of the graph."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_inputs((), {})

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users.clear()
            self.erase_node(node)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out the nodes whose results nobody uses; return whether there were any.

        Args:
            is_impure_node: says of a node whether it has effects and stays; as `Node.is_impure` if
                it is not given.
        """
        self.lint()
        asked = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not asked(node):
                self.erase_node(node)
        return self._len != before

    def lint(self) -> None:
        """Raise an error unless the graph is whole: order, owners, names, targets."""
        seen: set[Node] = set()
        names: set[str] = set()

        def check(node: Node, arg: Node) -> None:
            if arg.graph is not self:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was "
                    "used as an argument! If you are copying nodes from another graph, make sure "
                    f"to use ``arg_transform`` on node_copy() to remap values\n{self}"
                )
            if arg not in seen:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{node}' was used before it has been defined! "
                    f"Please check that Nodes in the graph are topologically ordered\n{self}"
                )

        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                check(node, arg)
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            self._check_target(node)

    def _check_target(self, node: Node) -> None:
        if node.op not in ("get_attr", "call_module") or self.owning_module is None:
            return
        value: Any = self.owning_module
        path = str(node.target).split(".")
        for number, each in enumerate(path):
            if not hasattr(value, each):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {each} of "
                    f"{'.'.join(path[:number])}"
                )
            value = getattr(value, each)
        if node.op == "call_module" and not isinstance(value, taper.nn.Module):
            raise RuntimeError(
                f"Node {node} target {node.target} {path[-1]} of {'.'.join(path[:-1])} does not "
                "reference an nn.Module"
            )

    # text

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """Write the program as a Python function.

        Args:
            root_module: the name of the module, normally `self`.
            verbose: say beside the lines where they come from and what shapes they have.
            include_stride: with `verbose`, strides too.
            include_device: with `verbose`, devices too.
            colored: with `verbose`, in colours; they are left out.
            expanded_def: write each argument on its own line.
            record_func: accepted; nothing is recorded.
            additional_meta: with `verbose`, also these entries of `meta`.

        Returns:
            the text (`src`) and the names that it needs (`globals`).
        """
        names = _Namespace()

        def variable(node: Node) -> str:
            return names.create_name(node.name, node)

        with self._shown_as(variable):
            return self._codegen._gen_python_code(
                self.nodes,
                root_module,
                names,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                expanded_def=expanded_def,
                additional_meta=additional_meta,
            )

    @contextlib.contextmanager
    def _shown_as(self, variable: Callable[[Node], str]) -> Iterator[None]:
        before = [(node, node._repr_fn) for node in self.nodes]
        try:
            for node, _ in before:
                node._repr_fn = variable
            yield
        finally:
            for node, earlier in before:
                node._repr_fn = earlier

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print the nodes as a table; this needs the package `tabulate`."""
        try:
            # late: an optional package
            from tabulate import tabulate  # type: ignore[import-untyped]
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on "
                "this machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    # how arguments come in and results go out

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object write the code."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for some arguments of the program."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return what the program returns for a value of its output node."""
        return self._codegen.process_outputs(out)

    def on_generate_code(
        self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]
    ) -> contextlib.AbstractContextManager[None]:
        """Let a function change the lines of generated code.

        Args:
            make_transformer: is given the present transformer or None, and returns the new one,
                which is given the lines of the body and returns others.

        Returns:
            a context manager that restores the present one at its end.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def block() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return block()


_OTHERS = (_format_target, _type_repr)  # PyTorch has them here, too
