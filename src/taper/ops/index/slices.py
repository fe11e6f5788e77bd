"""Slices along one dimension at places given by a vector, and elements of the flattened tensor.

index_select, index_add, index_copy, index_fill; take and put.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import LOW_PRECISION
from taper.arrays.layouts import FIRST, PRESERVED
from taper.arrays.native import native
from taper.arrays.reduction import scatter_along
from taper.arrays.scalars import filler
from taper.arrays.strides import EVERYTHING, Shape, refuse_overlap, wrap_dim
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.opdef.writes import run_inplace
from taper.ops.index.advanced import add_at, is_expanded, warn_expanded
from taper.ops.index.gather import check_bounds, through_flat
from taper.ops.shape.reshape import reshape
from taper.tensor import Tensor, element_strides

_INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))


def _name(array: ndarray) -> str:
    return dtypes.FROM_NUMPY[array.dtype].scalar_type


def _at_least_1d(array: ndarray) -> ndarray:
    return array if array.ndim else array.reshape(1)


def _slice_shape(array: ndarray, dim: int) -> Shape:
    return (*array.shape[:dim], *array.shape[dim + 1 :])


# --- index_select ----------------------------------------------------------------------------


@op(tangent=LINEAR, out=True)
def index_select(self: Array, dim: int, index: Array) -> Array:
    """Take slices along a dimension at the places in a vector.

    Args:
        input: a tensor.
        dim: dimension that `index` counts along.
        index: int32 or int64 vector; a place may occur several times.
        out: tensor that receives the result.

    Shape: `input` with the length of `index` along `dim`; the result is a copy.

    Example:
        >>> import taper
        >>> taper.index_select(taper.tensor([[1, 2], [3, 4]]), 0, taper.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
    """
    if native is not None and self.ndim == 1 and dim in (0, -1):
        found: ndarray | None = native.pick_along(self, index)
        if found is not None:
            return found
    position = wrap_dim(dim, self.ndim)
    if index.dtype not in _INTEGERS:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    size = self.shape[position] if self.ndim else 1
    if not self.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    if index.size and index.view(f"u{index.itemsize}").max() >= size:  # negative or too large
        raise _not_to_be_selected(self, index, size, position)
    if not self.ndim:
        return self.copy()
    return self.take(_at_least_1d(index), position)


def _not_to_be_selected(array: ndarray, index: ndarray, size: int, dim: int) -> Exception:
    """Return PyTorch's error of an index out of range: along dimension 1 it is another one."""
    if array.size and dim != 1:
        return IndexError("index out of range in self")
    if not size:
        return RuntimeError("index_select(): self indexing axis dim should be positive")
    wrong = index[(index < 0) | (index >= size)].flat[0]
    return RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}")


@derivative(index_select, wrt="self")
def index_select_self(grad: Array, self_shape: Shape, dim: int, index: Array) -> Array:
    return index_select_backward(grad, self_shape, dim, index)


@op(node="IndexAddBackward0", public=False, method=False, tangent=LINEAR)
def index_select_backward(self: Array, input_sizes: Shape, dim: int, index: Array) -> Array:
    """Make zeros and add the slices of `self` at the places `index`."""
    if not input_sizes:
        return np.asarray(self).reshape(())
    result = np.zeros(input_sizes, self.dtype)
    position = wrap_dim(dim, len(input_sizes))
    if len(input_sizes) == 1 and scatter_along(result, _at_least_1d(index), self, True):
        return result  # of a million elements half of the time
    add_at(result, [None] * position + [_at_least_1d(index)], self)
    return result


@derivative(index_select_backward, wrt="self")
def index_select_backward_self(grad: Array, dim: int, index: Array) -> Array:
    return index_select(grad, dim, index)


# --- index_add and index_copy ----------------------------------------------------------------


def check_index_vector(
    function: str, target: ndarray, dim: int, index: ndarray, source: ndarray
) -> int:
    """Raise if a vector of places or the slices for them do not fit."""
    position = wrap_dim(dim, target.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{function}(): Index is supposed to be a vector, but got dim: {index.ndim} with "
            f"type: {_name(index)} and size: {list(index.shape)}"
        )
    if index.dtype not in _INTEGERS:
        raise RuntimeError(
            f"{function}(): Expected dtype int32/int64 for index but got: {_name(index)}"
        )
    if target.dtype != source.dtype:
        raise RuntimeError(
            f"{function}(): self ({_name(target)}) and source ({_name(source)}) must have the same "
            "scalar type"
        )
    length = source.shape[position] if position < source.ndim else 1
    if index.size != length:
        raise RuntimeError(
            f"{function}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({length}), for dim: {position}"
        )
    shape, other = list(target.shape), list(source.shape)
    if _slice_shape(target, position) != _slice_shape(source, position) or len(shape) != len(other):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {shape} source.shape = {other}"
        )
    check_bounds(index, target.shape[position] if target.ndim else 1, position)
    return position


def write_index_add(target: ndarray, dim: int, index: ndarray, source: ndarray, alpha: Any) -> None:
    """Add slices at the places `index`, or raise and write nothing."""
    position = check_index_vector("index_add_", target, dim, index, source)
    if alpha != 1:
        source = source * np.asarray(alpha).astype(source.dtype)
    if not target.ndim:
        target += source
        return
    places = [None] * position + [_at_least_1d(index)]
    # PyTorch adds slices of half precision in float32, but single elements in their own dtype.
    wide = (
        target.astype(np.float32) if target.ndim > 1 and target.dtype in LOW_PRECISION else target
    )
    add_at(wide, places, source.astype(wide.dtype, copy=False))
    if wide is not target:
        target[...] = wide


@op(tangent=LINEAR, out=True)
def index_add(self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
    """Copy a tensor and add slices of `source`, times `alpha`, at `index` along `dim`.

    >>> import taper
    >>> taper.index_add(taper.zeros(3), 0, taper.tensor([0, 0]), taper.tensor([1.0, 2.0]))
    tensor([3., 0., 0.])
    """
    result = np.array(self, order="C")
    write_index_add(result, dim, index, source, alpha)
    return result


@derivative(index_add, wrt="self")
def index_add_self(grad: Array) -> Array:
    return grad


@derivative(index_add, wrt="source")
def index_add_source(
    grad: Array, dim: int, index: Array, source: Array, source_ndim: int, alpha: Any
) -> Array:
    found = index_select(grad, dim, index)
    return found if alpha == 1 else found * alpha


@composite(public=False, numpy_names=True)
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """In-place version of `index_add`."""

    def write(target: ndarray) -> None:
        refuse_overlap(target)
        write_index_add(target, dim, index._array, source._array, alpha)

    return run_inplace(index_add.op, (self, dim, index, source, alpha), write)


def write_index_copy(target: ndarray, dim: int, index: ndarray, source: ndarray) -> None:
    """Write slices at the places `index`, or raise and write nothing."""
    position = wrap_dim(dim, target.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if index.dtype != np.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {_name(index)}"
        )
    _check_copy_source(target, index, source)
    _check_copy_shapes(target, position, index, source)
    size = target.shape[position] if target.ndim else 1
    if not target.size:
        return  # PyTorch looks at no index then
    if index.size and ((index < 0) | (index >= size)).any():
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(
            f"index_copy_(): index {wrong} is out of bounds for dimension {position} with size "
            f"{size}"
        )
    if target.ndim:
        where: Any = (*(EVERYTHING,) * position, _at_least_1d(index))
        target[where] = source
    elif index.size:
        target[...] = source.reshape(-1)[-1]


def _check_copy_source(target: ndarray, index: ndarray, source: ndarray) -> None:
    if source.ndim == 0 and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element "
            f"(got {index.size})"
        )
    if source.ndim != target.ndim and source.ndim != 0 and target.ndim != 0:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({target.ndim})"
        )
    if target.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{_name(target)} and (source) {_name(source)}"
        )


def _check_copy_shapes(target: ndarray, dim: int, index: ndarray, source: ndarray) -> None:
    own, other = _slice_shape(target, dim), _slice_shape(source, dim)
    if own != other:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, own))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, other))} at dimension 0."
        )
    if source.ndim and index.size != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[dim]})"
        )


@op(tangent=LINEAR, out=True)
def index_copy(self: Array, dim: int, index: Array, source: Array) -> Array:
    """Copy a tensor and write slices of `source` at `index` along `dim`.

    >>> import taper
    >>> taper.index_copy(taper.zeros(3), 0, taper.tensor([2, 0]), taper.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    result = np.array(self, order="C")
    write_index_copy(result, dim, index, source)
    return result


@derivative(index_copy, wrt="self")
def index_copy_self(grad: Array, dim: int, index: Array) -> Array:
    return _index_fill(grad, dim, index, 0)


@derivative(index_copy, wrt="source")
def index_copy_source(
    grad: Array, dim: int, index: Array, source: Array, source_ndim: int
) -> Array:
    return reshape(index_select(grad, dim, index), tuple(source.shape))


@composite(public=False, numpy_names=True)
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """In-place version of `index_copy`."""

    def write(target: ndarray) -> None:
        refuse_overlap(target)
        write_index_copy(target, dim, index._array, source._array)

    return run_inplace(index_copy.op, (self, dim, index, source), write)


# --- index_fill ------------------------------------------------------------------------------


def write_index_fill(target: ndarray, dim: int, index: ndarray, value: Any) -> None:
    """Write one number into the slices at the places `index`, or raise and write nothing."""
    position = wrap_dim(dim, target.ndim)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, ndarray):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        number: Any = value.astype(target.dtype)
    else:
        if isinstance(value, complex) and target.dtype.kind != "c":
            raise RuntimeError(
                "index_fill_(): Converting complex Scalar to non-complex type is not supported"
            )
        number = filler(value, dtypes.FROM_NUMPY[target.dtype])
    size = target.shape[position] if target.ndim else 1
    if not target.size:
        if index.size and not size:
            _refuse_restriding(target, position)
        return
    if index.size and ((index < -size) | (index >= size)).any():
        wrong = index[(index < -size) | (index >= size)].flat[0]
        raise IndexError(
            f"index {wrong} is out of bounds for dimension {position} with size {size}"
        )
    if target.ndim:
        where: Any = (*(EVERYTHING,) * position, index)
        target[where] = number
    elif index.size:
        target[...] = number


def _refuse_restriding(target: ndarray, position: int) -> None:
    """Raise as PyTorch, which looks at one element of an empty dimension to fill it."""
    shape, strides = list(target.shape), list(element_strides(target))
    shape[position], strides[position] = 1, 0
    needed = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if 0 not in shape:
        raise RuntimeError(
            f"setStorage: sizes {shape}, strides {strides}, storage offset 0, and itemsize "
            f"{target.itemsize} requiring a storage size of {needed * target.itemsize} are out of "
            "bounds for storage of size 0"
        )


def fill_number(self: Array, dim: int, index: Array, value: Any) -> Array:
    """Copy with a number in the slices at the places `index`."""
    result = np.array(self, order="C")
    write_index_fill(result, dim, index, value)
    return result


def fill_tensor(self: Array, dim: int, index: Array, value: Array) -> Array:
    """Copy with the value of a 0-d array in the slices at the places `index`."""
    result = np.array(self, order="C")
    write_index_fill(result, dim, index, value)
    return result


def _declare_fill(kernel: Any, name: str, node: str) -> Any:
    return op(name=name, node=node, tangent=LINEAR, public=False, method=False, layout=FIRST)(
        kernel
    )


_index_fill = _declare_fill(fill_number, "index_fill", "IndexFillBackward0")
_index_fill_tensor = _declare_fill(fill_tensor, "index_fill_tensor", "IndexFillBackward1")


@derivative(_index_fill, wrt="self")
@derivative(_index_fill_tensor, wrt="self")
def index_fill_self(grad: Array, dim: int, index: Array) -> Array:
    return _index_fill(grad, dim, index, 0)


@tangent_of(_index_fill)
def index_fill_tangent(self_t: Any, dim: int, index: Any) -> Any:
    return _index_fill(self_t, dim, index, 0)


@derivative(_index_fill_tensor, wrt="value")
def index_fill_value(grad: Array, dim: int, index: Array) -> Array:
    return (grad - _index_fill(grad, dim, index, 0)).sum()


@composite(numpy_names=True)
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """Copy a tensor and write `value`, a number or 0-d tensor, to the slices at `index`.

    >>> import taper
    >>> taper.index_fill(taper.zeros(3), 0, taper.tensor([1]), 5)
    tensor([0., 5., 0.])
    """
    if isinstance(value, Tensor):
        return _index_fill_tensor(input, dim, index, value)
    return _index_fill(input, dim, index, value)


@composite(public=False, numpy_names=True)
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place version of `index_fill`."""
    tensor = isinstance(value, Tensor)
    entry = (_index_fill_tensor if tensor else _index_fill).op

    def write(target: ndarray) -> None:
        if is_expanded(target):
            warn_expanded("index_fill_", "tensor[mask] = scalar")
        write_index_fill(target, dim, index._array, value._array if tensor else value)

    return run_inplace(entry, (self, dim, index, value), write)


# --- take and put ----------------------------------------------------------------------------


def _check_take(array: ndarray, index: ndarray, of_empty: str) -> None:
    size = array.size
    if index.size and not size:
        raise IndexError(of_empty)
    if index.size and ((index < -size) | (index >= size)).any():
        wrong = index[(index < -size) | (index >= size)].flat[0]
        raise IndexError(
            f"out of range: tried to access index {wrong} on a tensor of {size} elements."
        )


@op(tangent=LINEAR, out=True)
def take(self: Array, index: Array) -> Array:
    """Take elements of the flattened tensor at the places `index`, in the shape of `index`.

    >>> import taper
    >>> taper.take(taper.tensor([[1, 2], [3, 4]]), taper.tensor([0, 3]))
    tensor([1, 4])
    """
    if index.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_name(index)}")
    _check_take(self, index, "take(): tried to take from an empty tensor")
    return self.reshape(-1).take(index)


@derivative(take, wrt="self")
def take_self(grad: Array, self: Array, index: Array) -> Array:
    return take_backward(grad, tuple(self.shape), index)


@op(node="PutBackward0", public=False, method=False, tangent=LINEAR)
def take_backward(self: Array, input_sizes: Shape, index: Array) -> Array:
    """Make zeros and add `self` at places of the flattened array."""
    result = np.zeros(input_sizes, self.dtype)
    np.add.at(result.reshape(-1), index.ravel(), np.asarray(self).ravel())
    return result


@derivative(take_backward, wrt="self")
def take_backward_self(grad: Array, index: Array) -> Array:
    return take(grad, index)


def write_put(target: ndarray, index: ndarray, source: ndarray, accumulate: bool) -> None:
    """Write or add elements at places of the flattened array, or raise and write nothing."""
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_name(index)}")
    if target.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{_name(target)} and source.dtype = {_name(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    _check_take(target, index, "put_(): Tried to put elements into an empty tensor")
    places, values = index.ravel(), source.ravel()

    def write(flat: ndarray) -> None:
        if accumulate:
            np.add.at(flat, places, values)
        else:
            flat[places] = values

    through_flat(target, write)


@op(tangent=LINEAR, layout=FIRST)
def put(self: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """Copy a tensor and write, or add, `source` at places `index` of the flattened tensor.

    >>> import taper
    >>> taper.put(taper.zeros(2, 2), taper.tensor([0, 3]), taper.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    result = np.array(self, order="C")
    write_put(result, index, source, accumulate)
    return result


@derivative(put, wrt="self")
def put_self(grad: Array, index: Array, accumulate: bool) -> Array:
    return grad if accumulate else cleared_places(grad, index)


@derivative(put, wrt="source")
def put_source(grad: Array, index: Array, source: Array, accumulate: bool) -> Array:
    return reshape(take(grad, index), tuple(source.shape))


@op(node="PutBackward0", public=False, method=False, tangent=LINEAR, layout=PRESERVED)
def cleared_places(self: Array, index: Array) -> Array:
    """Copy with zeros at places of the flattened array."""
    result = np.array(self, order="C")
    result.reshape(-1)[index.ravel()] = 0
    return result


@derivative(cleared_places, wrt="self")
def cleared_places_self(grad: Array, index: Array) -> Array:
    return cleared_places(grad, index)


@composite(public=False)
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of `put`."""

    def write(target: ndarray) -> None:
        write_put(target, index._array, source._array, accumulate)

    return run_inplace(put.op, (self, index, source, accumulate), write)
