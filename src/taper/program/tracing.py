"""Tracing: a program as a graph of expressions, with calls where none could be found.

Owns: which node a value is at which moment.  Memory that is written in the course of the program
(`pinned`) is read anew after each write; all other values are their expressions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.opdef import Formula, Op
from taper.program.form import Instruction, Program, Value
from taper.program.graph import KNOWN, Graph, Node, UntraceableError, is_dense
from taper.program.symbols import Symbol, _operator, _reduced, in_world, symbol


class Tracer:
    """Write a program down as a graph."""

    graph_class: type[Graph] = Graph

    def __init__(self, program: Program, exact: bool = False) -> None:
        self.program = program
        self.graph = self.graph_class(exact)
        self.bound: dict[int, Node] = {}  # by the numbers of values
        self.memories: dict[int, Node] = {}  # memory as it is now
        self.last_python: tuple[Node, ...] = ()  # the last call that may have written any memory
        self.reasons: dict[int, str] = {}  # of instructions that stay calls, by position
        self.given = {each.number: nr for nr, each in enumerate(program.inputs)}
        self.found = {each.number for each in program.externals}
        self.uses = self._uses()
        self.pinned = self._pinned()
        for position, instruction in enumerate(program.instructions):
            self.graph.origin = position
            self.graph.is_again |= instruction.is_again
            self._add(position, instruction)
        self.graph.origin = len(program.instructions)
        self.results = [self.array_node(each) for each in program.results]

    def _pinned(self) -> set[int]:
        """The memory that is written, or that is read beside being somebody's gradient."""
        found = set()
        for instruction in self.program.instructions:
            found.update([each.memory.number for each in instruction.writes])
            if instruction.kind == "accumulate":
                for each in instruction.operands():
                    if self.uses[each.memory.number] > 1:
                        found.add(each.memory.number)
        return found

    def _uses(self) -> dict[int, int]:
        """How often memory is read by instructions, views aside, and results."""
        read = list(self.program.results)
        for instruction in self.program.instructions:
            if not instruction.pure or not self._is_view(instruction):
                read += instruction.operands()
        uses: dict[int, int] = {}
        for each in read:
            uses[each.memory.number] = uses.get(each.memory.number, 0) + 1
        return uses

    # --- values --------------------------------------------------------------------------------

    def node_of(self, value: Value) -> Node:
        """The value as it is now."""
        node = self.bound.get(value.number)
        if node is not None:
            return node
        if value.origin == "constant" and value.array is not None and not value.array.ndim:
            if value.dtype in KNOWN:
                return self.graph.constant(value.array)
        memory = self._holder(value)
        offset = value.offset - memory.offset if memory is not value else 0
        node = self.bound.get(memory.number)
        if node is None:
            node = self.memory_node(memory)
        elif node.strides != memory.strides and node.kind != "number":
            raise UntraceableError("a view of memory that lies otherwise")
        return self.graph.view(node, value.shape, value.strides, node.offset + offset, value.dtype)

    def _holder(self, value: Value) -> Value:
        """The value whose array is at hand and has the memory: itself if it is given."""
        is_given = value.number in self.given or value.number in self.found
        return value if is_given else value.memory

    def memory_node(self, memory: Value) -> Node:
        node = self.memories.get(memory.number)
        if node is None:
            node = self.graph.add(
                "memory",
                0,
                self.last_python,
                memory.shape,
                memory.dtype,
                strides=memory.strides,
                detail=memory,
            )
            self.memories[memory.number] = node
        return node

    def array_node(self, value: Value) -> Node:
        """The value as an array in memory."""
        node = self.node_of(value)
        return self._laid_out(node, value) if node.kind == "number" else node

    def bind(self, value: Value, node: Node) -> None:
        """From now on the value is this node."""
        if node.shape != value.shape or node.dtype != value.dtype:
            raise UntraceableError(
                f"{node.dtype} {node.shape} where {value.dtype} {value.shape} is known"
            )
        if value.number in self.pinned:
            self._store(value, node)
            return
        if node.kind != "number" and not _same_layout(node, value):
            node = self._laid_out(node, value)
        elif node.kind != "number" and node.strides != value.strides:
            node = self.graph.view(node, value.shape, value.strides, node.offset)
        self.bound[value.number] = node

    def _laid_out(self, node: Node, value: Value) -> Node:
        """A copy of a node in the layout of a value."""
        if not is_dense(value.shape, value.strides, value.dtype.itemsize):
            raise UntraceableError("a result with gaps")
        copy = self.graph.copy(node)
        copy.strides = value.strides
        return copy

    def _store(self, value: Value, node: Node) -> None:
        """Write a node into memory that belongs to the value."""
        if not is_dense(value.shape, value.strides, value.dtype.itemsize):
            raise UntraceableError("a result with gaps")
        store = self.graph.add(
            "store", None, (node,), value.shape, value.dtype, strides=value.strides, detail=value
        )
        store.writes = (value.memory.number,)
        self._written(value, store)

    def _written(self, memory: Value, writer: Node) -> None:
        before = self.memories.get(memory.number)
        self.memories[memory.number] = self.graph.add(
            "memory",
            0 if before is None else before.what + 1,
            (writer,),
            memory.shape,
            memory.dtype,
            strides=memory.strides,
            detail=memory,
        )

    # --- instructions ----------------------------------------------------------------------------

    def _add(self, position: int, instruction: Instruction) -> None:
        if instruction.pure and not instruction.writes:
            if self._is_view(instruction):
                return
            if self.graph.exact:
                self.reasons[position] = "exact"
                self._call(instruction)
                return
            before, memories = len(self.graph.nodes), dict(self.memories)
            try:
                self._trace(instruction)
            except Exception as error:
                self.graph.forget_since(before)
                self.memories = memories
                for output in instruction.outputs:
                    if output is not None:
                        self.bound.pop(output.number, None)
                self.reasons[position] = _reason(error)
                self._call(instruction)
        elif instruction.kind == "accumulate" and self._is_plain_arrival(instruction):
            self._arrive(instruction)
        else:
            self.reasons[position] = "it has effects"
            self._call(instruction)

    def _is_plain_arrival(self, instruction: Instruction) -> bool:
        """Whether nobody looks at the array of the leaf's gradient but through the argument."""
        return all(
            each is None
            or not self.uses.get(each.memory.number)
            or any(each.memory is given.memory for given in instruction.operands())
            for each in instruction.outputs
        )

    def _is_view(self, instruction: Instruction) -> bool:
        """Whether all results lie in memory that is there already."""
        given = {each.memory.number for each in instruction.operands()}
        return all(each is None or each.memory.number in given for each in instruction.outputs)

    def _trace(self, instruction: Instruction) -> None:
        results = _expression(instruction, self._symbols(instruction.arguments))
        if not isinstance(results, tuple | list):
            results = (results,)
        if len(results) != len(instruction.outputs):
            raise UntraceableError("another number of results")
        for output, result in zip(instruction.outputs, results, strict=True):
            if output is None:
                continue
            if output.base is not None:
                continue  # a view: known from the memory that it looks into
            node = result.node if isinstance(result, Symbol) else _constant(self.graph, result)
            self.bind(output, node)

    def _symbols(self, structure: Any) -> Any:
        if isinstance(structure, Value):
            if structure.dtype.kind == "c":  # symbols are real: their conjugate is themselves
                raise UntraceableError("complex elements")
            return symbol(self.graph, self.node_of(structure), True)
        if isinstance(structure, tuple | list):
            return type(structure)([self._symbols(each) for each in structure])
        if structure.__class__ is dict:
            return {name: self._symbols(each) for name, each in structure.items()}
        return structure

    def _call(self, instruction: Instruction) -> Node:
        """Let the instruction be a call; what it writes, or may write, is read anew afterwards."""
        operands = list(instruction.operands())
        inputs = tuple([self.array_node(each) for each in operands])
        call = self.graph.add("call", operands, inputs, (), np.dtype(bool), detail=instruction)
        written = {each.memory.number for each in instruction.writes}
        if instruction.kind == "python":
            written = {each.detail.memory.number for each in self.memories.values()}
            self.last_python = (call,)
        self._overwrite(written, call)
        for nr, output in enumerate(instruction.outputs):
            if output is None or output.base is not None or output in operands:
                continue
            if instruction.kind == "write" and output in instruction.writes:
                continue
            result = self.graph.add(
                "result",
                nr,
                (call,),
                output.shape,
                output.dtype,
                strides=output.strides,
                detail=output,
            )
            if output.number in self.pinned:
                self._written(output, result)
            else:
                self.bound[output.number] = result
        return call

    def _overwrite(self, written: set[int], call: Node) -> None:
        """After the call all arrays on this memory are read anew."""
        call.writes = tuple(written)
        if not written:
            return
        for node in list(self.memories.values()):
            if node.detail.memory.number in written:
                self._written(node.detail, call)

    def _arrive(self, instruction: Instruction) -> None:
        """The gradient of a leaf arrives: it takes the array, or a copy where eager mode copied."""
        (value,) = instruction.operands()
        node = self.array_node(value)
        taken = any(each and each.memory is value.memory for each in instruction.outputs)
        if not taken and self.uses[value.memory.number] > 1:
            node = self._laid_out(node, value)
        call = self.graph.add("call", [value], (node,), (), np.dtype(bool), detail=instruction)
        self._overwrite({each.memory.number for each in instruction.writes}, call)


def _same_layout(node: Node, value: Value) -> bool:
    return all(
        length == 1 or one == other
        for length, one, other in zip(value.shape, node.strides, value.strides, strict=True)
    )


def _constant(graph: Graph, value: Any) -> Node:
    array = np.asarray(value)
    if array.ndim:
        raise UntraceableError("an array that the kernel made")
    return graph.constant(array)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, UntraceableError) else f"{type(error).__name__}: {error}"


def _expression(instruction: Instruction, arguments: tuple[Any, ...]) -> Any:
    """What the instruction computes, of symbols."""
    of = instruction.of
    if _has_fast_kernel(instruction):
        raise UntraceableError("its kernel passes over the rows once")
    if instruction.kind == "op" and isinstance(of, Op):
        _refuse_promotion(of, arguments)
        return _operator(of)(*arguments)
    if instruction.kind == "formula" and isinstance(of, Formula):
        return in_world(of.function)(*arguments)
    if instruction.kind == "add":
        first, second = arguments
        return first + second
    if instruction.kind == "fit":
        (output,) = instruction.outputs
        if output is None:
            raise UntraceableError("a gradient that nobody wants")
        return fitted(arguments[0], output.shape, output.dtype)
    raise UntraceableError(f"nothing is known about {instruction.name}")


# Operators on rows, and their nodes, whose kernels are faster than groups once rows are many.
_ON_ROWS = ("softmax", "log_softmax", "SoftmaxBackward0", "LogSoftmaxBackward0", "logsumexp")
_MANY = 2048  # elements


def _has_fast_kernel(instruction: Instruction) -> bool:
    """Whether a kernel of the native module computes in one pass what groups need several for."""
    if instruction.name not in _ON_ROWS:
        return False
    return max([math.prod(each.shape) for each in instruction.operands()], default=0) > _MANY


def _refuse_promotion(entry: Op, arguments: tuple[Any, ...]) -> None:
    """Leave operands of several dtypes to the operator."""
    if entry.promote is None:
        return
    found = {each.dtype for each in arguments if isinstance(each, Symbol)}
    if len(found) > 1 or (entry.promote == "float" and any(each.kind != "f" for each in found)):
        raise UntraceableError("operands of several dtypes")


def fitted(grad: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """A gradient summed and cast to what its edge wants (twin: `autograd.fitting`)."""
    if grad.shape != shape:
        lead = grad.ndim - len(shape)
        axes = tuple(range(lead)) + tuple(
            lead + dim
            for dim, length in enumerate(shape)
            if length == 1 and grad.shape[lead + dim] != 1
        )
        grad = _reduced(grad, np.add, axes, True).reshape(shape)
    return grad if grad.dtype == dtype else grad.astype(dtype)
