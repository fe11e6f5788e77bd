"""Tensors that are spread over processes: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "DTensor distribute_tensor distribute_module Shard Replicate Partial Placement "
    "ones empty full rand randn zeros",
    "use plain tensors with DistributedDataParallel or fully_shard",
)
