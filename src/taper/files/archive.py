"""Checkpoints as zip archives, PyTorch's format since 1.6: `data.pkl` and a record per storage."""

from __future__ import annotations

import io
import mmap
import os
import sys
from typing import IO, Any

from taper.arrays.foreign import on_host
from taper.files.allowed import Allowed
from taper.files.atomic import write_all
from taper.files.locations import MapLocation, restore_location
from taper.files.options import options
from taper.files.pickle_reader import PickleReader
from taper.files.pickle_writer import Written
from taper.files.refusals import MOST_PICKLE_BYTES, failed
from taper.files.sources import Source
from taper.files.storages import RecordStorages
from taper.files.zip_reader import ZipReader
from taper.files.zip_writer import ZipWriter

ALIGNMENT = 64
_VERSION = b"3\n"
_OLDEST, _NEWEST = 1, 10
_FREE_PICKLE = 1 << 18
_MOST_EXPANSION = 16  # times the file's size: a byte of a pickle can become 200 in memory


def root_of(path: str | os.PathLike[str]) -> str:
    """Return the folder inside the archive of a path: its name without the ending, if plain."""
    name = os.path.basename(os.fspath(path))
    stem = name.rpartition(".")[0] if "." in name else name
    plain = stem.isascii() and stem not in ("", ".", "..") and "\\" not in stem
    return stem if plain else "archive"


def write(file: IO[bytes], root: str, data: bytes, storages: list[Written], order: bool) -> None:
    """Write a pickle and its storages as an archive."""
    writer = ZipWriter(
        lambda part: write_all(file, part), root, ALIGNMENT, options.computes_checksums
    )
    writer.add("data.pkl", data)
    writer.add(".format_version", b"1")
    writer.add(".storage_alignment", str(ALIGNMENT).encode())
    if order:
        writer.add("byteorder", sys.byteorder.encode())
    for storage in storages:
        writer.add(f"data/{storage.key}", on_host(storage.memory).data)
    writer.add("version", _VERSION)
    if not order:  # PyTorch's archives have the record even then, at the end
        writer.add("byteorder", sys.byteorder.encode())
    writer.add(".data/serialization_id", writer.fingerprint())
    writer.finish()


def read(
    file: Any,
    map_location: MapLocation,
    allowed: Allowed,
    mapped: bool,
    encoding: str,
) -> Any:
    """Return the object in an archive that begins where `file` stands."""
    reader = ZipReader(file)
    try:
        return _read(reader, file, map_location, allowed, mapped, encoding)
    finally:
        reader.close()


def _read(
    reader: ZipReader,
    file: Any,
    map_location: MapLocation,
    allowed: Allowed,
    mapped: bool,
    encoding: str,
) -> Any:
    root = checked_root(reader)
    _check_version(reader, root)
    if f"{root}/constants.pkl" in reader.records:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``: "
            "save the state_dict instead."
        )
    data = read_pickle(reader, f"{root}/data.pkl")
    mapping = _mapping(file) if mapped else None
    storages = RecordStorages(
        reader, root, restore_location(map_location), _byte_order(reader, root), mapping
    )
    return PickleReader(Source(io.BytesIO(data)), allowed, storages, encoding).read()


def read_pickle(reader: ZipReader, name: str) -> bytes:
    """Return the pickle of an archive; what it builds is in proportion to the file (I2)."""
    size = reader.find(name).size
    if size > min(MOST_PICKLE_BYTES, _FREE_PICKLE + _MOST_EXPANSION * reader.length):
        raise failed(f"its pickle of {size} bytes is too large for a file of {reader.length}")
    return reader.read(name)


def _mapping(file: Any) -> mmap.mmap:
    """Return the file as memory; writes stay private unless the user chose otherwise."""
    if sys.platform == "win32":
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return mmap.mmap(
        file.fileno(), 0, flags=options.mapping_flags, prot=mmap.PROT_READ | mmap.PROT_WRITE
    )


def checked_root(reader: ZipReader) -> str:
    """Return the folder that all records lie in."""
    root = ""
    for name in reader.records:
        first, separator, _ = name.partition("/")
        if not separator:
            raise RuntimeError(f"file in archive is not in a subdirectory: {name}")
        root = root or first
        if first != root:
            raise RuntimeError(f"file in archive is not in a subdirectory {root}/: {name}")
    if not root:
        raise RuntimeError("archive does not contain any files")
    return root


def _small_text(reader: ZipReader, name: str) -> str:
    if reader.find(name).size > 100:
        raise RuntimeError(f"the record {name} is too long")
    return reader.read(name).decode("ascii", "replace").strip()


def _check_version(reader: ZipReader, root: str) -> None:
    name = f"{root}/version"
    if name not in reader.records:
        raise RuntimeError('Expected hasRecord("version") to be true, but got false.')
    text = _small_text(reader, name)
    if not (text.isascii() and text.isdigit()):
        raise RuntimeError(f"Couldn't parse the version {text} as Long Long.")
    version, start = int(text), "Attempted to read a PyTorch file with version"
    if version < _OLDEST:
        raise RuntimeError(
            f"{start} {version}, but the minimum supported version for reading is {_OLDEST}."
        )
    if version > _NEWEST:
        raise RuntimeError(
            f"{start} {version}, but the maximum supported version for reading is {_NEWEST}."
        )


def _byte_order(reader: ZipReader, root: str) -> str:
    name = f"{root}/byteorder"
    if name not in reader.records:
        return options.byte_order or "little"
    order = _small_text(reader, name)
    if order not in ("little", "big"):
        raise ValueError(f"Unknown endianness type: {order}")
    return order
