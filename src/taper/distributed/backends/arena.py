"""Memory that the processes of a group share, and how they wait for each other in it.

Each member has a word, which counts the phases that it has finished, and two buffers, which it
alone writes.  In a phase a member writes into its buffer, counts on, and waits until all words have
reached the same number; then it reads what the others wrote.  The next round uses the other
buffers: who starts the round after that has seen all members finish the one between, so nobody
still reads what is written over.

The memory has no name, so that nothing is left behind, however processes end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from taper.arrays.native import native
from taper.arrays.shared_memory import Segment, bytes_of
from taper.distributed.backends.links import Links

LINE = 128  # bytes: a word has a cache line, and the one that is fetched with it, for itself
HEAD = 256  # bytes at the head of a buffer for what its owner is doing
CHUNK = 1 << 20  # bytes of data in a buffer

_SPIN = 200  # looks before sleeping, without the native module
_NAP = 50e-6
_SLICE = 0.05  # seconds between looks whether the others are still there


class Arena:
    """The shared memory of a group, seen by one member."""

    def __init__(self, rank: int, size: int, segment: Segment) -> None:
        self.rank, self.size = rank, size
        memory = self.memory = bytes_of(segment)
        self.words = memory[: size * LINE].view(np.uint32)[:: LINE // 4]
        start, stride, data = size * LINE, buffer_bytes(size), head_bytes(size)
        buffers = memory[start : start + 2 * size * stride].reshape(2, size, stride)
        self.heads = buffers[:, :, :data].view(np.int64)
        self.data = buffers[:, :, data : data + CHUNK]
        self.layout = np.array([rank, size, LINE, start, stride, data, CHUNK], np.int64)
        self.side = 0
        self.phase = 0
        self._fence = threading.Lock()

    def next_round(self) -> None:
        """Use the other buffers from now on."""
        self.side ^= 1

    def meet(self, seconds: float, check: Callable[[], None]) -> list[int]:
        """Finish a phase and wait for the others; return who was late.

        `check` is called now and then, and raises to end the waiting.
        """
        self.phase = (self.phase + 1) & 0xFFFFFFFF
        if native is None:
            with self._fence:  # what was written before is seen before
                self.words[self.rank] = self.phase
            return self._late(seconds, check)
        return self.persist(
            lambda left: native.meet_in(self.memory, self.layout, self.phase, True, left),
            seconds,
            check,
        )

    def persist(
        self,
        attempt: Callable[[float], bool],
        seconds: float,
        check: Callable[[], None],
        between: float = _SLICE,
    ) -> list[int]:
        """Try until it is done, for some seconds; return who was late.

        `check` as in `meet`; it is called every `between` seconds.
        """
        until = time.monotonic() + seconds
        left = seconds
        while not attempt(max(0.0, min(left, between))):
            left = until - time.monotonic()
            try:
                check()
            except Exception:
                if attempt(0.0):  # a member finished the phase and then left
                    break
                raise
            if left <= 0:
                late = self.behind()
                if late:
                    return late
        return []

    def reduce(
        self,
        arrays: tuple[np.ndarray, ...],
        op: int,
        small: int,
        seconds: float,
        check: Callable[[], None],
        between: float = _SLICE,
    ) -> tuple[int | None, list[int]]:
        """Combine arrays without the GIL: a thread that waits for it at each chunk is late at all.

        Return what `reduce_in` says, and who was late.  `check` and `between` as in `persist`.
        """
        state = np.array([0, 0, self.side, self.phase], np.int64)
        result: int | None = None

        def attempt(left: float) -> bool:
            nonlocal result
            result = native.reduce_in(self.memory, self.layout, arrays, op, small, state, left)
            self.side, self.phase = int(state[2]), int(state[3])
            return result != 1

        late = self.persist(attempt, seconds, check, between)
        return result, late

    def behind(self) -> list[int]:
        """Return the members that have not finished the phase."""
        # The numbers wrap around.
        ahead = self.words.astype(np.int64) - self.phase
        ahead = (ahead + (1 << 31)) % (1 << 32) - (1 << 31)
        return [int(each) for each in np.flatnonzero(ahead < 0)]

    def _late(self, seconds: float, check: Callable[[], None]) -> list[int]:
        """Wait until all members have finished the phase; return who has not."""
        until = time.monotonic() + seconds
        looks = 0
        while self.behind():
            looks += 1
            if looks < _SPIN:
                time.sleep(0)
                continue
            if looks % 64 == 0:
                try:
                    check()
                except Exception:
                    if not self.behind():  # a member finished the phase and then left
                        break
                    raise
            if time.monotonic() > until:
                return self.behind()
            time.sleep(_NAP)
        with self._fence:
            return []


def head_bytes(size: int) -> int:
    """Return the length of the head of a buffer: what its owner does, and two numbers a member."""
    return HEAD + (16 * size + 63) // 64 * 64


def buffer_bytes(size: int) -> int:
    """Return the length of one buffer of one member."""
    return head_bytes(size) + CHUNK


def nbytes_of(size: int) -> int:
    """Return the length of the memory of a group."""
    return size * LINE + 2 * size * buffer_bytes(size)


def shared(links: Links) -> Arena:
    """Return the arena of a group, whose rank 0 makes it and hands it out."""
    size = links.size
    if links.rank == 0:
        segment = Segment(nbytes_of(size))
        if segment.descriptor is not None:
            links.hand_out(segment.descriptor)
    else:
        segment = Segment(nbytes_of(size), links.take(0))
    segment.close_descriptor()
    return Arena(links.rank, size, segment)
