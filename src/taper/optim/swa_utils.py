"""Averages of a model over its training: stochastic weight averaging and exponential averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.nn.modules.batchnorm import _BatchNorm
from taper.nn.modules.module import Module
from taper.ops.creation.data import tensor
from taper.optim.lr_scheduler.base import LRScheduler, _format_param
from taper.optim.optimizer import Optimizer
from taper.tensor import Tensor

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]

PARAM_LIST = tuple[Tensor, ...] | list[Tensor]


# --- ways to average -------------------------------------------------------------------------


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _is_mixable(value: Tensor) -> bool:
    return bool(value.is_floating_point() or value.is_complex())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Make a function that moves all averages towards new values.

        average ← decay average + (1 - decay) value

    Args:
        decay: how much of the old average is kept.

    Example:
        >>> import taper
        >>> averages = [taper.tensor([1.0])]
        >>> taper.optim.swa_utils.get_ema_multi_avg_fn(0.9)(averages, [taper.tensor([2.0])], 1)
        >>> averages
        [tensor([1.1000])]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        mixable = _is_mixable(ema_param_list[0])
        for average, value in zip(ema_param_list, current_param_list, strict=True):
            if mixable:
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Make a function that takes one more value into each mean.

        average ← average + (value - average) / (n + 1)

    Example:
        >>> import taper
        >>> averages = [taper.tensor([1.0])]
        >>> taper.optim.swa_utils.get_swa_multi_avg_fn()(averages, [taper.tensor([2.0])], 3)
        >>> averages
        [tensor([1.2500])]
    """

    @no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        mixable = _is_mixable(averaged_param_list[0])
        for average, value in zip(averaged_param_list, current_param_list, strict=True):
            if mixable:
                average.lerp_(value, 1 / (int(num_averaged) + 1))
            else:
                average.copy_(average + (value - average) / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Make a function that returns an average moved towards a new value.

        decay average + (1 - decay) value

    Args:
        decay: how much of the old average is kept.

    Example:
        >>> import taper
        >>> average = taper.optim.swa_utils.get_ema_avg_fn(0.9)
        >>> average(taper.tensor([1.0]), taper.tensor([2.0]), 1)
        tensor([1.1000])
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        moved: Tensor = decay * ema_param + (1 - decay) * current_param
        return moved

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Make a function that returns a mean with one more value.

        average + (value - average) / (n + 1)

    Example:
        >>> import taper
        >>> taper.optim.swa_utils.get_swa_avg_fn()(taper.tensor([1.0]), taper.tensor([2.0]), 3)
        tensor([1.2500])
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        moved: Tensor = averaged_param + (current_param - averaged_param) / (num_averaged + 1)
        return moved

    return swa_update


# --- the averaged model ----------------------------------------------------------------------


class AveragedModel(Module):
    """Copy a model, and average its parameters over the training; by default their mean.

        average ← average + (p - average) / (n_averaged + 1)

    Args:
        model: the model to copy, as the attribute `module`.
        device: where to put the copy; None means the model's device.
        avg_fn: a function (average, value, n) that returns the new average of one parameter.
        multi_avg_fn: a function (averages, values, n) that changes lists of one dtype in place.
        use_buffers: whether to average buffers, too; else they are copied.

    Example:
        >>> import taper
        >>> model = taper.nn.Linear(1, 1)
        >>> average = taper.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 2.0):
        ...     _ = taper.nn.init.constant_(model.bias, value)
        ...     average.update_parameters(model)
        >>> average.module.bias
        Parameter containing:
        tensor([1.5000], requires_grad=True)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of a model into the averages; the first time copy them."""
        averages = _values_of(self.module, self.use_buffers)
        values = _values_of(model, self.use_buffers)
        pairs = [
            (average.detach(), value.detach().to(average.device))
            for average, value in zip(averages, values, strict=False)
        ]
        if int(self.n_averaged) == 0:
            for average, value in pairs:
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in pairs:
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            function = self.multi_avg_fn or get_swa_multi_avg_fn()
            for group in _by_dtype(pairs):
                function([each for each, _ in group], [each for _, each in group], self.n_averaged)
        if not self.use_buffers:
            for ours, theirs in zip(self.module.buffers(), model.buffers(), strict=False):
                ours.detach().copy_(theirs.detach().to(ours.device))
        self.n_averaged += 1


def _values_of(module: Module, use_buffers: bool) -> Iterable[Any]:
    if use_buffers:
        return itertools.chain(module.parameters(), module.buffers())
    return module.parameters()


def _by_dtype(pairs: list[tuple[Tensor, Tensor]]) -> Iterable[list[tuple[Tensor, Tensor]]]:
    groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
    for pair in pairs:
        groups.setdefault(pair[0].dtype, []).append(pair)
    return groups.values()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch norms anew.

    Args:
        loader: the batches; a batch that is a list or tuple starts with the input.
        model: the model, which is called on each batch in training mode.
        device: where to move inputs; None leaves them.

    Example:
        >>> import taper
        >>> model = taper.nn.BatchNorm1d(1)
        >>> taper.optim.swa_utils.update_bn([taper.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.])
    """
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the mean over all batches
    for batch in loader:
        value = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(value if device is None else value.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


# --- the schedule ----------------------------------------------------------------------------


class SWALR(LRScheduler):
    """Lead the rates to a constant one, and stay there.

        lr = swa_lr a + lr₀ (1 - a), a = (1 - cos(π t / anneal_epochs)) / 2, or t / anneal_epochs

    Args:
        optimizer: the optimizer whose rates to set.
        swa_lr: the rate to end with, or a list with one for each group.
        anneal_epochs: how many epochs the way takes; 0 jumps.
        anneal_strategy: "cos" or "linear", the form of the way.
        last_epoch: the epoch to go on from; -1 starts anew.

    Example:
        >>> import taper
        >>> optimizer = taper.optim.SGD([taper.ones(1)], lr=1.0)
        >>> scheduler = taper.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2)
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = _format_param("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, epoch: int) -> float:
        """Return how far the rate of an epoch is on its way to `swa_lr`."""
        passed = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        if self._anneal_strategy == "linear":
            return passed
        return (1 - math.cos(math.pi * passed)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        epoch = self._step_count - 1  # its own count, even after another's epochs
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        before, now = self._part(epoch - 1), self._part(epoch)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
