"""Ways: the events of a followed function as a tree, and the programs between them.

Owns: which events may come after which, and the pieces: the instructions between two places where
something leaves for Python, as a program.  Calls that go other ways share what is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from taper.program.form import Program, Value
from taper.program.scripts import Event, Script

_MOST_WAYS = 8
_TRIES = 16  # recordings of calls that may all have gone the same way


class Step:
    """An event in the tree of those that were seen: what may follow it, what runs up to it."""

    def __init__(self, event: Event | None, script: Script | None, depth: int) -> None:
        self.event: Any = event
        self.script: Any = script
        self.depth = depth
        self.things: Any = () if script is None else script.objects
        self.scripts: list[Script] = []
        self.following: list[Step] = []
        self.pieces: dict[int, Piece] = {}  # by the depth of the step that they begin after
        self.end = 0 if event is None else event.end

    def needed(self) -> set[int]:
        """The values that are read after this step, whichever way is taken."""
        return {
            value.number
            for script in self.scripts
            for each in script.program.instructions[self.end :]
            for value in each.operands()
        }


class Piece:
    """The instructions between two steps, as a program."""

    def __init__(self, start: Step, step: Step, wanted: set[int], build: Any) -> None:
        program = step.script.program
        instructions = program.instructions[start.end : step.end]
        made: set[int] = set()
        read: dict[int, Value] = {}
        for each in instructions:
            read |= {v.number: v for v in each.operands() if v.number not in made}
            made |= {v.number for v in each.outputs if v is not None and v.number not in read}
        self.wanted = wanted
        self.made = made
        self.results = sorted((step.needed() | wanted) & made)
        self.inputs = [nr for nr, each in read.items() if each.origin in ("made", "input")]
        part = Program(instructions, program.values)
        part.inputs = [program.values[nr] for nr in self.inputs]
        part.externals = [each for each in read.values() if each.origin == "external"]
        part.results = tuple([program.values[nr] for nr in self.results])
        self.draws = any(each.kind == "op" and not each.pure for each in instructions)
        self.runner: Any = build(part)
        if _is_entangled(part):
            self.runner.run_in_python("memory is written that several tensors share")


def _is_entangled(program: Program) -> bool:
    """Whether memory is written that several values from before look at."""
    seen: dict[int, int] = {}
    for each in (*program.inputs, *program.externals):
        seen[each.memory.number] = seen.get(each.memory.number, 0) + 1
    written = {v.memory.number for each in program.instructions for v in each.writes}
    return any(seen.get(number, 0) > 1 for number in written)


class Ways:
    """What is known of a function that is followed."""

    lead: Callable[..., Any]  # the detours of events, and of functions with effects
    lead_block: Callable[..., Any]

    def __init__(self, build: Callable[[Program], Any]) -> None:
        self.build = build
        self.root = Step(None, None, 0)
        self.functions: dict[Any, Any] = {}  # those that are led to the follower
        self.calls = self.departures = self.recordings = 0
        self.records_next = True
        self.patience = 0  # how many recordings may bring nothing new
        self.refusal: tuple[str, Any] | None = None  # why the function is not followed (any more)
        self.updates: dict[Any, Any] = {}
        self.size = 0  # how many objects there are

    def add(self, script: Script) -> None:
        """Add the events of a recorded call to the tree."""
        step = self.root
        step.scripts.append(script)
        self.size = max(self.size, len(script.objects))
        is_known = True
        for event in script.events:
            found = [each for each in step.following if each.event.agrees(event)]
            if found:
                following = found[0]
                following.pieces.clear()  # others need more of what it computes
            else:
                following = Step(event, script, step.depth + 1)
                step.following.append(following)
                is_known = False
            following.scripts.append(script)
            step = following
            if not event.kind:
                self.functions[event.function] = functools.partial(self.lead, event.function)
        for each in script.blocks:
            self.functions[each] = functools.partial(self.lead_block, each)
        if is_known and self.patience:  # not the way that a call has gone; the next one may be
            self.patience -= 1
            self._record_once_more()

    def _record_once_more(self) -> None:
        ways = sum(1 for _ in self.ends())
        self.records_next = self.recordings < _TRIES and ways < _MOST_WAYS

    def ends(self) -> Iterator[Step]:
        """The last steps of the ways that were recorded."""
        stack = [self.root]
        while stack:
            step = stack.pop()
            stack += step.following
            if not step.following:
                yield step

    def pieces(self) -> Iterator[tuple[Step, Piece]]:
        """All programs that were built, with the step that each leads to."""
        stack = [self.root]
        while stack:
            step = stack.pop()
            yield from [(step, each) for each in step.pieces.values()]
            stack += reversed(step.following)

    def note_departure(self) -> None:
        """A call did another thing than any that was recorded."""
        self.departures += 1
        self.patience = 2
        self._record_once_more()
        if self.departures > 8 and self.departures * 2 > self.calls:
            self.refusal = "calls do other things than those that were recorded", (None, 0)
