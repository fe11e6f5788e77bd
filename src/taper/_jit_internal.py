"""Marks and types of programs for TorchScript, under the names that libraries import them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

from taper.absent import compilers
from taper.futures import Future
from taper.jit import _overload, _overload_method, export, ignore, is_scripting, unused

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "Future",
    "List",
    "Optional",
    "Tuple",
    "Union",
    "_copy_to_script_wrapper",
    "_overload",
    "_overload_method",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]


class _BroadcastingList:
    """`BroadcastingList2[int]`: a number, or two of them."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = _BroadcastingList()
BroadcastingList3 = _BroadcastingList()

_copy_to_script_wrapper = compilers.itself


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None = None,
    func_name: str | None = None,
) -> Callable[..., Any]:
    """Return a function that calls one of two, by the value of a flag among its arguments."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if arg_name in kwargs:
            chosen = kwargs[arg_name]
        else:
            chosen = args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **kwargs)

    if if_true.__doc__ is None and if_false.__doc__ is not None:
        function.__doc__ = if_false.__doc__
    elif if_false.__doc__ is None:
        function.__doc__ = if_true.__doc__
    else:
        raise RuntimeError("only one function can have a docstring")
    function.__name__ = func_name or function.__name__
    function.__module__ = module_name or function.__module__
    return function
