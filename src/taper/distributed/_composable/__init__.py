"""Parallelism as functions of modules: `fully_shard`; the others refuse when they are used."""

from taper.distributed.refused import refuse
from taper.first_use import on_first_use

__all__ = [
    "fully_shard",
    *refuse(globals(), "checkpoint contract replicate", "use DistributedDataParallel"),
]

__getattr__, __dir__ = on_first_use(globals(), ("fsdp",), {"fully_shard": "fsdp"})
