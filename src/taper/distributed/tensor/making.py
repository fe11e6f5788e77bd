"""New DTensors: filled, or with the random numbers that one process would draw."""

from __future__ import annotations

from typing import Any

from taper.distributed.device_mesh import DeviceMesh
from taper.distributed.groups import default_group
from taper.distributed.tensor.api import DTensor
from taper.distributed.tensor.spread import local_part, normalized
from taper.ops.creation import filled
from taper.size import Size

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def full(
    size: Any,
    fill_value: Any,
    *,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Any = None,
) -> DTensor:
    """Return a DTensor filled with a number.

    Args:
        size: the shape of the whole.
        fill_value: the number.
        requires_grad: whether autograd records what is computed from the tensor.
        dtype: the type of elements.
        layout: accepted; there is one.
        device_mesh: the processes; all of them without it.
        placements: how the tensor lies along each dimension of the mesh; replicated without it.

    >>> from taper import distributed as dist
    >>> from taper.distributed.tensor import Shard, full
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> full([2], 3.0, device_mesh=dist.init_device_mesh("cpu", (1,))).to_local()
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    if len(size) == 1 and not isinstance(size[0], int):
        size = size[0]
    mesh = DeviceMesh.from_group(default_group(), "cpu") if device_mesh is None else device_mesh
    target = normalized(placements, mesh, len(size))
    local = filled.full(local_part(size, mesh, target)[0], fill_value, dtype=dtype)
    return DTensor._of(local.requires_grad_(requires_grad), mesh, target, Size(size))


def zeros(*size: Any, **options: Any) -> DTensor:
    """Return a DTensor of zeros, with the options of `full`."""
    return full(size, 0.0, **options)


def ones(*size: Any, **options: Any) -> DTensor:
    """Return a DTensor of ones, with the options of `full`."""
    return full(size, 1.0, **options)


def empty(*size: Any, **options: Any) -> DTensor:
    """Return a DTensor whose elements nobody has set, here zeros, with the options of `full`."""
    return full(size, 0.0, **options)


def rand(*size: Any, requires_grad: bool = False, **options: Any) -> DTensor:
    """Return a DTensor of uniform random numbers: those that one process would draw."""
    return full(size, 0.0, **options).uniform_().requires_grad_(requires_grad)


def randn(*size: Any, requires_grad: bool = False, **options: Any) -> DTensor:
    """Return a DTensor of normal random numbers: those that one process would draw."""
    return full(size, 0.0, **options).normal_().requires_grad_(requires_grad)
