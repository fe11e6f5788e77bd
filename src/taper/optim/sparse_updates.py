"""Updates of dense parameters by sparse gradients: only the places that have elements change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.autograd.views import bump_version
from taper.tensor import Tensor


def _places(grad: Any) -> tuple[Any, np.ndarray]:
    """Return where a gradient has elements, as an index, and the elements."""
    tidy = grad.coalesce()
    return tuple(tidy._indices()._array), tidy._values()._array


def _add(target: Tensor, places: Any, values: np.ndarray) -> None:
    """Add at places that are all different."""
    array: Any = target._array
    array[places] += values.astype(array.dtype, copy=False)
    bump_version(target)


def descend(param: Tensor, grad: Any, lr: float) -> None:
    """Move a parameter against a gradient, sparse or dense."""
    param.detach().add_(grad, alpha=-lr)
    bump_version(param)


def sgd_step(param: Tensor, state: Any, group: dict[str, Any]) -> None:
    """Do a step of SGD; the momentum is sparse, too."""
    grad: Any = param.grad.detach()  # type: ignore[union-attr]
    momentum = group["momentum"]
    if group["maximize"]:
        grad = -grad
    if group["weight_decay"]:
        grad = grad.add(param.detach(), alpha=group["weight_decay"])
    if momentum:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    descend(param, grad, float(group["lr"]))


def adagrad_step(param: Tensor, state: Any, group: dict[str, Any]) -> None:
    """Do a step of Adagrad."""
    if group["weight_decay"]:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    grad: Any = param.grad.detach()  # type: ignore[union-attr]
    if group["maximize"]:
        grad = -grad
    state["step"]._array[...] += 1
    rate = float(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
    places, values = _places(grad)
    if not values.size:
        return
    _add(state["sum"], places, values * values)
    deviation = np.sqrt(state["sum"]._array[places]) + group["eps"]
    _add(param, places, -rate * (values / deviation))


def sparse_adam_step(param: Tensor, state: Any, group: dict[str, Any]) -> None:
    """Do a step of SparseAdam."""
    grad: Any = param.grad.detach()  # type: ignore[union-attr]
    places, values = _places(-grad if group["maximize"] else grad)
    state["step"] += 1
    if not values.size:
        return
    beta1, beta2 = group["betas"]
    mean, square = state["exp_avg"]._array[places], state["exp_avg_sq"]._array[places]
    mean_change = (values - mean) * (1 - beta1)
    square_change = (values * values - square) * (1 - beta2)
    _add(state["exp_avg"], places, mean_change)
    _add(state["exp_avg_sq"], places, square_change)
    denominator = np.sqrt(square + square_change) + group["eps"]
    first, second = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
    size = float(group["lr"]) * math.sqrt(second) / first
    _add(param, places, -size * (mean + mean_change) / denominator)
