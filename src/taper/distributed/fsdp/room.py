"""Memory that goes back to the system and comes again at the same address.

Views of a gathered parameter, and what the graph saved of it, stay valid arrays while the memory
behind them is away; whoever needs the values must have it filled first.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

_PRIVATE: int = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
_AWAY: int | None = getattr(mmap, "MADV_DONTNEED", None)


class Room:
    """Bytes that can be given back to the system for a while.

    >>> room = Room(8)
    >>> room.bytes[:] = 1
    >>> room.is_here = True
    >>> room.give_back()
    >>> room.is_here
    False
    """

    def __init__(self, nbytes: int) -> None:
        length = max(nbytes, 1)
        self._map: Any = mmap.mmap(-1, length, _PRIVATE) if _PRIVATE else mmap.mmap(-1, length)
        self.bytes = np.frombuffer(self._map, np.uint8)[:nbytes]
        self.is_here = False  # whether the bytes are in use

    def give_back(self) -> None:
        """Return the memory; where the system cannot take it, it stays."""
        if _AWAY is not None:
            self._map.madvise(_AWAY)
        self.is_here = False
