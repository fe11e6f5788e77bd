"""Schedulers along a cosine."""

from __future__ import annotations

import math
from typing import Any

from taper.optim.lr_scheduler.base import LRScheduler
from taper.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Lead the rate to a minimum and back along a cosine, again and again.

        lr(t) = eta_min + (lr₀ - eta_min) (1 + cos(π t / T_max)) / 2

    Args:
        optimizer: the optimizer whose rates to set.
        T_max: how many epochs each way takes.
        eta_min: the lowest rate.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._present()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The rate before is the minimum, from which no factor leads up again.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - self.eta_min) * rise
                for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lead the rate to a minimum along a cosine, then start again from above.

        lr = eta_min + (lr₀ - eta_min) (1 + cos(π T_cur / T_i)) / 2, T_cur epochs since a start

    `step(epoch)` takes a fraction of an epoch, to set the rate after each batch.

    Args:
        optimizer: the optimizer whose rates to set.
        T_0: how many epochs the first round takes.
        T_mult: how many times longer each round is than the one before.
        eta_min: the lowest rate.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> scheduler.step(1.0)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to a given one, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self._computed(self.get_lr))

    def _go_to(self, epoch: float) -> None:
        """Find the round of an epoch, and how far in the round the epoch is."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            done = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**done - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**done
