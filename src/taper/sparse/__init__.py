"""`taper.sparse`: functions for tensors of which only some elements are stored.

>>> import taper
>>> x = taper.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
>>> taper.sparse.mm(x, taper.eye(2))
tensor([[0., 2.],
        [3., 0.]])
"""

from __future__ import annotations

from taper.ops.sparse.functions import addmm, log_softmax, mm, sampled_addmm, spdiags, sum
from taper.ops.sparse.functions import softmax_ as softmax
from taper.sparse.checks import as_sparse_gradcheck, check_sparse_tensor_invariants
from taper.sparse.legacy import TENSOR_TYPES as _TENSOR_TYPES
from taper.sparse.semi_structured import (
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    to_sparse_semi_structured,
)

__all__ = [
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
    "to_sparse_semi_structured",
]

globals().update(_TENSOR_TYPES)
for _each in (addmm, log_softmax, mm, sampled_addmm, softmax, spdiags, sum):
    _each.__module__ = "torch.sparse"
softmax.__name__ = softmax.__qualname__ = "softmax"
