"""`torch._tensor_str`: how tensors are printed, under PyTorch's name of the module."""

from __future__ import annotations

from typing import Any

from taper.printing import options as PRINT_OPTS
from taper.tensor import Tensor

__all__ = ["PRINT_OPTS", "_str", "_tensor_str"]


def _str(self: Tensor, *, tensor_contents: Any = None) -> str:
    """Return the text of a tensor, or that of given contents with the tensor's properties."""
    text: Any = self.__repr__
    shown: str = text(tensor_contents=tensor_contents)
    return shown


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return the numbers of a tensor as text, with following lines moved to the right."""
    text = repr(self.detach())
    return text[len("tensor(") : text.rindex("]") + 1] if "]" in text else text[7:-1]
