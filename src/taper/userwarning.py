"""Warnings that point at the user's line, however deep in the library they arise."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator

from taper.autograd.provenance import user_frame

_thread = threading.local()


@contextlib.contextmanager
def said_already() -> Iterator[None]:
    """Keep quiet in this thread: another example of the same batch has warned."""
    before, _thread.quiet = getattr(_thread, "quiet", False), True
    try:
        yield
    finally:
        _thread.quiet = before


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the innermost line outside the package."""
    if getattr(_thread, "quiet", False):
        return
    frame = user_frame(sys._getframe(1))
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


_given: set[str] = set()
_always = False


def warn_once(message: str, category: type[Warning] = UserWarning, once: str = "") -> None:
    """Warn the first time in this process, or each time after `set_warn_always(True)`.

    `once` identifies messages whose text varies.
    """
    if (once or message) not in _given or _always:
        _given.add(once or message)
        warn_user(message, category)


def set_warn_always(b: bool, /) -> None:
    """Say whether warnings that are shown once in a process are shown each time.

    >>> import taper
    >>> taper.set_warn_always(False)
    """
    global _always
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Return whether `set_warn_always` is on.

    >>> import taper
    >>> taper.is_warn_always_enabled()
    False
    """
    return _always
