"""`taper.cpu`: the device that is always there.

It has one queue of work, which is done when a call returns; streams and events are for programs
that are written for any device.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from taper.first_use import on_first_use

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


__getattr__, __dir__ = on_first_use(globals(), ("amp",))


class Stream:
    """A queue of work: everything in it is done already."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to mark."""

    def wait_event(self, event: Event) -> None:
        """Nothing to wait for."""


class Event:
    """A mark in a queue: it has been reached."""

    def query(self) -> bool:
        """True: all work before it is done."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing to mark."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to wait for."""


class _Current(threading.local):
    def __init__(self) -> None:
        self.stream = _DEFAULT


_DEFAULT = Stream()
_current = _Current()


class StreamContext:
    """A block with another current stream; None leaves it as it is."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before = _DEFAULT

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before, _current.stream = _current.stream, self.stream

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            _current.stream = self._before


def stream(stream: Stream | None) -> StreamContext:
    """A block in which `stream` is the current one."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream of this thread."""
    return _current.stream


def is_available() -> bool:
    """True: there is always a CPU.

    >>> import taper
    >>> taper.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """True: there is nothing to initialise."""
    return True


def synchronize(device: Any = None) -> None:
    """Nothing to wait for."""


def device_count() -> int:
    """The number of CPUs in the sense of devices: 1."""
    return 1


def current_device() -> str:
    """The name of the device: `cpu`."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing to do: there is one device."""


def get_capabilities() -> Mapping[str, Any]:
    """What is known of the processor: nothing, since kernels are NumPy's."""
    return MappingProxyType({})
