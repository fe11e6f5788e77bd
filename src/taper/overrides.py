"""`taper.overrides`: functions that ask their arguments' classes for `__torch_function__`.

It is for a program's own functions.  Operators do not ask: their results on user classes are plain
tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from taper.autograd.overrides import is_off
from taper.nn.parameter import Parameter
from taper.tensor import Tensor

__all__ = [
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "wrap_torch_function",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether the class of one of the values handles functions itself.

    >>> import taper
    >>> taper.overrides.has_torch_function((taper.ones(2), 3))
    False
    """
    if not isinstance(relevant_args, list | tuple):
        raise TypeError("expected a sequence")
    return bool(_asked(relevant_args))


def _asked(values: Iterable[Any]) -> list[Any]:
    """Return a value of each class to ask, subclasses before their base classes."""
    found: list[Any] = []
    for each in () if is_off() else values:
        kind = type(each)
        if kind in (Tensor, Parameter) or not hasattr(kind, "__torch_function__"):
            continue
        if kind not in map(type, found):
            places = [i for i, other in enumerate(found) if issubclass(kind, type(other))]
            found.insert(places[0] if places else len(found), each)
    return found


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let the first class that wants to do the work of `public_api`.

    >>> import taper
    >>> class Loud:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__.upper()
    >>> def double(x):
    ...     if taper.overrides.has_torch_function((x,)):
    ...         return taper.overrides.handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> double(Loud())
    'DOUBLE'
    """
    asked = _asked(relevant_args)
    types = tuple(type(each) for each in asked)
    for each in types:
        answer = each.__torch_function__(public_api, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{list(types)}"
    )


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Return a decorator for functions that ask the values which `dispatcher` picks.

    >>> import taper
    >>> class Logged:
    ...     @classmethod
    ...     def __torch_function__(cls, function, types, args=(), kwargs=None):
    ...         return f"asked for {function.__name__}"
    >>> @taper.overrides.wrap_torch_function(lambda value: (value,))
    ... def double(value):
    ...     return 2 * value
    >>> double(taper.ones(1)), double(Logged())
    (tensor([2.]), 'asked for double')
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a tensor or of a class with `__torch_function__`.

    >>> import taper
    >>> taper.overrides.is_tensor_like(taper.ones(2)), taper.overrides.is_tensor_like(3)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


class TorchFunctionMode:
    """Refused: operators do not ask for modes."""

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            "TorchFunctionMode: operators do not ask for modes. Use "
            "taper.autograd.interception.intercepting to see or replace operators."
        )

    def __exit__(self, *raised: object) -> None:
        return None
