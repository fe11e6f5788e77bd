"""Tensors in shards, the older way: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "ShardedTensor Sharder ShardingPlan ShardingSpec load_with_process_group "
    "shard_module shard_parameter",
    "use torch.distributed.tensor",
)
