"""Checkpoints of PyTorch before 1.6: five pickles one after the other, then the storages."""

from __future__ import annotations

import sys
from typing import IO, Any

from taper.arrays.foreign import on_host
from taper.files.allowed import Allowed
from taper.files.atomic import write_all
from taper.files.locations import MapLocation, restore_location
from taper.files.pickle_reader import PickleReader
from taper.files.pickle_writer import Written, count, plain
from taper.files.refusals import failed
from taper.files.sources import Source
from taper.files.storages import StreamStorages

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def is_tar(file: Any) -> bool:
    """Return whether the file is an archive of PyTorch before 0.1.10; the position stays."""
    start = file.tell()
    head: bytes = file.read(263)
    file.seek(start)
    return head[257:262] == b"ustar"


def write(file: IO[bytes], data: bytes, storages: list[Written], protocol: int) -> None:
    """Write a pickle and its storages."""
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    ordered = sorted(storages, key=lambda each: each.key)
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        write_all(file, plain(part, protocol))
    write_all(file, data)
    write_all(file, plain([each.key for each in ordered], protocol))
    for each in ordered:
        write_all(file, count(each.numel))
        write_all(file, on_host(each.memory).data)


def read(file: Any, map_location: MapLocation, allowed: Allowed, encoding: str) -> Any:
    """Return the object in an old checkpoint that begins where `file` stands."""
    if is_tar(file):
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format: load "
            "and save it again with a PyTorch before 2.6."
        )
    source = Source(file)
    magic = PickleReader(source, allowed).read()
    if type(magic) is not int or magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = PickleReader(source, allowed).read()
    if type(version) is not int or version != PROTOCOL_VERSION:
        shown = version if type(version) is int else type(version)
        raise RuntimeError(f"Invalid protocol version: {shown}")
    system = PickleReader(source, allowed).read()
    if type(system) is not dict or type(system.get("little_endian", True)) is not bool:
        raise failed("the description of the machine must be a dict")
    little = system.get("little_endian", True)
    storages = StreamStorages(
        source, restore_location(map_location), little != (sys.byteorder == "little")
    )
    found = PickleReader(source, allowed, storages, encoding).read()
    storages.fill(PickleReader(source, allowed).read())
    return found
