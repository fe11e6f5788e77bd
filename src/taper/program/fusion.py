"""Fusion: which nodes of a graph are computed together, in one pass over memory.

Owns: the steps of a program and their order.  A step is a group of element-wise operations with
the reductions at their ends, a product, or a call.  A node joins a step that computes one of its
inputs, or has as many elements, unless something else would have to run in between.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from typing import Any

import numpy as np

from taper.program.graph import LONGEST_ROW, Graph, Node, is_row_major, lengths_around

SHORT = 4096  # elements up to which the number of steps counts, not what they read
LARGE_PRODUCT = 1 << 20  # multiplications from which our own tiles compute a product
FAR = 12  # instructions between forward and backward of the same layer, at least
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

    short = SHORT

    def __init__(self, graph: Graph, results: list[Node]) -> None:
        self.steps: list[Step] = []
        self.step_of: dict[int, Step] = {}
        self.readers: dict[int, set[int]] = {}
        self.writer: dict[int, Step] = {}
        self.last_effect: Step | None = None
        self.groups: dict[int, list[Step]] = {}  # open ones, by their number of elements
        self.used = _used(graph, results)
        if not graph.exact:
            _fold_rows(graph, self.used, results)
        self.kept_until = _kept_until(graph, self.used)
        self.results_of: dict[int, list[Node]] = {}  # of calls, by their numbers
        for node in graph.nodes:
            if node.kind == "result" and node.number in self.used:
                self.results_of.setdefault(node.inputs[0].number, []).append(node)
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
        given = {each.root.number for each in node.inputs if each.kind != "number"}
        preferred += [
            each for each in reversed(candidates[-8:]) if count <= self.short or given & each.roots
        ]
        for step in preferred:
            if step.count != count or self._is_for_later(step, node):
                continue
            if self._may_join(step, node, needed):
                self._add(step, node)
                return
        step = self._new("group", count)
        candidates.append(step)
        self._add(step, node)

    def _is_for_later(self, step: Step, node: Node) -> bool:
        """Whether what a node is computed from is in memory until its own time comes.

        Computed together with its inputs, it would be kept from forward to backward for nothing.
        """
        if node.size <= self.short or node.origin - step.nodes[-1].origin < FAR:
            return False
        if node.is_again and not step.nodes[0].is_again:
            return True
        given = [each.root.number for each in node.inputs if each.kind != "number"]
        return all(node.origin - self.kept_until.get(each, -FAR) < FAR for each in given)

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


def _fold_rows(graph: Graph, used: set[int], results: list[Node]) -> None:
    """Let large products start from the row that is added to them, which is the bias of a layer.

    Measured: 0.9 of 48 ms of a GPT step, in which the sums were a pass over memory of their own.
    """
    read = [each for node in graph.nodes if node.number in used for each in node.inputs]
    readers = Counter([each.number for each in (*read, *results)])
    for node in graph.nodes:
        if node.number not in used or node.kind != "map" or node.what is not np.add:
            continue
        for product, row in (node.inputs, node.inputs[::-1]):
            if (
                product.kind == "product"
                and len(product.inputs) == 2
                and product.shape == node.shape
            ):
                if readers[product.number] == 1 and _is_bias(product, row, node):
                    node.kind, node.what, node.inputs = "product", None, (*product.inputs, row)
                    used.discard(product.number)
                    break


def _is_bias(product: Node, row: Node, total: Node) -> bool:
    left, right = product.inputs
    work = math.prod(left.shape) * right.shape[1]
    return (
        work >= LARGE_PRODUCT
        and product.origin == total.origin  # nothing is written in between
        and row.root.kind == "memory"
        and row.dtype == total.dtype == np.float32
        and row.shape[-1:] == total.shape[-1:]
        and row.strides[-1] == 4
        and math.prod(row.shape) == row.shape[-1]
        and total.is_row_major
    )


def _kept_until(graph: Graph, used: set[int]) -> dict[int, int]:
    """For nodes the last instruction that is a call or product and takes them from memory."""
    found: dict[int, int] = {}
    for node in graph.nodes:
        if node.kind in ("call", "product") and node.number in used:
            for each in node.inputs:
                found[each.root.number] = node.origin
    return found


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
