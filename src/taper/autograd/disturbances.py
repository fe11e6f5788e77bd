"""State that survives a fork of the process and a Ctrl-C.  Imports nothing of taper."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock(kind: Callable[[], Any] = threading.Lock) -> Any:
    """Return a lock that is free in a forked child, where no thread can release it."""
    lock = kind()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


def to_the_end(action: Callable[[], None]) -> None:
    """Run a repeatable action; if Ctrl-C interrupts it, run it once more and then raise."""
    try:
        action()
    except KeyboardInterrupt:
        action()
        raise
