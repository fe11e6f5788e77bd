"""`debug=True`: which operators ran in the original forward and in the recomputation (§P8)."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from taper.autograd.interception import Call, intercepting
from taper.autograd.provenance import is_internal
from taper.dtypes import dtype
from taper.ops.identity import call_arguments, overload_of
from taper.tensor import Tensor
from taper.utils._checkpoint.frames import CheckpointError

_TEXT = """ An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

{head}
|        1. Stack traces of the operators that ran in the original forward     |
{line}

{forward_traces}
{head}
|        2. Stack traces of the operators that ran during recomputation        |
{line}

{recompute_traces}
{head}
|       3. Log of operators in the original forward and recomputation          |
{line}

Operations executed during the original forward:

{forward_ops}

Operations executed during recomputation:

{recompute_ops}

{line}
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 the tensors saved by the original forward and by the recomputation differ.

 Compare the two lists of operators in section 3, in the order in which they
 ran. Where they part, sections 1 and 2 show which lines of the program called
 the operators.
{end}
"""
_HEAD, _LINE, _END = f"+{'~' * 78}+", f"+{'-' * 78}+", "-" * 80


class _Entry:
    """One operator call: its text, and the lines of the program that led to it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack = []
        frame = sys._getframe(2)
        while frame is not None:
            if not is_internal(frame.f_code.co_filename):
                self.stack.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]

    def trace(self, position: int, count: int, where: str) -> str:
        places = [f"{code.co_filename}:{line}:{code.co_name}" for code, line in self.stack]
        return "\n".join([f"{self.text}   ({position} of {count} in {where})", "", *places, "", ""])


class DebugLog:
    """The operators of one checkpointed call, the first time and the last time it ran."""

    def __init__(self) -> None:
        self.forward: list[_Entry] = []
        self.recompute: list[_Entry] = []

    def contexts(self) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        """Return the two context managers of `context_fn`."""
        return _Logging(self.forward), _Logging(self.recompute)

    def explain(self, error: CheckpointError) -> CheckpointError:
        """Return an error that shows both logs."""
        return CheckpointError(
            _TEXT.format(
                head=_HEAD,
                line=_LINE,
                end=_END,
                forward_traces=_traces(self.forward, "original"),
                recompute_traces=_traces(self.recompute, "recompute"),
                forward_ops="\n".join(each.text for each in self.forward),
                recompute_ops="\n".join(each.text for each in self.recompute),
            )
        )


def _traces(entries: list[_Entry], where: str) -> str:
    count = len(entries)
    return "\n".join(entry.trace(nr, count, where) for nr, entry in enumerate(entries, 1))


@contextmanager
def _logged(entries: list[_Entry]) -> Iterator[None]:
    entries.clear()
    number = _numbering()

    def log(call: Call, run: Callable[[], Any]) -> Any:
        arguments, keywords = call_arguments(call)
        parts = [_shown(value, number) for value in arguments]
        parts += [f"{name}={_shown(value, number)}" for name, value in keywords.items()]
        result = run()
        text = f"{_result(result, number)} = torch._ops.{overload_of(call)}({', '.join(parts)})"
        entries.append(_Entry(text))
        return result

    with intercepting(log):
        yield


class _Logging:
    """A context manager that can be entered repeatedly; each time the log starts anew."""

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries

    def __enter__(self) -> None:
        self.active = _logged(self.entries)
        self.active.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.active.__exit__(*exception)


def _numbering() -> Callable[[Tensor], int]:
    """Return a function that numbers tensors when they are first seen, and keeps none alive."""
    known: dict[int, tuple[weakref.ref[Tensor], int]] = {}
    count = 0

    def number(tensor: Tensor) -> int:
        nonlocal count
        found = known.get(id(tensor))
        if found is None or found[0]() is not tensor:
            found = known[id(tensor)] = (weakref.ref(tensor), count)
            count += 1
        return found[1]

    return number


def _shown(value: Any, number: Callable[[Tensor], int]) -> str:
    if isinstance(value, Tensor):
        return f"${number(value)}"
    if isinstance(value, list | tuple):
        return str([_shown(each, number) for each in value])
    return repr(value) if isinstance(value, str) else str(value)


def _result(value: Any, number: Callable[[Tensor], int]) -> str:
    if isinstance(value, Tensor):
        return f"${number(value)}: {_short(value.dtype)}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return str(type(value)([_result(each, number) for each in value]))
    return repr(value)


def _short(kind: dtype) -> str:
    """Return `f32` for `torch.float32`."""
    name = str(kind).removeprefix("torch.")
    if name == "bool":
        return "b8"
    letters = name.rstrip("0123456789")
    first = "bf" if letters == "bfloat" else letters[0]
    return first + name[len(letters) :]
