"""Schedulers made of others: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from taper.optim.lr_scheduler.base import LRScheduler, own, set_rate
from taper.optim.lr_scheduler.plateau import ReduceLROnPlateau
from taper.optim.optimizer import Optimizer


def _check(name: str, schedulers: Sequence[Any], optimizer: Any) -> None:
    """Check that all belong to the optimizer, and none needs more than `step()`."""
    for index, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                f"kwargs to be specified when calling `step`, but got one at index {index} in the "
                "given schedulers sequence."
            )
        if optimizer != scheduler.optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got "
                f"scheduler {type(scheduler).__name__} at index {index} has "
                f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}."
            )


class _Combined(LRScheduler):
    """Hold other schedulers, whose states are part of the state; not public."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer, with the states of the schedulers inside."""
        hidden = ("optimizer", "_schedulers")
        state = {key: value for key, value in self.__dict__.items() if key not in hidden}
        state["_schedulers"] = [each.state_dict() for each in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(saved)


class SequentialLR(_Combined):
    """Use one scheduler after the other.

        lr(t) = schedulerᵢ(t - milestones[i-1]) for milestones[i-1] ≤ t < milestones[i]

    Args:
        optimizer: the optimizer whose rates to set.
        schedulers: the schedulers, in order.
        milestones: the epochs at which the next one begins, one less than schedulers.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> from taper.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> parts = [ConstantLR(optimizer, 0.1, total_iters=9), ExponentialLR(optimizer, 0.5)]
        >>> scheduler = SequentialLR(optimizer, parts, milestones=[2])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each has made its first step when it was built; only the first one should have.
        for group in optimizer.param_groups:
            set_rate(group, own(group["initial_lr"]))
        self.recursive_undo()
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Set back by one the epoch of every scheduler inside, to any depth."""
        inside = self if sched is None else sched
        if hasattr(inside, "_schedulers"):
            for each in inside._schedulers:
                self.recursive_undo(each)
        elif hasattr(inside, "last_epoch"):
            inside.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch of the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Let several schedulers act on the same rates in each step.

        lr ← schedulerₙ(... scheduler₂(scheduler₁(lr)))

    Args:
        schedulers: the schedulers, in order.
        optimizer: their optimizer; None means that of the first.

    Example:
        >>> import taper
        >>> from taper.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> parts = [ConstantLR(optimizer, 0.5, total_iters=9), ExponentialLR(optimizer, 0.5)]
        >>> scheduler = ChainedScheduler(parts)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _check("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers  # type: ignore[assignment]
        self.optimizer = optimizer
        self._last_lr = [own(group["lr"]) for group in self._schedulers[-1].optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """Let every scheduler make a step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [own(group["lr"]) for group in self._schedulers[-1].optimizer.param_groups]
