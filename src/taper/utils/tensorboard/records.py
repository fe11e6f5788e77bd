"""Files of records: each with its length and checksums (the format TFRecord).

Owns: the framing, the checksum CRC-32C, and the thread that writes.  Knows nothing of what a record
means.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import queue
import struct
import threading
import time
import weakref
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, its bits reversed
_LANE = 512  # long data is cut into lanes of so many bytes, whose checksums are found side by side
_ONES = 0xFFFFFFFF
_KEPT = 1 << 16  # bytes that wait in memory before they are written


def _table() -> np.ndarray:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, values >> 1 ^ np.uint32(_POLYNOMIAL), values >> 1)
    return values


_TABLE = _table()
_NUMBERS: list[int] = _TABLE.tolist()


@functools.cache
def _past_a_lane() -> list[list[int]]:
    """Return what a lane of zeros makes of a register, for each value of each of its bytes."""
    registers = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    for _ in range(_LANE):
        registers = _TABLE[registers & 255] ^ registers >> 8
    return registers.tolist()


def crc32c(data: bytes) -> int:
    """Return the checksum CRC-32C.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    register = _ONES
    whole = len(data) // _LANE
    if whole > 1:
        # The checksum is linear: that of two parts follows from those of each.
        lanes = np.frombuffer(data, np.uint8, whole * _LANE).reshape(whole, _LANE)
        registers = np.zeros(whole, np.uint32)
        for column in np.ascontiguousarray(lanes.T):
            registers = _TABLE[(registers ^ column) & 255] ^ registers >> 8
        first, second, third, fourth = _past_a_lane()
        for lane in registers.tolist():
            register = (
                first[register & 255]
                ^ second[register >> 8 & 255]
                ^ third[register >> 16 & 255]
                ^ fourth[register >> 24]
                ^ lane
            )
        data = data[whole * _LANE :]
    for byte in data:
        register = _NUMBERS[(register ^ byte) & 255] ^ register >> 8
    return register ^ _ONES


def masked_crc32c(data: bytes) -> int:
    """Return the checksum as files have it: rotated, and shifted by a constant.

    So the checksum of data that contain their own checksum stays a good one.
    """
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & _ONES


def frame(data: bytes) -> bytes:
    """Return a record as files have it: length, its checksum, the data, their checksum."""
    length = struct.pack("<Q", len(data))
    checksums = struct.pack("<I", masked_crc32c(length)), struct.pack("<I", masked_crc32c(data))
    return length + checksums[0] + data + checksums[1]


class RecordWriter:
    """Writes records to an open binary file.

    >>> import io
    >>> file = io.BytesIO()
    >>> RecordWriter(file).write(b"abc")
    >>> len(file.getvalue())
    19
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Write one record."""
        self._writer.write(frame(data))

    def flush(self) -> None:
        """Write what the file keeps back."""
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class _Close:
    """The request to write everything and end."""


class _Worker:
    """The thread's side of a `RecordFile`, which must not keep the `RecordFile` alive."""

    def __init__(self, file: io.FileIO, room: threading.Semaphore | None, every: float) -> None:
        self.file = file
        self.room = room
        self.every = every
        self.failure: BaseException | None = None
        # A plain Queue is not safe in finalizers, which put requests, too.
        self.requests: queue.SimpleQueue[bytes | threading.Event | _Close] = queue.SimpleQueue()
        self.process = os.getpid()
        self.kept: list[bytes] = []
        self.size = 0
        self.deadline = 0.0
        self.thread = threading.Thread(target=self.run, name="taper-records", daemon=True)
        self.thread.start()

    def run(self) -> None:
        while True:
            left = max(0.0, self.deadline - time.monotonic()) if self.kept else None
            try:
                request = self.requests.get(timeout=left)
            except queue.Empty:
                request = threading.Event()  # the time is up: as if a flush had been requested
            if isinstance(request, bytes):
                self.keep(request)
                if self.room is not None:
                    self.room.release()
                continue
            self.write_kept()
            if isinstance(request, _Close):
                self.file.close()
                return
            request.set()

    def keep(self, record: bytes) -> None:
        if self.failure is not None:
            return  # nobody must wait for a file that cannot be written
        if not self.kept:
            self.size, self.deadline = 0, time.monotonic() + self.every
        try:
            self.kept.append(frame(record))
        except BaseException as error:
            self.failure = error
        self.size += len(record)
        if self.size > _KEPT or time.monotonic() >= self.deadline:
            self.write_kept()

    def write_kept(self) -> None:
        data = memoryview(b"".join(self.kept))
        self.kept.clear()
        if not data or self.failure is not None:
            return
        start = os.fstat(self.file.fileno()).st_size
        try:
            while data:
                data = data[self.file.write(data) :]
        except BaseException as error:
            self.failure = error
            with contextlib.suppress(OSError):  # half a record would spoil what is there
                self.file.truncate(start)

    def end(self) -> None:
        """Write everything and end the thread; does nothing in a forked process."""
        if os.getpid() != self.process:
            return
        self.requests.put(_Close())
        if threading.current_thread() is not self.thread:
            self.thread.join()


class RecordFile:
    """A file to which a thread of its own appends records.

    At most `max_queue` records wait for the thread (0: any number); a caller that adds more waits,
    too.  The thread writes every `flush_secs` seconds and when the file is flushed or closed, at
    the latest at the end of the program.  The next call raises the thread's errors.
    """

    def __init__(self, path: str, max_queue: int, flush_secs: float) -> None:
        time.monotonic() + flush_secs  # raises before there is a file if it is no number
        self._room = threading.Semaphore(max_queue) if max_queue > 0 else None
        # Unbuffered: a forked process has no copy of anything unwritten.
        self._worker = _Worker(open(path, "ab", buffering=0), self._room, flush_secs)
        self._end = weakref.finalize(self, self._worker.end)

    def _check(self) -> None:
        if os.getpid() != self._worker.process:
            raise RuntimeError(
                "this file of records belongs to the process that opened it: open one of your own"
            )
        if self._worker.failure is not None:
            raise self._worker.failure

    def write(self, data: bytes) -> None:
        """Append a record; wait while the queue is full."""
        if not self._end.alive:
            raise OSError("Writer is closed")
        self._check()
        if self._room is not None:
            self._room.acquire()
        self._worker.requests.put(data)

    def flush(self) -> None:
        """Return when all records are in the file."""
        if self._end.alive:
            self._check()
            done = threading.Event()
            self._worker.requests.put(done)
            done.wait()
            self._check()

    def close(self) -> None:
        """Write everything, close the file and end the thread."""
        if self._end.alive:
            self._end()
            if os.getpid() == self._worker.process:
                self._check()
