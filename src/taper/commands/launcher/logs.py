"""Where the output of each process goes: to the terminal, to a file, or to both."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from typing import IO, Any

_STREAMS = {"stdout": 1, "stderr": 2}


def streams_of(text: str, local: int) -> dict[int, int]:
    """Return which streams, 1 for stdout and 2 for stderr and 3 for both, of which process.

    `text` is a number for all, or "0:1,1:3" for some.
    """
    try:
        if ":" not in text:
            chosen = dict.fromkeys(range(local), int(text))
        else:
            pairs = (part.split(":") for part in text.split(","))
            chosen = {int(rank): int(streams) for rank, streams in pairs}
    except ValueError:
        chosen = {-1: -1}
    if any(not 0 <= each <= 3 for each in chosen.values()):
        raise ValueError(f"{text!r} is none of 0, 1, 2, 3, or a list such as 0:1,1:3")
    return chosen


class Logs:
    """The files of one run, and the threads that copy to the terminal."""

    def __init__(self, folder: str | None, run: str, redirects: str, tee: str, local: int) -> None:
        self._redirects, self._tee = streams_of(redirects, local), streams_of(tee, local)
        self._threads: list[threading.Thread] = []
        self._files: list[IO[bytes]] = []
        self.folder: str | None = None
        if folder or any(self._redirects.values()) or any(self._tee.values()):
            if folder:
                os.makedirs(folder, exist_ok=True)
            self.folder = tempfile.mkdtemp(prefix=f"{run}_", dir=folder)

    def streams(self, attempt: int, rank: int, role: str) -> tuple[Any, Any]:
        """Return what to pass as stdout and stderr of a process, and begin to copy."""
        return self._stream(attempt, rank, role, "stdout"), self._stream(
            attempt, rank, role, "stderr"
        )

    def _stream(self, attempt: int, rank: int, role: str, name: str) -> Any:
        bit = _STREAMS[name]
        is_shown = self._tee.get(rank, 0) & bit
        if not is_shown and not self._redirects.get(rank, 0) & bit:
            return None  # the launcher's own
        place = os.path.join(self.folder or ".", f"attempt_{attempt}", str(rank))
        os.makedirs(place, exist_ok=True)
        file = open(os.path.join(place, f"{name}.log"), "wb", buffering=0)
        self._files.append(file)
        if not is_shown:
            return file
        reader, writer = os.pipe()
        target = getattr(sys, name)
        thread = threading.Thread(
            target=_copy, args=(reader, file, target, f"[{role}{rank}]:"), daemon=True
        )
        thread.start()
        self._threads.append(thread)
        return os.fdopen(writer, "wb", buffering=0)

    def close(self) -> None:
        """Wait until everything was copied."""
        for thread in self._threads:
            thread.join(2)
        for file in self._files:
            file.close()
        self._threads, self._files = [], []


def _copy(reader: int, file: IO[bytes], target: IO[str], prefix: str) -> None:
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            file.write(line)
            target.write(prefix + line.decode(errors="replace"))
            target.flush()
