"""Process groups: how they are made, what they answer, how they end.

Owns: the default group and the list of all groups of this process.
"""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.state import local
from taper.distributed.backends.choice import make_backend, world_of_mpi
from taper.distributed.rendezvous import rendezvous
from taper.distributed.stores import PrefixStore, Store
from taper.distributed.threads import share_cores
from taper.distributed.works import Queue, Work

default_pg_timeout = datetime.timedelta(minutes=30)

_NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


class Backend(str):
    """The name of a backend, in lower case.

    >>> from taper import distributed as dist
    >>> dist.Backend("GLOO")
    'gloo'
    """

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
    """A group of processes, one of which is this one."""

    def __init__(
        self, name: str, ranks: Sequence[int], rank: int, backend: str, store: Store, seconds: float
    ) -> None:
        self.group_name = name
        self.group_desc = "default_pg" if name == "0" else "undefined"
        self.backend = Backend(backend)
        self.store = store
        self.ranks = list(ranks)
        self._rank = rank
        self._transport = make_backend(backend, store, ranks, rank, seconds)
        self._queue = Queue(name)

    def rank(self) -> int:
        """Return the number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """Return the number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the backend."""
        return str(self.backend) if self.backend != Backend.UNDEFINED else "gloo"

    def get_group_store(self) -> Store:
        """Return the store of the group."""
        return self.store

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Set how long an operation may take."""
        self._transport.seconds = timeout.total_seconds()

    def _do(
        self, job: Callable[[], Any], result: list[Any], async_op: bool, operation: str
    ) -> Work | None:
        """Do an operation now, or let the group's thread do it."""
        if async_op:
            return self._queue.start(Work(job, result, operation))
        self._queue.run(job)
        return None

    def shutdown(self) -> None:
        """Leave the group."""
        self._queue.close()
        self._transport.close()

    abort = shutdown


class _World:
    """The groups of this process."""

    default: ProcessGroup | None = None
    groups: dict[str, ProcessGroup] = {}  # noqa: RUF012 - there is one world
    strangers: list[int] = []  # noqa: RUF012 - of the last group without this process
    made: int = 0


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return _World.default

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        _World.default = group


class group(metaclass=_WorldMeta):
    """`group.WORLD` is the default group."""


class GroupMember(metaclass=_WorldMeta):
    """`GroupMember.WORLD` is the default group."""

    NON_GROUP_MEMBER: Any = -100


def is_initialized() -> bool:
    """Return whether `init_process_group` was called.

    >>> import taper
    >>> taper.distributed.is_initialized()
    False
    """
    return _World.default is not None


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
    """Make the default group, together with all other processes.

    Args:
        backend: "gloo" (under MPI served by MPI, else by memory and sockets of one host), "mpi",
            or "nccl"; the default is gloo.
        init_method: where processes meet: "env://" (the default), "tcp://host:port" or
            "file:///path".
        timeout: how long an operation may take until it fails; the default is 30 minutes.
        world_size: the number of processes; an address or the environment may say it instead.
        rank: the number of this process, likewise.
        store: meet in this store instead of at an address.
        group_name: ignored, as in PyTorch.
        pg_options: ignored.
        device_id: ignored.

    >>> import taper
    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if _World.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = Backend(Backend.UNDEFINED if backend is None else backend)
    if timeout is not None and not isinstance(timeout, datetime.timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    limit = default_pg_timeout if timeout is None else timeout
    if store is not None:
        if world_size < 1:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    else:
        mpi = world_of_mpi(name, init_method)
        if mpi is not None:
            store, rank, world_size = mpi
        else:
            store, rank, world_size = next(
                rendezvous(init_method or "env://", rank, world_size, limit)
            )
            store.set_timeout(limit)
    made = ProcessGroup(
        "0",
        range(world_size),
        rank,
        name,
        PrefixStore("default_pg/0", store),
        limit.total_seconds(),
    )
    share_cores(rank, world_size)
    _World.default = _World.groups["0"] = made
    _World.made = 1


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; without an argument the default one, and thereby all."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    if _World.default is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is _World.default:
        ending = list(reversed(_World.groups.values()))
        _World.groups.clear()
        _World.default, _World.made = None, 0
    else:
        if group.group_name not in _World.groups:
            raise ValueError("Invalid process group specified or has been destroyed")
        ending = [_World.groups.pop(group.group_name)]
    for each in ending:
        each.shutdown()


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
    """Make a group of some of the processes; all processes call this, in the same order.

    Args:
        ranks: the members, by their numbers in the default group; all without it.
        timeout: how long an operation of the group may take; as in the default group without it.
        backend: the backend; that of the default group without it.
        pg_options: ignored.
        use_local_synchronization: only the members call this.
        group_desc: a description.
        device_id: ignored.
        sort_ranks: number the members in the order of their numbers in the default group.

    Returns: the group, or `GroupMember.NON_GROUP_MEMBER` if this process is no member.

    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size(dist.new_group([0]))
    1
    >>> dist.destroy_process_group()
    """
    world = default_group()
    members = list(range(world.size())) if ranks is None else [int(each) for each in ranks]
    _check_members(members, world.size())
    if sort_ranks:
        members.sort()
    name = str(_World.made)
    if use_local_synchronization:
        again = sum(each.startswith(f"{members}") for each in _World.groups)
        name = f"{members} {again}"
    _World.made += 1
    if world.rank() not in members:
        _World.strangers = members
        return GroupMember.NON_GROUP_MEMBER
    seconds = world._transport.seconds if timeout is None else timeout.total_seconds()
    made = ProcessGroup(
        name,
        members,
        members.index(world.rank()),
        Backend(backend) if backend else world.backend,
        PrefixStore(f"group/{name}", world.store),
        seconds,
    )
    made.group_desc = group_desc or "undefined"
    _World.groups[name] = made
    return made


def _check_members(members: list[int], size: int) -> None:
    if len(members) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by "
            "init_process_group"
        )
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    for each in members:
        if not 0 <= each < size:
            raise ValueError(
                f"Rank {each} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide the processes into groups of one size; return this one's group, and all."""
    size = get_world_size(group)
    if group_size is None:
        raise ValueError(
            "Default group size only takes effect when CUDA is available. If your platform is not "
            "using CUDA, please specify the group size."
        )
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    members = get_process_group_ranks(group)
    parts = [members[start : start + group_size] for start in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide the processes into given groups; return this one's group, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}"
                )
            seen[rank] = ranks
    groups = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    own = [each for each in groups if each != GroupMember.NON_GROUP_MEMBER]
    return (own[0] if own else None), groups


# --- questions -------------------------------------------------------------------------------


def default_group() -> ProcessGroup:
    """Return the default group; raise before `init_process_group`."""
    if _World.default is None:
        raise ValueError(_NOT_INITIALIZED)
    return _World.default


def leave_captures(what: str) -> None:
    """End the recording of a captured program: a replay would not do what processes do together.

    Args:
        what: what they do, for `explain()`.
    """
    recorder = local.state.recorder
    if recorder is not None and hasattr(recorder, "give_up"):
        recorder.give_up(f"{what}: processes work together")


def member_group(group: Any, operation: str | None = None) -> ProcessGroup | None:
    """Return the group, the default one for None; None, with a warning, for no member of it."""
    leave_captures(operation or "a message")
    if group is None or group is _World.default:
        return default_group()
    default_group()
    if isinstance(group, ProcessGroup) and group.group_name in _World.groups:
        return group
    if operation is not None:
        warnings.warn(
            f"Running {operation} on global rank {get_rank()} which does not belong to the given "
            "group.",
            stacklevel=4,
        )
    return None


def _registered(group: Any) -> ProcessGroup:
    if group is None:
        return default_group()
    default_group()
    if not isinstance(group, ProcessGroup) or _World.groups.get(group.group_name) is not group:
        raise ValueError(
            f"Group {group} is not registered, please create group with "
            "torch.distributed.new_group API"
        )
    return group


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the number of this process in the group, or -1 if it is no member."""
    if group == GroupMember.NON_GROUP_MEMBER:
        default_group()
        return -1
    return _registered(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in the group, or -1 if this one is no member."""
    if group == GroupMember.NON_GROUP_MEMBER:
        default_group()
        return -1
    return _registered(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """Return the backend with which a group was made."""
    if group == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    return (group or default_group()).backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return the backend for each device."""
    name = get_backend(group)
    if ":" in name:
        return str(name)
    return "cpu:gloo" if name == "undefined" else f"cpu:{name},cuda:{name}"


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the numbers in the default group of a group's processes."""
    world = default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        return list(_World.strangers)
    return list((group or world).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the number in the default group of a process of a group."""
    world = default_group()
    if group is world:
        return group_rank
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the number in a group of a process of the default one."""
    world = default_group()
    if group is world:
        return global_rank
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


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
    """Return how many groups there are."""
    return _World.made
