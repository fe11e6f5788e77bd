"""The storages that a pickle refers to: read once each, checked against what the pickle says.

Owns the memory of what is being loaded.  `RecordStorages` reads records of a zip archive,
`StreamStorages` the part of an old file after the pickles.
"""

from __future__ import annotations

import mmap
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.memory import BYTE
from taper.files.rebuild import check_truth_values
from taper.files.refusals import failed
from taper.files.sources import Source
from taper.files.zip_reader import ZipReader
from taper.storage import LegacyStorage, TypedStorage, UntypedStorage, on_memory

_ALIGNMENT = 16  # NumPy requires elements at multiples of their size

Restore = Callable[[UntypedStorage, str], UntypedStorage]


def dtype_of(kind: Any) -> dtypes.dtype:
    """Return the dtype of a class of storages that a pickle names."""
    if kind is UntypedStorage:
        return dtypes.uint8
    if not isinstance(kind, LegacyStorage):
        raise failed("the type of a storage must be a class of storages")
    return kind.dtype


def checked_reference(
    kind: Any, key: Any, location: Any, numel: Any
) -> tuple[dtypes.dtype, str, str, int]:
    """Return dtype, key, location and number of bytes of a reference."""
    dtype = dtype_of(kind)
    if type(key) is int and -(1 << 64) < key < 1 << 64:
        key = str(key)
    if type(key) is not str or len(key) > 100 or type(location) is not str:
        raise failed("the key and the location of a storage must be short texts")
    if type(numel) is not int or not 0 <= numel < 1 << 60:
        raise failed("the size of a storage must be a number of elements")
    return dtype, key, location, numel * dtype.itemsize


def typed(untyped: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
    """Return a storage whose elements have a dtype."""
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


def swap_bytes(memory: np.ndarray, dtype: dtypes.dtype) -> None:
    """Turn elements of the other byte order into this machine's."""
    part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if part > 1:
        memory.view(f"u{part}").byteswap(inplace=True)


class RecordStorages:
    """Storages that are the records `data/<key>` of an archive."""

    are_filled = True

    def __init__(
        self,
        archive: ZipReader,
        root: str,
        restore: Restore,
        byte_order: str = sys.byteorder,
        mapping: mmap.mmap | None = None,
    ) -> None:
        self._archive = archive
        self._root = root
        self._restore = restore
        self._swaps = byte_order != sys.byteorder
        self._mapping = mapping
        self._loaded: dict[str, TypedStorage] = {}
        self.nbytes = 0

    def load(self, kind: Any, key: Any, location: Any, numel: Any, *rest: Any) -> TypedStorage:
        """Return the storage of a reference; the same one for the same key."""
        dtype, key, location, nbytes = checked_reference(kind, key, location, numel)
        known = self._loaded.get(key)
        if known is not None:
            if known.nbytes() != nbytes:
                _refuse_size(known.nbytes(), nbytes)
            return known
        name = f"{self._root}/data/{key}"
        size = self._archive.find(name).size
        if size != nbytes:  # before any memory is allocated
            _refuse_size(size, nbytes)
        memory = self._memory(name, nbytes)
        self.nbytes += nbytes
        if self._swaps:
            swap_bytes(memory, dtype)
        if dtype is dtypes.bool_:
            check_truth_values(memory)
        known = self._loaded[key] = typed(self._restore(on_memory(memory), location), dtype)
        return known

    def _memory(self, name: str, nbytes: int) -> np.ndarray:
        place = None if self._mapping is None else self._archive.place(name)
        if place is None or not nbytes or place % _ALIGNMENT:
            return self._archive.read_array(name)
        return np.ndarray((nbytes,), BYTE, self._mapping, place)


def _refuse_size(size: int, expected: int) -> None:
    raise RuntimeError(
        f"record size ({size} bytes) does not match expected size ({expected} bytes = {expected} "
        "elements * 1 bytes/element) for dtype Byte"
    )


class StreamStorages:
    """Storages whose elements follow the pickles of an old file.

    They are made when the pickle names them, and filled afterwards.
    """

    are_filled = False

    def __init__(self, source: Source, restore: Restore, swaps: bool) -> None:
        self._source = source
        self._restore = restore
        self._swaps = swaps
        self._placed: dict[str, TypedStorage] = {}
        self.nbytes = 0

    def load(self, kind: Any, key: Any, location: Any, numel: Any, *rest: Any) -> TypedStorage:
        """Return the storage of a reference, not yet filled; `rest` may make it a part of one."""
        dtype, key, location, nbytes = checked_reference(kind, key, location, numel)
        known = self._placed.get(key)
        if known is None:
            self.nbytes += nbytes
            if self.nbytes > self._source.remaining:  # before any memory is allocated
                raise failed("its storages are larger than the file")
            memory = np.zeros(nbytes, BYTE)
            known = typed(self._restore(on_memory(memory), location), dtype)
            self._placed[key] = known
        elif known.nbytes() != nbytes:
            _refuse_size(known.nbytes(), nbytes)
        view = rest[0] if rest else None
        return known if view is None else _part(known, view)

    def fill(self, keys: Any) -> None:
        """Read the elements of all storages, in the order of `keys`."""
        if type(keys) is not list or any(type(key) is not str for key in keys):
            raise failed("the keys of the storages must be a list of texts")
        if len(keys) != len(self._placed) or set(keys) != set(self._placed):
            raise failed("the file holds other storages than its pickle uses")
        for key in keys:
            storage = self._placed[key]
            memory, dtype = storage._memory, storage.dtype
            if struct.unpack("<q", self._source.take(8))[0] * dtype.itemsize != memory.size:
                raise failed("a storage has another size than the pickle says")
            self._source.take_into(memory)
            if self._swaps:
                swap_bytes(memory, dtype)
            if dtype is dtypes.bool_:
                check_truth_values(memory)


def _part(storage: TypedStorage, view: Any) -> TypedStorage:
    """Return a part of a storage: (key, offset, number of elements)."""
    if type(view) is not tuple or len(view) != 3 or any(type(each) is not int for each in view[1:]):
        raise failed("a part of a storage is named by its key, offset and size")
    _, offset, numel = view
    if offset < 0 or numel < 0 or offset + numel > len(storage):
        raise failed("a part of a storage must lie in it")
    itemsize = storage.dtype.itemsize
    part = storage._memory[offset * itemsize : (offset + numel) * itemsize]
    return typed(on_memory(part), storage.dtype)
