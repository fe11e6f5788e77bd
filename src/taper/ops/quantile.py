"""Quantiles, composed of sorting, picking and interpolating."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.opruntime import compute_into
from taper.ops.along import take_along
from taper.ops.order import sort_values
from taper.ops.shape import unsqueeze
from taper.reduction import Shape
from taper.tensor import Tensor, wrap, wrap_dim

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@composite()
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The `q`-quantiles of all elements, or along a dimension; NaN if one is among them.

    `q` is a number between 0 and 1, or a 1-d tensor of them, which adds a first dimension.

    >>> import taper
    >>> taper.quantile(taper.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile(input, q, dim, keepdim, interpolation, out, False)


@composite()
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The `q`-quantiles of the elements that are no NaN; see `quantile`.

    >>> import taper
    >>> taper.nanquantile(taper.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, out, True)


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
        return compute_into("quantile", _quantile, arguments, out)
    found = _interpolated(_lines(input, dim, keepdim), ranks.reshape(-1), interpolation, skip_nan)
    return squeeze_last(found.unsqueeze(0).transpose(0, -1) if ranks.ndim else found, -1)


def _lines(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The input with the elements to choose from along its last dimension."""
    if dim is None or not input.ndim:
        flat = input.reshape(-1)
        return flat.reshape((1,) * input.ndim + (-1,)) if keepdim else flat
    axis = wrap_dim(dim, input.ndim)
    if keepdim:
        return input.unsqueeze(-1).transpose(axis, -1)
    return input if axis == input.ndim - 1 else input.movedim(axis, -1)


@op(node="SqueezeBackward4", tangent=LINEAR, public=False, method=False)
def squeeze_last(self: Array, dim: int) -> Array:
    """A fresh result without its last dimension, which PyTorch squeezes in place."""
    return self.squeeze(dim)


@derivative(squeeze_last, wrt="self")
def squeeze_last_self(grad: Any, self_shape: Shape, dim: int) -> Any:
    return unsqueeze(grad, dim)


def _checked(input: Tensor, q: Any, dim: int | None, interpolation: str) -> Tensor:
    """The ranks as a tensor, after PyTorch's checks in PyTorch's order."""
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        ranks = wrap(np.asarray(q, input._array.dtype))
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
    if dim is not None:
        wrap_dim(dim, input.ndim)
    if ranks._array.size and not ((ranks._array >= 0) & (ranks._array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return ranks


def _interpolated(lines: Tensor, ranks: Tensor, interpolation: str, skip_nan: bool) -> Tensor:
    """Quantiles along the last dimension; one for each rank."""
    ordered = sort_values(lines, -1, False).values
    missing = (lines._array != lines._array).sum(-1, keepdims=True)
    valid = lines._array.shape[-1] - missing
    if skip_nan:
        top = wrap(np.maximum(valid - 1, 0).astype(ranks._array.dtype))
        place = ranks * top
    else:
        place = ranks * float(lines._array.shape[-1] - 1)
        # Where a NaN is among the elements, the last one in order is NaN.
        hit = wrap(np.broadcast_to(missing > 0, (*missing.shape[:-1], ranks._array.shape[0])))
        place = place.expand(hit._array.shape).masked_fill(hit, float(lines._array.shape[-1] - 1))
    if interpolation == "lower":
        place = place.floor()
    elif interpolation == "higher":
        place = place.ceil()
    elif interpolation == "nearest":
        place = place.round()
    below = place._array.astype(np.int64)
    shape = (*lines._array.shape[:-1], below.shape[-1])
    below = np.broadcast_to(below, shape)
    low = take_along(ordered, -1, wrap(below))
    if interpolation not in ("linear", "midpoint"):
        return low
    above = np.broadcast_to(np.ceil(place._array).astype(np.int64), shape)
    weight = place - wrap(below.astype(place._array.dtype))
    if interpolation == "midpoint":
        weight = wrap(np.full(shape, 0.5, place._array.dtype))
    return low.lerp(take_along(ordered, -1, wrap(above)), weight)
