"""Writing a file so that a path holds the old content or the new one, never a part of it.

Knows paths and bytes only.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Any

from taper.files import direct


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], size: int = 0) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when the block ends without an error.

    It is written under another name in the same folder, flushed to the disk and renamed.  After an
    error the old file is as it was.  What is no regular file (a pipe, `/dev/null`) is written
    directly.  `size` is about how many bytes there will be, if that is known.

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
        with _new(temporary, size) as file:
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


def _new(path: str, size: int) -> Any:
    """A new file, on the fastest way to the disk for so many bytes."""
    if size >= direct.WORTH_IT and hasattr(os, "O_DIRECT"):  # which Linux has
        try:
            return direct.DirectFile(path)
        except FileExistsError:
            raise
        except OSError:  # some file systems cannot
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    return open(path, "xb")


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
