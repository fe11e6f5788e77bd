"""Stores of keys and bytes through which processes meet: what all have in common, and in memory.

A store maps keys to bytes; `get` and `wait` block until somebody sets the key.  Stores that other
processes see are in `file_store.py` and `tcp_store.py`.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Sequence

Timeout = datetime.timedelta
DEFAULT_TIMEOUT = Timeout(seconds=300)


class DistError(RuntimeError):
    """An error of the distributed package."""


class DistBackendError(DistError):
    """An error of a backend: a process that is dead or late, or calls that do not fit together."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store, such as a key that nobody sets."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""


def to_bytes(value: str | bytes) -> bytes:
    """Return the bytes that a store keeps for a value."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"set(): a store keeps str or bytes, not {type(value).__name__}")
    return bytes(value)


def milliseconds(timeout: Timeout) -> int:
    """Return a duration as whole milliseconds."""
    return round(timeout.total_seconds() * 1000)


class Store:
    """Keys and bytes.

    A kind of store provides `_change`, which changes the value of one key in one step, `_values`,
    `_wait`, `_list` and `delete_key`; the rest follows.

    >>> import taper
    >>> store = taper.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2)
    (b'value', 2)
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    # What a kind of store provides.

    def _change(self, key: str, kind: str, *operands: bytes) -> bytes:
        """Change the value of a key in one step, see `changed`; return its value from then on."""
        raise NotImplementedError

    def _values(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of keys that are set."""
        raise NotImplementedError

    def _wait(self, keys: Sequence[str], timeout: Timeout) -> None:
        """Wait until all keys are set; raise after the timeout."""
        raise NotImplementedError

    def _list(self) -> list[str]:
        """Return the keys that are set."""
        raise NotImplementedError

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it existed."""
        raise NotImplementedError

    # What programs call.

    @property
    def timeout(self) -> Timeout:
        """How long `get` and `wait` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: Timeout, /) -> None:
        """Set how long `get` and `wait` wait for a key."""
        if not isinstance(timeout, datetime.timedelta):
            raise TypeError(f"set_timeout(): expected a timedelta, got {timeout!r}")
        self._timeout = timeout

    def set(self, key: str, value: str | bytes, /) -> None:
        """Set the value of a key."""
        self._change(key, "set", to_bytes(value))

    def get(self, key: str, /) -> bytes:
        """Return the value of a key; wait until it is set."""
        self._wait([key], self.timeout)
        return self._values([key])[0]

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number, which is 0 at first; return the sum."""
        if not hasattr(amount, "__index__"):
            raise TypeError(f"add(): expected a whole number, got {amount!r}")
        return int(self._change(key, "add", str(int(amount)).encode()))

    def append(self, key: str, value: str | bytes, /) -> None:
        """Append bytes to those of a key."""
        self._change(key, "append", to_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        """Set the value of a key if it has the expected value, or is missing and expected empty."""
        return self._change(key, "compare", to_bytes(expected), to_bytes(desired))

    def check(self, keys: Sequence[str], /) -> bool:
        """Return whether all keys are set."""
        return set(keys) <= set(self._list())

    def wait(self, keys: Sequence[str], timeout: Timeout | None = None, /) -> None:
        """Wait until all keys are set."""
        self._wait(keys, self.timeout if timeout is None else timeout)

    def num_keys(self) -> int:
        """Return how many keys are set."""
        return len(self._list())

    def list_keys(self) -> list[str]:
        """Return the keys that are set."""
        return self._list()

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """Return the values of several keys; wait until they are set."""
        self._wait(keys, self.timeout)
        return self._values(keys)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        """Set the values of several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return whether `append` and the functions of several keys cost one exchange each."""
        return True

    def clone(self) -> Store:
        """Return a store with the same content for another thread."""
        return self

    def barrier(self, key: str, world_size: int, timeout: Timeout | None = None) -> None:
        """Wait until as many processes have called this with the same key."""
        if self.add(f"{key}/count", 1) == world_size:
            self.set(f"{key}/all", "1")
        self.wait([f"{key}/all"], timeout)

    # Queues: PyTorch's semantics, made of the operations above.

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        """Add a value to the end of a queue."""
        place = self.add(f"{key}/pushed", 1)
        self.set(f"{key}/item/{place}", value)
        self.set(key, "queue")

    def queue_pop(self, key: str, /, block: bool = True) -> bytes:
        """Take the first value of a queue; wait for one, or raise without `block`."""
        if not block and self.queue_len(key) <= 0:
            raise QueueEmptyError("queue is empty")
        place = self.add(f"{key}/popped", 1)
        item = f"{key}/item/{place}"
        try:
            value = self.get(item)
        except RuntimeError as error:
            self.add(f"{key}/popped", -1)
            raise type(error)(str(error).replace(item, key)) from None
        self.delete_key(item)
        return value

    def queue_len(self, key: str, /) -> int:
        """Return how many values a queue has."""
        return max(0, self.add(f"{key}/pushed", 0) - self.add(f"{key}/popped", 0))


def changed(
    found: bytes | None, kind: str, operands: Sequence[bytes]
) -> tuple[bytes | None, bytes]:
    """Return the new value of a key, None if it stays missing, and the answer to the caller."""
    if kind == "set":
        return operands[0], b""
    if kind == "add":
        try:
            total = str(int(found or b"0") + int(operands[0])).encode()
        except ValueError:
            raise ValueError("stoll") from None
        return total, total
    if kind == "append":
        return (found or b"") + operands[0], b""
    expected, desired = operands
    if found == expected or (found is None and not expected):
        return desired, desired
    return found, expected if found is None else found


class HashStore(Store):
    """A store in the memory of one process, for its threads.

    >>> import taper
    >>> taper.distributed.HashStore().check(["key"])
    False
    """

    def __init__(self) -> None:
        super().__init__()
        self._content: dict[str, bytes] = {}
        self._has_changed = threading.Condition()

    def _change(self, key: str, kind: str, *operands: bytes) -> bytes:
        with self._has_changed:
            value, answer = changed(self._content.get(key), kind, operands)
            if value is not None:
                self._content[key] = value
            self._has_changed.notify_all()
        return answer

    def _values(self, keys: Sequence[str]) -> list[bytes]:
        with self._has_changed:
            return [self._content[key] for key in keys]

    def _wait(self, keys: Sequence[str], timeout: Timeout) -> None:
        with self._has_changed:
            if not self._has_changed.wait_for(
                lambda: all(key in self._content for key in keys), timeout.total_seconds()
            ):
                raise DistStoreError("Wait timeout")

    def _list(self) -> list[str]:
        with self._has_changed:
            return list(self._content)

    def delete_key(self, key: str, /) -> bool:
        """Remove a key; return whether it existed."""
        with self._has_changed:
            return self._content.pop(key, None) is not None


class PrefixStore(Store):
    """A store that puts a prefix before the keys of another one.

    >>> from taper import distributed as dist
    >>> store = dist.HashStore()
    >>> dist.PrefixStore("part", store).set("key", "value")
    >>> store.list_keys()
    ['part/key']
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix = prefix
        self.underlying_store = store

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store: Store = self
        while isinstance(store, PrefixStore):
            store = store.underlying_store
        return store

    @property
    def timeout(self) -> Timeout:
        """How long `get` and `wait` wait for a key: what the other store says."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: Timeout, /) -> None:
        """Set how long the other store waits for a key."""
        self.underlying_store.set_timeout(timeout)

    def _change(self, key: str, kind: str, *operands: bytes) -> bytes:
        return self.underlying_store._change(self._key(key), kind, *operands)

    def _values(self, keys: Sequence[str]) -> list[bytes]:
        return self.underlying_store._values([self._key(key) for key in keys])

    def _wait(self, keys: Sequence[str], timeout: Timeout) -> None:
        self.underlying_store._wait([self._key(key) for key in keys], timeout)

    def _list(self) -> list[str]:
        start = self._key("")
        names = self.underlying_store._list()
        return [name[len(start) :] for name in names if name.startswith(start)]

    def num_keys(self) -> int:
        """Return how many keys the other store has."""
        return self.underlying_store.num_keys()

    def delete_key(self, key: str, /) -> bool:
        """Remove a key; return whether it existed."""
        return self.underlying_store.delete_key(self._key(key))

    def has_extended_api(self) -> bool:
        """Return what the other store says."""
        return self.underlying_store.has_extended_api()

    def clone(self) -> Store:
        """Return a store with the same content for another thread."""
        return PrefixStore(self.prefix, self.underlying_store.clone())
