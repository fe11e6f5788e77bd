"""Bytes to read a pickle from, with an end that nobody can make us read beyond."""

from __future__ import annotations

import os
from typing import Any

from taper.files.refusals import failed, truncated

_LONGEST_LINE = 1_000


class Source:
    """Reads from the place where a seekable file stands."""

    def __init__(self, file: Any) -> None:
        self._file = file
        start = file.tell()
        self.remaining = file.seek(0, os.SEEK_END) - start
        file.seek(start)
        self.consumed = 0

    def take(self, count: int) -> bytes:
        """Exactly `count` bytes."""
        if count > self.remaining:  # before any memory is asked for
            raise truncated()
        data: bytes = self._file.read(count)
        if len(data) != count:
            raise truncated()
        self.remaining -= count
        self.consumed += count
        return data

    def line(self) -> str:
        """The text up to the next end of line."""
        data: bytes = self._file.readline(min(_LONGEST_LINE, self.remaining))
        self.remaining -= len(data)
        self.consumed += len(data)
        if not data.endswith(b"\n"):
            raise truncated() if not self.remaining else failed("a name is too long")
        try:
            return data[:-1].decode("utf-8")
        except UnicodeDecodeError:
            raise failed("a name is not UTF-8") from None
