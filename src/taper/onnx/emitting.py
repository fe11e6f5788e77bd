"""From a program, the operators of a forward pass, to a graph of ONNX nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from taper.autograd.provenance import describe
from taper.onnx.errors import OnnxExporterError, UnsupportedOperatorError
from taper.onnx.graph import Graph, Result, Value
from taper.onnx.mapping.table import MAPPING
from taper.onnx.places import Places
from taper.onnx.sizes import Program, Varying
from taper.onnx.tracing import Ref, Step


class Emitter:
    """Maps the steps of a program, one after the other."""

    def __init__(self, program: Program, graph: Graph) -> None:
        self.program = program
        self.graph = graph
        self.places = Places(graph, self.replay)
        self.states: dict[str, int] = {}  # name -> the number of a tensor
        self.missing: dict[
            Ref, Step
        ] = {}  # outputs that neither this step nor one before it has nodes for

    def value_of(self, ref: Ref) -> Value:
        """Return the newest value of a tensor; parameters and constants become one on first use."""
        if not self.places.has(ref):
            self.places.set(ref, self._first_value(ref))
        return self.places.read(ref)

    def _first_value(self, ref: Ref) -> Value:
        program = self.program
        shape, dtype = program.shapes[ref.number], program.dtypes[ref.number]
        if ref.number in program.states:
            value = Value(self.graph.free(program.states[ref.number]), dtype, shape)
            self.states[value.name] = ref.number
            return value
        value = Value(f"constant of {describe(program.seen_at[ref.number])}", dtype, shape)
        value.arrays = program.constants[ref.number]
        return value

    def arguments_of(self, argument: Any) -> Any:
        """Return an argument with values instead of numbers of tensors."""
        if isinstance(argument, Ref):
            return self.value_of(argument)
        if isinstance(argument, tuple) and not isinstance(argument, Varying):
            return tuple(map(self.arguments_of, argument))
        return argument

    def replay(self, step: Step, source: Value) -> list[Any]:
        """Return the values that a view operator gives for another value of its tensor."""
        return self.map(step, (source, *map(self.arguments_of, step.arguments[1:])))

    def run(self, step: Step) -> None:
        """Add the nodes of a step."""
        reason = next(filter(None, map(self.missing.get, _refs(step.arguments))), None)
        if reason is not None:
            self.missing |= dict.fromkeys(step.outputs, reason)
            return
        values = self.map(step, tuple(map(self.arguments_of, step.arguments)))
        if step.writes:
            target = step.outputs[0]
            self.places.write(target, self._fitted(values[0], target))
            return
        for number, (ref, value, view) in enumerate(
            zip(step.outputs, values, step.views, strict=False)
        ):
            if value is None:
                self.missing[ref] = step
                continue
            if view is None:
                self.places.set(ref, value)
            else:
                self.places.set_view(ref, value, view, step, number)

    def _fitted(self, value: Value, target: Ref) -> Value:
        """Return a result as it is after being written into a tensor."""
        value = self.graph.cast(value, self.program.dtypes[target.number])
        return self.graph.expand(value, self.program.shapes[target.number])

    def map(self, step: Step, arguments: tuple[Any, ...]) -> list[Any]:
        """Return the values of the outputs of a step; None where the nodes do not give one."""
        function = MAPPING.get(step.op.name)
        if function is None:
            raise UnsupportedOperatorError(
                f"the operator {step.label!r} has no ONNX nodes in taper.onnx. Write it with other "
                "operators, or leave it out of the exported model. "
                f"It was called at {describe(step.where)}"
            )
        graph, program = self.graph, self.program
        graph.scope = step.scope
        graph.results = [
            Result(program.shapes[r.number], program.dtypes[r.number]) for r in step.outputs
        ]
        try:
            found = function(graph, *arguments)
        except (OnnxExporterError, TypeError) as error:
            if isinstance(error, TypeError) and not _varies(step.arguments, program):
                raise
            reason = str(error) if isinstance(error, OnnxExporterError) else _NOT_DYNAMIC
            raise OnnxExporterError(
                f"{step.label}: {reason}. It was called at {describe(step.where)}"
            ) from error
        values = list(found) if isinstance(found, tuple | list) else [found]
        for value, result in zip(values, graph.results, strict=False):
            if value is not None:
                value.shape = result.shape
        return values


_NOT_DYNAMIC = (
    "an argument or a shape that must be fixed depends on a dynamic size. Leave the size out of "
    "dynamic_axes"
)


def _refs(argument: Any) -> Iterator[Ref]:
    """Yield the tensors in an argument."""
    if isinstance(argument, Ref):
        yield argument
    elif isinstance(argument, tuple) and not isinstance(argument, Varying):
        for each in argument:
            yield from _refs(each)


def _varies(argument: Any, program: Program) -> bool:
    """Return whether an argument holds a size that varies."""
    if isinstance(argument, Varying):
        return True
    if isinstance(argument, Ref):
        return any(isinstance(each, Varying) for each in program.shapes[argument.number])
    return isinstance(argument, tuple) and any(_varies(each, program) for each in argument)


def emit(program: Program, graph: Graph, inputs: list[Value]) -> tuple[list[Value], dict[str, int]]:
    """Fill the graph; return the outputs' values, and the parameters with their numbers."""
    emitter = Emitter(program, graph)
    for ref, value in zip(program.inputs, inputs, strict=True):
        emitter.places.set(ref, value)
    for step in program.steps:
        emitter.run(step)
    graph.scope = ""
    outputs = []
    for ref in program.outputs:
        if ref in emitter.missing:
            step = emitter.missing[ref]
            raise OnnxExporterError(
                f"the model returns a value that depends on an output of {step.label} without ONNX "
                f"nodes in taper.onnx. It was called at {describe(step.where)}"
            )
        value = emitter.value_of(ref)
        graph.named(value)
        outputs.append(value)
    return outputs, emitter.states
