"""Branches: a program in pieces, of which the numbers that Python looks at choose the next (D15).

Owns: the tree of pieces.  Where a function compares a number out of a tensor (`if loss.item() > 3`,
`while error > 1e-3`), the recording has a cut: the piece before it is a program, the comparison is
made in Python, and each outcome that was seen has a piece of its own.  An outcome that was not seen
takes back what the call has done so far, and the call is recorded as another way through the tree.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from taper.autograd.state import State, local
from taper.nn.modules.module import Module
from taper.program.form import Instruction, Place, Program, Value
from taper.program.guards import Arguments, Guards
from taper.program.learning import (
    Entry,
    kept_writes,
    note_place,
    put_back_writes,
    run_without_autocast,
)
from taper.program.recording import variables_of
from taper.random import get_rng_state, set_rng_state
from taper.sampling.generator import Generator
from taper.tensor import Tensor

UNKNOWN = object()  # what a replay returns that came to an outcome nobody has seen
_MOST_WAYS = 8
_MUCH = 1 << 18  # bytes that may be copied at each call, in case that it must be taken back


class Piece:
    """The instructions between two looks."""

    def __init__(self, way: Entry, instructions: list[Instruction]) -> None:
        self.way = way  # the first call that came here, whose values these are
        self.look: Instruction | None = None
        if instructions and instructions[-1].kind == "branch":
            *instructions, self.look = instructions
        self.instructions = instructions
        self.following: dict[Any, Piece] = {}  # by outcome
        self.results: list[int] | None = None  # the numbers of values that the runner returns
        self.inputs: list[int] = []
        self.runner: Any = None

    @property
    def is_open(self) -> bool:
        """Whether the look has gone one way only."""
        return self.look is not None and len(self.following) < 2

    def needs(self, build: Callable[[Program], Any]) -> set[int]:
        """Build what runs this piece and those after it; returns the values that they read."""
        program = self.way.program
        needed = set() if self.look else {each.number for each in program.results}
        for piece in self.following.values():
            needed |= piece.needs(build)
        if self.look is not None:
            needed |= {each.number for each in self.look.operands()}
        made: set[int] = set()
        read: dict[int, Value] = {}  # what is there before; to be written is to be read
        for each in self.instructions:
            read |= {v.number: v for v in each.operands() if v.number not in made}
            made |= {v.number for v in each.outputs if v is not None and v.number not in read}
        results = sorted(needed & made)
        self.inputs = sorted(nr for nr, each in read.items() if each.origin in ("made", "input"))
        if results != self.results:
            self.results = results
            part = Program(self.instructions, program.values)
            part.inputs = [program.values[nr] for nr in self.inputs]
            part.externals = [each for each in read.values() if each.origin == "external"]
            part.results = tuple([program.values[nr] for nr in results])
            self.runner = build(part)
        return (needed - made) | set(self.inputs)


class _Guards:
    """All ways through a tree must hold: a call may take any of them."""

    def __init__(self) -> None:
        self.ways: list[Guards] = []

    def hold_at_once(self, args: tuple[Any, ...], state: State) -> bool:
        return all([each.hold_at_once(args, state) for each in self.ways])

    def hold(self, arguments: Arguments, state: State) -> bool:
        return all([each.hold(arguments, state) for each in self.ways])


class Tree(Entry):
    """An entry whose program is in pieces."""

    def __init__(
        self, way: Entry, key: Guards, codes: dict[Any, Any], build: Callable[[Program], Any]
    ) -> None:
        super().__init__(key, None)
        self.guards: Any = _Guards()
        self.key, self.codes, self.build = key, codes, build
        self.attempts = self.ways = 0
        self.root: Piece | None = None
        self.undo: Undo | None = None
        self.running: Any = None
        self.add(way)

    def add(self, way: Entry) -> None:
        """Add the way that a recorded call took; there may be a refusal afterwards."""
        self.ways += 1
        self.guards.ways.append(way.guards)
        if way.backward is not None and way.draws:
            self.draws, self.backward = True, way.backward  # `rng` asks
        first, *rest = _cut(way)
        at = self.root = self.root or first
        last = first
        fits = at is first or _same(at, first)
        for piece in rest:
            outcome = last.look.of if last.look is not None else None
            at = at.following.setdefault(outcome, piece)
            fits = fits and (at is piece or _same(at, piece))
            last = piece
        if not fits:
            self.refusal = "other code runs before a number is looked at", way.place
        elif self.ways > _MOST_WAYS:
            self.refusal = "the function takes too many ways", way.place
        else:
            self.undo = Undo(list(_open_paths(self.root)))
            self.refusal = self.undo.obstacle
        if self.refusal is None:
            self.root.needs(self.build)

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """Run the pieces; returns the way that was taken, and the arrays of its results."""
        piece: Any = self.root
        inputs = piece.way.program.inputs
        found = {each.number: tensor._array for each, tensor in zip(inputs, tensors, strict=True)}
        state = self.undo.taken() if self.undo is not None and self.undo.is_needed else None
        while True:
            self.runner = piece.runner
            arrays = piece.runner.run([found[nr] for nr in piece.inputs])
            found.update(zip(piece.results, arrays, strict=True))
            if piece.look is None:
                return piece.way, [_array(each, found) for each in piece.way.program.results]
            outcome = piece.look.run(*[_array(each, found) for each in piece.look.arguments])
            if outcome not in piece.following:
                if self.undo is not None and state is not None:
                    self.undo.put_back(state)
                return None, None
            piece = piece.following[outcome]

    def replay(self, tensors: Sequence[Tensor]) -> Any:
        """Run the pieces on the arguments; UNKNOWN, with nothing done, if they do not lead on."""
        run, state = self.run, local.state
        if state.autocast is not None:  # the casts are instructions
            run = functools.partial(run_without_autocast, run, state)
        rng = self.rng()
        try:
            way, arrays = run(tensors)
        except Exception as error:
            note_place(error, self.runner)
            raise
        return UNKNOWN if way is None else way.rebuilt(arrays, tensors, rng)

    def pieces(self) -> Iterator[tuple[str, Piece]]:
        """All pieces, with what Python must have seen to come there."""
        stack: list[tuple[str, Any]] = [("the beginning", self.root)]
        while stack:
            label, piece = stack.pop()
            yield label, piece
            for outcome, each in piece.following.items():
                stack.append((f"{label}, {outcome}", each))


def _array(value: Value, found: dict[int, np.ndarray]) -> Any:
    """The array of a value: made so far, given, or of a tensor from elsewhere."""
    array = found.get(value.number)
    if array is None:
        array = value.tensor._array if value.origin == "external" else value.array
    return array


def _cut(way: Entry) -> list[Piece]:
    pieces, part = [], []
    for each in way.program.instructions:
        part.append(each)
        if each.kind == "branch":
            pieces.append(Piece(way, part))
            part = []
    return [*pieces, Piece(way, part)]


def _signature(instructions: list[Instruction]) -> list[Any]:
    """What is the same in two recordings of the same instructions: numbers stand for values."""
    return [
        (each.kind, each.name, each.place, repr(each.arguments), repr(each.outputs))
        for each in instructions
    ]


def _same(one: Piece, other: Piece) -> bool:
    """Whether two recordings of a piece are of the same instructions on the same memory."""
    looks = [[each.look] if each.look else [] for each in (one, other)]
    if _signature(one.instructions + looks[0]) != _signature(other.instructions + looks[1]):
        return False
    values = [
        {v.number: v for i in each.instructions for v in (*i.operands(), *i.outputs) if v}
        for each in (one, other)
    ]
    return all(
        (v.shape, v.strides, v.dtype, v.origin) == (w.shape, w.strides, w.dtype, w.origin)
        and (v.origin != "external" or v.tensor is w.tensor)
        and v.memory.number == w.memory.number
        for nr, v in values[0].items()
        for w in [values[1][nr]]
    )


def _open_paths(piece: Piece) -> Iterator[list[Instruction]]:
    """The instructions that run before looks that have gone one way only."""
    if piece.is_open:
        yield piece.instructions
    for each in piece.following.values():
        for path in _open_paths(each):
            yield piece.instructions + path


class Undo:
    """What a call has changed when it comes to an outcome that nobody has seen."""

    def __init__(self, paths: list[list[Instruction]]) -> None:
        self.leaves: dict[int, Tensor] = {}  # whose `.grad` becomes another
        self.written: dict[int, Tensor] = {}
        self.draws = False
        self.obstacle: tuple[str, Place] | None = None
        for path in paths:
            self.cleared: set[int] = set()  # leaves that have lost their `.grad`
            for each in path:
                if not self._may_run(each):
                    reason = f"{each.name} runs before a number is looked at, for good"
                    self.obstacle = self.obstacle or (reason, each.place)
        if sum(each._array.nbytes for each in self.written.values()) > _MUCH:
            self.obstacle = "much is written before a number is looked at", paths[0][-1].place
        self.is_needed = bool(self.leaves or self.written or self.draws)

    def _may_run(self, instruction: Instruction) -> bool:
        """Note what an instruction changes; False if that could not be taken back."""
        kind, of = instruction.kind, instruction.of
        if kind == "python":
            return self._may_call(instruction)
        if kind == "accumulate":
            return isinstance(of, Tensor) and id(of) in self.cleared
        if kind == "op" and not instruction.pure:
            self.draws = True
            return not any(isinstance(each, Generator) for each in instruction.arguments)
        for value in instruction.writes:
            if value.origin == "external":
                self.written[id(value.tensor)] = value.tensor
        return all(
            each.origin == "external" or each.memory.origin == "made" for each in instruction.writes
        )

    def _may_call(self, instruction: Instruction) -> bool:
        name, of, run = instruction.name, instruction.of, instruction.run
        run = variables_of(run).get("function", run)  # what returns a tensor is wrapped
        if name.startswith(("Optimizer.zero_grad#", "Module.zero_grad")):
            if isinstance(of, Module):
                self._clear(of.parameters())
                return isinstance(run, functools.partial) and len(run.args) + len(run.keywords) == 1
            self._clear([leaf for group in of.param_groups for leaf in group["params"]])
            return variables_of(run).get("set_to_none") is True
        if name.startswith("clip_grad") and isinstance(run, functools.partial):
            given = run.args[0] if run.args else None
            leaves = [given] if isinstance(given, Tensor) else given or [None]
            return all(id(each) in self.cleared for each in leaves)
        return False

    def _clear(self, leaves: Any) -> None:
        found = {id(each): each for each in leaves}
        self.leaves.update(found)
        self.cleared.update(found)

    def taken(self) -> tuple[Any, ...]:
        """Remember how it is before a call."""
        grads = [each._autograd_meta and each._autograd_meta.grad for each in self.leaves.values()]
        kept = kept_writes(self.written.values())
        return grads, kept, get_rng_state() if self.draws else None

    def put_back(self, state: tuple[Any, ...]) -> None:
        """Let all be as it was before the call."""
        grads, kept, rng = state
        for leaf, grad in zip(self.leaves.values(), grads, strict=True):
            if leaf._autograd_meta is not None:
                leaf._autograd_meta.grad = grad
        put_back_writes(kept)
        if rng is not None:
            set_rng_state(rng)
