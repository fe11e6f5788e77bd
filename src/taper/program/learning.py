"""Learning: a call of a captured function that makes a program, or finds out why there is none.

Owns: the order of things: the first call with a kind of arguments runs eagerly (optimizers make
their states), the second is recorded, later ones are replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.autograd.grad_mode import enable_grad
from taper.autograd.provenance import describe
from taper.autograd.state import local
from taper.program.derivation import derive
from taper.program.form import Place, Program, Value
from taper.program.guards import Guards, put_together
from taper.program.reads import Read
from taper.program.recording import Recorder
from taper.program.replays import (
    BackwardProgram,
    CapturedBackward,
    Number,
    Result,
    described,
    plain_results,
    tensor_of,
)
from taper.program.watching import Surroundings, Watcher
from taper.random import get_rng_state, set_rng_state
from taper.tensor import Tensor


class Entry:
    """What is known of one kind of calls: guards, and a program or the reason for none."""

    def __init__(self, guards: Guards, refusal: tuple[str, Place] | None) -> None:
        self.guards = guards
        self.refusal = refusal
        self.program = Program()
        self.runner: Any = None
        self.structure: Any = None
        self.results: list[Result] = []
        self.backward: BackwardProgram | None = None
        self.saved = 0  # how many results of the program are kept for the backward
        self.place: Place = (None, 0)
        self.replays = 0
        self.function: Callable[..., Any]
        self.has_effects = self.draws = False

    def replay(self, tensors: Sequence[Tensor]) -> Any:
        """Run the program on the arguments."""
        try:
            arrays = self.runner.run([each._array for each in tensors])
        except Exception as error:
            instruction = self.runner.failed()
            if instruction is not None:
                error.add_note(f"{instruction.name}, replayed: {describe(instruction.place)}")
            raise
        return self.rebuilt(arrays, tensors)

    def again_with(self, tensors: Sequence[Tensor]) -> Callable[[], list[Tensor]] | None:
        """Return a call that computes the results with a history once more, eagerly."""
        if self.has_effects:
            return None
        rng = get_rng_state() if self.draws else None

        def again() -> list[Tensor]:
            args, kwargs = put_together(self.guards.rest, tensors)
            now = get_rng_state() if rng is not None else None
            try:
                if rng is not None:
                    set_rng_state(rng)
                with enable_grad():
                    result = self.function(*args, **kwargs)
            finally:
                if now is not None:
                    set_rng_state(now)
            found: dict[int, Tensor] = {}
            _pair(self.structure, result, found)
            return [found[nr] for nr in sorted(found)]

        return again

    def rebuilt(self, arrays: list[np.ndarray], tensors: Sequence[Tensor]) -> Any:
        """What the function returns, from the results of the program."""
        node = None
        if self.backward is not None:
            saved = arrays[len(arrays) - self.saved :]
            node = CapturedBackward(self.backward, tensors, saved, self.place)
            node.again = self.again_with(tensors)
        made: dict[int, Tensor] = {}

        def make(each: Any) -> Any:
            if isinstance(each, Number):
                return arrays[each.number].item()
            if each.tensor is not None:
                return each.tensor
            if each.position >= 0:
                return tensors[each.position]
            if each.number not in made:
                made[each.number] = tensor_of(each, arrays[each.number], node)
            return made[each.number]

        return _filled_in(self.structure, make)


def _pair(structure: Any, result: Any, found: dict[int, Tensor]) -> None:
    """Find the tensors of a result that have a number in the backward program."""
    if isinstance(structure, Result):
        if structure.live >= 0:
            found[structure.live] = result
    elif isinstance(structure, tuple | list):
        for one, other in zip(structure, result, strict=True):
            _pair(one, other, found)
    elif isinstance(structure, dict):
        for name, each in structure.items():
            _pair(each, result[name], found)


def _filled_in(structure: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(structure, Result | Number):
        return make(structure)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_filled_in(each, make) for each in structure])
    if structure.__class__ in (tuple, list):
        return structure.__class__([_filled_in(each, make) for each in structure])
    if isinstance(structure, dict):
        made = {name: _filled_in(each, make) for name, each in structure.items()}
        return made if structure.__class__ is dict else type(structure)(made)
    return structure


def learn(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    rest: Any,
    tensors: list[Tensor],
    codes: dict[Any, Any],
    build: Callable[[Program], Any],
) -> tuple[Any, Entry, dict[Any, Any]]:
    """Call a function once more, recorded; returns its result, what is known, the code it ran."""
    state = local.state
    surroundings = Surroundings(codes, function, rest)
    recorder = Recorder(tensors)
    watcher = recorder.watcher = Watcher()
    if surroundings.refusal is not None:
        recorder.give_up(surroundings.refusal)
    with watcher, recorder.recording():
        result = function(*args, **kwargs)
    refusal = recorder.refusal or watcher.effect
    changed = surroundings.changed()
    if refusal is None and changed is not None:
        refusal = f"the function changes {changed}", recorder.place()
    if refusal is None and surroundings.has_drawn():
        refusal = "random numbers of NumPy's are drawn", recorder.place()
    entry = Entry(Guards(rest, tensors, state, recorder.program, surroundings), refusal)
    if recorder.program.instructions:
        entry.place = recorder.program.instructions[0].place
    if refusal is None:
        _describe(entry, recorder, result, tensors, build)
        refusal = entry.refusal = recorder.refusal
    if refusal is not None:  # whatever is around it: a function with effects has them again
        entry.guards = Guards(rest, tensors, state, None, None)
    else:
        entry.program = recorder.program
        entry.guards.prepare(args, kwargs)
        entry.function = function
        entry.has_effects = any(
            each.kind in ("python", "accumulate") or _writes_outside(each)
            for each in entry.program.instructions
        )
        entry.draws = any(
            each.kind == "op" and not each.pure for each in entry.program.instructions
        )
        entry.runner = build(entry.program)
    return plain_results(result), entry, watcher.codes


def _writes_outside(instruction: Any) -> bool:
    return any(each.memory.origin in ("input", "external") for each in instruction.writes)


def _describe(
    entry: Entry,
    recorder: Recorder,
    result: Any,
    tensors: Sequence[Tensor],
    build: Callable[[Program], Any],
) -> None:
    """Note what the function returned, and its backward if the results have a history."""
    values: list[Value] = []
    live: list[Result] = []
    kept: dict[int, tuple[Result, Tensor]] = {}

    def make(each: Any) -> Any:
        if isinstance(each, Read):
            values.append(each.value)
            return Number(len(values) - 1)
        if id(each) in kept:
            return kept[id(each)][0]
        found = Result(len(values), each)
        kept[id(each)] = found, each
        for position, tensor in enumerate(tensors):
            if tensor is each:
                found.position = position
                return found
        value = recorder.value_of(each)
        if value is None:
            return found
        if value.origin == "external" and value.tensor is each:
            found.tensor = each
        elif value.memory.origin in ("input", "external"):
            recorder.give_up("a view of an argument or of another tensor is returned")
        else:
            values.append(value)
            if each.requires_grad and each.grad_fn is not None:
                live.append(found)
        return found

    entry.structure = described(result, make)
    if recorder.refusal is None:
        saved: list[Value] = []
        if live:
            pairs = [(each, owner) for each, owner in kept.values() if each in live]
            entry.backward, saved = derive(recorder, pairs, build)
        recorder.program.results = (*values, *saved)
        entry.saved = len(saved)
