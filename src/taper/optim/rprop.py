"""Rprop: resilient backpropagation."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_lr
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Spare, plain, with_decay
from taper.tensor import Tensor


class RpropNumbers(Numbers):
    """The coefficients of Rprop."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.after = (scalars[0] + 1.0,)
        self.shrink, self.grow = (self.number(each) for each in group["etas"])
        self.least, self.most = (self.number(each) for each in group["step_sizes"])


def rprop_rule(
    ops: Any, numbers: RpropNumbers, spare: Spare, param: Any, grad: Any, prev: Any, step_size: Any
) -> tuple[Any, ...]:
    """Make one step of `step_size` against the sign of the gradient.

    The size grows where the sign stays, and shrinks where it changed; there no step is made. A
    breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    agreement = ops.multiply(grad, prev, spare[1])
    turned = ops.less(agreement, 0.0)
    factor = ops.where(
        ops.greater(agreement, 0.0), numbers.grow, ops.where(turned, numbers.shrink, 1.0)
    )
    step_size = ops.multiply(step_size, factor, step_size)
    step_size = ops.maximum(step_size, numbers.least, out=step_size)
    step_size = ops.minimum(step_size, numbers.most, out=step_size)
    grad = ops.where(turned, 0.0, grad)
    change = ops.where(
        ops.greater(grad, 0.0),
        step_size,
        ops.where(ops.less(grad, 0.0), ops.negative(step_size), 0.0),
    )
    return ops.subtract(param, change, param), ops.multiply(grad, 1.0, prev), step_size


class Rprop(RuleOptimizer):
    """Step against the sign of the gradient, by a size for each element; for whole batches.

        s ← s etas[1] where g keeps its sign, s etas[0] where g changes it, within step_sizes
        p ← p - s sign(g), where g does not change its sign

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the first size s of steps.
        etas: the factors of the size, below and above 1.
        step_sizes: the smallest and the largest size.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.Rprop([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(rprop_rule)
    _numbers = RpropNumbers
    _late_options = (
        ("foreach", None),
        ("maximize", False),
        ("differentiable", False),
        ("capturable", False),
    )
    _capturable = (("params and state_steps", True), ("params and state_steps", True))

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"prev": 0.0, "step_size": plain(group["lr"])}


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Make one step of `Rprop` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
        "etas": (etaminus, etaplus),
        "step_sizes": (step_size_min, step_size_max),
    }
    run_lists(Rprop, group, params, grads, (prevs, step_sizes), (state_steps,))
