"""Chains of element-wise operations on a GPU: instructions that become one kernel.

Owns: which instructions of a program go together, and the program that comes out.  Expressions are
derived as for the processor (`tracing`), with other dtypes and layouts, and without what the device
has better kernels for: reductions and products stay calls.  The text is that of `gpu.chains`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from taper.gpu import state
from taper.gpu.array import CudaArray, address, empty_strided, strided, to_host
from taper.gpu.chains import GELU, GELU_SLOPE, RELU_SLOPE, Chain, collapsed, expression
from taper.gpu.texts import BFLOAT16, TYPES, dtype_kind
from taper.program.form import Instruction, Program, Value
from taper.program.fusion import Fusion, Step, members
from taper.program.graph import KNOWN, Graph, Node, UntraceableError, is_dense
from taper.program.symbols import Symbol, symbol
from taper.program.tracing import Tracer

_HALVES = (np.dtype(np.float16), BFLOAT16)
_SINGLE = np.dtype(np.float32)
_MOST_ARRAYS = 64  # that a kernel is given


def _curve(text: str, order: tuple[int, ...]) -> Callable[..., Any]:
    """An operator as an expression of some of its arguments."""

    def call(*args: Any, approximate: str = "none") -> Any:
        arrays = [args[nr] for nr in order]
        plain = [each for each in args if not isinstance(each, Symbol)]
        if approximate != "none" or any([each not in ("none", 0) for each in plain]):
            raise UntraceableError("another form of it")
        first = arrays[0]
        if any([each.dtype != first.dtype for each in arrays]) or first.dtype.kind != "f":
            raise UntraceableError("operands of several dtypes")
        nodes = [each.node for each in arrays]
        return symbol(first.graph, first.graph.map(text, nodes, first.dtype))

    return call


class DeviceGraph(Graph):
    """Expressions as kernels on the device compute them."""

    dtypes = frozenset([each for each in TYPES if each.kind != "V" or each == BFLOAT16])
    meanings: ClassVar[dict[str, Callable[..., Any]]] = {
        "gelu": _curve(GELU, (0,)),
        "gelu_backward": _curve(GELU_SLOPE, (1, 0)),
        "threshold_backward": _curve(RELU_SLOPE, (1, 0)),
    }

    def check_map(self, what: Any, inputs: list[Node], dtype: np.dtype) -> None:
        """Refuse what there is no text for."""
        if expression(what, "".join([dtype_kind(each.dtype) for each in inputs])) is None:
            raise UntraceableError(f"there is no text for {getattr(what, '__name__', what)}")

    def cast(self, node: Node, dtype: np.dtype) -> Node:
        """The node in another dtype."""
        if node.dtype == dtype:
            return node
        if node.kind == "number":
            return self.constant(node.detail.astype(dtype), node.shape)
        return self.map("cast", [node], dtype)

    def copy(self, node: Node) -> Node:
        """The node, row by row in memory of its own."""
        if node.dtype not in self.dtypes:
            raise UntraceableError(f"a copy of {node.dtype}")
        return self.add("map", "copy", (node,), node.shape, node.dtype)

    def reduce(self, what: Any, node: Node, axes: tuple[int, ...]) -> Node:
        """Leave it to its kernel."""
        raise UntraceableError("a reduction")

    def product(self, left: Node, right: Node) -> Node:
        """Leave it to the library."""
        raise UntraceableError("a product")


class DeviceTracer(Tracer):
    """Write a program down as expressions, half types computed as floats."""

    graph_class = DeviceGraph

    def __init__(self, program: Program, traced: Callable[[int], bool]) -> None:
        self.traced = traced
        self.copies: dict[int, Node] = {}
        super().__init__(program)

    def _add(self, position: int, instruction: Instruction) -> None:
        if instruction.pure and not instruction.writes and not self.traced(position):
            if not self._is_view(instruction):
                self._call(instruction)
        elif instruction.kind == "accumulate":
            self._call(instruction)
        else:
            super()._add(position, instruction)

    def _symbols(self, structure: Any) -> Any:
        found = super()._symbols(structure)
        if isinstance(found, Symbol) and found.dtype in _HALVES:
            node = found.node
            if node.kind == "number":
                return symbol(self.graph, self.graph.cast(node, _SINGLE), True)
            # Not shared with other instructions: else it would be kept in memory for these.
            wide = self.graph.add("map", "cast", (node,), node.shape, _SINGLE)
            return symbol(self.graph, wide, True)
        return found

    def node_of(self, value: Value) -> Node:
        if value.array.__class__ is CudaArray and not value.shape and value.dtype in KNOWN:
            return self.graph.constant(to_host(value.array))
        return super().node_of(value)

    def array_node(self, value: Value) -> Node:
        if value.origin == "constant":
            return self.memory_node(value)
        node = self.node_of(value)
        if node.kind != "number":
            return node
        if value.number not in self.copies:
            self.copies[value.number] = self._laid_out(node, value)
        return self.copies[value.number]

    def bind(self, value: Value, node: Node) -> None:
        if value.number in self.pinned:
            raise UntraceableError("memory that is written later")
        node = self.graph.cast(node, value.dtype)
        if node.kind != "number" and node.root.kind != "map":
            node = self.graph.copy(node)  # memory of its own, whatever becomes of the other
        super().bind(value, node)


class DeviceFusion(Fusion):
    """Put nodes into steps; a launch costs as much as reading some megabytes."""

    short = 1 << 16


@dataclass
class _Output:
    """A value that a chain makes: memory of its own for a node, and the look at it."""

    value: Value
    node: Node  # the root
    offset: int


class _Group:
    """A step that becomes a kernel: what it reads, as values with a look at them, and makes."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.outputs: dict[int, _Output] = {}  # by the number of the value


class Fused:
    """A program with chains in the place of instructions."""

    def __init__(self, program: Program, traced: Callable[[int], bool]) -> None:
        self.program = program
        self.values = list(program.values)
        self.trace = DeviceTracer(program, traced)
        self.fusion = DeviceFusion(self.trace.graph, self.trace.results)
        self.given = {
            each.number
            for each in (*program.inputs, *program.externals, *program.values)
            if each.origin != "made"
        }
        self.makers = {
            each.number: instruction
            for instruction in reversed(program.instructions)
            for each in instruction.outputs
            if each is not None
        }
        self.groups = {
            each.number: _Group(each) for each in self.fusion.order if each.kind == "group"
        }
        self.called = {
            id(each.nodes[0].detail) for each in self.fusion.order if each.kind == "call"
        }
        self.carriers: dict[int, Value] = {}  # for nodes that are needed elsewhere
        self.origins: dict[int, list[int]] = {}  # of chains, by identity: positions
        self._find_needed()
        self._keep_single()
        self.made: list[Instruction] = []
        self.there = set(self.given)
        for step in self.fusion.order:
            self._emit(step)
        for each in program.results:
            self._provide(each)

    # --- what is needed ----------------------------------------------------------------------

    def _find_needed(self) -> None:
        self.bound = dict(self.trace.bound)
        self.bound |= {number: node for number, node in self.trace.copies.items()}
        for step in self.fusion.order:
            for node in step.nodes:
                if step.kind == "call":
                    for each in node.detail.operands():
                        self._need(each)
                    continue
                for each in node.inputs:
                    if (
                        each.kind != "number"
                        and self.fusion.step_of.get(each.root.number) is not step
                    ):
                        self._need_root(each.root)
        for each in self.program.results:
            self._need(each)

    def _need(self, value: Value) -> None:
        """Let a value be there as an array."""
        if value.number in self.given:
            return
        maker = self.makers.get(value.number)
        if maker is not None and id(maker) in self.called:
            return
        node = self.bound.get(value.number)
        if node is not None:
            if node.root.kind != "map":
                raise UntraceableError("a value without memory of its own")
            self._output(value, node)
        elif value.base is not None:
            self._need(value.base)
        else:
            raise UntraceableError("a value that nobody makes")

    def _output(self, value: Value, node: Node) -> None:
        step = self.fusion.step_of[node.root.number]
        if node.size != node.root.size:
            raise UntraceableError("a part of what is computed")
        self.groups[step.number].outputs.setdefault(
            value.number, _Output(value, node.root, node.offset)
        )
        self.carriers.setdefault(node.root.number, value)

    def _need_root(self, root: Node) -> None:
        """Let what other steps compute be in memory."""
        if root.kind in ("memory", "result"):
            self._need(root.detail)
        elif root.number not in self.carriers:
            found = [
                number
                for number, node in self.bound.items()
                if node.root is root and node.size == root.size and not self.values[number].base
            ]
            if found:
                value = self.values[found[0]]
            else:
                like = (root.shape, root.strides, root.dtype)
                value = Value(len(self.values), *like, "made")
                self.values.append(value)
                self.bound[value.number] = root
            self._output(value, self.bound[value.number])

    def _keep_single(self) -> None:
        """Let instructions that stand alone be calls: they have kernels already."""
        for step in self.fusion.order:
            if step.kind != "group" or len(members(step)) != 1:
                continue
            position = members(step)[0]
            if position >= len(self.program.instructions):
                continue
            instruction = self.program.instructions[position]
            made = {each.number for each in instruction.outputs if each is not None}
            group = self.groups[step.number]
            if set(group.outputs) <= made and all(map(self._has_array, instruction.operands())):
                for each in instruction.operands():
                    self._need(each)
                del self.groups[step.number]
                self.called.add(id(instruction))
                step.nodes[0].detail = instruction

    def _has_array(self, value: Value) -> bool:
        node = self.bound.get(value.number)
        if node is None:
            return value.base is None or value.number in self.given or self._has_array(value.base)
        return node.root.kind != "number"

    # --- what comes out ------------------------------------------------------------------------

    def _emit(self, step: Step) -> None:
        group = self.groups.get(step.number)
        if group is not None:
            self._emit_chain(group)
            return
        instruction: Instruction = step.nodes[0].detail
        for each in instruction.operands():
            self._provide(each)
        self.made.append(instruction)
        self.there |= {each.number for each in instruction.outputs if each is not None}

    def _provide(self, value: Value) -> None:
        """Put what looks at memory that is there before its reader."""
        if value.number in self.there:
            return
        if value.base is None:
            raise UntraceableError(f"{value} is read before it is made")
        maker = self.makers.get(value.number)
        if maker is not None and self.trace._is_view(maker):
            for each in maker.operands():
                self._provide(each)
            self.made.append(maker)
            self.there |= {each.number for each in maker.outputs if each is not None}
            return
        base = value.base
        self._provide(base)
        offset = value.offset - base.offset

        def look(array: Any) -> Any:
            return strided(array, value.shape, value.strides, value.dtype, offset)

        place = self.made[-1].place if self.made else (None, 0)
        self.made.append(Instruction("op", "view", look, (base,), (value,), place))
        self.there.add(value.number)

    def _emit_chain(self, group: _Group) -> None:
        step = group.step
        run = _Run(self, group)
        for each in run.values:
            self._provide(each)
        positions = members(step)
        known = [nr for nr in positions if nr < len(self.program.instructions)]
        origin = self.program.instructions[known[0]] if known else self.program.instructions[-1]
        names = [self.program.instructions[nr].name for nr in known]
        outputs = tuple([each.value for each in group.outputs.values()])
        made = Instruction(
            "op",
            " ".join(["chain:", *names])[:80],
            run,
            (tuple(run.values),),
            outputs,
            origin.place,
        )
        self.origins[id(made)] = known
        self.made.append(made)
        self.there |= set(group.outputs)

    def result(self) -> Program:
        """The program."""
        return replace(self.program, instructions=self.made, values=self.values)


class _Run:
    """The kernel of a chain, as a function of arrays."""

    def __init__(self, fused: Fused, group: _Group) -> None:
        self.fused, self.step = fused, group.step
        self.values: list[Value] = []
        self.looks: list[tuple[int, int]] = []  # of the kernel's inputs: value and offset
        self.registers: dict[Any, str] = {}
        self.chain = Chain(self.step.count)
        for node in self.step.nodes:
            self._add(node)
        self.outputs = list(group.outputs.values())
        for each in self.outputs:
            register = self.registers[each.node.number]
            node = each.node
            operand = collapsed(node.shape, node.strides, node.dtype)
            self.chain.outputs.append((operand, register))
        if len(self.looks) + len(self.outputs) > _MOST_ARRAYS:
            raise UntraceableError("too many arrays")
        self.kernels: dict[int, Any] = {}  # by how many elements a thread takes at once
        del self.fused
        self._kernel(self.chain.width([0] * (len(self.looks) + len(self.outputs))))

    def _add(self, node: Node) -> None:
        if node.kind != "map":
            raise UntraceableError(node.kind)
        registers = tuple([self._operand(each, node.shape) for each in node.inputs])
        kinds = tuple([each.dtype for each in node.inputs])
        text = expression(node.what, "".join(map(dtype_kind, kinds)))
        if text is None:
            raise UntraceableError(f"there is no text for {node.what}")
        self.registers[node.number] = f"v{len(self.chain.lines)}"
        self.chain.lines.append((text, registers, kinds, node.dtype))

    def _operand(self, node: Node, shape: tuple[int, ...]) -> str:
        chain = self.chain
        if node.kind == "number":
            key: Any = node.detail.tobytes(), node.dtype
            if key not in self.registers:
                self.registers[key] = f"n{len(chain.numbers)}"
                chain.numbers.append(node.detail)
            return self.registers[key]
        root = node.root
        if self.fused.fusion.step_of.get(root.number) is self.step:
            return self.registers[root.number]
        value = root.detail if root.kind in ("memory", "result") else self._carrier(root)
        lead = len(shape) - len(node.shape)
        strides = (0,) * lead + tuple(
            [
                0 if length != wanted else stride
                for length, wanted, stride in zip(
                    node.shape, shape[lead:], node.strides, strict=True
                )
            ]
        )
        operand = collapsed(shape, strides, node.dtype)
        if (
            any([each % node.dtype.itemsize for each in node.strides])
            or node.offset % node.dtype.itemsize
        ):
            raise UntraceableError("elements that are not aligned")
        key = value.number, node.offset, operand
        if key not in self.registers:
            self.registers[key] = f"x{len(chain.inputs)}"
            chain.inputs.append(operand)
            if value not in self.values:
                self.values.append(value)
            self.looks.append((self.values.index(value), node.offset))
        return self.registers[key]

    def _carrier(self, root: Node) -> Value:
        """The value that has a node's memory; its first element is the node's."""
        value = self.fused.carriers[root.number]
        if self.fused.bound[value.number].offset:
            raise UntraceableError("a part of what is computed")
        return value

    def _kernel(self, width: int) -> Any:
        found = self.kernels.get(width)
        if found is None:
            found = self.kernels[width] = state.runtime.compile_chain(self.chain, width)
        return found

    def __call__(self, arrays: Sequence[Any]) -> Any:
        made = []
        places = [address(arrays[nr]) + offset for nr, offset in self.looks]
        for each in self.outputs:
            value = each.value
            if not is_dense(value.shape, value.strides, value.dtype.itemsize):
                raise RuntimeError("a result with gaps")
            made.append(empty_strided(value.shape, value.strides, value.dtype))
        if self.chain.count:
            places += map(address, made)
            width = self.chain.width(places)
            state.runtime.run_chain(self._kernel(width), self.chain, width, places)
        return made[0] if len(made) == 1 else tuple(made)


def fused(program: Program, traced: Callable[[int], bool]) -> tuple[Program, dict[int, list[int]]]:
    """Return the program with chains, and for these, by identity, which instructions they are."""
    found = Fused(program, traced)
    return found.result(), found.origins
