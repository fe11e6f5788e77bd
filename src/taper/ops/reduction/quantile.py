"""Quantiles, composed of sorting, picking and interpolating."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.foreign import has_elements
from taper.arrays.reduction import Shape
from taper.arrays.strides import wrap_dim
from taper.factory import finish
from taper.opdef import composite
from taper.opdef.writes import recorded_into
from taper.ops.index.gather import gather
from taper.ops.reduction.order import sort_values
from taper.tensor import Tensor, wrap

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@composite(arrays=True)
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Compute the `q`-quantiles of all elements, or along a dimension; NaN if one is NaN.

    `q` is a number between 0 and 1, or a 1-d tensor of them, which adds a first dimension.

    >>> import taper
    >>> taper.quantile(taper.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    dim = dim if axis is None else axis
    return _quantile(input, q, dim, keepdim or keepdims, interpolation, out, False)


@composite(arrays=True)
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Compute the `q`-quantiles of the elements that are not NaN; see `quantile`.

    >>> import taper
    >>> taper.nanquantile(taper.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    dim = dim if axis is None else axis
    return _quantile(input, q, dim, keepdim or keepdims, interpolation, out, True)


def _quantile(
    input: Tensor,
    q: Any,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    out: Tensor | None,
    skip_nan: bool,
) -> Tensor:
    ranks = _checked(input, q, dim, interpolation)
    if out is not None:
        if out.dtype is not input.dtype:
            raise RuntimeError("quantile() out tensor must be same dtype as the input tensor")
        arguments = (input, q, dim, keepdim, interpolation, None, skip_nan)
        return recorded_into("quantile", _quantile, arguments, out)
    ordered, shape = _ordered(input, dim, keepdim)
    found = _interpolated(ordered, shape, ranks.reshape(-1), interpolation, skip_nan)
    if ranks.ndim:
        found.unsqueeze_(0).transpose_(0, -1)
    return found.squeeze_(-1)


def _ordered(input: Tensor, dim: int | None, keepdim: bool) -> tuple[Tensor, Shape]:
    """Sort the elements along the last dimension; also return the shape of one quantile."""
    shape = input._array.shape
    if dim is None or not shape:
        return sort_values(input.flatten(), -1, False).values, (1,) * len(shape) * keepdim
    axis = wrap_dim(dim, len(shape))
    if axis < len(shape) - 1:
        input = input.unsqueeze(-1).transpose(axis, -1)
    middle = (1,) if keepdim else ()
    return sort_values(input, -1, False).values, shape[:axis] + middle + shape[axis + 1 :]


def _checked(input: Tensor, q: Any, dim: int | None, interpolation: str) -> Tensor:
    """Return the ranks as a tensor, after PyTorch's checks in PyTorch's order."""
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        ranks = finish(np.asarray(q, input._array.dtype), where=input.device)
    else:
        ranks = q
    if not input._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if ranks.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input._array.dtype not in (np.float32, np.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if ranks._array.dtype != input._array.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if ranks.device != input.device:
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")
    if dim is not None:
        wrap_dim(dim, input.ndim)
    is_known = has_elements(ranks._array) and ranks._array.size
    if is_known and not ((ranks._array >= 0) & (ranks._array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return ranks


def _interpolated(
    ordered: Tensor, shape: Shape, ranks: Tensor, interpolation: str, skip_nan: bool
) -> Tensor:
    """Compute quantiles along the last dimension of sorted elements, one for each rank."""
    length = ordered._array.shape[-1]
    ordered = ordered.view((*shape, length))
    missing = (ordered._array != ordered._array).sum(-1, keepdims=True)
    if skip_nan:
        top = np.maximum(length - missing - 1, 0).astype(ranks._array.dtype)
        place = ranks * wrap(top)
    else:
        # If any element is NaN, the last in order is.
        hit = np.broadcast_to(missing > 0, (*shape, ranks._array.shape[0]))
        place = (ranks * float(length - 1)).expand(hit.shape).masked_fill(wrap(hit), length - 1.0)
    rounding = {"lower": "floor", "higher": "ceil", "nearest": "round"}.get(interpolation)
    if rounding is not None:
        place = getattr(place, rounding)()
    below = place._array.astype(np.int64)
    low = gather(ordered, -1, wrap(below))
    if rounding is not None:
        return low
    above = np.ceil(place._array).astype(np.int64)
    if interpolation == "midpoint":
        weight = wrap(np.full_like(place._array, 0.5))
    else:
        weight = place - wrap(below.astype(place._array.dtype))
    return low.lerp(gather(ordered, -1, wrap(above)), weight)
