"""Python expressions as mathematics: MathML, which browsers typeset without a library.

Owns how operators, functions and names of formulas look.  Must not know the operator table: syntax
trees go in, text comes out.  What has no usual notation is written as the function it is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["equation", "equations", "expression", "symbol"]

# How tightly an operator binds: a looser part inside a tighter one is put in brackets.
_LOOSE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)

_BINARY = {
    ast.Add: ("+", _SUM),
    ast.Sub: ("−", _SUM),  # noqa: RUF001
    ast.Mult: ("·", _PRODUCT),
    ast.MatMult: ("\N{INVISIBLE TIMES}", _PRODUCT),
    ast.FloorDiv: ("÷", _PRODUCT),
    ast.Mod: ("mod", _PRODUCT),
    ast.BitAnd: ("∧", _LOOSE),
    ast.BitOr: ("∨", _LOOSE),  # noqa: RUF001
}
_COMPARISONS = {
    ast.Eq: "=",
    ast.NotEq: "≠",
    ast.Lt: "<",
    ast.LtE: "≤",
    ast.Gt: ">",
    ast.GtE: "≥",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "∈",
    ast.NotIn: "∉",
}
# Functions with an established short name.
_FUNCTIONS = {
    "log": "ln",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "sign": "sgn",
    "maximum": "max",
    "minimum": "min",
    "logical_not": "¬",
}
_TRANSPOSES = frozenset({"t", "T", "mT", "transpose", "transposed", "swapaxes"})
_ADJOINTS = frozenset({"H", "mH", "adjoint", "conj_transpose"})
_GREEK = {"sigma": "σ", "alpha": "α", "beta": "β", "lambd": "λ", "eps": "ε", "pi": "π"}  # noqa: RUF001

Names = Mapping[str, str]  # names of Python -> MathML


def expression(node: ast.expr, names: Names, *, real: bool = True) -> str:
    """Return MathML for an expression, without the element `math` around it.

    `names` gives MathML for names; with `real`, conjugates are left out, as they change nothing.

    >>> import ast
    >>> expression(ast.parse("a / 2").body[0].value, {})
    '<mfrac><mi>a</mi><mn>2</mn></mfrac>'
    """
    return _Writer(names, real).write(node)[0]


def equation(left: str, statements: Sequence[ast.stmt], names: Names, *, real: bool = True) -> str:
    """Return a `math` element in which `left` equals what the statements return.

    Statements before the last are lines of their own; those that are no assignments appear as code.

    >>> import ast
    >>> equation("<mi>y</mi>", ast.parse("sqrt(x)").body, {})
    '<math display="block"><mrow><mi>y</mi><mo>=</mo><msqrt><mi>x</mi></msqrt></mrow></math>'
    """
    return equations([(left, each) for each in statements], names, real=real)


def equations(lines_of: Sequence[tuple[str, ast.stmt]], names: Names, *, real: bool = True) -> str:
    """Return a `math` element with a line for each statement; each brings its own left side."""
    writer = _Writer(names, real)
    lines = []
    for left, statement in lines_of:
        if isinstance(statement, ast.Return | ast.Expr) and statement.value is not None:
            lines.append(f"<mrow>{left}<mo>=</mo>{writer.write(statement.value)[0]}</mrow>")
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = writer.write(statement.targets[0])[0]
            lines.append(f"<mrow>{target}<mo>=</mo>{writer.write(statement.value)[0]}</mrow>")
        else:
            lines += [_code(line) for line in ast.unparse(statement).split("\n")]
    if len(lines) == 1:
        return f'<math display="block">{lines[0]}</math>'
    rows = "".join(f"<mtr><mtd>{line}</mtd></mtr>" for line in lines)
    return f'<math display="block"><mtable class="lines">{rows}</mtable></math>'


def _code(text: str) -> str:
    indent = len(text) - len(text.lstrip())
    shown = "\N{NO-BREAK SPACE}" * indent + text.lstrip()
    return f'<mtext class="code">{escape(shown)}</mtext>'


def symbol(name: str) -> str:
    """Return a name as an identifier; `weight_ih` gets its second part as an index."""
    head, _, index = name.strip("_").partition("_")
    if not head:
        return f"<mi>{escape(name)}</mi>"
    main = f"<mi>{escape(_GREEK.get(head, head))}</mi>"
    if not index:
        return main
    return f"<msub>{main}<mtext>{escape(index.replace('_', ' '))}</mtext></msub>"


class _Writer:
    """Writes expressions; every method returns MathML and how tightly it binds."""

    def __init__(self, names: Names, real: bool) -> None:
        self.names = names
        self.real = real

    def write(self, node: ast.expr) -> tuple[str, int]:
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is None:
            return _code(ast.unparse(node)), _ATOM
        written: tuple[str, int] = method(node)
        return written

    def within(self, node: ast.expr, tightness: int) -> str:
        """Write a part, in brackets if it binds less tightly than what is around it."""
        text, own = self.write(node)
        return text if own >= tightness else _brackets(text)

    def _of_name(self, node: ast.Name) -> tuple[str, int]:
        return self.names.get(node.id) or symbol(node.id), _ATOM

    def _of_constant(self, node: ast.Constant) -> tuple[str, int]:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"<mtext>{escape(str(value))}</mtext>", _ATOM
        return f"<mn>{value:g}</mn>" if isinstance(value, float) else f"<mn>{value}</mn>", _ATOM

    def _of_binop(self, node: ast.BinOp) -> tuple[str, int]:
        if isinstance(node.op, ast.Div):
            return (
                f"<mfrac>{_row(self.write(node.left)[0])}{_row(self.write(node.right)[0])}</mfrac>",
                _POWER,
            )
        if isinstance(node.op, ast.Pow):
            base, power = self.within(node.left, _ATOM), self.write(node.right)[0]
            return f"<msup>{_row(base)}{_row(power)}</msup>", _POWER
        if type(node.op) not in _BINARY:
            return _code(ast.unparse(node)), _ATOM
        sign, tightness = _BINARY[type(node.op)]
        left = self.within(node.left, tightness)
        strict = isinstance(node.op, ast.Sub | ast.FloorDiv | ast.Mod)
        right = self.within(node.right, tightness + strict)
        return f"{left}<mo>{sign}</mo>{right}", tightness

    def _of_unaryop(self, node: ast.UnaryOp) -> tuple[str, int]:
        sign = {ast.USub: "−", ast.Not: "¬", ast.Invert: "¬"}.get(type(node.op), "+")  # noqa: RUF001
        return f"<mo>{sign}</mo>{self.within(node.operand, _SIGN)}", _SIGN

    def _of_compare(self, node: ast.Compare) -> tuple[str, int]:
        parts = [self.within(node.left, _SUM)]
        for operator, right in zip(node.ops, node.comparators, strict=True):
            parts.append(f"<mo>{escape(_COMPARISONS[type(operator)])}</mo>")
            parts.append(self.within(right, _SUM))
        return "".join(parts), _LOOSE

    def _of_boolop(self, node: ast.BoolOp) -> tuple[str, int]:
        word = "and" if isinstance(node.op, ast.And) else "or"
        texts = [self.within(each, _SUM) for each in node.values]
        return f"<mtext> {word} </mtext>".join(texts), _LOOSE

    def _of_ifexp(self, node: ast.IfExp) -> tuple[str, int]:
        return self._cases(node.test, node.body, node.orelse)

    def _cases(self, test: ast.expr, body: ast.expr, other: ast.expr) -> tuple[str, int]:
        rows = (
            f"<mtr><mtd>{self.write(body)[0]}</mtd>"
            f"<mtd><mtext>if </mtext>{self.write(test)[0]}</mtd></mtr>"
            f"<mtr><mtd>{self.write(other)[0]}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr>"
        )
        return f'<mrow><mo>{{</mo><mtable class="cases">{rows}</mtable></mrow>', _SUM

    def _of_tuple(self, node: ast.Tuple) -> tuple[str, int]:
        return _brackets("<mo>,</mo>".join(self.write(each)[0] for each in node.elts)), _ATOM

    def _of_attribute(self, node: ast.Attribute) -> tuple[str, int]:
        if node.attr in _TRANSPOSES | _ADJOINTS:
            return self._turned(node.value, node.attr)
        return f"{self.within(node.value, _ATOM)}<mo>.</mo><mi>{escape(node.attr)}</mi>", _ATOM

    def _turned(self, node: ast.expr, how: str) -> tuple[str, int]:
        mark = "H" if how in _ADJOINTS and not self.real else "T"
        return f"<msup>{_row(self.within(node, _ATOM))}<mi>{mark}</mi></msup>", _POWER

    def _of_subscript(self, node: ast.Subscript) -> tuple[str, int]:
        index = f"<mtext>{escape(ast.unparse(node.slice))}</mtext>"
        return f"<msub>{_row(self.within(node.value, _ATOM))}{index}</msub>", _POWER

    def _of_call(self, node: ast.Call) -> tuple[str, int]:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if not isinstance(node.func, ast.Name):
            return _code(ast.unparse(node)), _ATOM
        return self._function(node.func.id, node.args, node.keywords)

    def _method(self, node: ast.Call, function: ast.Attribute) -> tuple[str, int]:
        if isinstance(function.value, ast.Name) and function.value.id in ("np", "math", "F"):
            return self._function(function.attr, node.args, node.keywords)
        return self._function(function.attr, [function.value, *node.args], node.keywords)

    def _function(
        self, name: str, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> tuple[str, int]:
        if args and name in _TRANSPOSES | _ADJOINTS:
            return self._turned(args[0], name)
        special = getattr(self, f"_write_{name}", None)
        if special is not None and args and not keywords:
            written: tuple[str, int] | None = special(args)
            if written is not None:
                return written
        if name in ("conj", "real", "handle_r_to_c") and args and self.real:
            return self.write(args[0])
        if name in ("sum", "mean") and len(args) == 1 and not keywords:
            sign = "<mo>∑</mo>" if name == "sum" else "<mi>mean</mi><mo>&#x2061;</mo>"
            text, tightness = self.write(args[0])
            plain = name == "sum" and tightness >= _PRODUCT
            return sign + (text if plain else _brackets(text)), _PRODUCT
        texts = [self.write(each)[0] for each in args]
        texts += [
            f"<mtext>{escape(each.arg or '')}=</mtext>{self.write(each.value)[0]}"
            for each in keywords
        ]
        label = _FUNCTIONS.get(name, name.strip("_").replace("_", " "))
        listed = "<mo>,</mo>".join(texts)
        return f"<mi>{escape(label)}</mi><mo>&#x2061;</mo>{_brackets(listed)}", _ATOM

    def _write_sqrt(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        return f"<msqrt>{self.write(args[0])[0]}</msqrt>", _ATOM

    def _write_exp(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        return f"<msup><mi>e</mi>{_row(self.write(args[0])[0])}</msup>", _POWER

    def _write_abs(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        return f"<mrow><mo>|</mo>{self.write(args[0])[0]}<mo>|</mo></mrow>", _ATOM

    def _write_square(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        return f"<msup>{_row(self.within(args[0], _ATOM))}<mn>2</mn></msup>", _POWER

    def _write_pow(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        if len(args) != 2:
            return None
        base, power = self.within(args[0], _ATOM), self.write(args[1])[0]
        return f"<msup>{_row(base)}{_row(power)}</msup>", _POWER

    def _write_conj(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        if self.real:
            return self.write(args[0])
        return f"<mover>{_row(self.write(args[0])[0])}<mo>&#xAF;</mo></mover>", _ATOM

    def _write_where(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        return self._cases(*args) if len(args) == 3 else None

    def _write_matmul(self, args: Sequence[ast.expr]) -> tuple[str, int] | None:
        if len(args) != 2:
            return None
        left, right = self.within(args[0], _PRODUCT), self.within(args[1], _POWER)
        return f"{left}<mo>&#x2062;</mo>{right}", _PRODUCT

    _write_mm = _write_bmm = _write_mv = _write_matmul


def _row(text: str) -> str:
    """Make one element of several, as fractions and powers need them."""
    return text if _is_single(text) else f"<mrow>{text}</mrow>"


def _is_single(text: str) -> bool:
    tag = text[1:].split(">", 1)[0].split(" ", 1)[0]
    return text.endswith(f"</{tag}>") and text.count(f"<{tag}") == 1


def _brackets(text: str) -> str:
    return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"
