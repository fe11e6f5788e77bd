"""Layers that are spread over processes: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput "
    "PrepareModuleOutput RowwiseParallel SequenceParallel parallelize_module loss_parallel",
    "use DistributedDataParallel or fully_shard",
)
