"""Proxies: values that write down what is done to them.

Owns: `Proxy` and what a tracer does with one (`TracerBase`).  Functions of the public interface
ask a proxy as they ask any class with `__torch_function__` (`taper.overrides`).
"""

from __future__ import annotations

import dis
import enum
import operator
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any

import taper
from taper.autograd.overrides import watch
from taper.fx import traceback as fx_traceback
from taper.fx._codegen import MAGIC
from taper.fx._names import public_name
from taper.fx.graph import Graph
from taper.fx.immutable_collections import immutable_dict, immutable_list
from taper.fx.node import Argument, Node, Target, base_types, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

_LIBRARY = taper.__path__[0]
# What a proxy that is being made lacks, and what operators find in tensors alone.
_NOT_THERE = ("tracer", "node", "_array", "_requires_grad", "_counter")


class TraceError(ValueError):
    """What a program does cannot be written down: it asks for a value."""


class Scope:
    """The module that is being called: its path and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """A block during which another module is being called."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *raised: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TracerBase:
    """What tracers share: how nodes, proxies and arguments are made."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a node to the graph, and note in which module and line it was made."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope = getattr(self, "node_name_to_scope", {})
        if hasattr(self, "scope"):
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.get_current_meta())
        elif getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        if self.record_stack_traces and kind not in ("placeholder", "output"):
            node.stack_trace = _lines_of_user()
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node, whose arguments may be proxies, and return its proxy."""
        given = self.create_arg(args)
        named = self.create_arg(kwargs)
        node = self.create_node(kind, target, given, named, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """Return an argument as a node holds it: proxies become nodes, containers cannot change.

        A subclass may accept more kinds of values.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            values = [self.create_arg(each) for each in a]
            return type(a)(*values) if hasattr(a, "_fields") else tuple(values)
        if isinstance(a, list):
            return immutable_list([self.create_arg(each) for each in a])
        if isinstance(a, dict):
            return immutable_dict(
                (self._checked_key(key), self.create_arg(each)) for key, each in a.items()
            )
        if isinstance(a, slice):
            return slice(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if is_dataclass(a) and not isinstance(a, type):
            named = {each.name: self.create_arg(getattr(a, each.name)) for each in fields(a)}
            return self.create_node("call_function", type(a), (), named)
        if type(a).__name__ in ("OpOverload", "HigherOrderOperator"):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _checked_key(self, key: Any) -> Any:
        key = self.create_arg(key)

        def refuse(leaf: Any) -> Any:
            if isinstance(leaf, Node):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                    f"{key}"
                )
            return leaf

        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Say what a proxy is in a condition; a subclass may know."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
        )  # fmt: skip

    def iter(self, obj: Any) -> Iterator[Any]:
        """Return the parts of a proxy, if the calling line says how many there are: `a, b = x`."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        if frame is not None:
            for each in dis.get_instructions(frame.f_code):
                if each.offset == frame.f_lasti and each.opname == "UNPACK_SEQUENCE":
                    return (obj[number] for number in range(each.argval))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a proxy: what `**x` asks for."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that adds to a graph what happens to its proxies."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


def _lines_of_user() -> str:
    """Return the lines of the program that is being traced, the innermost last."""
    stack = traceback.extract_stack(sys._getframe(1))
    start = max(
        (i for i, line in enumerate(stack) if line.name == "trace" and _is_ours(line.filename)),
        default=-1,
    )
    shown = [line for line in stack[start + 1 :] if not _is_ours(line.filename)]
    return "".join(traceback.StackSummary.from_list(shown).format()).strip()


def _is_ours(filename: str) -> bool:
    return filename.startswith(_LIBRARY)


class Proxy:
    """A value that stands for the result of a node and writes down what is done to it.

    Args:
        node: the node.
        tracer: what adds the new nodes; one that appends to the graph of `node` if it is not given.

    Example:
        >>> import taper
        >>> graph = taper.fx.Graph()
        >>> x = taper.fx.Proxy(graph.placeholder("x"))
        >>> taper.relu(x) + 1
        Proxy(add)
        >>> [node.name for node in graph.nodes]
        ['x', 'relu', 'add']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node
        watch(self, briefly=True)

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in _NOT_THERE:
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d
        watch(self, briefly=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(dict(self.__dict__))
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return the keys, if the value has some."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Any,
        types: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[Any, None] = {}

        def note(leaf: Any) -> Any:
            if isinstance(leaf, Proxy):
                tracers[leaf.tracer] = None
            return leaf

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        (tracer,) = tracers
        known = public_name(orig_method)
        if known is not None and known.startswith("torch.Tensor."):
            return tracer.create_proxy("call_method", known.rpartition(".")[2], args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy: the look at it is written down only if it is not a method's call."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None
        watch(self, briefly=True)

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the look at the attribute, made when it is first asked for."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter, whose shape is known.

    Args:
        tracer: the tracer.
        node: the node that fetches the parameter.
        name: the path of the parameter.
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, taper.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self) -> Any:
        return self.param.size()

    def dim(self) -> int:
        return int(self.param.dim())

    @property
    def ndim(self) -> int:
        return int(self.param.ndim)

    def numel(self) -> int:
        return int(self.param.numel())

    def nelement(self) -> int:
        return int(self.param.nelement())


_REFLECTED = {
    "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "xor",
    "or_", "getitem", "matmul",
}  # fmt: skip


def _magic(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name)

    def method(*args: Any, **kwargs: Any) -> Proxy:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    method.__name__ = f"__{name.strip('_')}__"
    return method


def _reflected(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name)

    def method(self: Proxy, rhs: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    method.__name__ = f"__r{name.strip('_')}__"
    return method


for _name in MAGIC:
    setattr(Proxy, f"__{_name.strip('_')}__", _magic(_name))
for _name in _REFLECTED:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
