"""Small wrong changes of a Python file, one at a time: what `tools/mutate.py` tries.

Owns: which changes there are, and their description.  Knows nothing of tests.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# Changing these is already the opposite condition.
OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Fields that are no code when the program runs.
IGNORED = {"annotation", "returns", "ctx", "type_comment"}
LONGEST = 90


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `apply` makes it in `tree`, which is good for nothing else then."""

    path: Path
    function: str  # qualified name; "" for code that runs at import
    lines: tuple[int, ...]  # a test that runs one of them may notice the change
    change: str
    tree: ast.Module
    apply: Callable[[], None]

    @property
    def at_import(self) -> bool:
        return not self.function or self.function.endswith(".")

    @property
    def key(self) -> tuple[str, str, str]:
        return self.path.as_posix(), self.function, self.change


@dataclass(frozen=True)
class Place:
    """Where the walk is: the function, the statement, the lines that must run for it to matter."""

    function: str
    statement: ast.stmt | None = None
    lines: tuple[int, ...] = ()


def mutants_of(path: Path, shown: Path) -> list[Mutant]:
    """All changes of a file; those that read alike in one function are numbered."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for place, old, new, put in _walk(tree, Place(""), lambda _: None):
        change = _described(place.statement, old, new)
        seen[place.function, change] += 1
        if seen[place.function, change] > 1:
            change += f" (#{seen[place.function, change]})"
        apply = partial(put, ast.fix_missing_locations(ast.copy_location(new, old)))
        found.append(Mutant(shown, place.function, place.lines, change, tree, apply))
    return found


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}:"
    if isinstance(node, ast.comprehension):
        return " ".join(f"if {ast.unparse(each)}" for each in node.ifs)
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _described(statement: ast.stmt | None, old: ast.AST, new: ast.AST) -> str:
    change = f"{_text(old)} -> {_text(new)}"
    whole = statement is None or statement is old or isinstance(old, ast.comprehension)
    return change if whole else f"[{_text(statement)}] {change}"  # type: ignore[arg-type]


def _walk(
    node: ast.AST, place: Place, put: Callable[[ast.AST], None]
) -> Iterator[tuple[Place, ast.AST, ast.AST, Callable[[ast.AST], None]]]:
    """(place, node, changed node, what puts a node there) for every change below `node`."""
    if _is_no_code(node):
        return
    if isinstance(node, ast.stmt):
        place = replace(place, statement=node, lines=(node.lineno,))
    elif isinstance(node, ast.expr) and place.function:
        place = replace(place, lines=(place.lines[0], node.lineno))
    for new in _changes(node, place):
        yield place, node, new, put
    for field, value in ast.iter_fields(node):
        if field in IGNORED:
            continue
        inner = _inside(node, field, place)
        if isinstance(value, list):
            for index, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield from _walk(child, inner, partial(value.__setitem__, index))
        elif isinstance(value, ast.AST):
            yield from _walk(value, inner, partial(setattr, node, field))


def _inside(node: ast.AST, field: str, place: Place) -> Place:
    """The place of a field: a function's body runs when it is called, the rest at definition."""
    if isinstance(node, ast.ClassDef):
        prefix = place.function.removesuffix(".")
        return replace(place, function=f"{prefix}.{node.name}." if prefix else f"{node.name}.")
    if not isinstance(node, FUNCTIONS):
        return place
    if field == "body":
        prefix = place.function
        if prefix and not prefix.endswith("."):
            prefix += ".<locals>."
        return replace(place, function=prefix + node.name)
    body = tuple(each.lineno for each in node.body)
    return replace(place, lines=body)


def _is_no_code(node: ast.AST) -> bool:
    """Whether a change would be seen by nobody but readers of messages and type checkers."""
    match node:
        case ast.keyword(arg="strict"):  # of `zip`: what should not happen anyway
            return True
        case ast.Raise() | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="warnings")))):
            return True
    return False


def _changes(node: ast.AST, place: Place) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield _with(node, ops=[COMPARISONS[type(op)]()])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _is_text(node):
            if place.function or not isinstance(op, ast.BitOr):  # a type, outside functions
                yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case _:
            yield from _changed_statement(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not _is_answer(node.test):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.comprehension) and not all(map(_is_answer, node.ifs)):
        yield _with(node, ifs=[ast.UnaryOp(ast.Not(), each) for each in node.ifs])


def _changed_statement(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value=ast.expr() as value):
            if not _is_answer(value) and ast.unparse(value) != "None":
                yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _with(node: ast.AST, **changed: object) -> ast.AST:
    new = copy.copy(node)
    for field, value in changed.items():
        setattr(new, field, value)
    return new


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        or (isinstance(each, ast.BinOp) and _is_text(each))
        for each in sides
    )


def _is_answer(value: ast.expr) -> bool:
    """Whether an expression is a yes or no whose parts are changed anyway."""
    if isinstance(value, ast.Compare):
        return isinstance(value.ops[0], OPPOSITES)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, bool)
    return isinstance(value, ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )
