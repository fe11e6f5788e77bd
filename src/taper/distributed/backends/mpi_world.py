"""A store for processes that MPI alone has started: `mpiexec -n 2 python train.py`."""

from __future__ import annotations

import socket

import numpy as np

from taper.distributed.backends.links import this_host
from taper.distributed.backends.mpi import mpi
from taper.distributed.stores import Store
from taper.distributed.tcp_store import TCPStore

_LENGTH = 512


def met_by_mpi() -> tuple[Store, int, int]:
    """Return store, rank and number of processes, as MPI says them."""
    world = mpi().COMM_WORLD
    rank, size = int(world.Get_rank()), int(world.Get_size())
    hosts = np.zeros((size, _LENGTH), np.uint8)
    world.Allgather(_padded(this_host()), hosts)
    is_one_host = bool((hosts == hosts[0]).all())
    where = _padded("")
    store: Store | None = None
    if rank == 0:
        host = "127.0.0.1" if is_one_host else socket.gethostbyname(socket.gethostname())
        store = TCPStore(host, 0, size, True, wait_for_workers=False)
        where = _padded(f"{host} {store.port}")
    world.Bcast(where, 0)
    if store is None:
        host, port = bytes(where).rstrip(b"\0").decode().split()
        store = TCPStore(host, int(port), size, False)
    return store, rank, size


def _padded(text: str) -> np.ndarray:
    return np.frombuffer(text.encode()[:_LENGTH].ljust(_LENGTH, b"\0"), np.uint8).copy()
