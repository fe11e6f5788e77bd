"""Stochastic gradient descent."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from taper.optim.functional_form import run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.sparse_updates import sgd_step
from taper.optim.update import Numbers, Spare, with_decay
from taper.tensor import Tensor


class SGDNumbers(Numbers):
    """The coefficients of SGD."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.lr = self.number(self.option(group["lr"]))
        self.set_decay(group)
        self.direct = not (group["momentum"] or group.get("fused"))
        self.keep = self.number(group["momentum"]) if group["momentum"] else None
        dampening = group["dampening"]
        self.new = self.number(1 - dampening) if dampening else None
        self.nesterov = group["nesterov"]


def sgd_rule(
    ops: Any, numbers: SGDNumbers, spare: Spare, param: Any, grad: Any, momentum_buffer: Any = None
) -> tuple[Any, ...]:
    """Make one step: `buffer = momentum * buffer + (1 - dampening) * grad; param -= lr * buffer`.

    A breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    if momentum_buffer is None:
        return (ops.subtract(param, ops.multiply(grad, numbers.lr, spare[1]), param),)
    if numbers.first:
        start = grad if numbers.dtype is not None else grad.detach()
        momentum_buffer = ops.multiply(start, 1.0, momentum_buffer)
    else:
        new = grad if numbers.new is None else ops.multiply(grad, numbers.new, spare[1])
        momentum_buffer = ops.multiply(momentum_buffer, numbers.keep, momentum_buffer)
        momentum_buffer = ops.add(momentum_buffer, new, momentum_buffer)
    if numbers.nesterov:
        ahead = ops.multiply(momentum_buffer, numbers.keep, spare[1])
        grad = ops.add(ahead, grad, spare[1])
    else:
        grad = momentum_buffer
    change = ops.multiply(grad, numbers.lr, spare[1])
    return ops.subtract(param, change, param), momentum_buffer


class SGD(RuleOptimizer):
    """Descend along the gradient, with momentum if wanted.

        b ← momentum b + (1 - dampening) g, at first b = g
        p ← p - lr b, with nesterov p ← p - lr (g + momentum b), without momentum p ← p - lr g

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        momentum: how much of the last direction b is kept.
        dampening: how much of the gradient does not enter b.
        weight_decay: how much of the parameter is added to its gradient.
        nesterov: whether to look ahead along the momentum; needs momentum, and no dampening.
        maximize: whether to go uphill: g becomes -g.
        foreach, fused: accepted without effect: there is one way of computing.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.SGD([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(sgd_rule)
    _sparse_step = staticmethod(sgd_step)
    _numbers = SGDNumbers
    _takes_pairs = False
    _scalars = ()
    _read_options = staticmethod(
        itemgetter("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
    )
    _late_options = (
        ("nesterov", False),
        ("maximize", False),
        ("foreach", None),
        ("differentiable", False),
        ("fused", False),
    )
    _foreach_differentiable = True

    def __init__(
        self,
        params: ParamsT,
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

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        return ()

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _has_state(self, param: Tensor, names: tuple[str, ...]) -> bool:
        # Momentum may be switched on later, when other states of the user's are there.
        return not names or self.state[param].get("momentum_buffer") is not None


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Make one step of `SGD` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    group = {
        "lr": lr,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
        "foreach": foreach,
        "fused": fused,
        "grad_scale": grad_scale,
        "found_inf": found_inf,
        "differentiable": False,
    }
    states = [momentum_buffer_list] if momentum else []
    run_lists(SGD, group, params, d_p_list, states, ())
