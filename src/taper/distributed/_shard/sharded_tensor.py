"""Tensors in shards, the older way: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "Shard ShardMetadata ShardedTensor ShardedTensorBase ShardedTensorMetadata "
    "TensorProperties empty full ones rand randn zeros init_from_local_shards",
    "use torch.distributed.tensor",
)
