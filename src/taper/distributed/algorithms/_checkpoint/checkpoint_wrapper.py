"""Modules whose activations are computed again in the backward pass instead of being kept."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from taper.nn.modules.module import Module
from taper.utils.checkpoint import checkpoint

__all__ = [
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
]

_INNER = "_checkpoint_wrapped_module"


class CheckpointImpl(enum.Enum):
    """How activations are computed again."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module around another, whose names do not show in state dicts.

    Args:
        mod: the module.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_load_state_dict_pre_hook(_renamed)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._checkpoint_wrapped_module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _INNER:
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        inner: Any = self._checkpoint_wrapped_module
        return inner[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """Return names, without the wrapper's, and parameters."""
        for name, each in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{_INNER}.", ""), each

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the state of the module inside."""
        return self._checkpoint_wrapped_module.state_dict(*args, **kwargs)


def _renamed(module: Any, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    for key in [each for each in state_dict if each.startswith(prefix)]:
        rest = key[len(prefix) :]
        if not rest.startswith(_INNER):
            state_dict[f"{prefix}{_INNER}.{rest}"] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """Compute a module again in the backward pass instead of keeping its activations.

    Args:
        mod: the module.
        checkpoint_impl: how.
        checkpoint_fn: a function instead of `taper.utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: its options.
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        self._function = checkpoint_fn
        self._options = checkpoint_fn_kwargs

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is not None:
            inner = self._checkpoint_wrapped_module
            return self._function(inner, *args, **kwargs, **self._options)
        reentrant = self.checkpoint_impl is CheckpointImpl.REENTRANT

        def run(*given: Any) -> Any:
            return self._checkpoint_wrapped_module(*given, **kwargs)

        return checkpoint(run, *args, use_reentrant=reentrant, **self._options)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """Wrap a module so that its activations are computed again.

    Args:
        module: the module.
        checkpoint_impl, checkpoint_fn, checkpoint_fn_kwargs: as for `CheckpointWrapper`.

    >>> import taper
    >>> from taper.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    >>> list(checkpoint_wrapper(taper.nn.Linear(2, 1)).state_dict())
    ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap the modules of a model for which a function says so, in place.

    Args:
        model: the model.
        checkpoint_wrapper_fn: wraps a module.
        check_fn: says which.
        auto_wrap_policy: says which, instead of `check_fn`.
    """
    for name, child in list(model._modules.items()):
        if child is None:
            continue
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn, auto_wrap_policy)
        wanted = check_fn(child)
        if auto_wrap_policy is not None:
            wanted = auto_wrap_policy(module=child, recurse=False, nonwrapped_numel=0)
        if wanted:
            model._modules[name] = checkpoint_wrapper_fn(child)
