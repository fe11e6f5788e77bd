"""Tensors in shards, the older way: `distributed.tensor` is the newer one."""
