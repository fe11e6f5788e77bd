"""Writing a file so that a path holds the old content or the new one, never a part of it.

Knows paths and bytes only.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Any

_LARGE = 1 << 20  # bytes of a piece that is worth a call
_WRITE = 2  # of linux/fs.h: begin to write, and do not wait


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when the block ends without an error.

    It is written under another name in the same folder, flushed to the disk and renamed.  After an
    error the old file is as it was.  What is no regular file (a pipe, `/dev/null`) is written
    directly.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a")
    >>> with replacing(path) as file:
    ...     _ = file.write(b"whole")
    >>> os.listdir(os.path.dirname(path)), os.path.getsize(path)
    (['a'], 5)
    """
    target = os.path.realpath(path)  # a link stays a link
    old = _status(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(target, "wb") as file:
            yield file
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with io.BufferedWriter(_SentEarly(temporary, "x")) as file:
            if old is not None:
                os.chmod(temporary, stat.S_IMODE(old.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


class _SentEarly(io.FileIO):
    """A file whose large pieces are on their way to the disk as soon as they are written.

    Otherwise the system begins when it is asked to flush, and saving 400 MB takes half as long
    again.
    """

    def write(self, data: Any) -> int:
        taken = super().write(data)
        if taken >= _LARGE and (begin := _begin_to_send()) is not None:
            begin(self.fileno(), self.tell() - taken, taken, _WRITE)
        return taken


@functools.cache
def _begin_to_send() -> Any:
    """Linux's `sync_file_range`; None where there is none."""
    try:
        function: Any = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return function


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _flush_folder(folder: str) -> None:
    """Make the renaming itself durable, where folders can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_all(file: Any, data: Any) -> None:
    """Write all of a bytes-like object, also to raw files, which may take only a part."""
    view = memoryview(data)
    while view.nbytes:
        taken = file.write(view)
        if not isinstance(taken, int) or taken >= view.nbytes:
            return
        view = view[taken:]
