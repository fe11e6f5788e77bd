"""Hooks on saved tensors: the stack of them that a thread has, and the blocks that change it.

`saved` says what a hook does to a saved value; a recorded operation asks the topmost pair only
(§S13).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from taper.autograd.state import SAVED_HOOKS, local
from taper.tensor import Tensor


def push_hooks(pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
    """Put a pair of hooks on top of the stack of this thread."""
    state = local.state
    if state.hooks_disabled is not None:
        raise RuntimeError(state.hooks_disabled)
    if not (callable(pack_hook) and callable(unpack_hook)):
        raise TypeError(
            "_push_saved_tensors_default_hooks(): incompatible function arguments. The following "
            "argument types are supported:\n    1. (arg0: collections.abc.Callable, arg1: "
            f"collections.abc.Callable) -> None\n\nInvoked with: {pack_hook!r}, {unpack_hook!r}"
        )
    state.saved_hooks += ((pack_hook, unpack_hook),)
    state.mode |= SAVED_HOOKS


def pop_hooks() -> None:
    """Take the topmost pair off."""
    state = local.state
    state.saved_hooks = state.saved_hooks[:-1]
    if not state.saved_hooks:
        state.mode &= ~SAVED_HOOKS


def top_hooks(ignore_is_tracing: bool = False) -> tuple[Any, Any] | None:
    """Return the pair that tensors are packed with now; `ignore_is_tracing` has no effect."""
    hooks = local.state.saved_hooks
    return hooks[-1] if hooks else None


def hooks_enabled() -> bool:
    """Return whether hooks may be pushed.

    >>> import taper
    >>> with taper.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     taper._C._autograd._saved_tensors_hooks_is_enabled()
    False
    """
    return local.state.hooks_disabled is None


def hooks_disabled_message() -> str | None:
    """Return what pushing hooks raises now, None if they are allowed."""
    return local.state.hooks_disabled


def disable_hooks(error_message: str, fail_if_non_empty: bool = True) -> None:
    """Refuse hooks from now on, with `error_message`."""
    state = local.state
    if state.saved_hooks and fail_if_non_empty:
        raise RuntimeError(error_message)
    state.hooks_disabled = error_message


def enable_hooks() -> None:
    """Allow hooks again."""
    local.state.hooks_disabled = None


class saved_tensors_hooks:
    """Send every tensor saved inside the block through `pack_hook`, and back through `unpack_hook`.

    Args:
        pack_hook: gets a tensor when it is saved, and returns any object to keep instead.
        unpack_hook: gets that object when backward needs the tensor, and returns the tensor.

    >>> import taper
    >>> x = taper.tensor([2.0], requires_grad=True)
    >>> with taper.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), taper.tensor):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: object) -> None:
        # As `pop_hooks`, but without a call: Ctrl-C can raise only when everything is put back.
        state = local.state
        state.saved_hooks = state.saved_hooks[:-1]
        if not state.saved_hooks:
            state.mode &= ~SAVED_HOOKS


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory until backward needs them.

    Args:
        pin_memory: accepted; there is no device to pin memory for.
        device_type: accepted without effect.

    >>> import taper
    >>> x = taper.tensor([2.0], requires_grad=True)
    >>> with taper.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            # Detached: a saved output that is kept unchanged would keep its own node alive.
            return tensor.device, tensor.detach().to("cpu")

        def unpack(packed: tuple[Any, Tensor]) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Refuse saved-tensor hooks inside the block; pushing them raises `error_message`.

    >>> import taper
    >>> with taper.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with taper.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: no hooks here
    """
    before = hooks_disabled_message()
    disable_hooks(error_message)
    try:
        yield
    finally:
        local.state.hooks_disabled = before
