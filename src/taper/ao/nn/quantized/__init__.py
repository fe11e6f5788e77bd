"""`taper.ao.nn.quantized`: quantized layers; refused, except `FloatFunctional`."""

from __future__ import annotations

from collections.abc import Sequence

from taper import nn
from taper.ao.nn.quantized import dynamic  # noqa: F401
from taper.ao.refusals import refusing
from taper.nn import functional as F
from taper.ops.shape.split import cat as _cat
from taper.tensor import Tensor

__getattr__ = refusing(globals())


class FloatFunctional(nn.Module):
    """Operations that a quantized network would have as layers, on plain numbers.

    >>> import taper
    >>> from taper.ao.nn.quantized import FloatFunctional
    >>> FloatFunctional().add(taper.ones(2), taper.ones(2))
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying "
            "operation"
        )

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum."""
        return self.activation_post_process(x + y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return the sum with a number."""
        return x + y

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product."""
        return self.activation_post_process(x * y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """Return the product with a number."""
        return x * y

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """Return tensors in one."""
        return self.activation_post_process(_cat(list(x), dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum, with zero for what is negative."""
        return self.activation_post_process(F.relu(x + y))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product of matrices."""
        return self.activation_post_process(x @ y)
