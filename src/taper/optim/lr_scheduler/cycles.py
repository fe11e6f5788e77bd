"""Schedulers that move rate and momentum up and down: CyclicLR and OneCycleLR."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from taper.optim.lr_scheduler.base import LRScheduler, _format_param, set_rate
from taper.optim.optimizer import Optimizer

NO_MOMENTUM = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"


def _has_momentum(optimizer: Optimizer) -> bool:
    return "momentum" in optimizer.defaults or "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], value: Any, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """Move the rate up and down between two bounds, and momentum the other way.

        lr = base_lr + (max_lr - base_lr) h s, h from 0 up to 1 and back in a cycle
        s = 1 (triangular), 1 / 2^(cycle - 1) (triangular2), gammaᵗ (exp_range), or scale_fn

    Call `step` after every batch.

    Args:
        optimizer: the optimizer whose rates to set.
        base_lr, max_lr: the bounds: numbers, or lists with one for each group.
        step_size_up, step_size_down: how many steps each way takes; None for down means the same.
        mode: "triangular", "triangular2" or "exp_range", the scale s.
        gamma: the base of "exp_range".
        scale_fn: a function that gives the scale s; `mode` is ignored then.
        scale_mode: what `scale_fn` gets: "cycle" or "iterations", their number.
        cycle_momentum: whether to move momentum, or beta1, from `max_momentum` to `base_momentum`
            and back.
        base_momentum, max_momentum: the bounds of momentum.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0, momentum=0.9)
        >>> scheduler = taper.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        max_lrs = _format_param("max_lr", optimizer, max_lr)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        if cycle_momentum and not _has_momentum(optimizer):
            raise ValueError(NO_MOMENTUM)
        self.optimizer = optimizer
        self.max_lrs = max_lrs
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_rate(group, lr)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _start_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        optimizer = self.optimizer
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = _format_param("base_momentum", optimizer, base_momentum)
        self.max_momentums = _format_param("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            momentums = zip(
                self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True
            )
            for most, least, group in momentums:
                _set_momentum(group, most, self.use_beta1)
                group["max_momentum"] = most
                group["base_momentum"] = least

    def scale_fn(self, x: float) -> float:
        """Return the factor of the height, of the cycle's or of the iteration's number."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return float(1 / (2.0 ** (x - 1)))
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        position = 1.0 + self.last_epoch / self.total_size - cycle
        if position <= self.step_ratio:
            height = position / self.step_ratio
        else:
            height = (position - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momentums = zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            )
            for least, most, group in momentums:
                _set_momentum(group, most - (most - least) * height * scale, self.use_beta1)
        return [
            base + (most - base) * height * scale
            for base, most in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; a `scale_fn` only if it is a callable object."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        if function is None or isinstance(function, types.FunctionType):
            state["_scale_fn_custom"] = None
        else:
            state["_scale_fn_custom"] = function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; a function stays the present one."""
        saved = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)


class OneCycleLR(LRScheduler):
    """Lead the rate up to a maximum and then down to almost nothing, once; momentum the other way.

        up: lr = lr₀ + (max_lr - lr₀) a, lr₀ = max_lr / div_factor, a from 0 to 1
        down: lr = max_lr + (lr₁ - max_lr) a, lr₁ = lr₀ / final_div_factor

    Call `step` after every batch.

    Args:
        optimizer: the optimizer whose rates to set.
        max_lr: the highest rate: a number, or a list with one for each group.
        total_steps: how many steps there are; None means epochs · steps_per_epoch.
        epochs, steps_per_epoch: give these, or `total_steps`.
        pct_start: the fraction of the steps that go up.
        anneal_strategy: "cos" or "linear", the form of the ways.
        cycle_momentum: whether to move momentum, or beta1, from `max_momentum` to `base_momentum`
            and back.
        base_momentum, max_momentum: the bounds of momentum.
        div_factor, final_div_factor: they say how low the rate starts, and how much lower it ends.
        three_phase: whether to go down as fast as up to the first rate, and then on to the last.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0, momentum=0.9)
        >>> scheduler = taper.optim.lr_scheduler.OneCycleLR(
        ...     optimizer, max_lr=1.0, total_steps=10, anneal_strategy="linear"
        ... )
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.52]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = _format_param("max_lr", optimizer, max_lr)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if not _has_momentum(optimizer):
                raise ValueError(NO_MOMENTUM)
            self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch == -1:
            base_momentums = _format_param("base_momentum", optimizer, base_momentum)
            max_momentums = _format_param("max_momentum", optimizer, max_momentum)
            for index, group in enumerate(optimizer.param_groups):
                group["initial_lr"] = max_lrs[index] / div_factor
                group["max_lr"] = max_lrs[index]
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    _set_momentum(group, max_momentums[index], self.use_beta1)
                    group["max_momentum"] = max_momentums[index]
                    group["base_momentum"] = base_momentums[index]
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start = 0
        phase = self._schedule_phases[0]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = (group[phase["start_momentum"]], group[phase["end_momentum"]])
                _set_momentum(group, self._anneal_func(*ends, part), self.use_beta1)
        return rates


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    def check(name: str, value: Any) -> int:
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        return value

    if total_steps is not None:
        return check("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return check("epochs", epochs) * check("steps_per_epoch", steps_per_epoch)


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """List the phases: where each ends, and between which values of a group it leads."""

    def phase(end: float, *names: str) -> dict[str, Any]:
        keys = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        return {"end_step": end, **dict(zip(keys, names, strict=True))}

    turn = float(pct_start * total_steps) - 1
    up = phase(turn, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three_phase:
        down = phase(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")
        return [up, down]
    back = float(2 * pct_start * total_steps) - 2
    return [
        up,
        phase(back, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        phase(total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]
