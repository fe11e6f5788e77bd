"""CUDA C++ for chains of element-wise operations: one kernel, whose values stay in registers.

Owns: the text.  A chain says what is read, computed and written (`Chain`); who derives it from a
program is `program.device_fusion`, and what compiles and launches it is the runtime.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taper.gpu.texts import EXPRESSIONS, PRELUDE, TYPES, dtype_kind

GELU = "(C)0.5 * a * ((C)1 + erf(a * (C)0.7071067811865476))"
GELU_SLOPE = (
    "b * ((C)0.5 * ((C)1 + erf(a * (C)0.7071067811865476))"
    " + a * exp((C)-0.5 * a * a) * (C)0.3989422804014327)"
)
RELU_SLOPE = "a <= (C)0 ? (C)0 : b"
LOGISTIC = "(C)1 / ((C)1 + exp(-a))"
_NAMED = {"where": "a ? b : c", "cast": "a", "copy": "a", "logistic": LOGISTIC}
_WIDTH = 4  # elements that a thread takes at once where all operands lie alike


def expression(what: Any, kinds: str) -> str | None:
    """The expression of an operation whose operands have these kinds; None if there is none."""
    if isinstance(what, str):
        return _NAMED.get(what, what)
    found = EXPRESSIONS.get(what)
    return found[0] if found is not None and set(kinds) <= set(found[1]) else None


@dataclass(frozen=True)
class Operand:
    """An array that is read or written: element by element as the chain counts them.

    `lengths` and `steps` say where an element lies, steps in elements; without lengths all
    elements are the same one.
    """

    dtype: np.dtype
    lengths: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def is_dense(self) -> bool:
        return self.steps == (1,)


@dataclass
class Chain:
    """What a kernel does with each of `count` elements."""

    count: int
    inputs: list[Operand] = field(default_factory=list)
    numbers: list[np.ndarray] = field(default_factory=list)
    # Expression, registers (x: input, n: number, v: line) and the dtype of the result.
    lines: list[tuple[str, tuple[str, ...], tuple[np.dtype, ...], np.dtype]] = field(
        default_factory=list
    )
    outputs: list[tuple[Operand, str]] = field(default_factory=list)

    def width(self, places: Sequence[int]) -> int:
        """How many elements a thread takes at once, with inputs and outputs at these addresses."""
        operands = [*self.inputs, *[each for each, _ in self.outputs]]
        fits = [
            each.is_dense and place % (_WIDTH * each.dtype.itemsize) == 0
            for each, place in zip(operands, places, strict=True)
            if each.lengths
        ]
        return _WIDTH if fits and all(fits) and self.count % _WIDTH == 0 else 1


def text_of(chain: Chain, width: int) -> str:
    """The text of the kernel `chain`, which is given the addresses of inputs, then of outputs."""
    counting = "long long" if chain.count >= 1 << 31 else "unsigned int"
    head = [
        f"const {_value(each.dtype)} n{nr} = {_literal(each)};"
        for nr, each in enumerate(chain.numbers)
    ]
    before: list[str] = []  # for the elements that a thread takes at once
    body: list[str] = []  # for each of them
    after: list[str] = []
    for nr, each in enumerate(chain.inputs):
        stored = TYPES[each.dtype][0]
        head.append(f"const {stored} *p{nr} = (const {stored} *)given.at[{nr}];")
        place = f"p{nr}[{_place(each, counting)}]"
        if not each.lengths:
            head.append(f"const {_value(each.dtype)} x{nr} = load(p{nr}[0]);")
            continue
        if width > 1:
            before.append(f"const Some<{stored}> g{nr} = ((const Some<{stored}> *)p{nr})[q];")
            place = f"g{nr}.of[k]"
        body.append(f"const {_value(each.dtype)} x{nr} = load({place});")
    for nr, line in enumerate(chain.lines):
        body.append(_line(nr, *line))
    first = len(chain.inputs)
    for nr, (each, register) in enumerate(chain.outputs):
        stored = TYPES[each.dtype][0]
        head.append(f"{stored} *o{nr} = ({stored} *)given.at[{first + nr}];")
        place = f"o{nr}[{_place(each, counting)}]"
        if width > 1:
            before.append(f"Some<{stored}> s{nr};")
            after.append(f"((Some<{stored}> *)o{nr})[q] = s{nr};")
            place = f"s{nr}.of[k]"
        body.append(f"{place} = put<{stored}>({register});")
    return _assembled(chain, width, counting, head, before, body, after)


def _assembled(
    chain: Chain, width: int, counting: str, head: Any, before: Any, body: Any, after: Any
) -> str:
    arrays = len(chain.inputs) + len(chain.outputs)
    start = "\n    ".join(head)
    inner = "\n        ".join(
        [
            *before,
            f"#pragma unroll\n        for (int k = 0; k < {width}; k++) {{",
            f"const {counting} i = q * {width} + k;",
            *body,
            "}",
            *after,
        ]
    )
    return f"""{PRELUDE}
template <class T> struct alignas({width} * sizeof(T)) Some {{ T of[{width}]; }};
struct Given {{ char *at[{arrays}]; }};
extern "C" __global__ void chain(const Given given) {{
    {start}
    const {counting} stride = ({counting})gridDim.x * blockDim.x;
    for ({counting} q = ({counting})blockIdx.x * blockDim.x + threadIdx.x;
         q < {chain.count // width}; q += stride) {{
        {inner}
    }}
}}
"""


def blocks_of(chain: Chain, width: int) -> int:
    """How many blocks of 256 threads a launch has."""
    return max(1, min(-(-chain.count // (256 * width)), 132 * 16))


def given(arrays: list[int]) -> bytes:
    """The addresses as the kernel takes them."""
    return struct.pack(f"{len(arrays)}q", *arrays)


def _value(dtype: np.dtype) -> str:
    return TYPES[dtype][1]


def _literal(number: np.ndarray) -> str:
    """A number, to the bit."""
    kind = dtype_kind(number.dtype)
    if kind == "f" and number.dtype.itemsize == 8:
        return f"__longlong_as_double(0x{int(number.view(np.uint64)):x}LL)"
    if kind == "f":
        bits = int(number.astype(np.float32).view(np.uint32))
        return f"__uint_as_float(0x{bits:x}u)"
    return f"({_value(number.dtype)}){int(number)}{'ULL' if kind == 'u' else 'LL'}"


def _place(operand: Operand, counting: str) -> str:
    """Where element `i` of an operand lies."""
    if operand.is_dense:
        return "i"
    terms = []
    behind = 1
    for nr in reversed(range(len(operand.lengths))):
        length, step = operand.lengths[nr], operand.steps[nr]
        here = f"i / {behind}" if behind > 1 else "i"
        if nr:
            here = f"({here}) % {length}"
        if step:
            terms.append(f"(long long)({here}) * {step}LL")
        behind *= length
    return " + ".join(terms) or "0"


def _line(
    nr: int, text: str, registers: tuple[str, ...], kinds: tuple[np.dtype, ...], made: np.dtype
) -> str:
    stored, computed = TYPES[made]
    operands = " ".join(
        f"const {_value(kind)} {letter} = {register};"
        for letter, register, kind in zip("abcd", registers, kinds, strict=False)
    )
    found = f"put<{stored}>({text})"
    if stored != computed:
        found = f"load({found})"
    return f"{computed} v{nr}; {{ typedef {_value(kinds[0])} C; {operands} v{nr} = {found}; }}"


def collapsed(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> Operand:
    """An operand of a shape: neighbouring dimensions are one where one step leads through both."""
    lengths: list[int] = []
    steps: list[int] = []
    for length, stride in zip(shape, strides, strict=True):
        step = stride // dtype.itemsize
        if length == 1:
            continue
        if steps and steps[-1] == step * length:
            lengths[-1] *= length
            steps[-1] = step
        else:
            lengths.append(length)
            steps.append(step)
    if not any(steps):
        return Operand(dtype, (), ())
    return Operand(dtype, tuple(lengths), tuple(steps))
