"""The base of contexts that are decorators too, as libraries import it."""

from __future__ import annotations

from typing import Any

from taper.autograd.grad_mode import decorated

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: Any) -> Any:
    """Return a function that runs in a context; a class of contexts gives each call one."""
    return decorated(ctx if callable(ctx) else lambda: ctx, func)


class _DecoratorContextManager:
    """A context that decorates functions; each call has a context of its own.

    >>> from taper.utils._contextlib import _DecoratorContextManager
    >>> class loudly(_DecoratorContextManager):
    ...     def __enter__(self):
    ...         print("in")
    ...     def __exit__(self, *raised):
    ...         print("out")
    >>> @loudly()
    ... def work():
    ...     return 3
    >>> work()
    in
    out
    3
    """

    def __call__(self, orig_func: Any) -> Any:
        return decorated(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return a context like this one; a class whose contexts have arguments overrides it."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context without arguments, which decorates without parentheses too."""

    def __new__(cls, orig_func: Any = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
