"""Groups and update rules written out as C: one loop in which values stay in registers.

Owns: the text.  What compiles and loads it is `compiling`; nothing here knows a compiler.
A function `run(char **registers, long count)` comes out, with the registers of the group in
question (`blocks`) or of the rule (`optim.programs`); constants are registers of one element.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Sequence
from typing import Any

import numpy as np

_TYPES = {"f": "float", "d": "double", "?": "unsigned char", "i": "int", "l": "long"}
_OPERATIONS = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "maximum": "({0} >= {1} || {0} != {0} ? {0} : {1})",
    "minimum": "({0} <= {1} || {0} != {0} ? {0} : {1})",
    "greater": "({0} > {1})",
    "greater_equal": "({0} >= {1})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
    "negative": "(-{0})",
    "absolute": "ABSOLUTE({0})",
    "sqrt": "ROOT({0})",
    "where": "({0} ? {1} : {2})",
    "copy": "{0}",
    "cast": "{0}",
    "logical_not": "(!{0})",
    "logical_and": "({0} & {1})",
    "logical_or": "({0} | {1})",
}
# Known for floats only, in floats.h.
_OF_FLOATS = {
    "exp": "exp_quickly",
    "log": "log_float",
    "tanh": "tanh_quickly",
    "logistic": "logistic_quickly",
    "gelu": "gelu_float",
    "gelu_slope": "gelu_slope_float",
}

# One line of a loop: the operation, the dtypes of operands and result, their registers.
Line = tuple[str, Sequence[np.dtype], Sequence[int]]


@functools.cache
def _functions() -> str:
    """The C functions that expressions name."""
    return importlib.resources.files(__package__).joinpath("floats.h").read_text()


def expression(name: str, dtypes: Sequence[np.dtype], operands: Sequence[str]) -> str | None:
    """Return an operation as an expression; None if there is none."""
    single = dtypes[-1].char == "f"
    if name in _OF_FLOATS:
        return f"{_OF_FLOATS[name]}({operands[0]})" if single else None
    if name == "cast" and dtypes[-1].char == "?":
        return f"({operands[0]} != 0)"
    known = _OPERATIONS.get(name)
    if known is None or (name.startswith("logical") and dtypes[0].char != "?"):
        return None
    known = known.replace("ABSOLUTE", "fabsf" if single else "fabs")
    return known.replace("ROOT", "sqrtf" if single else "sqrt").format(*operands)


def loop_text(
    lines: Sequence[Line], single: set[int], written: set[int], exact: bool
) -> str | None:
    """Return the text of a loop; None if an operation in it has no text.

    `single` are the registers of one element, `written` those that are needed afterwards.
    """
    dtypes: dict[int, np.dtype] = {}
    given: set[int] = set()  # registers that are read before they are computed
    body: list[str] = []
    for name, kinds, registers in lines:
        given |= set(registers[:-1]) - dtypes.keys()
        dtypes |= dict(zip(registers, kinds, strict=True))
        found = expression(name, kinds, [f"v{each}" for each in registers[:-1]])
        if found is None or any(each.char not in _TYPES for each in kinds):
            return None
        body.append(f"v{registers[-1]} = {found};")
    return _assembled(dtypes, given, body, single, written, exact)


def _assembled(
    dtypes: dict[int, np.dtype],
    given: set[int],
    body: list[str],
    single: set[int],
    written: set[int],
    exact: bool,
) -> str:
    """Return the loop around what is computed of an element."""
    head, start, end = [], [], []
    for register, dtype in sorted(dtypes.items()):
        memory, kind = _TYPES[dtype.char], "int" if dtype.char == "?" else _TYPES[dtype.char]
        if register in single:
            head.append(f"const {kind} v{register} = *(const {memory} *)r[{register}];")
            continue
        if register in given or register in written:
            head.append(f"{memory} *p{register} = ({memory} *)r[{register}];")
        first = f" = p{register}[i]" if register in given else ""
        start.append(f"{kind} v{register}{first};")
        if register in written:
            end.append(f"p{register}[i] = v{register};")
    text = [_functions(), "void run(char **r, long count) {", *head, "#pragma GCC ivdep"]
    text += ["for (long i = 0; i < count; i++) {", *start, *body, *end, "}", "}", ""]
    mark = "/* rounds after each operation */\n" if exact else ""
    return mark + "\n".join(text)


def group_text(description: tuple[Any, ...]) -> str | None:
    """Return the text of a group as `blocks.group_of` describes it."""
    _, _, _, _, registers, instructions, reductions = description
    single = {nr for nr, each in enumerate(registers) if each[0] in (2, 5)}
    written = {each[1] for each in reductions}
    lines: list[Line] = []
    by_number = {np.dtype(each).num: np.dtype(each) for each in "fd?il"}
    for name, _, types, numbers in instructions:
        if registers[numbers[-1]][0] in (1, 4):
            written.add(numbers[-1])
        lines.append((name, [by_number[each] for each in types], numbers))
    computed = {each[2][-1] for each in lines}
    return loop_text(lines, single, written & computed, exact=False)


def rule_text(
    code: bytes, names: Sequence[str], columns: int, constants: int, dtype: np.dtype
) -> str | None:
    """Return the text of an update rule as `optim.programs` writes it down; it rounds as NumPy."""
    lines: list[Line] = []
    counts = {"negative": 1, "sqrt": 1, "absolute": 1, "where": 3}
    for at in range(0, len(code), 5):
        operation, target, *operands = code[at : at + 5]
        name = names[operation]
        given = operands[: counts.get(name, 2)]
        lines.append((name, [dtype] * (len(given) + 1), [*given, target]))
    single = set(range(columns, columns + constants))
    written = {line[2][-1] for line in lines if line[2][-1] < columns}
    return loop_text(lines, single, written, True)
