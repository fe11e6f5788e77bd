"""RAdam: Adam with a rectified step size."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_betas, check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Part, Spare, moved, moved_square, with_decay
from taper.tensor import Tensor


class RAdamNumbers(Numbers):
    """The coefficients of RAdam.

    `eps` is None in the first steps, in which the mean square is not trusted: its variance is
    bounded only from an effective length of 5 on.
    """

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        step = scalars[0] + 1.0
        self.after = (step,)
        lr = self.option(group["lr"])
        beta1, beta2 = group["betas"]
        self.set_decay(group, lr if group["decoupled_weight_decay"] else None)
        self.part = Part(self, beta1)
        self.keep = self.number(beta2)
        self.new = self.number(1 - beta2)
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction
        size = lr / (1 - beta1**step)
        self.eps: Any = None
        if length > 5.0:
            above = (length - 4) * (length - 2) * longest
            below = (longest - 4) * (longest - 2) * length
            size = size * (above / below * correction) ** 0.5
            self.eps = self.number(group["eps"])
        self.size = self.number(size)


def radam_rule(
    ops: Any,
    numbers: RAdamNumbers,
    spare: Spare,
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
) -> tuple[Any, ...]:
    """Make one step: `param -= size * mean`, later also `/ (sqrt(mean square) + eps)`.

    A breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    exp_avg = moved(ops, numbers.part, spare[1], exp_avg, grad)
    exp_avg_sq = moved_square(ops, numbers.keep, numbers.new, spare[1], exp_avg_sq, grad)
    direction = exp_avg
    if numbers.eps is not None:
        root = ops.add(ops.sqrt(exp_avg_sq, spare[1]), numbers.eps, spare[1])
        direction = ops.divide(exp_avg, root, spare[1])
    change = ops.multiply(direction, numbers.size, spare[1])
    return ops.subtract(param, change, param), exp_avg, exp_avg_sq


class RAdam(RuleOptimizer):
    """Descend as `Adam`, but divide by the root mean square only once it is reliable.

        r∞ = 2 / (1 - beta2) - 1, r = r∞ - 2 t beta2ᵗ / (1 - beta2ᵗ), m̂ as in `Adam`
        if r > 5: p ← p - lr m̂ R √(1 - beta2ᵗ) / (√v + eps), else p ← p - lr m̂
        R = √((r - 4)(r - 2) r∞ / ((r∞ - 4)(r∞ - 2) r))

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        betas: how much of the old value the two running means keep.
        eps: added to the denominator.
        weight_decay: how much of the parameter is added to its gradient.
        decoupled_weight_decay: whether to shrink the parameter itself, as `AdamW` does.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.RAdam([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(radam_rule)
    _numbers = RAdamNumbers
    _looks_at_numbers = True
    _late_options = (
        ("foreach", None),
        ("maximize", False),
        ("differentiable", False),
        ("decoupled_weight_decay", False),
        ("capturable", False),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """Make one step of `RAdam` over lists: parameters, gradients and states change in place.

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
        "decoupled_weight_decay": decoupled_weight_decay,
        "betas": (beta1, beta2),
    }
    run_lists(RAdam, group, params, grads, (exp_avgs, exp_avg_sqs), (state_steps,))
