"""DTensors in other ways: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "context_parallel implicit_replication local_map register_sharding",
    "use to_local and DTensor.from_local",
)
