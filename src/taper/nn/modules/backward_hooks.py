"""Full backward hooks of a Module: identity nodes around its inputs and outputs (§H12).

A module with such hooks gets its input tensors through one node and hands its output tensors
out through another.  In the backward pass the second node runs first and notes the gradients of
the outputs; when the first node has run, the gradients of the inputs are known too and the
user's hooks are called with both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.function import Function
from taper.autograd.grad_mode import is_grad_enabled
from taper.tensor import Tensor
from taper.userwarning import warn_user


class BackwardHookFunction(Function):
    """Return the tensors unchanged; those that require no gradient stay so."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """Hold the hooks of one call of a module, and what the backward pass has found out for them.

    `grad_outputs` is None except between the two nodes of one pass, so the hooks do not fire when
    a gradient reaches the inputs by another way (double backward).
    """

    def __init__(
        self,
        module: Any,
        hooks: Sequence[Callable[..., Any]],
        pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_count = 0
        self.output_count = 0
        self.input_positions: list[int] | None = None
        self.output_positions: list[int] | None = None

    def wrap_inputs(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Send the tensors among `values` through a node that calls the hooks after it has run."""
        self.input_count = len(values)
        wrapped, self.input_positions = _through_node(values, self._after_inputs)
        return wrapped

    def wrap_outputs(self, result: Any) -> Any:
        """Send the output tensors through a node that notes their gradients."""
        values = result if isinstance(result, tuple) else (result,)
        self.output_count = len(values)
        wrapped, self.output_positions = _through_node(values, self._after_outputs)
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def _after_outputs(self, _: Any, grads: tuple[Any, ...]) -> Any:
        positions = self.output_positions or []
        found = _spread(positions, grads, self.output_count)
        for hook in self.pre_hooks:
            replaced = hook(self.module, found)
            if replaced is not None:
                if len(replaced) != len(found):
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got "
                        f"{len(replaced)}, but expected {len(found)}"
                    )
                found = replaced
        if self.input_positions is None:
            self._call_without_inputs(found)
        else:
            self.grad_outputs = found
        return tuple(found[position] for position in positions)

    def _call_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """Call the hooks now if no input requires a gradient: the first node does not exist."""
        warn_user(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See https://docs.pytorch.org/docs/main/"
            "generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more "
            "details."
        )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, grad_outputs)
            if result is not None and not (
                isinstance(result, tuple) and all(each is None for each in result)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _after_inputs(self, grads: tuple[Any, ...], _: Any) -> Any:
        if self.grad_outputs is None:
            return None
        positions = self.input_positions or []
        found = _spread(positions, grads, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module, found, self.grad_outputs)
            if replaced is not None:
                if len(replaced) != len(found):
                    raise RuntimeError(
                        "Backward hook returned an invalid number of grad_input, got "
                        f"{len(replaced)}, but expected {len(found)}"
                    )
                found = replaced
        self.grad_outputs = None
        return tuple(found[position] for position in positions)


def _through_node(
    values: tuple[Any, ...], hook: Callable[[Any, Any], Any]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """Return `values` with new tensors, and their places; None if none requires a gradient."""
    positions = [nr for nr, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[nr] for nr in positions]
    if not (is_grad_enabled() and any(each.requires_grad for each in tensors)):
        return values, None
    replaced = BackwardHookFunction.apply(*tensors)
    node = next(each.grad_fn for each in replaced if each.grad_fn is not None)
    node.register_hook(hook)
    result = list(values)
    for nr, tensor in zip(positions, replaced, strict=True):
        result[nr] = tensor
    return _same_kind(values, result), positions


def _same_kind(values: tuple[Any, ...], replaced: list[Any]) -> tuple[Any, ...]:
    kind: Any = type(values)
    return kind(*replaced) if hasattr(kind, "_fields") else kind(replaced)


def _spread(positions: list[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Put `values` at their positions among `count`, and None elsewhere."""
    spread = [None] * count
    for position, value in zip(positions, values, strict=True):
        spread[position] = value
    return tuple(spread)
