"""The launcher as functions: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "LaunchConfig elastic_launch launch_agent",
    "use the command taper run, or torch.multiprocessing.spawn",
)
