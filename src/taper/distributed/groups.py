"""Process groups of one process: how they are made, what they answer, how they end.

Owns: the one default group.  Functions that need a second process say that there is none.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlparse

from taper.distributed.stores import HashStore, Store

default_pg_timeout = datetime.timedelta(minutes=30)

_NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """A group of processes, which has one member: this process."""

    def __init__(self, backend: str, store: Store, name: str = "") -> None:
        self.backend = Backend(backend)
        self.store = store
        self.group_name = name
        self.group_desc = name or "undefined"

    def rank(self) -> int:
        """Return the number of this process in the group: 0."""
        return 0

    def size(self) -> int:
        """Return the number of processes: 1."""
        return 1

    def name(self) -> str:
        """Return the name of the backend."""
        return "gloo"


class _Default:
    """The default group, under both names that programs use for it."""

    world: ProcessGroup | None = None
    made: int = 0


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return _Default.world


class group(metaclass=_WorldMeta):
    """`group.WORLD` is the default group."""


class GroupMember(metaclass=_WorldMeta):
    """`GroupMember.WORLD` is the default group."""

    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """Return True: there are process groups, of one process.

    >>> import taper
    >>> taper.distributed.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Return whether `init_process_group` was called."""
    return _Default.world is not None


def is_gloo_available() -> bool:
    """Return True: groups of one process answer as those of Gloo do."""
    return True


def is_nccl_available() -> bool:
    """Return False: NCCL is not used."""
    return False


def is_mpi_available() -> bool:
    """Return False: MPI is not used."""
    return False


def is_ucc_available() -> bool:
    """Return False: UCC is not used."""
    return False


def is_xccl_available() -> bool:
    """Return False: XCCL is not used."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return whether groups can be made with a backend."""
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    """Return whether the program was started by `torchrun`."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """Return the backend that is used for a device."""
    return "gloo"


# --- making and ending -----------------------------------------------------------------------


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the default group, of this one process.

    Size and rank come from the arguments, from the address or from the environment, as in PyTorch;
    a size above 1 is refused.

    >>> import taper
    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if _Default.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = Backend(Backend.UNDEFINED if backend is None else backend)
    if timeout is not None and not isinstance(timeout, datetime.timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    if store is not None:
        if world_size < 1:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    else:
        rank, world_size = _rendezvous(init_method or "env://", rank, world_size)
    _check_backend(name)
    if world_size != 1 or rank != 0:
        raise NotImplementedError(
            f"torch.distributed.init_process_group: rank {rank} of {world_size} processes, but "
            "taper makes groups of one process only: start one, and train on the whole batch."
        )
    _Default.world = ProcessGroup(name, store or HashStore(), group_name or "0")
    _Default.made += 1


def _rendezvous(method: str, rank: int, world_size: int) -> tuple[int, int]:
    """Return rank and size, from the arguments, the query of an address or the environment."""
    url = urlparse(method)
    if url.scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {url.scheme}://")
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    start = f"Error initializing torch.distributed using {url.scheme}:// rendezvous: "

    def found(given: int, name: str, words: str) -> int:
        if given != -1:
            return given
        if name in query:
            return int(query[name])
        if url.scheme != "env":
            raise ValueError(f"{start}{words} parameter missing")
        return int(_variable(name.upper(), start))

    rank = found(rank, "rank", "rank")
    world_size = found(world_size, "world_size", "world size")
    if url.scheme == "env":
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            _variable(name, start)
    return rank, world_size


def _variable(name: str, start: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"{start}environment variable {name} expected, but not set")
    return value


def _check_backend(name: str) -> None:
    for each in name.split(","):
        kind = each.rpartition(":")[2]
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


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; without an argument the default one, and thereby all."""
    if _Default.world is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is _Default.world:
        _Default.world = None


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Return a group of some of the processes."""
    world = default_group()
    for each in ranks or ():
        if each != 0:
            raise ValueError(f"Rank {each} is out of range. Valid ranks are 0 to 0 (world_size=1)")
    if ranks is not None and not len(ranks):
        return GroupMember.NON_GROUP_MEMBER
    _Default.made += 1
    return ProcessGroup(backend or world.backend, world.store, str(_Default.made))


# --- questions -------------------------------------------------------------------------------


def default_group() -> ProcessGroup:
    """Return the default group; raise before `init_process_group`."""
    if _Default.world is None:
        raise ValueError(_NOT_INITIALIZED)
    return _Default.world


def is_member(group: Any) -> bool:
    """Return whether this process belongs to a group; raise without a default group."""
    default_group()
    return group is not GroupMember.NON_GROUP_MEMBER and group != GroupMember.NON_GROUP_MEMBER


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the number of this process in the group: 0, or -1 if it is no member."""
    return 0 if is_member(group) else -1


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in the group: 1, or -1 if this one is no member."""
    return 1 if is_member(group) else -1


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """Return the backend with which a group was made."""
    return (group or default_group()).backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return the backend for each device."""
    name = get_backend(group)
    if ":" in name:
        return str(name)
    return "cpu:gloo" if name == "undefined" else "cpu:gloo,cuda:gloo"


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the numbers in the default group of a group's processes."""
    default_group()
    return [0]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the number in the default group of a process of a group."""
    default_group()
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the number in a group of a process of the default one."""
    default_group()
    if global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process on its machine, from the environment."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """Return how many groups were made."""
    return _Default.made
