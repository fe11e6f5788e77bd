"""GraphModule: a module whose `forward` is generated from a graph.

Owns: the generated class of each GraphModule, how its code is compiled, copied and pickled.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import taper
from taper import nn
from taper.fx._codegen import PythonCode, _PyTreeCodeGen
from taper.fx._names import qualified_name
from taper.fx._namespace import _custom_builtins
from taper.fx.graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_keys = itertools.count()
default_tracer: Any = None  # `_symbolic_trace.py` says which


def _exec_with_source(src: str, names: dict[str, Any]) -> None:
    """Run generated code, whose lines tracebacks show."""
    key = f"<eval_with_key>.{next(_keys)}"
    linecache.cache[key] = (len(src), None, src.splitlines(True), key)
    exec(compile(src, key, "exec"), names)


def _forward_from_src(src: str, names: dict[str, Any], co_fields: Any = None) -> Any:
    names = dict(names)
    _exec_with_source(src, names)
    return names["forward"]


def _format_import_block(names: dict[str, Any]) -> str:
    """Return the lines that give generated code its global names in another process."""
    lines = set()
    for name, value in names.items():
        if name in _custom_builtins:
            lines.add(_custom_builtins[name].import_str)
        elif name != qualified_name(value):
            module, _, attribute = qualified_name(value).rpartition(".")
            lines.add(f"from {module} import {attribute} as {name}")
    return "\n".join(sorted(lines))


def reduce_graph_module(body: dict[str, Any], import_block: str) -> nn.Module:
    """Return the GraphModule that was pickled: its code is compiled and traced again.

    >>> import pickle
    >>> import taper
    >>> traced = taper.fx.symbolic_trace(lambda x: x + 1)
    >>> pickle.loads(pickle.dumps(traced))(2)
    3
    """
    source = body.get("_code") or body["code"]
    forward = _forward_from_src(import_block.replace("torch", "taper") + "\n" + source, _start())
    return _deserialize_graph_module(forward, body)


def _start() -> dict[str, Any]:
    return {name: value.obj for name, value in _custom_builtins.items()}


def _deserialize_graph_module(
    forward: Callable[..., Any], body: dict[str, Any], graph_module_cls: Any = None
) -> nn.Module:
    known: Any = body.get("_tracer_cls") or default_tracer

    class KeepModules(known):  # type: ignore[misc]
        """Takes every module as one step, as the code does."""

        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    shell = _CodeOnlyModule(body)
    name = body.get("_graphmodule_cls_name", "GraphModule")
    type(shell).forward = forward
    type(shell).__name__ = name
    tracer = KeepModules()
    graph = tracer.trace(shell, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = body.get("_tracer_cls")
    made = (graph_module_cls or GraphModule)(shell, graph, class_name=name)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


def _CodeOnlyModule(body: dict[str, Any]) -> nn.Module:
    """Return a module of a class of its own with the attributes of a GraphModule."""

    class CodeOnlyModule(nn.Module):
        """A module that has the code of another one."""

    made = CodeOnlyModule()
    made.__dict__.update({key: each for key, each in body.items() if key != "_graph"})
    return made


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Copy an attribute by its path; modules on the way are made where they are missing."""
    *path, name = target.split(".")
    for each in path:
        source, goal = getattr(from_module, each), getattr(to_module, each, None)
        if source is goal:
            return
        if goal is None:
            goal = nn.Module()
            setattr(to_module, each, goal)
        from_module, to_module = source, goal
    _set_attribute(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj: Any, to_module: Any, target: str) -> None:
    """Set an attribute by its path; modules on the way are made where they are missing."""
    *path, name = target.split(".")
    for each in path:
        goal = getattr(to_module, each, None)
        if goal is None:
            goal = nn.Module()
            setattr(to_module, each, goal)
        to_module = goal
    _set_attribute(to_module, name, from_obj)


def _set_attribute(module: Any, name: str, value: Any) -> None:
    if isinstance(value, taper.Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


class _WrappedCall:
    """Calls a GraphModule, and shows the generated line on which it failed."""

    def __init__(self, cls: Any, cls_call: Callable[..., Any] | None) -> None:
        self.cls = cls
        self.cls_call = cls_call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            if error.__traceback__ is None:
                raise
            lines = traceback.extract_tb(error.__traceback__)
            generated = [line for line in lines if "eval_with_key" in line.filename]
            if generated and generated[-1] is lines[-1]:
                print(_place_of(generated[-1]), file=sys.stderr)
                raise error.with_traceback(None) from None
            raise


def _place_of(frame: traceback.FrameSummary) -> str:
    """Return the generated lines around one that failed."""
    number = frame.lineno or 0
    lines = linecache.getlines(frame.filename)
    before = "".join(lines[max(0, number - 3) : number])
    mark = "~" * (len(lines[number - 1].rstrip("\n")) if 0 < number <= len(lines) else 0)
    after = "\n".join(lines[number : number + 2])
    return (
        f"Call using an FX-traced Module, line {number} of the traced Module's generated forward "
        f"function:\n{before}\n{mark} <--- HERE\n{after}"
    )


class GraphModule(nn.Module):
    """A module that runs a graph.

    Args:
        root: a module that has what the graph fetches and calls, or a dictionary of it by path.
        graph: the graph.
        class_name: the name of the module's class in texts.

    Example:
        >>> import taper
        >>> graph = taper.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> end = graph.output(graph.call_module("act", (x,)))
        >>> module = taper.fx.GraphModule({"act": taper.nn.ReLU()}, graph)
        >>> module(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        >>> print(module.code.strip())
        def forward(self, x):
            act = self.act(x);  x = None
            return act
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        for each in cls.__mro__:
            if each.__qualname__.rpartition(".")[2] == "GraphModuleImpl":
                cls = each.__bases__[0]
                break

        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]
            """The class of one GraphModule: its `forward` is generated."""

        GraphModuleImpl.__module__ = cls.__module__
        return super().__new__(GraphModuleImpl)

    def __init__(
        self, root: nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, str(node.target))
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        if isinstance(root, nn.Module) and isinstance(getattr(root, "meta", None), dict):
            self.meta.update(root.meta)
        self._replace_hooks: list[Any] = []
        self._create_node_hooks: list[Any] = []
        self._erase_node_hooks: list[Any] = []
        self._deepcopy_hooks: list[Any] = []

    def _take(self, root: dict[str, Any], graph: Graph) -> None:
        targets = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!"
                    )
                targets.append(str(node.target))
        for target in sorted(targets, key=lambda each: each.count(".")):
            _assign_attr(root[target], self, target)

    # the graph and its code

    @property
    def graph(self) -> Graph:
        """The graph; setting another one generates the code anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return str(self._code)

    def recompile(self) -> PythonCode:
        """Generate the code from the graph: call it after changes of the graph.

        Returns:
            the text and its global names.
        """
        codegen: Any = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        written = self._graph.python_code(root_module="self")
        self._code = written.src
        self._lineno_map = written._lineno_map
        self._prologue_start = written._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, written.globals)
        if "_wrapped_call" not in vars(cls):
            own_call = vars(cls).get("__call__")
            cls._wrapped_call = _WrappedCall(cls, own_call)
            call = cls._wrapped_call

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
                return call(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return written

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Print the code as a class, with shapes and origins where they are known, and return it.

        Args:
            print_output: print it, too.
            include_stride: show strides.
            include_device: show devices.
            colored: accepted; there are no colours.
            fast_sympy_print: accepted; sizes are numbers.
            expanded_def: write each argument on its own line.
            additional_meta: entries of `meta` to show.
        """
        text = _readable(
            self, type(self).__name__, include_stride, include_device, expanded_def, additional_meta
        )
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        note = "\n# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code]) + note

    # parts

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Add a module at a path; return False where something else than a module is in the way.

        Args:
            target: the path.
            m: the module.
        """
        *path, name = target.split(".")
        module: nn.Module = self
        for each in path:
            below = getattr(module, each, None)
            if below is None:
                below = nn.Module()
                setattr(module, each, below)
            if not isinstance(below, nn.Module):
                return False
            module = below
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; return whether there was one."""
        *path, name = target.split(".")
        module: Any = self
        for each in path:
            module = getattr(module, each, None)
            if not isinstance(module, nn.Module):
                return False
        if not isinstance(getattr(module, name, None), nn.Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node of the graph uses."""
        used = {""}
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            path = str(node.target).split(".")
            used.update(".".join(path[:end]) for end in range(1, len(path) + 1))
            if node.op == "call_module":
                below = self.get_submodule(str(node.target)).named_modules()
                used.update(f"{node.target}.{name}" for name, _ in below if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # hooks

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(_checked(f, "replace_node hook"))

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(_checked(f, "create_node hook"))

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(_checked(f, "erase_node hook"))

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)

    # copies

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        kept = {key: value for key, value in self.__dict__.items() if key != "_graph"}
        shell = _CodeOnlyModule(copy.deepcopy(kept, memo))
        GraphModule.__init__(made, shell, copy.deepcopy(self.graph, memo), type(self).__name__)
        for key, value in shell.__dict__.items():
            if key not in made.__dict__:
                made.__dict__[key] = value
        for name in ("_state_dict_hooks", "_load_state_dict_pre_hooks", "meta", *_HOOK_TABLES):
            if name in shell.__dict__:
                made.__dict__[name] = shell.__dict__[name]
        made.training = self.training
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        body = self.__dict__.copy()
        written = self._graph.python_code(root_module="self")
        body["_graphmodule_cls_name"] = type(self).__name__
        del body["_graph"]
        return (reduce_graph_module, (body, _format_import_block(written.globals)))

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a Python package: its code, and its tensors in files.

        Args:
            folder: the folder, which is made.
            module_name: the name of the class.
        """
        _write_folder(self, Path(folder), module_name)


_HOOK_TABLES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
)  # fmt: skip


def _checked(f: Callable[..., Any], kind: str) -> Callable[..., Any]:
    if not callable(f):
        raise AssertionError(f"{kind} must be a callable.")
    return f


def _readable(
    module: GraphModule,
    name: str,
    include_stride: bool,
    include_device: bool,
    expanded_def: bool,
    additional_meta: list[str] | None,
) -> str:
    written = module.graph.python_code(
        root_module="self",
        verbose=True,
        include_stride=include_stride,
        include_device=include_device,
        expanded_def=expanded_def,
        additional_meta=additional_meta,
    )
    body = _indented(written.src.lstrip("\n").rstrip(" "))
    parts = [f"class {name}(torch.nn.Module):\n{body}"]
    for child_name, child in module.named_children():
        if hasattr(child, "graph") and isinstance(child, GraphModule):
            inner = _readable(
                child, child_name, include_stride, include_device, expanded_def, additional_meta
            )
            parts.append(_indented(inner))
    return "\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join("    " + line if line.strip() else "" for line in text.split("\n"))


# Modules whose texts make them again.
_SAFE_REPR = (
    "Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
)  # fmt: skip


def _write_folder(module: GraphModule, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    taper.save(module.state_dict(), folder / "state_dict.pt")
    lines = []
    for child_name, child in module.named_children():
        text = repr(child)
        if type(child).__name__ in _SAFE_REPR:
            text = f"torch.nn.{text}"
        else:
            taper.save(child, folder / f"{child_name}.pt")
            text = f"torch.load(r'{folder / (child_name + '.pt')}', weights_only=False) # {text}"
        lines.append(f"        self.{child_name} = {text}\n")
    for buffer_name, buffer in module._buffers.items():
        if buffer is not None:
            lines.append(
                f"        self.register_buffer('{buffer_name}', torch.empty({list(buffer.shape)}, "
                f"dtype={buffer.dtype}))\n"
            )
    for parameter_name, parameter in module._parameters.items():
        if parameter is not None:
            lines.append(
                f"        self.{parameter_name} = torch.nn.Parameter(torch.empty("
                f"{list(parameter.shape)}, dtype={parameter.dtype}))\n"
            )
    lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))\n")
    head = f"import torch\nfrom torch.nn import *\n\nclass {name}(torch.nn.Module):\n"
    code = "\n".join("    " + line for line in module.code.split("\n"))
    text = f"{head}    def __init__(self):\n        super().__init__()\n{''.join(lines)}{code}\n"
    (folder / "module.py").write_text(text)
    (folder / "__init__.py").write_text("from .module import *\n")
