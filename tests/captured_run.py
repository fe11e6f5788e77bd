"""Run a script with every outermost call of a module captured: `captured_run.py script arguments`.

What the script prints must be what it prints without; afterwards it says how much was replayed.
"""

from __future__ import annotations

import functools
import runpy
import sys
import weakref
from typing import Any

import taper
from taper import compat
from taper.nn.modules.calls import Calls

plain = Calls.__call__
made: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
depth = 0
counts = {"replayed": 0, "reasons": set()}


def call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's call, captured if no other module makes it."""
    global depth
    if depth:
        return plain(self, *args, **kwargs)
    if self not in made:
        made[self] = taper.capture(functools.partial(plain, self), exact=True)
    depth += 1
    try:
        return made[self](*args, **kwargs)
    finally:
        depth -= 1


if __name__ == "__main__":
    compat.install()
    Calls.__call__ = call  # type: ignore[method-assign]
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    replays = sum(entry.replays for captured in made.values() for entry in captured._entries)
    print(f"replayed {replays}", file=sys.stderr)
    for captured in made.values():
        for entry in captured._entries:
            if entry.refusal is not None:
                print(captured._explained(entry), file=sys.stderr)
