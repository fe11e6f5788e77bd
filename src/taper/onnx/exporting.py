"""`export`: a model's forward pass as an ONNX file."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from taper.files.atomic import replacing, write_all
from taper.nn.modules.module import Module
from taper.onnx.dynamic import DynamicSizes, axes_of_shapes
from taper.onnx.emitting import emit
from taper.onnx.errors import OnnxExporterWarning
from taper.onnx.graph import Graph, Value
from taper.onnx.model_file import Piece, Port, model_pieces
from taper.onnx.modes import OperatorExportTypes, TrainingMode, exporting
from taper.onnx.sizes import Program, Varying
from taper.onnx.tracing import ConstantsNeededError, trace
from taper.tensor import Tensor
from taper.utils._pytree import tree_leaves, tree_map

_OPSETS = range(18, 21)
_OLDEST = 7


class ONNXProgram:
    """An exported model, which `save` writes to a file.

    >>> import io
    >>> import taper
    >>> program = taper.onnx.export(taper.nn.Linear(2, 1), (taper.ones(1, 2),))
    >>> file = io.BytesIO()
    >>> program.save(file)
    >>> len(file.getvalue()) > 0
    True
    """

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces

    def save(self, destination: Any) -> None:
        """Write the model to a path, whole or not at all, or to a file object."""
        if hasattr(destination, "write"):
            for piece in self._pieces:
                write_all(destination, piece)
            return
        with replacing(os.fspath(destination)) as file:
            for piece in self._pieces:
                write_all(file, piece)


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Run the model on `args` and write the operators it called as an ONNX model.

    The graph is that of this run: it has no `if` and no loop.  Parameters keep their names.

    Args:
        model: a module or a function.
        args: the example inputs, a tensor or a tuple; a dict at the end holds keyword arguments.
        f: a path, which is replaced when the model is complete, or a file object; without it the
            program is returned.
        kwargs: keyword arguments of the model.
        input_names: names of the inputs; by default those of the parameters.
        output_names: names of the outputs.
        opset_version: the version of ONNX's operators.
        dynamic_axes: axes whose sizes may vary later, by the name of the input; the model runs
            several times to see what depends on them.
        dynamic_shapes: the same in the form of PyTorch's newer exporter.
        export_params: write the values of parameters into the file.
        keep_initializers_as_inputs: list parameters among the inputs, too.
        training: the mode of the model's modules during the export.
        custom_translation_table, custom_opsets, export_modules_as_functions: refused.

    Options that only concern how PyTorch's two exporters work (`dynamo`, `optimize`, `report`, ...)
    are accepted and change nothing.

    >>> import io, taper
    >>> file = io.BytesIO()
    >>> taper.onnx.export(taper.nn.Linear(3, 2), (taper.ones(1, 3),), file, input_names=["x"])
    >>> b"weight" in file.getvalue()
    True
    """
    for name, given in (
        ("custom_translation_table", custom_translation_table),
        ("custom_opsets", custom_opsets),
        ("export_modules_as_functions", export_modules_as_functions),
    ):
        if given:
            raise NotImplementedError(f"{name} is not supported: write the model with operators")
    opset = _opset(opset_version)
    positional = args if isinstance(args, tuple) else (args,)
    named = dict(kwargs or {})
    if positional and isinstance(positional[-1], dict) and kwargs is None:
        named, positional = dict(positional[-1]), positional[:-1]
    ports = _port_names(model, positional, named, input_names)
    axes = dict(dynamic_axes or {})
    if dynamic_shapes is not None:
        axes |= axes_of_shapes(dynamic_shapes, model, positional, named, ports)
    with exporting(), _mode(model, training):
        program = _program(model, positional, named, DynamicSizes(axes, ports))
    pieces = _pieces(
        program, model, ports, output_names, opset, export_params, keep_initializers_as_inputs
    )
    found = ONNXProgram(pieces)
    if f is None:
        return found
    found.save(f)
    return None


def _opset(version: int | None) -> int:
    if version is None or version in _OPSETS:
        return version or _OPSETS[0]
    if not _OLDEST <= version < _OPSETS[0]:
        raise RuntimeError(f"Unsupported onnx_opset_version: {version}")
    warnings.warn(
        f"opset_version={version} is older than the oldest that is written: the model has opset "
        f"{_OPSETS[0]}",
        OnnxExporterWarning,
        stacklevel=3,
    )
    return _OPSETS[0]


def _port_names(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Sequence[str] | None
) -> list[tuple[str, Tensor]]:
    """Return a name for each tensor among the arguments: a given one, or the parameter's."""
    forward = model.forward if isinstance(model, Module) else model
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    simple = [each.name for each in parameters if each.kind <= each.POSITIONAL_OR_KEYWORD]
    found: list[tuple[str, Tensor]] = []
    entries = [(simple[nr] if nr < len(simple) else f"input_{nr}", a) for nr, a in enumerate(args)]
    for name, argument in [*entries, *kwargs.items()]:
        tensors = [each for each in tree_leaves(argument) if isinstance(each, Tensor)]
        several = not isinstance(argument, Tensor)
        found += [(f"{name}_{nr}" if several else name, each) for nr, each in enumerate(tensors)]
    names = list(given or ())
    if len(names) > len(found):
        raise RuntimeError(
            f"number of input names provided ({len(names)}) exceeded number of inputs "
            f"({len(found)})"
        )
    return [(names[nr] if nr < len(names) else name, t) for nr, (name, t) in enumerate(found)]


@contextlib.contextmanager
def _mode(model: Any, training: TrainingMode) -> Iterator[None]:
    """Put the model's modules into the mode that is exported, during the block."""
    modules = list(model.modules()) if isinstance(model, Module) else []
    before = [each.training for each in modules]
    try:
        if training != TrainingMode.PRESERVE:
            for each in modules:
                each.training = training == TrainingMode.TRAINING
        yield
    finally:
        for each, mode in zip(modules, before, strict=True):
            each.training = mode


def _program(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: DynamicSizes
) -> Program:
    """Return the model's operators, seen in several runs with other sizes and other values."""

    def program(constants: bool) -> Program:
        traces, sizes = dynamic.runs(
            lambda change, seed: trace(
                model, tree_map(change, args), tree_map(change, kwargs), constants, seed
            )
        )
        return Program(traces, sizes)

    try:
        found = program(False)
    except ConstantsNeededError:
        return program(True)
    return program(True) if found.has_odd_constants else found


def _pieces(
    program: Program,
    model: Any,
    ports: list[tuple[str, Tensor]],
    output_names: Sequence[str] | None,
    opset: int,
    export_params: bool,
    as_inputs: bool,
) -> list[Piece]:
    graph = Graph(program.sizes, opset)
    inputs = []
    for (name, _), ref in zip(ports, program.inputs, strict=True):
        value = Value(graph.free(name), program.dtypes[ref.number], program.shapes[ref.number])
        inputs.append(value)
        for axis, size in enumerate(value.sizes):
            for dynamic, values in program.sizes.items():
                if isinstance(size, Varying) and size.values == values:
                    graph.places.setdefault(dynamic, (value, axis))
    outputs, states = emit(program, graph, inputs)
    names = _output_names(graph, outputs, output_names)
    for value, name in zip(outputs, names, strict=True):
        graph.op("Identity", value)
        graph.nodes[-1].outputs[0] = name
    nodes = graph.without_unused(names)
    nodes = _named_at_source(nodes, names)
    used = {each for node in nodes for each in node.inputs}
    tensors = _state_of(model)
    kept = {n: tensors[program.states[nr]] for n, nr in states.items() if n in used}
    in_ports = [_port(program, value.name, value) for value in inputs]
    out_ports = [_port(program, n, value) for n, value in zip(names, outputs, strict=True)]
    if as_inputs or not export_params:
        in_ports += [Port(n, each.dtype, tuple(each.shape)) for n, each in kept.items()]
    arrays = {n: each._array for n, each in kept.items()} if export_params else {}
    return model_pieces(nodes, arrays | graph.initializers, in_ports, out_ports, opset)


def _state_of(model: Any) -> dict[str, Tensor]:
    if not isinstance(model, Module):
        return {}
    return dict((*model.named_parameters(), *model.named_buffers()))


def _output_names(graph: Graph, outputs: list[Value], given: Sequence[str] | None) -> list[str]:
    names = list(given or ())
    if len(names) > len(outputs):
        raise RuntimeError(
            f"number of output names provided ({len(names)}) exceeded number of outputs "
            f"({len(outputs)})"
        )
    names += ["output" if len(outputs) == 1 else f"output_{nr}" for nr in range(len(outputs))][
        len(names) :
    ]
    return [graph.free(each) for each in names]


def _named_at_source(nodes: list[Any], names: list[str]) -> list[Any]:
    """Let nodes make the outputs themselves, if a copy of one would only rename it."""
    makers = {output: node for node in nodes for output in node.outputs}
    renamed: dict[str, str] = {}
    kept = []
    for node in nodes:
        source = node.inputs[0] if node.inputs else ""
        if node.outputs[0] in names and node.kind == "Identity":
            if source in makers and source not in renamed and source not in names:
                renamed[source] = node.outputs[0]
                continue
        kept.append(node)
    for node in kept:
        node.inputs[:] = [renamed.get(each, each) for each in node.inputs]
        node.outputs[:] = [renamed.get(each, each) for each in node.outputs]
    return kept


def _port(program: Program, name: str, value: Value) -> Port:
    """Return the declaration of an input or output, with the names of the sizes that vary."""
    shape: list[int | str] = []
    for axis, size in enumerate(value.sizes):
        if isinstance(size, Varying):
            fitting = [each for each, values in program.sizes.items() if values == size.values]
            shape.append(fitting[0] if fitting else f"{name}_dim_{axis}")
        else:
            shape.append(size)
    return Port(name, value.dtype, tuple(shape))
