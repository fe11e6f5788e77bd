"""Collectives of objects in which an error of one process is the error of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from taper.distributed import objects
from taper.distributed.groups import ProcessGroup, get_rank, get_world_size

__all__ = ["SyncPayload", "all_gather", "broadcast"]

T = TypeVar("T")


@dataclass
class SyncPayload(Generic[T]):
    """What a process has to say: a value, or why there is none."""

    stage_name: str | None
    success: bool
    payload: T
    exception: Exception | None = None


def _made(value: Any) -> SyncPayload[Any]:
    if not callable(value):
        return SyncPayload(None, True, value)
    try:
        return SyncPayload(None, True, value())
    except Exception as error:
        return SyncPayload(None, False, None, error)


def broadcast(
    data_or_fn: T | Callable[[], T],
    *,
    success: bool = True,
    stage_name: str | None = None,
    rank: int = 0,
    pg: ProcessGroup | None = None,
) -> T:
    """Give a value of one process to all, or the error of the function that should make it.

    Args:
        data_or_fn: the value, or a function that returns it; only that of `rank` counts.
        success, stage_name: what to say about it.
        rank: the process.
        pg: the group; without it the value is this process's own.
    """
    own = _made(data_or_fn) if pg is None or get_rank(pg) == rank else None
    found: list[Any] = [own]
    if pg is not None:
        objects.broadcast_object_list(found, group=pg, group_src=rank)
    if found[0].exception is not None:
        raise RuntimeError(f"rank {rank}: {found[0].exception}") from found[0].exception
    return found[0].payload


def all_gather(
    data_or_fn: T | Callable[[], T],
    stage_name: str | None = None,
    pg: ProcessGroup | None = None,
) -> list[T]:
    """Collect the values of all processes, for all; an error of one is the error of all.

    Args:
        data_or_fn: the value, or a function that returns it.
        stage_name: accepted.
        pg: the group; without it there is this process alone.
    """
    own = _made(data_or_fn)
    found: list[Any] = [own]
    if pg is not None:
        found = [None] * get_world_size(pg)
        objects.all_gather_object(found, own, pg)
    for number, each in enumerate(found):
        if each.exception is not None:
            raise RuntimeError(f"rank {number}: {each.exception}") from each.exception
    return [each.payload for each in found]
