"""Reductions of consecutive pieces of a dimension: segment_reduce and its gradient.

Owns: both kernels.  Data is seen as rows: (outer dimensions, the cut dimension, inner ones), and
pieces are pairs of row numbers, so that `ufunc.reduceat` reduces all of them at once.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from taper.arrays.elements import INT64
from taper.arrays.foreign import has_elements
from taper.arrays.reduction import no_forward_mode
from taper.arrays.strides import wrap_dim
from taper.dtypes import no_kernel
from taper.factory import integer, number, refuse
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.arithmetic import no_derivative
from taper.tensor import Tensor

Pieces: TypeAlias = tuple[ndarray, ndarray]

_WORDS = {"sum": "sum", "mean": "mean", "prod": "prod"}
_WORDS |= {"max": "amax", "amax": "amax", "min": "amin", "amin": "amin"}
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -math.inf, "amin": math.inf}
_UFUNCS: dict[str, Any] = {"sum": np.add, "mean": np.add, "prod": np.multiply}
_UFUNCS |= {"amax": np.maximum, "amin": np.minimum}


# --- pieces ----------------------------------------------------------------------------------


def _bounds(data: ndarray, lengths: ndarray | None, offsets: ndarray | None, axis: int) -> ndarray:
    """Find where the pieces begin and end: one row for each combination of outer dimensions."""
    given: Any = lengths if offsets is None else offsets
    if given.dtype not in (np.int32, INT64):
        kernel = "lengths" if offsets is None else "offsets"
        raise no_kernel(f"_segment_reduce_{kernel}_cpu_kernel1", given.dtype)
    rows = given.reshape(-1, given.shape[-1]).astype(INT64, copy=False)
    if offsets is not None:
        return rows
    return np.concatenate([np.zeros((len(rows), 1), INT64), np.cumsum(rows, 1)], 1)


def _pieces(data: ndarray, bounds: ndarray, axis: int) -> Pieces:
    """Return first and last (excluded) row of each piece, for all outer dimensions in turn."""
    shift = np.arange(len(bounds))[:, None] * data.shape[axis]
    return (bounds[:, :-1] + shift).ravel(), (bounds[:, 1:] + shift).ravel()


def _as_rows(data: ndarray, axis: int) -> ndarray:
    count = math.prod(data.shape[: axis + 1])
    return data.reshape(count, math.prod(data.shape[axis + 1 :]))


def _reduced(rows: ndarray, pieces: Pieces, reduce: str, initial: float) -> ndarray:
    """Combine each piece with `initial`; means are not divided yet."""
    first, last = pieces
    ufunc = _UFUNCS[reduce]
    result = np.full((len(first), rows.shape[1]), initial, rows.dtype)
    filled = last > first
    marks = np.stack([first[filled], last[filled]], 1).ravel()
    if marks.size:
        # Every second mark ends a piece; a piece that would begin after all rows is left out.
        usable = marks[:-1] if marks[-1] == len(rows) else marks
        if usable.max() >= len(rows):
            rows = np.concatenate([rows, rows[:1]])
        result[filled] = ufunc(result[filled], ufunc.reduceat(rows, usable, axis=0)[::2])
    return result


# --- the operators ---------------------------------------------------------------------------


@op(
    name="segment_reduce",
    upcast=True,
    public=False,
    method=False,
    unpromoted=("lengths", "offsets"),
)
def reduce_segments(
    data: Array,
    reduce: str,
    lengths: Array | None,
    offsets: Array | None,
    axis: int,
    initial: Any,
) -> Array:
    """Reduce each of the consecutive pieces of a dimension to one element."""
    word = _WORDS[reduce]
    if data.dtype.kind != "f":
        raise no_kernel("_segment_reduce_cpu", data.dtype)
    bounds = _bounds(data, lengths, offsets, axis)
    pieces = _pieces(data, bounds, axis)
    start = _NEUTRAL[word] if initial is None else initial
    result = _reduced(_as_rows(data, axis), pieces, word, start)
    if word == "mean":
        counts = (pieces[1] - pieces[0])[:, None].astype(data.dtype)
        np.divide(result, counts, out=result, where=counts > 0)
        if initial is None:
            result[counts[:, 0] == 0] = math.nan
    return result.reshape(*data.shape[:axis], bounds.shape[1] - 1, *data.shape[axis + 1 :])


@derivative(reduce_segments, wrt="data")
def reduce_segments_data(grad, result, data, reduce, lengths, offsets, axis, initial):
    return segment_reduce_backward(grad, result, data, reduce, lengths, offsets, axis, initial)


@tangent_of(reduce_segments)
def reduce_segments_tangent(data_t):
    raise no_forward_mode("segment_reduce")


@op(
    name="_segment_reduce_backward",
    node="NotImplemented",
    upcast=True,
    public=False,
    method=False,
    unpromoted=("lengths", "offsets"),
)
def segment_reduce_backward(
    grad: Array,
    output: Array,
    data: Array,
    reduce: str,
    lengths: Array | None,
    offsets: Array | None,
    axis: int,
    initial: Any,
) -> Array:
    """Compute the gradient of the data; equal largest (smallest) elements share theirs."""
    pieces = _pieces(data, _bounds(data, lengths, offsets, axis), axis)
    rows = _as_rows(data, axis)
    counts = pieces[1] - pieces[0]
    # The piece that each row belongs to, and which rows belong to one.
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    where = np.repeat(pieces[0], counts) + within
    flat = (len(counts), rows.shape[1])
    part = grad.reshape(flat)[owner]
    values, outputs = rows[where], output.reshape(flat)
    word = _WORDS[reduce]
    if word == "mean":
        part = part / counts[owner][:, None].astype(rows.dtype)
    elif word == "prod":
        part = part * _products_of_others(values, outputs, owner, initial)
    elif word != "sum":
        chosen = (values == outputs[owner]) | np.isnan(values)
        shared = np.zeros(flat, rows.dtype)
        np.add.at(shared, owner, chosen)
        part = np.where(chosen, part / np.maximum(shared, 1)[owner], 0)
    result = np.zeros(rows.shape, rows.dtype)
    result[where] = part
    return result.reshape(data.shape)


def _products_of_others(values: ndarray, outputs: ndarray, owner: ndarray, initial: Any) -> ndarray:
    """Multiply the other elements of a piece: by a quotient, or one by one at 0 and NaN."""
    with np.errstate(all="ignore"):
        quotient = outputs[owner] / values
    zero, nan = values == 0, np.isnan(values)
    special = zero | nan
    if not special.any():
        return quotient
    plain = np.full_like(outputs, 1 if initial is None else initial)
    np.multiply.at(plain, owner, np.where(special, 1, values))
    zeros, nans = np.zeros_like(outputs), np.zeros_like(outputs)
    np.add.at(zeros, owner, zero)
    np.add.at(nans, owner, nan)
    other_nans, other_zeros = (nans[owner] - nan) > 0, (zeros[owner] - zero) > 0
    rest = np.where(other_nans, math.nan, np.where(other_zeros, 0, 1))
    return np.where(special, plain[owner] * rest, quotient).astype(values.dtype)


@derivative(segment_reduce_backward, wrt=("grad", "output", "data"))
def segment_reduce_backward_all(reduce, needs):
    raise no_derivative("_segment_reduce_backward")


@tangent_of(segment_reduce_backward)
def segment_reduce_backward_tangent(grad_t):
    raise no_forward_mode("_segment_reduce_backward")


# --- the function ----------------------------------------------------------------------------


def _check(data: Tensor, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool) -> int:
    """Raise for pieces that make no sense; return the dimension counted from the front."""
    position = wrap_dim(axis, data.dim())
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = lengths if offsets is None else offsets
    if data.dim() < given.dim():
        raise RuntimeError(
            "Expected data.dim() >= lengths_value.dim() to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if position != given.dim() - 1:
        name = "lengths" if offsets is None else "offsets"
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got "
            f"{position}."
        )
    if offsets is None and not unsafe:
        if not given.numel():
            raise RuntimeError(
                "min(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                "the reduction dim with the 'dim' argument."
            )
        if not has_elements(given._array):
            return position
        if (given._array < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (given._array.sum(-1) != data.shape[position]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    return position


@composite(method=False, arrays=True)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Reduce consecutive pieces of a dimension, each to one element.

    `lengths` or the `offsets` of the pieces say where they are; `reduce` is "sum", "mean", "prod",
    "max" or "min". Every piece begins with `initial`.

    >>> import taper
    >>> taper.segment_reduce(taper.tensor([1.0, 2.0, 3.0]), "sum", lengths=taper.tensor([2, 1]))
    tensor([3., 3.])
    """
    if not isinstance(data, Tensor):
        refuse("segment_reduce", "data", 1, "Tensor", data)
    if not isinstance(reduce, str):
        refuse("segment_reduce", "reduce", 2, "str", reduce)
    for name, each in (("lengths", lengths), ("indices", indices), ("offsets", offsets)):
        if each is not None and not isinstance(each, Tensor):
            refuse("segment_reduce", name, 0, "Tensor", each)
    integer("segment_reduce", "axis", 0, axis)
    if not isinstance(unsafe, bool):
        refuse("segment_reduce", "unsafe", 0, "bool", unsafe)
    if initial is not None:
        initial = number("segment_reduce", "initial", 0, initial)
    position = _check(data, lengths, indices, offsets, axis, unsafe)
    if reduce not in _WORDS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    return reduce_segments(data, reduce, lengths, offsets, position, initial)
