"""Adamax: Adam with the largest absolute gradient in place of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_betas, check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Part, Spare, moved, with_decay
from taper.tensor import Tensor


class AdamaxNumbers(Numbers):
    """The coefficients of Adamax."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        step = scalars[0] + 1.0
        self.after = (step,)
        self.set_decay(group)
        beta1, beta2 = group["betas"]
        self.part = Part(self, beta1)
        self.keep = self.number(beta2)
        self.eps = self.number(group["eps"])
        self.lr = self.number(self.option(group["lr"]) / (1 - beta1**step))


def adamax_rule(
    ops: Any,
    numbers: AdamaxNumbers,
    spare: Spare,
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_inf: Any,
) -> tuple[Any, ...]:
    """Make one step: `largest = max(beta2 * largest, |grad| + eps); param -= lr * mean / largest`.

    A breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    exp_avg = moved(ops, numbers.part, spare[1], exp_avg, grad)
    size = ops.add(ops.absolute(grad, spare[1]), numbers.eps, spare[1])
    exp_inf = ops.maximum(ops.multiply(exp_inf, numbers.keep, exp_inf), size, out=exp_inf)
    change = ops.multiply(ops.divide(exp_avg, exp_inf, spare[1]), numbers.lr, spare[1])
    return ops.subtract(param, change, param), exp_avg, exp_inf


class Adamax(RuleOptimizer):
    """Descend as `Adam`, divided by the largest recent gradient instead of the root mean square.

        m ← beta1 m + (1 - beta1) g, u ← max(beta2 u, |g| + eps)
        p ← p - lr m / ((1 - beta1ᵗ) u)

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        betas: how much of the old value m and u keep.
        eps: added to |g|.
        weight_decay: how much of the parameter is added to its gradient.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        differentiable: whether autograd records the steps themselves.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.Adamax([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(adamax_rule)
    _numbers = AdamaxNumbers
    _late_options = (
        ("foreach", None),
        ("maximize", False),
        ("differentiable", False),
        ("capturable", False),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """Make one step of `Adamax` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lr": lr,
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
        "betas": (beta1, beta2),
    }
    run_lists(Adamax, group, params, grads, (exp_avgs, exp_infs), (state_steps,))
