"""Optimizers of several processes; those that need calls between processes refuse."""

from taper.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
from taper.distributed.post_local_sgd import PostLocalSGDOptimizer
from taper.distributed.refused import refuse

__all__ = [
    *refuse(
        globals(),
        "as_functional_optim DistributedOptimizer",
        "use an optimizer of torch.optim in every process, or ZeroRedundancyOptimizer",
    ),
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
]
