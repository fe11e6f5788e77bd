"""Learning: a call of a captured function that makes a program, or finds out why there is none.

Owns: the order of things: the first call with a kind of arguments runs eagerly (optimizers make
their states), the second is recorded, later ones are replayed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from taper.amp.casts import casts_of_its_own, without_autocast
from taper.autograd.grad_mode import enable_grad
from taper.autograd.meta import VersionCounter
from taper.autograd.provenance import describe
from taper.autograd.state import local
from taper.program.derivation import derive
from taper.program.form import Instruction, Place, Program, Value
from taper.program.guards import Arguments, Guards
from taper.program.reads import Read, forget
from taper.program.recording import Recorder
from taper.program.replays import (
    BackwardProgram,
    CapturedBackward,
    Number,
    Result,
    plain_results,
    tensor_of,
)
from taper.program.watching import PLAIN, Surroundings, Watcher
from taper.random import get_rng_state, set_rng_state
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_leaves, tree_unflatten


class Entry:
    """What is known of one kind of calls: guards, and a program or the reason for none."""

    def __init__(self, guards: Guards, refusal: tuple[str, Place] | None) -> None:
        self.guards = guards
        self.refusal = refusal
        self.program = Program()
        self.runner: Any = None
        self.spec: Any = None  # how the results are nested
        self.is_leaf = False  # whether they are not: one result is all
        self.returns_nothing = False
        self.results: list[Any] = []  # a Result, a Number, or something that is always the same
        self.backward: BackwardProgram | None = None
        self.saved = 0  # how many results of the program are kept for the backward
        self.place: Place = (None, 0)
        self.replays = 0
        self.function: Callable[..., Any]
        self.has_effects = self.draws = self.has_branches = False
        self.has_visible_effects = False  # of the recorded call: it prints, or fills a list
        self.running: list[Tensor] | None = None  # all that it writes, if it reads nothing of that

    def replay(self, tensors: Sequence[Tensor]) -> Any:
        """Run the program on the arguments."""
        run = self.runner.run
        state = local.state
        if state.autocast is not None:  # the casts are instructions
            run = functools.partial(run_without_autocast, run, state)
        rng = None if self.backward is None else self.rng()
        try:
            arrays = run([each._array for each in tensors] if tensors else [])
        except Exception as error:
            note_place(error, self.runner)
            raise
        return None if self.returns_nothing else self.rebuilt(arrays, tensors, rng)

    def rng(self) -> Any:
        """The state of the generator before a call, if a second derivative may ask for it."""
        return get_rng_state() if self.draws and self.backward is not None else None

    def again_with(self, tensors: Sequence[Tensor], rng: Any) -> Callable[[], list[Tensor]] | None:
        """Return a call that computes the results with a history once more, eagerly."""
        if self.has_effects and self.running is None:
            return None

        def again() -> list[Tensor]:
            args, kwargs = self.guards.arguments.with_tensors(tensors)
            now = get_rng_state() if rng is not None else None
            kept = kept_writes(self.running or ())
            try:
                if rng is not None:
                    set_rng_state(rng)
                with enable_grad():
                    result = self.function(*args, **kwargs)
            finally:
                put_back_writes(kept)
                if now is not None:
                    set_rng_state(now)
            pairs = zip(self.results, tree_leaves(result), strict=True)
            live = {
                each.live: tensor
                for each, tensor in pairs
                if isinstance(each, Result) and each.live >= 0
            }
            return [live[nr] for nr in sorted(live)]

        return again

    def rebuilt(self, arrays: list[np.ndarray], tensors: Sequence[Tensor], rng: Any) -> Any:
        """What the function returns, from the results of the program."""
        node = None
        if self.backward is None:
            if self.is_leaf:
                return self._leaf(self.results[0], arrays, tensors, None, {})
        else:
            saved = arrays[len(arrays) - self.saved :]
            node = CapturedBackward(self.backward, tensors, saved, self.place)
            node.again = self.again_with(tensors, rng)
        made: dict[int, Tensor] = {}
        leaves = [self._leaf(each, arrays, tensors, node, made) for each in self.results]
        return leaves[0] if self.is_leaf else tree_unflatten(leaves, self.spec)

    def _leaf(
        self,
        each: Any,
        arrays: list[np.ndarray],
        tensors: Sequence[Tensor],
        node: Any,
        made: dict[int, Tensor],
    ) -> Any:
        """One of the results; a tensor that is returned twice is made once."""
        if each is None:
            return None
        if isinstance(each, Number):
            return arrays[each.number].item()
        if not isinstance(each, Result):
            return each
        if each.tensor is not None:
            return each.tensor
        if each.leaf is not None:
            return each.leaf._autograd_meta.grad
        if each.position >= 0:
            return tensors[each.position]
        if each.number not in made:
            made[each.number] = tensor_of(each, arrays[each.number], node)
        return made[each.number]


def learn(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arguments: Arguments,
    codes: dict[Any, Any],
    build: Callable[[Program], Any],
    expects_effects: bool = False,
) -> tuple[Any, Entry, dict[Any, Any]]:
    """Call a function once more, recorded; returns its result, what is known, the code it ran.

    With `expects_effects` it gets ordinary numbers out of tensors, since it will keep them.
    """
    state = local.state
    arguments.note_attributes()
    surroundings = Surroundings(codes, function, arguments.rest)
    recorder = Recorder(arguments.tensors)
    watcher = recorder.watcher = Watcher()
    recorder.reads_are_plain = expects_effects
    recorder.surroundings = surroundings
    if surroundings.refusal is not None:
        recorder.give_up(surroundings.refusal)
    with watcher, recorder.recording(), casts_of_its_own():
        result = function(*args, **kwargs)
    refusal = recorder.refusal or watcher.effect
    if expects_effects:
        refusal = watcher.effect or refusal
    changed = surroundings.changed()
    if changed is None and not arguments.are_still(args, kwargs):
        changed = "its arguments"
    if refusal is None and changed is not None:
        refusal = f"the function changes {changed}", recorder.place()
    if refusal is None and surroundings.has_drawn():
        refusal = "random numbers of NumPy's are drawn", recorder.place()
    guards = Guards(arguments, state, recorder.program, surroundings, recorder.grads_read())
    entry = Entry(guards, refusal)
    if recorder.program.instructions:
        entry.place = recorder.program.instructions[0].place
    if refusal is None:
        _describe(entry, recorder, result, arguments.tensors, build)
        refusal = entry.refusal = recorder.refusal
    if refusal is not None:  # whatever is around it: a function with effects has them again
        entry.guards = Guards(arguments, state, None, None)
        entry.guards.prepare(args, kwargs)
    else:
        entry.program, entry.function = recorder.program, function
        entry.guards.prepare(args, kwargs)
        _make_ready(entry, build)
    recorder.end()
    entry.has_visible_effects = watcher.effect is not None or changed is not None
    result = plain_results(result)
    forget(recorder.reads)
    return result, entry, watcher.codes


def _make_ready(entry: Entry, build: Callable[[Program], Any]) -> None:
    """Look at what the instructions do, and build what runs them, unless they are in pieces."""
    instructions = entry.program.instructions
    entry.has_effects = any(
        each.kind in ("python", "accumulate") or _writes_outside(each) for each in instructions
    )
    entry.running = _running_values(instructions)
    entry.draws = any(each.kind == "op" and not each.pure for each in instructions)
    entry.has_branches = any(each.kind == "branch" for each in instructions)
    if not entry.has_branches:
        entry.runner = build(entry.program)


def _running_values(instructions: Sequence[Instruction]) -> list[Tensor] | None:
    """The tensors that instructions write, such as running means; None if results depend on them.

    A BatchNorm that is training is given its running values, and does not look at them.
    """
    if any(each.kind in ("python", "accumulate") for each in instructions):
        return None
    written = [v for each in instructions for v in each.writes if v.memory.origin != "made"]
    if any(each.tensor is None for each in written):
        return None
    numbers = {each.memory.number for each in written}
    for each in instructions:
        blind = each.kind == "write" or (
            each.name == "native_batch_norm" and True in each.arguments
        )
        if not blind and any(value.memory.number in numbers for value in each.operands()):
            return None
    return [each.tensor for each in written]


Kept = list[tuple[Tensor, np.ndarray, tuple[Any, ...]]]


def kept_writes(tensors: Iterable[Tensor]) -> Kept:
    """Remember tensors that are about to be written: elements and versions."""
    return [(each, each._array.copy(), version_of(each)) for each in tensors]


def put_back_writes(kept: Kept) -> None:
    """Let tensors be as they were."""
    for tensor, array, version in kept:
        np.copyto(tensor._array, array)
        if isinstance(tensor._counter, VersionCounter):
            counter: Any = tensor._counter
            counter.value, counter.code, counter.offset = version


def version_of(tensor: Tensor) -> tuple[Any, ...]:
    """How often a tensor was written, and where last."""
    counter: Any = tensor._counter
    if not isinstance(counter, VersionCounter):
        return 0, None, 0
    return counter.value, counter.code, counter.offset


def note_place(error: Exception, runner: Any) -> None:
    """Add the user's line to an error inside a replay."""
    instruction = runner.failed()
    if instruction is not None:
        error.add_note(f"{instruction.name}, replayed: {describe(instruction.place)}")


def run_without_autocast(run: Callable[..., Any], state: Any, arrays: Any) -> Any:
    """Run a program whose instructions have casts of their own."""
    return without_autocast(run, (arrays,), {}, state)


def _writes_outside(instruction: Any) -> bool:
    return any(each.memory.origin in ("input", "external") for each in instruction.writes)


class _Results:
    """Find out what a function returned, leaf by leaf."""

    def __init__(self, recorder: Recorder, tensors: Sequence[Tensor]) -> None:
        self.recorder, self.tensors = recorder, tensors
        self.values: list[Value] = []  # what the program returns
        self.live: list[tuple[Result, Tensor]] = []  # those with a history
        self._known: dict[int, Result] = {}
        self._memories: set[int] = set()

    def describe(self, leaf: Any) -> Any:
        """A Result for a tensor, a Number for what `item()` gave, else the leaf itself."""
        if isinstance(leaf, Read):
            self.values.append(leaf.value)
            return Number(len(self.values) - 1)
        if isinstance(leaf, Tensor):
            if id(leaf) not in self._known:
                self._known[id(leaf)] = self._result(leaf)
            return self._known[id(leaf)]
        if not isinstance(leaf, PLAIN) and not self.recorder.surroundings.has_seen(leaf):
            self.recorder.give_up("an object is returned that the function has made")
        if self.recorder.watcher.reads and isinstance(leaf, str | float | int | complex):
            # It may be made of a number that was read: `"%.2f" % x.item()` does not tell.
            if not isinstance(leaf, bool):
                self.recorder.give_up("item(): what is returned may be made of the number")
        return leaf

    def _result(self, tensor: Tensor) -> Result:
        found = Result(len(self.values), tensor)
        for position, each in enumerate(self.tensors):
            if each is tensor:
                found.position = position
                return found
        found.leaf = self.recorder.leaf_of(tensor)
        if found.leaf is not None:
            return found
        value = self.recorder.value_of(tensor)
        if value is None:
            return found
        if value.memory.number in self._memories:
            self.recorder.give_up("two results share their memory")
        self._memories.add(value.memory.number)
        if value.origin == "external" and value.tensor is tensor:
            found.tensor = tensor
        elif value.memory.origin in ("input", "external"):
            self.recorder.give_up("a view of an argument or of another tensor is returned")
        else:
            self.values.append(value)
            if tensor.requires_grad and tensor.grad_fn is not None:
                self.live.append((found, tensor))
        return found


def _describe(
    entry: Entry,
    recorder: Recorder,
    result: Any,
    tensors: Sequence[Tensor],
    build: Callable[[Program], Any],
) -> None:
    """Note what the function returned, and its backward if the results have a history."""
    results = _Results(recorder, tensors)
    leaves, entry.spec = tree_flatten(result)
    entry.is_leaf = bool(entry.spec.is_leaf())
    entry.results = [results.describe(each) for each in leaves]
    entry.returns_nothing = result is None
    if recorder.refusal is None:
        saved: list[Value] = []
        if results.live:
            entry.backward, saved = derive(recorder, results.live, build)
            for each, _ in results.live:
                each.node = None  # another call has its own
        recorder.program.results = (*results.values, *saved)
        entry.saved = recorder.program.kept = len(saved)
