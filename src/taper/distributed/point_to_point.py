"""Tensors from one process to another."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from taper.distributed.groups import (
    ProcessGroup,
    default_group,
    get_global_rank,
    get_group_rank,
    member_group,
)
from taper.distributed.reduce_ops import check_dtype
from taper.distributed.tensors import Flat, check_tensor
from taper.distributed.works import Work
from taper.tensor import Tensor

Group = ProcessGroup | None


class _Message(Work):
    """A message that was sent, or shall be received."""

    def __init__(self, group: ProcessGroup, receipt: Any, flat: Flat, tensor: Tensor, name: str):
        super().__init__(None, [tensor], name)
        self._group, self._receipt, self._flat = group, receipt, flat

    def _take(self) -> None:
        """Finish, once the message is there."""
        if not self._done.is_set():
            self._flat.write_back()
            if self._operation == "recv":
                self._source = get_global_rank(self._group, self._receipt.source)
            self._complete(None)

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Wait for the message; raise if it does not come."""
        if not self._done.is_set():
            limit = self._group._transport.seconds
            try:
                self._receipt.wait(timeout.total_seconds() if timeout else limit)
            except Exception as error:
                self._complete(error)
            else:
                self._take()
        return super().wait()

    def is_completed(self) -> bool:
        """Return whether the message is there."""
        try:
            if self._receipt.is_done():
                self._take()
        except Exception as error:
            if not self._done.is_set():
                self._complete(error)
        return self._done.is_set()

    def is_success(self) -> bool:
        """Return whether the message is there and was taken."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """Return the error with which the operation failed."""
        self.is_completed()
        return self._error

    def get_future(self) -> Any:
        """Return the tensor as a future, which is done when somebody waits for the message."""
        self.wait()
        return super().get_future()


def _peer(
    tensor: Any, group: Group, rank: int | None, group_rank: int | None, end: str
) -> tuple[ProcessGroup, int | None]:
    """Return the group and the other process in it."""
    check_tensor(tensor, "tensor")
    members = member_group(group)
    if members is None:
        raise ValueError("Invalid process group specified")
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    peer = group_rank if rank is None else get_group_rank(members, rank)
    if peer == members.rank():
        raise ValueError(
            f"Invalid {end} rank: {end} rank should not be the same as the rank of the current "
            "process."
        )
    if peer is not None and not 0 <= peer < members.size():
        raise ValueError(f"Invalid {end} rank {peer}: the group has {members.size()} processes")
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")
    check_dtype(tensor)
    return members, peer


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work:
    """Begin to send a tensor to a process.

    Args:
        tensor: must not be written until the `Work` is done.
        dst: the rank that gets it.
        group: the group; the default one without it.
        tag: goes to a receive with the same tag.
        group_dst: the rank in the group that gets it, instead of `dst`.
    """
    if dst is None and group_dst is None:
        default_group()
        raise ValueError("Must specify global_rank or group_rank")
    members, peer = _peer(tensor, group, dst, group_dst, "destination")
    flat = Flat()
    array = flat.of(tensor, False)
    receipt = members._transport.send(array, -1 if peer is None else peer, tag)
    return _Message(members, receipt, Flat(), tensor, "send")


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work:
    """Begin to receive a tensor from a process, or from anybody.

    Args:
        tensor: is written until the `Work` is done.
        src: the rank that sends; anybody without it.
        group: the group; the default one without it.
        tag: takes only what was sent with the same tag.
        group_src: the rank in the group that sends, instead of `src`.
    """
    members, peer = _peer(tensor, group, src, group_src, "source")
    flat = Flat()
    array = flat.of(tensor)
    return _Message(members, members._transport.receive(array, peer, tag), flat, tensor, "recv")


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a process; the arguments are those of `isend`."""
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor; return the rank that sent it.  The arguments are those of `irecv`."""
    work = irecv(tensor, src, group, tag, group_src)
    work.wait()
    return work.source_rank()


class P2POp:
    """A send or a receive for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent or written.
        peer: the rank of the other process.
        group: the group; the default one without it.
        tag: as for `isend`.
        group_peer: the rank in the group of the other process, instead of `peer`.
    """

    def __init__(
        self,
        op: Callable[..., Work],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = default_group() if group is None else group
        if (peer is None) == (group_peer is None):
            raise ValueError(
                "Must specify global_rank or group_rank"
                if peer is None
                else "Can't specify both group_rank and global_rank"
            )
        in_group = group_peer if peer is None else get_group_rank(self.group, peer)
        self.group_peer = -1 if in_group is None else in_group
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        own = self.group.rank()
        ends = (own, self.group_peer) if self.op is isend else (self.group_peer, own)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={ends[0]}, "
            f"group_dst={ends[1]},  {self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin several sends and receives; return a `Work` for each.

    Args:
        p2p_op_list: the sends and receives, all of one group.
    """
    if not isinstance(p2p_op_list, list) or not all(
        isinstance(each, P2POp) for each in p2p_op_list
    ):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    group = p2p_op_list[0].group
    if any(each.group is not group for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    # Receives first: what then comes needs no place to wait in.
    order = sorted(p2p_op_list, key=lambda each: each.op is isend)
    works = {id(each): each.op(each.tensor, each.peer, group, each.tag) for each in order}
    return [works[id(each)] for each in p2p_op_list]
