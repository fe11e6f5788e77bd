"""The rows of a module summary: layers in the order of their calls, with what belongs to each.

Owns: which rows there are, their depth, and which parameters each stands for.  A layer that is
called again has a row again, marked recursive; a container that is never called, such as a
ModuleList, has a row above its called parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from taper.nn.modules.module import Module
from taper.nn.parameter import is_lazy
from taper.viz.trial import Run

__all__ = ["Layer", "called_layers", "registered_layers"]


@dataclass(slots=True, eq=False)
class Layer:
    """One row of a summary.

    Attributes:
        class_name: of the module.
        var_name: the name under which its holder has it; the class's of the model itself.
        path: the names down to it from the model, joined by dots; '' for the model.
        depth, depth_index: how deep it is, and its number among the layers of that depth.
        input_size, output_size: the shape of the first tensor that it took and gave; None if it was
            not called or there was none.
        num_params, trainable_params: the elements of its parameters, of all layers inside it too.
        leftover_params: those of them that no row below it shows.
        mult_adds: multiply-adds of the call, with all inside it.
        output_bytes, saved_bytes: of what it returned, and of what it saved for backward.
        forward_time, backward_time: seconds; None if they were not measured.
        recursive: whether an earlier row is the same module.
        children: the rows right below it.

    >>> import taper
    >>> model = taper.nn.Sequential(taper.nn.Linear(3, 2))
    >>> layer = taper.viz.summary(model, (5, 3), verbose=0).layers[1]
    >>> layer.class_name, layer.path, layer.output_size, layer.num_params, layer.mult_adds
    ('Linear', '0', (5, 2), 8, 40)
    """

    class_name: str
    var_name: str
    path: str
    depth: int
    depth_index: int = 0
    input_size: tuple[int, ...] | None = None
    output_size: tuple[int, ...] | None = None
    kernel_size: tuple[int, ...] | int | None = None
    num_params: int = 0
    trainable_params: int = 0
    param_bytes: int = 0
    leftover_params: int = 0
    mult_adds: int = 0
    output_bytes: int = 0
    saved_bytes: int = 0
    forward_time: float | None = None
    backward_time: float | None = None
    recursive: bool = False
    is_lazy: bool = False
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    children: list[Layer] = field(default_factory=list, repr=False)

    def __iter__(self) -> Iterator[Layer]:
        """Yield the row and all below it, in order."""
        stack = [self]
        while stack:
            layer = stack.pop()
            yield layer
            stack.extend(reversed(layer.children))

    @property
    def trainable(self) -> str:
        """`True`, `False` or `Partial` as to its parameters; `--` if it has none."""
        if not self.num_params:
            return "--"
        if self.num_params == self.trainable_params:
            return "True"
        return "Partial" if self.trainable_params else "False"


class _Rows:
    """Makes the rows of a model, each with the parameters that it stands for."""

    def __init__(self, model: Module) -> None:
        self.paths: dict[int, str] = {}
        for path, module in model.named_modules():
            self.paths.setdefault(id(module), path)
        self.modules: dict[int, Module] = {}  # by `id` of the row

    def row(self, module: Module, path: str, depth: int) -> Layer:
        """Return the row of a module without what a call tells."""
        layer = Layer(type(module).__name__, path.rpartition(".")[2], path, depth)
        self.modules[id(layer)] = module
        layer.var_name = layer.var_name or layer.class_name
        kernel = getattr(module, "kernel_size", None)
        if isinstance(kernel, int):
            layer.kernel_size = kernel
        elif isinstance(kernel, tuple | list):
            layer.kernel_size = tuple(kernel)
        named = [(name, each) for name, each in module.named_parameters() if not is_lazy(each)]
        layer.is_lazy = any(is_lazy(each) for each in module.parameters())
        layer.parameters = tuple((name, tuple(each.shape)) for name, each in named)
        layer.num_params = _count(each for _, each in named)
        layer.trainable_params = _count(each for _, each in named if each.requires_grad)
        layer.param_bytes = sum(each.nbytes for _, each in named)
        return layer

    def finish(self, top: Layer) -> None:
        """Number the rows of each depth, and find repetitions and what only a row itself shows."""
        numbers: dict[int, int] = {}
        earlier: set[int] = set()
        rows = list(top)
        for layer in reversed(rows):
            if layer.output_size is None and layer.input_size is None:  # it was not called
                _add_up(layer)
        for layer in rows:
            numbers[layer.depth] = layer.depth_index = numbers.get(layer.depth, 0) + 1
            module = self.modules[id(layer)]
            layer.recursive = id(module) in earlier
            earlier.add(id(module))
            below = {
                id(each)
                for inner in layer.children
                for each in self.modules[id(inner)].parameters()
            }
            own = [each for each in module.parameters() if not is_lazy(each)]
            layer.leftover_params = _count(each for each in own if id(each) not in below)


def _add_up(container: Layer) -> None:
    for each in container.children:
        container.mult_adds += each.mult_adds
        container.saved_bytes += each.saved_bytes
        if each.forward_time is not None:
            container.forward_time = (container.forward_time or 0.0) + each.forward_time
        if each.backward_time is not None:
            container.backward_time = (container.backward_time or 0.0) + each.backward_time


def _count(parameters: Iterable[Any]) -> int:
    return sum(prod(each.shape) for each in parameters)


def called_layers(root: Run) -> Layer:
    """Return the rows of a run: one for each call, and containers above them."""
    rows = _Rows(root.module)
    top = rows.row(root.module, "", 0)
    described = [(top, root)]
    for layer, run in described:  # grows meanwhile
        for call in run.calls:
            path = rows.paths.get(id(call.module), "")
            holder = _container(rows, root.module, layer, path)
            inner = rows.row(call.module, path, holder.depth + 1)
            holder.children.append(inner)
            described.append((inner, call))
        _describe(layer, run)
    rows.finish(top)
    return top


def _container(rows: _Rows, model: Module, layer: Layer, path: str) -> Layer:
    """Return the row below which that of `path` belongs: the caller's, or a container in it."""
    start = f"{layer.path}." if layer.path else ""
    if not path.startswith(start):
        return layer  # called by a module that is not around it
    names = path[len(start) :].split(".")[:-1]
    for name in names:
        inner = f"{layer.path}.{name}".lstrip(".")
        last = layer.children[-1] if layer.children else None
        if last is None or last.path != inner or last.output_size is not None:
            last = rows.row(model.get_submodule(inner), inner, layer.depth + 1)
            layer.children.append(last)
        layer = last
    return layer


def _describe(layer: Layer, run: Run) -> None:
    layer.input_size = run.inputs[0] if run.inputs else None
    layer.output_size = run.outputs[0] if run.outputs else None
    layer.mult_adds = run.multiply_adds
    layer.output_bytes, layer.saved_bytes = run.output_bytes, run.saved_bytes
    layer.forward_time = run.forward
    layer.backward_time = run.backward


def registered_layers(model: Module) -> Layer:
    """Return the rows of a model that was not called: one for each module in another."""
    rows = _Rows(model)
    top = rows.row(model, "", 0)
    described = [(top, model)]
    seen: set[int] = set()
    for layer, module in described:  # grows meanwhile
        if id(module) in seen:
            continue  # what is inside stands below the first row
        seen.add(id(module))
        for name, child in module._modules.items():
            if child is not None:
                path = f"{layer.path}.{name}".lstrip(".")
                inner = rows.row(child, path, layer.depth + 1)
                layer.children.append(inner)
                described.append((inner, child))
    rows.finish(top)
    return top
