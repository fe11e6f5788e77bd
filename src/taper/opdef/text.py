"""What the texts of an operator have in common: lines, and questions about its declaration.

Knows the table; `compiler` (functions), `recording` and `backward` (nodes) write the texts.
"""

from __future__ import annotations

import linecache
from types import FunctionType
from typing import Any

import numpy as np

from taper.autograd.provenance import internal
from taper.opdef import NAMESPACE, Op, Param

# Formulas that need a saved tensor tell the version it had; a Python number has none.
NUMBER_VERSION = -1

SEQUENCES = ("tensors", "indices")


class Source:
    """Lines of a function under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str, depth: int = 1) -> None:
        for line in text.strip("\n").split("\n"):
            self.lines.append("    " * depth + line)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def saved_names(op: Op) -> list[str]:
    """Tensor parameters that some formula names, in declaration order."""
    named = {
        name for formula in op.formulas for kind, name, _ in formula.sources if kind == "tensor"
    }
    return [param.name for param in op.params if param.name in named]


def saved_outputs(op: Op) -> list[int]:
    named = {nr for formula in op.formulas for kind, nr, _ in formula.sources if kind == "output"}
    return sorted(named)


def saved_plain(op: Op) -> list[str]:
    named = {
        name for formula in op.formulas for kind, name, _ in formula.sources if kind == "plain"
    }
    return [param.name for param in op.params if param.name in named]


def saved_properties(op: Op) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for formula in op.formulas:
        for kind, name, what in formula.sources:
            if kind == "property" and (name, what) not in found:
                found.append((name, what))
    return found


def needed_by(op: Op, name: str) -> list[str]:
    """Which parameters' gradients need the saved tensor `name`: the guard of saving it (§S1)."""
    guards: list[str] = []
    for formula in op.formulas:
        if any(kind == "tensor" and saved == name for kind, saved, _ in formula.sources):
            guards.extend(each for each in formula.wrt if each not in guards)
    return guards


def differentiable_params(op: Op) -> list[Param]:
    return [param for param in op.params if param.kind != "plain"]


def has_edge(op: Op, param: Param) -> bool:
    """Whether a tensor parameter has an entry in `next_functions`: those with a derivative do."""
    return op.formula_for(param.name) is not None


def wanted_params(op: Op) -> list[Param]:
    """The tensor parameters that have a gradient."""
    return [param for param in differentiable_params(op) if param.name in op.wrt]


def is_binary(op: Op) -> bool:
    """Whether the operands are a tensor and a tensor or number, of one dtype: the common case."""
    kinds = [param.kind for param in op.params if param.kind != "plain"]
    return kinds == ["tensor", "operand"] and bool(op.promote or op.upcast)


def keeps_single(op: Op) -> bool:
    """Whether the result of float32 operands is float32, as NumPy tells of a ufunc."""
    if op.ufunc is None or not is_binary(op) or not op.differentiable:
        return False
    types = op.ufunc.resolve_dtypes((np.dtype(np.float32), np.dtype(np.float32), None))
    return bool(types[-1] == np.float32)


def result_expression(op: Op) -> str:
    """What a wrapper returns: `t`, `ts`, or `ts` with names."""
    if len(op.outputs) == 1 and not op.many_outputs:
        return "t"
    return f"R_{op.name}(ts)" if op.returns is not None else "ts"


def define(name: str, text: str) -> FunctionType:
    """Execute generated source; `linecache` then shows it in tracebacks."""
    filename = f"<op {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    local_names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), NAMESPACE, local_names)
    internal[filename] = True
    function: FunctionType = next(iter(local_names.values()))
    return function
