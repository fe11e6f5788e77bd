"""Adafactor: a mean square that is kept as the product of a row and a column."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from taper import dtypes
from taper.autograd.provenance import here
from taper.optim.optimizer import Loss, Optimizer, ParamsT
from taper.optim.options import check_lr
from taper.optim.rule_optimizer import ready_parameters, scalar_state
from taper.optim.update import count_writes, new_state, plain, run_whole
from taper.tensor import Tensor


def _root_mean_square(array: np.ndarray) -> float:
    return float(np.linalg.norm(array)) / math.sqrt(array.size)


def _mean_square(grad: np.ndarray, states: list[np.ndarray], part: float, eps: float) -> Any:
    """Let the states take in the gradient; return the mean square of each element."""
    square = grad * grad
    if len(states) == 1:
        states[0] += part * (square - states[0])
        return states[0]
    row, column = states
    row += part * (square.mean(-1, keepdims=True) - row)
    column += part * (square.mean(-2, keepdims=True) - column)
    return row @ column / np.maximum(row.mean(-2, keepdims=True), eps)


def adafactor_rule(
    group: dict[str, Any],
    step: float,
    eps: float,
    param: np.ndarray,
    grad: np.ndarray,
    *states: np.ndarray,
) -> None:
    """Make one step, in place: a change relative to the size of the parameter, clipped to `d`."""
    lr = plain(group["lr"])
    size = max(group["eps"][1], _root_mean_square(param)) * min(lr, 1 / math.sqrt(step))
    if group["weight_decay"]:
        param *= 1 - lr * group["weight_decay"]
    if group["maximize"]:
        grad = -grad
    mean = _mean_square(grad, list(states), step ** group["beta2_decay"], eps)
    change = grad / np.sqrt(np.maximum(mean, eps * eps))
    size /= max(1.0, _root_mean_square(change) / group["d"])
    param -= size * change


class Adafactor(Optimizer):
    """Descend as `Adam` without momentum, with a row and a column for the mean square of a matrix.

        r ← r + t^beta2_decay (mean of g² over columns - r), c likewise over rows, v = r c / mean(r)
        u = g / √max(v, eps[0]²), a = max(eps[1], rms(p)) min(lr, 1/√t)
        p ← p - a u / max(1, rms(u) / d)

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the largest relative step.
        beta2_decay: how fast the running means slow down; at most 0.
        eps: the smallest root mean square, None meaning the epsilon of the dtype, and the smallest
            size of a parameter.
        d: the largest root mean square of u; at least 1.
        weight_decay: how much the parameter itself shrinks, times lr.
        foreach: accepted without effect: there is one way of computing.
        maximize: whether to go uphill: g becomes -g.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(3, 2))
        >>> optimizer = taper.optim.Adafactor([weight], lr=0.1)
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> [tuple(value.shape) for value in optimizer.state[weight].values()]
        [(), (3, 1), (1, 2)]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for param in group["params"]:
                values = self.state.get(param)
                if values and not isinstance(values["step"], Tensor):
                    values["step"] = scalar_state(values["step"])

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; return what `closure` returns."""
        loss = self._evaluated(closure)
        place = here()
        groups = [(group, ready_parameters(group, "Adafactor")) for group in self.param_groups]
        if any(param.is_complex() for _, ready in groups for param in ready):
            raise RuntimeError("Adafactor does not support complex parameters")
        for group, ready in groups:
            for param in ready:
                state = self._state_of(param)
                count, *means = state.values()
                step = count._array.item() + 1.0
                count._array.fill(step)
                eps = group["eps"][0]
                if eps is None:
                    eps = dtypes.finfo(param.dtype).eps
                rule = functools.partial(adafactor_rule, group, step, eps)
                arrays = [param._autograd_meta.grad._array, *[each._array for each in means]]
                run_whole(rule, param, *arrays)
                count_writes(place, [param], 2 if group["weight_decay"] else 1)
                count_writes(place, means)
        return loss

    def _state_of(self, param: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[param]
        if not state:
            array, shape = param._array, param._array.shape
            state["step"] = scalar_state(0.0)
            if array.ndim > 1:
                state["row_var"] = new_state(np.zeros((*shape[:-1], 1), array.dtype))
                state["col_var"] = new_state(np.zeros((*shape[:-2], 1, shape[-1]), array.dtype))
            else:
                state["variance"] = new_state(np.zeros_like(array))
        return state
