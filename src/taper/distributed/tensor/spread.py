"""Where the parts of a spread tensor lie, and how they move when placements change.

Knows plain tensors, meshes and placements; not DTensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.autograd.function import Function
from taper.autograd.grad_mode import no_grad
from taper.distributed import collectives, exchanges
from taper.distributed.device_mesh import DeviceMesh
from taper.distributed.groups import ProcessGroup
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _NormPartial,
    part_of,
)
from taper.tensor import Tensor

Placements = tuple[Placement, ...]

_OPS = {
    "sum": RedOpType.SUM,
    "avg": RedOpType.AVG,
    "product": RedOpType.PRODUCT,
    "max": RedOpType.MAX,
    "min": RedOpType.MIN,
}


def local_part(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and offsets of the part of a tensor that this process has."""
    place = mesh.get_coordinate() or [0] * mesh.ndim
    return part_at(shape, mesh.shape, placements, place)


def part_at(
    shape: Sequence[int],
    mesh_shape: Sequence[int],
    placements: Sequence[Placement],
    place: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and offsets of the part of a tensor that the process at a place has."""
    sizes, offsets = list(shape), [0] * len(shape)
    for along, index, each in zip(mesh_shape, place, placements, strict=True):
        if isinstance(each, Shard):
            begin, sizes[each.dim] = part_of(sizes[each.dim], along, index)
            offsets[each.dim] += begin
    return tuple(sizes), tuple(offsets)


def normalized(placements: Any, mesh: DeviceMesh, ndim: int) -> Placements:
    """Return checked placements, all replicated if there are none."""
    listed = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(listed) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(listed)}, and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(
        Shard(each.dim + ndim) if isinstance(each, Shard) and each.dim < 0 else each
        for each in listed
    )


@no_grad()
def move(
    local: Tensor, mesh: DeviceMesh, shape: Sequence[int], source: Placements, target: Placements
) -> Tensor:
    """Return this process's part after placements have changed."""
    if source == target:
        return local
    local = local.detach()
    sizes = [
        part_at(shape[:], mesh.shape[:dim], source[:dim], _place(mesh)[:dim])[0]
        for dim in range(mesh.ndim)
    ]
    first = next(dim for dim in range(mesh.ndim) if source[dim] != target[dim])
    last = target[-1]
    for dim in reversed(range(first, mesh.ndim)):
        if isinstance(source[dim], Shard | Partial):
            if dim == first == mesh.ndim - 1 and isinstance(last, Shard):
                return _exchanged(local, mesh, dim, sizes[dim], source[dim], last)
            local = _whole(local, mesh.get_group(dim), source[dim], sizes[dim])
    for dim in range(first, mesh.ndim):
        wanted = target[dim]
        if isinstance(wanted, Shard):
            begin, length = part_of(local.shape[wanted.dim], mesh.shape[dim], _place(mesh)[dim])
            local = local.narrow(wanted.dim, begin, length).contiguous()
        elif isinstance(wanted, Partial):
            raise RuntimeError(
                f"Can not redistribute from {source[dim]} to {wanted}, redistributing to Partial "
                "is for internal use only!"
            )
    return local


def _place(mesh: DeviceMesh) -> list[int]:
    return mesh.get_coordinate() or [0] * mesh.ndim


def _exchanged(
    local: Tensor, mesh: DeviceMesh, dim: int, size: Sequence[int], was: Placement, wanted: Shard
) -> Tensor:
    """Divide along another dimension, or combine and divide."""
    group, index = mesh.get_group(dim), _place(mesh)[dim]
    parts = mesh.shape[dim]
    even = size[wanted.dim] % parts == 0
    if isinstance(was, Partial) and not isinstance(was, _NormPartial) and even:
        rows = local.movedim(wanted.dim, 0).contiguous()
        result = rows.new_empty((rows.shape[0] // parts, *rows.shape[1:]))
        exchanges.reduce_scatter_tensor(result, rows, _OPS[was.reduce_op], group)
        return result.movedim(0, wanted.dim).contiguous()
    whole = _whole(local, group, was, size)
    begin, length = part_of(size[wanted.dim], parts, index)
    return whole.narrow(wanted.dim, begin, length).contiguous()


def _whole(local: Tensor, group: ProcessGroup, was: Placement, size: Sequence[int]) -> Tensor:
    """Return the whole from the parts or summands of a line of processes."""
    if isinstance(was, _NormPartial):
        total = local.abs() ** was.norm_type
        collectives.all_reduce(total, RedOpType.SUM, group)
        return total ** (1 / was.norm_type)
    if isinstance(was, Partial):
        total = local.clone()
        collectives.all_reduce(total, _OPS[was.reduce_op], group)
        return total
    assert_shard = was.dim if isinstance(was, Shard) else 0
    return gathered(local, assert_shard, size[assert_shard], group)


def gathered(local: Tensor, dim: int, size: int, group: ProcessGroup) -> Tensor:
    """Return the parts of all processes joined along a dimension, which has this size."""
    parts = group.size()
    most = -(-size // parts)
    rows = local.movedim(dim, 0)
    if rows.shape[0] != most:
        padded = rows.new_zeros((most, *rows.shape[1:]))
        padded[: rows.shape[0]] = rows
        rows = padded
    result = rows.new_empty((most * parts, *rows.shape[1:]))
    exchanges.all_gather_into_tensor(result, rows.contiguous(), group)
    return result[:size].movedim(0, dim).contiguous()


class Redistribute(Function):
    """Change placements; gradients take the way back."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, mesh: Any, shape: Any, source: Any, target: Any) -> Tensor:
        ctx.way = mesh, shape, source, target
        moved = move(local, mesh, shape, source, target)
        return moved.view_as(moved) if moved is local else moved

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        mesh, shape, source, target = ctx.way
        # The gradient of a sum is the same for every summand, and of a replicated value too.
        back = tuple(Replicate() if isinstance(each, Partial) else each for each in source)
        there = tuple(Replicate() if isinstance(each, Partial) else each for each in target)
        return move(grad, mesh, shape, there, back), None, None, None, None


class Shared(Function):
    """Use the same values in every process, each for its part: the gradients are summed."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, groups: Any) -> Tensor:
        ctx.groups = groups
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = grad.clone()
        for group in ctx.groups:
            collectives.all_reduce(total, RedOpType.SUM, group)
        return total, None


class _ToTorchTensor(Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor) -> Tensor:
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


class _FromTorchTensor(_ToTorchTensor):
    pass
