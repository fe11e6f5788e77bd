"""A function of taper as text of a stub: its parameters, its types, its documentation.

Parameters come from the table and from the signatures of composites, types from their annotations
and from their `typing.overload`s.  An annotation `Any` says little, so WHAT_NAMES_MEAN adds what a
parameter of that name is everywhere.  `tools/stubs.py` says which functions are in which stub.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import typing
from collections.abc import Iterator
from types import GenericAlias, SimpleNamespace
from typing import Any

from taper import return_types
from taper.opdef import Op, methods

OPERAND = "_Operand"

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
    "NoReturn": "Any",  # PyTorch supports it and taper refuses it: a checker must not stop there
}
KNOWN = {"Any", "Callable", "Iterator", "Literal", "Self", "Sequence", "Tensor", "TypeIs", "None"}

# What a parameter with the annotation `Any`, or none, takes.
WHAT_NAMES_MEAN = {
    **dict.fromkeys(
        ["input", "other", "exponent", "start", "end", "weight", "min", "max"], OPERAND
    ),
    **dict.fromkeys(["alpha", "beta", "fill_value", "lambd", "threshold", "step", "dx"], "_Number"),
    **dict.fromkeys(["size", "sizes", "dims", "stride", "padding", "sizes_given"], "_Ints"),
    **dict.fromkeys(["dim", "axis", "sections"], "_Ints | None"),
    **dict.fromkeys(["dilation", "output_padding", "kernel_size", "shape", "shifts"], "_Ints"),
    **dict.fromkeys(["order", "times", "normalized_shape", "split_size", "split_sizes"], "_Ints"),
    **dict.fromkeys(["output_size"], "_int | Sequence[_int | None] | None"),
    **dict.fromkeys(["output_ratio", "scale_factor"], "_float | Sequence[_float] | None"),
    **dict.fromkeys(["indices_or_sections"], "Tensor | _Ints | None"),
    **dict.fromkeys(["input_lengths", "target_lengths"], "Tensor | Sequence[_int]"),
    **dict.fromkeys(["size_average", "reduce", "unbiased"], "_bool | None"),
    **dict.fromkeys(["weight", "q", "index", "mean", "std", "repeats", "src", "x", "n"], OPERAND),
    **dict.fromkeys(["atol", "rtol", "rcond", "tol"], "Tensor | _float | None"),
    **dict.fromkeys(["low", "high", "correction", "initial"], "_Number | None"),
    "device": "_Device | None",
    "dtype": "_dtype | None",
    "generator": "Generator | None",
    "inputs": "Tensor | Sequence[Tensor] | None",
    "layout": "_layout | None",
    "mask": "Tensor",
    "memory_format": "_memory_format | None",
    "ord": "_float | str | None",
    "pad": "Sequence[_int]",
    "rounding_mode": "str | None",
    "self": "Tensor",
    "shapes": "_Ints",
    "split_size_or_sections": "_Ints",
    "tensor": "Tensor",
    "tensors": "Sequence[Tensor]",
    "value": OPERAND,
    "var": "Tensor | _float",
}
# Where a name means something else: in functions whose names begin like this.
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
    ("index_put", "indices"): "Sequence[Tensor | None]",
    ("repeat_interleave", "repeats"): "Tensor | _int | None",
    ("scatter_reduce", "reduce"): "str",
    ("scatter", "reduce"): "str | None",
}

UNARY = {"__abs__", "__invert__", "__neg__", "__pos__"}
COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
ARITHMETIC = "add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift".split()
BINARY = COMPARISONS | {f"__{prefix}{name}__" for name in ARITHMETIC for prefix in ("", "r", "i")}


class Types:
    """Turns annotations into text of the stub, and remembers the imports that it needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def text(self, annotation: Any, names: dict[str, Any]) -> str:
        """Return the type that an annotation means in a module with these names."""
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
            return ast.Name("Any")  # an unknown type
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
        if isinstance(value, typing.TypeVar):
            self.imports.add(f"from {names['__name__']} import {name}")
            return ast.Name(name)
        if isinstance(value, type) and not isinstance(value, GenericAlias):
            return self._class(None, value)
        if typing.get_origin(value) is not None:  # an alias, such as Dims = tuple[int, ...] | None
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
        if module == "taper.return_types":
            return ast.parse(f"_return_types.{name}", mode="eval").body
        if not module.startswith("taper."):
            return ast.Name("Any")
        self.imports.add(f"from {module} import {name} as _{name}")
        return ast.Name(f"_{name}")


def is_operator(function: Any) -> bool:
    """Return whether the table made the function, which is then no composite."""
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

    def lines(self) -> Iterator[str]:
        """Yield all overloads as `def mul(input: ..., other: ...) -> Tensor:` with a docstring."""
        overloads = typing.get_overloads(
            # By the name that it was defined with: the table may have given it another.
            SimpleNamespace(
                __module__=self.function.__module__,
                __qualname__=self.function.__code__.co_qualname,
            )
        )
        signatures = [inspect.signature(each) for each in overloads or [self.function]]
        if "return_indices" in signatures[0].parameters and self.result() == "Tensor":
            signatures = list(with_or_without_indices(signatures[0]))
        for each in signatures:
            if len(signatures) > 1:
                yield "@overload"
            yield from self._definition(each, exact=len(signatures) > 1)

    def _definition(self, signature: inspect.Signature, exact: bool) -> Iterator[str]:
        parameters = list(signature.parameters.values())
        parts = self._parameters(parameters[1:] if self.method else parameters)
        if self.method:
            parts.insert(0, "self")
        found = self._exact_result(signature) if exact else self.result()
        comment = "  # type: ignore[override]" if self.name in ("__eq__", "__ne__") else ""
        start = f"def {self.name}({', '.join(parts)}) -> {found}:"
        text = documentation(self.function) if self.name[:2] != "__" else ""
        if text:
            yield start
            yield text
        else:
            yield f"{start} ...{comment}"

    def _exact_result(self, signature: inspect.Signature) -> str:
        return self.types.text(signature.return_annotation, self.function.__globals__)

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
        plain = default is None or type(default) in (bool, int, float, str)
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
            return "Tensor" if len(op.outputs) == 1 else "Sequence[Tensor]"
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
            return "Tensor" if self.result() == "Tensor" else "Sequence[Tensor]"
        meaning = WHAT_NAMES_MEAN.get(name, "Any")
        return meaning.replace("Sequence[Tensor]", "Tensor | Sequence[Tensor]") if many else meaning

    def result(self) -> str:
        """Return the type of what it returns."""
        if self.in_place or (self.name in BINARY and self.name.startswith("__i")):
            return "Self" if self.method else "Tensor"
        if self.name in BINARY:
            return "Tensor"
        if self.op is not None:
            return self._operator_result()
        found = self._exact_result(inspect.signature(self.function))
        if found != "Any":
            return found
        if self.name == "__iter__":
            return "Iterator[Tensor]"
        if hasattr(return_types, self.function.__name__):
            return f"_return_types.{self.function.__name__}"
        # Composites say `Any` if they also run on arrays, inside formulas.
        of_table = not self.method or self.name in methods or self.name in UNARY
        return "Tensor" if of_table else "Any"

    def _operator_result(self) -> str:
        if self.op.returns is not None:
            return f"_return_types.{self.op.returns.__name__}"
        if self.op.many_outputs:
            return "tuple[Tensor, ...]"
        count = len(self.op.outputs)
        return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def with_or_without_indices(signature: inspect.Signature) -> Iterator[inspect.Signature]:
    """Yield the overloads of a function that can return indices, too."""
    parameters = list(signature.parameters.values())
    place = [each.name for each in parameters].index("return_indices")
    kinds = {"Literal[False]": "Tensor", "Literal[True]": "tuple[Tensor, Tensor]", "bool": "Any"}
    for kind, result in kinds.items():
        changed = [*parameters]
        changed[place] = parameters[place].replace(annotation=kind)
        if kind == "Literal[True]":
            changed[place] = changed[place].replace(default=inspect.Parameter.empty)
            changed[place:] = [
                each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in changed[place:]
            ]
        yield signature.replace(parameters=changed, return_annotation=result)


def documentation(function: Any) -> str:
    """Return the docstring as the body of a function of a stub; "" if there is none."""
    text = inspect.getdoc(function)
    if not text:
        return ""
    prefix = "r" if "\\" in text else ""
    end = "\n" if "\n" in text or text.endswith('"') else ""
    return textwrap.indent(f'{prefix}"""{text}{end}"""', "    ")
