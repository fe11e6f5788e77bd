"""The formulas of an operator's gradients, as text and as mathematics.

Owns which symbols the arguments of a formula get: x for `self`, y for `result`, partial derivatives
of the loss L for gradients.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

from taper.opdef import Formula, Op
from taper.opdef.formulas import formula_body, formula_text
from taper.viz.mathematics import equation, equations, symbol
from taper.viz.notation import STATED, simplified
from taper.viz.records import Derivative

__all__ = ["derivatives_of"]


def derivatives_of(op: Op, node: Any) -> tuple[Derivative, ...]:
    """Return the formulas of the gradients that flow through a node of the operator."""
    return _derivatives(op, node._dtype is None or node._dtype.kind != "c")


@functools.cache
def _derivatives(op: Op, real: bool) -> tuple[Derivative, ...]:
    found = []
    for formula in op.formulas:
        names = {"self": _symbol_of("self"), "input": _symbol_of("self")}
        for kind, name, what in formula.sources:
            if kind == "output":
                names[op.outputs[name]] = _symbol_of(op.outputs[name])
            elif kind == "property":
                names[f"{name}_{what}"] = f"<mtext>{what} of\u00a0</mtext>{_symbol_of(name)}"
            elif kind == "grad":
                output = op.outputs[name]
                names["grad" if len(op.outputs) == 1 else f"grad_{output}"] = _slope(output)
        if "grad" not in names:
            names["grad"] = _slope(op.outputs[0])
        found.append(
            Derivative(formula.wrt, formula_text(formula), _written(op, formula, names, real))
        )
    return tuple(found)


def _written(op: Op, formula: Formula, names: dict[str, str], real: bool) -> str:
    stated = STATED.get(op.name)
    if stated is None:
        left = "<mo>,</mo>".join(_slope(name) for name in formula.wrt)
        return equation(left, simplified(formula_body(formula)), names, real=real)
    names = {**names, "grad": _slope(op.outputs[0]), "result": _symbol_of("result")}
    lines = [(_slope(name), ast.parse(stated[name]).body[0]) for name in formula.wrt]
    return equations(lines, names, real=real)


def _symbol_of(name: str) -> str:
    return symbol({"self": "x", "input": "x", "result": "y", "result0": "y"}.get(name, name))


def _slope(name: str) -> str:
    """Return the partial derivative of the loss by an input or output."""
    return (
        f"<mfrac><mrow><mo>∂</mo><mi>L</mi></mrow><mrow><mo>∂</mo>{_symbol_of(name)}</mrow></mfrac>"
    )
