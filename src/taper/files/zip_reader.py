"""Reading zip archives from untrusted sources.

Everything that the archive says about itself is checked before it is used: places and sizes against
the file, records against each other, names against tricks.  Only stored records and, within a
bound, deflated ones are read.  Knows seekable files; must not know what the records mean.
"""

from __future__ import annotations

import os
import struct
import zlib
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from taper.files.read_ahead import ReadAhead

MOST_RECORDS = 1_000_000
MOST_EXPANSION = 100  # how many times larger than the file deflated records may become ...
FREE_EXPANSION = 1 << 28  # ... beyond this many bytes

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x2041  # encryption, strong encryption, masked headers
_WIDE = 0xFFFFFFFF
_ADVICE = (
    "If you are seeing this error, there is a high likelihood that your checkpoint file is "
    "corrupted. This can happen if the checkpoint was not saved properly, was transferred "
    "incorrectly, or the file was modified after saving."
)


class Record(NamedTuple):
    """One record: where its bytes lie, counted from the start of the archive."""

    name: str
    method: int
    checksum: int
    packed: int
    size: int
    header: int


def refuse(doing: str, problem: str) -> NoReturn:
    """Raise the error of an archive that is not what it says."""
    raise RuntimeError(f"PytorchStreamReader failed {doing}: {problem}. {_ADVICE}")


def _refuse_directory(problem: str) -> NoReturn:
    refuse("reading zip archive", problem)


class ZipReader:
    """The checked directory of an archive that begins at `file`'s position and ends with it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.start = file.tell()
        self.length = file.seek(0, os.SEEK_END) - self.start
        entries = self._directory()
        self._starts = self._checked_places(entries)
        self.records = {entry.name: entry for entry in entries}
        if len(self.records) < len(entries):
            _refuse_directory("a name occurs twice in the directory")
        _check_expansion(entries, self.length)
        places = [(self.start + self._starts[each.name], each.packed) for each in entries]
        following = {place: ahead for (place, _), ahead in pairwise(sorted(places))}
        self._parts = ReadAhead(file, following)

    def close(self) -> None:
        """Allow no more reading; the file stays open."""
        self._parts.close()

    # --- reading ---------------------------------------------------------------------------

    def read(self, name: str) -> bytes:
        """Return the content of a record."""
        return self.read_array(name).tobytes()

    def read_array(self, name: str) -> np.ndarray:
        """Return the content of a record as a fresh array of bytes."""
        record = self.find(name)
        content, checksum = self._parts.read(self.start + self._starts[name], record.packed)
        if checksum is None:
            refuse(f"reading file {name}", "the file ended early")
        if record.method == _DEFLATED:
            content = np.frombuffer(_inflated(content, record), np.uint8)
            checksum = zlib.crc32(content.data)
        # PyTorch writes 0 if it was told not to compute checksums.
        if record.checksum and checksum != record.checksum:
            refuse(f"reading file {name}", "its checksum is another one")
        return content

    def find(self, name: str) -> Record:
        """Return the record of a name."""
        record = self.records.get(name)
        if record is None:
            shown = name.partition("/")[2] or name
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {shown}: file not found. This is an "
                f"internal miniz error. {_ADVICE}"
            )
        return record

    def place(self, name: str) -> int | None:
        """Return where in the file the content of a record begins; None if it is deflated."""
        if self.find(name).method != _STORED:
            return None
        return int(self.start + self._starts[name])

    # --- the directory -----------------------------------------------------------------------

    def _at(self, offset: int, length: int) -> bytes:
        if offset < 0 or length < 0 or offset + length > self.length:
            _refuse_directory("it names a place outside of the file")
        self._file.seek(self.start + offset)
        data: bytes = self._file.read(length)
        if len(data) != length:
            _refuse_directory("the file ended early")
        return data

    def _directory(self) -> list[Record]:
        count, size, offset = self._find_directory()
        if count > MOST_RECORDS:
            _refuse_directory(f"it has more than {MOST_RECORDS} records")
        data = self._at(offset, size)
        entries, position = [], 0
        for _ in range(count):
            entry, position = _entry_at(data, position)
            entries.append(entry)
        self._directory_start = offset
        return entries

    def _find_directory(self) -> tuple[int, int, int]:
        """Return the number of records, size and offset of the directory, from the file's end."""
        tail_start = max(0, self.length - 22 - 0xFFFF)
        tail = self._at(tail_start, self.length - tail_start)
        end = tail.rfind(b"PK\5\6")
        while end >= 0 and end + 22 + _comment_length(tail, end) != len(tail):
            end = tail.rfind(b"PK\5\6", 0, end)
        if end < 0:
            refuse("reading zip archive", "not a ZIP archive. This is an internal miniz error")
        disk, first, here, count, size, offset = struct.unpack_from("<4H2I", tail, end + 4)
        if disk or first or here != count:
            _refuse_directory("it has several parts")
        wide = self._find_wide(tail_start + end - 20)
        if wide is None:
            return count, size, offset
        for narrow, limit, value in zip(
            (count, size, offset), (0xFFFF, _WIDE, _WIDE), wide, strict=True
        ):
            if narrow not in (limit, value):
                _refuse_directory("its two ends contradict each other")
        return wide

    def _find_wide(self, locator_offset: int) -> tuple[int, int, int] | None:
        if locator_offset < 0:
            return None
        signature, disk, offset, disks = struct.unpack("<4sIQI", self._at(locator_offset, 20))
        if signature != b"PK\6\7":
            return None
        fields = struct.unpack("<4sQHHIIQQQQ", self._at(offset, 56))
        signature, _, _, _, disk, first, here, count, size, start = fields
        if signature != b"PK\6\6" or disk or first or disks > 1 or here != count:
            _refuse_directory("its 64-bit end is broken")
        return count, size, start

    def _checked_places(self, entries: list[Record]) -> dict[str, int]:
        """Return where each record's content begins; no two share a byte, none is the directory."""
        starts, free = {}, 0
        for entry in sorted(entries, key=lambda each: each.header):
            if entry.header < free:
                _refuse_directory("records overlap")
            head = self._at(entry.header, 30)
            signature, flags, method = struct.unpack_from("<4s2xHH", head)
            name_length, extra_length = struct.unpack_from("<HH", head, 26)
            if signature != b"PK\3\4" or method != entry.method or flags & _ENCRYPTED:
                _refuse_directory("a record is not what the directory says")
            if self._at(entry.header + 30, name_length) != entry.name.encode():
                _refuse_directory("a record has another name than in the directory")
            starts[entry.name] = entry.header + 30 + name_length + extra_length
            free = starts[entry.name] + entry.packed
            if free > self._directory_start:
                _refuse_directory("a record reaches into the directory")
        return starts


def _comment_length(tail: bytes, end: int) -> int:
    if end + 22 > len(tail):
        return -1
    length: int = struct.unpack_from("<H", tail, end + 20)[0]
    return length


def _entry_at(data: bytes, position: int) -> tuple[Record, int]:
    """Return the entry of the directory at a position, and the position after it."""
    if position + 46 > len(data):
        _refuse_directory("its directory ended early")
    fields = struct.unpack_from("<4s6H3I5H2I", data, position)
    signature, _, _, flags, method, _, _, checksum, packed, size = fields[:10]
    name_length, extra_length, comment_length, disk, _, _, header = fields[10:]
    after = position + 46 + name_length + extra_length + comment_length
    if signature != b"PK\1\2" or after > len(data) or disk not in (0, 0xFFFF):
        _refuse_directory("its directory is broken")
    if flags & _ENCRYPTED:
        _refuse_directory("it is encrypted")
    name = _checked_name(data[position + 46 : position + 46 + name_length])
    if method not in (_STORED, _DEFLATED):
        refuse(f"retrieving file meta-data for {name}", "unsupported method")
    extra_start = position + 46 + name_length
    wide = _wide_fields(data[extra_start : extra_start + extra_length])
    size, packed, header = (
        (wide.pop(0) if wide else _refuse_directory("a size is missing")) if each == _WIDE else each
        for each in (size, packed, header)
    )
    if method == _STORED and size != packed:
        _refuse_directory("a stored record has two sizes")
    return Record(name, method, checksum, packed, size, header), after


def _checked_name(raw: bytes) -> str:
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        _refuse_directory("a name is not UTF-8")
    parts = name.split("/")
    if "\\" in name or "\0" in name or any(part in ("", ".", "..") for part in parts):
        _refuse_directory(f"the name {name!r} is no plain path")
    return name


def _wide_fields(extra: bytes) -> list[int]:
    """Return the 64-bit values among the extra fields of an entry."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == 1 and position + 4 + length <= len(extra):
            return list(struct.unpack_from(f"<{length // 8}Q", extra, position + 4))
        position += 4 + length
    return []


def _check_expansion(entries: list[Record], length: int) -> None:
    """Refuse an archive that claims to become far larger than it is."""
    total = sum(entry.size for entry in entries if entry.method == _DEFLATED)
    if total > FREE_EXPANSION + MOST_EXPANSION * length:
        _refuse_directory(
            f"its compressed records would become {total} bytes; save it without compression"
        )


def _inflated(content: np.ndarray, record: Record) -> bytearray:
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # One byte more than declared shows that there is more, without reading much more.
        data = decompressor.decompress(content.data, record.size + 1)
    except zlib.error as error:
        refuse(f"reading file {record.name}", str(error))
    if len(data) != record.size or not decompressor.eof:
        refuse(f"reading file {record.name}", "it has another size than the directory says")
    return bytearray(data)
