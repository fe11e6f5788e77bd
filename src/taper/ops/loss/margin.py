"""Losses with a margin between pairs and triples, and the distances they use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.strides import wrap_dim
from taper.opdef import composite
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.clamping import clamp_min, minimum
from taper.ops.elementwise.compare import eq, ne
from taper.ops.elementwise.number import add_scalar, from_number, sub_scalar
from taper.ops.elementwise.unary import sqrt
from taper.ops.loss.elementwise import NONE, check_number, common_shape, reduced, reduction_number
from taper.ops.reduction.sums import sum_dim
from taper.ops.reduction.vector_norm import norm_dim, vector_norm_dim
from taper.size import Size
from taper.tensor import Tensor

_TINY = 1e-12


# --- distances -------------------------------------------------------------------------------


@composite(method=False, arrays=True, numpy_names=True)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Compute the cosine of the angle between vectors.

    result = x1 · x2 / (max(‖x1‖, eps) · max(‖x2‖, eps)), summed along `dim`

    Args:
        x1: first vectors.
        x2: second vectors; they broadcast with the first.
        dim: dimension of the vectors.
        eps: smallest norm; gradients ignore it.

    Shape: the broadcast shape without `dim`.

    Example:
        >>> import taper
        >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[1.0, 1.0]])
        >>> taper.cosine_similarity(a, b)
        tensor([0.7071])
    """
    common = dtypes.result_type((x1._array, x2._array))
    if common.category != dtypes.FLOATING:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common.scalar_type}"
        )
    first, second = x1, x2
    if x1._array.shape != x2._array.shape:
        shape = common_shape(x1._array.shape, x2._array.shape)
        first, second = x1.expand(shape), x2.expand(shape)
    if x1._array.dtype != x2._array.dtype:
        # Only whole numbers are converted: norms of floating numbers are taken in their own
        # precision.
        first, second = (
            each if each.dtype.category == dtypes.FLOATING else each.to(common)
            for each in (first, second)
        )
    dim = wrap_dim(dim, first.ndim)
    return sum_dim(_normalised(first, dim, eps) * _normalised(second, dim, eps), (dim,))


def _normalised(vectors: Tensor, dim: int, eps: float) -> Tensor:
    length = vector_norm_dim(vectors, 2, (dim,), True).clone()
    np.maximum(length._array, length._array.dtype.type(float(eps)), out=length._array)
    return vectors / length


@composite(method=False, numpy_names=True)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Compute the distance between vectors, pair by pair.

    result = ‖x1 - x2 + eps‖ₚ along the last dimension

    Args:
        x1: vectors (N, D) or (D,).
        x2: vectors that broadcast with the first.
        p: order of the norm.
        eps: added to every difference.
        keepdim: keep the last dimension, with length 1.

    Shape: (N,) or ().

    Example:
        >>> import taper
        >>> taper.pairwise_distance(taper.tensor([[3.0, 0.0]]), taper.tensor([[0.0, 4.0]]))
        tensor([5.])
    """
    dim = max(x1.ndim, x2.ndim) - 1
    return norm_dim(add_scalar(x1 - x2, float(eps)), float(p), (dim,), keepdim)


# --- losses of pairs and triples -------------------------------------------------------------


@composite(name="hinge_embedding_loss", method=False)
def numbered_hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = NONE
) -> Tensor:
    """Compute `nn.functional.hinge_embedding_loss`, given a reduction's number.

    >>> import taper
    >>> taper.hinge_embedding_loss(taper.tensor([0.5, 0.25]), taper.tensor([1, -1]))
    tensor([0.5000, 0.7500])
    """
    number = check_number("hinge_embedding_loss", reduction)
    far = where(ne(target, 1), clamp_min(from_number(margin, input), 0), 0)
    near = where(ne(target, -1), input, 0)
    return reduced(far + near, number)


@composite(public=False, method=False)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute a loss of distances: small ones are wanted for target 1, large ones for target -1.

    loss = input where target = 1, max(0, margin - input) where target = -1

    Args:
        input: distances.
        target: 1 or -1 for each.
        margin: distance from which dissimilar pairs do not count.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: `input` and `target` broadcast; the result is 0-d, with "none" of their shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> f = F.hinge_embedding_loss
        >>> f(taper.tensor([0.5, 0.25]), taper.tensor([1, -1]), reduction="none")
        tensor([0.5000, 0.7500])
    """
    number = reduction_number(reduction, size_average, reduce)
    return numbered_hinge_embedding_loss(input, target, margin, number)


@composite(name="margin_ranking_loss", method=False)
def numbered_margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = NONE
) -> Tensor:
    """Compute `nn.functional.margin_ranking_loss`, given a reduction's number.

    >>> import taper
    >>> taper.margin_ranking_loss(taper.tensor([1.0]), taper.tensor([3.0]), taper.tensor([1.0]))
    tensor([2.])
    """
    number = check_number("margin_ranking_loss", reduction)
    apart = input1 - input2
    excess = add_scalar(-target * apart, float(margin))
    return reduced(clamp_min(excess, 0), number)


@composite(public=False, method=False)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute how far one input fails to exceed another by a margin.

    loss = max(0, -target · (input1 - input2) + margin)

    Args:
        input1: first scores.
        input2: second scores.
        target: 1 where the first should be larger, -1 where the second should.
        margin: by how much.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: all have one shape or broadcast; the result is 0-d, with "none" of that shape.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> f = F.margin_ranking_loss
        >>> f(taper.tensor([1.0]), taper.tensor([3.0]), taper.tensor([1.0]))
        tensor(2.)
    """
    number = reduction_number(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        sizes = (Size(each._array.shape) for each in (input1, input2, target))
        first, second, third = sizes
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {first}, input2: {second}, target: {third} "
        )
    return numbered_margin_ranking_loss(input1, input2, target, margin, number)


@composite(name="cosine_embedding_loss", method=False)
def numbered_cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = NONE
) -> Tensor:
    """Compute `nn.functional.cosine_embedding_loss`, given a reduction's number.

    >>> import taper
    >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[0.0, 1.0]])
    >>> taper.cosine_embedding_loss(a, b, taper.tensor([1]))
    tensor([1.])
    """
    number = check_number("cosine_embedding_loss", reduction)
    wanted = target.ndim + 1
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != wanted or input2.ndim != wanted:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {wanted}D input tensors, but found inputs with "
            f"sizes {list(input1._array.shape)} and {list(input2._array.shape)}."
        )
    dim = (target.ndim,)
    # In this order gradients are added, and half precision rounds each sum.
    products = sum_dim(input1 * input2, dim)
    first = add_scalar(sum_dim(input1 * input1, dim), _TINY)
    cosine = products / sqrt(first * add_scalar(sum_dim(input2 * input2, dim), _TINY))
    alike = where(eq(target, 1), from_number(1, cosine), 0.0)
    unlike = where(eq(target, -1), clamp_min(sub_scalar(cosine, margin), 0), 0.0)
    return reduced(alike + unlike, number)


@composite(public=False, method=False)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute a loss of angles: small ones are wanted for target 1, large ones for target -1.

    loss = 1 - cos(input1, input2) where target = 1, max(0, cos(input1, input2) - margin) where -1

    Args:
        input1: vectors (N, D) or (D,).
        input2: vectors of the same shape.
        target: 1 or -1, (N,) or ().
        margin: cosine below which dissimilar pairs do not count.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[0.0, 1.0]])
        >>> F.cosine_embedding_loss(a, b, taper.tensor([1]))
        tensor(1.)
    """
    number = reduction_number(reduction, size_average, reduce)
    return numbered_cosine_embedding_loss(input1, input2, target, margin, number)


@composite(name="triplet_margin_loss", method=False)
def numbered_triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = NONE,
) -> Tensor:
    """Compute `nn.functional.triplet_margin_loss`, given a reduction's number.

    >>> import taper
    >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
    >>> taper.triplet_margin_loss(a, b, c, margin=2.0)
    tensor([0.5858])
    """
    number = check_number("triplet_margin_loss", reduction)
    _check_triplet(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(clamp_min(add_scalar(near, margin) - far, 0), number)


@composite(public=False, method=False)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Compute how far negatives fail to be farther from anchors than positives, by a margin.

    loss = max(0, d(anchor, positive) - d(anchor, negative) + margin), d(a, b) = ‖a - b‖ₚ

    Args:
        anchor: vectors (N, D) or (D,).
        positive: vectors that should be near.
        negative: vectors that should be far.
        margin: by how much farther.
        p: order of the norm.
        eps: added to every difference.
        swap: let d(positive, negative) count where it is the smaller one.
        size_average, reduce: old forms of `reduction`; deprecated.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,) or ().

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
        >>> F.triplet_margin_loss(a, b, c, margin=2.0)
        tensor(0.5858)
    """
    number = reduction_number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return numbered_triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


@composite(public=False, method=False)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Compute the loss of `triplet_margin_loss` with a distance of your own.

    loss = max(0, d(anchor, positive) - d(anchor, negative) + margin)

    Args:
        anchor: vectors (N, *).
        positive: vectors that should be near.
        negative: vectors that should be far.
        distance_function: d, a function of two tensors; by default `pairwise_distance`.
        margin: by how much farther.
        swap: let d(positive, negative) count where it is the smaller one.
        reduction: "mean", "sum", or "none" for the losses one by one.

    Shape: 0-d; with "none" (N,).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> a, b, c = taper.zeros(1, 2), taper.zeros(1, 2), taper.ones(1, 2)
        >>> F.triplet_margin_with_distance_loss(a, b, c, margin=2.0)
        tensor(0.5858)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    _check_triplet(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clamp_min(margin + near - far, 0), reduction_number(reduction))


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
