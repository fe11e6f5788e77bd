"""Dynamic axes: which sizes may vary, and the runs of a model that show what depends on them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from taper.nn.modules.module import Module
from taper.onnx.errors import OnnxExporterError
from taper.onnx.tracing import ConstantsNeededError, Trace
from taper.tensor import Tensor, wrap

_CHANGES = (0, 1, 3)  # two runs show how a number depends on a size, the third confirms it


class DynamicSizes:
    """The sizes that may vary: their names, and the axes of inputs that have them."""

    def __init__(self, axes: Mapping[str, Any], inputs: list[tuple[str, Tensor]]) -> None:
        self._inputs = inputs
        self._names: dict[int, dict[int, str]] = {}  # by the id of a tensor, by axis
        by_name = dict(inputs)
        for key, given in axes.items():
            if key not in by_name:
                continue  # the axis of an output follows from the graph
            tensor = by_name[key]
            named = given if isinstance(given, Mapping) else _numbered(key, given)
            checked = {}
            for axis, name in named.items():
                if not -tensor.ndim <= axis < tensor.ndim:
                    raise ValueError(
                        f"dynamic_axes of {key!r} names axis {axis}, but it has {tensor.ndim}"
                    )
                checked[axis % tensor.ndim] = name or f"{key}_dim_{axis % tensor.ndim}"
            self._names[id(tensor)] = checked

    def sizes(self) -> dict[str, int]:
        """Return the size that each name has in the example inputs."""
        found: dict[str, int] = {}
        for _, tensor in self._inputs:
            for axis, name in self._names.get(id(tensor), {}).items():
                if found.setdefault(name, tensor.shape[axis]) != tensor.shape[axis]:
                    raise OnnxExporterError(
                        f"the dynamic size {name!r} is {found[name]} in one input and "
                        f"{tensor.shape[axis]} in another"
                    )
        return found

    def runs(
        self, run: Callable[[Callable[[Any], Any], int], Trace]
    ) -> tuple[list[Trace], dict[str, tuple[int, ...]]]:
        """Return traces of the model with other sizes, and each named size's values in them."""
        first = self.sizes()
        failures = []
        for sizes in _changed(first):
            count = len(_CHANGES) if first else 2
            try:
                return [run(self._inputs_for(sizes, nr), nr) for nr in range(count)], sizes
            except (OnnxExporterError, ConstantsNeededError):
                raise
            except Exception as error:
                if not first:
                    raise
                failures.append(error)
        raise OnnxExporterError(
            f"the model does not run with other sizes than {first}: {failures[-1]}. "
            "Leave what is fixed out of dynamic_axes"
        ) from failures[-1]

    def _inputs_for(self, sizes: dict[str, tuple[int, ...]], run: int) -> Callable[[Any], Any]:
        """Return a function that makes the arguments of a run from the example."""

        def changed(argument: Any) -> Any:
            if not isinstance(argument, Tensor):
                return argument
            array = argument._array
            for axis, name in self._names.get(id(argument), {}).items():
                places = np.arange(sizes[name][run]) % max(array.shape[axis], 1)
                array = np.take(array, places, axis)
            if run:  # other values of the same kind, to see what Python computes from them
                array = np.roll(array, run)
            return wrap(np.array(array, copy=True))

        return changed


def _changed(first: dict[str, int]) -> Iterator[dict[str, tuple[int, ...]]]:
    """Yield sizes for the runs: larger ones, then smaller ones too, where the model has limits.

    Each name has its own size, since equal ones would look like one.  A size of one is made larger,
    because programs treat one in a special way.
    """
    signs = itertools.product((1, -1), repeat=len(first)) if len(first) < 5 else [(1,) * len(first)]
    for sign in signs:
        found = {}
        for nr, (name, size) in enumerate(first.items()):
            apart = [each and each * (nr + 1) + nr for each in _CHANGES]
            # Not the limit itself: there `x[:limit]` is `x`, and no slice is seen.
            start = size + (size == 1) if sign[nr] > 0 else size - 1
            found[name] = tuple(start + sign[nr] * each for each in apart)
        if all(min(each) > 1 for each in found.values()) and len(set(found.values())) == len(found):
            yield found


def _numbered(key: str, axes: Any) -> dict[int, str]:
    return {axis: f"{key}_dynamic_axes_{nr}" for nr, axis in enumerate(axes, 1)}


def axes_of_shapes(
    shapes: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ports: Any
) -> dict[str, dict[int, str]]:
    """Return `dynamic_shapes` as `dynamic_axes`: an entry for each argument that is a tensor."""
    forward = model.forward if isinstance(model, Module) else model
    parameters = list(inspect.signature(forward).parameters)
    arguments = dict(zip(parameters, args, strict=False)) | kwargs
    given = shapes if isinstance(shapes, Mapping) else dict(zip(arguments, shapes, strict=False))
    names = {id(tensor): name for name, tensor in ports}
    found: dict[str, dict[int, str]] = {}
    for key, shape in given.items():
        argument = arguments.get(key)
        if not shape:
            continue
        if not isinstance(argument, Tensor):
            raise NotImplementedError(
                f"dynamic_shapes of {key!r}, which is no tensor: use dynamic_axes with input_names"
            )
        sizes = shape if isinstance(shape, Mapping) else dict(enumerate(shape))
        found[names[id(argument)]] = {
            axis: size if isinstance(size, str) else getattr(size, "__name__", f"{key}_dim_{axis}")
            for axis, size in sizes.items()
            if size is not None and not isinstance(size, int)
        }
    return found
