"""Checksums of large records, computed on another thread while the bytes are written.

Knows bytes only.  A checksum of 400 MB takes 0.1 s, half as long as writing them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

LARGE = 1 << 20
"""So many bytes are worth handing to another thread."""


class Checksums:
    """A thread that computes CRC-32 sums, started by the first large record."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    def _start(self, data: Any) -> Future[int]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "taper-checksums")
        return self._thread.submit(zlib.crc32, data)

    def while_writing(self, write: Callable[[Any], None], data: Any) -> int:
        """Write the bytes, and return their checksum.

        >>> Checksums().while_writing(lambda data: None, b"abc") == zlib.crc32(b"abc")
        True
        """
        if len(data) < LARGE:
            write(data)
            return zlib.crc32(data)
        pending = self._start(data)
        write(data)
        return pending.result()
