"""Which backend serves a name, here and now."""

from __future__ import annotations

import importlib.util
import os
import sys
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


def was_started_by_mpi() -> bool:
    """Return whether an MPI launcher started this very process."""
    names = ("PMI_RANK", "PMI_FD", "PMI_PORT", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
    if not any(name in os.environ for name in names):
        return False
    main = sys.modules.get("multiprocessing.process")
    return main is None or main.parent_process() is None


def is_served_by_mpi(name: str) -> bool:
    """Return whether MPI carries the groups of a backend: of `mpi`, and of gloo under MPI."""
    kind = device_backend(name)
    if kind == "mpi":
        return True
    is_open = kind in ("gloo", "undefined") and os.environ.get("TAPER_TRANSPORT") != "host"
    return is_open and was_started_by_mpi() and importlib.util.find_spec("mpi4py") is not None


def world_of_mpi(name: str, init_method: str | None) -> tuple[Store, int, int] | None:
    """Return store, rank and number of processes, if MPI shall say them."""
    is_said = init_method is not None or "MASTER_ADDR" in os.environ
    if is_said or not is_served_by_mpi(name):
        return None
    # late: an extra
    from taper.distributed.backends.mpi_world import met_by_mpi

    return met_by_mpi()


def make_backend(
    name: str, store: Store, ranks: Sequence[int], rank: int, seconds: float
) -> Backend:
    """Make the backend of a group, together with its other members."""
    for each in name.split(","):
        _check(each.rpartition(":")[2])
    made: Any
    if device_backend(name) == "nccl":
        # late: an extra
        from taper.distributed.backends.nccl import Nccl

        made = Nccl(store, rank, len(ranks), seconds)
    elif is_served_by_mpi(name):
        # late: an extra
        from taper.distributed.backends.mpi import Mpi

        made = Mpi(store, ranks, rank, seconds)
    else:
        # late: a process that only asks whether it is distributed needs no transport
        from taper.distributed.backends.host import Host

        made = Host(store, rank, len(ranks), seconds)
    return made


def _check(kind: str) -> None:
    """Refuse what PyTorch's build for the CPU refuses."""
    if kind == "nccl":
        # late: an extra
        from taper.distributed.backends.nccl import libraries

        if libraries() is None:
            raise RuntimeError("Distributed package doesn't have NCCL built in")
    if kind == "mpi" and importlib.util.find_spec("mpi4py") is None:
        raise RuntimeError(
            "Distributed package doesn't have MPI built in. MPI is only included if you build "
            "PyTorch from source on a host that has MPI installed."
        )
    if kind in ("ucc", "xccl", "fake"):
        raise AssertionError(f"Unknown c10d backend type {kind.upper()}")
    if kind not in ("gloo", "mpi", "nccl", "undefined"):
        raise AssertionError(f"Unknown backend type {kind}")
