"""Adagrad: steps divided by the root of the sum of squared gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.sparse_updates import adagrad_step
from taper.optim.update import Numbers, Spare, with_decay
from taper.tensor import Tensor


class AdagradNumbers(Numbers):
    """The coefficients of Adagrad."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        self.after = (scalars[0] + 1.0,)
        self.direct = not group.get("fused")
        self.set_decay(group)
        lr = self.option(group["lr"])
        self.lr = self.number(lr / (1 + scalars[0] * group["lr_decay"]))
        self.eps = self.number(group["eps"])


def adagrad_rule(
    ops: Any, numbers: AdagradNumbers, spare: Spare, param: Any, grad: Any, total: Any
) -> tuple[Any, ...]:
    """Make one step: `total += grad**2; param -= lr * grad / (sqrt(total) + eps)`.

    A breakpoint here is met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    total = ops.add(total, ops.multiply(grad, grad, spare[1]), total)
    root = ops.add(ops.sqrt(total, spare[1]), numbers.eps, spare[1])
    change = ops.multiply(ops.divide(grad, root, spare[1]), numbers.lr, spare[1])
    return ops.subtract(param, change, param), total


class Adagrad(RuleOptimizer):
    """Descend with a rate for each element, which falls with the gradients seen so far.

        v ← v + g²
        p ← p - lr / (1 + (t - 1) lr_decay) g / (√v + eps)

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        lr_decay: how fast the rate falls with the steps.
        weight_decay: how much of the parameter is added to its gradient.
        initial_accumulator_value: the first v.
        eps: added to the denominator.
        foreach, fused: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        differentiable: whether autograd records the steps themselves.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.Adagrad([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(adagrad_rule)
    _sparse_step = staticmethod(adagrad_step)
    _numbers = AdagradNumbers
    _late_options = (
        ("foreach", None),
        ("maximize", False),
        ("differentiable", False),
        ("fused", None),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self._new_state(param, group)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"sum": group["initial_accumulator_value"]}

    def share_memory(self) -> None:
        """Move the states to shared memory, for training by several processes."""
        for values in self.state.values():
            values["sum"].share_memory_()


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Make one step of `Adagrad` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lr": lr,
        "weight_decay": weight_decay,
        "lr_decay": lr_decay,
        "eps": eps,
        "maximize": maximize,
        "foreach": foreach,
        "differentiable": differentiable,
        "fused": fused,
        "grad_scale": grad_scale,
        "found_inf": found_inf,
    }
    run_lists(Adagrad, group, params, grads, (state_sums,), (state_steps,))
