"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Spare, plain, with_decay
from taper.tensor import Tensor


class ASGDNumbers(Numbers):
    """The coefficients of ASGD; the states `eta` and `mu` are the rates of the coming step."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.writes = 2
        self.direct = True
        self.set_decay(group)
        step, eta, mu = scalars
        step += 1.0
        lr, lambd = plain(group["lr"]), group["lambd"]
        self.shrink = self.number(1 - lambd * eta)
        self.lr = self.number(eta)
        self.part = None if mu == 1 else self.number(mu)
        next_eta = lr / (1 + lambd * lr * step) ** group["alpha"]
        self.after = (step, next_eta, 1 / max(1, step - group["t0"]))


def asgd_rule(
    ops: Any, numbers: ASGDNumbers, spare: Spare, param: Any, grad: Any, ax: Any
) -> tuple[Any, ...]:
    """Make one step: `param = (1 - lambd * eta) * param - eta * grad`; `ax` is the average.

    A breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    param = ops.multiply(param, numbers.shrink, param)
    param = ops.subtract(param, ops.multiply(grad, numbers.lr, spare[1]), param)
    if numbers.part is None:
        return param, ops.multiply(param, 1.0, ax)
    change = ops.multiply(ops.subtract(param, ax, spare[1]), numbers.part, spare[1])
    return param, ops.add(ax, change, ax)


class ASGD(RuleOptimizer):
    """Descend along the gradient, and average the parameters in the state `ax`.

        p ← (1 - lambd η) p - η g, then η ← lr / (1 + lambd lr t)^alpha, at first η = lr
        ax ← ax + μ (p - ax), then μ ← 1 / max(1, t - t0)

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        lambd: how much the parameters shrink, times η.
        alpha: the power by which η falls.
        t0: the step from which on the average is taken.
        weight_decay: how much of the parameter is added to its gradient.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        differentiable: whether autograd records the steps themselves.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.ASGD([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> optimizer.state[weight]["ax"]
        tensor([0.9000, 0.9000])
    """

    _rule = staticmethod(asgd_rule)
    _numbers = ASGDNumbers
    _looks_at_numbers = True
    _scalars = ("step", "eta", "mu")
    _late_options = (
        ("foreach", None),
        ("maximize", False),
        ("differentiable", False),
        ("capturable", False),
    )
    _capturable = (
        ("params, mus, etas, and state_steps", True),
        ("params, mus, etas, and state_steps", False),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        return (0.0, plain(group["lr"]), 1.0)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"ax": 0.0}


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Make one step of `ASGD` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lambd": lambd,
        "lr": lr,
        "t0": t0,
        "alpha": alpha,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    run_lists(ASGD, group, params, grads, (axs,), (state_steps, etas, mus))
