"""Texts made from the operator table: the derivatives page, the code generated for an operator.

`python -m taper.opdef mul` prints the generated wrapper and backward of `mul`;
`python -m taper.opdef --docs` prints `docs/derivatives.md`.
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Sequence

import taper  # the operators register themselves
from taper.opdef import Op, registry
from taper.opdef.backward import apply_source
from taper.opdef.compiler import wrapper_source
from taper.opdef.formulas import formula_text
from taper.ops import load_all

_HEAD = f"""# Derivatives

The operators of taper {taper.version.taper}, made from the operator table by
`make docs`. For each: the node it records, what is saved for backward, the gradient formulas, and
how forward mode follows. A formula is an ordinary function; the names of its arguments say what
is saved: `grad` is the gradient that arrives, `result` the output, `x_shape` only a shape.
"""


def saved_text(op: Op) -> str:
    names: list[str] = []
    for formula in op.formulas:
        for kind, name, what in formula.sources:
            if kind in ("grad", "needs"):
                continue
            label = op.outputs[name] if kind == "output" else f"{name}_{what}" if what else name
            if label not in names:
                names.append(label)
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def entry(op: Op) -> str:
    """Return the paragraph of one operator."""
    lines = [f"### {op.name}", "", op.doc.split("\n")[0], ""]
    rule = op.tangent if isinstance(op.tangent, str) else "its own rule" if op.tangent else "none"
    lines.append(f"Node `{op.node_name}`; saves {saved_text(op)}; forward mode: {rule}.")
    lines.append("")
    for formula in op.formulas:
        names = ", ".join(formula.wrt)
        arguments = ", ".join(inspect.signature(formula.function).parameters)
        lines += ["```python", f"# gradient of {names}, from ({arguments})"]
        lines += [formula_text(formula), "```", ""]
    return "\n".join(lines)


def derivatives_page() -> str:
    """Return the text of `docs/derivatives.md`."""
    load_all()
    parts = [_HEAD]
    families: dict[str, list[Op]] = {}
    for op in registry.values():
        families.setdefault(op.kernel.__module__.removeprefix("taper.ops."), []).append(op)
    for family in sorted(families):
        parts.append(f"## {family}\n")
        differentiable = [op for op in families[family] if op.differentiable]
        parts += [entry(op) for op in sorted(differentiable, key=lambda op: op.name)]
        rest = sorted(op.name for op in families[family] if not op.differentiable)
        if rest:
            names = ", ".join(f"`{name}`" for name in rest)
            parts.append(textwrap.fill(f"Without a gradient: {names}.", 100) + "\n")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of `python -m taper.opdef`."""
    parser = argparse.ArgumentParser(
        prog="python -m taper.opdef", description="Look into the operator table."
    )
    parser.add_argument("operator", nargs="?", help="print the code generated for this operator")
    parser.add_argument("--docs", action="store_true", help="print docs/derivatives.md")
    parser.add_argument("--list", action="store_true", help="print the names of all operators")
    options = parser.parse_args(arguments)
    load_all()
    if options.docs:
        print(derivatives_page(), end="")
    elif options.list:
        print("\n".join(sorted(registry)))
    elif options.operator in registry:
        op = registry[options.operator]
        print(wrapper_source(op))
        if op.differentiable:
            print(apply_source(op))
    else:
        known = options.operator and f"there is no operator {options.operator!r}; see --list"
        parser.error(known or "name an operator, or use --docs or --list")
    return 0
