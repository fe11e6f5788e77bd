"""Matrices with two of four elements: they are for GPUs, and refused."""

from __future__ import annotations

from taper.absent.answers import refused_class
from taper.tensor import Tensor

_WHY = "semi-structured sparse tensors are for GPUs with sparse tensor cores: use to_sparse()"

SparseSemiStructuredTensor = refused_class("SparseSemiStructuredTensor", "torch.sparse", _WHY)
SparseSemiStructuredTensorCUSPARSELT = refused_class(
    "SparseSemiStructuredTensorCUSPARSELT", "torch.sparse", _WHY
)
SparseSemiStructuredTensorCUTLASS = refused_class(
    "SparseSemiStructuredTensorCUTLASS", "torch.sparse", _WHY
)


def to_sparse_semi_structured(original_tensor: Tensor, transposed: bool = False) -> Tensor:
    """Refuse: only GPUs compute with these.

    >>> import taper
    >>> taper.sparse.to_sparse_semi_structured(taper.ones(4, 4))
    Traceback (most recent call last):
    RuntimeError: semi-structured sparse tensors are for GPUs with sparse tensor cores: use ...
    """
    raise RuntimeError(_WHY)
