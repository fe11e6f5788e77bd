"""The arithmetic of one step of a backward pass, written out with its numbers.

Owns: which numbers are kept for it, and the text.  Only for small tensors: the text is for people
who follow a computation by hand.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.autograd.accumulate import AccumulateGrad
from taper.opdef import Formula, Op
from taper.opdef.formulas import formula_body
from taper.opdef.nodes import TableNode
from taper.tensor import Tensor
from taper.viz.summaries import number

MOST = 16  # elements of a tensor whose numbers are written out

# Of real numbers these change nothing, and of formulas they hide what matters.
_INVISIBLE = frozenset({"conj"})
_PRODUCTS = frozenset({"matmul", "mm", "mm_like"})


class Written:
    """The numbers that went into a step, kept until somebody wants the text."""

    __slots__ = ("_before", "_known", "_op", "_summed", "_wanted")

    def __init__(self, node: Any, grads: list[Any], saved: list[tuple[str, Any]]) -> None:
        self._op: Op | None = None
        self._before: Any = None
        self._known: dict[str, Any] = {}
        self._wanted: list[bool] = []
        self._summed: list[bool] = []
        if isinstance(node, AccumulateGrad):
            meta = node.variable._autograd_meta
            if meta is not None and meta.grad is not None and node.variable._requires_grad:
                self._before = _copied(meta.grad)
        elif isinstance(node, TableNode):
            self._op = node.op
            self._wanted = [each is not None for each in node._edges]
            for name, value in saved:
                self._known[name] = _copied(value)
            self._add_plain(node, grads)

    def _add_plain(self, node: Any, grads: list[Any]) -> None:
        for formula in node.op.formulas:
            for kind, name, what in formula.sources:
                if kind == "grad" and name < len(grads):
                    shown = "grad" if len(grads) == 1 else f"grad_{node.op.outputs[name]}"
                    self._known[shown] = _copied(grads[name])
                elif kind in ("plain", "property"):
                    key = name if kind == "plain" else f"{name}_{what}"
                    self._known[key] = getattr(node, f"kept_{key}", None)
                elif kind in ("tensor", "operand"):
                    kept = getattr(node, f"kept_{name}", None)
                    if isinstance(kept, int | float):
                        self._known[name] = kept

    def note_sums(self, returned: Sequence[Any], fitted: Sequence[Any]) -> None:
        """Remember which gradients were summed over what broadcasting had added."""
        pairs = zip(returned, fitted, strict=True)
        self._summed = [one is not None and one.shape != two.shape for one, two in pairs]

    def text(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> str | None:
        """Return a line for each gradient; None if there is nothing small enough to write."""
        if self._op is None:
            if len(inputs) != 1 or outputs or inputs[0] is None:
                return None
            added = _shown(inputs[0]._array)
            if self._before is None:
                return f".grad = {added}"
            total = _shown(np.asarray(self._before + inputs[0]._array))
            return f".grad = {_shown(self._before)} + {_guarded(added)} = {total}"
        lines = [self._line(formula, outputs) for formula in self._op.formulas]
        return "\n".join(each for each in lines if each) or None

    def _line(self, formula: Formula, outputs: tuple[Any, ...]) -> str | None:
        op: Any = self._op
        params = [each.name for each in op.params if op.formula_for(each.name) is not None]
        if len(params) != len(outputs) or not any(
            self._wanted[params.index(name)] for name in formula.wrt
        ):
            return None
        results = [outputs[params.index(name)] for name in formula.wrt]
        if any(each is None or each.size > MOST for each in results):
            return None
        left = ", ".join(f"grad of {name}" for name in formula.wrt)
        right = ", ".join(_shown(each._array) for each in results)
        body = formula_body(formula)
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            return f"{left} = {right}"
        symbols = ast.unparse(_Simpler({}, self._known).visit(_copy(body[0].value)))
        writer = _Simpler(self._known, self._known)
        numbers = ast.unparse(writer.visit(_copy(body[0].value)))
        if any(self._summed[params.index(name)] for name in formula.wrt):
            right = f"summed over the copies {right}"
        if writer.missing:
            numbers = symbols
        steps = dict.fromkeys([symbols, numbers, right])  # each once, in this order
        return f"{left} = {' = '.join(steps)}"


def short_formula(formula: Formula) -> str:
    """Return a formula that is one expression, as for real numbers; '' for others."""
    body = formula_body(formula)
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return ""
    return ast.unparse(_Simpler({}, {}).visit(_copy(body[0].value)))


def _copy(expression: ast.expr) -> Any:
    return ast.parse(ast.unparse(expression), mode="eval").body


class _Simpler(ast.NodeTransformer):
    """Puts numbers in the place of names, and leaves out what real numbers do not need."""

    def __init__(self, known: dict[str, Any], values: dict[str, Any]) -> None:
        self.known = known  # what is written in the place of a name
        self.values = values
        self.missing = False  # whether the numbers of a name are too many

    def visit_Name(self, node: ast.Name) -> Any:
        value = self.known.get(node.id)
        self.missing = self.missing or (node.id in self.known and value is None)
        return node if value is None else ast.Name(_guarded(_shown(value)))

    def visit_Call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        node.args = [self.visit(each) for each in node.args]
        if name in _INVISIBLE and len(node.args) == 1:
            return node.args[0]
        if name in _PRODUCTS:
            return ast.BinOp(node.args[0], ast.MatMult(), node.args[1])
        if name == "left_gradient":
            turned = ast.Attribute(node.args[1], "T")
            return ast.BinOp(node.args[0], ast.MatMult(), turned)
        if name == "right_gradient":
            return ast.BinOp(ast.Attribute(node.args[0], "T"), ast.MatMult(), node.args[1])
        if name == "adjoint":
            return ast.Attribute(node.args[0], "T")
        if name == "scaled":
            factor = ast.unparse(node.args[1])
            if self.values.get(factor, factor) in (1, "1"):
                return node.args[0]
            return ast.BinOp(node.args[0], ast.Mult(), node.args[1])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Leave out the branch that was not taken, where plain values decide."""
        names = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
        values = {name: self.values.get(name) for name in names}
        if all(isinstance(each, int | float | str) for each in values.values()):
            with contextlib.suppress(Exception):
                taken = eval(ast.unparse(node.test), {"__builtins__": {}}, values)
                return self.visit(node.body if taken else node.orelse)
        return self.generic_visit(node)


def _copied(value: Any) -> Any:
    array = value._array if isinstance(value, Tensor) else value
    if not isinstance(array, np.ndarray):
        return None
    return array.copy() if array.size <= MOST else None


def _guarded(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _shown(value: Any) -> str:
    """Return numbers as nested lists, with few digits."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "V" or value.dtype.itemsize < 4:
            value = value.astype(np.float32)
        value = value.tolist()
        return _listed(value)
    return number(value) if isinstance(value, float | complex) else str(value)


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_listed(each) for each in value)}]"
    return number(value) if isinstance(value, float | complex) else str(value)
