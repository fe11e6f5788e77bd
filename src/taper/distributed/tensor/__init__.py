"""Tensors that are spread over processes."""

from taper.distributed.device_mesh import DeviceMesh, init_device_mesh
from taper.distributed.tensor import rules, steps
from taper.distributed.tensor.api import DTensor, distribute_module, distribute_tensor
from taper.distributed.tensor.making import empty, full, ones, rand, randn, zeros
from taper.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from taper.first_use import on_first_use

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "rules",
    "steps",
    "zeros",
]

__getattr__, __dir__ = on_first_use(globals(), ("debug", "experimental", "parallel"))
