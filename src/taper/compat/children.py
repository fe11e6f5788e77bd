"""The proxy in the children of `multiprocessing`: a child that starts afresh installs it first.

The start methods `spawn` and `forkserver` send each child a dictionary and let it import the
program's main module.  One more entry in that dictionary installs the proxy when the child reads
it, which is before that import.
"""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_IN_THE_CHILD = f"""
import sys
if {_FOLDER!r} not in sys.path:
    sys.path.append({_FOLDER!r})
import taper.compat
taper.compat.install()
"""


class _Installing:
    """Installs the proxy where it is unpickled, even if taper is not on the path there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (_IN_THE_CHILD,)


class Hook:
    """The change to `multiprocessing.spawn`."""

    def __init__(self) -> None:
        self.module: ModuleType | None = None
        self.own: Any = None

    def put(self, spawn: ModuleType) -> None:
        """Add the proxy to what a child is sent."""
        own = spawn.get_preparation_data

        @functools.wraps(own)
        def get_preparation_data(name: str) -> dict[str, Any]:
            data: dict[str, Any] = own(name)
            if name == "ignore":
                # The server of `forkserver` may import the main module but reads no objects, so the
                # import is prevented.
                data.pop("init_main_from_path", None)
            data["taper.compat"] = _Installing()
            return data

        self.module, self.own = spawn, own
        vars(spawn)["get_preparation_data"] = get_preparation_data

    def undo(self) -> None:
        """Remove the change."""
        if self.module is not None:
            vars(self.module)["get_preparation_data"] = self.own
            self.module = None
