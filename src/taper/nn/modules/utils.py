"""Small tools of modules: a number as several, and names of parameters."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix, such as the `module.` of a parallel module, off the names of a state dict.

    The dict changes in place.

    Example:
        >>> from taper.nn.modules.utils import consume_prefix_in_state_dict_if_present
        >>> state = {"module.weight": 1}
        >>> consume_prefix_in_state_dict_if_present(state, "module.")
        >>> state
        {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # "" is the parallel module itself, which its only child replaces.
        if key and (key.startswith(prefix) or key == prefix.replace(".", "")):
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Any]:
    def parse(x: Any) -> Any:
        if isinstance(x, collections.abc.Iterable):
            return tuple(x)
        return (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    return tuple([each for each in reversed(t) for _ in range(n)])


def _list_with_default(out_size: list[Any], defaults: list[int]) -> Any:
    if isinstance(out_size, int | None):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    filled = zip(out_size, defaults[-len(out_size) :], strict=True)
    return [default if size is None else size for size, default in filled]
