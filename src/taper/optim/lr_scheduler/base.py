"""LRScheduler: counts epochs, sets the rates of an optimizer's groups, warns of a wrong order.

A scheduler computes the next rates from the present ones where it can ("chainable form"), so that
several may act on one optimizer; asked for a given epoch, from the initial ones ("closed form").
What the rates are is the subclasses' business.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from taper.optim.optimizer import Optimizer
from taper.tensor import Tensor
from taper.userwarning import warn_user

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def own(value: Any) -> Any:
    """Copy a rate, so that later changes of a group's own Tensor do not reach it."""
    return value.clone() if isinstance(value, Tensor) else value


def set_rate(group: dict[str, Any], lr: Any) -> None:
    """Set a rate; one that is a Tensor is written in place, since others may hold it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(lr)
    else:
        group["lr"] = lr


def _format_param(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """Return a value for each group, from one for all or from a list; Tensors are copied."""
    groups = len(optimizer.param_groups)
    if not isinstance(param, (list, tuple)):
        param = [param] * groups
    if len(param) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(param)} values, param_groups has {groups}."
        )
    return [own(each) for each in param]


def _watched(optimizer: Any) -> None:
    """Let `optimizer.step` note that it was called, for the warning about the wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step = optimizer.step.__func__
    reference = weakref.ref(optimizer)  # no cycle: the optimizer holds the wrapper

    @functools.wraps(step)
    def watched(*args: Any, **kwargs: Any) -> Any:
        target: Any = reference()
        target._opt_called = True
        return step.__get__(target, type(target))(*args, **kwargs)

    watched._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = watched


class LRScheduler:
    """Set the rates of an optimizer's groups from epoch to epoch: the base of all schedulers.

    A loop calls `scheduler.step()` after the `optimizer.step()` calls of each epoch. Subclasses
    define `get_lr`.

    Args:
        optimizer: the optimizer whose rates to set.
        last_epoch: the epoch to go on from; -1 starts anew, with the groups' rates as initial
            ones.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs: list[Any] = [own(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _watched(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """Return the rates of the groups as the scheduler set them last."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """Return the next rates, from the present ones; every subclass defines how."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its rates."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _warn_about_order(self) -> None:
        text = None
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            text = (
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. {_ORDER}"
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            text = (
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
                f"skipping the first value of the learning rate schedule. {_ORDER}"
            )
        if text is not None:
            warn_user(text, UserWarning)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            values = self._computed(self.get_lr)
        else:
            self.last_epoch = epoch
            values = self._computed(getattr(self, "_get_closed_form_lr", self.get_lr))
        self._set_rates(values)

    def _computed(self, function: Any) -> list[Any]:
        """Return the rates that a function of the scheduler gives, without its warning."""
        self._get_lr_called_within_step = True
        try:
            found: list[Any] = function()
            return found
        finally:
            self._get_lr_called_within_step = False

    def _set_rates(self, values: list[Any]) -> None:
        groups = self.optimizer.param_groups
        for group, lr in zip(groups, values, strict=False):
            set_rate(group, lr)
        self._last_lr: list[Any] = [own(group["lr"]) for group in groups]

    def _present(self) -> list[Any]:
        """Return the rates as they are: a result of `get_lr` that changes nothing."""
        return [own(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn_user(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
            )


class _LRScheduler(LRScheduler):
    """Base of all schedulers, under its old name."""
