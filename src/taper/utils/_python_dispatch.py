"""`torch.utils._python_dispatch`: what libraries ask about classes that handle operators."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class
from taper.tensor import Tensor

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]

TorchDispatchMode = refused_class(
    "TorchDispatchMode",
    __name__,
    "TorchDispatchMode: use taper.autograd.interception.intercepting to see or replace operators",
)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return whether a tensor is made of others and says how to take it apart.

    >>> import taper
    >>> from taper.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(taper.ones(2))
    False
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether tensors of a class are made of others and say how to take them apart."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def _get_current_dispatch_mode() -> None:
    """None: no mode is at work."""


def _disable_current_modes() -> Any:
    """Return a block in which no mode is at work, as always."""
    from contextlib import nullcontext  # late: asked for by few

    return nullcontext()
