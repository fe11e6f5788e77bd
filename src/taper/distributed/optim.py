"""Optimizers of several processes."""

from taper.distributed.post_local_sgd import PostLocalSGDOptimizer
from taper.distributed.refused import refuse

__all__ = [
    "PostLocalSGDOptimizer",
    *refuse(
        globals(),
        "DistributedOptimizer ZeroRedundancyOptimizer as_functional_optim",
        "use an optimizer of torch.optim in every process",
    ),
]
