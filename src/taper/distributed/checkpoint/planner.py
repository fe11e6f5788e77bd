"""Plans: which process writes or reads which part of which tensor."""

from __future__ import annotations

import enum
import io
from dataclasses import dataclass, field
from typing import Any

from taper.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
)
from taper.size import Size
from taper.tensor import Tensor

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(enum.Enum):
    """What is written."""

    TENSOR = enum.auto()
    SHARD = enum.auto()
    BYTE_IO = enum.auto()


class LoadItemType(enum.Enum):
    """What is read."""

    TENSOR = enum.auto()
    BYTE_IO = enum.auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes something takes that is no tensor."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor, and what the tensor is."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """One thing to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Return how many bytes a tensor's part takes."""
        if self.tensor_data is None:
            return None
        return self.tensor_data.chunk.sizes.numel() * int(
            self.tensor_data.properties.dtype.itemsize
        )


@dataclass(frozen=True)
class ReadItem:
    """One thing to read: from where in a saved part to where in a tensor."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = field(default=None)


class SavePlanner:
    """Decides what is written; a base for planners of one's own."""

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        """Take over what shall be saved."""
        raise NotImplementedError

    def create_local_plan(self) -> SavePlan:
        """Return what this process has."""
        raise NotImplementedError

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Return, from what all have, what each writes; called in the first process."""
        raise NotImplementedError

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Return what this process writes."""
        raise NotImplementedError

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """Return the elements, or bytes, of a thing to write."""
        raise NotImplementedError


class LoadPlanner:
    """Decides what is read; a base for planners of one's own."""

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Take over what shall be loaded into."""
        raise NotImplementedError

    def create_local_plan(self) -> LoadPlan:
        """Return what this process needs."""
        raise NotImplementedError

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Return what each process reads; called in the first process."""
        raise NotImplementedError

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Return what this process reads."""
        raise NotImplementedError

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take over something that is no tensor."""
        raise NotImplementedError

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Return the tensor into which a part is read."""
        raise NotImplementedError

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Hear that a part has been read."""
        raise NotImplementedError
