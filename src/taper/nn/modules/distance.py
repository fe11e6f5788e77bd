"""Distances between rows: PairwiseDistance, CosineSimilarity."""

from __future__ import annotations

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class PairwiseDistance(Module):
    """Measure the distance of corresponding vectors.

        d = ‖x1 - x2 + eps‖ₚ

    Args:
        p: the kind of norm.
        eps: keeps the difference away from 0, where the norm has no derivative.
        keepdim: whether to keep the last dimension, with length 1.

    Shape: (N, D) or (D) twice → (N) or (); with `keepdim` (N, 1) or (1).

    Example:
        >>> import taper
        >>> taper.nn.PairwiseDistance()(taper.zeros(1, 2), taper.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Measure the cosine of the angle between vectors.

        c = x1·x2 / (max(‖x1‖, eps) max(‖x2‖, eps))

    Args:
        dim: the dimension of the vectors.
        eps: the smallest norm to divide by.

    Shape: (*, D, *) twice, with D at `dim` → (*, *).

    Example:
        >>> import taper
        >>> taper.nn.CosineSimilarity()(taper.tensor([[1.0, 0.0]]), taper.tensor([[2.0, 0.0]]))
        tensor([1.])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
