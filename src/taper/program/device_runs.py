"""Programs on a GPU: runs of instructions as graphs, with Python in between only where it must be.

Owns: which instructions go into a graph together, and what a replay checks and does in Python.  The
first run finds out which instructions can be written into a graph, and lets chains of element-wise
ones be one; if that has changed the program, the second finds out how much room it needs.  The next
writes graphs and launches each at once, later ones launch them.  An instruction that waits for the
device, or has effects that only Python can have (a scheduler), runs as it is between two graphs;
what a step of an optimizer computes is in a graph, too (`device_steps`).
"""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.autograd.cuts import IN_BACKWARD
from taper.autograd.meta import AutogradMeta
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import version_counter
from taper.gpu import state as gpu
from taper.gpu.array import CudaArray
from taper.gpu.graphs import Graph, streams
from taper.program.calls import count_write
from taper.program.device_fusion import fused
from taper.program.device_steps import Clip, Step, inside_of, is_clip, is_step
from taper.program.executor import PlainRunner
from taper.program.form import Instruction, Program, Value
from taper.program.graph import KNOWN, UntraceableError
from taper.program.recomputing import recomputing
from taper.tensor import Tensor, storage_of, wrap
from taper.userwarning import warn_user

# Graphs that were written for nothing, or replays whose results somebody still held.
_MOST_ATTEMPTS = 4
_array_of = operator.attrgetter("_array")


class DeviceRunner(PlainRunner):
    """Run a program again and again as graphs."""

    def __init__(self, program: Program, exact: bool) -> None:
        super().__init__(program)
        self.exact = exact
        self.eager: set[int] | None = None  # positions of what no graph can hold
        self.written: Written | None = None
        self.attempts = self.held = 0
        self.room = 0  # the bytes that all instructions together have needed, about
        self.reason = ""
        self.origins: list[Instruction] = []
        self.chains: dict[int, list[int]] = {}  # the positions among origins, by identity

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run the program on the arrays of its inputs; returns those of its results."""
        state = local.state
        mode, cut = state.mode, state.cut
        state.mode, state.cut = mode | NO_GRAD, cut if mode & NO_GRAD else IN_BACKWARD
        try:
            return self._run(inputs)
        finally:
            state.mode, state.cut = mode, cut

    def _run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        written = self.written
        if written is not None:
            if written.takes(inputs):
                return written.replay(inputs)
            self.written = None
        arrays = self._given(inputs)
        if gpu.capturing is not None or self.attempts >= _MOST_ATTEMPTS:
            self.go_on(0, arrays)
        elif self.eager is None:
            self._find_out(arrays)
        elif not self.room:
            self._measure(arrays)
        else:
            self.attempts += 1
            gpu.runtime.pool.give_back()  # what was needed to find out
            self.written = Written(self, arrays)
            return self.written.given_out()
        return [arrays[each.number] for each in self.program.results]

    def _given(self, inputs: Sequence[np.ndarray]) -> list[Any]:
        program = self.program
        arrays: list[Any] = [None] * len(program.values)
        for number, array in self.constants:
            arrays[number] = array
        for value, array in zip(program.inputs, inputs, strict=True):
            arrays[value.number] = array
        for value in program.externals:
            arrays[value.number] = value.tensor._array
        return arrays

    def go_on(self, position: int, arrays: list[Any]) -> None:
        """Run the instructions from a position on, one by one."""
        for at in range(position, len(self.instructions)):
            self.current = self.instructions[at]
            self.step(self.instructions[at], arrays)
            for number in self.drops[at]:
                arrays[number] = None

    def _measure(self, arrays: list[Any]) -> None:
        """Run each instruction as it is, and take note of the room that all need."""
        pool = gpu.runtime.pool
        before, self.room = pool.in_use, 1
        for at, instruction in enumerate(self.instructions):
            self.current = instruction
            self.room = max(self.room, pool.in_use - before)
            self.step(instruction, arrays)
            for number in self.drops[at]:
                arrays[number] = None

    def _find_out(self, arrays: list[Any]) -> None:
        """Run each instruction as a graph of its own, or as it is if that is not possible."""
        eager = self.eager = set()
        traced: set[int] = set()
        pool = gpu.runtime.pool
        before = pool.in_use
        for at, instruction in enumerate(self.instructions):
            self.current = instruction
            self.room = max(self.room, pool.in_use - before)
            if is_step(instruction):
                self.step(instruction, arrays)
            elif (instruction.kind == "python" and not is_clip(instruction)) or not _is_there(
                instruction, arrays
            ):
                eager.add(at)
                self.step(instruction, arrays)
            elif instruction.kind == "accumulate" or _is_view(instruction):
                self.step(instruction, arrays)
            elif not self._tried(instruction, arrays):
                eager.add(at)
                self.step(instruction, arrays)
            elif _is_all_there(instruction, arrays):
                traced.add(id(instruction))
            for number in self.drops[at]:
                arrays[number] = None
        if not self.exact:
            self._fuse(traced)

    def _fuse(self, traced: set[int]) -> None:
        """Let chains of element-wise instructions be one; what is cheap is not kept for later."""
        calls = {id(self.instructions[at]) for at in self.eager or ()}
        try:
            program, origins = recomputing(self.program, _is_half)
            # What runs twice would be found to be the same, and kept: it is a call the second time.
            first = {id(each): at for at, each in reversed(list(enumerate(origins)))}
            made, self.chains = fused(
                program, lambda at: id(origins[at]) in traced and first[id(origins[at])] == at
            )
        except Exception as error:
            self.reason = f"no chains: {type(error).__name__}: {error}"
            if not isinstance(error, UntraceableError):  # a fault of ours, which must be seen
                warn_user(f"a captured step runs without chains, slower: {self.reason}")
            return
        if not self.chains and len(program.instructions) == len(self.program.instructions):
            return  # nothing is another
        self.origins, self.room = origins, 0
        PlainRunner.__init__(self, made)
        self.eager = {at for at, each in enumerate(self.instructions) if id(each) in calls}

    def _tried(self, instruction: Instruction, arrays: list[Any]) -> bool:
        graph = Graph()
        done = True
        graph.begin()
        try:
            self.step(instruction, arrays)
        except Exception as error:
            self.reason = f"{instruction.name}: {type(error).__name__}: {error}"
            done = False
        try:
            done = graph.end() and done
        except Exception as error:
            self.reason = f"{instruction.name}: {type(error).__name__}: {error}"
            done = False
        if done and all([_is_device_array(arrays[each.number]) for each in _made(instruction)]):
            graph.launch()
            return True
        return False

    # --- looking inside --------------------------------------------------------------------------

    def notes(self) -> dict[int, str]:
        """Say of each instruction, by identity, how it runs."""
        eager, found = self.eager or set(), dict[int, str]()
        for at, each in enumerate(self.instructions):
            found[id(each)] = "a call" if at in eager else "in a graph"
            parts = self.chains.get(id(each), [])
            found |= dict.fromkeys(
                [id(self.origins[nr]) for nr in parts],
                f"in a graph, one of a chain of {len(parts)}",
            )
        return found

    def summary(self) -> str:
        """Say how the program runs, in one line."""
        why = f"; {self.reason}" if self.reason else ""
        if self.written is None:
            return f"runs call by call on the device{why}"
        graphs = sum([isinstance(each, _Launch) for each in self.written.parts])
        calls = len(self.written.parts) - graphs
        return (
            f"{graphs} graphs and {calls} calls on the device{self.reason and ': ' + self.reason}"
        )


def _is_device_array(array: Any) -> bool:
    return array is None or (array.__class__ is not np.ndarray and isinstance(array, np.ndarray))


def _is_there(instruction: Instruction, arrays: list[Any]) -> bool:
    """Whether all that an instruction reads is on the device, or never changes."""
    return all(
        [
            each.origin == "constant" or _is_device_array(arrays[each.number])
            for each in instruction.operands()
        ]
    )


def _is_all_there(instruction: Instruction, arrays: list[Any]) -> bool:
    """Whether all operands are arrays on the device, or numbers that never change."""
    return all(
        [
            arrays[each.number].__class__ is CudaArray
            or (each.origin == "constant" and not each.shape and each.dtype in KNOWN)
            for each in instruction.operands()
        ]
    )


def _is_half(value: Value) -> bool:
    return value.dtype.itemsize == 2


def _made(instruction: Instruction) -> list[Value]:
    return [each for each in instruction.outputs if each is not None]


def _is_view(instruction: Instruction) -> bool:
    """Whether an instruction only looks at memory in another way."""
    given = {each.memory.number for each in instruction.operands()}
    return instruction.pure and all([each.memory.number in given for each in _made(instruction)])


class _Launch:
    """A graph, and what Python has to do beside it."""

    def __init__(self, position: int) -> None:
        self.position = position  # of its first instruction
        self.graph = Graph()
        self.gradients: list[tuple[Tensor, Any]] = []  # leaves, and the array of `.grad` before
        self.arrivals: list[Callable[[], None]] = []  # what becomes somebody's gradient
        self.counts: list[Callable[[], None]] = []  # of writes
        self.leaving: list[tuple[Any, int]] = []  # arrays, and how often they are held
        self.steps: list[Step | Clip] = []  # of Python's calls, what is inside


class _Call:
    """An instruction that runs as it is."""

    def __init__(self, position: int, instruction: Instruction) -> None:
        self.position, self.instruction = position, instruction
        self.reads = any(True for _ in instruction.operands())


class Written:
    """A program as graphs, launched and called in turns."""

    def __init__(self, runner: DeviceRunner, arrays: list[Any]) -> None:
        self.runner, self.arrays = runner, arrays
        self.parts: list[_Launch | _Call] = []
        self.tensors = [each.tensor for each in runner.program.externals]
        self.externals = list(map(_array_of, self.tensors))
        self.launch: _Launch | None = None  # the one that is being written
        self.arrived: set[int] = set()  # leaves whose gradients the graphs make, by identity
        self.copies_gradients = runner.held >= _MOST_ATTEMPTS
        self.parts_of_graphs = _count_of_graphs(runner)
        self._take_inputs()
        self.stays, self.last_uses = _lives(runner)
        self.at = 0
        try:
            for self.at, instruction in enumerate(runner.instructions):
                runner.current = instruction
                self._write(instruction)
                for number in runner.drops[self.at]:
                    if number not in self.stays:
                        self.arrays[number] = None
            self._launch_written()
        except BaseException:
            self._abandon()
            raise
        self._count_holders()

    # --- writing ---------------------------------------------------------------------------------

    def _take_inputs(self) -> None:
        """Let inputs lie where they stay: in a graph's own room, or in a copy."""
        self.fixed: list[tuple[int, int]] = []
        self.copied: list[tuple[int, Any]] = []
        for nr, value in enumerate(self.runner.program.inputs):
            array = self.arrays[value.number]
            if not _is_device_array(array) or array is None:
                continue
            storage: Any = storage_of(array)
            if storage.stream in streams:
                self.fixed.append((nr, array.address))
            else:
                self.copied.append((nr, array.copy("K")))
                self.arrays[value.number] = self.copied[-1][1]

    def _write(self, instruction: Instruction) -> None:
        runner = self.runner
        step = inside_of(instruction, lambda: runner.step(instruction, self.arrays))
        if step is not None and not step.fits(self.arrived):
            self._let_call()
        if self.at in (runner.eager or ()):
            self._launch_written()
            self._call(instruction)
            self.parts.append(_Call(self.at, instruction))
            return
        if self.launch is None:
            self.launch = _Launch(self.at)
            self.launch.graph.begin(0 if self.parts_of_graphs > 1 else runner.room)
        if instruction.kind == "accumulate":
            self._accumulate(instruction, self.launch)
        elif step is not None:
            step.write()
            self.launch.steps.append(step)
            self.launch.graph.before_launch.append(step.prepare)
            self.launch.arrivals.append(step.finish)
        else:
            owner = getattr(instruction.run, "owner", None)
            runner.step(instruction, self.arrays)
            if owner is not None:
                place = instruction.place
                self.launch.counts.append(lambda: count_write(owner, place))

    def _let_call(self) -> None:
        """Let an instruction that was meant for a graph be a call."""
        runner = self.runner
        runner.eager = {*(runner.eager or ()), self.at}
        self.stays, self.last_uses = _lives(runner)

    def _accumulate(self, instruction: Instruction, launch: _Launch) -> None:
        """A gradient arrives; what it is afterwards, it is after each replay."""
        leaf: Any = instruction.of
        if leaf is None:  # `.grad` was set
            setter, tensor = instruction.run.args  # type: ignore[attr-defined]
            array = self.arrays[instruction.operands()[0].number]
            launch.arrivals.append(lambda: setter(tensor, wrap(self._given_out(array))))
            self.runner.step(instruction, self.arrays)
            launch.leaving.append((_root(array), 0))
            return
        self.arrived.add(id(leaf))
        meta = leaf._autograd_meta
        before = None if meta is None or meta.grad is None else meta.grad
        if before is not None or not self._takes_whole(instruction, leaf):
            self.runner.step(instruction, self.arrays)
        meta = leaf._autograd_meta
        if before is not None:
            launch.gradients.append((leaf, before._array))
            launch.counts.append(lambda: _count(before))
            return
        launch.gradients.append((leaf, None))
        array = meta.grad._array
        launch.leaving.append((_root(array), 0))

        def arrive() -> None:
            meta.grad = wrap(self._given_out(array))

        launch.arrivals.append(arrive)

    def _takes_whole(self, instruction: Instruction, leaf: Any) -> bool:
        """Let the array that arrives be the gradient, if nobody else needs its memory."""
        (value,) = instruction.operands()
        array = self.arrays[value.number]
        if (
            value.memory.origin != "made"
            or self.last_uses.get(value.memory.number, -1) > self.at
            or array.strides != leaf._array.strides
            or array.dtype is not leaf._array.dtype
            or storage_of(array).nbytes != array.nbytes
        ):
            return False
        meta = leaf._autograd_meta
        if meta is None:
            meta = leaf._autograd_meta = AutogradMeta()
        meta.grad = wrap(array)
        for each in _made(instruction):
            self.arrays[each.number] = array
        return True

    def _given_out(self, array: Any) -> Any:
        return array.copy("K") if self.copies_gradients else np.ndarray.view(array)

    def _call(self, instruction: Instruction) -> None:
        """Run an instruction as it is; what it makes goes to a place that stays."""
        known = [self.arrays[each.number] for each in _made(instruction)]
        self.runner.step(instruction, self.arrays)
        for value, place in zip(_made(instruction), known, strict=True):
            made = self.arrays[value.number]
            if place is not None and made is not place and _is_device_array(made):
                place[...] = made
                self.arrays[value.number] = place

    def _launch_written(self) -> None:
        if self.launch is None:
            return
        launch, self.launch = self.launch, None
        launch.graph.end()
        launch.graph.hold_room()
        launch.graph.launch()
        for arrive in launch.arrivals:
            arrive()
        self.parts.append(launch)

    def _abandon(self) -> None:
        if self.launch is not None and gpu.capturing is self.launch.graph:
            try:
                self.launch.graph.end()
            except Exception:
                self.runner.reason = "a graph could not be written"
        self.runner.attempts = _MOST_ATTEMPTS

    def _count_holders(self) -> None:
        """Note how often arrays that leave are held by nobody but this object."""
        program = self.runner.program
        for part in self.parts:
            if isinstance(part, _Launch):
                shared = Counter([id(array) for array, _ in part.leaving])
                given = int(not self.copies_gradients)  # just now, for each gradient
                counts = _holders(part.leaving)
                for nr, (array, _) in enumerate(part.leaving):
                    part.leaving[nr] = array, counts[nr] - given * shared[id(array)]
        self.visible = len(program.results) - program.kept
        launches = self.launches = [each for each in self.parts if isinstance(each, _Launch)]
        results = [self.arrays[each.number] for each in program.results[self.visible :]]
        kept = [(_root(each), 0) for each in results if _is_device_array(each)]
        del results
        if launches:
            counts = _holders(kept)
            for nr, (array, _) in enumerate(kept):
                launches[0].leaving.append((array, counts[nr]))

    # --- replaying -------------------------------------------------------------------------------

    def takes(self, inputs: Sequence[Any]) -> bool:
        """Whether what the graphs read lies where it lay."""
        return all(map(operator.is_, map(_array_of, self.tensors), self.externals)) and all(
            [inputs[nr].address == place for nr, place in self.fixed]
        )

    def replay(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Launch the graphs, with the calls between them."""
        runner = self.runner
        waiting = True  # the inputs are not where the graphs read them
        for part in self.parts:
            if waiting and (isinstance(part, _Launch) or part.reads):
                if not all(map(self._is_free, self.launches)):
                    return self._go_on_plainly(part.position, inputs)
                self._copy(inputs)
                waiting = False
            if isinstance(part, _Call):
                runner.current = part.instruction
                self._call(part.instruction)
            elif not self._may_launch(part):
                return self._go_on_plainly(part.position, None)
            else:
                part.graph.launch()
                for effect in (*part.arrivals, *part.counts):
                    effect()
        return self.given_out()

    def _copy(self, inputs: Sequence[np.ndarray]) -> None:
        """Put inputs to where the graphs read them."""
        for nr, place in self.copied:
            place[...] = inputs[nr]
        for value, array in zip(self.runner.program.inputs, inputs, strict=True):
            if array.__class__ is np.ndarray:
                self.arrays[value.number] = array

    def given_out(self) -> list[np.ndarray]:
        """The results: copies, but of what only the backward sees."""
        arrays, program = self.arrays, self.runner.program
        shown, kept = program.results[: self.visible], program.results[self.visible :]
        found = [arrays[each.number] for each in shown]
        found = [each.copy("K") if _is_device_array(each) else each for each in found]
        return [*found, *[self._given_out(arrays[each.number]) for each in kept]]

    def _may_launch(self, part: _Launch) -> bool:
        for leaf, array in part.gradients:
            meta = leaf._autograd_meta
            grad = None if meta is None or meta.grad is None else meta.grad._array
            if grad is not array:
                return False
        return self._is_free(part) and all([each.may_run() for each in part.steps])

    def _is_free(self, part: _Launch) -> bool:
        """Whether nobody holds what a graph will write again."""
        if self.copies_gradients:
            return True
        counts = _holders(part.leaving)
        if all([now <= count for now, (_, count) in zip(counts, part.leaving, strict=True)]):
            return True
        self.runner.held += 1
        if self.runner.held == _MOST_ATTEMPTS:
            self.runner.written = None  # the next graphs give out copies
            self.runner.attempts -= 1
        return False

    def _go_on_plainly(self, position: int, inputs: Any) -> list[np.ndarray]:
        """Run the rest call by call; with `inputs`, if the graphs' own are not those of now."""
        arrays = list(self.arrays)
        runner = self.runner
        if inputs is not None:
            for value, array in zip(runner.program.inputs, inputs, strict=True):
                arrays[value.number] = array
        for at in range(position, len(runner.instructions)):
            for value in _made(runner.instructions[at]):
                if not any(value is each for each in runner.instructions[at].operands()):
                    arrays[value.number] = None
        runner.go_on(position, arrays)
        return [arrays[each.number] for each in runner.program.results]


def _count_of_graphs(runner: DeviceRunner) -> int:
    """How many graphs a program becomes: runs of instructions between calls."""
    eager = runner.eager or set()
    inside = [at not in eager for at in range(len(runner.instructions))]
    return sum([now and not before for before, now in zip([False, *inside], inside, strict=False)])


def _lives(runner: DeviceRunner) -> tuple[set[int], dict[int, int]]:
    """The values that calls, or other graphs, need; and where memory is read last."""
    eager = runner.eager or set()
    part, parts = 0, dict[int, int]()
    stays: set[int] = set()
    last: dict[int, int] = {}
    for at, instruction in enumerate(runner.instructions):
        part += at in eager
        for each in instruction.operands():
            last[each.memory.number] = at
            if at in eager or parts.get(each.number, part) != part:
                stays.add(each.number)
        for each in _made(instruction):
            parts[each.number] = part
        part += at in eager
    end = len(runner.instructions)
    last |= dict.fromkeys([each.memory.number for each in runner.program.results], end)
    return stays, last


def _holders(leaving: list[tuple[Any, int]]) -> list[int]:
    """How often arrays are referred to, counted always in the same way."""
    return [sys.getrefcount(array) for array, _ in leaving]


def _root(array: Any) -> Any:
    """The array that views of this one refer to."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _count(tensor: Tensor) -> None:
    counter: Any = version_counter(tensor)
    counter.value += 1
