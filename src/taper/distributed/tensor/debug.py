"""What DTensors send: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "CommDebugMode visualize_sharding",
    "print the DTensor, which shows its placements",
)
