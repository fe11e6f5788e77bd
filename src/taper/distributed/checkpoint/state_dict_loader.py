"""Load a state dict, each process the parts that it has."""

from __future__ import annotations

from typing import Any

from taper.distributed.checkpoint.default_planner import DefaultLoadPlanner
from taper.distributed.checkpoint.filesystem import FileSystemReader
from taper.distributed.checkpoint.planner import LoadPlanner
from taper.distributed.checkpoint.state_dict_saver import Id, states_of
from taper.distributed.checkpoint.stateful import Stateful
from taper.distributed.checkpoint.steps import Together
from taper.distributed.checkpoint.storage import StorageReader
from taper.distributed.groups import ProcessGroup

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Id = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Load a state dict in place, saved by any number of processes.

    Tensors and DTensors are written into; other values are replaced; objects with
    `load_state_dict` take theirs over.

    Args:
        state_dict: what to load, with tensors of the right shapes.
        checkpoint_id: the folder.
        storage_reader: from where to read, instead of a folder.
        planner: decides what is read.
        process_group: who takes part; all without it.
        no_dist: whether this process loads alone.

    >>> import tempfile, warnings, taper
    >>> warnings.simplefilter("ignore")  # it is alone
    >>> from taper.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> _ = checkpoint.save({"weight": taper.ones(2), "step": 3}, checkpoint_id=folder)
    >>> state = {"weight": taper.zeros(2), "step": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    states = states_of(state_dict)
    reader = storage_reader
    if reader is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specificed if storage_reader is None.")
        reader = FileSystemReader(checkpoint_id)
    else:
        reader.reset(checkpoint_id)
    _load(states, reader, planner, process_group, no_dist)
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _load(
    states: dict[str, Any],
    reader: StorageReader,
    planner: LoadPlanner | None,
    group: ProcessGroup | None,
    no_dist: bool,
) -> None:
    planner = planner or DefaultLoadPlanner()
    together = Together(group, no_dist, "load")

    def local() -> Any:
        try:
            metadata = reader.read_metadata()
        except FileNotFoundError as error:
            raise AssertionError(
                f"metadata is None; global metadata read failed: {error}"
            ) from None
        planner.set_up_planner(states, metadata, together.is_coordinator)
        reader.set_up_storage_reader(metadata, together.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    plans = together.gather("plan", local)
    everybody = together.decide(
        "plan", lambda: reader.prepare_global_plan(planner.create_global_plan(plans))
    )

    def read() -> None:
        reader.read_data(planner.finish_plan(everybody[together.rank]), planner).result()

    together.gather("read", read)


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """Load by the older name; deprecated: use `load`."""
    storage_reader.reset()
    _load(state_dict, storage_reader, planner, process_group, no_dist)
