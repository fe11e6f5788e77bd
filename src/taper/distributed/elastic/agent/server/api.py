"""Agents of the launcher: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "WorkerSpec Worker WorkerState WorkerGroup RunResult ElasticAgent SimpleElasticAgent",
    "use the command taper run",
)
