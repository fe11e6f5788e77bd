"""Where checkpoints lie: bases for storages of one's own."""

from __future__ import annotations

import os
from typing import Any

from taper.distributed.checkpoint.metadata import Metadata, StorageMeta
from taper.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


class WriteResult:
    """What was written, and where."""

    def __init__(self, index: Any, size_in_bytes: int, storage_data: Any) -> None:
        self.index, self.size_in_bytes, self.storage_data = index, size_in_bytes, storage_data


class StorageWriter:
    """Writes checkpoints."""

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin a new checkpoint."""
        raise NotImplementedError

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Hear whether this is the first process."""
        raise NotImplementedError

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Return the plan of this process, perhaps with what the storage wants to know."""
        raise NotImplementedError

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Return the plans of all, perhaps with what the storage wants to know."""
        raise NotImplementedError

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """Write what the plan says; return a future of a list of results."""
        raise NotImplementedError

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make the checkpoint complete; called in the first process."""
        raise NotImplementedError

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Return whether this storage has such a place."""
        raise NotImplementedError

    def storage_meta(self) -> StorageMeta | None:
        """Return what the checkpoint says about its place."""
        return None


class StorageReader:
    """Reads checkpoints."""

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin with another checkpoint."""
        raise NotImplementedError

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return what the checkpoint says about itself."""
        raise NotImplementedError

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Hear what the checkpoint says, and whether this is the first process."""
        raise NotImplementedError

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan of this process."""
        raise NotImplementedError

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans of all."""
        raise NotImplementedError

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        """Read what the plan says; return a future."""
        raise NotImplementedError

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Return whether this storage has such a place."""
        raise NotImplementedError
