"""Schedulers that multiply the rates by a factor of the epoch."""

from __future__ import annotations

import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from taper.optim.lr_scheduler.base import LRScheduler
from taper.optim.optimizer import Optimizer


class _OfFunctions(LRScheduler):
    """Hold one function for all groups or one for each; not public."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas: list[Any] = [lr_lambda] * groups
        else:
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self) -> None:
        """Refuse what is not a function, if the first step would not call it."""

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; of functions only callable objects."""
        hidden = ("optimizer", "lr_lambdas")
        state = {key: value for key, value in self.__dict__.items() if key not in hidden}
        state["lr_lambdas"] = [
            None if isinstance(each, types.FunctionType) else each.__dict__.copy()
            for each in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; functions stay the present ones."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_OfFunctions):
    """Multiply the initial rate by a function of the epoch.

        lr(t) = lr₀ lr_lambda(t)

    Args:
        optimizer: the optimizer whose rates to set.
        lr_lambda: the function, or a list with one for each group.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.9 ** epoch)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.9]
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [
            base * function(self.last_epoch)
            for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_OfFunctions):
    """Multiply the present rate by a function of the epoch.

        lr(t) = lr(t - 1) lr_lambda(t)

    Args:
        optimizer: the optimizer whose rates to set.
        lr_lambda: the function, or a list with one for each group.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def _check_functions(self) -> None:
        for each in self.lr_lambdas:
            if not callable(each):
                raise TypeError(f"lr_lambda should be a function, but got {type(each).__name__}")

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._present()
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class StepLR(LRScheduler):
    """Multiply the rates by a factor every few epochs.

        lr(t) = lr₀ gamma^⌊t / step_size⌋

    Args:
        optimizer: the optimizer whose rates to set.
        step_size: how many epochs.
        gamma: the factor.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._present()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the rates by a factor at given epochs.

        lr(t) = lr₀ gamma^(number of milestones ≤ t)

    Args:
        optimizer: the optimizer whose rates to set.
        milestones: the epochs; one that is listed twice counts twice.
        gamma: the factor.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 8])
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._present()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Lower the rates by a factor for the first epochs.

        lr(t) = lr₀ factor if t < total_iters else lr₀

    Args:
        optimizer: the optimizer whose rates to set.
        factor: the factor, 0 to 1.
        total_iters: for how many epochs.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=1)
        >>> scheduler.get_last_lr()
        [0.5]
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._present()
        return self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        over = self.last_epoch >= self.total_iters
        return [base * (self.factor + over * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Lead a factor of the rates along a line, for the first epochs.

        lr(t) = lr₀ (start_factor + (end_factor - start_factor) min(t, total_iters) / total_iters)

    Args:
        optimizer: the optimizer whose rates to set.
        start_factor, end_factor: the factor at the start, above 0, and at the end; at most 1.
        total_iters: how many epochs the way takes.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> from taper.optim.lr_scheduler import LinearLR
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        passed = min(self.total_iters, self.last_epoch)
        return [
            base * (self.start_factor + rise * passed / self.total_iters) for base in self.base_lrs
        ]


class ExponentialLR(LRScheduler):
    """Multiply the rates by a factor every epoch.

        lr(t) = lr₀ gammaᵗ

    Args:
        optimizer: the optimizer whose rates to set.
        gamma: the factor.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return self._present() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Let the rates fall to zero as a power of the epochs that are left.

        lr(t) = lr₀ (1 - min(t, total_iters) / total_iters)^power

    Args:
        optimizer: the optimizer whose rates to set.
        total_iters: how many epochs that takes.
        power: the power; 1 is a line.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2, power=2.0)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        passed = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1.0 - passed) ** self.power for base in self.base_lrs]
