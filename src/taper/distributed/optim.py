"""Optimizers of several processes: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer as_functional_optim",
    "use an optimizer of torch.optim in every process",
)
