"""Normalisation over neighbouring channels: LocalResponseNorm, CrossMapLRN2d."""

from __future__ import annotations

from taper.nn import functional as F
from taper.nn.cross_map_lrn import CrossMapLRN2d as _Function
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class LocalResponseNorm(Module):
    """Divide by the energy of neighbouring channels.

        y[c] = x[c] / (k + alpha/size Σ x[i]²)^beta, i over the size channels around c

    Args:
        size: how many channels are neighbours.
        alpha: the factor of the energy.
        beta: the exponent.
        k: added to the energy.

    Shape: (N, C, *) → the same.

    Example:
        >>> import taper
        >>> taper.nn.LocalResponseNorm(2, alpha=1.0, beta=0.5)(taper.ones(1, 1, 1))
        tensor([[[0.8165]]])
    """

    __constants__ = ["size", "alpha", "beta", "k"]  # noqa: RUF012 - as PyTorch's

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Divide by the energy of neighbouring channels, with the windows of Lua Torch.

        y[c] = x[c] / (k + alpha/size Σ x[i]²)^beta

    The numbers are PyTorch's, whose windows are unexpected: all of them contain the first channel,
    and those of the gradient are shifted. `LocalResponseNorm` has neither fault.

    Args:
        size: how many channels are neighbours.
        alpha: the factor of the energy.
        beta: the exponent.
        k: added to the energy.

    Shape: (N, C, H, W) → the same.

    Example:
        >>> import taper
        >>> taper.nn.CrossMapLRN2d(1, alpha=1.0, beta=0.5)(taper.ones(1, 1, 1, 1))
        tensor([[[[0.7071]]]])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = _Function.apply(input, self.size, self.alpha, self.beta, self.k)
        return result

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
