"""Adadelta: steps scaled by the ratio of two running averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Spare, moved_square, with_decay
from taper.tensor import Tensor


class AdadeltaNumbers(Numbers):
    """The coefficients of Adadelta."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.after = (scalars[0] + 1.0,)
        self.set_decay(group)
        self.lr = self.number(self.option(group["lr"]))
        self.keep = self.number(group["rho"])
        self.new = self.number(1 - group["rho"])
        self.eps = self.number(group["eps"])


def adadelta_rule(
    ops: Any,
    numbers: AdadeltaNumbers,
    spare: Spare,
    param: Any,
    grad: Any,
    square_avg: Any,
    acc_delta: Any,
) -> tuple[Any, ...]:
    """Make one step: the gradient times the root of (mean square of changes / of gradients).

    A breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    keep, new, eps = numbers.keep, numbers.new, numbers.eps
    square_avg = moved_square(ops, keep, new, spare[1], square_avg, grad)
    root = ops.sqrt(ops.add(square_avg, eps, spare[1]), spare[1])
    delta = ops.sqrt(ops.add(acc_delta, eps, spare[2]), spare[2])
    delta = ops.multiply(ops.divide(delta, root, spare[2]), grad, spare[2])
    acc_delta = moved_square(ops, keep, new, spare[1], acc_delta, delta)
    param = ops.subtract(param, ops.multiply(delta, numbers.lr, spare[1]), param)
    return param, square_avg, acc_delta


class Adadelta(RuleOptimizer):
    """Descend by steps whose size follows from the sizes of the steps before.

        v ← rho v + (1 - rho) g²
        d = √(u + eps) / √(v + eps) g, u ← rho u + (1 - rho) d²
        p ← p - lr d

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: a factor of the steps; 1 is usual.
        rho: how much of the old value the running means keep.
        eps: added under the roots; also what the first steps start from.
        weight_decay: how much of the parameter is added to its gradient.
        foreach: accepted without effect: there is one way of computing.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.
        maximize: whether to go uphill: g becomes -g.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.Adadelta([weight], eps=0.01)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.6985, 0.6985], requires_grad=True)
    """

    _rule = staticmethod(adadelta_rule)
    _numbers = AdadeltaNumbers
    _takes_pairs = False
    _late_options = (
        ("foreach", None),
        ("maximize", False),
        ("differentiable", False),
        ("capturable", False),
    )
    _capturable = (("params and state_steps", False), ("params and state_steps", False))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"square_avg": 0.0, "acc_delta": 0.0}


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Make one step of `Adadelta` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lr": lr,
        "rho": rho,
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    run_lists(Adadelta, group, params, grads, (square_avgs, acc_deltas), (state_steps,))
