"""Backward passes over several processes: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "backward get_gradients context",
    "use the collectives of torch.distributed.nn",
)
