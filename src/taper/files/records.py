"""The records of a checkpoint, one by one: what libraries that load lazily ask for."""

from __future__ import annotations

import os
from typing import Any

from taper.files.archive import checked_root
from taper.files.zip_reader import ZipReader

__all__ = ["PyTorchFileReader"]


class PyTorchFileReader:
    """Reads records of a file of `torch.save`; nothing in them is executed.

    Args:
        file: a path, or a file opened for reading bytes.

    >>> import io, taper
    >>> file = io.BytesIO()
    >>> taper.save({"a": taper.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> reader = taper.PyTorchFileReader(file)
    >>> reader.has_record("data.pkl"), len(reader.get_record("data/0"))
    (True, 8)
    """

    def __init__(self, file: str | os.PathLike[str] | Any) -> None:
        if isinstance(file, str | os.PathLike):
            try:
                self._file = open(file, "rb")
            except OSError as error:
                raise RuntimeError(
                    f"open file failed because of errno {error.errno} on fopen: {error.strerror}, "
                    f"file path: {os.fspath(file)}"
                ) from None
        else:
            self._file = file
        self._owns = self._file is not file
        self._reader = ZipReader(self._file)
        self._root = checked_root(self._reader)

    def __del__(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None:
            reader.close()
        if getattr(self, "_owns", False):
            self._file.close()

    def get_all_records(self) -> list[str]:
        """Return the names of all records."""
        return [name.partition("/")[2] for name in self._reader.records]

    def has_record(self, name: str) -> bool:
        """Return whether there is a record of a name."""
        return f"{self._root}/{name}" in self._reader.records

    def get_record(self, name: str) -> bytes:
        """Return the content of a record."""
        return self._reader.read(f"{self._root}/{name}")

    def get_record_size(self, name: str) -> int:
        """Return how many bytes a record has."""
        return self._reader.find(f"{self._root}/{name}").size

    def get_record_offset(self, name: str) -> int:
        """Return where in the file the content of a record begins."""
        place = self._reader.place(f"{self._root}/{name}")
        if place is None:
            raise RuntimeError(f"the record {name} is compressed: use get_record")
        return place

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """Return a record as a tensor of bytes, from which a storage is taken."""
        from taper.storage import on_memory, tensor_on  # late: a reader of names needs no tensors

        memory = self._reader.read_array(f"{self._root}/{name}")
        wanted = numel * dtype.itemsize
        if wanted > memory.size:
            raise RuntimeError(f"the record {name} has {memory.size} bytes, not {wanted}")
        return tensor_on(on_memory(memory), dtype, 0, (numel,), (1,))
