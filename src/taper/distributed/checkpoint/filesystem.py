"""Checkpoints in a folder: a file of data for each process, and `.metadata`, in PyTorch's format.

Nothing that is read is executed: `.metadata` is read by the reader of checkpoints, which knows only
the classes below, and what it says is checked before memory is taken.  A checkpoint is replaced as
a whole: data goes into files with new names, `.metadata` is renamed into place last, and only then
the files of the checkpoint before are removed.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import os
import re
import uuid
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taper.distributed.checkpoint import metadata as form
from taper.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from taper.distributed.checkpoint.metadata_reader import MetadataReader
from taper.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
)
from taper.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from taper.files import load, save
from taper.files.allowed import Allowed
from taper.files.atomic import replacing
from taper.files.pickle_writer import plain
from taper.files.safe_globals import names_of
from taper.files.sources import Source
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_METADATA = ".metadata"
_DATA = re.compile(r"__(\d+)_(\d+)\.distcp")


class SerializationFormat(enum.Enum):
    """How tensors are written."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _StorageInfo:
    """Where in which file something lies."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None


_CLASSES = [
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
    BytesStorageMetadata,
    form.ChunkStorageMetadata,
    form.TensorProperties,
    form._MEM_FORMAT_ENCODING,
    _StorageInfo,
]


class FileSystemWriter(StorageWriter):
    """Write a checkpoint into a folder.

    Args:
        path: the folder; it is made if it is not there.
        single_file_per_rank, thread_count, per_thread_copy_ahead: accepted; each process writes
            one file.
        sync_files: accepted; files are flushed to the disk.
        cache_staged_state_dict: accepted.
        overwrite: whether a checkpoint that is there is replaced.
        serialization_format: TORCH_SAVE.

    >>> import tempfile, warnings, taper
    >>> warnings.simplefilter("ignore")  # it is alone
    >>> from taper.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> writer = checkpoint.FileSystemWriter(folder)
    >>> _ = checkpoint.save({"weight": taper.ones(2)}, storage_writer=writer)
    >>> state = {"weight": taper.zeros(2)}
    >>> checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(folder))
    >>> state
    {'weight': tensor([1., 1.])}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        if serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError("FileSystemWriter: tensors are written as TORCH_SAVE only")
        self.path, self.overwrite = Path(path), overwrite
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        if (self.path / _METADATA).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        # Files of the checkpoint that is there stay until this one is complete.
        numbers = [int(found[2]) for found in map(_DATA.fullmatch, os.listdir(self.path)) if found]
        number = max(numbers, default=-1) + 1
        return [
            dataclasses.replace(each, storage_data=f"__{rank}_{number}.distcp")
            for rank, each in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        result: Future[list[WriteResult]] = Future()
        found: list[WriteResult] = []
        if plan.items:
            with replacing(self.path / plan.storage_data) as file:
                for item in plan.items:
                    data, begin = planner.resolve_data(item), file.tell()
                    if isinstance(data, Tensor):
                        buffer = io.BytesIO()
                        save(data.detach().contiguous(), buffer)
                        data = buffer
                    file.write(data.getbuffer())
                    length = file.tell() - begin
                    info = _StorageInfo(plan.storage_data, begin, length)
                    found.append(WriteResult(item.index, length, info))
        result.set_result(found)
        return result

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        infos = {each.index: each.storage_data for every in results for each in every}
        metadata.storage_data = infos
        metadata.storage_meta = self.storage_meta()
        metadata.version = "1.0.0"
        with replacing(self.path / _METADATA) as file:
            file.write(plain(metadata, 2))
        used = {each.relative_path for each in infos.values()}
        for name in os.listdir(self.path):
            if _DATA.fullmatch(name) and name not in used:
                (self.path / name).unlink(missing_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return isinstance(checkpoint_id, Path) or "://" not in str(checkpoint_id)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path


def _read_metadata(path: Path) -> Metadata:
    """Read what a checkpoint says about itself; refuse what it cannot mean."""
    allowed = Allowed(False, names_of(_CLASSES))
    with path.open("rb") as file:
        found = MetadataReader(Source(file), allowed).read()
    if type(found) is not Metadata:
        raise ValueError(f"{path}: not the metadata of a checkpoint")
    described, places = (
        found.__dict__.get("state_dict_metadata"),
        found.__dict__.get("storage_data"),
    )
    if not isinstance(described, dict) or not isinstance(places, dict):
        raise ValueError(f"{path}: it must have dictionaries of tensors and of places")
    for name, each in described.items():
        if type(name) is not str or type(each) not in (TensorStorageMetadata, BytesStorageMetadata):
            raise ValueError(f"{path}: {name!r} is neither tensor nor bytes")
        if type(each) is TensorStorageMetadata:
            _check_tensor(path, name, each)
    for index, info in places.items():
        if type(index) is not MetadataIndex or type(info) is not _StorageInfo:
            raise ValueError(f"{path}: a place must have an index and a file")
        numbers = (info.offset, info.length)
        named = type(info.relative_path) is str and Path(info.relative_path).name
        if named != info.relative_path or any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError(f"{path}: {index.fqn!r} lies outside the folder of the checkpoint")
        if getattr(info, "transform_descriptors", None):
            raise NotImplementedError(f"{path}: {index.fqn!r} is compressed or encrypted")
    return found


def _check_tensor(path: Path, name: str, tensor: TensorStorageMetadata) -> None:
    def is_shape(value: Any) -> bool:
        return type(value) is Size and all(type(n) is int and n >= 0 for n in value)

    if not is_shape(tensor.size) or type(tensor.chunks) is not list:
        raise ValueError(f"{path}: {name!r} has no shape")
    for each in tensor.chunks:
        if type(each) is not form.ChunkStorageMetadata or not (
            is_shape(each.offsets) and is_shape(each.sizes)
        ):
            raise ValueError(f"{path}: a part of {name!r} has no place")
        bounds = zip(each.offsets, each.sizes, tensor.size, strict=True)
        if len(each.sizes) != len(tensor.size) or any(a + n > m for a, n, m in bounds):
            raise ValueError(f"{path}: a part of {name!r} lies outside of it")


class FileSystemReader(StorageReader):
    """Read a checkpoint from a folder, written by taper or by PyTorch.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        self.path = Path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        return _read_metadata(self.path / _METADATA)

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.storage_data = metadata.storage_data
        self.metadata = metadata

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            info = self.storage_data.get(item.storage_index)
            if info is None:
                raise ValueError(f"{item.storage_index.fqn}: the checkpoint does not say where")
            by_file.setdefault(info.relative_path, []).append(item)
        for name, items in by_file.items():
            with (self.path / name).open("rb") as file:
                for item in items:
                    self._read(file, item, planner)
        result: Future[None] = Future()
        result.set_result(None)
        return result

    def _read(self, file: Any, item: ReadItem, planner: LoadPlanner) -> None:
        info = self.storage_data[item.storage_index]
        if info.offset + info.length > os.fstat(file.fileno()).st_size:
            raise ValueError(f"{item.storage_index.fqn}: {info.relative_path} is too short")
        file.seek(info.offset)
        data = io.BytesIO(file.read(info.length))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, data)
            return
        saved = load(data, map_location="cpu", weights_only=True)
        chunks = self.metadata.state_dict_metadata[item.storage_index.fqn].chunks
        sizes = [each.sizes for each in chunks if each.offsets == item.storage_index.offset]
        if not isinstance(saved, Tensor) or saved.shape not in sizes:
            raise ValueError(f"{item.storage_index.fqn}: the file has another tensor than it says")
        for dim, (begin, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
            saved = saved.narrow(dim, begin, length)
        target = planner.resolve_tensor(item)
        target.copy_(saved)
        planner.commit_tensor(item, target)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path
