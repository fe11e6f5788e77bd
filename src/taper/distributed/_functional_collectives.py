"""Collectives that return new tensors, as PyTorch's compiler likes them."""

from __future__ import annotations

import importlib
from typing import Any

from taper.distributed import collectives, exchanges
from taper.distributed.device_mesh import DeviceMesh
from taper.distributed.groups import ProcessGroup, get_world_size
from taper.distributed.reduce_ops import RedOpType
from taper.tensor import Tensor

__all__ = [
    "all_gather_tensor",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "reduce_scatter_tensor",
    "wait_tensor",
]

_OPS = {each.name.lower(): each for each in RedOpType}


def _group(group: Any) -> ProcessGroup | None:
    """Return the group of what stands for one: a group, a mesh, or a mesh and a dimension."""
    if isinstance(group, tuple):
        return group[0].get_group(group[1])
    return group.get_group() if isinstance(group, DeviceMesh) else group


def _op(name: Any) -> RedOpType:
    return _OPS[name.lower()] if isinstance(name, str) else name


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor: it is there."""
    return tensor


def all_reduce(self: Tensor, reduceOp: Any, group: Any, tag: str = "") -> Tensor:
    """Combine the tensors of all processes.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed import _functional_collectives as funcol
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> funcol.all_reduce(taper.ones(2), "sum", dist.group.WORLD)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    result = self.detach().clone()
    collectives.all_reduce(result, _op(reduceOp), _group(group))
    return result


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Return the tensor of one process."""
    result = self.detach().clone()
    collectives.broadcast(result, src, _group(group))
    return result


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Return the tensors of all processes, joined along a dimension."""
    members = _group(group)
    own = self.detach().movedim(gather_dim, 0).contiguous()
    shape = (own.shape[0] * get_world_size(members), *own.shape[1:])
    result = own.new_empty(shape)
    exchanges.all_gather_into_tensor(result, own, members)
    return result.movedim(0, gather_dim)


def reduce_scatter_tensor(
    self: Tensor, reduceOp: Any, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """Combine the tensors of all processes; return one part along a dimension."""
    members = _group(group)
    whole = self.detach().movedim(scatter_dim, 0).contiguous()
    result = whole.new_empty((whole.shape[0] // get_world_size(members), *whole.shape[1:]))
    exchanges.reduce_scatter_tensor(result, whole, _op(reduceOp), members)
    return result.movedim(0, scatter_dim)


def all_to_all_single(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """Send one part from each process to each; return the parts that came."""
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    result = self.new_empty((rows, *self.shape[1:]))
    exchanges.all_to_all_single(
        result, self.detach().contiguous(), output_split_sizes, input_split_sizes, _group(group)
    )
    return result


def all_to_all_single_autograd(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """As `all_to_all_single`, with a gradient that goes the way back."""
    # late: gradients of collectives are asked for by few
    functional = importlib.import_module("taper.distributed.nn.functional")
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    room = self.new_empty((rows, *self.shape[1:]))
    sent: Tensor = functional.all_to_all_single(
        room, self, output_split_sizes, input_split_sizes, _group(group)
    )
    return sent
