"""The bytes of a pickle, with an end beyond which nothing is read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from taper.files.refusals import failed, truncated

_LONGEST_LINE = 1_000


class Source:
    """Reads from the current position of a seekable file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        start = file.tell()
        self.remaining = file.seek(0, os.SEEK_END) - start
        file.seek(start)
        self.consumed = 0

    def take(self, count: int) -> bytes:
        """Return exactly `count` bytes."""
        if count > self.remaining:  # before any memory is allocated
            raise truncated()
        data: bytes = self._file.read(count)
        if len(data) != count:
            raise truncated()
        self.remaining -= count
        self.consumed += count
        return data

    def take_into(self, content: np.ndarray) -> None:
        """Fill an array of bytes."""
        if content.size > self.remaining or not fill(self._file, content):
            raise truncated()
        self.remaining -= content.size
        self.consumed += content.size

    def line(self) -> str:
        """Return the text up to the next end of line."""
        data: bytes = self._file.readline(min(_LONGEST_LINE, self.remaining))
        self.remaining -= len(data)
        self.consumed += len(data)
        if not data.endswith(b"\n"):
            raise truncated() if not self.remaining else failed("a name is too long")
        try:
            return data[:-1].decode("utf-8")
        except UnicodeDecodeError:
            raise failed("a name is not UTF-8") from None


def fill(file: Any, content: np.ndarray) -> bool:
    """Read exactly as many bytes as the array has; return False if the file has fewer."""
    view, position = content.data, 0
    reads_into = hasattr(file, "readinto")
    while position < len(view):
        if reads_into:
            count = file.readinto(view[position:])
        else:
            data = file.read(len(view) - position)
            count = len(data)
            view[position : position + count] = data
        if not count:
            return False
        position += count
    return True
