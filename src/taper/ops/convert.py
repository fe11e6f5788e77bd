"""Tensors as Python values and NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.autograd.views import requires_grad
from taper.opdef import composite
from taper.printing import tensor_repr
from taper.tensor import Tensor


@composite(public=False)
def item(self: Tensor) -> Any:
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return self._array.item()


@composite(public=False)
def tolist(self: Tensor) -> Any:
    return self._array.tolist()


@composite(public=False)
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    if not force and requires_grad(self):
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return self._array


def representation(self: Tensor) -> str:
    node = self.grad_fn
    return tensor_repr(
        self._array,
        requires_grad=self.requires_grad,
        grad_fn_name=None if node is None else node.name(),
    )


def _bool(self: Tensor) -> bool:
    if self._array.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self._array.size != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(self._array)


Tensor.__repr__ = representation
Tensor.__bool__ = _bool
Tensor.__float__ = lambda self: float(item(self))
Tensor.__int__ = lambda self: int(item(self))
