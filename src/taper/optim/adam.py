"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.grad_mode import set_grad_enabled
from taper.autograd.provenance import here
from taper.ops.complexes import view_as_real
from taper.optim.optimizer import Optimizer
from taper.optim.update import (
    Place,
    check_writable,
    computed_in,
    count_writes,
    differentiable_number,
    new_state,
    number_maker,
    plain,
    run_recorded,
    run_rule,
)
from taper.tensor import Tensor

_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]


class Numbers:
    """The coefficients of step number `step`; None where a term is not in use."""

    __slots__ = (
        "amsgrad",
        "decay",
        "eps",
        "keep2",
        "mostly_new",
        "negative",
        "new2",
        "part",
        "size",
        "weight_decay",
    )

    def __init__(self, group: dict[str, Any], step: float, dtype: np.dtype | None) -> None:
        """For arrays of `dtype`, or for Tensors without one."""
        number = number_maker(dtype)
        keep = differentiable_number if dtype is None else plain
        lr, weight_decay = keep(group["lr"]), group["weight_decay"]
        beta1, beta2 = keep(group["betas"][0]), keep(group["betas"][1])
        correction = (1 - beta2**step) ** 0.5
        decoupled = group["decoupled_weight_decay"]
        self.decay = number(1 - lr * weight_decay) if weight_decay and decoupled else None
        self.weight_decay = number(weight_decay) if weight_decay and not decoupled else None
        # The mean is computed from its nearer end, as `lerp` does.
        self.mostly_new = bool(beta1 <= 0.5)
        self.part = number(beta1 if self.mostly_new else 1 - beta1)
        self.keep2 = number(beta2)
        self.new2 = number(1 - beta2)
        self.eps = number(group["eps"] * correction)
        self.size = number(lr * correction / (1 - beta1**step))
        self.amsgrad = group["amsgrad"]
        self.negative = group["maximize"]  # the gradient counts with the opposite sign


def adam_update(
    ops: Any,
    numbers: Numbers,
    spare: tuple[Any, Any],
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    max_exp_avg_sq: Any,
) -> tuple[Any, Any, Any, Any]:
    """One step: `param -= lr * mean / (sqrt(mean square) + eps)`, means corrected for their bias.

    The correction of the mean square is taken out of the root: with c = sqrt(1 - beta2**step),
    mean / (root / c + eps) = c * mean / (root + c * eps), one operation less.
    """
    negative = numbers.negative
    if numbers.decay is not None:
        param = ops.multiply(param, numbers.decay, param)
    elif numbers.weight_decay is not None:
        decayed = ops.multiply(param, numbers.weight_decay, spare[0])
        grad = (ops.subtract if negative else ops.add)(decayed, grad, spare[0])
        negative = False
    difference = (ops.add if negative else ops.subtract)(grad, exp_avg, spare[1])
    change = ops.multiply(difference, numbers.part, spare[1])
    if numbers.mostly_new:
        exp_avg = ops.subtract(*((change, grad) if negative else (grad, change)), exp_avg)
    else:
        exp_avg = (ops.subtract if negative else ops.add)(exp_avg, change, exp_avg)
    square = ops.multiply(ops.multiply(grad, grad, spare[1]), numbers.new2, spare[1])
    exp_avg_sq = ops.multiply(exp_avg_sq, numbers.keep2, exp_avg_sq)
    exp_avg_sq = ops.add(exp_avg_sq, square, exp_avg_sq)
    mean_square = exp_avg_sq
    if numbers.amsgrad:
        max_exp_avg_sq = ops.maximum(max_exp_avg_sq, exp_avg_sq, out=max_exp_avg_sq)
        mean_square = max_exp_avg_sq
    root = ops.add(ops.sqrt(mean_square, spare[1]), numbers.eps, spare[1])
    change = ops.multiply(ops.divide(exp_avg, root, spare[1]), numbers.size, spare[1])
    param = ops.subtract(param, change, param)
    return param, exp_avg, exp_avg_sq, max_exp_avg_sq


class Adam(Optimizer):
    """Gradient descent scaled by running means of the gradient and of its square.

    `foreach` and `fused` are accepted and change nothing: there is one way of computing.
    With `differentiable` the step itself is recorded.

    >>> import taper
    >>> weight = taper.nn.Parameter(taper.ones(2))
    >>> optimizer = taper.optim.Adam([weight], lr=0.1)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight
    Parameter containing:
    tensor([0.9000, 0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
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
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("capturable", False)
            group.setdefault("differentiable", False)
            group.setdefault("decoupled_weight_decay", False)
            group.setdefault("fused", None)
            for param in group["params"]:
                values = self.state.get(param)
                if values and not isinstance(values["step"], Tensor):
                    values["step"] = new_state(np.array(values["step"], np.float32))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what `closure` returns."""
        loss = self._evaluated(closure)
        place = here()
        for group in self.param_groups:
            if group["capturable"]:
                raise AssertionError(
                    "If capturable=True, params and state_steps must be on supported devices: "
                    f"{_CAPTURABLE_DEVICES}."
                )
            if group["differentiable"]:
                with set_grad_enabled(self.defaults["differentiable"]):
                    self._update_recorded(group)
            else:
                self._update(group, place)
        return loss

    def _state_of(self, param: Tensor, amsgrad: bool) -> dict[str, Any]:
        state: dict[str, Any] = self.state[param]
        if not state:
            state["step"] = new_state(np.zeros((), np.float32))
            state["exp_avg"] = new_state(np.zeros_like(param._array))
            state["exp_avg_sq"] = new_state(np.zeros_like(param._array))
            if amsgrad:
                state["max_exp_avg_sq"] = new_state(np.zeros_like(param._array))
        return state

    def _update(self, group: dict[str, Any], place: Place) -> None:
        amsgrad = group["amsgrad"]
        dtype: np.dtype | None = None
        reached: float | None = None
        for param in group["params"]:
            meta = param._meta
            grad = None if meta is None else meta.grad
            if grad is None:
                continue
            check_writable(param)
            array = param._array
            state = self._state_of(param, amsgrad)
            count = state["step"]._array
            step = count.item() + 1.0
            count.fill(step)
            if step != reached or array.dtype is not dtype:
                reached, dtype = step, array.dtype
                numbers = Numbers(group, step, computed_in(dtype))
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            largest = state["max_exp_avg_sq"]._array if amsgrad else None
            run_rule(adam_update, numbers, array, grad._array, mean._array, square._array, largest)
            count_writes(place, param, mean, square)

    def _update_recorded(self, group: dict[str, Any]) -> None:
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self._state_of(param, group["amsgrad"])
            if state["step"].requires_grad:
                raise RuntimeError(
                    "`requires_grad` is not supported for `step` in differentiable mode"
                )
            state["step"]._array += 1
            numbers = Numbers(group, state["step"].item(), None)
            values = [param, grad, state["exp_avg"], state["exp_avg_sq"]]
            values.append(state["max_exp_avg_sq"] if group["amsgrad"] else None)
            if param.is_complex():
                values = [None if each is None else view_as_real(each) for each in values]
            run_recorded(adam_update, numbers, *values)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly instead of through the gradient.

    >>> import taper
    >>> taper.optim.AdamW([taper.ones(1)]).defaults["weight_decay"]
    0.01
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _check_options(options: dict[str, Any]) -> None:
    lr, betas = options["lr"], options["betas"]
    _check_tensor("lr", lr, options)
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not 0.0 <= options["eps"]:
        raise ValueError(f"Invalid epsilon value: {options['eps']}")
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
    if not 0.0 <= options["weight_decay"]:
        raise ValueError(f"Invalid weight_decay value: {options['weight_decay']}")
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        _check_tensor(f"betas[{index}]", beta, options)


def _check_tensor(name: str, value: Any, options: dict[str, Any]) -> None:
    if isinstance(value, Tensor):
        if options["foreach"] and not options["capturable"]:
            raise ValueError(
                f"{name} as a Tensor is not supported for capturable=False and foreach=True"
            )
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")
