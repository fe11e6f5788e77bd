"""Checkpoints of several processes as one file, and back."""

from __future__ import annotations

import itertools
import os
from typing import Any

from taper.distributed.checkpoint.filesystem import FileSystemReader
from taper.distributed.checkpoint.flattening import Path, put
from taper.distributed.checkpoint.metadata import TensorStorageMetadata
from taper.distributed.checkpoint.state_dict_loader import load_state_dict
from taper.distributed.checkpoint.state_dict_saver import save as save_together
from taper.files import load, save
from taper.ops.creation.filled import empty

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write a checkpoint of several processes as one file.

    Args:
        dcp_checkpoint_dir: the folder of the checkpoint.
        torch_save_path: the file.

    >>> import tempfile, warnings, taper
    >>> warnings.simplefilter("ignore")  # it is alone
    >>> from taper.distributed import checkpoint
    >>> from taper.distributed.checkpoint.format_utils import dcp_to_torch_save
    >>> folder = tempfile.mkdtemp()
    >>> _ = checkpoint.save({"a": {"b": taper.ones(2)}}, checkpoint_id=folder)
    >>> dcp_to_torch_save(folder, folder + "/whole.pt")
    >>> taper.load(folder + "/whole.pt")
    {'a': {'b': tensor([1., 1.])}}
    """
    reader = FileSystemReader(dcp_checkpoint_dir)
    metadata = reader.read_metadata()
    flat: dict[str, Any] = {
        name: empty(each.size, dtype=each.properties.dtype)
        if isinstance(each, TensorStorageMetadata)
        else None
        for name, each in metadata.state_dict_metadata.items()
    }
    load_state_dict(flat, reader, no_dist=True)
    paths: dict[str, Path] = metadata.planner_data or {}
    result: dict[str, Any] = {}
    for name, value in flat.items():
        path = paths.get(name, (name,))
        _make_way(result, path)
        put(result, path, value)
    save(result, torch_save_path)


def _make_way(place: Any, path: Path) -> None:
    """Make the dictionaries and lists that a path leads through."""
    for key, following in itertools.pairwise(path):
        made: Any = [] if isinstance(following, int) else {}
        if isinstance(key, int):
            place.extend([None] * (key + 1 - len(place)))
            place[key] = made if place[key] is None else place[key]
            place = place[key]
        else:
            place = place.setdefault(key, made)
    last = path[-1]
    if isinstance(last, int):
        place.extend([None] * (last + 1 - len(place)))


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file with a state dict as a checkpoint of several processes.

    Args:
        torch_save_path: the file.
        dcp_checkpoint_dir: the folder of the checkpoint.
    """
    save_together(load(torch_save_path), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
