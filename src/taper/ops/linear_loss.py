"""A linear map and the cross entropy of what it gives, as one function."""

from __future__ import annotations

from typing import Any

from taper.opdef import composite
from taper.ops.cross_entropy import cross_entropy
from taper.ops.linear import linear
from taper.tensor import Tensor


@composite(method=False, public=False)
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
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`; `nn.functional`'s.

    The weight may be (classes, d1, ..., features) for a loss in several dimensions.

    >>> import taper
    >>> from taper.nn import functional as F
    >>> F.linear_cross_entropy(taper.ones(2, 3), taper.ones(4, 3), taper.tensor([0, 1]))
    tensor(1.3863)
    """
    if options is not None:
        raise NotImplementedError("linear_cross_entropy in chunks is not provided: options=None")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    probabilities = target.is_floating_point()
    if probabilities and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    *outputs, features = linear_weight.shape
    if len(outputs) > 1:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias)
    logits = logits.view(*input.shape[:-1], *outputs)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
