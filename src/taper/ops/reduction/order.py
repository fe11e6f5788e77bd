"""Sorting, and picking elements by rank: sort, topk, kthvalue, median, mode.

NaN is larger than any number. Of equal elements the first comes first, even where PyTorch leaves
the order open (`topk`, `kthvalue`): there the indices of ties may differ from PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from taper import return_types
from taper.arrays.elements import INT64
from taper.arrays.layouts import PRESERVED, ROW_MAJOR
from taper.arrays.native import native
from taper.arrays.reduction import ABSENT, Shape, refuse_empty
from taper.arrays.strides import wrap_dim
from taper.dtypes import no_kernel
from taper.factory import integer
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.overloads import declare_overloads
from taper.opdef.writes import compute_into, run_out
from taper.ops.reduction.along import put_along, take_along, taken
from taper.ops.reduction.extrema import share_evenly, share_tangent
from taper.tensor import Tensor

_PAIR: Any = {"outputs": ("values", "indices"), "nondifferentiable": (1,), "out": True}


# --- sort ------------------------------------------------------------------------------------


def order_along(array: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Find the indices that sort an array along a dimension; equal elements keep their order."""
    if array.dtype.kind == "V":
        array = array.astype(np.float32)  # comparisons of bfloat16 do not know NaN
    if native is not None and axis == array.ndim - 1:
        found: np.ndarray | None = native.order_rows(array, bool(descending))
        if found is not None:
            return found
    if not descending:
        return np.argsort(array, axis, kind="stable")
    # Sorted and read backwards: NaN comes first, and ties stay in order.
    reverse = np.argsort(np.flip(array, axis), axis, kind="stable")
    return array.shape[axis] - 1 - np.flip(reverse, axis)


def _sorted(array: np.ndarray, dim: int, descending: bool) -> tuple[Any, Any]:
    axis = wrap_dim(dim, array.ndim)
    if array.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not array.ndim:
        return array.copy(), np.zeros_like(array, INT64)
    indices = order_along(array, axis, descending)
    return taken(array, indices, axis), indices


@op(
    name="sort_values",
    label="sort",
    node="SortBackward0",
    returns=return_types.sort,
    public=False,
    method=False,
    **_PAIR,
    layout=PRESERVED,
)
def sort_values(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """Sort the elements along a dimension, and return where they were."""
    return _sorted(self, dim, descending)


@op(
    name="sort_stable",
    label="sort",
    node="SortBackward1",
    returns=return_types.sort,
    public=False,
    method=False,
    **_PAIR,
    layout=PRESERVED,
)
def sort_stable(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """Sort as `sort_values`, for the overload that asks for stability."""
    return _sorted(self, dim, descending)


@composite()
def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: Any = None,
    axis: int | None = None,
) -> Any:
    """Sort the elements along a dimension; nan counts as larger than any number.

    Args:
        input: a tensor.
        dim: dimension to sort along.
        descending: whether the largest element comes first.
        stable: whether equal elements keep their order; here they always do.
        out: pair of tensors that receives the result.
        axis: NumPy's name for `dim`.

    Returns: a named tuple (values, indices), both with the shape of `input`; indices are int64.

    Example:
        >>> import taper
        >>> taper.sort(taper.tensor([3.0, 1.0, 2.0]))
        torch.return_types.sort(
        values=tensor([1., 2., 3.]),
        indices=tensor([1, 2, 0]))
    """
    if axis is not None:
        dim = axis
    which = sort_values if stable is None else sort_stable
    if out is not None:
        return run_out(which.op, (input, dim, descending), out)
    return which(input, dim, descending)


declare_overloads(
    sort,
    "*, bool stable, int dim = -1, bool descending = False",
    "int dim = -1, bool descending = False",
)


@composite()
def argsort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Find the indices that sort a tensor along a dimension.

    Args:
        input: a tensor.
        dim: dimension to sort along.
        descending: whether the largest element comes first.
        stable: whether equal elements keep their order; here they always do.
        axis: NumPy's name for `dim`.

    Shape: the result has the shape of `input`, in int64.

    Example:
        >>> import taper
        >>> taper.argsort(taper.tensor([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])
    """
    return sort(input.detach(), dim, descending, axis=axis).indices


declare_overloads(
    argsort,
    "*, bool stable, int dim = -1, bool descending = False",
    "int dim = -1, bool descending = False",
)


@composite()
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sort the elements along the first dimension.

    >>> import taper
    >>> taper.msort(taper.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    if out is not None:
        return compute_into("sort", msort, (input,), out)
    return sort_values(input, 0, False).values


# --- topk ------------------------------------------------------------------------------------


@op(returns=return_types.topk, **_PAIR)
def topk(
    self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    """Find the `k` largest (or smallest) elements along a dimension.

    Args:
        input: a tensor.
        k: how many elements.
        dim: dimension to search along.
        largest: whether the largest are wanted; else the smallest.
        sorted: whether they come in order; here they always do.
        out: pair of tensors that receives the result.

    Returns: a named tuple (values, indices), shaped as `input` with length `k` along `dim`.

    Example:
        >>> import taper
        >>> taper.topk(taper.tensor([3.0, 1.0, 2.0]), 2).values
        tensor([3., 2.])
    """
    if type(k) is not int:
        k = integer("topk", "k", 2, k)
    axis = wrap_dim(dim, self.ndim)
    length = self.shape[axis] if self.ndim else 1
    if not 0 <= k <= length:
        raise RuntimeError("selected index k out of range")
    kind = self.dtype.kind
    if kind in "cb":
        text = " topk does not support complex" if kind == "c" else "topk does not support bool"
        raise RuntimeError(f"{text} dtypes on CPU")
    if not self.ndim:
        return self.copy(), np.zeros_like(self, INT64)
    if 8 * k < length and length > 256 and kind in "fiu":
        indices = _ordered_top(self, k, axis, largest)
    else:
        head = (slice(None),) * axis + (slice(k),)
        indices = order_along(self, axis, largest)[head].copy()  # strides of its own
    return taken(self, indices, axis), indices


def _ordered_top(array: np.ndarray, k: int, axis: int, largest: bool) -> np.ndarray:
    """Find the indices of the first `k` in order, without sorting all."""
    if native is not None and axis == array.ndim - 1:
        found: np.ndarray | None = native.top_rows(array, k, bool(largest))
        if found is not None:
            return found
    length = array.shape[axis]
    place = length - k if largest else k - 1
    if not k:
        place = 0
    chosen = np.argpartition(array, place, axis)
    part = slice(length - k, None) if largest else slice(k)
    chosen = np.sort(chosen[(slice(None),) * axis + (part,)], axis)
    order = order_along(taken(array, chosen, axis), axis, largest)
    return taken(chosen, order, axis)


@derivative(sort_values, wrt="self")
@derivative(sort_stable, wrt="self")
@derivative(topk, wrt="self")
def picked_self(grad_values: Any, indices: Any, self_shape: Shape, dim: int) -> Any:
    return put_along(grad_values, self_shape, dim, indices)


@tangent_of(sort_values)
@tangent_of(sort_stable)
@tangent_of(topk)
def picked_tangent(self_t: Tensor, indices: Tensor, dim: int) -> tuple[Tensor, None]:
    return take_along(self_t, dim, indices), None


# --- kthvalue --------------------------------------------------------------------------------


def _picked(array: np.ndarray, axis: int, indices: np.ndarray, keepdim: bool) -> tuple[Any, Any]:
    """Pick the elements at `indices`, which have length 1 along `axis`."""
    values = taken(array, indices, axis)
    if keepdim:
        return values, indices
    return values.squeeze(axis), indices.squeeze(axis)


@op(returns=return_types.kthvalue, **_PAIR)
def kthvalue(self: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the `k`-th smallest element along a dimension, counted from 1, and where it is.

    >>> import taper
    >>> taper.kthvalue(taper.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    axis = wrap_dim(dim, self.ndim)
    refuse_empty(self, axis, "kthvalue")
    if not 1 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if not self.ndim:
        return self.copy(), np.zeros_like(self, INT64)
    if self.dtype.kind in "bc":
        raise no_kernel("kthvalue_cpu", self.dtype)
    place = (slice(None),) * axis + (slice(k - 1, k),)
    indices = order_along(self, axis, False)[place].copy()
    return _picked(self, axis, indices, keepdim)


# --- median, nanmedian -----------------------------------------------------------------------


def _middle(array: np.ndarray, skip_nan: bool) -> Any:
    """Find the lower middle element; NaN if there are none or, unless skipped, one is NaN."""
    if array.dtype.kind in "bc":
        raise no_kernel("median_cpu", array.dtype)
    flat = array.reshape(-1)
    floating = array.dtype.kind in "fV"
    if floating:
        missing = flat != flat
        if skip_nan:
            flat = flat[~missing]
        elif missing.any():
            return array.dtype.type(np.nan)
    if not flat.size:
        return array.dtype.type(np.nan) if floating else np.iinfo(array.dtype).min
    place = (flat.size - 1) // 2
    return np.partition(flat, place)[place]


def _middle_along(
    array: np.ndarray, dim: int, keepdim: bool, skip_nan: bool
) -> tuple[np.ndarray, np.ndarray]:
    axis = wrap_dim(dim, array.ndim)
    refuse_empty(array, axis, "median")
    if array.dtype.kind in "bc":
        raise no_kernel("median_out", array.dtype)
    if not array.ndim:
        return array.copy(), np.zeros_like(array, INT64)
    order = order_along(array, axis, False)
    missing = np.count_nonzero(array != array, axis, keepdims=True)
    valid = array.shape[axis] - missing
    place = np.maximum(valid - 1, 0) // 2
    if not skip_nan:
        place = np.where(missing > 0, valid, place)
    return _picked(array, axis, taken(order, place, axis), keepdim)


@op(name="median_all", label="median", node="MedianBackward0", public=False, method=False)
def median_all(self: Array) -> Array:
    """Find the median of all elements."""
    return np.asarray(_middle(self, False), self.dtype)


@op(name="nanmedian_all", label="nanmedian", node="NanmedianBackward0", public=False, method=False)
def nanmedian_all(self: Array) -> Array:
    """Find the median of all elements but NaN."""
    return np.asarray(_middle(self, True), self.dtype)


@derivative(median_all, wrt="self")
@derivative(nanmedian_all, wrt="self")
def median_all_self(grad: Any, self: Any, result: Any) -> Any:
    return share_evenly(grad, self, result)


@tangent_of(median_all)
@tangent_of(nanmedian_all)
def median_all_tangent(self: Tensor, self_t: Tensor, result: Tensor) -> Tensor:
    return share_tangent(self_t, self, result)


@op(
    name="median_dim",
    label="median",
    node="MedianBackward1",
    returns=return_types.median,
    public=False,
    method=False,
    layout=ROW_MAJOR,
    **_PAIR,
)
def median_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the median along a dimension, and where it is."""
    return _middle_along(self, dim, keepdim, False)


@op(
    name="nanmedian_dim",
    label="nanmedian",
    node="NanmedianBackward1",
    returns=return_types.nanmedian,
    public=False,
    method=False,
    layout=ROW_MAJOR,
    **_PAIR,
)
def nanmedian_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the median along a dimension without NaN, and where it is."""
    return _middle_along(self, dim, keepdim, True)


@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(
    input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.median: ...
@overload
def median(
    input: Tensor, *, axis: int, keepdims: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.median: ...
@composite()
def median(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Any:
    """Find the median, the lower of two middle elements; with `dim` also where it is.

    >>> import taper
    >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
    tensor(2.)
    """
    if axis is not ABSENT or keepdims:
        dim, keepdim = (axis if dim is ABSENT else dim), keepdim or keepdims
    if dim is ABSENT:
        if out is not None:
            raise TypeError('median() missing 1 required positional arguments: "dim"')
        return median_all(input)
    if out is not None:
        return run_out(median_dim.op, (input, dim, keepdim), out)
    return median_dim(input, dim, keepdim)


@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(
    input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.nanmedian: ...
@overload
def nanmedian(
    input: Tensor, *, axis: int, keepdims: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.nanmedian: ...
@composite()
def nanmedian(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Any:
    """Find the median of the elements that are not NaN; see `median`.

    >>> import taper
    >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
    tensor(2.)
    """
    dim, keepdim = (axis if dim is ABSENT else dim), keepdim or keepdims
    if dim is ABSENT:
        if out is not None:
            raise TypeError('nanmedian() missing 1 required positional arguments: "dim"')
        return nanmedian_all(input)
    if out is not None:
        return run_out(nanmedian_dim.op, (input, dim, keepdim), out)
    return nanmedian_dim(input, dim, keepdim)


# --- mode ------------------------------------------------------------------------------------


@op(returns=return_types.mode, **_PAIR)
def mode(self: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the most frequent element along a dimension, and where it is last.

    Of equally frequent elements the smallest counts.

    >>> import taper
    >>> taper.mode(taper.tensor([1, 2, 2, 3]))
    torch.return_types.mode(
    values=tensor(2),
    indices=tensor(2))
    """
    axis = wrap_dim(dim, self.ndim)
    refuse_empty(self, axis, "mode")
    if not self.ndim:
        return self.copy(), np.zeros_like(self, INT64)
    if self.dtype.kind == "c" and self.size:
        raise no_kernel("mode_cpu", self.dtype)
    order = order_along(self, axis, False)
    if self.dtype.kind in "fV" and self.shape[axis] <= _SHORT and (self != self).any():
        order = np.apply_along_axis(_insertion_order, axis, self)
    values = taken(self, order, axis)
    # The length of the run of equal elements that ends at each place.
    shape = (-1,) + (1,) * (self.ndim - axis - 1)
    places = np.arange(self.shape[axis]).reshape(shape)
    fresh = np.ones(self.shape, bool)
    later, earlier = (slice(None),) * axis + (slice(1, None),), (slice(None),) * axis + (slice(-1),)
    fresh[later] = values[later] != values[earlier]
    length = places - np.maximum.accumulate(np.where(fresh, places, 0), axis)
    best = np.expand_dims(length.argmax(axis), axis)
    return _picked(self, axis, taken(order, best, axis), keepdim)


_SHORT = 16  # the length up to which PyTorch sorts by insertion


def _insertion_order(row: np.ndarray) -> list[int]:
    """Order a row as an insertion sort by `<` does, which leaves NaN where they stand."""
    order = [0]
    for place in range(1, len(row)):
        at = 0 if row[place] < row[order[0]] else place
        while at and row[place] < row[order[at - 1]]:
            at -= 1
        order.insert(at, place)
    return order


@derivative(kthvalue, wrt="self")
@derivative(median_dim, wrt="self")
@derivative(nanmedian_dim, wrt="self")
@derivative(mode, wrt="self")
def chosen_self(grad_values: Any, indices: Any, self_shape: Shape, dim: int, keepdim: bool) -> Any:
    return put_along(grad_values, self_shape, dim, indices, keepdim)


@tangent_of(kthvalue)
@tangent_of(median_dim)
@tangent_of(nanmedian_dim)
@tangent_of(mode)
def chosen_tangent(self_t: Tensor, indices: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, None]:
    return take_along(self_t, dim, indices, keepdim), None
