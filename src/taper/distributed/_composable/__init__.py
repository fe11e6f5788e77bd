"""Parallelism as functions of modules: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "checkpoint contract replicate fully_shard",
    "use DistributedDataParallel",
)
