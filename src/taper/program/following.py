"""Following: a function whose own code has to run again, on operators that need not (D15).

Owns: calls of functions that no program can stand for: they print, add numbers up, append to lists.
Their Python code runs at each call.  An operator that it calls is compared with the record (see
`scripts`) and returns a stand-in; where a number leaves for Python, and where something has
effects, the instructions up to there run as one program.  A call that does another thing than the
record is made good: what is open is computed as eager mode would, and eager mode goes on.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from taper.autograd import detours, engine, interception
from taper.autograd.engine import GraphTask, evaluate
from taper.autograd.interception import Call
from taper.autograd.meta import INFERENCE_COUNTER, VersionCounter
from taper.autograd.state import INTERCEPT, State, local
from taper.nn.modules.module import Module
from taper.program.form import Place
from taper.program.guards import Arguments
from taper.program.learning import kept_writes, note_place, put_back_writes
from taper.program.recording import Recorder, variables_of
from taper.program.scripts import Ref, Script, given_to_step
from taper.program.standins import Record, become, is_stand_in, record_of, stand_in
from taper.program.updates import update_call
from taper.program.watching import same
from taper.program.ways import Piece, Step, Ways
from taper.random import get_rng_state, set_rng_state
from taper.tensor import Tensor, storage_of, wrap
from taper.utils._pytree import tree_leaves

_OURS = 2  # references to a tensor that only the follower has: its own, and that of the question
_PLAIN_MODES = ~INTERCEPT


class Follower:
    """One call of a function that is followed."""

    runs_passes = True
    refusal = None
    evaluate = staticmethod(evaluate)
    run_node = staticmethod(Recorder.run_node)

    def __init__(self, following: Ways) -> None:
        self.following = following
        self.step = self.start = self.window = following.root
        self.path: list[Step] = []  # since the window began
        self.objects: list[Any] = [None] * following.size  # tensors by number
        self.arrays: dict[int, np.ndarray] = {}  # by the number of values
        self.open: list[int] = []  # objects that have no array
        self.live: list[int] = []  # objects with an array, and a history that nobody has
        self.seeds: dict[int, Any] = {}  # states of the generator, by the depth of steps
        self.missing: set[int] = set()  # objects that are stand-ins when the call leaves
        self.is_on = False

    # --- being there -----------------------------------------------------------------------------

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function."""
        self.enter()
        try:
            result = function(*args, **kwargs)
            self.exit()
        except BaseException:
            self.exit_quietly()
            raise
        finally:
            if local.state.interceptors:  # it has left while it was asked
                interception.pop(self)
            self.objects, self.arrays = [], {}
        return result

    def enter(self) -> None:
        """See what this thread does, which nobody else sees (`guards.is_ordinary`)."""
        state = local.state
        detours.lead_through("capture", self.following.functions)
        self.is_on = True
        state.recorder = self
        state.interceptors = (self,)
        state.mode |= INTERCEPT

    def off(self) -> None:
        """Let this thread do what it does without being seen."""
        self.is_on = False
        state = local.state
        state.recorder = None
        if state.interceptors:
            interception.pop(self)
        detours.leave("capture", self.following.functions)

    def exit(self) -> None:
        """The function has returned: whoever holds a tensor gets an ordinary one."""
        if not self.is_on:
            return
        if any(self._is_held(nr) for nr in self.open):
            self.compute()
        if any(self._is_held(nr) for nr in self.live):
            self.leave()
        if self.is_on:
            self.off()

    def exit_quietly(self) -> None:
        """The function has raised: what cannot be computed any more stays as it is."""
        try:
            self.exit()
        except Exception:
            if self.is_on:
                self.off()

    def unseen(self, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function, and see nothing of what it does."""
        state = local.state
        if state.recorder is not self:
            return run(*args, **kwargs)
        before = state.interceptors
        seen = before[-1:] == (self,)
        state.recorder = None
        if seen:
            state.interceptors = before[:-1]
            state.mode = state.mode if before[:-1] else state.mode & ~INTERCEPT
        try:
            return run(*args, **kwargs)
        finally:
            if self.is_on:
                state.recorder = self
                if seen:
                    state.interceptors = before
                    state.mode |= INTERCEPT

    def give_up(self, reason: str, place: Any = None) -> None:
        """Somebody does what may not be followed."""
        self.leave()

    # --- events ----------------------------------------------------------------------------------

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        """An operator of the table."""
        if not self.is_on:
            return run()
        if call.kind == "inplace" and not is_stand_in(call.arguments[0]):
            if not self._is_ours(call.arguments[0]):
                self.about_to_write(call.arguments[0])
                return self.unseen(run)
        found = self._next(call.op, call.kind, call.arguments, call.arguments)
        if found is None:
            self.leave()
            return run()
        return self._advance(found, run)

    def see(self, function: Any, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A function that calls operators."""
        given = (*args, *kwargs.values()) if kwargs else args
        found = self._next(function, "", given, (args, kwargs))
        if found is None:  # it is a question, or its operators will not be known
            return run(*args, **kwargs)
        return self._advance(found, functools.partial(run, *args, **kwargs))

    def _is_ours(self, tensor: Any) -> bool:
        """Whether an ordinary tensor is what an event of this call has made."""
        return any(
            each is tensor and thing.origin == "made"
            for each, thing in zip(self.objects, self.step.things, strict=False)
        )

    def _next(self, function: Any, kind: str, given: Any, arguments: Any) -> Step | None:
        """The step that a call is, if it was recorded here; `given` are its arguments in a row."""
        mode = local.state.mode & _PLAIN_MODES
        for step in self.step.following:
            event = step.event
            if event.function is function and event.mode == mode and event.kind == kind:
                bound: list[tuple[int, Any]] = []
                if event.arguments is None or (
                    self._agree_in_a_row(step, given, bound)
                    if event.row is not None and event.has_names(arguments)
                    else self._agree(event.arguments, arguments, step, bound)
                ):
                    if event.is_pass and not all(map(_is_plain_leaf, event.leaves)):
                        continue
                    for number, tensor in bound:
                        self.objects[number] = tensor
                        self.arrays[step.things[number].value.number] = tensor._array
                    return step
        return None

    def _agree_in_a_row(self, step: Step, given: Any, bound: list[tuple[int, Any]]) -> bool:
        """The usual case of `_agree`: tensors and plain values side by side."""
        row, objects = step.event.row, self.objects
        if len(row) != len(given):
            return False
        for (number, plain), each in zip(row, given):  # noqa: B905 they are of one length
            if number < 0:
                if plain is not each and not self._agree(plain, each, step, bound):
                    return False
            elif objects[number] is None:
                if not self._binds(number, each, step, bound):
                    return False
            elif objects[number] is not each or not step.things[number].holds(each):
                return False
        return True

    def _agree(self, template: Any, given: Any, step: Step, bound: list[tuple[int, Any]]) -> bool:
        kind = template.__class__
        if kind is Ref:
            known = self.objects[template.number]
            if known is not None:
                return known is given and step.things[template.number].holds(given)
            return self._binds(template.number, given, step, bound)
        if kind is tuple or kind is list:
            if not isinstance(given, kind) or len(given) != len(template):
                return False
            for one, two in zip(template, given, strict=True):
                if one is not two and not self._agree(one, two, step, bound):
                    return False
            return True
        if kind is dict:
            return template.keys() == given.keys() and all(
                [self._agree(each, given[key], step, bound) for key, each in template.items()]
            )
        if kind is slice and given.__class__ is slice:
            one, two = [(each.start, each.stop, each.step) for each in (template, given)]
            return self._agree(one, two, step, bound)
        return template is given or same(given, template)

    def _binds(self, number: int, given: Any, step: Step, bound: list[tuple[int, Any]]) -> bool:
        """Take a tensor that was not used before for one of the record."""
        thing = step.things[number]
        if thing.origin == "external":
            if thing.tensor is not given or not thing.holds(given):
                return False
        elif thing.origin == "made" or type(given) is not Tensor or not _is_of_kind(thing, given):
            return False
        bound.append((number, given))
        return True

    def _advance(self, step: Step, run: Callable[[], Any]) -> Any:
        event = step.event
        self.path.append(step)
        self.step = step
        if event.is_real:
            return self._run_real(step, run)
        results = event.results
        if results.__class__ is Ref:
            made = self._result(results.number, step)
        elif results is None:
            made = None
        else:
            made = results.__class__([self._result(each.number, step) for each in results])
        if event.commits or (event.touched and any(map(self._is_seen, event.touched))):
            self.compute()
        return made

    def _is_seen(self, number: int) -> bool:
        """Whether the elements of a tensor are there for everybody to read."""
        tensor = self.objects[number]
        if tensor is None:
            return False
        return not is_stand_in(tensor) or record_of(tensor).array is not None

    def _result(self, number: int, step: Step) -> Any:
        """What an event returns: an argument of it, or a stand-in."""
        made = self.objects[number]
        if made is None:
            made = self.objects[number] = stand_in(Record(self, step.things[number]))
            self.open.append(number)
        return made

    def _run_real(self, step: Step, run: Callable[[], Any]) -> Any:
        """Make a call as it is, on tensors with memory; what it returns must be of its kind."""
        result = self.unseen(run)
        template = step.event.results
        if template is not None and self.is_on:
            bound: list[tuple[int, Any]] = []
            if self._agree(template, result, step, bound):
                for number, tensor in bound:
                    self.objects[number] = tensor
                    self.arrays[step.things[number].value.number] = tensor._array
            else:
                self.leave()
        return result

    # --- effects ---------------------------------------------------------------------------------

    def run_block(self, name: str, function: Callable[..., Any]) -> Any:
        """A step of an optimizer, or `zero_grad`."""
        if name.startswith("Optimizer.zero_grad#"):
            if variables_of(function).get("set_to_none") is not True:
                self._end_histories()
            return self.unseen(function)
        owner, is_given = given_to_step(function)
        if is_given:
            return Recorder._run_step_with_closure(
                self,  # type: ignore[arg-type]
                name,
                function,
                variables_of(function),
            )
        self._end_histories()
        updates = self.following.updates
        call = updates.get(owner)
        if call is None:
            place = Recorder.place(self)  # type: ignore[arg-type]
            call = updates[owner] = _Update(owner, name, place)
        call.function = function
        return self.unseen(call.run)

    def block(self, function: Any, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A function with effects that computes as it likes."""
        if function is not Module.zero_grad or len(args) + len(kwargs) > 1:
            self._end_histories()
        return self.unseen(run, *args, **kwargs)

    def about_to_write(self, tensor: Any) -> None:
        """A write that no event makes: nothing that is open may read the tensor."""
        array = getattr(tensor, "_array", None)
        if array is None or not self.path:
            return
        memory = storage_of(array)
        if any(storage_of(each) is memory for each in self._operands()):
            self._end_histories()

    def _operands(self) -> Iterator[np.ndarray]:
        """The memory from before that the events of the window read."""
        for each, thing in zip(self.objects, self.step.things, strict=False):
            if each is not None and thing.origin != "made":
                yield each._array

    def _end_histories(self) -> None:
        """What is open is computed before something else changes that it reads."""
        if self.open and any(map(self._is_held, self.open)):
            self.compute()
        if self.live and any(map(self._is_held, self.live)):
            self.leave()

    def run_pass(self, task: GraphTask, state: State) -> None:
        """A backward pass that is no event."""
        self.leave()
        task.recorder = None
        engine.run_in_python(task, state)

    # --- computing -------------------------------------------------------------------------------

    def _is_held(self, number: int) -> bool:
        """Whether the function still has a tensor."""
        return sys.getrefcount(self.objects[number]) > _OURS

    def compute(self) -> None:
        """Run the instructions of what is open; tensors that the function holds get their array."""
        step, start = self.step, self.start
        if step is start:
            return
        things = step.things
        held = [nr for nr in self.open if self._is_held(nr)]
        wanted = {things[nr].value.number for nr in held}
        piece = step.pieces.get(start.depth)
        if piece is None or not wanted <= piece.wanted:
            before = set() if piece is None else piece.wanted
            wanted = wanted | before
            piece = self.unseen(Piece, start, step, wanted, self.following.build)
            step.pieces[start.depth] = piece
        if not self._can_give(held, things, piece):
            self.leave()
            return
        if piece.draws:
            self.seeds[start.depth] = get_rng_state()
        try:
            found = self.unseen(piece.runner.run, [self.arrays[nr] for nr in piece.inputs])
        except Exception as error:
            note_place(error, piece.runner)
            raise
        self.arrays.update(zip(piece.results, found, strict=True))
        self.start = step
        self._hand_out(held, things)

    def _can_give(self, held: list[int], things: Any, piece: Piece) -> bool:
        """Whether tensors that the function holds have memory of their own."""
        memories = [things[nr].value.memory for nr in held]
        numbers = {each.number for each in memories}
        return len(numbers) == len(memories) and all(each.origin == "made" for each in memories)

    def _hand_out(self, held: list[int], things: Any) -> None:
        depth = self.step.depth
        for number in held:
            tensor, thing = self.objects[number], things[number]
            record_of(tensor).array = self.arrays[thing.value.number]
        self.live += self.open
        self.open = []
        tensor = None
        remaining = []
        for number in self.live:
            thing = things[number]
            if thing.flag and (thing.consumed is None or thing.consumed >= depth):
                remaining.append(number)
                continue
            record = record_of(self.objects[number])
            if record.array is not None:
                become(self.objects[number], _plain(thing, record.array))
        self.live = remaining
        if not any(map(self._is_held, remaining)):
            self._begin_window()

    def _begin_window(self) -> None:
        """No history is open: what happened up to here need never be done again."""
        for number in self.live:
            self.objects[number] = None
        self.window = self.step
        self.path, self.live, self.seeds = [], [], {}

    def leave(self) -> None:
        """Do what is open as eager mode does it, and follow no further."""
        if not self.is_on:
            return
        self.off()
        self.following.note_departure()
        state = local.state
        mode, path = state.mode, self.path
        done = sum(step.depth <= self.start.depth for step in path)
        self.missing = {nr for nr, each in enumerate(self.objects) if is_stand_in(each)}
        try:
            self._redo_done(path[:done], state)
            for step in path[done:]:  # these have not been done at all
                self._redo(step, state)
        finally:
            state.mode = mode
        self.open, self.live, self.path = [], [], []

    def _redo_done(self, path: list[Step], state: State) -> None:
        """Do once more what programs did: histories come of it, and nothing else changes."""
        now = get_rng_state() if self.seeds else None
        kept = kept_writes([self.objects[nr] for step in path for nr in step.event.written])
        depth = self.window.depth
        try:
            for step in path:
                if depth in self.seeds:
                    set_rng_state(self.seeds[depth])
                depth = step.depth
                self._redo(step, state)
        finally:
            put_back_writes(kept)
            if now is not None:
                set_rng_state(now)

    def _redo(self, step: Step, state: State) -> None:
        event = step.event
        if event.is_real or event.is_pass:
            return
        results = event.results if isinstance(event.results, tuple | list) else [event.results]
        numbers = [each.number for each in results if each is not None]
        if not self.missing & set(numbers):
            return
        state.mode = event.mode
        made = event.call(self._filled(event.arguments))
        rows = made if isinstance(made, tuple | list) else [made]
        for number, each in zip(numbers, rows, strict=True):
            if each is not self.objects[number] and is_stand_in(self.objects[number]):
                become(self.objects[number], each)

    def _filled(self, template: Any) -> Any:
        if isinstance(template, Ref):
            return self.objects[template.number]
        if isinstance(template, tuple | list):
            return template.__class__([self._filled(each) for each in template])
        if isinstance(template, dict):
            return {key: self._filled(each) for key, each in template.items()}
        return template


class _Update:
    """The step of an optimizer, as programs run it (see `updates`)."""

    def __init__(self, owner: Any, name: str, place: Place) -> None:
        self.function: Any = None
        self.run = update_call(owner, lambda: self.function(), name, place)


def _plain(thing: Any, array: np.ndarray) -> Tensor:
    """A tensor without a history, or with one that is used up."""
    tensor = wrap(array)
    tensor._requires_grad = thing.flag
    if thing.flag:
        tensor._grad_fn = thing.node
    if thing.version:
        tensor._counter = VersionCounter()
        tensor._counter.value = thing.version
    return tensor


def _is_of_kind(thing: Any, tensor: Any) -> bool:
    return (
        not (tensor._requires_grad and tensor.requires_grad)
        and tensor._counter is not INFERENCE_COUNTER
        and tensor._change is None
        and thing.is_like(tensor._array)
    )


def _is_plain_leaf(leaf: Any) -> bool:
    """Whether a gradient may arrive at a leaf without anybody seeing it."""
    meta = leaf._autograd_meta
    if not leaf._requires_grad:
        return False
    return meta is None or not (meta.hooks or meta.post_accumulate_hooks)


def _led(function: Any, run: Any, *args: Any, **kwargs: Any) -> Any:
    """The detour of a function that is an event: to the follower of this thread, if it has one."""
    follower = local.state.recorder
    if not isinstance(follower, Follower):
        return run(*args, **kwargs)
    return follower.see(function, run, args, kwargs)


def _led_block(function: Any, run: Any, *args: Any, **kwargs: Any) -> Any:
    follower = local.state.recorder
    if not isinstance(follower, Follower):
        return run(*args, **kwargs)
    return follower.block(function, run, args, kwargs)


class Following(Ways):
    """A function whose own code runs again at each call."""

    lead = staticmethod(_led)
    lead_block = staticmethod(_led_block)

    @property
    def is_ready(self) -> bool:
        """Whether the next call may be followed, and need not be recorded."""
        return not self.records_next

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function."""
        self.calls += 1
        return Follower(self).run(function, args, kwargs)

    def record(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function, and write down what it calls."""
        self.recordings += 1
        script = Script(Arguments(args, kwargs).tensors)
        with script.recording():
            result = function(*args, **kwargs)
        self.records_next = False
        for each in tree_leaves(result):
            if isinstance(each, Tensor) and script.is_open(each):
                script.give_up("a tensor with a history is returned")
        if script.refusal is not None:
            self.refusal = script.refusal
        elif not script.events:
            self.refusal = "nothing is computed", script.place()
        else:
            script.settle()
            self.add(script)
        return result
