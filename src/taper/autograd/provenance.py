"""The user's line (D6): the first frame outside the package, kept unformatted.

A record is (code object, instruction offset).  It is cheap to take (about 0.1 us), keeps no locals
alive, and becomes file, line and source text only when an error is written.  Knows nothing but the
native twin.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType
from typing import Any

from taper.arrays.native import native

# Code in these is ours: the package, and what a device is driven with once it is in use.
folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep]

# References to a dict of variables that nobody else looks at: its frame's, ours, getrefcount's.
_FRAME_AND_HERE = 3

_OPTIMIZED = 1  # `inspect.CO_OPTIMIZED`: of functions, whose variables are no dict

# Whether a file is ours.  Asked once per file; generated operator code is named "<op ...>".
internal: dict[str, bool] = {}


def is_internal(filename: str) -> bool:
    known = internal.get(filename)
    if known is None:
        known = filename.startswith("<op ") or os.path.abspath(filename).startswith(tuple(folders))
        internal[filename] = known
    return known


def user_frame(frame: FrameType) -> FrameType:
    """Return the innermost frame of the stack outside taper (the outermost if all are inside)."""
    while True:
        filename = frame.f_code.co_filename
        known = internal.get(filename)
        if known is None:
            known = is_internal(filename)
        if not known:
            return frame
        outer = frame.f_back
        if outer is None:
            return frame
        frame = outer


if native is not None:
    native.know_frames(internal, user_frame)
    user_frame = native.user_frame


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Return the local variables of a running function, without leaving a trace in it.

    Before Python 3.13 reading `f_locals` leaves a dict in the frame that keeps every variable alive
    until the function ends; it is emptied again, unless somebody else looks at it.
    """
    snapshot = frame.f_locals
    found = dict(snapshot)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & _OPTIMIZED:
        watched = sys.gettrace() is not None or sys.getprofile() is not None
        if not watched and sys.getrefcount(snapshot) <= _FRAME_AND_HERE:
            snapshot.clear()
    return found


def here() -> tuple[CodeType, int]:
    """Return the record of the user's line that is running now."""
    frame = user_frame(sys._getframe(1))
    return frame.f_code, frame.f_lasti


def line_of(code: CodeType, offset: int) -> int:
    """Return the line number of an instruction offset of a code object."""
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def describe(record: tuple[CodeType, int] | None) -> str:
    """Return `file.py:12 in train: loss = a * b`, for error texts."""
    if record is None or record[0] is None:
        return "an unknown line"
    code, offset = record
    line = line_of(code, offset)
    text = linecache.getline(code.co_filename, line).strip()
    place = f"{place_name(code.co_filename, line)} in {code.co_name}"
    return f"{place}: {text}" if text else place


def place_name(filename: str, line: int) -> str:
    """Return `file.py:12`; for a cell of a notebook IPython's name, `Cell In[3], line 12`."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    cell = None if name is None else name(filename)
    return f"{filename}:{line}" if cell is None else f"{' '.join(cell)}, line {line}"
