"""`taper.utils.hooks`: handles, and the hooks of one call of a module, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.autograd.handles import RemovableHandle
from taper.nn.modules import backward_hooks
from taper.pickling import unserializable_hook, warn_if_has_hooks

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class BackwardHook(backward_hooks.BackwardHook):
    """The full backward hooks of one call of a module, around its inputs and its outputs.

    >>> import taper
    >>> from taper.utils.hooks import BackwardHook
    >>> hook = BackwardHook("a module", [lambda module, inward, outward: print(inward)], [])
    >>> (x,) = hook.setup_input_hook((taper.ones(1, requires_grad=True),))
    >>> hook.setup_output_hook(x * 3).backward()
    (tensor([3.]),)
    """

    def __init__(
        self,
        module: Any,
        user_hooks: list[Callable[..., Any]],
        user_pre_hooks: list[Callable[..., Any]],
    ) -> None:
        super().__init__(module, user_hooks, user_pre_hooks)

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the inputs of the call, through a node that calls the hooks."""
        return self.wrap_inputs(args)

    def setup_output_hook(self, args: Any) -> Any:
        """Return the outputs of the call, through a node that notes their gradients."""
        return self.wrap_outputs(args)
