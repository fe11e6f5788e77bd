"""Steps of optimizers, and the clipping of gradients, inside graphs.

Owns: when a step may be in a graph, and what Python does of it.  The kernels of a graph read the
coefficients of a step from memory that is written before each launch; they are computed from the
options of the groups, so a scheduler works.  Counts and the numbers among the states follow.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, is_, itemgetter
from typing import Any

import numpy as np

from taper.autograd.views import bump_version
from taper.gpu import rules, state
from taper.gpu.array import CudaArray
from taper.optim.adam import AdamNumbers
from taper.optim.capturable import CapturableStep, _on_device, steps_of
from taper.optim.packs import Alone, Pack
from taper.optim.programs import program_of
from taper.optim.rule_optimizer import RuleOptimizer, ready_parameters
from taper.optim.update import computed_in
from taper.program.form import Instruction, Place
from taper.program.recording import variables_of
from taper.program.updates import has_extras, is_plain_step
from taper.tensor import Tensor

_array_of = attrgetter("_array")
_grad_of = attrgetter("_autograd_meta.grad._array")


_CLIPS = ("clip_grad_norm_", "clip_grad_value_")


def is_step(instruction: Instruction) -> bool:
    """Whether an instruction is a step by the rule of an optimizer."""
    return instruction.kind == "python" and is_plain_step(instruction.of, instruction.name)


def is_clip(instruction: Instruction) -> bool:
    """Whether an instruction clips gradients."""
    return instruction.kind == "python" and instruction.name in _CLIPS


def inside_of(instruction: Instruction, run: Callable[[], None]) -> Step | Clip | None:
    """Return what a graph may hold of a call of Python; `run` runs the instruction."""
    if is_step(instruction):
        return Step(instruction.of, instruction.place)
    return Clip(instruction, run) if is_clip(instruction) else None


class Clip:
    """The clipping of gradients as a part of a graph."""

    def __init__(self, instruction: Instruction, run: Callable[[], None]) -> None:
        self.write = run
        function: Any = variables_of(instruction.run).get("function", instruction.run)
        given = function.args[0] if function.args else function.keywords["parameters"]
        self.params = [given] if isinstance(given, Tensor) else list(given)
        self.ready: list[Tensor] = []

    def fits(self, arrived: set[int]) -> bool:
        """Whether a graph can hold it; `arrived` are the leaves whose gradients it makes."""
        self.ready = [each for each in self.params if each.grad is not None]
        return all(
            [id(each) in arrived and _grad_of(each).__class__ is CudaArray for each in self.ready]
        )

    def may_run(self) -> bool:
        """Whether the same gradients are clipped as when the graph was written."""
        given = {id(each) for each in self.ready}
        return all([id(each) in given or each.grad is None for each in self.params])

    def prepare(self) -> None:
        """Nothing changes from launch to launch."""

    def finish(self) -> None:
        """Count the writes."""
        for each in self.ready:
            if each.grad is not None:
                bump_version(each.grad)


class Step:
    """A step of an optimizer as a part of a graph."""

    def __init__(self, optimizer: RuleOptimizer, place: Place) -> None:
        self.optimizer, self.place = optimizer, place
        self.groups: list[_Group] = []
        self.parts: list[_Part | _DevicePart] = []

    def fits(self, arrived: set[int]) -> bool:
        """Whether a graph can hold the step; `arrived` are the leaves whose gradients it makes."""
        optimizer = self.optimizer
        if has_extras(optimizer):
            return False
        for options in optimizer.param_groups:
            sparse: list[Tensor] = []
            ready = ready_parameters(options, "", sparse)
            if sparse or any([id(each) not in arrived for each in ready]):
                return False
            if any([each._array.__class__ is not CudaArray for each in ready]):
                return False
            self.groups.append(_Group(options, ready))
            if options.get("capturable"):
                if not self._takes_capturable(options, ready):
                    return False
                continue
            position = 0
            while position < len(ready):
                run = optimizer._runs.get(ready[position])
                if run is None:
                    return False
                part = _Part(optimizer, options, ready, position, run)
                if not part.look() or not rules.takes(part.columns):
                    return False
                self.parts.append(part)
                position += len(run.params)
        return True

    def _takes_capturable(self, options: dict[str, Any], ready: list[Tensor]) -> bool:
        """Take note of parameters whose numbers stay on the device."""
        optimizer, names = self.optimizer, tuple(self.optimizer._arrays(options))
        if optimizer._looks_at_numbers or options.get("differentiable"):
            return False
        if not all([optimizer._has_state(each, names) for each in ready]):
            return False
        found = [_DevicePart(each) for each in steps_of(optimizer, options, ready)]
        self.parts += found
        return all([each.step.is_ready() and rules.takes(each.step.columns) for each in found])

    def write(self) -> None:
        """Put the kernels into the graph that is being written."""
        for part in self.parts:
            part.write()

    def may_run(self) -> bool:
        """Whether the coming step is like the one that was written; computes its coefficients."""
        groups = self.optimizer.param_groups
        if has_extras(self.optimizer) or len(groups) != len(self.groups):
            return False
        return all([one.holds(other) for one, other in zip(self.groups, groups, strict=True)]) and (
            all([part.look() for part in self.parts])
        )

    def prepare(self) -> None:
        """Write the coefficients to where the kernels read them."""
        for part in self.parts:
            part.prepare()

    def finish(self) -> None:
        """Keep the numbers among the states, and count the writes."""
        for part in self.parts:
            part.finish(self.place)


class _Group:
    """One group of parameters, as it was when the graph was written."""

    def __init__(self, options: dict[str, Any], ready: list[Tensor]) -> None:
        self.options, self.params = options, list(options["params"])
        given = {id(each) for each in ready}
        self.others = [each for each in self.params if id(each) not in given]

    def holds(self, options: dict[str, Any]) -> bool:
        """Whether the group has the same parameters, and no other ones have gradients."""
        params = options["params"]
        return (
            options is self.options
            and len(params) == len(self.params)
            and all(map(is_, params, self.params))
            and all([each.grad is None for each in self.others])
        )


class _Part:
    """Parameters that are updated by the same coefficients, by one kernel."""

    def __init__(
        self,
        optimizer: RuleOptimizer,
        options: dict[str, Any],
        ready: list[Tensor],
        position: int,
        run: Pack | Alone,
    ) -> None:
        self.optimizer, self.options, self.run = optimizer, options, run
        self.ready, self.position = ready, position
        self.names = tuple(optimizer._arrays(options))
        self.read = itemgetter(*[name for name in options if name != "params"])
        states = [optimizer.state[each] for each in run.params] if self.names else []
        self.tensors = [each[name] for name in self.names for each in states]
        self.columns = (
            list(map(_array_of, run.params)),
            list(map(_grad_of, run.params)),
            *[[each[name]._array for each in states] for name in self.names],
        )
        self.arrays = [each for column in self.columns[2:] for each in column]
        self.values: Any = None
        self.numbers: Any = None
        self.program: Any = None
        self.written = b""

    def look(self) -> bool:
        """Compute the coefficients of the coming step; False if its kernel would be another."""
        run, optimizer, options = self.run, self.optimizer, self.options
        if not (
            run.holds(self.ready, self.position, optimizer.state, self.names)
            and all(map(is_, map(_array_of, run.params), self.columns[0]))
            and all(map(is_, map(_array_of, self.tensors), self.arrays))
        ):
            return False
        scalars, values = run.common_scalars(), self.read(options)
        if scalars is None:
            return False
        if isinstance(self.numbers, AdamNumbers) and values == self.values:
            self.numbers.advance(options, scalars)
            return True
        if any(map(options.get, ("differentiable", "capturable"))) or _has_tensors(values):
            return False
        numbers = optimizer._numbers_for(options, scalars, run.dtype)
        numbers.first = False
        program = program_of(type(optimizer)._rule, numbers, len(self.columns))
        if program is None or program.instructions != (self.program or program).instructions:
            return False
        self.numbers, self.values, self.program = numbers, values, program
        return True

    def write(self) -> None:
        """Put the kernel into the graph that is being written."""
        constants = self.program.constants(self.numbers)
        shape = (max(len(constants), 1), 1)
        self.where = state.capturing.place(shape, computed_in(self.run.dtype))
        rules.run(self.program.instructions, self.columns, constants, self.where)
        self.columns[1].clear()  # who holds gradients is counted

    def prepare(self) -> None:
        """Write the coefficients to where the kernel reads them, if they are others."""
        constants = self.program.constants(self.numbers)
        numbers = np.array(constants, self.where.dtype).reshape(-1, 1)
        if self.written != numbers.tobytes() and numbers.size:
            state.runtime.copy_in(self.where, numbers)
            self.written = numbers.tobytes()

    def finish(self, place: Any) -> None:
        """Keep the numbers among the states, and count the writes."""
        self.run.note(self.numbers, place)


class _DevicePart:
    """Parameters whose numbers stay on the device (`capturable`); the rate is written there."""

    def __init__(self, step: CapturableStep) -> None:
        self.step, self.options = step, step.group
        self.read = itemgetter(*[each for each in step.group if each not in ("params", "lr")])
        self.values = self.read(self.options)
        self.rate = self.options["lr"]
        names = (*step.optimizer._scalars, *step.names)
        self.tensors = [*step.params, *[each[name] for each in step.states for name in names]]
        self.arrays = list(map(_array_of, self.tensors))
        self.written: Any = None

    def look(self) -> bool:
        """Whether states and options, but for the rate, are those that were written."""
        states, rate = self.step.optimizer.state, self.options["lr"]
        is_like = rate is self.rate if isinstance(self.rate, Tensor) else rate.__class__ is float
        return (
            is_like
            and all(map(is_, map(states.get, self.step.params), self.step.states))
            and all(map(is_, map(_array_of, self.tensors), self.arrays))
            and all(
                [
                    _are_same(*each)
                    for each in zip(self.values, self.read(self.options), strict=True)
                ]
            )
        )

    def write(self) -> None:
        """Put the kernels into the graph that is being written."""
        options = {name: _on_device(value) for name, value in self.options.items()}
        if not isinstance(self.rate, Tensor):
            self.where = options["lr"] = state.capturing.place((), np.dtype(np.float64))
        self.step.run(options)
        self.step.columns[1].clear()  # who holds gradients is counted

    def prepare(self) -> None:
        """Write the rate to where the kernels read it, if it is another."""
        rate = self.options["lr"]
        if not isinstance(rate, Tensor) and rate != self.written:
            state.runtime.copy_in(self.where, np.array(rate, np.float64))
            self.written = rate

    def finish(self, place: Any) -> None:
        """Count the writes."""
        self.step.count(place)


def _are_same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return one is other
    if one.__class__ is tuple is other.__class__ and len(one) == len(other):
        return all([_are_same(*each) for each in zip(one, other, strict=True)])
    return bool(one == other)


def _has_tensors(values: Any) -> bool:
    return any(
        [
            isinstance(each, Tensor) or (each.__class__ is tuple and _has_tensors(each))
            for each in values
        ]
    )
