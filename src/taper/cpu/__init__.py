"""`taper.cpu`: the device that always exists.

It has one queue of work, and work is done when a call returns; streams and events serve programs
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
    """A queue of work: all of it is done already."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: there is nothing to wait for."""

    def record_event(self) -> None:
        """Do nothing: there is nothing to mark."""

    def wait_event(self, event: Event) -> None:
        """Do nothing: there is nothing to wait for."""


class Event:
    """A mark in a queue: it has been reached."""

    def query(self) -> bool:
        """Return True: all work before it is done."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Do nothing: there is nothing to mark."""

    def synchronize(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def wait(self, stream: Stream | None = None) -> None:
        """Do nothing: there is nothing to wait for."""


class _Current(threading.local):
    def __init__(self) -> None:
        self.stream = _DEFAULT


_DEFAULT = Stream()
_current = _Current()


class StreamContext:
    """Make another stream current in the block; None changes nothing."""

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
    """Make `stream` the current one in the block."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the current stream of this thread."""
    return _current.stream


def is_available() -> bool:
    """Return True: there is always a CPU.

    >>> import taper
    >>> taper.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Return True: there is nothing to initialise."""
    return True


def synchronize(device: Any = None) -> None:
    """Do nothing: there is nothing to wait for."""


def device_count() -> int:
    """Return the number of CPUs in the sense of devices: 1."""
    return 1


def current_device() -> str:
    """Return the name of the device: `cpu`."""
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: there is one device."""


def get_capabilities() -> Mapping[str, Any]:
    """Return what is known of the processor: nothing, since kernels are NumPy's."""
    return MappingProxyType({})
