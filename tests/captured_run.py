"""Run a script twice, the second time with every outermost call of a module captured.

`captured_run.py script arguments` prints a row of JSON for each: what the script has printed, a
number for the bits of the parameters it has ended with, how much was replayed, and why not all.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import runpy
import sys
import zlib
from typing import Any

import taper
from taper import compat
from taper.nn.modules.calls import Calls

plain = Calls.__call__
seen: dict[int, Any] = {}  # modules that were called outermost, in this order
made: dict[int, Any] = {}
depth = 0
captures = False


def call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's call, captured if no other module makes it."""
    global depth
    if depth:
        return plain(self, *args, **kwargs)
    if id(self) not in seen:
        seen[id(self)] = self
        function = functools.partial(plain, self)
        made[id(self)] = taper.capture(function, exact=True) if captures else function
    depth += 1
    try:
        return made[id(self)](*args, **kwargs)
    finally:
        depth -= 1


def run() -> dict[str, Any]:
    """Run the script of the command line; returns what is compared."""
    Calls.__call__ = call  # type: ignore[method-assign]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(sys.argv[0], run_name="__main__")
    tensors = [each for x in seen.values() for each in [*x.parameters(), *x.buffers()]]
    different = {id(each): each for each in tensors}.values()
    arrays = [each.detach().contiguous().numpy() for each in different]
    entries = [entry for each in made.values() if captures for entry in each._entries]
    return {
        "printed": [x for x in printed.getvalue().splitlines() if not x.startswith("wrote")],
        "bits": functools.reduce(lambda total, x: zlib.crc32(x.tobytes(), total), arrays, 0),
        "replayed": sum(entry.replays for entry in entries),
        "refused": [entry.refusal[0] for entry in entries if entry.refusal is not None],
    }


if __name__ == "__main__":
    compat.install()
    sys.argv = sys.argv[1:]
    for captures in (False, True):  # noqa: B007 the global that `call` reads
        child = os.fork()
        if not child:
            print(json.dumps(run()), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"the script has failed with status {status}")
