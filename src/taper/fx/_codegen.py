"""Python text from a list of nodes.

Owns: how each node is written, which global names the text needs, and where a variable is set to
None because nobody uses it any more.
"""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import taper
from taper.fx._names import public_name, qualified_name, written_name
from taper.fx._namespace import _custom_builtins, _Namespace
from taper.fx.node import Node, _type_repr
from taper.ops.identity import OpOverload
from taper.utils import _pytree as pytree

_BINARY = {
    "add": "+", "and_": "&", "eq": "==", "floordiv": "//", "ge": ">=", "gt": ">", "le": "<=",
    "lshift": "<<", "lt": "<", "mod": "%", "mul": "*", "ne": "!=", "or_": "|", "pow": "**",
    "rshift": ">>", "sub": "-", "truediv": "/", "xor": "^", "matmul": "@",
}  # fmt: skip
_UNARY = {"pos": "+", "neg": "-", "invert": "~"}
MAGIC = {
    **{name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()},
    **{name: f"{sign}{{}}" for name, sign in _UNARY.items()},
    "getitem": "{}[{}]",
}
_IN_PLACE = {
    "iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%=", "imul": "*=",
    "imatmul": "@=", "ior": "|=", "ipow": "**=", "irshift": ">>=", "isub": "-=", "itruediv": "/=",
    "ixor": "^=",
}  # fmt: skip
IN_PLACE = {
    **{name: f"{{}} {sign} {{}}" for name, sign in _IN_PLACE.items()},
    "setitem": "{}[{}] = {}",
}
_SHORT_DTYPES = {
    "bfloat16": "bf16", "float64": "f64", "float32": "f32", "float16": "f16", "complex32": "c32",
    "complex64": "c64", "complex128": "c128", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
}  # fmt: skip


@dataclass
class PythonCode:
    """A program as text, and the names that the text needs."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


def _format_target(base: str, target: str) -> str:
    """Write the path to an attribute: `self.a.b`, or `getattr(self.a, "0")` for what is no name."""
    for each in target.split("."):
        base = f"{base}.{each}" if each.isidentifier() else f'getattr({base}, "{each}")'
    return base


class CodeGen:
    """Writes a graph as a Python function; a subclass writes another head or another end.

    >>> import taper
    >>> class Loud(taper.fx.graph.CodeGen):
    ...     def generate_output(self, output_args, *, descs=None, repr_fn=None):
    ...         return f"print('done'); return {output_args!r}"
    >>> traced = taper.fx.symbolic_trace(lambda x: x + 1)
    >>> traced.graph.set_codegen(Loud())
    >>> code = traced.recompile()
    >>> traced(2)
    done
    3
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """Return the head of the function.

        Args:
            free_vars: the parameters.
            maybe_return_annotation: the annotation of the result, or nothing.
            expanded_def: write each parameter on its own line.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            lines = "".join(f"    {each},\n" for each in free_vars)
            return f"def {self._func_name}(\n{lines}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """Return the line that ends the function."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return what a call returns for a value of the output node."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return more names that the text needs, with their values."""
        return []

    def _gen_python_code(
        self,
        nodes: Any,
        root_module: str,
        namespace: _Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        writer = _Writer(self, root_module, namespace)
        writer.verbose = verbose
        writer.shown = (include_stride, include_device, tuple(additional_meta or ()))
        unused = _last_uses(nodes)
        for node in nodes:
            if verbose:
                writer.write_origin(node)
            writer.write(node, unused.get(node, []))
        body = writer.body or ["pass\n"]
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        head = self.gen_fn_def(writer.free_vars, writer.returned, expanded_def=expanded_def)
        wrapped = "\n".join(
            f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped_functions
        )
        text = "".join(body)
        text = "\n".join("    " + line for line in text.split("\n"))
        start = 4 + len(writer.wrapped_functions) - bool(writer.wrapped_functions)
        source = f"\n{wrapped}\n\n{head}\n{text}"
        return PythonCode(source, writer.globals, _lines_of_nodes(body), start)


def _lines_of_nodes(body: list[str]) -> dict[int, int | None]:
    return {number: number - 1 for number in range(1, len(body) + 1)}


def _last_uses(nodes: Any) -> dict[Node, list[Node]]:
    """Return for each node those that nobody needs after it."""
    last: dict[Node, Node] = {}
    unused: dict[Node, list[Node]] = {}
    for user in reversed(nodes):

        def note(node: Node, user: Node = user) -> None:
            if node not in last:
                last[node] = user
                unused.setdefault(user, []).append(node)

        for node in user._input_nodes:
            note(node)
        if not user.users:
            unused.setdefault(user, []).append(user)
    return unused


class _Writer:
    """The text of one function, as it grows."""

    def __init__(self, codegen: CodeGen, root_module: str, namespace: _Namespace) -> None:
        self.codegen = codegen
        self.root_module = root_module
        self.namespace = namespace
        self.free_vars: list[str] = []
        self.body: list[str] = []
        self.globals: dict[str, Any] = {}
        self.wrapped_functions: dict[str, None] = {}
        self.returned = ""
        self.verbose = False
        self.shown: tuple[bool, bool, tuple[str, ...]] = (False, False, ())
        self.origin: str | None = None
        for name, value in _custom_builtins.items():
            self.add_global(name, value.obj)

    # names

    def add_global(self, hint: str, value: Any) -> str:
        """Return the name of a value in the text; it becomes a global name of it."""
        if value is not taper.device and (public_name(value) or _is_from_taper(value)):
            return hint if hint.startswith("torch") else qualified_name(value)
        for name, known in self.globals.items():
            if known is value:
                return name
        name = self.namespace.create_name(hint, value)
        self.globals[name] = value
        return name

    def type_text(self, kind: Any) -> str:
        """Write an annotation."""
        if kind == ():
            return "()"
        if kind is type(None):
            return "NoneType"
        arguments: Any = getattr(kind, "__args__", None) or ()
        if isinstance(kind, types.UnionType):
            return "|".join(self.type_text(each) for each in arguments)
        name = _type_repr(kind)
        if getattr(kind, "__origin__", None) is None:
            return self.add_global(name, kind)
        bare = _bare(kind)
        written = self.add_global(re.sub(r"\[.*\]$", "", _type_repr(bare)), bare)
        texts = [self.type_text(each) for each in arguments]
        return f"{written}[{','.join(texts)}]" if texts else written

    def text(self, value: Any) -> str:
        """Write an argument."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = self.add_global(qualified_name(type(value)), type(value))
            return f"{name}{tuple(_Text(self.text(each)) for each in value)!r}"
        if isinstance(value, tuple):
            inner = [self.text(each) for each in value]
            return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            items = (f"{key!r}: {self.text(each)}" for key, each in value.items())
            return f"{{{', '.join(items)}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        if isinstance(value, enum.Enum):
            name = self.add_global(type(value).__name__, type(value))
            return f"{name}.{value.name}"
        if isinstance(value, OpOverload):
            return qualified_name(value)
        return repr(value)

    def arguments(self, node: Node) -> str:
        """Write the arguments of a call."""
        args = [self.text(each) for each in node.args]
        args += [f"{name} = {self.text(each)}" for name, each in node.kwargs.items()]
        return ", ".join(args)

    # nodes

    def write(self, node: Node, unused: list[Node]) -> None:
        """Write one node, and which variables end with it."""
        if node.op == "placeholder":
            self._write_parameter(node)
            return
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self.type_text(node.type)}"
            self.body.append(self.codegen.generate_output(node.args[0], repr_fn=self.text) + "\n")
            return
        line = getattr(self, f"_text_of_{node.op}")(node)
        ends = [repr(each) for each in unused]
        self.body.append(line + (f";  {' = '.join([*ends, 'None'])}\n" if ends else "\n"))

    def _write_parameter(self, node: Node) -> None:
        kind = self._kind(node)
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{kind}{default}")
        name = str(node.target).replace("*", "")
        if name != repr(node):
            self.body.append(f"{node!r} = {name}\n")

    def _kind(self, node: Node) -> str:
        if node.type is not None:
            return f" : {self.type_text(node.type)}"
        described = self._described(node) if self.verbose else ""
        return f': "{described}"' if described else ""

    def _text_of_call_method(self, node: Node) -> str:
        base = _format_target(self.text(node.args[0]), str(node.target))
        args = [self.text(each) for each in node.args[1:]]
        args += [f"{name} = {self.text(each)}" for name, each in node.kwargs.items()]
        return f"{node!r}{self._kind(node)} = {base}({', '.join(args)})"

    def _text_of_call_module(self, node: Node) -> str:
        path = _format_target(self.root_module, str(node.target))
        return f"{node!r}{self._kind(node)} = {path}({self.arguments(node)})"

    def _text_of_get_attr(self, node: Node) -> str:
        return f"{node!r}{self._kind(node)} = {_format_target(self.root_module, str(node.target))}"

    def _text_of_call_function(self, node: Node) -> str:
        function: Any = node.target
        name = getattr(function, "__name__", "")
        if getattr(function, "__module__", None) == "_operator":
            texts = [self.text(each) for each in node.args]
            if name in MAGIC:
                return f"{node!r}{self._kind(node)} = {MAGIC[name].format(*texts)}"
            if name in IN_PLACE:
                return f"{IN_PLACE[name].format(*texts)};  {node!r}{self._kind(node)} = {texts[0]}"
        written = self.add_global(qualified_name(function), function)
        if written == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str):
            if isinstance(node.args[0], Node) and node.args[1].isidentifier():
                path = _format_target(repr(node.args[0]), node.args[1])
                return f"{node!r}{self._kind(node)} = {path}"
        if node.meta.get("is_wrapped"):
            self.wrapped_functions[written] = None
        return f"{node!r}{self._kind(node)} = {written}({self.arguments(node)})"

    # what is said beside the lines

    def write_origin(self, node: Node) -> None:
        """Write a comment where the lines of the user's program change."""
        if node.op in ("placeholder", "output"):
            return
        trace = node.stack_trace
        found = re.findall(r'File "(.*)", line (\d+), in (.*)\n\s*(.*)', trace) if trace else []
        summary = "# No stacktrace found for following nodes"
        if found:
            file, line, function, code = found[-1]
            summary = f"# File: {file}:{line} in {function}, code: {code.strip()}"
        extra = [f"{key}: {node.meta[key]}" for key in self.shown[2] if key in node.meta]
        if extra:
            summary = f"{summary}, {', '.join(extra)}"
        if summary != self.origin:
            self.body.append(summary + "\n" if not self.body else f"\n{summary}\n")
            self.origin = summary

    def _described(self, node: Node) -> str:
        value: Any = node.meta.get(
            "val", node.meta.get("tensor_meta", node.meta.get("example_value"))
        )
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            return ""
        dtype = str(value.dtype).removeprefix("torch.")
        text = f"{_SHORT_DTYPES.get(dtype, dtype)}[{', '.join(map(str, value.shape))}]"
        is_tensor = isinstance(value, taper.Tensor)
        if self.shown[0] and is_tensor:
            text += f"[{', '.join(map(str, value.stride()))}]"
        if self.shown[1] and is_tensor:
            text += str(value.device)
        return text


class _Text(str):
    """A text that is shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _bare(kind: Any) -> Any:
    """Return what stands before the brackets of a type: `typing.List`, `list`."""
    if kind.__origin__ is typing.Union:
        return typing.Union
    name = getattr(kind, "_name", None)
    return getattr(typing, name) if name and hasattr(typing, name) else kind.__origin__


def _is_from_taper(value: Any) -> bool:
    """Return whether a class or an operator of the library has a path that begins with `torch`."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not hasattr(value, "__name__"):
        return False
    return written_name(module).partition(".")[0] == "torch"


class _PyTreeInfo(NamedTuple):
    """How the arguments and the result of a program are nested."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Writes a program whose arguments and result are nested in tuples, lists or dictionaries."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        if not isinstance(out, list | tuple):
            out = [out]
        if self.pytree_info.out_spec is None:
            raise AssertionError("out_spec must not be None for process_outputs")
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        info = self.pytree_info
        names = list(info.orig_args)
        if not names or names[0] != "self":
            names.insert(0, "self")
        head = super().gen_fn_def(list(names), maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        variables = [re.sub(r"( = .*| ?: .*)", "", each) for each in free_vars]
        given = ", ".join(names[1:])
        bound = f"{', '.join(variables)}, = fx_pytree.tree_flatten_spec([{given}], self._in_spec)"
        return f"{head}\n    {bound}"

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        written = (repr_fn or repr)(output_args)
        if self.pytree_info.out_spec is None:
            return f"return {written}"
        return f"return pytree.tree_unflatten({written}, self._out_spec)"


class _BoxedCodeGen(CodeGen):
    """Writes a program that takes one list of arguments and empties it."""

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        head = f"def {self._func_name}(self, args_list){maybe_return_annotation}:"
        names = [re.sub(r"( = .*| ?: .*)", "", each) for each in free_vars]
        if not names:
            return head
        return f"{head}\n    {', '.join(names)}, = args_list\n    args_list.clear()"
