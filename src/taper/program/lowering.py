"""Lowering: a program as the native executor runs it, or in Python where there is none.

    runner = build(program)
    results = runner.run(arrays)  # of the inputs; the arrays of `program.results`

Owns: which of the two ways a program runs, and the description of it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.autograd.cuts import IN_BACKWARD
from taper.autograd.state import NO_GRAD, local
from taper.program.compiling import COMPILE_AFTER, address_of, request
from taper.program.executor import PlainRunner, Timed, measuring
from taper.program.form import Instruction, Program
from taper.program.fusion import Fusion, members
from taper.program.plan import GROUP, Plan
from taper.program.recomputing import recomputing
from taper.program.reordering import reordering
from taper.program.text import group_text
from taper.program.tracing import Tracer

# Operations on elements from which a group runs long enough to be compiled.
_WORTH_COMPILING = 20000


class Runner(PlainRunner):
    """Run a program again and again."""

    def __init__(self, program: Program, exact: bool = False) -> None:
        super().__init__(program)
        self.exact = exact
        self.handle: Any = None
        self.runs = 0
        self.is_in_python = True  # the last run
        self.reason = ""  # why the native executor does not run it
        self.origins = program.instructions  # what each instruction that runs stands for
        if native is None:
            self.reason = "there is no native module"
            return
        try:
            self._lower(exact)
        except Exception as error:
            self.reason = f"{type(error).__name__}: {error}"

    def _lower(self, exact: bool) -> None:
        program, before = (self.program, {}) if exact else reordering(self.program)
        program, origins = recomputing(program, exact=exact)
        self.origins = [before.get(id(each), each) for each in origins]
        self.trace = Tracer(program, exact)
        self.fusion = Fusion(self.trace.graph, self.trace.results)
        self.plan = Plan(self.fusion, self.trace)
        self.handle = native.make_program(
            np.empty(max(self.plan.arena, 1), np.uint8),
            [each.described() for each in self.plan.slots],
            self.plan.steps,
            self.plan.results,
            len(self.program.inputs),
        )

    def run_in_python(self, reason: str) -> None:
        """Let the program run as it was written down."""
        self.handle, self.reason = None, reason

    def run(self, inputs: Any) -> list[np.ndarray]:
        """Run the program on the arrays of its inputs; returns those of its results."""
        if measuring.rows is not None:
            results, rows = self.timed(inputs)
            measuring.rows += rows
            return results
        if self.handle is not None:
            found = self._run_natively(inputs)
            if found is not None:
                self.runs = runs = self.runs + 1
                if runs == COMPILE_AFTER:
                    self._compile()
                return found
        self.is_in_python = True
        return super().run(inputs)

    def _run_natively(self, inputs: Any, *times: np.ndarray) -> list[np.ndarray] | None:
        self.is_in_python = False
        state = local.state
        mode, cut = state.mode, state.cut
        state.mode, state.cut = mode | NO_GRAD, cut if mode & NO_GRAD else IN_BACKWARD
        try:
            results: list[np.ndarray] | None = native.run_program(self.handle, inputs, *times)
        finally:
            state.mode, state.cut = mode, cut
        return results

    def timed(self, inputs: Any) -> tuple[list[np.ndarray], list[Timed]]:
        """Run the program; returns the results, and the seconds of each step."""
        times = np.zeros(len(self.plan.steps) if self.handle is not None else 0)
        found = None if self.handle is None else self._run_natively(inputs, times)
        if found is None:
            self.is_in_python = True
            return super().timed(inputs)
        parts = [members(self.fusion.order[self.plan.rows[nr]]) for nr in range(len(times))]
        return found, [
            (seconds, [self.origins[position] for position in part])
            for seconds, part in zip(times.tolist(), parts, strict=True)
        ]

    def _compile(self) -> None:
        """Let the large groups be compiled in the background; they are used when they are there."""
        for nr, (kind, step) in enumerate(self.plan.steps):
            if kind == GROUP and step[0] * len(step[5]) >= _WORTH_COMPILING:
                text = group_text(step)
                if text is not None:
                    request(text, functools.partial(_use, self.handle, nr))

    def failed(self) -> Instruction | None:
        """The instruction that raised, if it is known."""
        if self.handle is None or self.is_in_python:
            return super().failed()
        step = self.fusion.order[self.plan.rows[native.failed_step(self.handle)]]
        found = members(step)
        return self.origins[found[0]] if found else None

    def describe(self) -> list[dict[str, Any]]:
        """Return a row for each instruction: its step, its bytes, or why it is a call."""
        steps: dict[int, int] = {}
        if self.handle is not None:
            for nr, step in enumerate(self.fusion.order):
                steps |= dict.fromkeys(members(step), nr)
        rows = []
        for position, instruction in enumerate(self.origins):
            made = [each for each in instruction.outputs if each is not None]
            reason = self.reason if self.handle is None else self.trace.reasons.get(position, "")
            rows.append(
                {
                    "instruction": instruction,
                    "step": steps.get(position),
                    "bytes": sum(each.nbytes for each in made if each.base is None),
                    "call": reason,
                }
            )
        return rows

    def notes(self) -> dict[int, str]:
        """Say of each instruction, by identity, how it runs."""
        found = {}
        for row in self.describe():
            step = row["step"]
            note = "no memory is touched" if step is None else f"step {step}"
            if self.handle is None:
                note = "in Python"
            elif row["call"] and step is not None:
                note += f", a call: {row['call']}"
            found[id(row["instruction"])] = note
        return found

    def summary(self) -> str:
        """Say how the program runs, in one line."""
        if self.handle is None:
            return f"runs in Python: {self.reason}"
        kinds = [each.kind for each in self.fusion.order]
        return (
            f"{len(kinds)} steps: {kinds.count('group')} groups of element-wise operations, "
            f"{kinds.count('product')} products, {kinds.count('call')} calls; "
            f"{self.plan.arena} bytes of memory are shared by what lies in between"
        )


def _use(handle: Any, nr: int, function: Any) -> None:
    native.use_compiled(handle, nr, address_of(function))


def build(program: Program, exact: bool = False) -> PlainRunner:
    """Make a program ready to run: as eager mode's own calls with `exact`, else fused."""
    if program.is_on_device:
        from taper.program.device_runs import DeviceRunner  # late: for programs with a GPU

        return DeviceRunner(program, exact)
    return Runner(program, exact)
