"""Post-local SGD: after some steps gradients are averaged within small groups only."""

# ruff: noqa: N999 - the name is PyTorch's

from __future__ import annotations

import logging
from typing import Any

from taper.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from taper.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged
from taper.distributed.buckets import GradBucket
from taper.distributed.groups import ProcessGroup, new_subgroups
from taper.futures import Future
from taper.tensor import Tensor

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

_log = logging.getLogger(__name__)


class PostLocalSGDState:
    """What `post_localSGD_hook` knows.

    Args:
        process_group: the group of the first steps; all processes without it.
        subgroup: the group afterwards; that of this machine without it.
        start_localSGD_iter: how many steps the first ones are.
        post_local_gradient_allreduce: whether to average within the subgroup; False if parameters
            are averaged in each step instead.
    """

    __slots__ = (
        "iter",
        "post_local_gradient_allreduce",
        "process_group",
        "start_localSGD_iter",
        "subgroup",
    )

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group = process_group
        self.subgroup: Any = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_localSGD_iter:
                _log.info("Start to apply local SGD after %s iterations.", self.iter)


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Average gradients over all processes at first, later within a small group or not at all.

    Use it with `PeriodicModelAverager` or `PostLocalSGDOptimizer`, which average the parameters.

    Args:
        state: the groups, and how many steps were done.
        bucket: the gradients.
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return averaged(state.process_group, bucket.buffer())
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return averaged(state.subgroup, bucket.buffer())
