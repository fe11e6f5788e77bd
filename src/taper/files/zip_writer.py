"""Writing zip archives the way PyTorch lays them out: stored, aligned, sizes behind the data.

Equal offsets matter: PyTorch can compute where a record lies without reading its header.  Knows
bytes only, not what a checkpoint is.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from taper.files.checksums import Checksums

CLASSIC_LIMIT = 0xFFFFFFFF
"""Sizes and offsets from here on need the 64-bit fields."""

_UTF8 = 0x0800
_SIZES_FOLLOW = 0x0008  # checksum and sizes come after the data
_PADDING = 0x4246  # the extra field "FB" that fills up to the alignment
_ZIP64 = 1


class Entry(NamedTuple):
    """What the directory says about a record."""

    name: bytes
    checksum: int
    size: int
    offset: int

    @property
    def flags(self) -> int:
        """Return the flags: empty records have nothing behind them."""
        return _UTF8 | _SIZES_FOLLOW if self.size else _UTF8

    def wide_fields(self) -> bytes:
        """Return the extra field for values above 32 bits; empty if there are none."""
        wide = []
        if self.size >= CLASSIC_LIMIT:
            wide += [self.size, self.size]
        if self.offset >= CLASSIC_LIMIT:
            wide.append(self.offset)
        if not wide:
            return b""
        return struct.pack(f"<HH{len(wide)}Q", _ZIP64, 8 * len(wide), *wide)


class ZipWriter:
    """Appends records to a file; `write` takes bytes-like objects, in order."""

    def __init__(
        self,
        write: Callable[[Any], Any],
        root: str = "",
        alignment: int = 64,
        checksums: bool = True,
    ) -> None:
        self._write = write
        self._root = f"{root}/" if root else ""
        self._alignment = alignment
        self._checksums = Checksums() if checksums else None
        self._cursor = 0
        self._entries: list[Entry] = []

    def _put(self, data: Any) -> None:
        self._write(data)
        self._cursor += len(data)

    def add(self, name: str, data: Any) -> None:
        """Append one record; `data` is bytes or a flat memoryview of bytes."""
        entry = Entry(f"{self._root}{name}".encode(), 0, len(data), self._cursor)
        wide = entry.wide_fields()
        start = self._cursor + 30 + len(entry.name) + len(wide) + 4
        padding = -start % self._alignment
        extra = wide + struct.pack("<HH", _PADDING, padding) + b"Z" * padding
        # The sizes of a wide record are all ones here: then a reader takes the wide fields.
        size = CLASSIC_LIMIT if entry.size >= CLASSIC_LIMIT else 0
        lengths = (len(entry.name), len(extra))
        self._put(
            struct.pack("<4s5H3I2H", b"PK\3\4", 0, entry.flags, 0, 0, 0, 0, size, size, *lengths)
            + entry.name
            + extra
        )
        if self._checksums is None:
            self._put(data)
        else:
            entry = entry._replace(checksum=self._checksums.while_writing(self._put, data))
        if entry.size:
            form = "<4sIQQ" if size else "<4sIII"
            self._put(struct.pack(form, b"PK\7\x08", entry.checksum, entry.size, entry.size))
        self._entries.append(entry)

    def fingerprint(self) -> bytes:
        """Return forty digits that depend on names and contents of the records so far."""
        names, contents = hashlib.sha256(), hashlib.sha256()
        for entry in self._entries:
            names.update(entry.name[len(self._root) :] + b"\0")
            contents.update(struct.pack("<IQ", entry.checksum, entry.size))
        parts = [int.from_bytes(each.digest()[:8], "little") for each in (names, contents)]
        return "".join(f"{part:020d}" for part in parts).encode()

    def finish(self) -> None:
        """Append the directory; nothing can be added afterwards."""
        start = self._cursor
        for entry in self._entries:
            self._put(_directory_entry(entry))
        size, count = self._cursor - start, len(self._entries)
        end = self._cursor
        self._put(
            struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x31E, 45, 0, 0, count, count, size, start)
        )
        self._put(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        few = min(count, 0xFFFF)
        place = (min(size, CLASSIC_LIMIT), min(start, CLASSIC_LIMIT))
        self._put(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, few, few, *place, 0))


def _directory_entry(entry: Entry) -> bytes:
    wide = entry.wide_fields()
    size, offset = min(entry.size, CLASSIC_LIMIT), min(entry.offset, CLASSIC_LIMIT)
    fixed = (0, 0, entry.flags, 0, 0, 0, entry.checksum, size, size)
    tail = (len(entry.name), len(wide), 0, 0, 0, 0, offset)
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", *fixed, *tail) + entry.name + wide
