"""RMSprop: steps divided by the root of a running mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Part, Spare, moved, moved_square, with_decay
from taper.tensor import Tensor


class RMSpropNumbers(Numbers):
    """The coefficients of RMSprop."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.after = (scalars[0] + 1.0,)
        self.set_decay(group)
        alpha, momentum = group["alpha"], group["momentum"]
        self.lr = self.number(self.option(group["lr"]))
        self.keep = self.number(alpha)
        self.new = self.number(1 - alpha)
        self.eps = self.number(group["eps"])
        self.direct = not momentum
        self.momentum = self.number(momentum) if momentum > 0 else None
        self.part = Part(self, alpha) if group["centered"] else None


def rmsprop_rule(
    ops: Any,
    numbers: RMSpropNumbers,
    spare: Spare,
    param: Any,
    grad: Any,
    square_avg: Any,
    *optional: Any,
) -> tuple[Any, ...]:
    """Make one step: `param -= lr * grad / (sqrt(mean square) + eps)`, perhaps with momentum.

    `optional` are the momentum and the mean gradient, each if it is in use. A breakpoint here is
    met if `programs.live_rules` is True.
    """
    buffers = list(optional)
    param, grad = with_decay(ops, numbers, spare, param, grad)
    square_avg = moved_square(ops, numbers.keep, numbers.new, spare[1], square_avg, grad)
    variance = square_avg
    if numbers.part is not None:
        mean = buffers[-1] = moved(ops, numbers.part, spare[1], buffers[-1], grad)
        variance = ops.subtract(square_avg, ops.multiply(mean, mean, spare[1]), spare[1])
    root = ops.add(ops.sqrt(variance, spare[1]), numbers.eps, spare[1])
    direction = ops.divide(grad, root, spare[1])
    if numbers.momentum is not None:
        momentum = ops.multiply(buffers[0], numbers.momentum, buffers[0])
        direction = buffers[0] = ops.add(momentum, direction, buffers[0])
    param = ops.subtract(param, ops.multiply(direction, numbers.lr, spare[1]), param)
    return param, square_avg, *buffers


class RMSprop(RuleOptimizer):
    """Descend along the gradient divided by the root of its running mean square.

        v ← alpha v + (1 - alpha) g²
        p ← p - lr g / (√v + eps)

    With `momentum`, b ← momentum b + g / (√v + eps) and p ← p - lr b. With `centered`, v is
    replaced by v - a², a the running mean of g: the variance.

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        alpha: how much of the old value the running means keep.
        eps: added to the denominator.
        weight_decay: how much of the parameter is added to its gradient.
        momentum: how much of the last direction b is kept.
        centered: whether to divide by the standard deviation.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.RMSprop([weight], lr=0.01)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(rmsprop_rule)
    _numbers = RMSpropNumbers
    _late_options = (
        ("momentum", 0),
        ("centered", False),
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
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        arrays = {"square_avg": 0.0}
        if group["momentum"] > 0:
            arrays["momentum_buffer"] = 0.0
        if group["centered"]:
            arrays["grad_avg"] = 0.0
        return arrays


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Make one step of `RMSprop` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lr": lr,
        "alpha": alpha,
        "eps": eps,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "centered": centered,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    states = [square_avgs]
    if momentum > 0:
        states.append(momentum_buffer_list)
    if centered:
        states.append(grad_avgs)
    run_lists(RMSprop, group, params, grads, states, (state_steps,))
