"""Nodes: the steps of a graph, with their arguments and their users.

Owns: `Node`, the walk through its arguments, and which calls have effects.  A node keeps its users
right whenever its arguments are set.  Knows nothing of how a graph is made or run.
"""

from __future__ import annotations

import operator
import re
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import taper
from taper.compat.paths import public_module
from taper.fx._names import qualified_name as _get_qualified_name
from taper.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from taper.fx.graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

BaseArgumentTypes = (
    str | int | float | bool | complex | taper.dtype | taper.Tensor | taper.device
    | taper.memory_format | taper.layout
)  # fmt: skip
base_types = (
    str, int, float, bool, complex, taper.dtype, taper.Tensor, taper.device, taper.memory_format,
    taper.layout, range, slice,
)  # fmt: skip
Target = Callable[..., Any] | str
Argument = Any

_legal_ops = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)
_side_effectful_functions: set[Any] = {taper._assert, operator.setitem, taper.manual_seed}
# Calls that draw random numbers: what they return is not the same when they are left out.
_RANDOM = frozenset(
    "rand randn randint randperm rand_like randn_like randint_like normal poisson bernoulli "
    "multinomial".split()
)


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Say that calls of a function stay in a graph even if nobody uses what they return.

    >>> import taper
    >>> taper.fx.has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function to all leaves of tuples, lists, dictionaries and slices.

    >>> from taper.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda leaf: leaf * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        leaves = [map_aggregate(each, fn) for each in a]
        return type(a)(*leaves) if hasattr(a, "_fields") else tuple(leaves)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(each, fn)) for key, each in a.items())
    if isinstance(a, slice):
        ends = (map_aggregate(each, fn) for each in (a.start, a.stop, a.step))
        return slice(*ends)
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply a function to all nodes among some arguments; other leaves stay.

    >>> import taper
    >>> x = taper.fx.Graph().placeholder("x")
    >>> taper.fx.map_arg((x, 1), lambda node: node.name + "!")
    ('x!', 1)
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """Write an argument as `str(graph)` shows it."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, list | tuple):
        shown = [
            _format_arg(each) for number, each in enumerate(arg) if number < max_list_len
        ]  # fmt: skip
        more = len(arg) - max_list_len
        text = ", ".join(shown) + (f", ...[total_len={len(arg)}]" if more > 0 else "")
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(each)}" for key, each in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def _type_repr(obj: object) -> str:
    """Write a type as annotations name it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        name = getattr(obj, "__qualname__", obj.__name__)
        home = public_module(obj.__module__, name)
        return name if home == "builtins" else f"{home}.{name}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return re.sub(r"\b(taper[\w.]*)\.(\w+)", _public_path, repr(obj))


def _public_path(found: re.Match[str]) -> str:
    return f"{public_module(found[1], found[2])}.{found[2]}"


class Node:
    """One step of a graph.

    `op` says what the step does: `placeholder` (an argument of the program), `get_attr`,
    `call_function`, `call_module`, `call_method` or `output`; `target` says which function, module,
    method or attribute; `args` and `kwargs` are what it is given, where nodes stand for the results
    of earlier steps.

    Args:
        graph: the graph to which the node belongs.
        name: the variable that holds the result.
        op: the kind of step.
        target: what is called or fetched.
        args: the arguments.
        kwargs: the keyword arguments.
        return_type: the annotated type of the result.

    Example:
        >>> import taper
        >>> graph = taper.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(taper.relu, (x,))
        >>> y.op, y.args, list(x.users)
        ('call_function', (x,), [relu])
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{_type_repr(type(target))} but a Callable is expected"
            )
        if op not in ("call_function", "root") and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{_type_repr(type(target))} but a str is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._prev = self
        self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._set_inputs(args, kwargs)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "graph": self.graph}

    # the list of nodes

    @property
    def next(self) -> Node:
        """The node after this one in the graph."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one in the graph."""
        return self._prev

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        x._prev, x._next = self._prev, self
        self._prev._next = self._prev = x

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place after this one."""
        if self._next is not x:
            self._next.prepend(x)

    def _comes_before(self, other: Node) -> bool:
        node: Node = self
        while node.op != "root":
            if node is other:
                return node is not self
            node = node._next
        return False

    def __lt__(self, other: Node) -> bool:
        return self._comes_before(other)

    def __gt__(self, other: Node) -> bool:
        return other._comes_before(self)

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # arguments and users

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments; set the whole tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._set_inputs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments; set the whole dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._set_inputs(self._args, k)

    def _set_inputs(self, args: Iterable[Any], kwargs: dict[str, Any]) -> None:
        found: dict[Node, None] = {}

        def note(node: Node) -> Node:
            found[node] = None
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)
        for old in self._input_nodes:
            if old not in found:
                old.users.pop(self, None)
        self._input_nodes = found
        for new in found:
            new.users.setdefault(self)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in their order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Set one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before the one at `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node use another one.

        Args:
            replace_with: the node that they use from now on.
            delete_user_cb: says for a user whether it changes; all do if it is not given.
            propagate_meta: hand `meta` on to `replace_with`, which must have none.

        Returns:
            the nodes that used this one.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node in the place of an argument."""

        def exchanged(node: Node) -> Node:
            return new_input if node is old_input else node

        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", None) or ():
            hook(old=old_input, new=new_input.name, user=self)
        self._set_inputs(map_arg(self._args, exchanged), map_arg(self._kwargs, exchanged))

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made the node, where the tracer kept them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # questions

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the node does more than compute a value: then it stays in its graph."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions:
                return True
            return impure_random and getattr(self.target, "__name__", "") in _RANDOM
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            target = module.get_submodule(str(self.target))
            if target is None:
                raise AssertionError(
                    f"Did not find expected submodule target {self.target}"
                )  # fmt: skip
            return bool(getattr(target, "_is_impure", False))
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Return the arguments as keywords where that is possible: `fx.operator_schemas`."""
        # late: few programs ask, and the module is large
        from taper.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target,  # type: ignore[arg-type]
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    # text

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"
        if hasattr(target, "__module__"):
            name = getattr(target, "__name__", None)
            if target.__module__ == "_operator":
                return f"operator.{name}"
            return _get_qualified_name(target)
        return str(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the line of the node in the text of its graph.

        Args:
            placeholder_names: if given, placeholders add their names to it and have no line.
            maybe_return_typename: if given, its first entry gets the annotated type of the result.
            include_tensor_metadata: show dtype and shape where they are known.
        """
        kind = f"{_type_repr(self.type)} " if self.type else ""
        if include_tensor_metadata:
            kind = f"{self._described()}{kind}"
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        target = self._pretty_print_target(self.target)
        if self.op == "placeholder":
            if placeholder_names is not None:
                name = str(self.target) + (f" : {_type_repr(self.type)}" if self.type else "")
                placeholder_names.append(name)
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}[target={target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return (
            f"{head}[target={target}](args = {_format_arg(self.args)}, "
            f"kwargs = {_format_arg(self.kwargs)})"
        )

    def _described(self) -> str:
        value: Any = self.meta.get("val", self.meta.get("tensor_meta"))
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            return ""
        return f"Tensor[size={list(value.shape)}, dtype={value.dtype}] "

    def _rename(self, candidate: str) -> None:
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace._rename_object(self, self.name)
