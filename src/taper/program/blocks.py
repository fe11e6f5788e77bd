"""Groups of element-wise operations as the executor takes them: registers and instructions.

Owns: which register an operand is in, how large blocks are, and where in a thread's scratch memory
blocks lie.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.program.fusion import Step
from taper.program.graph import Node, lengths_around

BLOCKED, DIRECT, SINGLE, GATHERED, SCATTERED, CONSTANT = range(6)
_REDUCTIONS = {np.add: 0, np.maximum: 1, np.minimum: 2}
_CACHE = 24576  # bytes of blocks that stay in the first-level cache
_CHUNK = 65536  # operations on elements that are worth a thread


class Register:
    """Where the elements of a node are while a block is computed."""

    def __init__(self, kind: int, dtype: np.dtype) -> None:
        self.kind, self.dtype = kind, dtype
        self.slot, self.offset = 0, 0
        self.lengths: tuple[int, ...] = ()
        self.steps: tuple[int, ...] = ()
        self.value = b""
        self.first = 0 if kind == GATHERED else -1  # instructions between which it is needed
        self.last = -1
        self.scratch = 0

    def described(self) -> tuple[Any, ...]:
        return (
            *(self.kind, self.dtype.itemsize, self.slot, self.offset, self.scratch),
            *(self.lengths, self.steps, self.value),
        )


class _Group:
    def __init__(self, plan: Any, step: Step) -> None:
        self.plan, self.step = plan, step
        self.registers: list[Register] = []
        self.instructions: list[tuple[Any, ...]] = []
        self.reductions: list[tuple[Any, ...]] = []
        self.numbers: dict[Any, int] = {}  # of registers, by what is in them
        self.stores = self._direct_stores()
        for node in step.nodes:
            self._add(node)
        self._describe()

    def _direct_stores(self) -> dict[int, Node]:
        """Nodes that are computed right where a store wants them."""
        found: dict[int, Node] = {}
        own = {node.number for node in self.step.nodes if node.kind == "map"}
        for node in self.step.nodes:
            if node.kind == "store":
                (value,) = node.inputs
                if value.number in own - self.plan.kept and value.number not in found:
                    found[value.number] = node
        return found

    # --- registers -------------------------------------------------------------------------------

    def _register(self, key: Any, register: Register) -> int:
        self.registers.append(register)
        self.numbers[key] = len(self.registers) - 1
        return self.numbers[key]

    def _operand(self, node: Node, shape: tuple[int, ...], whole: bool = False) -> int:
        """The register of an input, which is broadcast to a shape; `whole`: of all elements."""
        if node.kind == "number":
            key: Any = ("number", node.detail.tobytes(), node.dtype)
            if key not in self.numbers:
                register = Register(CONSTANT, node.dtype)
                register.value = node.detail.tobytes()
                self._register(key, register)
            return self.numbers[key]
        if self.plan.fusion.step_of.get(node.root.number) is self.step:
            return self.numbers[node.root.number]
        slot = self.plan.slot_of(node.root)
        lead = len(shape) - len(node.shape)
        strides = (0,) * lead + tuple(
            0 if length != wanted else stride
            for length, wanted, stride in zip(node.shape, shape[lead:], node.strides, strict=True)
        )
        lengths, steps = _collapsed(shape, strides)
        key = (slot.number, node.offset, lengths, steps, node.dtype, whole)
        if key in self.numbers:
            return self.numbers[key]
        register = self._loaded(lengths, steps, node.dtype, whole)
        register.slot, register.offset = slot.number, node.offset
        return self._register(key, register)

    def _loaded(self, lengths: Any, steps: Any, dtype: np.dtype, whole: bool) -> Register:
        if not any(steps) and not whole:
            return Register(SINGLE, dtype)
        if steps == (dtype.itemsize,) or self.step.count <= 1:
            return Register(DIRECT, dtype)
        register = Register(GATHERED, dtype)
        register.lengths, register.steps = lengths, steps
        return register

    def _target(self, node: Node) -> int:
        """The register that a node is computed into."""
        store = self.stores.get(node.number)
        if store is not None:
            return self._in_memory(node.number, store, self.plan.store_slot(store).number)
        if node.number in self.plan.kept:
            return self._in_memory(node.number, node, self.plan.slot_of(node).number)
        return self._register(node.number, Register(BLOCKED, node.dtype))

    def _in_memory(self, key: Any, node: Node, slot: int) -> int:
        lengths, steps = _collapsed(node.shape, node.strides)
        register = Register(DIRECT, node.dtype)
        if steps != (node.dtype.itemsize,) and self.step.count > 1:
            register = Register(SCATTERED, node.dtype)
            register.lengths, register.steps = lengths, steps
        register.slot = slot
        return self._register(key, register)

    # --- instructions ----------------------------------------------------------------------------

    def _add(self, node: Node) -> None:
        if node.kind == "reduce":
            self._reduce(node)
        elif node.kind == "store":
            (value,) = node.inputs
            if self.stores.get(value.number) is not node:
                given = self._operand(value, node.shape)
                target = self._in_memory(
                    ("store", node.number), node, self.plan.store_slot(node).number
                )
                self._note("copy", None, [node.dtype] * 2, [given, target])
            self.numbers[node.number] = self.numbers.get(("store", node.number), -1)
        else:
            operands = [self._operand(each, node.shape) for each in node.inputs]
            dtypes = [*[each.dtype for each in node.inputs], node.dtype]
            is_name = isinstance(node.what, str)
            name = node.what if is_name else node.what.__name__
            self._note(
                name, None if is_name else node.what, dtypes, [*operands, self._target(node)]
            )

    def _note(self, name: str, ufunc: Any, dtypes: list[np.dtype], numbers: list[int]) -> None:
        self._use(numbers)
        types = tuple([each.num for each in dtypes])
        self.instructions.append((name, ufunc, types, tuple(numbers)))

    def _use(self, numbers: list[int]) -> None:
        for each in numbers:
            register = self.registers[each]
            if register.first < 0:
                register.first = len(self.instructions)
            # A reduction, which comes after all instructions, may need it for longer.
            register.last = max(register.last, len(self.instructions))

    def _reduce(self, node: Node) -> None:
        (value,) = node.inputs
        given = self._operand(value, value.shape, whole=True)
        self.registers[given].last = 1 << 30
        slot = self.plan.slot_of(node)
        lengths = lengths_around(value.shape, node.detail)
        is_double = int(node.dtype == np.float64)
        self.reductions.append((_REDUCTIONS[node.what], given, is_double, slot.number, 0, *lengths))

    # --- blocks ----------------------------------------------------------------------------------

    def _describe(self) -> None:
        count, unit = self.step.count, self.step.unit
        for register in self.registers:
            if register.kind == SCATTERED:
                register.last = 1 << 30
        most, _ = self._places(1)
        block = max(256, min(2048, _CACHE // max(most, 1) // 16 * 16))
        if unit > 1:  # several rows at once, while that stays in the second-level cache
            block = max(block, min(8 * unit, 4 * _CACHE // max(most, 1)))
        block = max(unit, block // unit * unit)
        block = max(1, min(block, count))
        blocks = 0
        if self.step.units:  # of a strand: as many blocks for each unit of rows
            blocks, block = _cut(count // self.step.units, block, unit)
        needed, places = self._places(block)
        for register, place in places:
            register.scratch = place
        work = block * max(len(self.instructions), 1)
        grain = max(1, _CHUNK // work)
        if blocks:
            grain = blocks
        elif self.reductions:
            grain = max(grain, -(-count // block // 64))
        self.described = (
            *(count, block, grain, needed),
            [each.described() for each in self.registers],
            self.instructions,
            self.reductions,
        )

    def _places(self, block: int) -> tuple[int, list[tuple[Register, int]]]:
        """Where in scratch memory blocks lie, and how much there is; a block of 1 counts bytes."""
        places: list[tuple[Register, int]] = []
        size = 0
        users = [each for each in self.registers if each.kind in (BLOCKED, GATHERED, SCATTERED)]
        for register in sorted(users, key=lambda each: each.first):
            needed = block * register.dtype.itemsize
            needed = needed if block == 1 else -(-needed // 64) * 64
            alive = sorted(
                (place, block * other.dtype.itemsize)
                for other, place in places
                if other.last >= register.first
            )
            place = 0
            for start, length in alive:
                if start - place >= needed:
                    break
                place = max(place, start + (length if block == 1 else -(-length // 64) * 64))
            places.append((register, place))
            size = max(size, place + needed)
        return size, places


def _cut(count: int, block: int, unit: int) -> tuple[int, int]:
    """How many blocks, of about some size, elements are cut into, and their size."""
    blocks = -(-count // block)
    while count % blocks or count // blocks % unit:
        blocks += 1
    return blocks, count // blocks


def group_of(plan: Any, step: Step) -> tuple[Any, ...]:
    """A group as `native.make_program` takes it."""
    return _Group(plan, step).described


def _collapsed(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, Any]:
    """The dimensions with neighbours put together where one step leads through both."""
    lengths: list[int] = []
    steps: list[int] = []
    for length, stride in zip(shape, strides, strict=True):
        if length == 1:
            continue
        if steps and steps[-1] == stride * length:
            lengths[-1] *= length
            steps[-1] = stride
        else:
            lengths.append(length)
            steps.append(stride)
    if not lengths:
        return (1,), (0,)
    return tuple(lengths), tuple(steps)
