"""Making a module without giving its parameters initial values."""

from __future__ import annotations

import inspect
from typing import Any

from taper.nn.modules.module import Module
from taper.random import get_rng_state, set_rng_state

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module whose parameters have arbitrary values, without drawing random numbers.

    Args:
        module_cls: the class, whose constructor must take `device`.
        args, kwargs: what the constructor gets.

    Example:
        >>> from taper import nn
        >>> nn.utils.skip_init(nn.Linear, 2, 3)
        Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    before = get_rng_state()
    try:
        return module_cls(*args, **kwargs, device=device)
    finally:
        set_rng_state(before)
