"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_betas, check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Part, Spare, moved, moved_square, with_decay
from taper.tensor import Tensor


class NAdamNumbers(Numbers):
    """The coefficients of NAdam; the momentum `mu` grows towards beta1."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[Any, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.writes = 2
        self.direct = True
        step, product = scalars
        step += 1.0
        lr = self.option(group["lr"])
        beta1, beta2 = group["betas"]
        self.set_decay(group, lr if group["decoupled_weight_decay"] else None)
        mu, next_mu = (
            beta1 * (1 - 0.5 * 0.96 ** (number * group["momentum_decay"]))
            for number in (step, step + 1)
        )
        product = product * mu
        self.after = (step, product)
        correction = (1 - beta2**step) ** 0.5
        self.part = Part(self, beta1)
        self.keep = self.number(beta2)
        self.new = self.number(1 - beta2)
        self.eps = self.number(group["eps"] * correction)
        self.of_grad = self.number(lr * (1 - mu) / (1 - product) * correction)
        self.of_mean = self.number(lr * next_mu / (1 - product * next_mu) * correction)


def nadam_rule(
    ops: Any,
    numbers: NAdamNumbers,
    spare: Spare,
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
) -> tuple[Any, ...]:
    """Make one step: like Adam's, along a mix of the gradient and of the mean that comes next.

    The correction of the mean square is taken out of the root, as in Adam. A breakpoint here is
    met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    exp_avg = moved(ops, numbers.part, spare[1], exp_avg, grad)
    exp_avg_sq = moved_square(ops, numbers.keep, numbers.new, spare[1], exp_avg_sq, grad)
    root = ops.add(ops.sqrt(exp_avg_sq, spare[1]), numbers.eps, spare[1])
    along = ops.multiply(grad, numbers.of_grad, spare[2])
    along = ops.add(along, ops.multiply(exp_avg, numbers.of_mean, spare[0]), spare[2])
    change = ops.divide(along, root, spare[1])
    return ops.subtract(param, change, param), exp_avg, exp_avg_sq


class NAdam(RuleOptimizer):
    """Descend as `Adam`, with Nesterov momentum: the step looks ahead to the next mean.

        μ[t] = beta1 (1 - 0.96^(t momentum_decay) / 2), Π[t] = μ[1] ... μ[t], v̂ as in `Adam`
        m̂ = μ[t+1] m / (1 - Π[t+1]) + (1 - μ[t]) g / (1 - Π[t])
        p ← p - lr m̂ / (√v̂ + eps)

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        betas: how much of the old value the two running means keep.
        eps: added to the denominator.
        weight_decay: how much of the parameter is added to its gradient.
        momentum_decay: how fast the momentum grows towards beta1.
        decoupled_weight_decay: whether to shrink the parameter itself, as `AdamW` does.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.NAdam([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.8944, 0.8944], requires_grad=True)
    """

    _rule = staticmethod(nadam_rule)
    _numbers = NAdamNumbers
    _scalars = ("step", "mu_product")
    _differentiable_scalars = ("mu_product",)
    _late_options = (
        ("maximize", False),
        ("foreach", None),
        ("capturable", False),
        ("differentiable", False),
        ("decoupled_weight_decay", False),
    )
    _capturable = (
        ("params, mu_products and state_steps", True),
        ("params, mu_products, and state_steps", False),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        return (0.0, 1.0)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Make one step of `NAdam` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lr": lr,
        "eps": eps,
        "weight_decay": weight_decay,
        "momentum_decay": momentum_decay,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
        "decoupled_weight_decay": decoupled_weight_decay,
        "betas": (beta1, beta2),
    }
    run_lists(NAdam, group, params, grads, (exp_avgs, exp_avg_sqs), (state_steps, mu_products))
