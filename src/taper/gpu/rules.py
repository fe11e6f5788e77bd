"""Update rules of optimizers on the device: one launch for many parameters.

A rule comes as the program that `optim/programs.py` has written down of it; here the program
becomes the text of a kernel, whose registers are variables.  The addresses travel as a parameter.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from taper.gpu import state
from taper.gpu.array import address
from taper.gpu.texts import PRELUDE, TYPES

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
_CHUNK = 4096  # elements of a block
_MOST_BYTES = 3600  # of addresses that travel with a launch


def text_of(instructions: bytes, columns: int, constants: int, most: int, dtype: np.dtype) -> str:
    """The text of a kernel that runs a program over `most` parameters at once."""
    kind = TYPES[dtype][0]

    def name(register: int) -> str:
        if register < columns:
            return f"x{register}"
        if register < columns + constants:
            return f"table.number[{register - columns}]"
        return f"t{register - columns - constants}"

    lines: list[str] = []
    temporaries: set[int] = set()
    written: set[int] = set()
    for at in range(0, len(instructions), 5):
        operation, target, *operands = instructions[at : at + 5]
        a, b, c = map(name, operands)
        (written.add if target < columns else temporaries.add)(target)
        lines.append(f"{name(target)} = {_TEXTS[operation].format(a=a, b=b, c=c)};")
    body = "\n            ".join(
        [
            *[f"C x{nr} = table.row[which].column[{nr}][i];" for nr in range(columns)],
            *[f"C {name(each)} = (C)0;" for each in sorted(temporaries)],
            *lines,
            *[f"table.row[which].column[{nr}][i] = x{nr};" for nr in sorted(written)],
        ]
    )
    return f"""{PRELUDE}
typedef {kind} C;
struct Row {{ C *column[{columns}]; long long size; long long first; }};
struct Table {{ Row row[{most}]; C number[{max(constants, 1)}]; }};
extern "C" __global__ void update(const Table table, long long rows) {{
    int which = 0;
    while (which + 1 < rows && table.row[which + 1].first <= blockIdx.x) which++;
    const long long start = (blockIdx.x - table.row[which].first) * {_CHUNK};
    const long long end = min(start + {_CHUNK}, table.row[which].size);
    for (long long i = start + threadIdx.x; i < end; i += blockDim.x) {{
            {body}
    }}
}}
"""


_compiled: dict[Any, Any] = {}


def run(instructions: bytes, columns: tuple[list[Any], ...], constants: tuple[Any, ...]) -> bool:
    """Update arrays in place; False if they are beyond this."""
    kernels = state.runtime.kernels
    dtype = columns[0][0].dtype
    if kernels is None or dtype.char not in "fd":
        return False
    for row in zip(*columns, strict=True):
        for each in row:
            if each.dtype is not dtype or each.shape != row[0].shape:
                return False
            if not each.flags.c_contiguous and each.strides != row[0].strides:
                return False
            if not each.flags.forc:
                return False
    width = len(columns)
    most = _MOST_BYTES // (8 * (width + 2))
    key = instructions, width, len(constants), dtype
    function = _compiled.get(key)
    if function is None:
        text = text_of(instructions, width, len(constants), most, dtype)
        function = _compiled[key] = kernels.compile(text, "update")
    numbers = b"".join([np.asarray(each, dtype).tobytes() for each in constants])
    rows = list(zip(*columns, strict=True))
    for start in range(0, len(rows), most):
        _launch(kernels, function, rows[start : start + most], width, most, numbers, dtype)
    return True


def _launch(
    kernels: Any, function: Any, rows: list[Any], width: int, most: int, numbers: bytes, dtype: Any
) -> None:
    words, first = [], 0
    for row in rows:
        size = row[0].size
        words += [*map(address, row), size, first]
        first += (size + _CHUNK - 1) // _CHUNK
    words += [0] * ((most - len(rows)) * (width + 2))
    table = struct.pack(f"{len(words)}q", *words) + (numbers or bytes(dtype.itemsize))
    table += bytes(-len(table) % 8)
    if first:
        kernels.launch(function, first, 512, (table, len(rows)))
