"""Stores of keys and bytes through which processes would meet: here, memory of the one process."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

_DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


class DistError(RuntimeError):
    """An error of the distributed package."""


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store, such as a key that will never be set."""


class Store:
    """Keys and bytes.

    >>> import taper
    >>> store = taper.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2)
    (b'value', 2)
    """

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self.timeout = _DEFAULT_TIMEOUT

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self._values[key] = _bytes(value)

    def get(self, key: str) -> bytes:
        """Return the value of a key."""
        self.wait([key])
        return self._values[key]

    def add(self, key: str, value: int) -> int:
        """Add to a number, which is 0 at first."""
        total = int(self._values.get(key, b"0")) + value
        self._values[key] = str(total).encode()
        return total

    def append(self, key: str, value: str | bytes) -> None:
        """Append bytes to those of a key."""
        self._values[key] = self._values.get(key, b"") + _bytes(value)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set the value of a key if it has the expected value, or is missing and expected empty."""
        found, wanted = self._values.get(key), _bytes(expected)
        if found == wanted or (found is None and not wanted):
            self._values[key] = _bytes(desired)
        return self._values.get(key, wanted)

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys are set."""
        return all(key in self._values for key in keys)

    def wait(self, keys: Sequence[str], timeout: datetime.timedelta | None = None) -> None:
        """Wait until all keys are set, which in one process is now or never."""
        if not self.check(keys):
            raise DistStoreError(f"Wait timeout: nobody sets {', '.join(keys)}")

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it existed."""
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """Return how many keys are set."""
        return len(self._values)

    def list_keys(self) -> list[str]:
        """Return the keys that are set."""
        return list(self._values)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the values of several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Set how long to wait for a key."""
        self.timeout = timeout


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """A store in memory."""


class FileStore(Store):
    """A store in a file; with one process the file is neither needed nor written."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name


class TCPStore(Store):
    """A store in a server process; with one process it is that process itself, without a socket."""

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: datetime.timedelta = _DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.host, self.port, self.timeout = host_name, port, timeout


class PrefixStore(Store):
    """A store that puts a prefix before the keys of another one."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.underlying_store = store
        self._values = _Prefixed(store._values, f"{prefix}/")


class _Prefixed(dict[str, bytes]):
    """The part of a dict whose keys begin alike."""

    def __init__(self, values: dict[str, bytes], prefix: str) -> None:
        super().__init__()
        self.values_of_all, self.prefix = values, prefix

    def __getitem__(self, key: str) -> bytes:
        return self.values_of_all[self.prefix + key]

    def __setitem__(self, key: str, value: bytes) -> None:
        self.values_of_all[self.prefix + key] = value

    def __contains__(self, key: object) -> bool:
        return f"{self.prefix}{key}" in self.values_of_all

    def get(self, key: str, default: Any = None) -> Any:
        return self.values_of_all.get(self.prefix + key, default)

    def pop(self, key: str, default: Any = None) -> Any:
        return self.values_of_all.pop(self.prefix + key, default)

    def __len__(self) -> int:
        return len(self.values_of_all)
