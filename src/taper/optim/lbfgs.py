"""L-BFGS: a quasi-Newton method that remembers the last changes instead of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.autograd.grad_mode import enable_grad, no_grad
from taper.device import strided
from taper.ops.creation.filled import zeros
from taper.ops.elementwise.complexes import view_as_real
from taper.ops.shape.split import cat
from taper.optim.line_search import DESCENT, FLATNESS, Point, StrongWolfe
from taper.optim.optimizer import Loss, Optimizer, ParamsT
from taper.optim.options import check_lr
from taper.optim.update import plain
from taper.tensor import Tensor


class LBFGS(Optimizer):
    """Minimise a function of all parameters together, by an estimate of its curvature.

        p ← p - a H g, H from the last changes of p and g; a = lr, or by line search

    `step` calls its closure often: a function that clears gradients, computes the loss, calls
    `backward` and returns the loss.

    Args:
        params: the parameters, in one group.
        lr: the length of steps without a line search.
        max_iter: how many iterations a step makes at most.
        max_eval: how often a step calls the closure at most; None means max_iter · 5/4.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when parameters or loss change less.
        history_size: how many changes to remember.
        line_search_fn: None, or "strong_wolfe".

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.tensor([3.0, -2.0]))
        >>> optimizer = taper.optim.LBFGS([weight], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((weight - 1) ** 4).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(97., grad_fn=<SumBackward0>)
        >>> closure().item() < 1e-6
        True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # --- all parameters as one vector ----------------------------------------------------------

    def _flat_grad(self) -> Tensor:
        pieces = []
        for param in self._params:
            grad: Any = param.grad
            if grad is None:
                count = param.numel() * (2 if param.is_complex() else 1)
                pieces.append(zeros(count, dtype=param.dtype.to_real()))
            elif grad.layout is not strided:
                pieces.append(grad.to_dense().reshape(-1))
            else:
                pieces.append((view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        found: Tensor = cat(pieces, 0)
        return found

    def _add_grad(self, step: Any, direction: Tensor) -> None:
        """Move the parameters by `step * direction`."""
        offset = 0
        for param in self._params:
            target = view_as_real(param) if param.is_complex() else param
            count = target.numel()
            piece = direction[offset : offset + count].view_as(target)
            target.add_(piece, alpha=plain(step))
            offset += count

    def _evaluate(
        self, closure: Callable[[], Any], start: list[Tensor], direction: Tensor, step: Any
    ) -> Point:
        """Return the loss at a step from the start; the parameters go back there."""
        self._add_grad(step, direction)
        value = float(closure())
        grad = self._flat_grad()
        for param, data in zip(self._params, start, strict=True):
            param.copy_(data)
        return Point(step, value, grad, grad.dot(direction))

    # --- the step ------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Loss]) -> Loss:  # type: ignore[override]
        """Make up to `max_iter` iterations; return the loss before the first."""
        with no_grad():
            return self._minimise(enable_grad()(closure))

    def _minimise(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        flat_grad = self._flat_grad()
        if flat_grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        memory = Memory(state, group["history_size"])
        step, iteration = state.get("t"), 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = memory.direction(flat_grad, step, state["n_iter"] == 1)
            memory.loss = loss
            step = group["lr"]
            if state["n_iter"] == 1:
                step = min(1.0, 1.0 / flat_grad.abs().sum()) * step
            slope = flat_grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            start = Point(0, loss, flat_grad, slope)
            left = group["max_eval"] - evaluations
            point, used = self._advance(closure, group, direction, start, step, last, left)
            step, loss, flat_grad = point.step, point.value, point.grad
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"] or _finished(group, point, memory):
                break
        memory.save(state, step)
        return first_loss

    def _advance(
        self,
        closure: Callable[[], Any],
        group: dict[str, Any],
        direction: Tensor,
        start: Point,
        step: Any,
        last: bool,
        left: int,
    ) -> tuple[Point, int]:
        """Move along the direction; return the loss there, and how often the closure was called.

        A line search narrows its bracket at most `left` times.
        """
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            kept = [param.clone() for param in self._params]

            def evaluate(size: Any) -> Point:
                return self._evaluate(closure, kept, direction, size)

            largest = direction.abs().max()
            point, used = StrongWolfe(evaluate, start, largest, most_rounds=left).run(step)
            self._add_grad(point.step, direction)
            return point, used
        self._add_grad(step, direction)
        if last:  # nobody would look at a new gradient
            return start._replace(step=step), 0
        loss = float(closure())
        return Point(step, loss, self._flat_grad(), None), 1


def _strong_wolfe(
    obj_func: Callable[..., Any],
    x: Any,
    t: Any,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Any,
    c1: float = DESCENT,
    c2: float = FLATNESS,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """Search along a direction, as libraries that bring their own L-BFGS call it.

    `obj_func(x, t, d)` gives the loss and the gradient at `x + t * d`.
    """

    def evaluate(size: Any) -> Point:
        loss, grad = obj_func(x, size, d)
        return Point(size, loss, grad, grad.dot(d))

    start = Point(0, f, g.clone(), gtd)
    search = StrongWolfe(evaluate, start, d.abs().max(), tolerance_change, most_rounds=max_ls)
    search.descent, search.flatness = c1, c2
    point, used = search.run(t)
    return point.value, point.grad, point.step, used


def _finished(group: dict[str, Any], point: Point, memory: Memory) -> bool:
    tolerance = group["tolerance_change"]
    return bool(
        point.grad.abs().max() <= group["tolerance_grad"]
        or memory.d.mul(plain(point.step)).abs().max() <= tolerance
        or abs(point.value - memory.loss) < tolerance
    )


class Memory:
    """Hold the last changes of the gradient and of the parameters, and what else a step keeps."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state = state
        self.size = size
        self.d: Any = state.get("d")
        self.grad_changes: Any = state.get("old_dirs")
        self.changes: Any = state.get("old_stps")
        self.inverses: Any = state.get("ro")
        self.scale: Any = state.get("H_diag")
        self.grad: Any = state.get("prev_flat_grad")
        self.loss: Any = state.get("prev_loss")

    def save(self, state: dict[str, Any], step: Any) -> None:
        """Put everything into the optimizer's state, in PyTorch's names and order."""
        state["d"] = self.d
        state["t"] = step
        state["old_dirs"] = self.grad_changes
        state["old_stps"] = self.changes
        state["ro"] = self.inverses
        state["H_diag"] = self.scale
        state["prev_flat_grad"] = self.grad
        state["prev_loss"] = self.loss

    def direction(self, grad: Tensor, step: Any, first: bool) -> Tensor:
        """Return where to go from a gradient: against it, bent by what is remembered."""
        if first:
            self.grad_changes, self.changes, self.inverses, self.scale = [], [], [], 1
            self.d = -grad
        else:
            self._remember(grad - self.grad, self.d * plain(step))
            self.d = self._bent(-grad)
        if self.grad is None:
            self.grad = grad.clone()
        else:
            self.grad.copy_(grad)
        return self.d

    def _remember(self, grad_change: Tensor, change: Tensor) -> None:
        product = grad_change.dot(change)
        if not product > 1e-10:  # no positive curvature
            return
        if len(self.changes) == self.size:
            for remembered in (self.grad_changes, self.changes, self.inverses):
                remembered.pop(0)
        self.grad_changes.append(grad_change)
        self.changes.append(change)
        self.inverses.append(1.0 / product)
        self.scale = product / grad_change.dot(grad_change)

    def _bent(self, direction: Tensor) -> Tensor:
        """Return the inverse Hessian that is remembered times a vector: the two-loop recursion."""
        factors = self.state.setdefault("al", [None] * self.size)
        for index in reversed(range(len(self.changes))):
            factors[index] = self.changes[index].dot(direction) * self.inverses[index]
            direction.add_(self.grad_changes[index], alpha=-factors[index].item())
        direction = direction * self.scale
        for index in range(len(self.changes)):
            back = self.grad_changes[index].dot(direction) * self.inverses[index]
            direction.add_(self.changes[index], alpha=(factors[index] - back).item())
        return direction
