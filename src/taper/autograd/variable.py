"""`Variable`: the old name of Tensor, kept so that old programs run."""

from __future__ import annotations

from typing import Any

from taper.tensor import Tensor


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(tensor)` is the tensor; every Tensor is an instance of it."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Any:
        tensor = data.detach()
        tensor.requires_grad_(requires_grad)
        return tensor
