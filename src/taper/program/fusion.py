"""Fusion: which nodes of a graph are computed together, in one pass over memory.

Owns: the steps of a program and their order.  A step is a group of element-wise operations with
the reductions at their ends, a product, or a call.  A node joins a step that computes one of its
inputs, or has as many elements, unless something else would have to run in between.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

from taper.program.graph import LONGEST_ROW, Graph, Node, is_row_major, lengths_around

SHORT = 4096  # elements up to which the number of steps counts, not what they read
MOST_MEMBERS = 100  # nodes and operands of a group: the executor has 128 registers


class Step:
    """What runs at once."""

    def __init__(self, number: int, kind: str, count: int) -> None:
        self.number, self.kind, self.count = number, kind, count
        self.nodes: list[Node] = []
        self.after: set[int] = set()  # steps that must run before
        self.ancestors = 0  # all of them, as bits
        self.reads: set[int] = set()  # numbers of memory
        self.writes: set[int] = set()
        self.operands: set[int] = set()
        self.roots: set[int] = set()  # what the operands are views of
        self.unit = 1  # blocks are multiples of it: rows that are reduced


class Fusion:
    """Put the nodes that somebody needs into steps."""

    def __init__(self, graph: Graph, results: list[Node]) -> None:
        self.steps: list[Step] = []
        self.step_of: dict[int, Step] = {}
        self.readers: dict[int, set[int]] = {}
        self.writer: dict[int, Step] = {}
        self.last_effect: Step | None = None
        self.groups: dict[int, list[Step]] = {}  # open ones, by their number of elements
        self.used = _used(graph, results)
        self.results = [  # of calls
            node for node in graph.nodes if node.kind == "result" and node.number in self.used
        ]
        for node in graph.nodes:
            if node.number in self.used:
                self._place(node)
        self.order = self._ordered()

    def _place(self, node: Node) -> None:
        if node.kind in ("map", "reduce", "store"):
            self._place_element_wise(node)
        elif node.kind in ("product", "call"):
            self._add(self._new(node.kind, 0), node)
        elif node.kind == "result":
            self.step_of[node.number] = self.step_of[node.inputs[0].number]

    def _new(self, kind: str, count: int) -> Step:
        step = Step(len(self.steps), kind, count)
        self.steps.append(step)
        return step

    def _place_element_wise(self, node: Node) -> None:
        count = node.inputs[0].size if node.kind == "reduce" else node.size
        needed = self._needed(node)
        candidates = self.groups.setdefault(count, [])
        own = [self.step_of.get(each.root.number) for each in node.inputs]
        preferred = [each for each in own if each is not None and each.kind == "group"]
        # Others with as many elements: if they read the same, or are so short that steps count.
        given = {each.root.number for each in node.inputs}
        preferred += [
            each for each in reversed(candidates[-8:]) if count <= SHORT or given & each.roots
        ]
        for step in preferred:
            if step.count == count and self._may_join(step, node, needed):
                self._add(step, node)
                return
        step = self._new("group", count)
        candidates.append(step)
        self._add(step, node)

    def _needed(self, node: Node) -> set[int]:
        """The steps that must run before a node is computed."""
        needed = set()
        for each in node.inputs:
            root = each.root
            made = root.inputs[0] if root.kind == "memory" and root.inputs else root
            step = self.step_of.get(made.number)
            if step is not None:
                needed.add(step.number)
        for memory in node.writes:
            needed |= self.readers.get(memory, set())
            if memory in self.writer:
                needed.add(self.writer[memory].number)
        if node.kind == "call" and _has_effects(node) and self.last_effect is not None:
            needed.add(self.last_effect.number)
        return needed

    def _may_join(self, step: Step, node: Node, needed: set[int]) -> bool:
        if len(step.operands) + len(node.inputs) + 1 > MOST_MEMBERS or step.unit > LONGEST_ROW:
            return False
        for each in node.inputs:
            root = each.root
            if root.kind == "memory" and root.detail.memory.number in step.writes:
                return False
            if self.step_of.get(root.number) is step and not _is_aligned(each):
                return False
        if any(memory in step.reads or memory in step.writes for memory in node.writes):
            return False
        if node.kind == "reduce":
            if math.lcm(unit_of(node), step.unit) > LONGEST_ROW:
                return False
        return not any(
            self.steps[each].ancestors >> step.number & 1 for each in needed if each != step.number
        )

    def _add(self, step: Step, node: Node) -> None:
        needed = self._needed(node) - {step.number}
        step.nodes.append(node)
        self.step_of[node.number] = step
        step.operands.update([each.number for each in (*node.inputs, node)])
        step.roots.update([each.root.number for each in node.inputs])
        step.after |= needed
        gained = 0
        for number in needed:
            gained |= self.steps[number].ancestors | 1 << number
        if gained & ~step.ancestors:
            mask = 1 << step.number
            for other in self.steps:
                if other.ancestors & mask:
                    other.ancestors |= gained
            step.ancestors |= gained
        if node.kind == "reduce":
            step.unit = math.lcm(step.unit, unit_of(node))
        for each in node.inputs:
            if each.root.kind == "memory":
                memory = each.root.detail.memory.number
                step.reads.add(memory)
                self.readers.setdefault(memory, set()).add(step.number)
        for memory in node.writes:
            step.writes.add(memory)
            self.writer[memory] = step
            self.readers[memory] = set()
        if node.kind == "call" and _has_effects(node):
            self.last_effect = step

    def _ordered(self) -> list[Step]:
        """The steps, each after those that it needs, else as eager mode computed them."""
        waiting = {step.number: set(step.after) for step in self.steps}
        following: dict[int, list[int]] = {}
        for step in self.steps:
            for each in step.after:
                following.setdefault(each, []).append(step.number)
        ready = [(step.nodes[0].number, step.number) for step in self.steps if not step.after]
        heapq.heapify(ready)
        order = []
        while ready:
            _, number = heapq.heappop(ready)
            order.append(self.steps[number])
            for each in following.get(number, ()):
                waiting[each].discard(number)
                if not waiting[each]:
                    heapq.heappush(ready, (self.steps[each].nodes[0].number, each))
        if len(order) != len(self.steps):
            raise RuntimeError("the steps of a program wait for each other")
        return order


def _has_effects(node: Node) -> bool:
    instruction = node.detail
    return not instruction.pure or bool(instruction.writes)


def _used(graph: Graph, results: list[Node]) -> set[int]:
    """The nodes that results and effects need."""
    used: set[int] = set()
    stack = [each for each in results]
    stack += [each for each in graph.nodes if each.kind == "call" and _has_effects(each)]
    while stack:
        node = stack.pop()
        if node.number not in used:
            used.add(node.number)
            stack += node.inputs
    return used


def _is_aligned(node: Node) -> bool:
    """Whether element i of an input is element i of the node that it is a view of."""
    root = node.root
    if root.kind not in ("map", "store"):
        return False
    if node is root:
        return True
    return (
        node.dtype == root.dtype
        and node.size == root.size
        and not node.offset
        and root.is_row_major
        and is_row_major(node.shape, node.strides, node.dtype.itemsize)
    )


def unit_of(node: Node) -> int:
    """Elements that a block must have a multiple of, so that no row is cut."""
    before, along, behind = lengths_around(node.inputs[0].shape, node.detail)
    return along if before > 1 else behind


def members(step: Step) -> list[Any]:
    """The instructions of the program, by position, that a step computes."""
    return sorted({node.origin for node in step.nodes if node.origin is not None})
