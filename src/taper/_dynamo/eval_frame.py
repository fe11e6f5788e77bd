"""Compiled functions and modules: captured, so that what can be replayed is (D15).

Owns `OptimizedModule`, whose name and keys programs and checkpoints know.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from taper.nn import Module
from taper.program.capturing import capture


class OptimizedModule(Module):
    """A module around another, `_orig_mod`, which it calls and whose attributes it shows.

    >>> import taper
    >>> compiled = taper.compile(taper.nn.Linear(2, 3))
    >>> compiled.out_features, compiled.weight is compiled._orig_mod.weight
    (3, True)
    """

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        state = self.__dict__
        del state["training"]
        state["_modules"]["_orig_mod"] = mod
        state["dynamo_ctx"] = dynamo_ctx
        state["_captured"] = capture(mod)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_captured"](*args, **kwargs)

    def get_compiler_config(self) -> None:
        """Return None: nothing is compiled."""

    @property
    def training(self) -> bool:
        """Whether the module inside is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __len__(self) -> int:
        try:
            return len(self._orig_mod)
        except TypeError:
            kind = type(self._orig_mod).__name__
            raise TypeError(f"{kind} does not support len()") from None

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if name == "_orig_mod":
            return state["_modules"]["_orig_mod"]
        if name in state["_buffers"]:  # `register_buffer` is the wrapper's own
            return state["_buffers"][name]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod":
            super().__setattr__(name, value)
        elif name in self.__dict__ or name == "training":
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            object.__delattr__(self, name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._orig_mod, None)


def optimized(model: Any) -> Any:
    """Return what `compile` makes of a module, a function, a method or another callable."""
    if isinstance(model, Module) and not isinstance(model, OptimizedModule):
        return OptimizedModule(model)
    if isinstance(model, type):
        return model
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return _wrapped(model.forward if isinstance(model, OptimizedModule) else model)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function, module or class, never compiled; a decorator if there is none."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, type):
        return fn
    made: Any = optimized(fn) if callable(fn) else fn
    if isinstance(made, OptimizedModule):
        made.__dict__["_captured"] = fn
    elif not isinstance(fn, Module):
        made = _wrapped(fn, plain=True)
        made._torchdynamo_disable = True
    return made


def _wrapped(function: Callable[..., Any], plain: bool = False) -> Callable[..., Any]:
    captured: Any = function if plain else capture(function)

    @functools.wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return captured(*args, **kwargs)

    members: Any = compiled
    members._torchdynamo_orig_callable = function
    members._is_torch_compile = True
    members.get_compiler_config = lambda: None
    return compiled
