"""Sharded data parallelism: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "FullyShardedDataParallel FSDPModule fully_shard MixedPrecision "
    "MixedPrecisionPolicy ShardingStrategy BackwardPrefetch CPUOffload "
    "CPUOffloadPolicy OffloadPolicy StateDictType FullStateDictConfig "
    "ShardedStateDictConfig LocalStateDictConfig register_fsdp_forward_method",
    "use DistributedDataParallel",
)
