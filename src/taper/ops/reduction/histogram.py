"""Counting and searching in sorted values: searchsorted, bucketize, bincount, histc.

Nothing here is differentiable.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from taper import dtypes
from taper.arrays.elements import INT64, LOW_PRECISION
from taper.arrays.reduction import no_forward_mode, scalar_type
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.writes import compute_into
from taper.ops.creation.ranges import evenly_spaced
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_once

# --- searchsorted, bucketize -----------------------------------------------------------------


def _check_search(sequence: np.ndarray, values: np.ndarray, scalar: bool, sorter: Any) -> None:
    prefix = "torch.searchsorted(): "
    shape = sequence.shape
    if scalar and sequence.ndim != 1:
        raise RuntimeError(
            f"{prefix}input value can be a scalar only when boundaries tensor dimension is 1, but "
            f"we got boundaries tensor dim({sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if not sequence.ndim:
        raise RuntimeError(
            f"{prefix}boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if sequence.ndim > 1 and shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"{prefix}boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(shape)} and input value tensor {list(values.shape)}"
        )
    if sorter is None:
        return
    if sorter.shape != shape:
        raise RuntimeError(
            f"{prefix}boundary and sorter must have the same size, but got boundary tensor "
            f"{list(shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != INT64:
        raise RuntimeError(
            f"{prefix}sorter must be a tensor of long dtype but got dtype "
            f"{scalar_type(sorter.dtype)}"
        )
    if sorter.size and (sorter.min() < 0 or sorter.max() >= shape[-1]):
        raise RuntimeError(f"{prefix}sorter index out of range")


@op(public=False, method=False)
def search_sorted(
    self: Array, values: Array, right: bool, out_int32: bool, sorter: Array | None
) -> Array:
    """Find where `values` would be inserted into sorted rows; NaN counts as the largest."""
    _check_search(self, values, False, sorter)
    if self.dtype.kind in "bc" and values.size:
        raise no_kernel("searchsorted_out_cpu", self.dtype)
    if sorter is not None:
        self = np.take_along_axis(self, sorter, -1)
    if self.dtype in LOW_PRECISION:
        self = self.astype(np.float32)
    if self.ndim == 1:
        places = _places(self, values.astype(self.dtype, copy=False), right)
    else:
        places = np.empty(values.shape, INT64)
        for row in np.ndindex(self.shape[:-1]):
            places[row] = _places(self[row], values[row], right)
    return np.asarray(places, np.int32 if out_int32 else INT64)


def _places(row: np.ndarray, values: np.ndarray, right: bool) -> Any:
    """Find values in one sorted row by halving, past every NaN that is met, as PyTorch does."""
    if row.dtype.kind != "f" or not np.isnan(row).any():
        return np.searchsorted(row, values, "right" if right else "left")
    start, end = np.zeros(values.shape, INT64), np.full(values.shape, row.size)
    while (searching := start < end).any():
        middle = (start + end) // 2
        met = row[np.minimum(middle, row.size - 1)]
        behind = searching & ~(met > values if right else met >= values)
        start = np.where(behind, middle + 1, start)
        end = np.where(searching & ~behind, middle, end)
    return start


def _check_side(side: str | None, right: bool) -> None:
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )


@composite(method=False, arrays=True)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Find where values would be inserted into a sorted sequence, row by row.

    By default before equal elements, with `right` (or `side="right"`) after them.

    >>> import taper
    >>> taper.searchsorted(taper.tensor([1, 3, 5]), taper.tensor([3, 4]))
    tensor([1, 2])
    """
    values = input if isinstance(input, Tensor) else wrap(np.asarray(input))
    order = None if sorter is None else sorter._array
    _check_search(sorted_sequence._array, values._array, not values.ndim, order)
    _check_side(side, right)
    for name, each in (("input value", input), ("boundary", sorted_sequence), ("sorter", sorter)):
        if isinstance(each, Tensor) and not each.is_contiguous():
            warn_once(
                f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the "
                "performance due to extra data copy when converting non-contiguous tensor to "
                f"contiguous, please use contiguous {name} tensor if possible. This message will "
                "only appear once per program."
            )
    if values._array.dtype is not sorted_sequence._array.dtype:
        given = values._array if isinstance(input, Tensor) else input
        common = dtypes.result_type((sorted_sequence._array, given)).numpy
        sorted_sequence = wrap(sorted_sequence._array.astype(common, copy=False))
        values = wrap(values._array.astype(common))
    arguments = (sorted_sequence, values, right or side == "right", out_int32, sorter)
    if out is None:
        return search_sorted(*arguments)
    if out.dtype is not (dtypes.int32 if out_int32 else dtypes.int64):
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
            "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
            f"dtype {out.dtype.scalar_type} and out_int32 flag is {out_int32}"
        )
    return compute_into(None, search_sorted, arguments, out)


@composite(method=False, arrays=True)
def bucketize(
    input: Any,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Find the bucket between sorted boundaries that each value falls into.

    A value equal to a boundary belongs to the bucket below it, with `right` to the one above.

    >>> import taper
    >>> taper.bucketize(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 3.0]))
    tensor([0, 1])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# --- bincount --------------------------------------------------------------------------------


@op(node="NotImplemented")
def bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """Count how often each non-negative integer occurs, or add up its weights.

    >>> import taper
    >>> taper.bincount(taper.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.dtype.kind not in "iu":
        raise no_kernel("bincount_cpu", self.dtype)
    if self.ndim == 1 and not self.size:
        return np.zeros(minlength, INT64)
    if self.ndim != 1 or self.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(self, None, minlength).astype(INT64, copy=False)
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kind = np.float32 if weights.dtype == np.float32 else np.float64
    return np.bincount(self, weights, minlength).astype(kind, copy=False)


@derivative(bincount, wrt="weights")
def bincount_weights(grad: Any) -> Any:
    raise RuntimeError("derivative for aten::bincount is not implemented")


@tangent_of(bincount)
def bincount_tangent(weights_t: Any) -> Any:
    raise no_forward_mode("bincount")


# --- histc -----------------------------------------------------------------------------------


@op(out=True)
def histc(self: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """Count the elements in each of `bins` equal parts of the range from `min` to `max`.

    Elements outside are not counted. With `min == max` the range is that of the elements.

    >>> import taper
    >>> taper.histc(taper.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=2)
    tensor([0., 3.])
    """
    if self.dtype.kind not in "fV":
        whole = {"b": "linspace_cpu", "c": "aminmax_cpu"}.get(self.dtype.kind)
        if self.dtype.kind == "c" and min != max:
            whole = None
        raise no_kernel(whole or "histogram_cpu", self.dtype)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = float(min), float(max)
    flat = self.reshape(-1)
    if low == high and flat.size:
        low, high = float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))
    if not (np.isfinite(low) and np.isfinite(high)):
        if low == high:  # PyTorch has widened the range by then
            largest = float(np.finfo(self.dtype).max) if self.dtype.kind == "f" else high
            low, high = (low, -largest) if low < 0 else (largest, high)
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if low == high:
        low, high = low - 1, high + 1
    edges = evenly_spaced(low, high, bins + 1, dtypes.FROM_NUMPY[self.dtype])
    inside = flat[(flat >= edges[0]) & (flat <= edges[-1])]
    # Every step is rounded; what overflows is counted in the first bin.
    position = (inside - edges[0]) * self.dtype.type(bins) / (edges[-1] - edges[0])
    places = np.where(np.isfinite(position), position, 0).astype(INT64)
    counts = np.bincount(np.minimum(places, bins - 1), minlength=bins)
    return np.minimum(counts, _most_counted(self.dtype)).astype(self.dtype)


def _most_counted(dtype: np.dtype) -> float:
    """Return the number that counting one by one in a dtype cannot exceed."""
    return float(2 / ml_dtypes.finfo(dtype).eps)
