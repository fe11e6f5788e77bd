"""Adam: running averages of gradients and of their squares, corrected for their start."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.optim.functional_form import check_steps, run_lists
from taper.optim.optimizer import ParamsT
from taper.optim.options import check_betas, check_lr, check_not_negative
from taper.optim.rule_optimizer import RuleOptimizer
from taper.optim.update import Numbers, Part, Spare, moved, moved_square, with_decay
from taper.tensor import Tensor


class AdamNumbers(Numbers):
    """The coefficients of Adam."""

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        super().__init__(group, scalars, dtype)
        lr = self.option(group["lr"])
        beta1, beta2 = self.option(group["betas"][0]), self.option(group["betas"][1])
        self.set_decay(group, lr if group["decoupled_weight_decay"] else None)
        self.part = Part(self, beta1)
        self.keep = self.number(beta2)
        self.new = self.number(1 - beta2)
        self.eps, self.size = map(self.number, self._of_step(group, lr, beta1, beta2, scalars))

    def _of_step(
        self, group: dict[str, Any], lr: Any, beta1: Any, beta2: Any, scalars: tuple[float, ...]
    ) -> tuple[Any, Any]:
        """Return the coefficients that change with every step: eps and size."""
        step = scalars[0] + 1.0
        self.after = (step,)
        correction = (1 - beta2**step) ** 0.5
        return group["eps"] * correction, lr * correction / (1 - beta1**step)

    def advance(self, group: dict[str, Any], scalars: tuple[float, ...]) -> None:
        """Become the coefficients of another step with the same options, which are numbers."""
        beta1, beta2 = group["betas"]
        eps, size = self._of_step(group, group["lr"], beta1, beta2, scalars)
        self.eps.fill(eps)
        self.size.fill(size)


def adam_rule(
    ops: Any,
    numbers: AdamNumbers,
    spare: Spare,
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    max_exp_avg_sq: Any = None,
) -> tuple[Any, ...]:
    """Make one step: `param -= lr * mean / (sqrt(mean square) + eps)`, means corrected for bias.

    The correction of the mean square is taken out of the root: with c = sqrt(1 - beta2**step),
    mean / (root / c + eps) = c * mean / (root + c * eps), one operation less. A breakpoint here is
    met if `programs.live_rules` is True.
    """
    param, grad = with_decay(ops, numbers, spare, param, grad)
    exp_avg = moved(ops, numbers.part, spare[1], exp_avg, grad)
    exp_avg_sq = moved_square(ops, numbers.keep, numbers.new, spare[1], exp_avg_sq, grad)
    states: tuple[Any, ...] = (exp_avg, exp_avg_sq)
    mean_square = exp_avg_sq
    if max_exp_avg_sq is not None:
        mean_square = ops.maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
        states = (exp_avg, exp_avg_sq, mean_square)
    root = ops.add(ops.sqrt(mean_square, spare[1]), numbers.eps, spare[1])
    change = ops.multiply(ops.divide(exp_avg, root, spare[1]), numbers.size, spare[1])
    return ops.subtract(param, change, param), *states


class Adam(RuleOptimizer):
    """Descend along a running mean of the gradient, divided by the root of a running mean square.

        m ← beta1 m + (1 - beta1) g, v ← beta2 v + (1 - beta2) g²
        p ← p - lr m̂ / (√v̂ + eps), m̂ = m / (1 - beta1ᵗ), v̂ = v / (1 - beta2ᵗ)

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        betas: how much of the old value the two running means keep.
        eps: added to the denominator.
        weight_decay: how much of the parameter is added to its gradient.
        amsgrad: whether to use the largest v so far instead of v.
        foreach, fused: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.
        capturable: keep the count of steps on the GPU, for graphs; the CPU refuses it.
        differentiable: whether autograd records the steps themselves.
        decoupled_weight_decay: whether to shrink the parameter itself, as `AdamW` does.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.Adam([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([0.9000, 0.9000], requires_grad=True)
    """

    _rule = staticmethod(adam_rule)
    _sparse_refusal = "Adam"
    _numbers = AdamNumbers
    _late_options = (
        ("amsgrad", False),
        ("maximize", False),
        ("foreach", None),
        ("capturable", False),
        ("differentiable", False),
        ("decoupled_weight_decay", False),
        ("fused", None),
    )
    _step_refusal = "`requires_grad` is not supported for `step` in differentiable mode"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        _check_options(defaults)
        super().__init__(params, defaults)

    def _arrays(self, group: dict[str, Any]) -> dict[str, Any]:
        arrays = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
        return {**arrays, "max_exp_avg_sq": 0.0} if group["amsgrad"] else arrays


def _check_options(options: dict[str, Any]) -> None:
    lr, betas = options["lr"], options["betas"]
    _check_foreach("lr", lr, options)
    check_lr(lr)
    check_not_negative(eps=options["eps"])
    check_betas(betas)
    check_not_negative(weight_decay=options["weight_decay"])
    if not any(
        isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)
    ):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        _check_foreach(f"betas[{index}]", beta, options)
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")


def _check_foreach(name: str, value: Any, options: dict[str, Any]) -> None:
    if isinstance(value, Tensor) and options["foreach"] and not options["capturable"]:
        raise ValueError(
            f"{name} as a Tensor is not supported for capturable=False and foreach=True"
        )


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Make one step of `Adam` over lists: parameters, gradients and states change in place.

    Differs: `foreach` and `fused` change nothing but what PyTorch refuses for them.
    """
    check_steps(state_steps)
    group = {
        "lr": lr,
        "eps": eps,
        "weight_decay": weight_decay,
        "amsgrad": amsgrad,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
        "fused": fused,
        "grad_scale": grad_scale,
        "found_inf": found_inf,
        "decoupled_weight_decay": decoupled_weight_decay,
        "betas": (beta1, beta2),
    }
    states = [exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])]
    run_lists(Adam, group, params, grads, states, (state_steps,))
