"""Cross entropy of a linear map: with all logits at once, or a part of the batch at a time.

Owns `linear_cross_entropy` and its options. The second way keeps only as many logits as fit a
chunk, and computes them again in the backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from taper import dtypes
from taper.autograd.function import Function
from taper.autograd.grad_mode import no_grad
from taper.ops.activation.softmax import softmax
from taper.ops.creation.data import tensor
from taper.ops.creation.ranges import arange
from taper.ops.elementwise.blend import where
from taper.ops.linalg.linear import linear
from taper.ops.loss.cross_entropy import cross_entropy
from taper.tensor import Tensor
from taper.userwarning import warn_user

_ACCUMULATED = (None, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_IGNORED = -100
_LOGITS = 1 << 22  # the most that a chunk holds if the user gives no size


def _check_accumulated(dtype: Any) -> None:
    if dtype not in _ACCUMULATED:
        raise ValueError(
            "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
            f"torch.float64}}, got {dtype!r}. Pass acc_dtype=None to let the op pick automatically."
        )


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Say how `linear_cross_entropy` splits the batch into chunks.

    Args:
        allow_retain_graph: whether a second backward pass may follow.
        batch_chunk_size: how many samples a chunk has; None means as many as have four million
            scores.
        chunking_method: None, "auto", "aspect_ratio" or "aspect_ratio:<number>"; checked, without
            effect.
        acc_policy, acc_dtype: checked, without effect.

    Differs from PyTorch:
        the size of chunks is `batch_chunk_size` alone, and sums are taken in the dtype of the
        gradients.

    Example:
        >>> from taper import nn
        >>> nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
        64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        method: Any = self.chunking_method
        if method not in (None, "auto", "aspect_ratio"):
            name, _, ratio = method.partition(":")
            if name != "aspect_ratio" or not ratio.isdecimal() or not int(ratio):
                raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        _check_accumulated(self.acc_dtype)

    def rows(self, classes: int) -> int:
        """Return how many samples a chunk has."""
        return self.batch_chunk_size or max(1, _LOGITS // max(1, classes))


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Compute the cross entropy of logits that a linear map makes of the input.

    loss = cross_entropy(linear(input, linear_weight, linear_bias), target)

    Args:
        input: features (N, F) or (F,).
        linear_weight: (C, F), or (C, *, F) for targets with more dimensions.
        target: classes or probabilities, as for `cross_entropy`.
        linear_bias: (C,), or (C, *), or None.
        weight: a factor for each class.
        reduction: "mean", "sum", or "none" for the losses one by one.
        ignore_index: class whose elements do not count.
        label_smoothing: share of the uniform distribution that is mixed into the target, 0 to 1.
        options: how to compute in parts, so that not all logits exist at the same time.

    Shape: 0-d; with "none" one loss for each target.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.linear_cross_entropy(taper.zeros(1, 3), taper.ones(2, 3), taper.tensor([1]))
        tensor(0.6931)
    """
    _check(input, linear_weight, target, linear_bias, ignore_index)
    if options is not None:
        ignored = _IGNORED if ignore_index is None else ignore_index
        smooth = label_smoothing > 0
        fits = reduction in ("mean", "sum", "none") and linear_weight.dim() == 2 and not smooth
        if fits and target.dtype is dtypes.int64:
            _check_accumulated(options.acc_dtype or input.dtype)
            return _chunked(
                input, linear_weight, target, linear_bias, weight, reduction, ignored, options
            )
        _warn_ignored(reduction, label_smoothing, target, linear_weight, linear_bias)
    return _at_once(
        input,
        linear_weight,
        target,
        linear_bias=linear_bias,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=max(label_smoothing, 0.0),
    )


def _at_once(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int | None,
    label_smoothing: float,
) -> Tensor:
    *outputs, features = linear_weight.shape
    if len(outputs) > 1:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias).view(*input.shape[:-1], *outputs)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=_IGNORED if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check(
    input: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, ignored: int | None
) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    if input.size(-1) != weight.size(-1):
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.size(-1)} and {weight.size(-1)}, respectively"
        )
    if input.dim() == 1 and weight.dim() > 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {weight.size(-1)}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}"
        )
    if ignored is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")


def _warn_ignored(
    reduction: str, smoothing: float, target: Tensor, weight: Tensor, bias: Tensor | None
) -> None:
    shape = None if bias is None else tuple(bias.shape)
    warn_user(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
        "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). "
        f"Got reduction={reduction!r}, label_smoothing={smoothing}, target.dtype={target.dtype}, "
        f"out_features={tuple(weight.shape[1:-1])}, tracing=False, linear_bias.shape={shape}."
    )


# --- a part of the batch at a time -----------------------------------------------------------


def _chunked(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignored: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    rest = (input, linear_weight, bias, target, weight, ignored, options)
    if reduction == "none":
        result: Tensor = _EachInChunks.apply(*rest)
    else:
        result = _SumInChunks.apply(*rest, reduction == "mean")
    return result.squeeze(0) if single else result


class _Chunks:
    """Hold the targets of one call, what each counts, and the parts of the batch."""

    def __init__(self, target: Tensor, weight: Tensor | None, ignored: int, rows: int) -> None:
        kept = target != ignored
        self.classes = where(kept, target, 0)
        self.factors = kept if weight is None else weight[self.classes] * kept
        self.parts = [slice(at, at + rows) for at in range(0, target.size(0), rows)]


def _losses(
    ctx: Any,
    input: Tensor,
    linear_weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    ignored: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    """Return the loss of each sample; put what the backward pass needs on `ctx`."""
    ctx.options = options
    ctx.used = False
    ctx.save_for_backward(input, linear_weight, bias)
    ctx.chunks = _Chunks(target, weight, ignored, options.rows(linear_weight.size(0)))
    losses = input.new_zeros(input.size(0))
    for part in ctx.chunks.parts:
        logits = linear(input[part], linear_weight, bias)
        losses[part] = cross_entropy(
            logits, target[part], weight=weight, ignore_index=ignored, reduction="none"
        )
    return losses


def _gradients(ctx: Any, factors: Tensor) -> tuple[Any, ...]:
    """Return what goes back to input, weight and bias, if the losses get these gradients."""
    if ctx.used and not ctx.options.allow_retain_graph:
        raise RuntimeError(
            "linear_cross_entropy chunked backward called twice; retain_graph=True / double "
            "backward are not supported."
        )
    ctx.used = True
    input, linear_weight, bias = ctx.saved_tensors
    chunks = ctx.chunks
    factors = (factors * chunks.factors).to(input.dtype).unsqueeze(1)
    to_input, to_weight = input.new_zeros(input.shape), linear_weight.new_zeros(linear_weight.shape)
    to_bias = None if bias is None else bias.new_zeros(bias.shape)
    for part in chunks.parts:
        change = softmax(linear(input[part], linear_weight, bias), 1)
        classes = chunks.classes[part]
        change[arange(classes.size(0)), classes] -= 1
        change *= factors[part]
        to_input[part] = change @ linear_weight
        to_weight += change.T @ input[part]
        if to_bias is not None:
            to_bias += change.sum(0)
    return to_input, to_weight, to_bias, None, None, None, None


def _sum_forward(ctx: Any, *args: Any) -> Tensor:
    *rest, mean = args
    losses = _losses(ctx, *rest)
    ctx.total = ctx.chunks.factors.sum().to(losses.dtype) if mean else tensor(1.0)
    return losses.sum() / ctx.total if mean else losses.sum()


def _sum_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    with no_grad():
        return *_gradients(ctx, grad / ctx.total), None


def _each_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    with no_grad():
        return _gradients(ctx, grad)


def _function(name: str, forward: Any, backward: Any) -> Any:
    """Make a Function whose nodes have PyTorch's names, which no class statement should have."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    prefix = "GeneratedBackwardFor_torch_nn__linear_cross_entropy_batch_chunked"
    return type(prefix + name, (Function,), members)


_SumInChunks = _function("_default", _sum_forward, _sum_backward)
_EachInChunks = _function("_no_reduction_default", _losses, _each_backward)
