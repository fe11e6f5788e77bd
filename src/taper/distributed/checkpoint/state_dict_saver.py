"""Save a state dict, each process its part."""

from __future__ import annotations

import copy
import enum
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from taper.distributed.checkpoint.default_planner import DefaultSavePlanner
from taper.distributed.checkpoint.filesystem import FileSystemWriter
from taper.distributed.checkpoint.metadata import Metadata
from taper.distributed.checkpoint.planner import SavePlanner
from taper.distributed.checkpoint.stateful import Stateful
from taper.distributed.checkpoint.steps import Together
from taper.distributed.checkpoint.storage import StorageWriter
from taper.distributed.groups import (
    ProcessGroup,
    default_group,
    destroy_process_group,
    is_initialized,
    new_group,
)
from taper.distributed.tensor.api import DTensor
from taper.tensor import Tensor

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]

Id = str | os.PathLike[str] | None


class AsyncCheckpointerType(enum.Enum):
    """Who writes in the background."""

    THREAD = "thread"
    PROCESS = "process"


class AsyncSaveResponse:
    """What saving in the background promises: the copy is made, and the files are written."""

    def __init__(self, staging_completion: Future[None], upload_completion: Future[Any]) -> None:
        self.staging_completion, self.upload_completion = staging_completion, upload_completion


def states_of(state_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state dict with the states of objects that have their own."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Id = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a state dict together: each process writes what others do not have.

    A checkpoint that was there is replaced when the new one is complete, and else stays.

    Args:
        state_dict: tensors, DTensors, plain data, and objects with `state_dict`, by names; nested.
        checkpoint_id: the folder.
        storage_writer: where to write, instead of a folder.
        planner: decides what is written.
        process_group: who takes part; all without it.
        no_dist: whether this process saves alone.
        use_collectives: accepted.

    Returns: what the checkpoint says about itself.

    >>> import tempfile, warnings, taper
    >>> warnings.simplefilter("ignore")  # it is alone
    >>> from taper.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> metadata = checkpoint.save({"model": {"weight": taper.ones(2, 3)}}, checkpoint_id=folder)
    >>> list(metadata.state_dict_metadata)
    ['model.weight']
    """
    return _save(
        states_of(state_dict), checkpoint_id, storage_writer, planner, process_group, no_dist
    )


def _save(
    state_dict: dict[str, Any],
    checkpoint_id: Id,
    storage_writer: StorageWriter | None,
    planner: SavePlanner | None,
    group: ProcessGroup | None,
    no_dist: bool,
) -> Metadata:
    writer = storage_writer
    if writer is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specificed if storage_writer is None.")
        writer = FileSystemWriter(checkpoint_id)
    else:
        writer.reset(checkpoint_id)
    planner = planner or DefaultSavePlanner()
    together = Together(group, no_dist, "save")
    place = writer

    def local() -> Any:
        planner.set_up_planner(state_dict, place.storage_meta(), together.is_coordinator)
        place.set_up_storage_writer(together.is_coordinator)
        return place.prepare_local_plan(planner.create_local_plan())

    plans = together.gather("plan", local)

    def central() -> Any:
        everybody, metadata = planner.create_global_plan(plans)
        return place.prepare_global_plan(everybody), metadata

    everybody, metadata = together.decide("plan", central)

    def write() -> Any:
        return place.write_data(planner.finish_plan(everybody[together.rank]), planner).result()

    results = together.gather("write", write)
    together.decide("finish", lambda: place.finish(metadata, results))
    return metadata


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """Save by the older name; deprecated: use `save`."""
    return _save(state_dict, None, storage_writer, planner, process_group, no_dist)


def _copied(value: Any) -> Any:
    """Return a copy that later steps of training do not change."""
    if isinstance(value, DTensor):
        return value._like(value._local_tensor.detach().clone())
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copied(each) for each in value)
    return copy.deepcopy(value)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Id = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: ProcessGroup | None = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any]:
    """Copy a state dict and save the copy while training goes on.

    Args:
        state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist: as for `save`.
        async_checkpointer_type: THREAD.
        async_stager, use_collectives: accepted.

    Returns: a future, which has what `save` returns.
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError("async_save: a thread saves; a process of its own is not there")
    copied = _copied(states_of(state_dict))
    own: Any = None
    if not no_dist and is_initialized():
        # A group of its own: what the program sends meanwhile must not come between.
        own = new_group(list((process_group or default_group()).ranks))

    def run() -> Metadata:
        try:
            return _save(copied, checkpoint_id, storage_writer, planner, own, no_dist)
        finally:
            if own is not None:
                destroy_process_group(own)

    executor = ThreadPoolExecutor(1, thread_name_prefix="taper checkpoint")
    future = executor.submit(run)
    executor.shutdown(wait=False)
    return future
