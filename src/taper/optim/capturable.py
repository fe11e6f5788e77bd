"""Steps whose numbers stay on the GPU: `capturable=True`.

The states of one number (`step`) lie on the device, one vector for neighbours.  The coefficients of
a rule are computed from that vector there, and the kernel reads them there; so a step that is in a
graph goes on counting.  Loaded for parameters on a GPU only.

Owns: the vectors, and which optimizers can do without a look at the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from taper.gpu import rules
from taper.gpu.array import CudaArray, address, empty, root_block, to_device
from taper.optim.programs import program_of
from taper.optim.update import Place, computed_in, count_writes, new_state
from taper.tensor import Tensor

_WIDE = np.dtype(np.float64)


class CapturableStep:
    """One step over parameters that are neighbours, of one dtype and with states of one age."""

    def __init__(self, optimizer: Any, group: dict[str, Any], params: list[Tensor]) -> None:
        self.optimizer, self.group, self.params = optimizer, group, params
        self.names = tuple(optimizer._arrays(group))
        self.first = not optimizer._has_state(params[0], self.names)
        if self.first:
            for param in params:
                optimizer._new_state(param, group)
        self.states = [optimizer.state[each] for each in params]
        self.numbers = [[each[name] for each in self.states] for name in optimizer._scalars]
        self.dtype = params[0]._array.dtype
        self.columns: tuple[list[Any], ...] = (
            [each._array for each in params],
            [each._autograd_meta.grad._array for each in params],
            *[[each[name]._array for each in self.states] for name in self.names],
        )
        self.writes = 1

    def is_ready(self) -> bool:
        """Whether the states of one number lie in vectors already."""
        return all([are_united([each._array for each in some]) for some in self.numbers])

    def run(self, options: dict[str, Any]) -> None:
        """Update the arrays by coefficients that come from the options."""
        optimizer, vectors = self.optimizer, list(map(united, self.numbers))
        if optimizer._looks_at_numbers:
            scalars = tuple([each.item() for each in vectors])
        else:
            scalars = tuple([each.astype(_WIDE) for each in vectors])
        numbers = optimizer._numbers(options, scalars, computed_in(self.dtype))
        numbers.first = self.first
        program = program_of(type(optimizer)._rule, numbers, len(self.columns))
        if program is None:
            raise NotImplementedError(f"capturable steps of {type(optimizer).__name__}")
        constants = program.constants(numbers)
        where = empty((max(len(constants), 1), len(self.params)), computed_in(self.dtype))
        for row, value in zip(where, constants, strict=False):
            row[...] = value
        if not rules.run(program.instructions, self.columns, constants, where):
            raise NotImplementedError("capturable steps of parameters with gaps in memory")
        for vector, after in zip(vectors, numbers.after, strict=True):
            vector[...] = after
        self.writes = numbers.writes

    def count(self, place: Place) -> None:
        """Count the writes."""
        count_writes(place, self.params, self.writes)
        names = (*self.optimizer._scalars, *self.names)
        count_writes(place, [each[name] for each in self.states for name in names])


def steps_of(optimizer: Any, group: dict[str, Any], ready: list[Tensor]) -> Iterator[Any]:
    """The parameters in runs that go together."""
    names = tuple(optimizer._arrays(group))
    position = 0
    while position < len(ready):
        kind = ready[position]._array.dtype, optimizer._has_state(ready[position], names)
        end = position + 1
        while (
            end < len(ready)
            and not optimizer._looks_at_numbers
            and (ready[end]._array.dtype, optimizer._has_state(ready[end], names)) == kind
        ):
            end += 1
        yield CapturableStep(optimizer, group, ready[position:end])
        position = end


def update(optimizer: Any, group: dict[str, Any], ready: list[Tensor], place: Place) -> None:
    """Make a step; hyperparameters that are tensors on the device are not looked at."""
    options = {name: _on_device(value) for name, value in group.items() if name != "params"}
    for step in list(steps_of(optimizer, group, ready)):
        step.run(options)
        step.count(place)


def _on_device(value: Any) -> Any:
    if isinstance(value, Tensor) and value._array.__class__ is CudaArray:
        return value._array.astype(_WIDE).reshape(())
    if value.__class__ is tuple:
        return tuple([_on_device(each) for each in value])
    return value


def scalar_on_device(value: float, dtype: np.dtype) -> Tensor:
    """Make a state of one number on the device."""
    return new_state(to_device(np.full(1, value, dtype)).reshape(()))


def are_united(arrays: list[Any]) -> bool:
    """Whether arrays of one number lie one behind the other."""
    block, start, size = root_block(arrays[0]), address(arrays[0]), arrays[0].itemsize
    return all(
        [
            root_block(each) is block and address(each) == start + nr * size
            for nr, each in enumerate(arrays)
        ]
    )


def united(tensors: list[Tensor]) -> Any:
    """Return the vector that states of one number lie in; they are moved to one if need be."""
    arrays: list[Any] = [each._array for each in tensors]
    if are_united(arrays):
        first = arrays[0]
        if len(arrays) == 1:
            return first.reshape(1)
        vector: Any = first.strided((len(arrays),), (first.itemsize,))
        return vector
    vector = np.stack(arrays)
    for nr, each in enumerate(tensors):
        each._array = vector[nr : nr + 1].reshape(())
    return vector
