"""CUDA C++ for ufuncs: one kernel for an expression, its dtypes and how its operands lie.

Owns: the expression of each ufunc and the text around it.  Compiles and launches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# The type of a dtype in C++, and the one that it is computed in.
TYPES: dict[np.dtype, tuple[str, str]] = {
    np.dtype(name): (text, text)
    for name, text in {
        "?": "bool",
        "i1": "signed char",
        "u1": "unsigned char",
        "i2": "short",
        "u2": "unsigned short",
        "i4": "int",
        "u4": "unsigned int",
        "i8": "long long",
        "u8": "unsigned long long",
        "f4": "float",
        "f8": "double",
    }.items()
}
WIDE = np.dtype("V16")
"""What is copied, whatever it means."""
TYPES[WIDE] = ("uint4", "uint4")
TYPES[np.dtype("f2")] = ("half_t", "float")
TYPES[BFLOAT16] = ("bfloat_t", "float")

PRELUDE = (Path(__file__).parent / "kernels" / "prelude.cu").read_text(encoding="utf-8")

_FLOATS = "f"
_ORDERED = "fiu"
_ANY = "fiub"

# ufunc -> (expression of a, b; kinds of the dtype that it is computed in).
EXPRESSIONS: dict[Any, tuple[str, str]] = {
    np.add: ("a + b", _ORDERED),
    np.subtract: ("a - b", _ORDERED),
    np.multiply: ("a * b", _ORDERED),
    np.divide: ("a / b", _FLOATS),
    np.negative: ("-a", _ORDERED),
    np.positive: ("a", _ORDERED),
    np.square: ("a * a", _ORDERED),
    np.reciprocal: ("(C)1 / a", _FLOATS),
    np.absolute: ("abs(a)", "fi"),
    np.sign: ("sign_of<C>(a)", "fi"),
    np.maximum: ("larger<C>(a, b)", _ANY),
    np.minimum: ("smaller<C>(a, b)", _ANY),
    np.power: ("pow(a, b)", _FLOATS),
    np.floor_divide: ("floor_quotient<C>(a, b)", _FLOATS),
    np.remainder: ("floor_rest<C>(a, b)", _FLOATS),
    np.logaddexp: ("both(a, b)", _FLOATS),
    np.equal: ("a == b", _ANY),
    np.not_equal: ("a != b", _ANY),
    np.less: ("a < b", _ANY),
    np.less_equal: ("a <= b", _ANY),
    np.greater: ("a > b", _ANY),
    np.greater_equal: ("a >= b", _ANY),
    np.logical_and: ("a && b", _ANY),
    np.logical_or: ("a || b", _ANY),
    np.logical_xor: ("!a != !b", _ANY),
    np.logical_not: ("!a", _ANY),
    np.isnan: ("a != a", _FLOATS),
    np.bitwise_and: ("a & b", "iub"),
    np.bitwise_or: ("a | b", "iub"),
    np.bitwise_xor: ("a ^ b", "iub"),
    np.invert: ("~a", "iu"),
    np.conjugate: ("a", _ORDERED),
}
# What C++ has under NumPy's name, but for "arc".
_FUNCTIONS = {
    "a": """
    fabs sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh
    cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isinf isfinite signbit
    """,
    "a, b": "fmax fmin arctan2 hypot fmod copysign",
}
EXPRESSIONS |= {
    getattr(np, name): (f"{name.replace('arc', 'a')}({operands})", _FLOATS)
    for operands, names in _FUNCTIONS.items()
    for name in names.split()
}


def dtype_kind(dtype: np.dtype) -> str:
    """The kind of a dtype: that of bfloat16 is "f" here."""
    return "f" if dtype == BFLOAT16 else dtype.kind


LETTERS = "abcd"


def name_of(expression: str) -> str:
    """What the kernel of an expression is called, in profiles for instance."""
    return "map_" + re.sub(r"\W+", "_", expression)[:48]


def kernel(
    expression: str,
    computed: Sequence[np.dtype],
    given: Sequence[np.dtype],
    result: np.dtype,
    scalars: Sequence[bool],
    dims: int,
    is_huge: bool = False,
) -> str:
    """The text of a kernel, whose name is `name_of(expression)`.

    Operands come in their dtypes (`given`), are cast to those of the expression (`computed`), and
    are numbers where `scalars` says so.  `dims` is 0 if all arrays lie alike without gaps, else how
    many dimensions there are, each with a length and a stride (in elements) for each operand.
    """
    letters = LETTERS[: len(given)]
    parameters = [f"{TYPES[result][0]} *out"]
    for letter, dtype, number in zip(letters, given, scalars, strict=True):
        text = TYPES[dtype][0]
        parameters.append(
            f"{text} {letter}_" if number else f"const {text} *__restrict__ {letter}_"
        )
    parameters.append("long long n")
    lines = []
    if dims:
        parameters.append("const Form form")
    for letter, dtype, number in zip(letters, computed, scalars, strict=True):
        place = "" if number else "[i]" if not dims else f"[at_{letter}]"
        lines.append(
            f"const {TYPES[dtype][1]} {letter} = ({TYPES[dtype][1]})load({letter}_{place});"
        )
    computing = TYPES[computed[0]][1]
    where = "i" if not dims else "at_out"
    lines.append(f"typedef {computing} C;")
    lines.append(f"out[{where}] = put<{TYPES[result][0]}>({expression});")
    body = "\n        ".join(lines)
    walk = _walk(letters, scalars, dims, is_huge) if dims else ""
    form = (
        f"struct Form {{ int length[{dims}]; long long step[{dims}][{len(given) + 1}]; }};\n"
        if dims
        else ""
    )
    return (
        f"{PRELUDE}{form}"
        f'extern "C" __global__ void {name_of(expression)}({", ".join(parameters)}) {{\n'
        "    const long long stride = (long long)gridDim.x * blockDim.x;\n"
        "    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    for (long long i = first; i < n; i += stride) {\n"
        f"        {walk}{body}\n    }}\n}}\n"
    )


def _walk(letters: str, scalars: Sequence[bool], dims: int, is_huge: bool) -> str:
    """Where the operands of element `i` lie; the last dimension is the innermost.

    Divisions of 64 bits cost more than all else, so elements are counted with 32 where these do.
    """
    kind = "long long" if is_huge else "unsigned int"
    names = ["out"] + [each for each, number in zip(letters, scalars, strict=True) if not number]
    columns = [0] + [nr + 1 for nr, number in enumerate(scalars) if not number]
    lines = [f"{kind} rest = ({kind})i;", *(f"long long at_{name} = 0;" for name in names)]
    for dim in range(dims - 1, -1, -1):
        if dim:
            lines.append(
                f"{{ const {kind} up = rest / ({kind})form.length[{dim}]; "
                f"const {kind} here = rest - up * ({kind})form.length[{dim}]; rest = up;"
            )
        else:
            lines.append(f"{{ const {kind} here = rest;")
        lines += [
            f"at_{name} += (long long)here * form.step[{dim}][{column}];"
            for name, column in zip(names, columns, strict=True)
        ]
        lines.append("}")
    return "\n        ".join(lines) + "\n        "
