"""Small tools beside the profiler: a step count that several share, records by time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any


class EnforceUnique:
    """Raises if a key is seen twice.

    >>> from taper.autograd.profiler import EnforceUnique
    >>> EnforceUnique().see("a", 1)
    """

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Remember a key."""
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


class KinetoStepTracker:
    """Steps of a program, counted by several parties: the count is that of the fastest.

    >>> from taper.autograd.profiler import KinetoStepTracker
    >>> before = KinetoStepTracker.current_step()
    >>> KinetoStepTracker.increment_step("mine") - before
    1
    """

    _current_step = 0
    _step_dict: dict[str, int] = {}  # noqa: RUF012 - shared by all, as the count is

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a party count from the current step on."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a party; returns whether it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a party; returns the step of the program."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the step of the program."""
        return cls._current_step


class MemRecordsAcc:
    """Memory records that are found by the time at which they begin.

    >>> from taper.autograd.profiler import MemRecordsAcc
    >>> list(MemRecordsAcc([]).in_interval(0, 1))
    []
    """

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._mem_records = mem_records
        pairs = sorted((record[0].start_ns(), nr) for nr, record in enumerate(mem_records))
        self._start_nses = [time for time, _ in pairs]
        self._indices = [nr for _, nr in pairs]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """Yield the records that begin in an interval, its ends included."""
        first = bisect_left(self._start_nses, start_ns)
        last = bisect_right(self._start_nses, end_ns)
        for place in range(first, last):
            yield self._mem_records[self._indices[place]]
