"""The note on an error of the library that says in which module the error happened.

Owns: the way from the modules that are being called to a path such as `blocks.4.norm`.  It is
looked for only when an error passes through a call, so calls that succeed pay nothing.
"""

from __future__ import annotations

import itertools
import sys
from types import FrameType
from typing import Any

from taper.autograd.provenance import is_internal

# What operators raise.  Others are the user's, or mean something to the library.
_KINDS = frozenset({RuntimeError, ValueError, TypeError, IndexError, NotImplementedError})
_START = "In module "


def note_module(error: Exception) -> None:
    """Add the path of the calling module to an error that was raised inside taper, once."""
    if error.__class__ not in _KINDS or any(
        each.startswith(_START) for each in getattr(error, "__notes__", ())
    ):
        return
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None and is_internal(trace.tb_frame.f_code.co_filename):
        error.add_note(_START + label(_running(sys._getframe(1))))


def _running(call: FrameType) -> list[Any]:
    """Return the modules that are being called, the outermost first, from a frame of a call."""
    found = []
    frame: FrameType | None = call
    while frame is not None:
        if frame.f_code is call.f_code:
            found.append(frame.f_locals["self"])
        frame = frame.f_back
    return found[::-1]


def label(modules: list[Any]) -> str:
    """Return the path and class of the last of modules of which each calls the next."""
    path: list[str] = []
    for outer, inner in itertools.pairwise(modules):
        within = next((name for name, each in outer.named_modules() if each is inner), None)
        path = [*path, within] if within else []  # of a module that is no part of its caller
    name = type(modules[-1]).__name__
    return f"{'.'.join(path)} {name}" if path else name
