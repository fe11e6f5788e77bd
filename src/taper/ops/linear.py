"""The affine map of a layer."""

from __future__ import annotations

from taper.opdef import composite
from taper.ops.matmul import addmm, matmul


@composite(method=False, public=False)
def linear(input, weight, bias=None):
    """`input @ weight.T + bias`."""
    if bias is not None and input.ndim == 2:
        return addmm(bias, input, weight.t())
    product = matmul(input, weight.t())
    return product if bias is None else product + bias
