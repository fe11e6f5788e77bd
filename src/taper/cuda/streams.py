"""`taper.cuda.streams`: there are none; a block in the stream None is an ordinary block."""

from __future__ import annotations

from typing import Any


class Stream:
    """Refused: there is no CUDA."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """Refused: there is no CUDA."""


class Event:
    """Refused: there is no CUDA."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")


class StreamContext:
    """Run a block in a stream; without streams nothing changes."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        return None


def stream(stream: Stream | None) -> StreamContext:
    """Run a block in a stream; without streams nothing changes.

    >>> import taper
    >>> with taper.cuda.stream(None):
    ...     print(1)
    1
    """
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Do nothing: there are no streams."""
