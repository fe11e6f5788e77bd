"""A store in a file, for processes that see the same file system.

The file is a log: each change appends a record, under a lock of the whole file, and each process
reads what was appended since it last looked.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence

from taper.distributed.stores import Store, Timeout, changed, milliseconds

_LENGTHS = struct.Struct("<qq")  # of key and value; -1 instead of a value: the key was removed
_PAUSE = 0.01
_LEAVING = "&leaving"  # counts the processes that have let go of the store


class FileStore(Store):
    """A store in a file.

    Args:
        file_name: where the file is, or shall be.
        world_size: how many processes use the store; the last one that lets go of it removes the
            file.  Without it the file stays.

    >>> import os, tempfile
    >>> from taper import distributed as dist
    >>> store = dist.FileStore(os.path.join(tempfile.mkdtemp(), "store"), 1)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._world_size = world_size
        self._content: dict[str, bytes] = {}
        self._read_to = 0
        self._unlink = os.unlink  # kept here: when the interpreter ends, modules lose their names
        self._change(_LEAVING, "add", b"0")

    def __del__(self) -> None:
        try:
            if self._world_size > 0 and self.add(_LEAVING, 1) == self._world_size:
                self._unlink(self.path)
        except (OSError, ValueError, AttributeError, ImportError):
            pass  # the file is gone, or the interpreter ends

    def _locked(self, write: bool) -> _LockedFile:
        return _LockedFile(self.path, write)

    def _catch_up(self, file: int) -> None:
        """Read what was appended since the last time."""
        new = os.pread(file, max(0, os.fstat(file).st_size - self._read_to), self._read_to)
        place = 0
        while place + _LENGTHS.size <= len(new):
            key_length, value_length = _LENGTHS.unpack_from(new, place)
            after = place + _LENGTHS.size + key_length + max(0, value_length)
            if key_length < 0 or after > len(new):
                raise ValueError(f"FileStore: {self.path} is no store, or was cut off")
            place += _LENGTHS.size
            key = new[place : place + key_length].decode()
            if value_length < 0:
                self._content.pop(key, None)
            else:
                self._content[key] = new[place + key_length : after]
            place = after
        self._read_to += place

    def _append(self, file: int, key: str, value: bytes | None) -> None:
        name = key.encode()
        lengths = _LENGTHS.pack(len(name), -1 if value is None else len(value))
        os.pwrite(file, lengths + name + (value or b""), self._read_to)
        self._catch_up(file)

    def _change(self, key: str, kind: str, *operands: bytes) -> bytes:
        with self._locked(write=True) as file:
            self._catch_up(file)
            value, answer = changed(self._content.get(key), kind, operands)
            if value is not None:
                self._append(file, key, value)
        return answer

    def _values(self, keys: Sequence[str]) -> list[bytes]:
        return [self._content[key] for key in keys]

    def _look(self) -> None:
        with self._locked(write=False) as file:
            self._catch_up(file)

    def _missing(self, keys: Sequence[str], timeout: Timeout) -> str | None:
        """Wait for the keys; return the first that is missing after the timeout."""
        until = time.monotonic() + timeout.total_seconds()
        while True:
            self._look()
            missing = [key for key in keys if key not in self._content]
            if not missing:
                return None
            if time.monotonic() > until:
                return missing[0]
            time.sleep(_PAUSE)

    def _wait(self, keys: Sequence[str], timeout: Timeout) -> None:
        if self._missing(keys, timeout) is not None:
            raise RuntimeError("Wait timeout")

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """Return the values of several keys; wait until they are set."""
        missing = self._missing(keys, self.timeout)
        if missing is not None:
            waited = milliseconds(self.timeout)
            raise RuntimeError(f"Timeout waiting for key: {missing} after {waited} ms")
        return self._values(keys)

    def get(self, key: str, /) -> bytes:
        """Return the value of a key; wait until it is set."""
        return self.multi_get([key])[0]

    def _list(self) -> list[str]:
        self._look()
        return [key for key in self._content if key != _LEAVING]

    def num_keys(self) -> int:
        """Return how many keys are set, the store's own one among them."""
        self._look()
        return len(self._content)

    def delete_key(self, key: str, /) -> bool:
        """Remove a key; return True."""
        with self._locked(write=True) as file:
            self._catch_up(file)
            self._append(file, key, None)
        return True

    def has_extended_api(self) -> bool:
        """Return False: `append` and the functions of several keys are made of the others."""
        return False


class _LockedFile:
    """A file that is open and locked inside the block."""

    def __init__(self, path: str, write: bool) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._write = write

    def __enter__(self) -> int:
        # late: Windows, which has no such locks, can import the package
        import fcntl

        fcntl.flock(self._file, fcntl.LOCK_EX if self._write else fcntl.LOCK_SH)
        return self._file

    def __exit__(self, *error: object) -> None:
        os.close(self._file)  # which lets go of the lock
