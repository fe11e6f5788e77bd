"""Writes `src/taper/__init__.pyi`: what a type checker and an editor know of `taper`.

The functions and Tensor methods are made by the operator table when the package is imported, so
nobody who only reads the source can see them.  Here they are written down: parameters from the
table and from the signatures of composites, types from their annotations.  An annotation `Any`
says little, so WHAT_NAMES_MEAN adds what a parameter of that name is everywhere.

    python tools/stubs.py > src/taper/__init__.pyi
"""

from __future__ import annotations

import ast
import builtins
import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias, MethodType
from typing import Any

import taper
from taper import return_types
from taper.opdef import Op
from taper.ops import load_all
from taper.tensor import Tensor

PACKAGE = Path(__file__).parents[1] / "src" / "taper"

HEAD = '''"""The types of taper's public names.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.  `taper.tensor` is the function; the module of that name is the package's own.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as _np
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.ops.legacy import tensortype as _tensortype
from taper.size import Size as _Size
'''

ALIASES = """

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]
"""

# Builtin types whose names mean something else in the stub, and the package's own types.
RENAMED = {
    "bool": "_bool",
    "complex": "_complex",
    "float": "_float",
    "int": "_int",
    "dtype": "_dtype",
    "device": "_device",
    "Device": "_device",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "Size": "_Size",
    "Array": "Tensor",
    "Operand": "_Operand",
    "Arrays": "Sequence[Tensor]",
    "Indices": "Sequence[Tensor | None]",
    "Shape": "Sequence[_int]",
}
KNOWN = {"Any", "Callable", "Iterator", "Self", "Sequence", "Tensor", "None"}

# What a parameter with the annotation `Any`, or none, takes.
WHAT_NAMES_MEAN = {
    **dict.fromkeys(["input", "other", "exponent", "end", "weight", "min", "max"], "_Operand"),
    **dict.fromkeys(["alpha", "beta", "fill_value", "lambd", "threshold", "step"], "_Number"),
    **dict.fromkeys(["size", "sizes", "dims", "stride", "padding"], "_Ints"),
    **dict.fromkeys(["dim", "axis"], "_Ints | None"),
    **dict.fromkeys(["dilation", "output_padding", "kernel_size", "shape", "shifts"], "_Ints"),
    **dict.fromkeys(["order", "times", "normalized_shape"], "_Ints"),
    "device": "_Device | None",
    "dtype": "_dtype | None",
    "generator": "Generator | None",
    "layout": "_layout | None",
    "memory_format": "_memory_format | None",
    "rounding_mode": "str | None",
    "self": "Tensor",
    "split_size_or_sections": "_Ints",
    "tensor": "Tensor",
    "tensors": "Sequence[Tensor]",
    "value": "_Operand",
}
# Where a name means something else: in the functions whose names begin so.
EXCEPTIONS = {
    ("__array__", "dtype"): "Any",
    ("conv", "padding"): "_Ints | str",
    ("move", "destination"): "_Ints",
    ("move", "source"): "_Ints",
    ("tensordot", "dims"): "Any",
    ("result_type", "tensor"): "_Operand",
    ("type", "dtype"): "Any",
    ("view", "shape"): "_Ints | _dtype",
    ("where", "condition"): "Tensor",
}

# Functions that give a Tensor and say `Any`, since they also run on arrays inside formulas.
GIVE_A_TENSOR = frozenset(
    """
    _weight_norm cdist cholesky cholesky_inverse cholesky_solve clamp clamp_max clamp_min clip conj
    conj_physical contiguous copysign corrcoef cov cumulative_trapezoid det div divide expand
    flip float_power floor_divide fmod frobenius_norm ger imag index_fill inner inverse isclose isin
    lerp logdet lu_solve masked_fill matmul matrix_exp matrix_power narrow nuclear_norm orgqr ormqr
    outer pdist permute pinverse polygamma positive pow prelu real remainder repeat reshape
    resolve_conj resolve_neg roll rot90 round rrelu rsub select selu square squeeze tile trapezoid
    trapz true_divide xlogy
    """.split()
)
# The type of the result depends on the arguments.
DEPENDS = frozenset({"max", "min", "median", "nanmedian"})

UNARY = {"__abs__", "__invert__", "__neg__", "__pos__"}
COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
ARITHMETIC = "add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift".split()
BINARY = COMPARISONS | {f"__{prefix}{name}__" for name in ARITHMETIC for prefix in ("", "r", "i")}
OF_EVERY_OBJECT = {"__dir__", "__format__", "__reduce_ex__", "__repr__"}
NEW = "def __new__(cls, *args: Any, device: _Device | None = None) -> Self: ..."

# Names in the package's namespace that PyTorch does not have, or that are spelled out below.
INTERNAL = {"pickling"}


class Types:
    """Turns annotations into text of the stub, and remembers what that needs to import."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def text(self, annotation: Any, names: dict[str, Any]) -> str:
        """The type an annotation means in a module with these names."""
        if annotation is inspect.Parameter.empty:
            return "Any"
        if not isinstance(annotation, str):
            annotation = inspect.formatannotation(annotation)
        tree = ast.parse(annotation, mode="eval").body
        return ast.unparse(self._translate(tree, names))

    def _translate(self, node: ast.AST, names: dict[str, Any]) -> Any:
        if isinstance(node, ast.Attribute):
            return self._class(names.get(ast.unparse(node.value)), node.attr)
        if isinstance(node, ast.Name):
            return self._name(node.id, names)
        if (
            isinstance(node, ast.Subscript)
            and ast.unparse(self._translate(node.value, names)) == "Any"
        ):
            return ast.Name("Any")  # of something unknown
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self._translate(each, names) for each in value])
            elif isinstance(value, ast.expr):
                setattr(node, field, self._translate(value, names))
        return node

    def _name(self, name: str, names: dict[str, Any]) -> ast.AST:
        if name in RENAMED:
            return ast.parse(RENAMED[name], mode="eval").body
        if name in KNOWN or (hasattr(builtins, name) and name not in names):
            return ast.Name(name)
        value = names.get(name)
        if isinstance(value, type) and not isinstance(value, GenericAlias):
            return self._class(None, value)
        if typing.get_origin(value) is not None:  # an alias, as Dims = tuple[int, ...] | None
            return self._translate(ast.parse(str(value), mode="eval").body, names)
        return ast.Name("Any")

    def _class(self, owner: Any, found: Any) -> ast.AST:
        value = getattr(owner, found, None) if isinstance(found, str) else found
        if not isinstance(value, type):
            return ast.Name("Any")
        name, module = value.__name__, value.__module__
        if name in RENAMED:
            return ast.parse(RENAMED[name], mode="eval").body
        if module == "numpy":
            return ast.parse(f"_np.{name}", mode="eval").body
        if not module.startswith("taper."):
            return ast.Name("Any")
        self.imports.add(f"from {module} import {name} as _{name}")
        return ast.Name(f"_{name}")


def is_operator(function: Any) -> bool:
    """Whether it is a function made by the table, and no composite of such functions."""
    return isinstance(getattr(function, "__wrapped__", None), Op)


class Function:
    """A function or method of taper as a line of the stub."""

    def __init__(self, types: Types, name: str, function: Any, method: bool) -> None:
        self.types = types
        self.name = name
        self.function = inspect.unwrap(function, stop=is_operator)
        self.op: Any = self.function.__wrapped__ if is_operator(self.function) else None
        self.method = method
        self.in_place = name.endswith("_") and not name.endswith("__")

    def line(self) -> str:
        """`def mul(input: ..., other: ...) -> Tensor: ...`"""
        parameters = list(inspect.signature(self.function).parameters.values())
        parts = self._parameters(parameters[1:] if self.method else parameters)
        if self.method:
            parts.insert(0, "self")
        comment = "  # type: ignore[override]" if self.name in ("__eq__", "__ne__") else ""
        return f"def {self.name}({', '.join(parts)}) -> {self.result()}: ...{comment}"

    def _parameters(self, parameters: list[inspect.Parameter]) -> list[str]:
        parts = []
        starred = False
        for each in parameters:
            if self.name in BINARY and parts:
                break  # only what the sign can give it
            if each.name == "out" and (self.method or self.in_place):
                continue  # as in PyTorch, only functions have it
            if each.kind is each.VAR_POSITIONAL:
                starred = True
            if each.kind is each.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            parts.append(self._parameter(each))
        return parts

    def _parameter(self, parameter: inspect.Parameter) -> str:
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        text = f"{stars.get(parameter.kind, '')}{parameter.name}: {self._type(parameter)}"
        if parameter.default is parameter.empty:
            return text
        default = parameter.default
        plain = default is None or type(default) in (bool, int, str)
        return f"{text} = {default!r}" if plain else f"{text} = ..."

    def _type(self, parameter: inspect.Parameter) -> str:
        name = parameter.name
        if self.name in BINARY:
            return "object" if self.name in ("__eq__", "__ne__") else "_Operand | _np.ndarray"
        if self.op is not None:
            found = self._operator_type(name)
        else:
            found = self.types.text(parameter.annotation, self.function.__globals__)
        if found == "Any":
            found = self._meaning(name, parameter.kind is parameter.VAR_POSITIONAL)
        if parameter.default is None and found != "Any" and "None" not in found:
            found += " | None"
        return found

    def _operator_type(self, name: str) -> str:
        op = self.op
        if name == "out":
            return "Tensor" if len(op.outputs) == 1 else "tuple[Tensor, ...]"
        position, found = next(
            (nr, each) for nr, each in enumerate(op.params) if each.public_name == name
        )
        if position == 0 and op.numbers:
            return "_Operand"
        annotation = op.kernel.__annotations__.get(found.name, inspect.Parameter.empty)
        return self.types.text(annotation, op.kernel.__globals__)

    def _meaning(self, name: str, many: bool) -> str:
        for (function, parameter), meaning in EXCEPTIONS.items():
            if parameter == name and self.name.startswith(function):
                return meaning
        if name == "out":
            return "Tensor" if self.result() == "Tensor" else "Any"
        meaning = WHAT_NAMES_MEAN.get(name, "Any")
        return meaning.replace("Sequence[Tensor]", "Tensor | Sequence[Tensor]") if many else meaning

    def result(self) -> str:
        """The type of what it returns."""
        if self.in_place or (self.name in BINARY and self.name.startswith("__i")):
            return "Self" if self.method else "Tensor"
        if self.name in BINARY:
            return "Tensor"
        if self.op is not None:
            return self._operator_result()
        found = self.types.text(
            inspect.signature(self.function).return_annotation, self.function.__globals__
        )
        if found != "Any":
            return found
        if self.name == "__iter__":
            return "Iterator[Tensor]"
        if self.name in GIVE_A_TENSOR or self.name in UNARY:
            return "Tensor"
        named = hasattr(return_types, self.name) and self.name not in DEPENDS
        return f"_{self.name}" if named else "Any"

    def _operator_result(self) -> str:
        if self.op.returns is not None:
            return f"_{self.op.returns.__name__}"
        if self.op.many_outputs:
            return "tuple[Tensor, ...]"
        count = len(self.op.outputs)
        return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def tensor_methods(types: Types) -> Iterator[str]:
    """The lines of what the package puts on Tensor after `tensor.py` has made the class."""
    for name in sorted(vars(Tensor)):
        value = vars(Tensor)[name]
        if isinstance(value, property):
            yield from property_lines(types, name, value)
        elif isinstance(value, classmethod | staticmethod | MethodType):
            yield f"{name}: Any" if name != "__new__" else NEW
        elif inspect.isfunction(value) and not is_known(name, value):
            yield Function(types, name, value, method=True).line()


def is_known(name: str, method: Any) -> bool:
    """Whether a checker sees the method elsewhere: in `tensor.py`, or as every object's."""
    return method.__module__ == "taper.tensor" or name in OF_EVERY_OBJECT


def property_lines(types: Types, name: str, value: property) -> Iterator[str]:
    getter: Any = value.fget
    if getter.__module__ == "taper.tensor":
        return
    found = types.text(inspect.signature(getter).return_annotation, getter.__globals__)
    if value.fset is not None:
        yield f"{name}: {found}"
        return
    yield "@property"
    yield f"def {name}(self) -> {found}: ..."


def exports() -> Iterator[tuple[str, str]]:
    """(module, name) of what `taper/__init__.py` imports in order to export."""
    for node in ast.parse((PACKAGE / "__init__.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taper"):
            for each in node.names:
                if each.asname is None and each.name not in INTERNAL:
                    yield node.module or "", each.name
    for name in sorted(taper._ON_DEMAND):
        yield "taper", name
    for name, module in sorted(taper._FROM_ON_DEMAND.items()):
        yield f"taper.{module}", name


def named_tuples(used: str) -> Iterator[str]:
    """The classes of several results that the given text of the stub names."""
    named = {each.__name__ for each in return_types.all_return_types}
    for name in sorted(name for name in named if f"-> _{name}: ..." in used):
        fields = getattr(return_types, name).__match_args__
        yield f"class _{name}(NamedTuple):"
        yield from (f"    {field}: Tensor" for field in fields)


def functions(types: Types) -> Iterator[str]:
    """The lines of the functions of the table."""
    for name, function in sorted(taper._loaded_functions().items()):
        yield Function(types, name, function, method=False).line()


def constants() -> Iterator[str]:
    yield from ("__version__: str", "newaxis: None")
    yield from (f"{name}: _float" for name in ("e", "inf", "nan", "pi"))
    yield from (f"{name}: _dtype" for name in sorted(taper._DTYPES))
    yield from (f"{name}: _tensortype" for name in sorted(taper._TENSOR_TYPES))
    storages = sorted([*taper._STORAGE_TYPES, "Storage"])
    yield from (f"{name}: type[TypedStorage]" for name in storages)


def render() -> str:
    """The text of the stub."""
    load_all()
    found = Types()
    methods = "\n".join(f"    {line}" for line in tensor_methods(found))
    lines = "\n".join(functions(found))
    imports = {f"from {module} import {name} as {name}" for module, name in exports()}
    imports |= found.imports
    parts = [HEAD + "\n".join(sorted(imports)) + ALIASES]
    parts.append("\n".join(named_tuples(methods + lines)))
    parts.append(f"class _TensorMethods:\n{methods}")
    parts += [lines, "\n".join(constants())]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(render(), end="")
