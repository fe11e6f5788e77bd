"""Tensors that carry their mask: importable, and refused when one is made."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class
from taper.tensor import Tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_WHY = (
    "torch.masked.MaskedTensor: taper has no tensors that carry a mask: pass mask= to the "
    "functions of torch.masked"
)

MaskedTensor = refused_class("MaskedTensor", "torch.masked.maskedtensor.core", _WHY)


def is_masked_tensor(obj: Any, /) -> bool:
    """Return False: no tensor carries a mask.

    >>> import taper
    >>> taper.masked.is_masked_tensor(taper.ones(2))
    False
    """
    return False


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> Any:
    """Refuse to make a tensor that carries its mask.

    >>> import taper
    >>> taper.masked.masked_tensor(taper.ones(1), taper.tensor([True]))
    Traceback (most recent call last):
    RuntimeError: torch.masked.MaskedTensor: taper has no tensors that carry a mask: ...
    """
    raise RuntimeError(_WHY)


def as_masked_tensor(data: Tensor, mask: Tensor) -> Any:
    """Refuse to make a tensor that carries its mask.

    >>> import taper
    >>> taper.masked.as_masked_tensor(taper.ones(1), taper.tensor([True]))
    Traceback (most recent call last):
    RuntimeError: torch.masked.MaskedTensor: taper has no tensors that carry a mask: ...
    """
    raise RuntimeError(_WHY)
