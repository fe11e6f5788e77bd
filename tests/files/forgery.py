"""Checkpoints put together by hand: archives and pickles that no `save` would write."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib
from typing import Any


def archive(data: bytes, storages: dict[str, bytes] | None = None, **records: bytes) -> io.BytesIO:
    """Return a zip archive with a pickle, storages by key and more records by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", data)
        made.writestr("archive/byteorder", records.pop("byteorder", b"little"))
        for key, content in (storages or {}).items():
            made.writestr(f"archive/data/{key}", content)
        made.writestr("archive/version", records.pop("version", b"3\n"))
        for name, content in records.items():
            made.writestr(name, content)
    file.seek(0)
    return file


class Name:
    """A global that is written by its name, whether it exists or not."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        raise AssertionError("only its name is written")


class Call:
    """The call of a global in a pickle."""

    def __init__(self, function: Name, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class Reference:
    """A reference to a storage."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


class _Pickler(pickle._Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return obj.parts if isinstance(obj, Reference) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Call):
            return obj.function, obj.arguments
        return obj.name if isinstance(obj, Name) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if isinstance(obj, Name):
            self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
        else:
            super().save_global(obj, name)


def pickled(value: Any) -> bytes:
    """Return the pickle of a value with `Call`, `Name` and `Reference` in it."""
    file = io.BytesIO()
    _Pickler(file, 2).dump(value)
    return file.getvalue()


REBUILD = Name("torch._utils", "_rebuild_tensor_v2")
FLOATS = struct.pack("<4f", 0, 1, 2, 3)


def storage(key: Any = "0", location: Any = "cpu", numel: Any = 4, kind: str = "FloatStorage"):
    return Reference("storage", Name("torch", kind), key, location, numel)


def tensor(size: Any = (4,), stride: Any = (1,), offset: Any = 0, flag: Any = False, **named: Any):
    """Return the call that rebuilds a tensor on `storage(**named)`."""
    return Call(REBUILD, storage(**named), offset, size, stride, flag, None)


def checkpoint(value: Any, storages: dict[str, bytes] | None = None, **records: bytes):
    return archive(pickled(value), {"0": FLOATS} if storages is None else storages, **records)


# --- zip archives, record by record ----------------------------------------------------------


def local(name: bytes, content: bytes, method: int = 0, flags: int = 0) -> bytes:
    sizes = (zlib.crc32(content), len(content), len(content))
    return (
        struct.pack("<4s5H3I2H", b"PK\3\4", 20, flags, method, 0, 0, *sizes, len(name), 0)
        + name
        + content
    )


def entry(
    name: bytes,
    content: bytes,
    offset: int,
    *,
    method: int = 0,
    flags: int = 0,
    packed: int | None = None,
    size: int | None = None,
) -> bytes:
    packed = len(content) if packed is None else packed
    size = len(content) if size is None else size
    fixed = (20, 20, flags, method, 0, 0, zlib.crc32(content), packed, size)
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", *fixed, len(name), 0, 0, 0, 0, 0, offset) + name


def ended(body: bytes, directory: bytes, count: int, start: int | None = None) -> io.BytesIO:
    start = len(body) if start is None else start
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), start, 0)
    return io.BytesIO(body + directory + end)
