"""Keys that a file chose: putting them into dicts and sets must not take unexpectedly long.

Texts hash with a secret of the process.  The hashes of numbers and of tuples of them are known to
everybody, so that a file can choose keys that all collide: a dict of 170,000 such integers, a
megabyte, takes ten seconds.  `Insertions` puts keys in and watches the clock.  If that takes
suspiciously long, a table that imitates CPython's search for a place counts the steps, and only
that count refuses a file.  Knows hashes only.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from taper.files.refusals import failed

_SMALL = 64  # so few keys cannot take long
_PIECE = 1_000  # keys between two looks at the clock
_USUAL = 1_000  # nanoseconds for a key: ten times the usual time
_PATIENCE = 20_000_000  # nanoseconds
_MOST_STEPS = 256  # for each key, on average; keys that were not chosen to collide need up to 50
_WORD = (1 << 64) - 1
_AHEAD = 9  # places that a set looks at in a row


class Insertions:
    """Fills the dicts and sets of one file."""

    def __init__(self) -> None:
        self._nanoseconds = self._keys = 0
        self._patience = _PATIENCE

    def into_dict(self, target: dict[Any, Any], keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Set items of a dict, which may have some already."""
        if len(target) + len(keys) <= _SMALL:
            for key, value in zip(keys, values, strict=True):
                target[key] = value
            return
        for start in range(0, len(keys), _PIECE):
            began = time.thread_time_ns()
            part = slice(start, start + _PIECE)
            for key, value in zip(keys[part], values[part], strict=True):
                target[key] = value
            if self._takes_long(began):
                KeyTable(target).find(keys[part])

    def into_set(self, items: Sequence[Any]) -> set[Any]:
        """Return a set of items."""
        made: set[Any] = set()
        for start in range(0, len(items), _PIECE):
            began = time.thread_time_ns()
            made.update(items[start : start + _PIECE])
            if self._takes_long(began):
                ItemTable(items[: start + _PIECE])
        return made

    def _takes_long(self, began: int) -> bool:
        self._nanoseconds += time.thread_time_ns() - began
        self._keys += _PIECE
        if self._nanoseconds < self._patience + self._keys * _USUAL:
            return False
        self._patience = 2 * self._nanoseconds
        return True


class KeyTable:
    """The places that keys find in a dict; raises if finding them takes too many steps."""

    def __init__(self, keys: Iterable[Any]) -> None:
        self._slots: list[tuple[int, Any] | None] = [None] * 8
        self._entries: list[tuple[int, Any]] = []
        self.find(keys)

    def find(self, keys: Iterable[Any]) -> None:
        """Give keys their places, or find them again; raise if that takes too many steps."""
        self._added = self._steps = 0
        for key in keys:
            self._add(key)

    def _add(self, key: Any) -> None:
        self._added += 1
        size = self._wanted_size(len(self._entries), len(self._slots))
        if size > len(self._slots):
            self._slots = [None] * size
            for each in self._entries:
                self._settle(each)
        entry = hash(key), key
        if self._settle(entry):
            self._entries.append(entry)
        if self._steps > _MOST_STEPS * (self._added + _SMALL):
            raise failed("the keys of a dict or set collide")

    def _settle(self, entry: tuple[int, Any]) -> bool:
        """Put a key where it belongs; return whether it is new."""
        slots, steps = self._slots, 0
        for place in self._places(entry[0], len(slots) - 1):
            found = slots[place]
            if found is None or (found[0] == entry[0] and _same(found[1], entry[1])):
                break
            steps += 1
        self._steps += steps
        slots[place] = entry
        return found is None

    def _wanted_size(self, used: int, size: int) -> int:
        """Return how many places there must be before the next key comes."""
        return 2 * size if 3 * (used + 1) > 2 * size else size

    def _places(self, hashed: int, mask: int) -> Iterator[int]:
        """Yield where a key is looked for, one place after the other."""
        rest, place = hashed & _WORD, hashed & mask
        while True:
            yield place
            rest >>= 5
            place = (place * 5 + rest + 1) & mask


class ItemTable(KeyTable):
    """The same for the items of a set, which has more places and looks at neighbours first."""

    def _wanted_size(self, used: int, size: int) -> int:
        if 5 * used < 3 * (size - 1):
            return size
        return 1 << (used * (2 if used > 50_000 else 4)).bit_length()

    def _places(self, hashed: int, mask: int) -> Iterator[int]:
        for place in super()._places(hashed, mask):
            yield from range(place, place + (_AHEAD if place + _AHEAD <= mask else 0) + 1)


def _same(key: Any, other: Any) -> bool:
    return key is other or bool(key == other)
