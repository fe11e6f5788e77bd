"""How error texts name the type of a value.  Knows Tensor only."""

from __future__ import annotations

from typing import Any

from taper.tensor import Tensor


def typename(value: Any) -> str:
    """The type of a value as PyTorch's error texts write it.

    >>> import taper
    >>> typename(taper.ones(2)), typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(value, Tensor):
        return str(value.type())
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or type(value).__name__
    if module in (None, "builtins", ""):
        return name
    return f"{module.replace('taper.', 'torch.', 1) if _is_ours(module) else module}.{name}"


def _is_ours(module: str) -> bool:
    return module.startswith("taper.")
