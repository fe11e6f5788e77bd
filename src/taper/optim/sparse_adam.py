"""SparseAdam, which is for sparse gradients; there are none here, so every step refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from taper.optim.optimizer import Loss, Optimizer, ParamsT
from taper.optim.options import check_betas
from taper.tensor import Tensor


class SparseAdam(Optimizer):
    """Descend as `Adam`, only where a sparse gradient has elements.

        p ← p - lr m̂ / (√v̂ + eps), as in `Adam`

    Args:
        params: the parameters, pairs (name, parameter), or groups: dicts with "params" and options
            of their own.
        lr: the learning rate, a number or a tensor of one.
        betas: how much of the old value the two running means keep.
        eps: added to the denominator.
        maximize: whether to go uphill: g becomes -g.

    Differs from PyTorch:
        there are no sparse gradients, so a step refuses every gradient; use `Adam`.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(2))
        >>> optimizer = taper.optim.SparseAdam([weight])
        >>> weight.sum().backward()
        >>> optimizer.step()
        Traceback (most recent call last):
        RuntimeError: SparseAdam does not support dense gradients, please consider Adam instead
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_params = [
            [number, index]
            for number, group in enumerate(self.param_groups)
            for index, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex "
                "parameters"
            )

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Refuse if a parameter has a gradient; return what `closure` returns."""
        loss = self._evaluated(closure)
        for group in self.param_groups:
            if any(param.grad is not None for param in group["params"]):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        return loss
