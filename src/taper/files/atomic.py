"""Writing a file so that a path holds the old content or the new one, never a part of it.

Knows paths and bytes only.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Any

from taper.files import direct

try:
    import fcntl
except ImportError:  # Windows, which does not replace a file that is open anywhere
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], size: int = 0) -> Iterator[IO[bytes]]:
    """Give a file to write; it replaces `path` when the block ends without an error.

    The file is written under another name in the same folder, flushed to the disk and renamed.
    After an error the old file is unchanged.  Files that killed processes have left behind under
    such names are removed first.  A path that is no regular file (a pipe, `/dev/null`) is written
    directly.  `size` is roughly the number of bytes to come, if it is known.

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
    _remove_abandoned(folder, name)
    file, temporary, lock = _temporary(folder, name, size)
    try:
        with file:
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
    finally:
        os.close(lock)
    _flush_folder(folder)


def _start(name: str) -> str:
    """Return how the temporary files of a name begin; 50 characters have at most 200 bytes."""
    return f".{name[:50]}."


def _temporary(folder: str, name: str, size: int) -> tuple[Any, str, int]:
    """Return a new file, its path, and a descriptor that holds its lock while the process lives."""
    while True:
        path = os.path.join(folder, f"{_start(name)}{secrets.token_hex(8)}.tmp")
        file = _new(path, size)
        lock = os.dup(file.fileno())  # the file itself is closed before it is renamed
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):
            return file, path, lock
        # Another process saw the file before it was locked.
        os.close(lock)
        file.close()


def _remove_abandoned(folder: str, name: str) -> None:
    """Remove the temporary files of a name that no process holds any more."""
    left = re.compile(re.escape(_start(name)) + r"[0-9a-f]{16}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for path in [each.path for each in entries if left.fullmatch(each.name)]:
            with contextlib.suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(descriptor)


def _new(path: str, size: int) -> Any:
    """Return a new file, on the fastest way to the disk for so many bytes."""
    if size >= direct.WORTH_IT and hasattr(os, "O_DIRECT"):  # Linux has it
        try:
            return direct.DirectFile(path)
        except FileExistsError:
            raise
        except OSError:  # some file systems do not support it
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
    """Write all of a bytes-like object, even to raw files, which may take only a part."""
    view = memoryview(data)
    while view.nbytes:
        taken = file.write(view)
        if not isinstance(taken, int) or taken >= view.nbytes:
            return
        view = view[taken:]
