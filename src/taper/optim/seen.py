"""Steps of optimizers as operators on Tensors, for modes that see operators.

An update rule runs on arrays, where no mode sees it.  While one is open, the commonest optimizers
take these steps instead: one parameter after the other, by the operators that PyTorch calls.  What
is rare (`amsgrad`, `centered`, other optimizers) has no such step, and runs as always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.tensor import Tensor

Step = Callable[[dict[str, Any], Any, Tensor, Any], None]


def _decayed(group: dict[str, Any], param: Tensor, grad: Any) -> Any:
    """Return the gradient of what is minimised, with the decay of the weights."""
    if group["maximize"]:
        grad = -grad
    decay = group["weight_decay"]
    return grad if decay == 0 else grad.add(param, alpha=decay)


def _sgd(group: dict[str, Any], state: Any, param: Tensor, grad: Any) -> None:
    grad = _decayed(group, param, grad)
    momentum = group["momentum"]
    if momentum != 0:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    param.add_(grad, alpha=-group["lr"])


def _adam(group: dict[str, Any], state: Any, param: Tensor, grad: Any) -> None:
    state["step"].add_(1)
    lr, (beta1, beta2) = group["lr"], group["betas"]
    if group["decoupled_weight_decay"]:
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
    else:
        grad = _decayed(group, param, grad)
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    count = state["step"].item()
    scale = math.sqrt(1 - beta2**count)
    below = (square.sqrt() / scale).add_(group["eps"])
    param.addcdiv_(mean, below, value=-lr / (1 - beta1**count))


def _rmsprop(group: dict[str, Any], state: Any, param: Tensor, grad: Any) -> None:
    state["step"].add_(1)
    grad = _decayed(group, param, grad)
    alpha, lr = group["alpha"], group["lr"]
    square = state["square_avg"]
    square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    below = square.sqrt().add_(group["eps"])
    if group["momentum"] > 0:
        buffer = state["momentum_buffer"]
        buffer.mul_(group["momentum"]).addcdiv_(grad, below)
        param.add_(buffer, alpha=-lr)
    else:
        param.addcdiv_(grad, below, value=-lr)


def _adagrad(group: dict[str, Any], state: Any, param: Tensor, grad: Any) -> None:
    state["step"].add_(1)
    count = state["step"].item()
    grad = _decayed(group, param, grad)
    rate = group["lr"] / (1 + (count - 1) * group["lr_decay"])
    state["sum"].addcmul_(grad, grad, value=1)
    below = state["sum"].sqrt().add_(group["eps"])
    param.addcdiv_(grad, below, value=-rate)


_STEPS: dict[str, Step] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adam,
    "RMSprop": _rmsprop,
    "Adagrad": _adagrad,
}


def step_for(optimizer: Any, group: dict[str, Any]) -> Step | None:
    """Return the step of an optimizer that a mode sees, None if there is none."""
    rare = group.get("amsgrad") or group.get("centered") or group.get("fused")
    if rare or isinstance(group["lr"], Tensor):
        return None
    return _STEPS.get(type(optimizer).__name__)


def update(optimizer: Any, group: dict[str, Any], ready: list[Tensor], step: Step) -> None:
    """Update parameters by operators."""
    with no_grad():
        for param in ready:
            if type(optimizer).__name__ != "SGD" and not optimizer._has_state(param, ()):
                optimizer._new_state(param, group)
            step(group, optimizer.state[param], param, param.grad)
