"""Strands: steps over the same rows, which run some rows at a time (`native/program_strands.c`).

Owns: which steps are a strand, and how many units their rows are cut into.  A step joins if each
unit of its rows needs, of what the strand itself makes, that unit only.  What cannot join is put
off until after the strand, if nothing in the strand needs it.

Measured, a layer norm of 768 rows of 128 in a GPT's step, two threads: 62 us, in the cache 15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from taper.program.form import Instruction
from taper.program.fusion import LARGE_PRODUCT, Step
from taper.program.graph import Node, matrix_steps

FEWEST_ROWS = 96  # of a unit: right matrices are read once for each
MOST_BYTES = 6 << 20  # that a strand makes: what it alone needs goes only after it
MOST_STEPS = 60
_MOST_PUT_OFF = 32
_AHEAD = 40  # steps that are looked at for the number of units
_FLOAT = np.dtype(np.float32)
# Kernels that run in parts, and which of their results are sums over all rows.
_KERNELS: dict[str, tuple[int, ...]] = {
    "attention": (),
    "attention_backward": (),
    "layer_norm": (),
    "layer_norm_backward": (1, 2),
    "join": (),
}

KernelOf = Callable[[Instruction], str | None]


class Stage:
    """What runs at once: one step, or a strand, whose rows are `units` units."""

    def __init__(self, steps: list[Step], units: int = 0) -> None:
        self.steps, self.units = steps, units


def stages_of(order: list[Step], results: Iterable[Node], kernel_of: KernelOf) -> list[Stage]:
    """Put the steps of a program, which are in order, into stages."""
    made: dict[int, list[Node]] = {}
    for node in results:
        made.setdefault(node.inputs[0].number, []).append(node)
    waiting = list(order)
    stages = []
    while waiting:
        strand = _Strand(made, kernel_of)
        if not strand.grow(waiting):
            stages.append(Stage([waiting.pop(0)]))
            continue
        stages.append(Stage(strand.steps, strand.units))
        taken = set(map(id, strand.steps))
        waiting = [each for each in waiting if id(each) not in taken]
    return stages


class _Strand:
    def __init__(self, results: dict[int, list[Node]], kernel_of: KernelOf) -> None:
        self.results, self.kernel_of = results, kernel_of
        self.steps: list[Step] = []
        self.units = 0
        self.made: dict[int, bool] = {}  # nodes by number: whether each unit is there at once
        self.bytes = 0

    def grow(self, waiting: list[Step]) -> bool:
        """Take steps from the first on; False if they are too few."""
        first = waiting[0]
        if not self._may_start(first):
            return False
        self.units = self._units(waiting[:_AHEAD])
        if not self.units or not self._fits(first):
            return False
        put_off: set[int] = set()
        for step in waiting:
            if len(put_off) > _MOST_PUT_OFF or len(self.steps) >= MOST_STEPS:
                break
            node = step.nodes[0]
            if node.kind == "call" and node.detail.kind == "python":
                break
            if node.is_again and not first.nodes[0].is_again:
                break  # it belongs to the backward, and what it makes would be there for too long
            if step.after & put_off or not self._fits(step):
                put_off.add(step.number)
            elif self.bytes + _bytes(step, self._outputs(step)) > MOST_BYTES:
                break
            else:
                self._take(step)
        return len(self.steps) > 2 and any(each.kind == "product" for each in self.steps)

    def _may_start(self, step: Step) -> bool:
        if step.kind == "call":
            return self._kernel(step) is not None
        return step.kind == "product" or step.count >= LARGE_PRODUCT // 16

    def _kernel(self, step: Step) -> str | None:
        name = self.kernel_of(step.nodes[0].detail)
        return name if name in _KERNELS else None

    def _units(self, steps: list[Step]) -> int:
        """A number of units that rows of products and heads of attention can be cut into."""
        rows = 0
        for step in steps:
            node = step.nodes[0]
            if step.kind == "product" and not rows and not _is_turned(node.inputs[0]):
                rows = node.shape[0]
            elif step.kind == "call" and node.inputs and rows:
                name = self._kernel(step)
                if name is not None and name.startswith("attention"):
                    return _even_divisor(node.inputs[0].shape[0], rows)
        return _even_divisor(rows, rows)

    def _outputs(self, step: Step) -> list[Node]:
        if step.kind == "call":
            return self.results.get(step.nodes[0].number, [])
        return step.nodes

    def _take(self, step: Step) -> None:
        self.steps.append(step)
        outputs = self._outputs(step)
        self.bytes += _bytes(step, outputs)
        sums = _KERNELS[self._kernel(step) or ""] if step.kind == "call" else ()
        for node in outputs:
            is_sum = node.what in sums if node.kind == "result" else node.kind == "reduce"
            self.made[node.number] = not is_sum

    def _fits(self, step: Step) -> bool:
        """Whether a step can run by units of rows, after those that are in the strand."""
        if step.kind == "group":
            found = self._fits_group(step)
        elif step.kind == "product":
            found = self._fits_product(step.nodes[0])
        else:
            found = self._fits_call(step)
        return found

    def _is_there(self, node: Node, is_shared: bool = False) -> bool:
        """Whether a unit of what is read is there; of what all units share, all must be."""
        root = node.root
        if root.kind == "memory" and root.inputs and root.inputs[0].number in self.made:
            return False
        if root.number not in self.made:
            return True
        return self.made[root.number] and not is_shared and _is_cut_alike(node, self.units)

    def _fits_group(self, step: Step) -> bool:
        units = self.units
        if step.count % units or step.count // units % step.unit:
            return False
        own = {node.number for node in step.nodes}
        for node in step.nodes:
            if node.kind == "store":
                return False
            for each in node.inputs:
                if each.root.number in own or each.kind == "number":
                    continue
                if each.root.number in self.made and each.size != step.count:
                    return False
                if not self._is_there(each):
                    return False
        return True

    def _fits_product(self, node: Node) -> bool:
        left, right, *start = node.inputs
        rows, inner = left.shape
        return (
            node.dtype == _FLOAT
            and not _is_turned(left)
            and rows % self.units == 0
            and rows // self.units >= 24
            and rows * inner * right.shape[1] >= LARGE_PRODUCT
            and self._is_there(left)
            and self._is_there(right, True)
            and all(self._is_there(each, True) for each in start)
        )

    def _fits_call(self, step: Step) -> bool:
        node = step.nodes[0]
        if self._kernel(step) is None:
            return False
        largest = max(node.inputs, key=lambda each: each.size)
        outputs = self._outputs(step)
        return (
            all(self._is_there(each) for each in node.inputs)
            and _is_cut_alike(largest, self.units)
            and bool(outputs)
            and _is_cut_alike(outputs[0], self.units)
        )


def _even_divisor(number: int, rows: int) -> int:
    """The largest even part of a number that leaves enough rows for each unit; 0 if none does."""
    for units in range(rows // FEWEST_ROWS, 1, -1):
        if units % 2 == 0 and number % units == 0 and rows % units == 0:
            return units
    return 0


def _is_turned(matrix: Node) -> bool:
    steps = matrix_steps(matrix)
    return steps is None or steps[1]


def _bytes(step: Step, outputs: list[Node]) -> int:
    return sum(each.size * each.dtype.itemsize for each in outputs if each.kind != "map") + (
        outputs[-1].size * outputs[-1].dtype.itemsize if step.kind == "group" else 0
    )


def _is_cut_alike(node: Node, units: int) -> bool:
    """Whether a unit of what is seen lies in the same unit of the memory."""
    root = node.root
    total = root.size * root.dtype.itemsize
    if root.kind == "memory":
        total = math.prod(root.shape) * root.dtype.itemsize
    if node.size == root.size and node.is_row_major and root.is_row_major and not node.offset:
        return node.size % units == 0
    if not node.shape or not root.shape or node.shape[0] % units:
        return False
    if not root.is_row_major and root.strides[0] * root.shape[0] != total:
        return False
    inner = node.dtype.itemsize + node.offset
    for length, stride in zip(node.shape[1:], node.strides[1:], strict=True):
        if stride < 0:
            return False
        inner += (length - 1) * stride
    return node.strides[0] * node.shape[0] == total and 0 <= node.offset and inner <= node.strides[0]
