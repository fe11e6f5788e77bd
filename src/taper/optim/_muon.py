"""Muon: momentum whose matrices are made orthogonal."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, overload

import ml_dtypes
import numpy as np

from taper.autograd.provenance import here
from taper.optim.optimizer import Loss, Optimizer, ParamsT
from taper.optim.options import check_lr
from taper.optim.rule_optimizer import array_state, ready_parameters
from taper.optim.update import count_writes, plain, run_whole
from taper.tensor import Tensor

_RATES = ("original", "match_rms_adamw")


def _rounded(array: Any) -> Any:
    """Round to bfloat16, as PyTorch computes the iteration."""
    return array.astype(ml_dtypes.bfloat16).astype(np.float32)


def orthogonal(
    matrix: np.ndarray, coefficients: tuple[float, float, float], steps: int, eps: float
) -> np.ndarray:
    """Come near the orthogonal matrix nearest to `matrix`, by leading singular values towards 1.

    Each step of the Newton-Schulz iteration is a polynomial of fifth degree.
    """
    first, third, fifth = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    values = _rounded(matrix.T if tall else matrix)
    norm = _rounded(np.asarray(np.linalg.norm(values), np.float32))
    values = _rounded(values / _rounded(np.maximum(norm, np.float32(eps))))
    for _ in range(steps):
        gram = _rounded(values @ values.T)
        polynomial = _rounded(third * gram + fifth * (gram @ gram))
        values = _rounded(first * values + polynomial @ values)
    return values.T if tall else values


def _adjusted(lr: float, function: str | None, shape: tuple[int, ...]) -> float:
    """Return the rate for a matrix of this shape."""
    rows, columns = shape
    if function == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))


def muon_rule(
    group: dict[str, Any], param: np.ndarray, grad: np.ndarray, momentum_buffer: np.ndarray
) -> None:
    """Make one step, in place: `param -= lr * orthogonal(momentum)`."""
    lr, momentum = plain(group["lr"]), group["momentum"]
    momentum_buffer += (1 - momentum) * (grad - momentum_buffer)
    ahead = grad + momentum * (momentum_buffer - grad) if group["nesterov"] else momentum_buffer
    change = orthogonal(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
    param *= 1 - lr * group["weight_decay"]
    param -= _adjusted(lr, group["adjust_lr_fn"], param.shape) * change


class Muon(Optimizer):
    """Descend along momentum matrices that are made orthogonal; for hidden layers.

        b ← momentum b + (1 - momentum) g
        n = b, or with nesterov n = momentum b + (1 - momentum) g
        p ← p (1 - lr weight_decay) - lr' orthogonal(n), orthogonal by Newton-Schulz iterations

    Args:
        params: the parameters, all matrices; embeddings, biases and the last layer want another
            optimizer.
        lr: the learning rate.
        weight_decay: how much the parameter itself shrinks, times lr.
        momentum: how much of the last direction b is kept.
        nesterov: whether to look ahead along the momentum.
        ns_coefficients: of x, x³ and x⁵ in the polynomial of an iteration.
        eps: the smallest norm to divide by before the iterations.
        ns_steps: how many iterations to make.
        adjust_lr_fn: lr' of an (m, n) matrix: "original" (also None) lr √max(1, m/n);
            "match_rms_adamw" 0.2 lr √max(m, n).

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2, 2))
        >>> optimizer = taper.optim.Muon([weight], lr=0.1)
        >>> (weight * taper.eye(2)).sum().backward()
        >>> optimizer.step()
        >>> weight[0, 1]
        tensor(0.9900, grad_fn=<SelectBackward0>)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; return what `closure` returns."""
        loss = self._evaluated(closure)
        place = here()
        groups = [(group, ready_parameters(group, "Muon")) for group in self.param_groups]
        for group, ready in groups:
            _check(group, ready)
        for group, ready in groups:
            for param in ready:
                state = self.state[param]
                if not state:
                    state["momentum_buffer"] = array_state(param, 0.0)
                buffer = state["momentum_buffer"]
                rule = functools.partial(muon_rule, group)
                run_whole(rule, param, param._autograd_meta.grad._array, buffer._array)
                count_writes(place, [param], 2)
                count_writes(place, [buffer])
        return loss


def _check(group: dict[str, Any], ready: list[Tensor]) -> None:
    if any(param.is_complex() for param in ready):
        raise RuntimeError("Muon does not support complex parameters")
    if ready and group["ns_steps"] >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if ready and len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
