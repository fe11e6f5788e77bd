"""Which backend serves a name, here and now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.distributed.backends.base import Backend
from taper.distributed.stores import Store


def device_backend(name: str) -> str:
    """Return the backend for the CPU, from a name such as "cpu:gloo,cuda:nccl"."""
    parts = [each.rpartition(":") for each in name.split(",")]
    for device, _, kind in parts:
        if device == "cpu":
            return kind
    return parts[0][2]


def world_of_mpi(name: str, init_method: str | None) -> tuple[Store, int, int] | None:
    """Return store, rank and number of processes, if MPI shall say them."""
    return None


def make_backend(
    name: str, group: str, store: Store, ranks: Sequence[int], rank: int, seconds: float
) -> Backend:
    """Make the backend of a group, together with its other members."""
    for each in name.split(","):
        _check(each.rpartition(":")[2])
    # late: a process that only asks whether it is distributed needs no transport
    from taper.distributed.backends.host import Host

    made: Any = Host(store, rank, len(ranks), seconds)
    return made


def _check(kind: str) -> None:
    """Refuse what PyTorch's build for the CPU refuses."""
    if kind == "nccl":
        raise RuntimeError("Distributed package doesn't have NCCL built in")
    if kind == "mpi":
        raise RuntimeError(
            "Distributed package doesn't have MPI built in. MPI is only included if you build "
            "PyTorch from source on a host that has MPI installed."
        )
    if kind in ("ucc", "xccl", "fake"):
        raise AssertionError(f"Unknown c10d backend type {kind.upper()}")
    if kind not in ("gloo", "undefined"):
        raise AssertionError(f"Unknown backend type {kind}")
