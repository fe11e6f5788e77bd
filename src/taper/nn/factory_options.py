"""`nn.factory_kwargs`: the options of a module that are meant for the making of its tensors."""

from __future__ import annotations

from typing import Any

_NAMES = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Pick the options for `empty` and its like out of a module's keyword arguments.

    Args:
        kwargs: the keyword arguments, which may hold the options themselves, or a dictionary of
            them under "factory_kwargs"; others are an error.

    Example:
        >>> from taper import nn
        >>> nn.factory_kwargs({"device": "cpu"})
        {'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    unknown = set(kwargs) - {*_NAMES, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in _NAMES:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found
