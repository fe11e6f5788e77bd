"""Tracebacks that show the user's frames: those inside taper are folded, in terminals and IPython.

Owns: which frames are shown of an error that nobody caught, and that PyTorch's hint to look for a
line is not, where the line follows.  The error itself keeps its text and its whole traceback:
debuggers, loggers and whoever catches it see all of it.  A hook that somebody else has put in place
is left alone, and one that wraps ours is given the whole traceback.
`TAPER_FULL_TRACEBACK=1` in the environment shows everything.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np

from taper.autograd.provenance import is_internal

_SWITCH = "TAPER_FULL_TRACEBACK"
_IMPORTLIB = os.path.dirname(os.path.abspath(importlib.__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


def shows_all() -> bool:
    """Return whether the user has asked for whole tracebacks."""
    return os.environ.get(_SWITCH, "0") not in ("", "0")


def folded(trace: TracebackType | None) -> tuple[TracebackType | None, int]:
    """Return a traceback without the frames inside taper, and how many were left out.

    What taper itself calls in NumPy and the import system goes, too.  A traceback with no other
    frame stays as it is.
    """
    shown: list[TracebackType] = []
    count = 0
    inside = False
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        inside = is_internal(name) or (inside and _is_called_by_taper(name))
        if inside:
            count += 1
        else:
            shown.append(trace)
        trace = trace.tb_next
    if not shown or not count:
        return None, 0
    result: TracebackType | None = None
    for each in reversed(shown):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result, count


def _is_called_by_taper(name: str) -> bool:
    return name.startswith(("<frozen importlib", _IMPORTLIB, _NUMPY))


@contextmanager
def folding(error: BaseException | None) -> Iterator[int]:
    """Fold the tracebacks of an error, and of those that led to it, while they are shown."""
    kept: list[tuple[BaseException, TracebackType | None, tuple[Any, ...]]] = []
    total = 0
    waiting = [] if error is None or shows_all() else [error]
    seen: set[int] = set()
    try:
        while waiting:
            each = waiting.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            trace, count = folded(each.__traceback__)
            if count:
                kept.append((each, each.__traceback__, each.args))
                each.__traceback__ = trace
                each.args = tuple([_without_hint(part) for part in each.args])
                total += count
            waiting += [one for one in (each.__cause__, each.__context__) if one is not None]
            if isinstance(each, BaseExceptionGroup):
                waiting += each.exceptions
        yield total
    finally:
        for each, trace, args in kept:
            each.__traceback__ = trace
            each.args = args


# What PyTorch says for want of the lines that taper adds below it.
_TO_ANOMALY_MODE = re.compile(
    r" Hint: (enable anomaly detection|the backtrace further above)[^\n]*\n(It was saved by )"
)


def _without_hint(part: Any) -> Any:
    return _TO_ANOMALY_MODE.sub(r"\n\2", part) if isinstance(part, str) else part


def _hint(count: int) -> str:
    frames = "1 frame" if count == 1 else f"{count} frames"
    return f"({frames} inside taper not shown; {_SWITCH}=1 shows all)"


def _excepthook(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    with folding(error) as count:
        _say(count)
        sys.__excepthook__(kind, error, error.__traceback__)


def _thread_excepthook(arguments: Any) -> None:
    with folding(arguments.exc_value) as count:
        _say(count)
        threading.__excepthook__(arguments)


def _say(count: int) -> None:
    # Before the traceback: its last line is the error, which people and programs look for there.
    if count and sys.stderr is not None:
        sys.stderr.write(_hint(count) + "\n")


def _fold_in_notebook(formatter: Any) -> None:
    """Let IPython's formatter of tracebacks see the folded ones."""
    write: Callable[..., list[str]] = formatter.structured_traceback
    if getattr(write, "folds_taper", False):
        return

    def structured_traceback(
        etype: Any, evalue: Any = None, etb: Any = None, *rest: Any, **options: Any
    ) -> list[str]:
        with folding(evalue) as count:
            if not count or not isinstance(etb, TracebackType):
                return write(etype, evalue, etb, *rest, **options)
            return [_hint(count), *write(etype, evalue, evalue.__traceback__, *rest, **options)]

    structured_traceback.folds_taper = True  # type: ignore[attr-defined]
    formatter.structured_traceback = structured_traceback


def install() -> None:
    """Fold the tracebacks of errors that nobody catches, where nobody else shows them already."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _excepthook
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _thread_excepthook
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and hasattr(shell, "InteractiveTB"):
        _fold_in_notebook(shell.InteractiveTB)
