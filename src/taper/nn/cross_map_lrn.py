"""The function behind `nn.CrossMapLRN2d`, with PyTorch's numbers.

Its windows are unexpected: the first channel is in all of them, and those of the gradient are
shifted against those of the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.autograd.function import Function
from taper.autograd.grad_mode import is_grad_enabled
from taper.ops.creation.data import from_numpy
from taper.tensor import Tensor


class CrossMapLRN2d(Function):
    """Divide by a power of the sum of squares of neighbouring channels."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        share = alpha / size
        if not input.is_floating_point():
            raise RuntimeError("result type Float can't be cast to the desired output type Long")
        reach = (size - 1) // 2
        ctx.size, ctx.alpha, ctx.beta, ctx.k = size, alpha, beta, k
        ctx.scale = _summed(input * input, -reach, reach, first_always=True) * share + k
        output = (input * ctx.scale.pow(-beta)).contiguous()
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None, None, None]:
        input, output = ctx.saved_tensors
        if is_grad_enabled():
            raise RuntimeError(
                "mul(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        low = -((ctx.size + 1) // 2)
        high = low + ctx.size - 1
        if high < low + 1:
            count = input.size(1)
            raise RuntimeError(f"start (1) + length ({count}) exceeds dimension size ({count}).")
        summed = _summed(grad_output * output / ctx.scale, low, high)
        factor = 2 * ctx.alpha * ctx.beta / ctx.size
        grad = grad_output * ctx.scale.pow(-ctx.beta) - factor * input * summed
        return grad.contiguous(), None, None, None, None


def _summed(values: Tensor, low: int, high: int, first_always: bool = False) -> Tensor:
    """Return for each channel c the sum over the channels from c + low to c + high that exist."""
    count = values.size(1)
    window = np.tri(count, k=high) - np.tri(count, k=low - 1)
    if first_always:
        window[:, 0] = 1
    weights = from_numpy(window).to(values.dtype)
    return (weights @ values.flatten(2)).view(values.shape)
