"""Schemas of operators: the names of their arguments, which of them are written, by keyword, last.

They are read off the operator table, which has PyTorch's names; types are said as far as the table
knows them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from taper.opdef import REQUIRED, Op, Param


class AliasInfo(NamedTuple):
    """Says that an argument shares its memory with the result, and whether it is written."""

    is_write: bool


class Argument(NamedTuple):
    """One argument of an operator."""

    name: str
    type: str
    kwarg_only: bool
    default_value: Any
    alias_info: AliasInfo | None
    is_out: bool = False

    def has_default_value(self) -> bool:
        """Return whether the argument may be left out."""
        return self.default_value is not REQUIRED


class FunctionSchema(NamedTuple):
    """The signature of one overload.

    >>> import taper
    >>> schema = taper.ops.aten.add_.Tensor._schema
    >>> schema.name, schema.overload_name, schema.is_mutable
    ('aten::add_', 'Tensor', True)
    >>> [each.name for each in schema.arguments]
    ['self', 'other', 'alpha']
    """

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[str]
    is_mutable: bool

    def __str__(self) -> str:
        ending = f".{self.overload_name}" if self.overload_name else ""
        parts: list[str] = []
        for each in self.arguments:
            if each.kwarg_only and "*" not in parts:
                parts.append("*")
            default = f"={each.default_value}" if each.has_default_value() else ""
            alias = each.alias_info
            mark = "" if alias is None else "(a!)" if alias.is_write else "(a)"
            parts.append(f"{each.type}{mark} {each.name}{default}")
        returned = self.returns[0] if len(self.returns) == 1 else f"({', '.join(self.returns)})"
        return f"{self.name}{ending}({', '.join(parts)}) -> {returned}"


_TYPES = {
    "tensor": "Tensor",
    "operand": "Tensor",
    "optional": "Tensor?",
    "optional_operand": "Tensor?",
    "tensors": "Tensor[]",
    "indices": "Tensor?[]",
}
_BY_DEFAULT = {bool: "bool", int: "int", float: "float", str: "str"}
_KEYWORDS = frozenset({"dtype", "generator", "memory_format", "correction"})


def _type(param: Param, overload: str) -> str:
    if param.kind == "operand" and overload.startswith("Scalar"):
        return "Scalar"
    if param.name in ("alpha", "beta", "value"):
        return "Scalar"
    return _TYPES.get(param.kind) or _BY_DEFAULT.get(type(param.default), "Any")


def schema_of(name: str, overload: str, entry: Op | None) -> FunctionSchema:
    """Return the schema of an overload; one that is no entry of the table has no arguments."""
    written = name.endswith("_") and not name.endswith("__")
    out = overload == "out" or overload.endswith("_out")
    arguments: list[Argument] = []
    for nr, param in enumerate(() if entry is None else entry.params):
        shared = nr == 0 and (written or bool(entry and entry.view))
        by_keyword = param.keyword_only or param.name in _KEYWORDS
        alias = AliasInfo(written) if shared else None
        arguments.append(
            Argument(param.name, _type(param, overload), by_keyword, param.default, alias)
        )
    if out:
        arguments.append(Argument("out", "Tensor", True, REQUIRED, AliasInfo(True), True))
    count = 1 if entry is None else len(entry.outputs)
    returns = ["Tensor[]"] if entry is not None and entry.many_outputs else ["Tensor"] * count
    shown = "" if overload == "default" else overload
    return FunctionSchema(f"aten::{name}", shown, arguments, returns, written or out)
