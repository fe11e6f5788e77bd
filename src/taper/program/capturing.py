"""`taper.capture`: a function of tensors, recorded once and then replayed (D15).

Owns: what users call.  Which calls are recorded and replayed is decided here; how, in `learning`.
"""

from __future__ import annotations

import functools
import linecache
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, overload

from taper.arrays.native import native
from taper.autograd import anomaly_mode
from taper.autograd.backward import grad
from taper.autograd.provenance import line_of
from taper.autograd.state import local
from taper.nn.modules.module import Module
from taper.ops.creation.filled import ones_like
from taper.program import calls
from taper.program.branches import UNKNOWN, Tree
from taper.program.executor import measuring
from taper.program.following import Following
from taper.program.form import Place, Program
from taper.program.guards import Arguments, Guards, is_ordinary
from taper.program.learning import Entry, learn
from taper.program.lowering import build
from taper.program.pieces import Pieces
from taper.program.watching import Arrays, Surroundings, Watcher
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.utils._pytree import tree_leaves

__all__ = ["capture", "Captured", "CaptureError"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Attempts to record a kind of calls whose code is not the same twice.
_ATTEMPTS = 3


class CaptureError(RuntimeError):
    """A function cannot be captured, and `strict=True` was asked for; it names the line.

    >>> import taper
    >>> step = taper.capture(lambda x: x * x.sum().item(), strict=True)
    >>> x = taper.ones(2)
    >>> _ = step(x)
    >>> try:
    ...     step(x)
    ... except taper.CaptureError as error:
    ...     print(str(error).partition(" (")[0])
    the function cannot be captured: item(): the number is used in Python
    """


class _Pending:
    """A kind of calls that was seen, and not yet recorded."""

    def __init__(self, key: Guards, watcher: Watcher, around: Surroundings) -> None:
        self.key = key
        self.codes = watcher.codes
        self.expects_effects = watcher.effect is not None or around.changed() is not None
        self.attempts = 0


class Captured:
    """A captured function: call it as the function itself.  Made by `taper.capture`.

    Attributes:
        eager: the function as it was written.

    >>> import taper
    >>> square = taper.capture(lambda x: (x * x).sum())
    >>> [square(taper.tensor([3.0, number])).item() for number in (0.0, 1.0, 2.0)]
    [9.0, 10.0, 13.0]
    >>> print(square.explain().splitlines()[0])
    2 instructions, replayed 1 time
    """

    def __init__(self, function: Callable[..., Any], exact: bool, strict: bool, limit: int) -> None:
        self.eager = function
        self.exact, self.strict, self.limit = exact, strict, limit
        self._entries: list[Entry] = []
        self._pending: list[_Pending] = []
        self._pieces = Pieces(self._piece)
        self._following = Following(self._build)
        self._lock = threading.Lock()
        self._warned = False
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: eagerly, recorded or replayed."""
        state = local.state
        if not is_ordinary(state) or anomaly_mode.enabled or sys.gettrace() is not None:
            return self.eager(*args, **kwargs)
        if not kwargs:
            for entry in self._entries:
                if entry.guards.hold_at_once(args, state):
                    if entry.refusal is not None:
                        return self._run_in_python(args, kwargs)
                    entry.replays += 1
                    tensors = [each for each in args if isinstance(each, Tensor)] if args else []
                    found = entry.replay(tensors)
                    return self._branch(entry, args, kwargs) if found is UNKNOWN else found
        arguments = Arguments(args, kwargs)
        for entry in self._entries:
            if entry.guards.hold(arguments, state):
                if entry.refusal is not None:
                    return self._run_in_python(args, kwargs)
                entry.replays += 1
                found = entry.replay(arguments.tensors)
                return self._branch(entry, args, kwargs) if found is UNKNOWN else found
        # One thread at a time learns; others do not wait for it, since it may wait for them.
        if sys.getprofile() is not None or not self._lock.acquire(blocking=False):
            return self.eager(*args, **kwargs)
        try:
            return self._learn(args, kwargs, arguments)
        finally:
            self._lock.release()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind a captured method to its object, which is then an argument."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        """Copy and save the function; a copy records anew."""
        return _again, (self.eager, self.exact, self.strict, self.limit)

    def _run_in_python(self, args: Any, kwargs: Any) -> Any:
        """Call a function that no program stands for; parts of it may be programs."""
        following = self._following
        if following.refusal is None:
            if following.is_ready:
                return following.run(self.eager, args, kwargs)
            if sys.getprofile() is None and self._lock.acquire(blocking=False):
                try:
                    return following.record(self.eager, args, kwargs)
                finally:
                    self._lock.release()
        return self._pieces.run(self.eager, args, kwargs)

    def _learn(self, args: Any, kwargs: Any, arguments: Arguments) -> Any:
        key = Guards(arguments, local.state, None, None)
        for pending in self._pending:
            if pending.key.hold(arguments, local.state):
                return self._record(pending, args, kwargs, arguments)
        if len(self._entries) + len(self._pending) >= self.limit:
            self._warn_of_limit()
            return self.eager(*args, **kwargs)
        calls.special_functions()  # loads what the recording needs, which is to take little time
        around = Surroundings({}, self.eager, arguments.rest)
        with Watcher() as watcher:
            result = self.eager(*args, **kwargs)
        self._pending.append(_Pending(key, watcher, around))
        return result

    def _branch(self, tree: Any, args: Any, kwargs: Any) -> Any:
        """Record a call that goes a way which nobody has seen."""
        tree.replays -= 1
        if sys.getprofile() is not None or not self._lock.acquire(blocking=False):
            return self.eager(*args, **kwargs)
        try:
            arguments = Arguments(args, kwargs)
            result, way, codes = learn(self.eager, args, kwargs, arguments, tree.codes, self._build)
            refusal = way.refusal
            if refusal is None and not codes.keys() <= tree.codes.keys():
                tree.codes.update(codes)
                tree.attempts += 1
                if tree.attempts < _ATTEMPTS:
                    return result
                refusal = "other code runs at each call", way.place
            if refusal is None:
                tree.add(way)
                refusal = tree.refusal
            if refusal is not None:
                self._replace(tree, Entry(tree.key, refusal))
            return result
        finally:
            self._lock.release()

    def _replace(self, entry: Entry, other: Entry) -> None:
        self._entries = [other if each is entry else each for each in self._entries]
        self._insist(other)

    def _insist(self, entry: Entry) -> None:
        if entry.refusal is not None and self.strict:
            raise CaptureError(f"the function cannot be captured: {_reason(entry.refusal)}")

    def _record(self, pending: _Pending, args: Any, kwargs: Any, arguments: Arguments) -> Any:
        self._pending.remove(pending)
        expected = pending.expects_effects
        result, entry, codes = learn(
            self.eager, args, kwargs, arguments, pending.codes, self._build, expected
        )
        if expected and entry.refusal is not None and not entry.has_visible_effects:
            pending.expects_effects = False  # it had them when it was called first: once more
            self._pending.append(pending)
            return result
        if entry.refusal is None and not codes.keys() <= pending.codes.keys():
            # What new code reads was not looked at before the call: once more.
            pending.codes.update(codes)
            pending.attempts += 1
            if pending.attempts < _ATTEMPTS:
                self._pending.append(pending)
                return result
            entry = Entry(pending.key, ("other code runs at each call", entry.place))
        if entry.has_branches and entry.refusal is None:
            tree = Tree(entry, pending.key, pending.codes, self._build)
            entry = tree if tree.refusal is None else Entry(pending.key, tree.refusal)
        if entry.refusal is not None and self._following.refusal is None:
            met = Arrays(pending.codes, self.eager, arguments.rest).found()
            self._following.refusal = None if met is None else (met, entry.place)
        self._entries = [*self._entries, entry]
        self._insist(entry)
        if native is not None and entry.refusal is None:
            native.drop_memory()  # a replay needs less than eager mode, and in other sizes
        return result

    def _piece(self, function: Callable[..., Any]) -> Captured:
        return Captured(function, self.exact, False, self.limit)

    def _build(self, program: Program) -> Any:
        return build(program, self.exact)

    def _warn_of_limit(self) -> None:
        if not self._warned:
            self._warned = True
            warn_user(
                f"{self.limit} kinds of calls of {self.eager!r} have been captured; other ones run "
                "eagerly from now on. Pass capture(limit=...) for more, or shapes and numbers that "
                "change less."
            )

    # --- looking inside ------------------------------------------------------------------------

    def explain(self) -> str:
        """Return the programs as text: instructions, shapes, bytes, the user's lines.

        A kind of calls that is not replayed has the reason, and the line it comes from.

        Example:
            >>> import taper
            >>> double = taper.capture(lambda x: x * 2)
            >>> _ = [double(taper.ones(3)) for _ in range(3)]
            >>> print(double.explain().splitlines()[1].split("#")[0].strip())
            %1 float32 (3,) = mul(%0, 2)
        """
        if not self._entries:
            return "nothing has been recorded yet: the second call records, the third replays"
        return "\n\n".join([self._explained(each) for each in self._entries])

    def _explained(self, entry: Entry) -> str:
        if entry.refusal is not None:
            return self._explained_in_python(entry.refusal)
        if isinstance(entry, Tree):
            return self._explained_tree(entry)
        program, count = entry.program, entry.replays
        kept = entry.runner.instructions
        head = f"{_counted(len(kept), 'instruction')}, replayed {_counted(count, 'time')}"
        notes = entry.runner.notes()
        lines = [f"{_instruction_text(each)} [{notes[id(each)]}]" for each in kept]
        total = sum(
            each.nbytes for each in program.values if each.origin == "made" and not each.base
        )
        tail = [f"{total} bytes of results in between", entry.runner.summary()]
        return "\n".join([head, *lines, *tail])

    def _explained_in_python(self, refusal: tuple[str, Place]) -> str:
        following = self._following
        if following.refusal is None:
            head = f"runs in Python, what it computes in pieces: {_reason(refusal)}"
            return "\n".join([head, *self._explained_ways(following)])
        how = "its modules in pieces" if self._pieces.are_faster else "all of it"
        head = f"runs eagerly, {how}: {_reason(refusal)}"
        if following.recordings:
            head += f"\nit is not followed: {_reason(following.refusal)}"
        pieces = [f"{name}: {each.explain()}" for name, each in self._pieces.named()]
        return "\n\n".join([head, *pieces])

    def _explained_ways(self, following: Following) -> list[str]:
        left = _counted(following.departures, "time")
        texts = [f"replayed {_counted(following.calls, 'time')}, left for eager mode {left}"]
        for step, piece in following.pieces():
            kept = piece.runner.instructions
            notes = piece.runner.notes()
            texts.append(
                f"up to {_line_text(step.event.place)}: {_counted(len(kept), 'instruction')}"
            )
            texts += [f"{_instruction_text(each)} [{notes[id(each)]}]" for each in kept]
            texts.append(piece.runner.summary())
        return texts

    def _explained_tree(self, tree: Tree) -> str:
        pieces = list(tree.pieces())
        texts = [f"{len(pieces)} pieces, replayed {_counted(tree.replays, 'time')}"]
        for label, piece in pieces:
            notes = piece.runner.notes()
            kept = piece.runner.instructions
            texts.append(f"after {label}: {_counted(len(kept), 'instruction')}")
            texts += [f"{_instruction_text(each)} [{notes[id(each)]}]" for each in kept]
            texts.append(piece.runner.summary())
            if piece.look is not None:
                texts.append(f"{_instruction_text(piece.look)} [chooses what follows]")
        return "\n".join(texts)

    def profile(self, *args: Any, **kwargs: Any) -> str:
        """Call the function, and return the time of each step of its programs as text.

        A step is an instruction, or several that were fused.  The last row is what the call took
        beside them: the function's own code if it runs in Python, and what a replay does around.

        Args:
            args, kwargs: arguments of the function, of a kind that has been recorded.

        Example:
            >>> import taper
            >>> double = taper.capture(lambda x: x * 2)
            >>> _ = [double(taper.ones(3)) for _ in range(2)]
            >>> print(double.profile(taper.ones(3)).splitlines()[0])
            us        step
        """
        arguments = Arguments(args, kwargs)
        if not any(each.guards.hold(arguments, local.state) for each in self._entries):
            raise ValueError(
                "no program holds for these arguments: call the function twice with such ones first"
            )
        before, measuring.rows = measuring.rows, []
        start = time.perf_counter()
        try:
            self(*args, **kwargs)
            seconds, rows = time.perf_counter() - start, measuring.rows
        finally:
            measuring.rows = before
        lines = [
            f"{each * 1e6:<9.1f} {'; '.join(map(_instruction_text, made)).strip()}"
            for each, made in rows
        ]
        rest = seconds - sum(each for each, _ in rows)
        return "\n".join(["us        step", *lines, f"{rest * 1e6:<9.1f} Python, and measuring"])


def graphed(function: Any, sample: Any, calls: int) -> Any:
    """Capture a function, or the forward of a module, and call it until it is replayed."""
    sample = sample if isinstance(sample, tuple) else (sample,)
    if isinstance(function, Module):
        module = function
        captured = module.forward = capture(module.forward)
    else:
        captured = capture(function)
    for _ in range(calls + 1):  # eager, recorded, tried and written
        results = tree_leaves(captured(*sample))
        live = [each for each in results if isinstance(each, Tensor) and each.requires_grad]
        inputs = [each for each in sample if isinstance(each, Tensor) and each.requires_grad]
        if isinstance(function, Module):
            inputs += [each for each in function.parameters() if each.requires_grad]
        if live and inputs:
            grad(live, inputs, list(map(ones_like, live)), allow_unused=True)
    return function if isinstance(function, Module) else captured


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _again(function: Callable[..., Any], exact: bool, strict: bool, limit: int) -> Captured:
    return Captured(function, exact, strict, limit)


def _reason(refusal: tuple[str, Place]) -> str:
    reason, place = refusal
    return f"{reason} ({_line_text(place)})"


def _line_text(place: Place) -> str:
    code, offset = place
    if code is None:
        return "no line"
    line = line_of(code, offset)
    text = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}: {text}" if text else f"{code.co_filename}:{line}"


def _instruction_text(instruction: Any) -> str:
    results = ", ".join(
        f"{each!r} {each.dtype} {each.shape}" if each is not None else "-"
        for each in instruction.outputs
    )
    arguments = ", ".join(repr(each) for each in instruction.arguments)
    left = f"{results} = " if results else ""
    return f"  {left}{instruction.name}({arguments})  # {_line_text(instruction.place)}"


@overload
def capture(
    function: None = None, *, exact: bool = False, strict: bool = False, limit: int = 8
) -> Callable[[_Function], _Function]: ...
@overload
def capture(
    function: _Function, *, exact: bool = False, strict: bool = False, limit: int = 8
) -> _Function: ...
def capture(
    function: Callable[..., Any] | None = None,
    *,
    exact: bool = False,
    strict: bool = False,
    limit: int = 8,
) -> Any:
    """Record what a function does with tensors, and replay that from its third call on.

    The function may be a whole training step (forward, loss, `zero_grad`, `backward`, clipping,
    `optimizer.step`, scheduler), a forward pass whose result is differentiated afterwards, or a
    function without gradients.  Results, gradients, parameters, states of optimizers and random
    numbers are those of eager mode.

    Values of arguments and parameters, learning rates and the state of the random generator may
    change from call to call.  Another shape, dtype or layout, other Python values among the
    arguments, other modes, or a change of anything the function reads in Python (globals,
    closures, attributes) makes a new recording.  A function that does what no program holds
    (prints, reads numbers out of tensors and computes with them, changes lists or attributes,
    draws Python's random numbers) runs itself, and what it computes runs in pieces; one whose
    hooks or custom Functions do so runs eagerly.  `explain()` says why.

    Args:
        function: the function; without it, `capture` returns a decorator.
        exact: whether results must be those of eager mode to the bit; else a fused instruction
            may differ in the last places.
        strict: whether a function that cannot be captured raises a `CaptureError` at the second
            call, with the line, instead of running eagerly.
        limit: how many kinds of calls are recorded; later ones run eagerly, with one warning.

    Returns: a callable with `explain()`, `profile()` and `eager`, the function itself.

    Example:
        >>> import taper
        >>> weight = taper.ones(2, requires_grad=True)
        >>> optimizer = taper.optim.SGD([weight], lr=0.1)
        >>> @taper.capture
        ... def step(x):
        ...     optimizer.zero_grad()
        ...     loss = (weight * x).sum()
        ...     loss.backward()
        ...     optimizer.step()
        ...     return loss
        >>> [round(step(taper.tensor([1.0, 2.0])).item(), 4) for _ in range(4)]
        [3.0, 2.5, 2.0, 1.5]
    """
    if function is None:
        return functools.partial(capture, exact=exact, strict=strict, limit=limit)
    if not callable(function):
        raise TypeError(f"capture() needs a function, not {type(function).__name__}")
    if limit < 1:
        raise ValueError(f"capture() needs a limit of at least 1, not {limit}")
    return Captured(function, exact, strict, limit)
