"""Arguments of calls in one form: as keywords, by the parameters of what is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from taper import nn
from taper.fx._names import public_name
from taper.overrides import overridable

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call with all defaults, or None where parameters are unknown.

    Args:
        target: the function.
        args: the arguments.
        kwargs: the keyword arguments.
        arg_types: accepted; parameters are known without them.
        kwarg_types: accepted.
        normalize_to_only_use_kwargs: pass all by keyword.

    Example:
        >>> import taper
        >>> from taper.fx.operator_schemas import normalize_function
        >>> normalize_function(taper.nn.functional.relu, (1,), normalize_to_only_use_kwargs=True)
        ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    try:
        asks = public_name(target) is not None
        known = overridable.signature(target) if asks else inspect.signature(target)
    except (TypeError, ValueError):
        return None
    return _bound(known, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call of a module with all defaults.

    Args:
        root: the module that has the other one inside.
        target: the path of the other one.
        args: the arguments.
        kwargs: the keyword arguments.
        normalize_to_only_use_kwargs: pass all by keyword.

    Example:
        >>> import taper
        >>> from taper.fx.operator_schemas import normalize_module
        >>> root = taper.nn.Sequential(taper.nn.ReLU())
        >>> normalize_module(root, "0", (1,), normalize_to_only_use_kwargs=True)
        ArgsKwargsPair(args=(), kwargs={'input': 1})
    """
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from None
    known = inspect.signature(module.forward)
    return _bound(known, args, kwargs or {}, normalize_to_only_use_kwargs)


def _bound(
    known: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_keywords: bool
) -> ArgsKwargsPair | None:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(each.kind not in kinds for each in known.parameters.values()):
        return None
    try:
        bound = known.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    if only_keywords:
        return ArgsKwargsPair((), dict(bound.arguments))
    given = dict(list(bound.arguments.items())[len(args) :])
    return ArgsKwargsPair(args, given)
