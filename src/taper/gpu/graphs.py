"""Graphs: work that is written down instead of being done, and then done by one launch.

Owns: the stream that a graph is written from, and the room of what is made meanwhile.  That stream
has blocks of its own (see `memory`), so nobody else ever gets room that a graph writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.gpu import state
from taper.gpu.array import empty


class UncapturableError(RuntimeError):
    """Something waits for the device, or draws numbers elsewhere, while a graph is written."""


# Streams of graphs that are gone, with the room that is kept for them.
_idle: list[int] = []
streams: set[int] = set()
"""The streams of all graphs: what lies in their blocks stays where it is."""


class Graph:
    """Work that is done again by `launch`."""

    def __init__(self) -> None:
        self.stream = _idle.pop() if _idle else state.runtime.new_stream(0)
        streams.add(self.stream)
        self.handle: Any = None
        self.kept: list[Any] = []  # what the work reads on the processor
        self.before_launch: list[Callable[[], None]] = []
        self._room: list[Any] = []
        self._outside = 0

    def begin(self, expected: int = 0) -> None:
        """Write down what this thread asks of the device from now on.

        It will need about so many bytes of room, as far as that is known.
        """
        runtime = state.runtime
        if state.capturing is not None:
            raise RuntimeError("a graph is being captured already")
        self._outside = runtime.stream
        runtime.use_stream(self.stream)
        try:
            runtime.pool.fit(expected)
            runtime.begin_capture(self.stream)
        except BaseException:
            runtime.pool.fit(None)
            runtime.use_stream(self._outside)
            raise
        state.capturing = self

    def place(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Return an array for what is written before launches, while this graph is written.

        It lies outside of the graph's own room: there, what comes earlier in the graph may have
        had the same memory, and would write over it at each launch.
        """
        runtime = state.runtime
        runtime.pool.fit(None)
        runtime.use_stream(self._outside)
        try:
            return empty(shape, dtype)
        finally:
            runtime.use_stream(self.stream)
            runtime.pool.fit(0)

    def end(self) -> bool:
        """Write no more; tell whether there is something to launch."""
        runtime = state.runtime
        state.capturing = None
        runtime.pool.fit(None)
        try:
            self.handle = runtime.end_capture(self.stream)
        finally:
            runtime.use_stream(self._outside)
        return self.handle is not None

    def hold_room(self) -> None:
        """Keep the room that the work uses for nobody else, for as long as the graph lives."""
        self._room += state.runtime.pool.hold(self.stream)

    def launch(self) -> None:
        """Do the work, in the current stream."""
        for each in self.before_launch:
            each()
        state.runtime.launch_graph(self.handle)

    def __del__(self) -> None:
        runtime = getattr(state, "runtime", None)
        if runtime is None:  # the process ends
            return
        if self.handle is not None:
            runtime.drop_graph(self.handle)
        self._room.clear()
        streams.discard(self.stream)
        _idle.append(self.stream)


def refuse_capture(what: str) -> None:
    """Refuse what a graph cannot hold, while one is written."""
    if state.capturing is not None:
        raise UncapturableError(f"{what} while a graph is captured")
