"""Advanced indexing: reading and writing at places given by integer tensors and masks.

`getitem` turns what stands in brackets into views and finally into `index` or `index_put_` here. An
index is a sequence with one entry per dimension: an array of integers, a mask (which takes as many
dimensions as it has), or None for all of a dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.layouts import FIRST, PRESERVED, laid_out
from taper.arrays.reduction import add_rows
from taper.arrays.scalars import filler
from taper.arrays.strides import EVERYTHING, Shape, ordered_strides, row_major, wrap_dim
from taper.autograd.views import bump_version
from taper.opdef import LINEAR, Array, Indices, composite, derivative, op
from taper.opdef.out_rules import refuse_written_input
from taper.opdef.writes import run_inplace
from taper.ops.creation.copy import needs_record
from taper.tensor import Tensor
from taper.userwarning import warn_user

_INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))
_MASKS = (np.dtype(np.bool_), np.dtype(np.uint8))


# --- places ----------------------------------------------------------------------------------


def integer_indices(
    shape: Shape, indices: Sequence[ndarray | None], warn: bool = True
) -> list[ndarray | None]:
    """Replace masks in an index by the coordinates of their True elements; check the rest."""
    found: list[ndarray | None] = []
    if len(indices) > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)} (got {len(indices)})"
        )
    for each in indices:
        if each is None or each.dtype in _INTEGERS:
            found.append(each)
            continue
        if each.dtype not in _MASKS:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if each.dtype == np.uint8 and warn:
            warn_user(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                "instead."
            )
        for dim, length in enumerate(each.shape):
            at = wrap_dim(len(found) + dim, len(shape))
            if length != shape[at]:
                raise IndexError(
                    f"The shape of the mask {list(each.shape)} at index {dim} does not match the "
                    f"shape of the indexed tensor {list(shape)} at index {at}"
                )
        found.extend(each.nonzero() if each.ndim else ())  # without dimensions: it picks none
    if warn and not any(each is not None for each in found):
        raise RuntimeError("ntensor >= 3 INTERNAL ASSERT FAILED: no index is left")
    if len(found) > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)} (got {len(found)})"
        )
    if 0 in shape and all(each is None or each.size for each in found):
        for size, each in zip(shape, found, strict=False):
            if each is not None and not size:
                raise IndexError("index is out of bounds for dimension with size 0")
    return found


def _explained(
    error: IndexError, indices: Sequence[ndarray | None], shape: Shape = ()
) -> IndexError:
    """Say in PyTorch's words why NumPy refused an index of an array of this shape."""
    text = str(error)
    if "is out of bounds for axis" in text:
        return _outside(indices, shape)
    if "shape mismatch" in text:
        shapes = ", ".join(str(list(each.shape)) for each in indices if each is not None)
        return IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        )
    if "empty" in text:
        return IndexError("index is out of bounds for dimension with size 0")
    return error


def _outside(indices: Sequence[ndarray | None], shape: Shape) -> IndexError:
    """Name the first element of an index that lies outside: PyTorch goes from place to place."""
    used = [(each, size) for each, size in zip(indices, shape, strict=False) if each is not None]
    together = np.broadcast_arrays(*[each for each, _ in used])
    found = []
    for number, (each, (_, size)) in enumerate(zip(together, used, strict=True)):
        outside = np.flatnonzero((each < -size) | (each >= size))
        if len(outside):
            place = outside[0]
            found.append((place, number, each.ravel()[place], size))
    _, number, where, size = min(found)
    if not size:
        return IndexError("index is out of bounds for dimension with size 0")
    return IndexError(f"index {where} is out of bounds for dimension {number} with size {size}")


def taken(array: ndarray, indices: Sequence[ndarray | None]) -> ndarray:
    """Take the elements at an index, as a new row-major array."""
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == np.bool_:
        mask = indices[0]
        if mask.shape == array.shape[: mask.ndim] and mask.ndim:
            return array[mask] if array.flags.c_contiguous else np.ascontiguousarray(array[mask])
    places = integer_indices(array.shape, indices)
    try:
        if len(places) == 1 and places[0] is not None:
            return array.take(places[0], 0)
        used = [dim for dim, each in enumerate(places) if each is not None]
        if len(used) == 1:
            only: Any = places[used[0]]
            return array.take(only, used[0])
        where = tuple([EVERYTHING if each is None else each for each in places])
        result = array[where]
        # NumPy chooses the layout of results, even where a dimension has length 1.
        return result if result.ndim < 2 else result.ravel().reshape(result.shape)
    except IndexError as error:
        if _is_empty(array.shape, places):
            return np.empty(result_shape(array.shape, places), array.dtype)
        raise _explained(error, places, array.shape) from None


def _is_empty(shape: Shape, places: Sequence[ndarray | None]) -> bool:
    """Tell whether an index reads nothing; it may then point anywhere."""
    if 0 not in shape and all(each is None or each.size for each in places):
        return False
    try:
        return 0 in result_shape(shape, places)
    except ValueError:
        return False


def result_shape(shape: Shape, places: Sequence[ndarray | None]) -> Shape:
    """Compute the shape of what lies at an index of integer arrays."""
    used = [dim for dim, each in enumerate(places) if each is not None]
    together = np.broadcast_shapes(*[each.shape for each in places if each is not None])
    others = [length for dim, length in enumerate(shape) if dim not in used]
    first = used[0] if used and used[-1] - used[0] == len(used) - 1 else 0
    return (*others[:first], *together, *others[first:])


def flat_places(shape: Shape, places: Sequence[ndarray | None]) -> ndarray:
    """Number the elements at an index as in a row-major array of this shape."""
    strides = row_major(shape)
    used = [dim for dim, each in enumerate(places) if each is not None]
    total: Any = 0
    for dim in used:
        each: Any = places[dim]
        total = total + np.where(each < 0, each + shape[dim], each).astype(np.int64) * strides[dim]
    total = np.asarray(total)
    first = used[0] if used and used[-1] - used[0] == len(used) - 1 else 0
    others = [dim for dim in range(len(shape)) if dim not in used]
    before, after = others[:first], others[first:]
    lead = _offsets(shape, strides, before).reshape(-1, *(1,) * (total.ndim + len(after)))
    trail = _offsets(shape, strides, after)
    middle = total.reshape(*total.shape, *(1,) * len(after))
    return (lead + (middle + trail)).ravel()


def _offsets(shape: Shape, strides: Shape, dims: list[int]) -> ndarray:
    """Compute offsets of all combinations along some dimensions, one array dimension for each."""
    total = np.zeros((1,) * len(dims), np.int64)
    for position, dim in enumerate(dims):
        steps = np.arange(shape[dim]) * strides[dim]
        total = total + steps.reshape(-1, *(1,) * (len(dims) - position - 1))
    return total


def add_at(target: ndarray, places: Sequence[ndarray | None], values: ndarray) -> None:
    """Add values at an index; a place that occurs twice gets the sum.

    `np.add.at` is fast only for one-dimensional arrays of one dtype: 2.0 ms against 7.7 for a
    gradient of 4096 rows of 128 numbers.
    """
    if len(places) == 1 and places[0] is not None and values.ndim:
        rows = places[0]
        if values.shape == (*rows.shape, *target.shape[1:]) and add_rows(target, rows, values):
            return
    if target.ndim == 1 or (values.size < 64 and len(places) == 1):
        where: Any = tuple([EVERYTHING if each is None else each for each in places])
        np.add.at(target, where, values)
        return
    flat = target.reshape(-1) if target.flags.c_contiguous else np.zeros(target.size, target.dtype)
    full = np.broadcast_to(values, result_shape(target.shape, places))
    np.add.at(flat, flat_places(target.shape, places), full.ravel())
    if not target.flags.c_contiguous:
        target += flat.reshape(target.shape)


# --- reading ---------------------------------------------------------------------------------


def _as_indexed(result: ndarray, given: Sequence[Any]) -> ndarray:
    """Lay a result out by the dimensions that are not indexed, then by those of the indices."""
    array, indices = given
    places = integer_indices(array.shape, indices)
    used = [dim for dim, each in enumerate(places) if each is not None]
    others = [step for dim, step in enumerate(array.strides) if dim not in used]
    together = np.broadcast_arrays(*[each for each in places if each is not None])
    first = used[0] if used[-1] - used[0] == len(used) - 1 else 0
    before, after = others[:first], others[first:]
    several = [(*before, *(0,) * together[0].ndim, *after)]
    for each in together:
        several.append((*(0,) * len(before), *each.strides, *(0,) * len(after)))
    return laid_out(result, ordered_strides(result.shape, several))


@op(name="index", public=False, method=False, tangent=LINEAR, layout=_as_indexed)
def index(self: Array, indices: Indices) -> Array:
    """Take the elements at an index."""
    return taken(self, indices)


@derivative(index, wrt="self")
def index_self(grad: Array, self_shape: Shape, indices: Any) -> Array:
    return index_backward(grad, self_shape, indices)


@op(node="IndexPutImplBackward0", public=False, method=False, tangent=LINEAR)
def index_backward(self: Array, input_sizes: Shape, indices: Indices) -> Array:
    """Make zeros and add `self` at an index."""
    result = np.zeros(input_sizes, self.dtype)
    if len(indices) == 1 and indices[0].dtype == np.bool_:
        result[indices[0]] = self
        return result
    if self.size:
        add_at(result, integer_indices(result.shape, indices), self)
    return result


@derivative(index_backward, wrt="self")
def index_backward_self(grad: Array, indices: Any) -> Array:
    return index(grad, indices)


# --- writing ---------------------------------------------------------------------------------


@op(name="index_put", public=False, method=False, tangent=LINEAR, layout=FIRST)
def put_at(self: Array, indices: Indices, values: Array, accumulate: bool = False) -> Array:
    """Copy `self` and write, or add, values at an index."""
    result = np.array(self, order="C")
    write_at(result, indices, values, accumulate)
    return result


def write_at(
    target: ndarray, indices: Sequence[ndarray | None], values: ndarray, accumulate: bool
) -> None:
    """Write values at an index, or raise and write nothing."""
    filled = _fills(indices, values, accumulate)
    places = integer_indices(target.shape, indices, warn=not filled)
    if filled:
        _refuse_bytes(indices)
        if values.dtype != target.dtype:
            number = filler(values.item(), dtypes.FROM_NUMPY[target.dtype])
            values = np.full(values.shape, number, target.dtype)
        if not places:
            np.copyto(target, values.reshape(()), where=indices[0])
            return
    elif values.dtype != target.dtype:
        if 0 not in target.shape:  # shapes are checked here, indices only when they are used
            starts = [None if each is None else np.zeros_like(each) for each in places]
            _check_values(target, starts, values)
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{dtypes.FROM_NUMPY[target.dtype].scalar_type} for the destination and "
            f"{dtypes.FROM_NUMPY[values.dtype].scalar_type} for the source."
        )
    where = tuple([EVERYTHING if each is None else each for each in places])
    if _is_empty(target.shape, places):
        _check_values(target, places, values)
        return
    try:
        if accumulate:
            _check_values(target, places, values)
            add_at(target, places, values)
        else:
            target[where] = values
    except IndexError as error:
        raise _explained(error, places, target.shape) from None
    except ValueError:
        _check_values(target, places, values)
        raise


def _fills(indices: Sequence[ndarray | None], values: ndarray, accumulate: bool) -> bool:
    """Tell whether one value goes where one mask says: PyTorch calls `masked_fill_` for that."""
    given = [each for each in indices if each is not None]
    return values.size == 1 and not accumulate and len(given) == 1 and given[0].dtype in _MASKS


def _refuse_bytes(indices: Sequence[ndarray | None]) -> None:
    if any(each is not None and each.dtype == np.uint8 for each in indices):
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
        )


def _is_mask(each: ndarray | None) -> bool:
    return each is not None and each.dtype == np.bool_


def _check_values(target: ndarray, places: Sequence[ndarray | None], values: ndarray) -> None:
    """Raise if the values do not fit the index, or the index does not fit the array."""
    try:
        wanted = result_shape(target.shape, places)
    except ValueError:
        raise _explained(IndexError("shape mismatch"), places) from None
    fits = values.ndim <= len(wanted) and all(
        length in (1, room)
        for length, room in zip(reversed(values.shape), reversed(wanted), strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(wanted)}"
        )
    for dim, each in enumerate(places):
        if each is not None and each.size and 0 not in wanted:
            size = target.shape[dim]
            outside = (each < -size) | (each >= size)
            if outside.any():
                raise _outside(places, target.shape)


@derivative(put_at, wrt="self")
def index_put_self(grad: Array, indices: Any, accumulate: bool) -> Array:
    return grad if accumulate else cleared_at(grad, indices)


@derivative(put_at, wrt="values")
def index_put_values(grad: Array, indices: Any) -> Array:
    return index(grad, indices)


@op(
    name="_cleared_at",
    node="IndexPutBackward0",
    public=False,
    method=False,
    tangent=LINEAR,
    layout=PRESERVED,
)
def cleared_at(self: Array, indices: Indices) -> Array:
    """Copy with zeros at an index."""
    result = np.array(self, order="C")
    write_at(result, indices, np.zeros((), self.dtype), False)
    return result


@derivative(cleared_at, wrt="self")
def cleared_at_self(grad: Array, indices: Any) -> Array:
    return cleared_at(grad, indices)


def _index_argument(name: str, indices: Any) -> tuple[Tensor, ...]:
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{type(indices).__name__}"
        )
    for number, each in enumerate(indices):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 0, but got {type(each).__name__}"
            )
    return tuple(indices)


def is_expanded(array: ndarray) -> bool:
    """Tell whether several elements lie in one place, since a stride is 0."""
    if 0 not in array.strides:
        return False
    pairs = zip(array.shape, array.strides, strict=True)
    return any(length > 1 and not stride for length, stride in pairs) and array.size > 0


def warn_expanded(function: str, form: str) -> None:
    """Warn as PyTorch does of writing an expanded tensor with a function that allows it."""
    warn_user(
        f"Use of {function} on expanded tensors is deprecated. Please clone() the tensor before "
        f"performing this operation. This also applies to advanced indexing e.g. {form}"
    )


def write_index(
    target: Tensor, indices: tuple[Tensor | None, ...], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write values at an index, in place."""
    if not isinstance(values, Tensor):
        raise TypeError(
            f"index_put_(): argument 'values' (position 2) must be Tensor, not "
            f"{type(values).__name__}"
        )
    arrays = [None if each is None else each._array for each in indices]
    filled = _fills(arrays, values._array, accumulate)
    recorded = needs_record(target, values)
    if not filled:
        refuse_written_input(put_at.op, target, (indices, values, accumulate))

    def write(array: ndarray) -> None:
        if is_expanded(array):
            warn_expanded("index_put_", "tensor[indices] = tensor")
            if not values._array.ndim and not accumulate and any(map(_is_mask, arrays)):
                warn_expanded("masked_fill_", "tensor[mask] = scalar")
        write_at(array, arrays, values._array, accumulate)

    if not recorded:
        write(target._array)
        bump_version(target)
        return target
    return run_inplace(put_at.op, (target, indices, values, accumulate), write)


@composite()
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Copy a tensor and write, or add, `values` at the places `indices`.

    >>> import taper
    >>> taper.index_put(taper.zeros(3), (taper.tensor([0, 2]),), taper.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    return put_at(input, _index_argument("index_put", indices), values, accumulate)


@composite()
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values`, or add them, at the places `indices`.

    >>> import taper
    >>> taper.zeros(3).index_put_((taper.tensor([0, 0]),), taper.tensor(1.0), accumulate=True)
    tensor([2., 0., 0.])
    """
    return write_index(input, _index_argument("index_put_", indices), values, accumulate)
