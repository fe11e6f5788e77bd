"""hash_tensor: one number for many elements, so that tensors can be compared by content."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.reduction import Dims, axes_of, dims_of
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, op
from taper.opdef.writes import compute_into
from taper.tensor import Tensor


@op(name="xor_of_bits", label="hash_tensor", public=False, method=False, layout=ROW_MAJOR)
def xor_of_bits(self: Array, dim: Dims, keepdim: bool) -> Array:
    """Compute the exclusive or of all elements, first widened to 64 bits."""
    if self.dtype.kind == "c":
        raise no_kernel("xor_sum_cpu", self.dtype)
    axes = axes_of(dim, self.ndim)
    if not self.size:
        if not dim:
            raise RuntimeError(
                "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        for axis in axes:
            if not self.shape[axis]:
                raise IndexError(
                    f"hash_tensor: Expected reduction dim {axis} to have non-zero size."
                )
    if self.dtype.kind in "iub":
        bits = self.astype(np.uint64 if self.dtype.kind == "u" else np.int64)
    else:
        bits = self.astype(np.float64)
    combine: Any = np.bitwise_xor.reduce
    return combine(bits.view(np.uint64), axis=axes, keepdims=keepdim)


@composite(arrays=True, numpy_names=True)
def hash_tensor(
    input: Tensor,
    dim: Any = (),
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """Hash the elements along dimensions, or all: the exclusive or of their bits.

    >>> import taper
    >>> taper.hash_tensor(taper.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)
    """
    dims = dims_of(dim, "hash_tensor")
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if out is None:
        return xor_of_bits(input, dims, keepdim)
    if out.dtype is not dtypes.uint64:
        raise RuntimeError(
            f"Expected result to be of dtype uint64, but got {out.dtype.scalar_type}"
        )
    return compute_into(None, xor_of_bits, (input, dims, keepdim), out)
