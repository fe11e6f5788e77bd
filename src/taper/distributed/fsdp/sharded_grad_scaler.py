"""ShardedGradScaler: the scaler of gradients, for gradients that are divided."""

from __future__ import annotations

from typing import Any

from taper.amp.grad_scaler import GradScaler
from taper.distributed import collectives
from taper.distributed.groups import ProcessGroup, is_initialized
from taper.distributed.reduce_ops import RedOpType

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """Scale a loss; skip a step in all processes if one of them found an infinite gradient.

    Args:
        device: the kind of device.
        init_scale, backoff_factor, growth_factor, growth_interval, enabled: as for `GradScaler`.
        process_group: the processes among which gradients are divided.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self.process_group = process_group

    def unscale_(self, optimizer: Any) -> None:
        """Divide gradients by the scale, and agree whether one of them is infinite."""
        if not self._enabled:
            return
        super().unscale_(optimizer)
        found = self._per_optimizer_states[optimizer]["found_inf_per_device"]
        for each in found.values() if is_initialized() else ():
            collectives.all_reduce(each, RedOpType.MAX, self.process_group)
