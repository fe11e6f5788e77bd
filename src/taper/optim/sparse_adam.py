"""SparseAdam: Adam for sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from taper.device import strided
from taper.optim.optimizer import Loss, Optimizer, ParamsT
from taper.optim.options import check_betas
from taper.optim.rule_optimizer import array_state
from taper.optim.sparse_updates import sparse_adam_step
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

    Example:
        >>> import taper
        >>> table = taper.nn.Embedding.from_pretrained(taper.ones(3, 2), freeze=False, sparse=True)
        >>> optimizer = taper.optim.SparseAdam(table.parameters(), lr=0.5)
        >>> table(taper.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> table.weight.data
        tensor([[1.0000, 1.0000],
                [0.5000, 0.5000],
                [1.0000, 1.0000]])
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
        """Update all parameters that have a gradient; return what `closure` returns."""
        loss = self._evaluated(closure)
        for group in self.param_groups:
            ready = [param for param in group["params"] if param.grad is not None]
            if any(param.grad.layout is strided for param in ready):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
            for param in ready:
                state = self.state[param]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = array_state(param, 0)
                    state["exp_avg_sq"] = array_state(param, 0)
                sparse_adam_step(param, state, group)
        return loss
