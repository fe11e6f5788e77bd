"""Elements along one dimension at places given for each element: gather, scatter, scatter_add.

`index` has as many dimensions as the tensor and may be shorter; it says for each of its places
where along `dim` to read or write.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.native import native
from taper.arrays.reduction import combine_at, scatter_along
from taper.arrays.scalars import filler
from taper.arrays.strides import (
    Shape,
    broadcast_clash,
    existing_dim,
    refuse_overlap,
    row_major,
    wrap_dim,
)
from taper.factory import refuse
from taper.opdef import LINEAR, Array, Operand, composite, derivative, op, tangent_of
from taper.opdef.operands import number_of
from taper.opdef.writes import compute_into, run_inplace
from taper.ops.elementwise.remainders import remainder
from taper.ops.linalg.matmul import same_dtype
from taper.ops.shape.ones import broadcast_to, reshape
from taper.tensor import Tensor, array_of
from taper.userwarning import warn_once

_INTEGERS = (np.dtype(np.int64), np.dtype(np.int32))


# --- places ----------------------------------------------------------------------------------


def check_bounds(index: ndarray, size: int, dim: int) -> None:
    """Raise if an index points outside; negative ones do."""
    # As unsigned numbers, negative ones are too large as well: one reduction instead of two.
    if index.size and index.view(f"u{index.itemsize}").max() >= size:
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def places_along(shape: Shape, dim: int, index: ndarray) -> ndarray:
    """Number the places of `index` along `dim` as in a row-major array."""
    if not shape:
        return index
    strides = row_major(shape)
    total: Any = index if index.itemsize == 8 else index.astype(np.int64)
    if strides[dim] != 1:
        total = total * strides[dim]
    for other, length in enumerate(index.shape):
        if other != dim and length > 1:
            offsets = np.arange(0, length * strides[other], strides[other])
            total = total + offsets.reshape(-1, *(1,) * (index.ndim - other - 1))
    return np.asarray(total)


def through_flat(array: ndarray, change: Callable[[ndarray], None]) -> None:
    """Change an array as if it were one-dimensional."""
    if array.flags.c_contiguous:
        change(array.reshape(-1))
    else:
        refuse_overlap(array)
        flat = array.ravel()
        change(flat)
        array[...] = flat.reshape(array.shape)


def part_for(source: ndarray, index: ndarray) -> ndarray:
    """Take the part of a source that an index covers, flat."""
    if source.shape != index.shape:
        source = source.reshape(source.shape or (1,))  # a 0-d source has one element for any index
        source = source[tuple([slice(length) for length in index.shape or (1,)])]
    return source.ravel()


def _check_dtype(function: str, index: ndarray) -> None:
    if index.dtype not in _INTEGERS and index.size:
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")


def _check_gather(array: ndarray, dim: int, index: ndarray) -> int:
    """Raise if `index` does not fit; return the dimension counted from the front."""
    position = wrap_dim(dim, array.ndim)
    _check_dtype("gather", index)
    if max(array.ndim, 1) != max(index.ndim, 1) and index.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for other, (length, limit) in enumerate(zip(index.shape, array.shape, strict=False)):
        if other != position and length > limit:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to "
                f"be no larger than self {list(array.shape)} apart from dimension {position}"
            )
    check_bounds(index, array.shape[position] if array.ndim else 1, position)
    return position


def check_scatter(array: ndarray, dim: int, index: ndarray, source: ndarray | None) -> int:
    """Raise if `index` or `source` does not fit; return the dimension counted from the front."""
    position = wrap_dim(dim, array.ndim)
    _check_dtype("scatter", index)
    if not index.size:
        return position
    if source is not None and source.dtype != array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    ndim = max(index.ndim, 1)
    if max(array.ndim, 1) != ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if source is not None and max(source.ndim, 1) != ndim:
        if 0 < source.ndim < ndim and np.less_equal(index.shape[: source.ndim], source.shape).all():
            wrap_dim(source.ndim, source.ndim)  # PyTorch finds all that it has long enough
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    shape = array.shape or (1,)
    lengths = index.shape or (1,)
    fits = all(a <= b for d, (a, b) in enumerate(zip(lengths, shape, strict=True)) if d != position)
    more = ""
    if source is not None:
        fits = fits and all(a <= b for a, b in zip(lengths, source.shape or (1,), strict=True))
        more = f" and to be no larger size than src {list(source.shape)}"
    if not fits:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(array.shape)} "
            f"apart from dimension {position}{more}"
        )
    check_bounds(index, shape[position], position)
    return position


# --- gather ----------------------------------------------------------------------------------


@op(tangent=LINEAR, out=True)
def gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """Take elements along a dimension at the places in `index`.

    result[i, j] = input[index[i, j], j] for dim = 0, input[i, index[i, j]] for dim = 1, and so on

    Args:
        input: a tensor.
        dim: dimension that `index` counts along.
        index: int64 tensor with as many dimensions as `input`; other lengths at most those of
            `input`.
        sparse_grad: whether the gradient is sparse.
        out: tensor that receives the result.

    Shape: the result has the shape of `index`.

    Example:
        >>> import taper
        >>> taper.gather(taper.tensor([[1, 2], [3, 4]]), 1, taper.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    if native is not None and (dim == -1 or dim == self.ndim - 1):
        found: ndarray | None = native.pick_along(self, index)
        if found is not None:
            return found
    position = _check_gather(self, dim, index)
    return self.reshape(-1).take(places_along(self.shape, position, index))


@derivative(gather, wrt="self")
def gather_self(grad: Array, self: Array, dim: int, index: Array, sparse_grad: bool) -> Array:
    if sparse_grad:
        # late: few gradients are sparse
        gradients = importlib.import_module("taper.ops.sparse.gradients")
        found: Array = gradients.of_elements(grad, index, dim, tuple(self.shape))
        return found
    return gather_backward(grad, tuple(self.shape), dim, index)


@op(node="ScatterAddBackward0", public=False, method=False, tangent=LINEAR)
def gather_backward(self: Array, input_sizes: Shape, dim: int, index: Array) -> Array:
    """Make zeros and add `self` where `index` points."""
    result = np.zeros(input_sizes, self.dtype)
    position = wrap_dim(dim, len(input_sizes))
    places = places_along(tuple(input_sizes), position, index)
    combine_at(np.add.at, result.reshape(-1), places.ravel(), np.asarray(self).ravel())
    return result


@derivative(gather_backward, wrt="self")
def gather_backward_self(grad: Array, dim: int, index: Array) -> Array:
    return gather(grad, dim, index)


@composite()
def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: int | None = None,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
) -> Tensor:
    """Take elements along a dimension as `gather`, with broadcasting.

    Without `dim` the flattened tensor is read. Along a dimension indices are taken modulo its
    length.

    >>> import taper
    >>> taper.take_along_dim(taper.tensor([[3, 1], [2, 4]]), taper.tensor([[1]]), 1)
    tensor([[1],
            [4]])
    """
    if not isinstance(indices, Tensor):
        refuse("take_along_dim", "indices", 1, "Tensor", indices)
    if indices._array.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{indices.dtype.scalar_type}"
        )
    dim = dim if axis is None else axis
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)), out=out)
    shape, places = input._array.shape, indices._array.shape
    if len(shape) != len(places):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(shape)} dimensions for input, and {len(places)} dimensions for indices"
        )
    at = wrap_dim(dim, len(shape))
    existing_dim(at, len(shape))
    others = ((*shape[:at], 1, *shape[at + 1 :]), (*places[:at], 1, *places[at + 1 :]))
    clash = broadcast_clash(others)
    if clash is not None:
        raise clash
    wide = np.broadcast_shapes(*others)
    if shape[at]:
        indices = remainder(indices, shape[at])
    source = (*wide[:at], shape[at], *wide[at + 1 :])
    target = (*wide[:at], places[at], *wide[at + 1 :])
    return gather(broadcast_to(input, source), at, broadcast_to(indices, target), out=out)


# --- scatter ---------------------------------------------------------------------------------


def write_scatter(target: ndarray, dim: int, index: ndarray, source: Any) -> None:
    """Write elements of a source, or a number, where `index` points; or raise and write nothing."""
    if dim in (-1, target.ndim - 1) and scatter_along(target, index, source, False):
        return
    is_array = isinstance(source, ndarray)
    position = check_scatter(target, dim, index, source if is_array else None)
    values = (
        part_for(source, index) if is_array else filler(source, dtypes.FROM_NUMPY[target.dtype])
    )
    places = places_along(target.shape, position, index).ravel()

    def write(flat: ndarray) -> None:
        flat[places] = values

    through_flat(target, write)


def scatter_source(self: Array, dim: int, index: Array, src: Array) -> Array:
    """Copy and write elements of `src` where `index` points."""
    result = np.array(self, order="C")
    write_scatter(result, dim, index, src)
    return result


def scatter_number(self: Array, dim: int, index: Array, value: Any) -> Array:
    """Copy and write a number where `index` points."""
    result = np.array(self, order="C")
    write_scatter(result, dim, index, value)
    return result


def _declare(kernel: Any, name: str, node: str) -> Any:
    return op(name=name, node=node, tangent=LINEAR, public=False, method=False)(kernel)


_scatter = _declare(scatter_source, "scatter", "ScatterBackward0")
scatter_value = _declare(scatter_number, "scatter_value", "ScatterBackward1")


@derivative(_scatter, wrt="self")
@derivative(scatter_value, wrt="self")
def scatter_self(grad: Array, dim: int, index: Array) -> Array:
    return scatter_value(grad, dim, index, 0)


@tangent_of(scatter_value)
def scatter_value_tangent(self_t: Any, dim: int, index: Any) -> Any:
    return scatter_value(self_t, dim, index, 0)


@derivative(_scatter, wrt="src")
def scatter_src(grad: Array, dim: int, index: Array) -> Array:
    return gather(grad, dim, index)


@op(label="scatter", node="NotImplemented", public=False, method=False)
def scatter_combined(self: Array, dim: int, index: Array, src: Operand, reduce: str) -> Array:
    """Combine in the old form of `scatter_reduce`, which has no derivative."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    is_array = isinstance(src, ndarray)
    position = check_scatter(self, dim, index, src if is_array else None)
    result = np.array(self, order="C")
    values: Any = part_for(src, index) if is_array else np.asarray(src).astype(self.dtype)
    at = np.add.at if reduce == "add" else np.multiply.at
    combine_at(at, result.reshape(-1), places_along(self.shape, position, index).ravel(), values)
    return result


@derivative(scatter_combined, wrt=("self", "src"))
def scatter_combined_both(grad: Array) -> Any:
    raise RuntimeError("derivative for aten::scatter is not implemented")


def _scatter_call(tensor: Tensor, dim: int, index: Tensor, src: Any, value: Any, how: Any) -> Any:
    """Find the operator and the arguments that a call of `scatter` means."""
    source = number_of("scatter", "value", 0, value) if src is None else src
    if how is not None:
        if isinstance(source, Tensor):
            warn_once(
                "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
                "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
                "reduction options."
            )
        return scatter_combined, (tensor, dim, index, source, how)
    function = _scatter if isinstance(source, Tensor) else scatter_value
    return function, (tensor, dim, index, source)


@composite(numpy_names=True)
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Copy a tensor and write elements of `src`, or a number, where `index` points along `dim`.

    >>> import taper
    >>> taper.scatter(taper.zeros(1, 3), 1, taper.tensor([[2, 0]]), 1.0)
    tensor([[1., 0., 1.]])
    """
    function, arguments = _scatter_call(input, dim, index, src, value, reduce)
    if out is not None:
        return compute_into("scatter", function, arguments, out, same_dtype)
    return function(*arguments)


@composite(public=False, numpy_names=True)
def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """Write elements along a dimension at the places in `index`, in place.

    self[index[i, j], j] = src[i, j] for dim = 0, self[i, index[i, j]] = src[i, j] for dim = 1

    Args:
        dim: dimension that `index` counts along.
        index: int64 tensor with as many dimensions as the tensor.
        src: tensor of values, no smaller than `index`, or a number.
        value: a number, as a keyword.
        reduce: "add" or "multiply" to combine with what is there; None overwrites.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> taper.zeros(3).scatter_(0, taper.tensor([2, 0]), taper.tensor([5.0, 6.0]))
        tensor([6., 0., 5.])
    """
    function, arguments = _scatter_call(self, dim, index, src, value, reduce)
    if reduce is not None:
        return run_inplace(function.op, arguments)
    source = array_of(arguments[3])

    def write(target: ndarray) -> None:
        write_scatter(target, dim, index._array, source)

    return run_inplace(function.op, arguments, write)


# --- scatter_add -----------------------------------------------------------------------------


def write_scatter_add(target: ndarray, dim: int, index: ndarray, source: ndarray) -> None:
    """Add elements of a source where `index` points, or raise and write nothing."""
    if dim in (-1, target.ndim - 1) and scatter_along(target, index, source, True):
        return
    position = check_scatter(target, dim, index, source)
    values = part_for(source, index)
    places = places_along(target.shape, position, index).ravel()
    through_flat(target, lambda flat: combine_at(np.add.at, flat, places, values))


@op(tangent=LINEAR, out=same_dtype)
def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    """Copy a tensor and add elements of `src` where `index` points along `dim`.

    >>> import taper
    >>> taper.scatter_add(taper.zeros(1, 3), 1, taper.tensor([[0, 0]]), taper.ones(1, 2))
    tensor([[2., 0., 0.]])
    """
    result = np.array(self, order="C")
    write_scatter_add(result, dim, index, src)
    return result


@derivative(scatter_add, wrt="self")
def scatter_add_self(grad: Array) -> Array:
    return grad


@derivative(scatter_add, wrt="src")
def scatter_add_src(grad: Array, dim: int, index: Array) -> Array:
    return gather(grad, dim, index)


@composite(public=False, numpy_names=True)
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add elements along a dimension at the places in `index`, in place.

    self[index[i, j], j] += src[i, j] for dim = 0, self[i, index[i, j]] += src[i, j] for dim = 1

    Args:
        dim: dimension that `index` counts along.
        index: int64 tensor with as many dimensions as the tensor.
        src: tensor of values, no smaller than `index`.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> taper.zeros(2).scatter_add_(0, taper.tensor([1, 1]), taper.tensor([5.0, 6.0]))
        tensor([ 0., 11.])
    """

    def write(target: ndarray) -> None:
        write_scatter_add(target, dim, index._array, src._array)

    return run_inplace(scatter_add.op, (self, dim, index, src), write)
