"""Running a program: instruction by instruction, in Python.

Owns: when an array may go, and the state that a program runs in (nothing is recorded).  `lowering`
builds a faster runner where it can; this one says what a program means.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.autograd.cuts import IN_BACKWARD
from taper.autograd.state import NO_GRAD, local
from taper.program.form import Instruction, Program, Value, filled, values_in

Timed = tuple[float, list[Instruction]]  # seconds, and what took them


class Measuring(threading.local):
    """Whether the programs that a thread runs are measured."""

    rows: list[Timed] | None = None


measuring = Measuring()


class PlainRunner:
    """Run a program as it was written down."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.instructions = alive(program)
        self.constants = [
            (each.number, each.array) for each in program.values if each.array is not None
        ]
        self.drops = _last_uses(self.instructions, program)
        self.current: Instruction | None = None

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run all instructions; returns the arrays of `program.results`."""
        program = self.program
        arrays: list[Any] = [None] * len(program.values)
        for number, array in self.constants:
            arrays[number] = array
        for value, array in zip(program.inputs, inputs, strict=True):
            arrays[value.number] = array
        for value in program.externals:
            arrays[value.number] = value.tensor._array
        state = local.state
        mode, cut = state.mode, state.cut
        state.mode, state.cut = mode | NO_GRAD, state.cut if mode & NO_GRAD else IN_BACKWARD
        try:
            for instruction, drops in zip(self.instructions, self.drops, strict=True):
                self.current = instruction
                self.step(instruction, arrays)
                for number in drops:
                    arrays[number] = None
        finally:
            state.mode, state.cut = mode, cut
        return [arrays[each.number] for each in program.results]

    def timed(self, inputs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[Timed]]:
        """Run all instructions; returns the results, and the seconds of each step."""
        rows: list[Timed] = []
        step = self.step

        def measured(instruction: Instruction, arrays: list[Any]) -> None:
            start = time.perf_counter()
            step(instruction, arrays)
            rows.append((time.perf_counter() - start, [instruction]))

        self.step = measured  # type: ignore[method-assign]
        try:
            return PlainRunner.run(self, inputs), rows
        finally:
            del self.step

    def failed(self) -> Instruction | None:
        """The instruction that raised, if it is known."""
        return self.current

    def step(self, instruction: Instruction, arrays: list[Any]) -> None:
        """Run one instruction."""
        result = instruction.run(*filled(instruction.arguments, arrays))
        outputs = instruction.outputs
        if len(outputs) == 1:
            _keep(outputs[0], result, arrays)
        elif outputs:
            for value, each in zip(outputs, result, strict=True):
                _keep(value, each, arrays)


def _keep(value: Value | None, result: Any, arrays: list[Any]) -> None:
    if value is not None and result is not None:
        arrays[value.number] = result if isinstance(result, np.ndarray) else np.asarray(result)


def alive(program: Program) -> list[Instruction]:
    """The instructions without those whose results nobody reads."""
    needed = {each.memory.number for each in program.results}
    kept = []
    for instruction in reversed(program.instructions):
        written = [each for each in instruction.outputs if each is not None]
        if instruction.pure and not any(each.memory.number in needed for each in written):
            continue
        kept.append(instruction)
        needed.update(each.memory.number for each in instruction.operands())
    return kept[::-1]


def _last_uses(instructions: Sequence[Instruction], program: Program) -> list[list[int]]:
    """For each instruction the numbers of the values that nobody reads after it."""
    after = {each.number for each in program.results}
    drops = []
    for instruction in reversed(instructions):
        used = {
            each.number
            for each in (*instruction.operands(), *values_in(list(instruction.outputs)))
            if each.origin == "made"
        }
        drops.append(sorted(used - after))
        after |= used
    return drops[::-1]
