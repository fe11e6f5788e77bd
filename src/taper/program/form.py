"""The form of a program: values, and instructions that compute them.

Owns: nothing that runs.  A program is a list of instructions in the order in which eager mode
executed them.  A value is an array of known shape, strides and dtype; an instruction is a Python
function of arrays with its arguments, so that every program can be run as it stands, and a part of
it that nobody has lowered still works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

Place = tuple[CodeType | None, int]  # the user's line: code object and instruction offset (D6)


@dataclass(eq=False, slots=True)
class Value:
    """One array of a program: where it comes from, and what it is like.

    `origin` is "input" (an argument of the captured function, `index` counts them), "external" (a
    tensor that the function found elsewhere: a parameter, a buffer, a state; `tensor` is it),
    "constant" (`array` holds it, nobody writes it) or "made" (an instruction returns it).
    `base` is the value whose memory it looks into, None if the memory is its own.
    """

    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    dtype: np.dtype
    origin: str
    index: int = -1
    tensor: Any = None
    array: np.ndarray | None = None
    base: Value | None = None
    offset: int = 0  # bytes from the start of the memory, which the base may not begin with

    @property
    def memory(self) -> Value:
        """The value that owns the memory."""
        return self if self.base is None else self.base

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for length in self.shape:
            size *= length
        return size

    def __repr__(self) -> str:
        return f"%{self.number}"


@dataclass(eq=False, slots=True)
class Instruction:
    """One call: `run(*arguments)`, with arrays in the place of values.

    `kind` says what the call is:

        op          an operator of the table: `of` is the Op; `run` takes what the operator takes
        write       the same in place: the first argument is written, and is the output
        formula     a derivative: `of` is its Formula, the arguments are those of the function
        fit         a gradient summed and cast to what its edge wants
        add         the sum of two gradients for one output
        accumulate  the gradient of a leaf arrives: `of` is the leaf; nothing is returned
        python      a call with effects that only Python can make; `of` is the object that it
                    belongs to (an optimizer, a scheduler), and arguments are none
        branch      Python looks at numbers: `run` says how, `of` is how it came out; what follows
                    belongs to this outcome (see `branches`)

    `run` returns one array, or a tuple of arrays and Nones if `outputs` has several.
    """

    kind: str
    name: str
    run: Callable[..., Any]
    arguments: tuple[Any, ...]  # values, plain values, and tuples and lists of both
    outputs: tuple[Value | None, ...]
    place: Place
    of: Any = None
    writes: tuple[Value, ...] = ()
    pure: bool = True  # without effect but its outputs: may be left out if nobody reads these
    is_again: bool = False  # computes once more what an earlier one has computed (`recomputing`)

    def operands(self) -> Iterator[Value]:
        """The values among the arguments."""
        yield from values_in(self.arguments)


@dataclass(eq=False, slots=True)
class Program:
    """A function of tensors as instructions."""

    instructions: list[Instruction] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    externals: list[Value] = field(default_factory=list)
    results: tuple[Value, ...] = ()  # what is read afterwards: returned, or kept for backward
    kept: int = 0  # how many of the results, the last ones, nobody but the backward sees
    is_on_device: bool = False  # whether some arrays are on a GPU


def values_in(structure: Any) -> Iterator[Value]:
    """The values in nested tuples, lists and dictionaries."""
    if isinstance(structure, Value):
        yield structure
    elif isinstance(structure, tuple | list):
        for each in structure:
            yield from values_in(each)
    elif isinstance(structure, dict):
        yield from values_in(list(structure.values()))


def filled(structure: Any, arrays: Sequence[Any]) -> Any:
    """The structure with arrays, by number, in the place of values."""
    if isinstance(structure, Value):
        return arrays[structure.number]
    if structure.__class__ is tuple:
        return tuple([filled(each, arrays) for each in structure])
    if structure.__class__ is list:
        return [filled(each, arrays) for each in structure]
    if structure.__class__ is dict:
        return {name: filled(each, arrays) for name, each in structure.items()}
    return structure
