"""Parameters averaged often within small groups, and rarely within large ones."""

from __future__ import annotations

import logging
import warnings
from collections import OrderedDict
from typing import Any

from taper.distributed.algorithms.model_averaging import averagers, utils
from taper.distributed.groups import ProcessGroup, get_world_size, new_subgroups

__all__ = ["HierarchicalModelAverager"]

_log = logging.getLogger(__name__)


class HierarchicalModelAverager(averagers.ModelAverager):
    """Average parameters within groups of several sizes, each with a period of its own.

    Args:
        period_group_size_dict: periods with the sizes of their groups, both increasing; the last
            group has all processes.
        warmup_steps: how many steps without there are first.
        process_group: the largest group; all processes without it.
    """

    def __init__(
        self,
        period_group_size_dict: OrderedDict[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict.keys())
        sizes = list(period_group_size_dict.values())
        if self._periods[0] <= 0:
            raise ValueError(
                "The minimum period in arg ``period_group_size_dict`` must be a positive value."
            )
        if self._periods[-1] == 1:
            warnings.warn(
                "When the maximum period in arg ``period_group_size_dict`` is 1, no need to use "
                "model averaging because the communication cost of all-reducing parameters will be "
                "no less than the cost of all-reducing gradients by DistributedDataParallel in the "
                "backward pass. Therefore, only DistributedDataParallel should be used for this "
                "case.",
                stacklevel=2,
            )
        overall = get_world_size(self.process_group)
        if sizes[-1] != overall:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to "
                f"the size of arg ``process_group`` {overall}."
            )
        self.period_process_group_dict: OrderedDict[int, Any] = OrderedDict()
        _log.info("Model averaging hierarchy:")
        for period, size in period_group_size_dict.items():
            _log.info("\teach group of %s processes averages every %s steps", size, period)
            whole = size == overall
            group = self.process_group if whole else new_subgroups(size)[0]
            self.period_process_group_dict[period] = group
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps

    def _find_process_group(self) -> Any:
        """Return the largest group whose turn it is, or None."""
        for period in reversed(self._periods):
            if self.step % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Any) -> None:
        """Count a step; average within the largest group whose turn it is.

        Args:
            params: parameters, or groups of an optimizer; those with a gradient are averaged.
        """
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1
