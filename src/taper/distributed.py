"""`taper.distributed`: a program is one process; there is no process group.

Programs ask first whether there are others.  What would need some says that there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """False: there are no process groups.

    >>> import taper
    >>> taper.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: there is no process group."""
    return False


def is_nccl_available() -> bool:
    """False: NCCL is not used."""
    return False


def is_gloo_available() -> bool:
    """False: Gloo is not used."""
    return False


def is_mpi_available() -> bool:
    """False: MPI is not used."""
    return False


def is_ucc_available() -> bool:
    """False: UCC is not used."""
    return False


def is_torchelastic_launched() -> bool:
    """False: the program was started by itself."""
    return False


# --- what needs others -----------------------------------------------------------------------


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> NoReturn:
    """Refused: a program is one process."""
    raise NotImplementedError(
        "torch.distributed.init_process_group: a program is one process. Ask "
        "torch.distributed.is_available() first, and train on the whole batch."
    )


def destroy_process_group(group: Any = None) -> NoReturn:
    """Refused: there is no process group."""
    raise AssertionError("Process group cannot be None")


def _needs_group(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no process group."
    return refuse


all_gather = _needs_group("all_gather")
all_gather_object = _needs_group("all_gather_object")
all_reduce = _needs_group("all_reduce")
all_to_all = _needs_group("all_to_all")
barrier = _needs_group("barrier")
broadcast = _needs_group("broadcast")
broadcast_object_list = _needs_group("broadcast_object_list")
gather = _needs_group("gather")
get_backend = _needs_group("get_backend")
get_rank = _needs_group("get_rank")
get_world_size = _needs_group("get_world_size")
new_group = _needs_group("new_group")
recv = _needs_group("recv")
reduce = _needs_group("reduce")
reduce_scatter = _needs_group("reduce_scatter")
scatter = _needs_group("scatter")
send = _needs_group("send")


class ReduceOp:
    """How values of several processes are put together; named by programs before they ask."""

    SUM = "SUM"
    AVG = "AVG"
    PRODUCT = "PRODUCT"
    MIN = "MIN"
    MAX = "MAX"
    BAND = "BAND"
    BOR = "BOR"
    BXOR = "BXOR"
