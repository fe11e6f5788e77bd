"""Objects that average parameters in some of the steps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

from taper.distributed.algorithms.model_averaging import utils
from taper.distributed.groups import ProcessGroup, default_group

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Average parameters; subclasses say when.

    Args:
        process_group: the group; all processes without it.
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = process_group if process_group is not None else default_group()
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Count a step, and average if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Average parameters in every n-th step, after some steps without.

    Args:
        period: n.
        warmup_steps: how many steps without there are first.
        process_group: the group; all processes without it.
    """

    def __init__(
        self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None
    ) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost "
                "of all-reducing parameters will be no less than the cost of all-reducing "
                "gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period = period

    def average_parameters(self, params: Any) -> None:
        """Count a step; average if it is the n-th.

        Args:
            params: parameters, or groups of an optimizer; those with a gradient are averaged.
        """
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
