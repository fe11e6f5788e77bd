"""Uneven inputs: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "Join Joinable JoinHook",
    "give all processes as many batches, see DistributedSampler",
)
