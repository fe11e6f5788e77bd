"""Tracing: a module or function is called with proxies, and the graph of what it does remains.

Owns: `Tracer`, `symbolic_trace`, and what is exchanged while a trace runs: calls of modules, looks
at parameters, and functions that programs have wrapped.
"""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import math
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import taper
from taper import nn
from taper.fx import graph_module
from taper.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from taper.fx._compatibility import compatibility  # noqa: F401 - PyG takes it from here
from taper.fx._names import written_name
from taper.fx._patching import (
    _autowrap_check,
    _find_proxy,
    _maybe_revert_all_patches,
    _patch_wrapped_functions,
    _Patcher,
    _patches,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
)
from taper.fx.graph import Graph
from taper.fx.graph_module import GraphModule
from taper.fx.node import Argument
from taper.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from taper.top_level import ScriptObject  # noqa: F401 - PyG takes it from here
from taper.utils import _pytree as pytree

_SHARED = (_maybe_revert_all_patches, _wrapped_methods_to_patch)  # PyTorch has them here, too

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_is_fx_tracing_flag = False

# How modules are called and looked into where nothing is traced; tracers of libraries ask for it.
_orig_module_call: Callable[..., Any] = nn.Module.__call__
_orig_module_getattr: Callable[..., Any] = nn.Module.__getattr__


class PHBase:
    """A place in `concrete_args` that stays an argument of the program."""

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """A place that knows the argument it stands for."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


PH = PHBase()


def is_fx_tracing() -> bool:
    """Return whether a trace is running.

    >>> import taper
    >>> taper.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass: objects that are made of proxies are written down as calls of their class.

    >>> import taper
    >>> class Pair(metaclass=taper.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    ...     def sum(self):
    ...         return self.left + self.right
    >>> traced = taper.fx.symbolic_trace(lambda x, y: Pair(x, y).sum())
    >>> [node.name for node in traced.graph.nodes]
    ['x', 'y', 'pair', 'sum_1', 'output']
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found = _find_proxy(args, kwargs) if is_fx_tracing() else None
        if found is None:
            return super().__call__(*args, **kwargs)
        return found.tracer.create_proxy("call_function", cls, args, kwargs)


class Tracer(TracerBase):
    """Makes a graph by calling a module or function with proxies; subclasses change what it sees.

    Args:
        autowrap_modules: modules of Python whose functions are written down as calls.
        autowrap_functions: functions that are written down as calls.
        param_shapes_constant: take shapes of parameters as numbers.

    Example:
        >>> import taper
        >>> class Whole(taper.fx.Tracer):
        ...     def is_leaf_module(self, module, name):
        ...         return False
        >>> graph = Whole().trace(taper.nn.Sequential(taper.nn.ReLU()))
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids: set[int] = {
            id(value)
            for module in autowrap_modules
            for name, value in module.__dict__.items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids.update(id(each) for each in autowrap_functions)
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[int, str] = {}
        self._qualname_counter: dict[str, int] = collections.defaultdict(int)

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name for an attribute that the root does not have yet."""
        name = f"{prefix}0"
        if not hasattr(self.root, name):
            self._qualname_counter[prefix] = 0
            return name
        while True:
            self._qualname_counter[prefix] += 1
            name = f"{prefix}{self._qualname_counter[prefix]}"
            if not hasattr(self.root, name):
                return name

    def create_arg(self, a: Any) -> Argument:
        """Return an argument as a node holds it; tensors become attributes of the root.

        Parameters, buffers and modules of the root are fetched by their paths; another tensor
        becomes a new attribute, `_tensor_constant0`.
        """
        if isinstance(a, nn.Parameter):
            for name, each in self.root.named_parameters():
                if each is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, taper.Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, nn.Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            values = tuple(self.create_arg(each) for each in a)
            return self.create_node("call_function", type(a), values, {})
        if isinstance(a, taper.Tensor):
            return self.create_node("get_attr", self._attribute_of(a, "_tensor_constant"), (), {})
        return super().create_arg(a)

    def _attribute_of(self, value: Any, prefix: str) -> str:
        """Return the path of an attribute of the root that holds a value."""
        name = self.tensor_attrs.get(id(value))
        if name is None:
            name = self.get_fresh_qualname(prefix)
            self.tensor_attrs[id(value)] = name
            setattr(self.root, name, value)
        return name

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Return whether a module is one step of the graph; else its own calls are.

        The modules of `nn` are, but for `Sequential`.

        Args:
            m: the module.
            module_qualified_name: its path.
        """
        home = written_name(type(m).__module__)
        return home.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        """Return the path of a module in the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, each in self.root.named_modules():
            if mod is each:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self,
        m: nn.Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Say what a call of a module becomes: a step, or the steps of its `forward`.

        Args:
            m: the module.
            forward: what runs it.
            args: the arguments.
            kwargs: the keyword arguments.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            try:
                if not self.is_leaf_module(m, path):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", path, args, kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Say what a look at an attribute of a module becomes: a proxy for a parameter.

        Args:
            attr: the name.
            attr_val: the value.
            parameter_proxy_cache: the proxies that were made, by path.
        """
        if isinstance(attr_val, nn.Parameter):
            found = self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
            return attr_val if found is None else found
        if self.proxy_buffer_attributes and isinstance(attr_val, taper.Tensor):
            found = self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
            return attr_val if found is None else found
        return attr_val

    def _proxy_of(self, value: Any, named: Any, known: dict[str, Any]) -> Any:
        for name, each in named:
            if each is value:
                if name not in known:
                    known[name] = self._new_proxy(name, value)
                return known[name]
        return None

    def _new_proxy(self, name: str, value: Any) -> Proxy:
        if self.param_shapes_constant and isinstance(value, nn.Parameter):
            return self.create_proxy(
                "get_attr",
                name,
                (),
                {},
                proxy_factory_fn=lambda node: ParameterProxy(self, node, name, value),
            )
        return self.create_proxy("get_attr", name, (), {})

    # the arguments of the root

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """Make the placeholders of a function, and return it with the proxies to call it with."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        first = 1 if is_module else 0
        args: list[Any] = [self.root] if is_module else []
        signature = inspect.signature(function)
        if is_module and total == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        if isinstance(concrete_args, tuple):
            if len(names) - first != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names) - first} arguments but got "
                    f"{len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names[first:], concrete_args, strict=True))
        chosen = names[first:total]
        args += [self._argument(name, concrete_args, signature, function) for name in chosen]
        if concrete_args is not None and any(
            not isinstance(each, PHBase) and _is_nested(each) for each in concrete_args.values()
        ):
            return self._flattened(root_fn, args, chosen, is_module)
        starred = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        if not is_module and not code.co_kwonlyargcount and not starred:
            return root_fn, args
        position = total
        for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                args.append(self._argument(stars + names[position], None, signature, function))
                position += 1
        return _patched(root_fn, len(args)), args

    def _argument(
        self, name: str, concrete_args: Any, signature: inspect.Signature, function: Any
    ) -> Any:
        if concrete_args is not None and name in concrete_args:
            value = concrete_args[name]
            if isinstance(value, PHBase):
                return self._placeholder(name, signature, function)
            leaves = [
                self._fixed_leaf(name, number, leaf)
                for number, leaf in enumerate(pytree.tree_leaves(value), 1)
            ]
            return pytree.tree_unflatten(leaves, pytree.tree_structure(value))
        return self._placeholder(name, signature, function)

    def _placeholder(self, name: str, signature: inspect.Signature, function: Any) -> Proxy:
        default: tuple[Any, ...] = ()
        if not name.startswith("*"):
            parameter = signature.parameters[name]
            default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        kind = function.__annotations__.get(name)
        return self.create_proxy(
            "placeholder", name, default, {}, type_expr=_resolved(kind, function)
        )

    def _fixed_leaf(self, name: str, number: int, value: Any) -> Any:
        """Return what stands for a leaf of a concrete argument: a proxy, or the value itself."""
        proxy: Any = self.create_proxy("placeholder", f"{name}_{number}", (), {})
        if isinstance(value, PHBase):
            return proxy
        if isinstance(value, bool | int | float | str) and not isinstance(value, taper.Tensor):
            taper._assert(
                proxy == value,
                f"{name} has been specialized to have value {value} but got another value",
            )
        elif value is None:
            self.create_proxy(
                "call_function",
                _assert_is_none,
                (proxy, f"{name} has been specialized to have value None but got another value"),
                {},
            )
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized "
                "function. It is up to the user to make sure that your inputs match the inputs you "
                "specialized the function with.",
                stacklevel=2,
            )
        return value

    def _flattened(
        self, root_fn: Any, args: list[Any], names: list[str], is_module: bool
    ) -> tuple[Any, list[Any]]:
        """Trace a function of flat arguments, which nests them as the user's function expects."""
        own, given = (args[:1], args[1:]) if is_module else ([], args)
        leaves, form = pytree.tree_flatten(list(given))
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, form, None))

        def flatten_fn(*values: Any) -> Any:
            nested = pytree.tree_unflatten(list(values[len(own) :]), form)
            result = root_fn(*values[: len(own)], *nested)
            flat, result_form = pytree.tree_flatten(result)
            codegen: Any = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=result_form)
            return flat

        return flatten_fn, [*own, *leaves]

    # the trace

    def trace(
        self, root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """Return the graph of a module or function.

        Args:
            root: what is traced.
            concrete_args: values for arguments that shall not be proxies, by name.
        """
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            function = self._prepare(root)
            self.graph = Graph(tracer_cls=type(self))
            self.tensor_attrs = dict(_tensor_attributes(self.root))
            is_module = isinstance(root, nn.Module)
            called, args = self.create_args_for_root(function, is_module, concrete_args)
            with _patches() as patcher:
                self._patch_modules(patcher)
                _patch_wrapped_functions(patcher)
                searched = [module.__dict__ for module in self._autowrap_search]
                for names in (getattr(function, "__globals__", {}), *searched):
                    _autowrap_check(patcher, names, self._autowrap_function_ids)
                self.create_node(
                    "output",
                    "output",
                    (self.create_arg(called(*args)),),
                    {},
                    type_expr=_resolved(function.__annotations__.get("return"), function),
                )
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def _prepare(self, root: Any) -> Any:
        """Note the root, and return the function that is traced."""
        if not isinstance(root, nn.Module):
            self.root = nn.Module()
            return root
        self.root = root
        if not hasattr(type(root), self.traced_func_name):
            raise AssertionError(
                f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
            )
        self.root_module_name = root._get_name()
        self.submodule_paths = {module: name for name, module in root.named_modules()}
        return getattr(type(root), self.traced_func_name)

    def _patch_modules(self, patcher: _Patcher) -> None:
        known: dict[str, Any] = {}
        # Not `_orig_module_call`: a trace inside of a trace goes through the outer one.
        plain_getattr, plain_call = nn.Module.__getattr__, nn.Module.__call__

        @functools.wraps(plain_getattr)
        def look(module: Any, attr: str) -> Any:
            return self.getattr(attr, plain_getattr(module, attr), known)

        @functools.wraps(plain_call)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return plain_call(module, *args, **kwargs)

            own = getattr(getattr(module, "forward", None), "__globals__", {})
            _autowrap_check(patcher, own, self._autowrap_function_ids)
            return self.call_module(module, forward, args, kwargs)

        patcher.patch_method(nn.Module, "__getattr__", look)
        patcher.patch_method(nn.Module, "__call__", call)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = Tracer.__new__(type(self))
        for name, value in self.__dict__.items():
            own = name != "_autowrap_search"  # modules of Python cannot be copied
            made.__dict__[name] = copy.deepcopy(value, memo) if own else value
        return made


graph_module.default_tracer = Tracer


def _tensor_attributes(root: nn.Module) -> Iterator[tuple[int, str]]:
    """Return the tensors that are plain attributes of modules, with their paths."""
    for path, module in root.named_modules():
        for name, value in module.__dict__.items():
            if isinstance(value, taper.Tensor):
                yield id(value), f"{path}.{name}" if path else name


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _is_nested(value: Any) -> bool:
    return not pytree.tree_is_leaf(value)


def _resolved(kind: Any, function: Any) -> Any:
    """Return an annotation; those of the library's own functions are texts."""
    if isinstance(kind, str) and written_name(function.__module__).startswith("torch"):
        try:
            found = eval(kind, function.__globals__)
        except NameError:
            return None
        return None if found is Any else found
    return kind


def _patched(function: Any, count: int) -> Any:
    """Return a function that takes all its arguments, starred ones too, by position."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags
    )
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Say that a global function is written down as one call, and not traced through.

    Call it at the top level of the module that uses the function, or use it as a decorator.

    Args:
        fn_or_name: the function or its name; `wrap("len")` also works for a builtin one.

    Example:
        >>> import taper
        >>> taper.fx.wrap("len")
        'len'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(
    root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """Return a module whose code is what a module or function does to its arguments.

    Args:
        root: a module, or a function.
        concrete_args: values for arguments that shall not be proxies, by name: flags that the
            program branches on, and nested arguments with `fx.PH` where values come.

    Example:
        >>> import taper
        >>> traced = taper.fx.symbolic_trace(lambda x: taper.relu(x) + 1)
        >>> print(traced.code.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            add = relu + 1;  relu = None
            return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
