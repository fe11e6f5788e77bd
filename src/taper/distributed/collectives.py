"""What processes of a group do together.

As in PyTorch, autograd records nothing, and version counters stay.  With `async_op=True` a function
returns a `Work` at once, and the tensors must not be touched until it is done.  A process that does
not belong to the group does nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.distributed.backends.base import ranks_in_words
from taper.distributed.groups import ProcessGroup, member_group
from taper.distributed.reduce_ops import RedOpType, check_dtype, checked
from taper.distributed.stores import DistBackendError
from taper.distributed.tensors import (
    Flat,
    check_list,
    check_same_dtype,
    check_tensor,
    root_in_group,
)
from taper.distributed.works import Work
from taper.tensor import Tensor

Group = ProcessGroup | None


def run_flat(
    group: ProcessGroup,
    operation: str,
    flat: Flat,
    job: Callable[[], Any],
    result: list[Any],
    async_op: bool,
) -> Work | None:
    """Do an operation on flat arrays, then write copies back into their tensors."""
    if flat._copies:
        carry = job

        def job() -> None:
            carry()
            flat.write_back()

    return group._do(job, result, async_op, operation)


# --- one tensor, from all or for all ------------------------------------------------------------


def all_reduce(
    tensor: Tensor, op: Any = RedOpType.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all processes, for all.

    Args:
        tensor: what this process has; replaced by the result.
        op: how to combine, of `ReduceOp`.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.

    >>> import taper
    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> value = taper.ones(2)
    >>> dist.all_reduce(value, dist.ReduceOp.SUM)
    >>> value
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    members = member_group(group, "all_reduce")
    if members is None:
        return None
    kind = checked(op, tensor, "all_reduce")
    flat = Flat()
    array = flat.of(tensor)
    return run_flat(
        members,
        "all_reduce",
        flat,
        lambda: members._transport.all_reduce(array, kind),
        [tensor],
        async_op,
    )


def all_reduce_coalesced(
    tensors: list[Tensor], op: Any = RedOpType.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Do `all_reduce` for several tensors of one dtype, as one."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_list(tensors, "tensor")
    check_same_dtype(tensors)
    members = member_group(group, "all_reduce_coalesced")
    if members is None:
        return None
    kind = checked(op, tensors[0], "all_reduce_coalesced")
    flat = Flat()
    arrays = flat.all_of(tensors)

    def job() -> None:
        together = np.concatenate(arrays)
        members._transport.all_reduce(together, kind)
        place = 0
        for each in arrays:
            each[:] = together[place : place + each.size]
            place += each.size

    return run_flat(members, "all_reduce_coalesced", flat, job, tensors, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = RedOpType.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combine the tensors of all processes, for one of them.

    Args:
        tensor: what this process has; replaced, also where the result is not asked for.
        dst: the rank that gets the result.
        op: how to combine, of `ReduceOp`.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
        group_dst: the rank in the group that gets the result, instead of `dst`.
    """
    check_tensor(tensor, "tensor")
    members = member_group(group, "reduce")
    if members is None:
        return None
    root = root_in_group(members, "reduce", dst, group_dst)
    kind = checked(op, tensor, "reduce")
    flat = Flat()
    array = flat.of(tensor)
    return run_flat(
        members,
        "reduce",
        flat,
        lambda: members._transport.reduce(array, root, kind),
        [tensor],
        async_op,
    )


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give the tensor of one process to all.

    Args:
        tensor: what is given, or replaced.
        src: the rank that gives.
        group: who takes part; all without it.
        async_op: return at once, with a `Work`.
        group_src: the rank in the group that gives, instead of `src`.
    """
    check_tensor(tensor, "tensor")
    members = member_group(group, "broadcast")
    if members is None:
        return None
    root = root_in_group(members, "broadcast", src, group_src)
    check_dtype(tensor)
    flat = Flat()
    array = flat.of(tensor)
    return run_flat(
        members,
        "broadcast",
        flat,
        lambda: members._transport.broadcast(array, root),
        [tensor],
        async_op,
    )


def barrier(
    group: Group = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: datetime.timedelta | None = None,
) -> Work | None:
    """Wait for all processes."""
    members = member_group(group, "barrier")
    if members is None:
        return None
    return members._do(members._transport.barrier, [], async_op, "barrier")


def monitored_barrier(
    group: Group = None,
    timeout: datetime.timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """Wait for all processes; name those that do not come.

    Args:
        group: who takes part; all without it.
        timeout: how long to wait; as long as an operation of the group may take without it.
        wait_all_ranks: name all that do not come, not only the first.
    """
    members = member_group(group, "monitored_barrier")
    if members is None:
        return
    transport = members._transport
    seconds = transport.seconds if timeout is None else timeout.total_seconds()
    late: list[int] = []
    members._queue.run(lambda: late.extend(transport.late(seconds, not wait_all_ranks)))
    if not late:
        return
    waited = f"monitoredBarrier in {round(seconds * 1000)} ms"
    own = members.rank()
    if own == 0:
        named = late if wait_all_ranks else late[:1]
        raise DistBackendError(
            f"[Rank 0]: {ranks_in_words(named).capitalize()} failed to pass {waited}"
        )
    raise DistBackendError(
        f"Rank {own} successfully reached monitoredBarrier, but received errors while waiting for "
        f"send/recv from rank 0: {ranks_in_words(late)} failed to pass {waited}"
    )
