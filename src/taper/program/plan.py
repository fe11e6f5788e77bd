"""The memory plan: where every array of a program lies, and the steps as the executor takes them.

Owns: slots (see `native/program.c`) and the numbers that `native.make_program` reads.  Arrays that
live at different times share places in one arena; what leaves the program has memory of its own.
Large arrays come from NumPy's allocator when they are needed and go when they are not: it keeps
their memory for the next one, and so calls and steps share it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from taper.opdef import FLOAT, Op
from taper.program.blocks import group_of
from taper.program.convolutions import fast_convolution
from taper.program.form import Instruction, Value, filled, values_in
from taper.program.fusion import Fusion, Step
from taper.program.graph import Node, matrix_steps
from taper.program.kernels import kernel_of
from taper.program.recurrences import fast_recurrence
from taper.program.strands import Stage, stages_of
from taper.program.tracing import Tracer
from taper.program.updates import update_call
from taper.tensor import Tensor

ARENA, FIXED, INPUT, TENSOR, FRESH, CALLED = range(6)
GROUP, PRODUCT, CALL, RENEW, DROP, ARRIVE, STRAND = range(7)
_ALIGNED = 64
_LARGE = 65536  # bytes from which the allocator keeps memory (native/memory.c)


class Slot:
    """Memory of a program."""

    def __init__(
        self, number: int, kind: int, like: Any, bytes_: int = 0, source: Any = None
    ) -> None:
        self.number, self.kind, self.source = number, kind, source
        self.shape, self.strides, self.dtype = like.shape, like.strides, like.dtype
        self.bytes = bytes_
        self.place = 0  # in the arena, or the number of the input
        self.written = False
        self.is_dropped = kind == CALLED  # as soon as nobody needs it any more
        self.first = self.last = -1  # positions of the steps that use it

    def described(self) -> tuple[Any, ...]:
        return (
            *(self.kind, self.place, self.bytes, self.source, int(self.written)),
            *(self.dtype.num, self.shape, self.strides),
        )


class Plan:
    """A program as `native.make_program` takes it."""

    def __init__(self, fusion: Fusion, trace: Tracer, with_strands: bool = True) -> None:
        self.fusion, self.trace = fusion, trace
        results = trace.results
        self.slots: list[Slot] = []
        self._of_nodes: dict[int, Slot] = {}
        self._of_values: dict[int, Slot] = {}
        self.escaping = self._escaping(results)
        self.kept = self._kept(results)
        self.position = 0
        self.steps: list[tuple[Any, ...]] = []
        self.rows: list[int] = []  # for each of them the stage that it belongs to
        self.stages = self._stages(with_strands)
        for self.position, stage in enumerate(self.stages):
            self._add(stage)
        self.position += 1
        self.results = [self.handle(each) for each in results]
        self._drop()
        self.arena = self._lay_out()

    def _escaping(self, results: list[Node]) -> dict[int, Node]:
        """The nodes whose memory somebody sees after the run, with the form that it is seen in."""
        seen = list(results)
        for step in self.fusion.order:
            for node in step.nodes:
                if node.kind == "call" and node.detail.kind == "accumulate":
                    seen.append(node.inputs[0])
        found: dict[int, Node] = {}
        for node in seen:
            is_whole = node.size == node.root.size and not node.offset
            found.setdefault(node.root.number, node if is_whole else node.root)
        return found

    def _kept(self, results: list[Node]) -> set[int]:
        """The nodes that are needed in memory: somebody else than their own step reads them."""
        kept = {each.root.number for each in results}
        for step in self.fusion.order:
            for node in step.nodes:
                if node.kind in ("reduce", "product"):
                    kept.add(node.number)
                for each in node.inputs:
                    if self.fusion.step_of.get(each.root.number) is not step:
                        kept.add(each.root.number)
        return kept

    # --- slots -----------------------------------------------------------------------------------

    def slot_of(self, root: Node) -> Slot:
        """The memory of a node, which is used at the present position."""
        slot = self._of_values.get(root.detail.number) if root.kind == "memory" else None
        slot = slot or self._of_nodes.get(root.number)
        if slot is None:
            slot = self._memory_slot(root.detail) if root.kind == "memory" else self._new_slot(root)
        if slot.first < 0:
            slot.first = self.position
        slot.last = self.position
        return slot

    def _slot(self, kind: int, like: Any, bytes_: int = 0, source: Any = None) -> Slot:
        slot = Slot(len(self.slots), kind, like, bytes_, source)
        self.slots.append(slot)
        return slot

    def _memory_slot(self, value: Value) -> Slot:
        if value.number in self.trace.given:
            slot = self._slot(INPUT, value)
            slot.place = self.trace.given[value.number]
        elif value.origin == "external":
            slot = self._slot(TENSOR, value, source=value.tensor)
        elif value.origin == "constant":
            array = np.array(value.array)
            slot = self._slot(FIXED, array, source=array)
        else:
            raise RuntimeError(f"{value} is read before it is made")
        self._of_values[value.number] = slot
        return slot

    def _new_slot(self, node: Node) -> Slot:
        """Memory for what a step computes."""
        if node.kind == "result" and self._kernel(node.inputs[0].detail) is None:
            slot = self._slot(CALLED, node)
        elif node.number in self.escaping:
            slot = self._renewed(self.escaping[node.number])
        elif node.size * node.dtype.itemsize >= _LARGE:
            slot = self._renewed(node)
            slot.is_dropped = True
        else:
            slot = self._slot(ARENA, node, node.size * node.dtype.itemsize)
        self._of_nodes[node.number] = slot
        return slot

    def _renewed(self, like: Any) -> Slot:
        slot = self._slot(FRESH, like)
        self.steps.append((RENEW, (slot.number,)))
        self.rows.append(self.position)
        return slot

    def store_slot(self, node: Node) -> Slot:
        """The memory that a store writes, which belongs to a value."""
        value = node.detail
        slot = self._of_values.get(value.number)
        if slot is None:
            slot = self._of_values[value.number] = self._renewed(value)
        slot.first = self.position if slot.first < 0 else slot.first
        slot.last = self.position
        return slot

    def handle(self, node: Node) -> tuple[Any, ...]:
        """A node as an array that a call takes."""
        slot = self.slot_of(node.root)
        whole = (
            slot.kind != ARENA
            and not node.offset
            and (node.shape, node.strides, node.dtype) == (slot.shape, slot.strides, slot.dtype)
        )
        layout = node.dtype.num, node.shape, node.strides
        return slot.number, node.offset, int(whole), *layout

    # --- steps -----------------------------------------------------------------------------------

    def _stages(self, with_strands: bool) -> list[Stage]:
        order = self.fusion.order
        if not with_strands or self.trace.graph.exact:
            return [Stage([each]) for each in order]
        return stages_of(order, self.fusion.results, self._kernel)

    def _add(self, stage: Stage) -> None:
        for step in stage.steps:
            step.units = stage.units
        made = [self._made(each) for each in stage.steps]
        self.steps += [(STRAND, (stage.units, made))] if stage.units else made
        self.rows.append(self.position)

    def _made(self, step: Step) -> tuple[Any, ...]:
        if step.kind == "group":
            return GROUP, group_of(self, step)
        if step.kind == "product":
            return PRODUCT, self._product(step.nodes[0])
        return self._call(step.nodes[0])

    def _product(self, node: Node) -> tuple[Any, ...]:
        left, right, *start = node.inputs
        sides = []
        for each in (left, right):
            steps = matrix_steps(each)
            if steps is None:
                raise RuntimeError("a matrix whose rows and columns are both in pieces")
            sides.append((self.slot_of(each.root).number, each.offset, steps[0], int(steps[1])))
        sizes = left.shape[0], left.shape[1], right.shape[1]
        is_double = int(node.dtype == np.float64)
        added: list[Any] = [(self.slot_of(each.root).number, each.offset, 0) for each in start]
        return (
            is_double,
            *sizes,
            *sides,
            self.slot_of(node).number,
            0,
            right.shape[1],
            *(added or [None]),
        )

    def _call(self, node: Node) -> tuple[Any, ...]:
        instruction: Instruction = node.detail
        handles = [self.handle(each) for each in node.inputs]
        if self._is_arrival(node):
            return ARRIVE, (handles[0], instruction.of, instruction.run)
        for each in instruction.writes:
            for given, place in zip(node.what, handles, strict=True):
                if given.memory is each.memory:
                    self.slots[place[0]].written = True
        function, arguments = _flat(
            instruction, dict(zip(map(id, node.what), handles, strict=True))
        )
        if not self.trace.graph.exact:
            faster = fast_convolution(instruction) or fast_recurrence(instruction)
            function = faster or function
        outputs = self._outputs(node, instruction)
        return CALL, (function, arguments, outputs, self._kernel(instruction))

    def _kernel(self, instruction: Instruction) -> str | None:
        """The kernel that stands for a call; none does where every bit counts."""
        return None if self.trace.graph.exact else kernel_of(instruction)

    def _is_arrival(self, node: Node) -> bool:
        """Whether a leaf takes an array, and nobody needs to know which it has afterwards."""
        instruction = node.detail
        is_leaf = instruction.kind == "accumulate" and isinstance(instruction.of, Tensor)
        return is_leaf and not self._results_of(node)

    def _outputs(self, node: Node, instruction: Instruction) -> tuple[Any, ...]:
        """Slots of what a call returns; handles of what a kernel writes."""
        found = {each.detail.number: each for each in self._results_of(node)}
        if not found:
            return ()
        numbers: list[Any] = []
        by_kernel = self._kernel(instruction) is not None
        for output in instruction.outputs:
            made = None if output is None else found.get(output.number)
            if made is None:
                numbers.append(-1)
                continue
            slot = self.slot_of(made)
            self._of_values[made.detail.number] = slot
            numbers.append(self.handle(made) if by_kernel else slot.number)
        return tuple(numbers)

    def _results_of(self, call: Node) -> list[Node]:
        return [node for node in self.fusion.results if node.inputs[0] is call]

    # --- memory ----------------------------------------------------------------------------------

    def _drop(self) -> None:
        """Let results of calls and large arrays go when nobody needs them any more."""
        ends: dict[int, list[int]] = {}
        for slot in self.slots:
            if slot.is_dropped and slot.last < self.position:
                ends.setdefault(slot.last, []).append(slot.number)
        steps, rows = [], []
        for nr, (made, row) in enumerate(zip(self.steps, self.rows, strict=True)):
            steps.append(made)
            rows.append(row)
            if nr + 1 == len(self.rows) or self.rows[nr + 1] != row:
                for number in ends.get(row, ()):
                    steps.append((DROP, (number,)))
                    rows.append(row)
        self.steps, self.rows = steps, rows

    def _lay_out(self) -> int:
        """Give every slot of the arena its place; returns the size of the arena."""
        size = 0
        taken: list[Slot] = []  # by place
        for slot in sorted(self.slots, key=lambda each: each.first):
            if slot.kind != ARENA:
                continue
            taken = [each for each in taken if each.last >= slot.first]
            needed = -(-max(slot.bytes, 1) // _ALIGNED) * _ALIGNED
            place = 0
            for each in sorted(taken, key=lambda other: other.place):
                if each.place - place >= needed:
                    break
                place = max(place, each.place + -(-max(each.bytes, 1) // _ALIGNED) * _ALIGNED)
            slot.place = place
            taken.append(slot)
            size = max(size, place + needed)
        return size


_PLAIN = frozenset("?lfd")  # the dtypes, by `char`, that no operator converts


def _kernel(instruction: Instruction) -> Any:
    """The function of an instruction; an operator's kernel where no operand is converted."""
    op, arguments = instruction.of, instruction.arguments
    if instruction.kind != "op" or not isinstance(op, Op):
        return instruction.run
    found = {each.dtype for each in instruction.operands()}
    if op.promote is not None and (len(found) != 1 or "operand" in _kinds_of_plain(op, arguments)):
        return instruction.run
    if any(each.char not in _PLAIN for each in found):
        return instruction.run
    if op.promote == FLOAT and any(each.kind != "f" for each in found):
        return instruction.run
    forward = op.forward
    return functools.partial(_called, op, forward) if op.keyword_names else forward


def _called(op: Op, forward: Any, *arguments: Any) -> Any:
    return op.call(forward, arguments)


def _kinds_of_plain(op: Op, arguments: tuple[Any, ...]) -> set[str]:
    """The kinds of the parameters that are given no tensor."""
    pairs = zip(op.params, arguments, strict=False)
    return {param.kind for param, each in pairs if not isinstance(each, Value)}


def _flat(instruction: Instruction, handles: dict[int, Any]) -> tuple[Any, list[Any]]:
    """A function of arrays and plain values side by side, and what it is called with."""
    arguments = instruction.arguments
    if instruction.kind == "python":
        return update_call(instruction.of, instruction.run, instruction.name, instruction.place), []
    if all(isinstance(each, Value) or not any(values_in(each)) for each in arguments):
        return _kernel(instruction), [
            (handles[id(each)],) if isinstance(each, Value) else (None, each) for each in arguments
        ]
    operands = list(dict.fromkeys(instruction.operands()))
    numbers = [each.number for each in operands]
    run = instruction.run

    def call(*arrays: Any) -> Any:
        return run(*filled(arguments, dict(zip(numbers, arrays, strict=True))))  # type: ignore[arg-type]

    return call, [(handles[id(each)],) for each in operands]
