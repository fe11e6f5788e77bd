"""What processes of a group do together, in a group of one: values are copied, or stay.

As in PyTorch, autograd records nothing, and version counters stay.
"""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.distributed.groups import ProcessGroup, default_group, is_member
from taper.futures import Future
from taper.tensor import Tensor

Group = ProcessGroup | None


class RedOpType(enum.Enum):
    """How values of several processes are combined."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __int__(self) -> int:
        return int(self.value)


class ReduceOp:
    """The names of `RedOpType`, as programs write them."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM


class Work:
    """What `async_op=True` returns: work that is already done."""

    def __init__(self, result: list[Tensor]) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        """Return True: it is done."""
        return True

    def is_completed(self) -> bool:
        """Return True: it is done."""
        return True

    def is_success(self) -> bool:
        """Return True: errors are raised by the call itself."""
        return True

    def exception(self) -> None:
        """Return None: errors are raised by the call itself."""

    def synchronize(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def result(self) -> list[Tensor]:
        """Return the tensors that were written."""
        return self._result

    def get_future(self) -> Future[list[Tensor]]:
        """Return the tensors that were written, as a future."""
        future: Future[list[Tensor]] = Future()
        future.set_result(self._result)
        return future


def _done(tensors: list[Tensor], async_op: bool) -> Work | None:
    return Work(tensors) if async_op else None


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def _check_list(value: Any, name: str) -> None:
    if not isinstance(value, list) or not all(isinstance(each, Tensor) for each in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} instead."
        )


def _check_root(function: str, root: int | None, group_root: int | None) -> None:
    if root is not None and group_root is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    found = group_root if root is None else root
    if found is None:
        raise ValueError("Must specify global_rank or group_rank")
    if found != 0:
        raise RuntimeError(f"ProcessGroupGloo::{function}: invalid root rank: {found}")


def _copy(target: Tensor, source: Tensor, function: str) -> None:
    if target.dtype != source.dtype:
        raise ValueError(
            "Invalid usage of tensors with different dtypes"
            f"Found {target.dtype} and  {source.dtype}"
        )
    if target.shape != source.shape:
        shapes = [str(tuple(each.shape)).replace(",)", ")") for each in (source, target)]
        expected, got = reversed(shapes) if function == "scatter" else shapes
        raise RuntimeError(
            f"ProcessGroupGloo::{function}: invalid tensor size at index 0 (expected {expected}, "
            f"got {got})"
        )
    np.copyto(target.resolve_conj()._array, source.resolve_conj().resolve_neg()._array)


# --- tensors that stay unchanged ---------------------------------------------------------------


def all_reduce(
    tensor: Tensor, op: Any = RedOpType.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all processes, for all; with one process the tensor stays.

    >>> import taper
    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> value = taper.ones(2)
    >>> dist.all_reduce(value, dist.ReduceOp.SUM)
    >>> value
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _check_tensor(tensor, "tensor")
    return _done([tensor], async_op) if is_member(group) else None


def all_reduce_coalesced(
    tensors: list[Tensor], op: Any = RedOpType.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Do `all_reduce` for several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    _check_list(tensors, "tensor")
    return _done(tensors, async_op) if is_member(group) else None


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = RedOpType.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combine the tensors of all processes, for one of them."""
    _check_tensor(tensor, "tensor")
    default_group()
    _check_root("reduce", dst, group_dst)
    return _done([tensor], async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give the tensor of one process to all."""
    _check_tensor(tensor, "tensor")
    default_group()
    _check_root("broadcast", src, group_src)
    return _done([tensor], async_op)


def barrier(
    group: Group = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None
) -> Work | None:
    """Wait for all processes."""
    return _done([], async_op) if is_member(group) else None


def monitored_barrier(
    group: Group = None, timeout: Any = None, wait_all_ranks: bool = False
) -> None:
    """Wait for all processes."""
    default_group()


# --- tensors that are copied -------------------------------------------------------------------


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all processes, for all."""
    _check_list(tensor_list, "tensor_list")
    _check_tensor(tensor, "tensor")
    default_group()
    if len(tensor_list) != 1:
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"1, got {len(tensor_list)})"
        )
    _copy(tensor_list[0], tensor, "allgather")
    return _done(tensor_list, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all processes into one, for all."""
    _check_tensor(input_tensor, "input_tensor")
    _check_tensor(output_tensor, "output_tensor")
    default_group()
    _copy(output_tensor, input_tensor, "allgather")
    return _done([output_tensor], async_op)


all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collect the tensors of all processes, for one of them."""
    _check_tensor(tensor, "tensor")
    default_group()
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _check_list(gather_list, "gather_list")
    if dst is not None or group_dst is not None:
        _check_root("gather", dst, group_dst)
    if len(gather_list) != 1:
        raise RuntimeError(_list_size("gather", "output", len(gather_list)))
    _copy(gather_list[0], tensor, "gather")
    return _done(gather_list, async_op)


def _list_size(function: str, which: str, count: int) -> str:
    return (
        f"ProcessGroupGloo::{function}: Incorrect {which} list size {count}. "
        f"{which.capitalize()} list size should be 1, same as size of the process group."
    )


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each process one tensor of a list."""
    _check_tensor(tensor, "tensor")
    default_group()
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _check_list(scatter_list, "scatter_list")
    if src is not None or group_src is not None:
        _check_root("scatter", src, group_src)
    if len(scatter_list) != 1:
        raise RuntimeError(_list_size("scatter", "input", len(scatter_list)))
    _copy(tensor, scatter_list[0], "scatter")
    return _done([tensor], async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = RedOpType.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the lists of all processes, and give each process one of the tensors."""
    _check_tensor(output, "output")
    _check_list(input_list, "input_list")
    default_group()
    if len(input_list) != 1:
        raise RuntimeError("invalid input tensor list size, must be world size")
    _copy(output, input_list[0], "reduce_scatter")
    return _done([output], async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = RedOpType.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the tensors of all processes, and give each process one part."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    default_group()
    _copy(output, input, "reduce_scatter")
    return _done([output], async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Send one tensor from each process to each."""
    _check_list(output_tensor_list, "output_tensor_list")
    _check_list(input_tensor_list, "input_tensor_list")
    default_group()
    if len(output_tensor_list) != 1 or len(input_tensor_list) != 1:
        raise RuntimeError("all_to_all: the lists must have one tensor for each process")
    _copy(output_tensor_list[0], input_tensor_list[0], "alltoall")
    return _done(output_tensor_list, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Send one part of a tensor from each process to each."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    default_group()
    _copy(output, input, "alltoall")
    return _done([output], async_op)


# --- objects -----------------------------------------------------------------------------------


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Collect the objects of all processes, for all.

    >>> from taper import distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> objects = [None]
    >>> dist.all_gather_object(objects, {"loss": 0.5})
    >>> objects
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    default_group()
    object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Collect the objects of all processes, for one of them."""
    default_group()
    if not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give the objects of one process to all."""
    default_group()


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Give each process one object of a list."""
    default_group()
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if not scatter_object_input_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


# --- from one process to another ---------------------------------------------------------------


def _to_another(name: str, end: str) -> Callable[..., Any]:
    def refuse(tensor: Tensor, peer: int | None = None, *args: Any, **kwargs: Any) -> Any:
        _check_tensor(tensor, "tensor")
        default_group()
        raise ValueError(
            f"Invalid {end} rank: {end} rank should not be the same as the rank of the current "
            "process."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no other process."
    return refuse


send = _to_another("send", "destination")
isend = _to_another("isend", "destination")
recv = _to_another("recv", "source")
irecv = _to_another("irecv", "source")

__all__ = [
    "RedOpType",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]
