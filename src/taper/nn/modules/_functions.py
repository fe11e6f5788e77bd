"""Batch normalisation with the statistics of all processes, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.autograd.function import Function, once_differentiable
from taper.distributed.groups import ProcessGroup
from taper.distributed.reduce_ops import RedOpType
from taper.nn import functional as F
from taper.ops.reduction.moments import var_mean
from taper.ops.shape.split import cat
from taper.tensor import Tensor, wrap

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(Function):
    """Normalise over the batches of all processes; each adds its part to two short messages."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        eps: float,
        momentum: float,
        process_group: ProcessGroup,
        world_size: int,
    ) -> Tensor:
        mean, variance, count = _statistics(input, process_group)
        if running_mean is not None and running_var is not None:
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            unbiased = variance * (count / max(count - 1, 1))
            running_var.mul_(1 - momentum).add_(unbiased, alpha=momentum)
        scale = (variance + eps).rsqrt()
        ctx.save_for_backward(input, weight, mean, scale)
        ctx.count, ctx.group = count, process_group
        wide = input.float() if input.element_size() == 2 else input
        result = F.batch_norm(wide, mean, variance, weight, bias, False, 0.0, eps)
        return result.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        input, weight, mean, scale = ctx.saved_tensors
        dims, shape = _other_dims(input), [1, -1] + [1] * (input.dim() - 2)
        centred = input - mean.view(shape)
        grad = grad.to(centred.dtype)
        sums = cat([grad.sum(dims), (grad * centred).sum(dims)])
        channels = mean.shape[0]
        own_total, own_product = sums[:channels].clone(), sums[channels:].clone()
        whole = sums._array
        ctx.group._queue.run(lambda: ctx.group._transport.all_reduce(whole, RedOpType.SUM))
        total, product = sums[:channels] / ctx.count, sums[channels:] / ctx.count
        factor = scale if weight is None else scale * weight
        inner = grad - total.view(shape) - centred * (product * scale * scale).view(shape)
        result = (inner * factor.view(shape)).to(input.dtype)
        needs = ctx.needs_input_grad
        grad_weight = (own_product * scale).to(weight.dtype) if needs[1] else None
        grad_bias = own_total if needs[2] else None
        return result, grad_weight, grad_bias, *[None] * 6


def _other_dims(input: Tensor) -> list[int]:
    return [0, *range(2, input.dim())]


def _statistics(input: Tensor, group: ProcessGroup) -> tuple[Tensor, Tensor, float]:
    """Return mean and variance of each channel over all processes, and the number of elements.

    Squares of deviations are added, not squares, which would lose digits where means are large.
    """
    channels = input.shape[1]
    kind = np.float64 if input._array.dtype == np.float64 else np.float32
    own = np.zeros(2 * channels + 1, kind)
    count = input.numel() // channels
    if count:
        wide = input.float() if input.element_size() == 2 else input
        variance, mean = var_mean(wide, _other_dims(input), correction=0)
        own[:channels], own[channels:-1], own[-1] = mean._array, variance._array, count
    table = np.empty((group.size(), len(own)), kind)
    group._queue.run(lambda: group._transport.all_gather(list(table), own))
    parts = table.astype(np.float64)
    means, variances, counts = parts[:, :channels], parts[:, channels:-1], parts[:, -1:]
    total = counts.sum()
    together = (means * counts).sum(0) / total
    spread = ((variances + (means - together) ** 2) * counts).sum(0) / total
    return wrap(together.astype(kind)), wrap(spread.astype(kind)), float(total)
