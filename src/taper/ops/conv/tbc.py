"""`conv_tbc`: the convolution of sequences that are laid out as (time, batch, channels)."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from taper.dtypes import FROM_NUMPY, no_kernel
from taper.factory import refuse
from taper.opdef import Array, derivative, op, tangent_of
from taper.ops.conv.checks import wide
from taper.ops.conv.convolution import convolution_backward
from taper.ops.image.padding import constant_pad_nd
from taper.ops.shape.transpose import permute


@op(method=False)
def conv_tbc(self: Array, weight: Array, bias: Array, pad: int = 0) -> Array:
    """Convolve along the first dimension of (time, batch, channels).

    result[t, b] = bias + Σₖ input[t + k - pad, b] @ weight[k]

    Args:
        input: signal (T, B, C).
        weight: kernel (K, C, O).
        bias: vector (O,).
        pad: zeros added at both ends of the time.

    Shape: (T + 2·pad - K + 1, B, O).

    Example:
        >>> import taper
        >>> x = taper.tensor([1.0, 2.0, 3.0]).view(3, 1, 1)
        >>> taper.conv_tbc(x, taper.tensor([[[1.0]], [[10.0]]]), taper.zeros(1)).flatten()
        tensor([21., 32.])
    """
    _check(self, weight, bias, pad)
    array = constant_pad_nd.op.kernel(wide(self), (0, 0, 0, 0, pad, pad))
    kernel = wide(weight)
    steps = len(array) - len(kernel) + 1
    shape = (steps, self.shape[1], weight.shape[2])
    if steps < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {steps}: {list(shape)}"
        )
    result = np.empty(shape, array.dtype)
    if array.dtype.kind == "b" and result.size and kernel.size:
        raise no_kernel("addmm_impl_cpu_", array.dtype)
    result[...] = bias
    for tap, matrix in enumerate(kernel):
        result += np.matmul(array[tap : tap + steps], matrix)
    return result.astype(self.dtype, copy=False)


def _check(self: ndarray, weight: ndarray, bias: ndarray, pad: int) -> None:
    if type(pad) is not int:
        refuse("conv_tbc", "pad", 4, "int", pad)
    if self.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    if self.dtype is not weight.dtype:
        names = [FROM_NUMPY[each.dtype].scalar_type for each in (self, weight)]
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}"
        )


@derivative(conv_tbc, wrt=("self", "weight", "bias"))
def conv_tbc_all(grad, self, weight, bias, pad, needs):
    """Differentiate as a convolution over the last dimension of (batch, channels, time)."""
    if not len(grad):
        return self * 0.0, weight * 0.0, bias * 0.0
    found = convolution_backward(
        permute(grad, (1, 2, 0)),
        constant_pad_nd(permute(self, (1, 2, 0)), (pad, pad), 0),
        permute(weight, (2, 1, 0)),
        tuple(bias.shape),
        *((1,), (0,), (1,), False, (0,), 1),
        needs,
    )
    return (
        permute(constant_pad_nd(found[0], (-pad, -pad), 0), (2, 0, 1)) if needs[0] else None,
        permute(found[1], (2, 1, 0)) if needs[1] else None,
        found[2] if needs[2] else None,
    )


@tangent_of(conv_tbc)
def conv_tbc_tangent(self, weight, bias, pad, self_t, weight_t, bias_t):
    nothing = bias.detach().new_zeros(bias.shape)
    moved = conv_tbc(
        self,
        weight.new_zeros(weight.shape) if weight_t is None else weight_t,
        nothing if bias_t is None else bias_t,
        pad,
    )
    return moved if self_t is None else moved + conv_tbc(self_t, weight, nothing, pad)
