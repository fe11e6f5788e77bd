"""Update rules of optimizers on the device: one launch for many parameters.

A rule comes as the program that `optim/programs.py` has written down of it; here the program
becomes the text of a kernel, whose registers are variables.  The addresses travel as a parameter.
So do the coefficients, unless they lie on the device: there a graph reads those of its launch.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from taper.gpu import state
from taper.gpu.array import address
from taper.gpu.texts import BFLOAT16, PRELUDE, TYPES

_TEXTS = (
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / {b}",
    "-{a}",
    "sqrt({a})",
    "fabs({a})",
    "larger<C>({a}, {b})",
    "smaller<C>({a}, {b})",
    "(C)({a} > {b})",
    "(C)({a} < {b})",
    "({a} != (C)0 ? {b} : {c})",
)
_KNOWN = frozenset([*map(np.dtype, ("f2", "f4", "f8")), BFLOAT16])
_CHUNK = 4096  # elements of a block
SCALE = bytes([2, 0, 0, 1, 0])
"""The rule that multiplies its one column by its one constant."""
_MOST_BYTES = 3600  # of addresses that travel with a launch


def _body(instructions: bytes, columns: int, constants: int) -> str:
    """The statements for one element: read its columns, run the program, write what it wrote."""

    def name(register: int) -> str:
        if register < columns:
            return f"x{register}"
        if register < columns + constants:
            return f"n{register - columns}"
        return f"t{register - columns - constants}"

    lines: list[str] = []
    temporaries: set[int] = set()
    written: set[int] = set()
    for at in range(0, len(instructions), 5):
        operation, target, *operands = instructions[at : at + 5]
        a, b, c = map(name, operands)
        (written.add if target < columns else temporaries.add)(target)
        lines.append(f"{name(target)} = {_TEXTS[operation].format(a=a, b=b, c=c)};")
    place = "table.row[which].column[{}][i]"
    return "\n        ".join(
        [
            *[f"C x{nr} = load({place.format(nr)});" for nr in range(columns)],
            *[f"C {name(each)} = (C)0;" for each in sorted(temporaries)],
            *lines,
            *[f"{place.format(nr)} = put<T>(x{nr});" for nr in sorted(written)],
        ]
    )


def text_of(instructions: bytes, columns: int, constants: int, most: int, dtype: np.dtype) -> str:
    """The text of a kernel that runs a program over `most` parameters at once."""
    stored, computed = TYPES[dtype]
    numbers = "\n    ".join(
        f"const C n{nr} = where ? where[{nr} * spread + (spread > 1 ? base + which : 0)] "
        f": table.number[{nr}];"
        for nr in range(constants)
    )
    return f"""{PRELUDE}
typedef {stored} T;
typedef {computed} C;
struct Row {{ T *column[{columns}]; long long size; long long first; }};
struct Table {{ Row row[{most}]; C number[{max(constants, 1)}]; }};
extern "C" __global__ void update(
    const Table table, long long rows, const C *where, long long spread, long long base) {{
    int which = 0;
    while (which + 1 < rows && table.row[which + 1].first <= blockIdx.x) which++;
    const long long start = (blockIdx.x - table.row[which].first) * {_CHUNK};
    const long long end = min(start + {_CHUNK}, table.row[which].size);
    {numbers}
    for (long long i = start + threadIdx.x; i < end; i += blockDim.x) {{
        {_body(instructions, columns, constants)}
    }}
}}
"""


_compiled: dict[Any, Any] = {}


def takes(columns: tuple[list[Any], ...]) -> bool:
    """Whether the arrays of all parameters are of one dtype, and those of each lie alike."""
    dtype = columns[0][0].dtype
    if dtype not in _KNOWN:
        return False
    for row in zip(*columns, strict=True):
        for each in row:
            if each.dtype is not dtype or each.shape != row[0].shape:
                return False
            if not each.flags.c_contiguous and each.strides != row[0].strides:
                return False
            if not each.flags.forc:
                return False
    return True


def run(
    instructions: bytes,
    columns: tuple[list[Any], ...],
    constants: tuple[Any, ...],
    where: Any = None,
) -> bool:
    """Update arrays in place; False if they are beyond this.

    With `where`, an array on the device, the constants are its rows: of one number for all
    parameters, or of one for each.
    """
    if not takes(columns):
        return False
    done: bool = state.runtime.update(instructions, columns, constants, where)
    return done


def launch(
    kernels: Any,
    instructions: bytes,
    columns: tuple[list[Any], ...],
    constants: tuple[Any, ...],
    where: Any,
) -> None:
    """Launch the kernel of a rule, as often as there are too many parameters for once."""
    width, dtype = len(columns), columns[0][0].dtype
    most = _MOST_BYTES // (8 * (width + 2))
    key = instructions, width, len(constants), dtype
    function = _compiled.get(key)
    if function is None:
        text = text_of(instructions, width, len(constants), most, dtype)
        function = _compiled[key] = kernels.compile(text, "update")
    wide = np.dtype(np.float64) if dtype.itemsize == 8 else np.dtype(np.float32)
    numbers = bytes(wide.itemsize * max(len(constants), 1))
    if where is None and constants:
        numbers = b"".join([np.asarray(each, wide).tobytes() for each in constants])
    rows = list(zip(*columns, strict=True))
    for start in range(0, len(rows), most):
        some = rows[start : start + most]
        table, blocks = _table(some, most, numbers)
        place = (0, 1) if where is None else (where, where.shape[1])
        if blocks:
            kernels.launch(function, blocks, 512, (table, len(some), *place, start))


def _table(rows: list[Any], most: int, numbers: bytes) -> tuple[bytes, int]:
    """The addresses and coefficients as the kernel takes them, and how many blocks there are."""
    words, first = [], 0
    for row in rows:
        size = row[0].size
        words += [*map(address, row), size, first]
        first += (size + _CHUNK - 1) // _CHUNK
    words += [0] * ((most - len(rows)) * (len(rows[0]) + 2))
    table = struct.pack(f"{len(words)}q", *words) + numbers
    return table + bytes(-len(table) % 8), first
