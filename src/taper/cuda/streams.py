"""`taper.cuda.streams`: queues of work on the device, and marks in them.

Without a GPU every class says so, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

from taper.absent.answers import dummy
from taper.device import device as Device
from taper.gpu import state


class Stream:
    """A queue of work; what is in several queues may run at the same time.

    Args:
        device: the device; there is one.
        priority: lower numbers come first.
    """

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if not state.device_count():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        runtime = state.start()
        self._pointer: int = kwargs.get("stream_ptr", 0)
        self._made = "stream_ptr" not in kwargs
        if self._made:
            self._pointer = runtime.new_stream(priority)
        self.priority = priority

    @property
    def cuda_stream(self) -> int:
        """The driver's address of the stream."""
        return self._pointer

    @property
    def device(self) -> Device:
        """The device of the stream."""
        return Device("cuda", 0)

    @property
    def device_index(self) -> int:
        """The number of the device of the stream."""
        return 0

    def synchronize(self) -> None:
        """Wait until the work in the stream is done."""
        state.runtime.wait_for_stream(self._pointer)

    def query(self) -> bool:
        """Tell whether the work in the stream is done."""
        done: bool = state.runtime.is_stream_done(self._pointer)
        return done

    def wait_event(self, event: Event) -> None:
        """Let what comes into the stream from now on wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let what comes into the stream from now on wait for the work of another stream."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Put a mark into the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other._pointer == self._pointer

    def __hash__(self) -> int:
        return hash((self._pointer, "cuda"))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:0 cuda_stream={self._pointer:#x}>"

    def __del__(self) -> None:
        if getattr(self, "_made", False) and state.runtime is not None:
            state.runtime.drop_stream(self._pointer)


class ExternalStream(Stream):
    """A stream that somebody else has made.

    Args:
        stream_ptr: the driver's address of the stream.
        device: the device; there is one.
    """

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr)


class Event:
    """A mark in a stream: whether the work before it is done, and when that was.

    Args:
        enable_timing: whether the time is noted.
        blocking: whether `synchronize` sleeps instead of asking again and again.
        interprocess: whether other processes may use it, which is not provided.
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        if not state.device_count():
            dummy("Event")
        self._pointer: int = state.start().new_event(enable_timing, blocking)
        self._recorded = False

    @property
    def cuda_event(self) -> int:
        """The driver's address of the event."""
        return self._pointer

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark into a stream, by default the current one."""
        pointer = state.runtime.stream if stream is None else stream._pointer
        state.runtime.record_event(self._pointer, pointer)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream, by default the current one, wait for the mark."""
        pointer = state.runtime.stream if stream is None else stream._pointer
        state.runtime.let_wait(pointer, self._pointer)

    def query(self) -> bool:
        """Tell whether the work before the mark is done."""
        done: bool = state.runtime.is_event_done(self._pointer)
        return done

    def synchronize(self) -> None:
        """Wait until the work before the mark is done."""
        state.runtime.wait_for_event(self._pointer)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this mark to another."""
        if not (self._recorded and end_event._recorded):
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        found: float = state.runtime.elapsed(self._pointer, end_event._pointer)
        return found

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self._pointer:#x}>"

    def __del__(self) -> None:
        if getattr(self, "_pointer", 0) and state.runtime is not None:
            state.runtime.drop_event(self._pointer)
