"""Python objects between processes, as pickles in tensors of bytes.

**Unpickling runs code.**  Whoever can send a pickle to this process can make it do anything, so
these functions, and no others, unpickle: use them only with processes that you trust as you trust
your own program.  Connections are accepted only from processes that know the group's token, which
is in the store.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from taper.distributed import collectives, exchanges, point_to_point
from taper.distributed.groups import ProcessGroup, get_world_size, member_group
from taper.distributed.tensors import root_in_group
from taper.tensor import Tensor, wrap

Group = ProcessGroup | None


def _to_tensor(value: Any) -> Tensor:
    return wrap(np.frombuffer(pickle.dumps(value), np.uint8).copy())


def _from_array(array: np.ndarray) -> Any:
    return pickle.loads(array.tobytes())


def _room(length: int) -> Tensor:
    return wrap(np.zeros(length, np.uint8))


def _numbers(values: Any) -> Tensor:
    return wrap(np.array(values, np.int64).reshape(-1))


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Collect the objects of all processes, for all.

    Objects are pickled, and unpickling runs code: use this only among processes that you trust.

    Args:
        object_list: a list with a place for each process, which is filled.
        obj: what this process has.
        group: who takes part; all without it.

    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> objects = [None]
    >>> dist.all_gather_object(objects, {"loss": 0.5})
    >>> objects
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    members = member_group(group, "all_gather_object")
    if members is None:
        return
    for rank, value in enumerate(_all_gathered(obj, members)):
        object_list[rank] = _from_array(value)


def _all_gathered(obj: Any, group: ProcessGroup) -> list[np.ndarray]:
    """Return the pickles of all members."""
    pickled = _to_tensor(obj)
    lengths = _room(8 * group.size())._array.view(np.int64)
    exchanges.all_gather_into_tensor(wrap(lengths), _numbers(pickled.numel()), group)
    most = int(lengths.max())
    padded = _room(most)
    padded._array[: pickled.numel()] = pickled._array
    together = _room(most * group.size())
    exchanges.all_gather_into_tensor(together, padded, group)
    rows = together._array.reshape(group.size(), most)
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Collect the objects of all processes, for one of them.

    Objects are pickled, and unpickling runs code: use this only among processes that you trust.

    Args:
        obj: what this process has.
        object_gather_list: on the process that gets them, a list with a place for each.
        dst: the rank that gets them; 0 without it.
        group: who takes part; all without it.
        group_dst: the rank in the group that gets them, instead of `dst`.
    """
    members = member_group(group, "gather_object")
    if members is None:
        return
    if dst is None and group_dst is None:
        dst = 0
    root = root_in_group(members, "gather", dst, group_dst)
    is_root = members.rank() == root
    if is_root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not is_root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    pickles = _all_gathered(obj, members)
    if object_gather_list:
        for rank, value in enumerate(pickles):
            object_gather_list[rank] = _from_array(value)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give the objects of one process to all.

    Objects are pickled, and unpickling runs code: use this only among processes that you trust.

    Args:
        object_list: what is given, or replaced; of the same length everywhere.
        src: the rank that gives; 0 without it.
        group: who takes part; all without it.
        device: ignored.
        group_src: the rank in the group that gives, instead of `src`.
    """
    members = member_group(group, "broadcast_object_list")
    if members is None:
        return
    if src is None and group_src is None:
        src = 0
    root = root_in_group(members, "broadcast", src, group_src)
    is_root = members.rank() == root
    pickles = [_to_tensor(each) for each in object_list] if is_root else []
    lengths = _numbers([each.numel() for each in pickles] if is_root else [0] * len(object_list))
    collectives.broadcast(lengths, group=members, group_src=root)
    together = _room(int(lengths._array.sum()))
    if is_root and pickles:
        together = wrap(np.concatenate([each._array for each in pickles]))
    collectives.broadcast(together, group=members, group_src=root)
    if not is_root:
        object_list[:] = _split(together, lengths)


def _split(together: Tensor, lengths: Tensor) -> list[Any]:
    ends = np.cumsum(lengths._array)
    return [_from_array(each) for each in np.split(together._array, ends[:-1])] if len(ends) else []


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Give each process one object of a list.

    Objects are pickled, and unpickling runs code: use this only among processes that you trust.

    Args:
        scatter_object_output_list: its first place gets the object.
        scatter_object_input_list: on the process that gives, an object for each process.
        src: the rank that gives; 0 without it.
        group: who takes part; all without it.
        group_src: the rank in the group that gives, instead of `src`.
    """
    members = member_group(group, "scatter_object_list")
    if members is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if src is None and group_src is None:
        src = 0
    root = root_in_group(members, "scatter", src, group_src)
    is_root = members.rank() == root
    if is_root and not scatter_object_input_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    pickles = [_to_tensor(each) for each in scatter_object_input_list or ()] if is_root else []
    if is_root and len(pickles) != members.size():
        raise RuntimeError(
            f"ProcessGroupGloo::scatter: Incorrect input list size {len(pickles)}. Input list size "
            f"should be {members.size()}, same as size of the process group."
        )
    lengths = _numbers([each.numel() for each in pickles] if is_root else [0] * members.size())
    collectives.broadcast(lengths, group=members, group_src=root)
    most = int(lengths._array.max())
    rows = [_room(most) for _ in pickles]
    for row, each in zip(rows, pickles, strict=True):
        row._array[: each.numel()] = each._array
    own = _room(most)
    exchanges.scatter(own, rows or None, group=members, group_src=root)
    length = int(lengths._array[members.rank()])
    scatter_object_output_list[0] = _from_array(own._array[:length])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to a process, which calls `recv_object_list` with a list of the same length.

    Objects are pickled, and unpickling runs code: use this only among processes that you trust.

    Args:
        object_list: the objects.
        dst: the rank that gets them.
        group: the group; the default one without it.
        device: ignored.
        group_dst: the rank in the group that gets them, instead of `dst`.
        use_batch: ignored.
    """
    get_world_size(group)
    pickles = [_to_tensor(each) for each in object_list]
    point_to_point.send(_numbers([each.numel() for each in pickles]), dst, group, 0, group_dst)
    together = wrap(np.concatenate([each._array for each in pickles]))
    point_to_point.send(together, dst, group, 0, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects from a process; return its rank.

    Objects are pickled, and unpickling runs code: use this only among processes that you trust.

    Args:
        object_list: is filled; as long as the list that is sent.
        src: the rank that sends; anybody without it.
        group: the group; the default one without it.
        device: ignored.
        group_src: the rank in the group that sends, instead of `src`.
        use_batch: ignored.
    """
    lengths = _numbers([0] * len(object_list))
    sender = point_to_point.recv(lengths, src, group, 0, group_src)
    together = _room(int(lengths._array.sum()))
    point_to_point.recv(together, sender, group, 0)
    object_list[:] = _split(together, lengths)
    return sender
