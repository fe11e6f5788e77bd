"""The formulas of the operator table as text, for pages and pictures."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap

from taper.opdef import Formula


@functools.cache
def formula_body(formula: Formula) -> tuple[ast.stmt, ...]:
    """Return the statements of a formula without its docstring; none if they cannot be read."""
    try:
        source = textwrap.dedent(inspect.getsource(formula.function))
        tree = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError):
        return ()
    if not isinstance(tree, ast.FunctionDef):
        return (tree,)
    return tuple(tree.body[1:] if ast.get_docstring(tree) else tree.body)


def formula_text(formula: Formula) -> str:
    """Return the body of a formula without its docstring."""
    body = formula_body(formula)
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return ast.unparse(body[0].value)
    return "\n".join(ast.unparse(line) for line in body)
