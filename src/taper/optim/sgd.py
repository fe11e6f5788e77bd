"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.grad_mode import set_grad_enabled
from taper.autograd.provenance import here
from taper.optim.optimizer import Optimizer
from taper.optim.update import (
    Place,
    check_writable,
    computed_in,
    count_writes,
    differentiable_number,
    new_state,
    number_maker,
    plain,
    run_recorded,
    run_rule,
)
from taper.tensor import Tensor


class Numbers:
    """The coefficients of one step; None where a term is not in use."""

    __slots__ = ("first", "keep", "lr", "negative", "nesterov", "new", "recorded", "weight_decay")

    def __init__(self, group: dict[str, Any], dtype: np.dtype | None) -> None:
        """For arrays of `dtype`, or for Tensors without one."""
        number = number_maker(dtype)
        self.recorded = dtype is None
        keep = differentiable_number if self.recorded else plain
        self.lr = number(keep(group["lr"]))
        weight_decay, momentum = keep(group["weight_decay"]), group["momentum"]
        dampening = group["dampening"]
        self.weight_decay = number(weight_decay) if weight_decay else None
        self.keep = number(momentum) if momentum else None
        self.new = number(1 - dampening) if dampening else None
        self.nesterov = group["nesterov"]
        self.negative = group["maximize"]  # the gradient counts with the opposite sign
        self.first = False  # the momentum buffer has no value yet


def sgd_update(
    ops: Any,
    numbers: Numbers,
    spare: tuple[Any, Any],
    param: Any,
    grad: Any,
    momentum_buffer: Any,
) -> tuple[Any, Any]:
    """One step: `buffer = momentum * buffer + (1 - dampening) * grad; param -= lr * buffer`."""
    negative = numbers.negative
    if numbers.weight_decay is not None:
        decayed = ops.multiply(param, numbers.weight_decay, spare[0])
        grad = (ops.subtract if negative else ops.add)(decayed, grad, spare[0])
        negative = False
    if numbers.keep is not None:
        combine = ops.subtract if negative else ops.add
        if numbers.first:
            start = grad.detach() if numbers.recorded else grad
            momentum_buffer = ops.multiply(start, -1.0 if negative else 1.0, momentum_buffer)
        else:
            momentum_buffer = ops.multiply(momentum_buffer, numbers.keep, momentum_buffer)
            new = grad if numbers.new is None else ops.multiply(grad, numbers.new, spare[1])
            momentum_buffer = combine(momentum_buffer, new, momentum_buffer)
        if numbers.nesterov:
            ahead = ops.multiply(momentum_buffer, numbers.keep, spare[1])
            grad = combine(ahead, grad, spare[1])
        else:
            grad = momentum_buffer
        negative = False
    change = ops.multiply(grad, numbers.lr, spare[1])
    param = (ops.add if negative else ops.subtract)(param, change, param)
    return param, momentum_buffer


class SGD(Optimizer):
    """Gradient descent with optional momentum, Nesterov's or the heavy ball's, and weight decay.

    `foreach` and `fused` are accepted and change nothing: there is one way of computing.
    With `differentiable` the step itself is recorded.

    >>> import taper
    >>> weight = taper.nn.Parameter(taper.ones(2))
    >>> optimizer = taper.optim.SGD([weight], lr=0.1)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight
    Parameter containing:
    tensor([0.9000, 0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("differentiable", False)
            group.setdefault("fused", False)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what `closure` returns."""
        loss = self._evaluated(closure)
        place = here()
        for group in self.param_groups:
            if group["differentiable"]:
                with set_grad_enabled(self.defaults["differentiable"]):
                    self._update_recorded(group)
            else:
                self._update(group, place)
        return loss

    def _update(self, group: dict[str, Any], place: Place) -> None:
        momentum = group["momentum"]
        dtype: np.dtype | None = None
        for param in group["params"]:
            meta = param._meta
            grad = None if meta is None else meta.grad
            if grad is None:
                continue
            check_writable(param)
            array = param._array
            if array.dtype is not dtype:
                dtype = array.dtype
                numbers = Numbers(group, computed_in(dtype))
            buffer = None
            if momentum:
                state = self.state[param]
                buffer = state.get("momentum_buffer")
                numbers.first = buffer is None
                if buffer is None:
                    buffer = state["momentum_buffer"] = new_state(np.empty_like(array))
                run_rule(sgd_update, numbers, array, grad._array, buffer._array)
                count_writes(place, param, buffer)
            else:
                run_rule(sgd_update, numbers, array, grad._array, None)
                count_writes(place, param)

    def _update_recorded(self, group: dict[str, Any]) -> None:
        numbers = Numbers(group, None)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            buffer = None
            if group["momentum"]:
                state = self.state[param]
                buffer = state.get("momentum_buffer")
                numbers.first = buffer is None
                if buffer is None:
                    buffer = state["momentum_buffer"] = new_state(np.zeros_like(param._array))
            run_recorded(sgd_update, numbers, param, grad, buffer)
