"""ReduceLROnPlateau, which follows a measure and not the epochs."""

from __future__ import annotations

import math
from typing import Any

from taper.optim.lr_scheduler.base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    own,
    set_rate,
)
from taper.optim.optimizer import Optimizer
from taper.userwarning import warn_user


class ReduceLROnPlateau(LRScheduler):
    """Lower the rates when a measure has stopped improving.

        lr ← max(lr factor, min_lr) after more than patience epochs without improvement

    `step(metrics)` takes the measure of the epoch, such as the validation loss.

    Args:
        optimizer: the optimizer whose rates to set.
        mode: "min" if less is better, "max" if more is.
        factor: what to multiply the rates by; below 1.
        patience: how many epochs without improvement to wait.
        threshold: how much counts as an improvement.
        threshold_mode: "rel", a part of the best measure, or "abs".
        cooldown: how many epochs after a reduction do not count.
        min_lr: the lowest rate: a number, or a list with one for each group.
        eps: rates that would change less stay.

    Example:
        >>> import taper
        >>> from taper.optim.lr_scheduler import ReduceLROnPlateau
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
        >>> scheduler.step(2.0)
        >>> scheduler.step(2.0)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.factor = factor
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr: float | None = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = [own(group["lr"]) for group in optimizer.param_groups]
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best: float = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Go to the next epoch, whose measure is `metrics`, and lower the rates if it is time."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn_user(EPOCH_DEPRECATION_WARNING, UserWarning)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [own(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_rate(group, new)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs without improvement do not count at present."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        relative = self.threshold_mode == "rel"
        if self.mode == "min":
            return value < (best * (1 - self.threshold) if relative else best - self.threshold)
        return value > (best * (1 + self.threshold) if relative else best + self.threshold)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
