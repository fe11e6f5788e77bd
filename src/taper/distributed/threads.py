"""How many threads each of several processes of one machine takes: its share of the cores."""

from __future__ import annotations

import logging
import os

from taper.arrays.threads import allowed_cores
from taper.settings import get_num_threads, set_num_threads

_log = logging.getLogger(__name__)
_SAID = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def share_cores(rank: int, world_size: int) -> None:
    """Take c / n threads where n processes run on c cores, unless somebody said how many.

    Who set the number of threads, in the environment or by `set_num_threads`, has said it.
    """
    beside = int(os.environ.get("LOCAL_WORLD_SIZE") or world_size)
    cores = allowed_cores()
    was_said = any(os.environ.get(name) for name in _SAID) or get_num_threads() != cores
    share = max(1, cores // beside)
    if was_said or beside < 2 or share == cores:
        return
    set_num_threads(share)
    if rank == 0:
        _log.warning(
            "%d processes on %d cores: each takes %d thread%s (OMP_NUM_THREADS or "
            "set_num_threads say otherwise)",
            beside,
            cores,
            share,
            "s" * (share != 1),
        )


def has_spare_core(world_size: int) -> bool:
    """Return whether the processes of this machine leave a core to their groups' threads."""
    beside = int(os.environ.get("LOCAL_WORLD_SIZE") or world_size)
    return allowed_cores() > beside * get_num_threads()
