"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.grad_mode import set_grad_enabled
from taper.autograd.provenance import here
from taper.ops.creation import empty_like
from taper.optim.optimizer import Optimizer
from taper.optim.update import (
    Place,
    as_arrays,
    check_writable,
    computed_in,
    count_write,
    new_state,
    plain,
    run_recorded,
    run_rule,
)
from taper.tensor import Tensor


class Numbers:
    """The coefficients of one step, as the mode of the rule wants them; 0 is None."""

    __slots__ = ("first", "keep", "lr", "negative", "nesterov", "new", "weight_decay")

    lr: Any
    weight_decay: Any  # None without
    keep: Any  # of the momentum buffer; None without
    new: Any  # part of the gradient that goes into the buffer; None if it is 1
    nesterov: bool
    negative: bool  # the gradient counts with the opposite sign (maximize)
    first: bool  # the momentum buffer has no value yet


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
    step = grad
    if numbers.weight_decay is not None:
        step = ops.multiply(param, numbers.weight_decay, spare[0])
        step = (ops.subtract if negative else ops.add)(step, grad, step if step is spare[0] else None)
        negative = False
    if numbers.keep is not None:
        momentum_buffer = _momentum(ops, numbers, spare[1], step, negative, momentum_buffer)
        if numbers.nesterov:
            ahead = ops.multiply(momentum_buffer, numbers.keep, spare[1])
            step = (ops.subtract if negative else ops.add)(ahead, step, spare[1])
        else:
            step = momentum_buffer
        negative = False
    change = ops.multiply(step, numbers.lr, spare[1])
    param = (ops.add if negative else ops.subtract)(param, change, param)
    return param, momentum_buffer
