"""`torch.fx._compatibility`: the mark that PyTorch's own functions of `fx` carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """Return a decorator that says whether a function will stay as it is; it changes nothing.

    >>> from taper.fx._compatibility import compatibility
    >>> compatibility(is_backward_compatible=True)(len) is len
    True
    """
    return lambda function: function
