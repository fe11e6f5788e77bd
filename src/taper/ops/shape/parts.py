"""Views of a part of a tensor: select, slice, narrow, diagonal, unfold.

Each has a `..._backward` operator that puts a gradient where the part was, into zeros.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from taper.arrays.reduction import ABSENT
from taper.arrays.strides import EVERYTHING, Shape, strided, wrap_dim
from taper.factory import integer, is_integer
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.opdef.numpy_names import refuse_missing
from taper.opdef.operands import invalid_combination
from taper.tensor import Tensor

# --- select ----------------------------------------------------------------------------------


@op(name="select", view=True, tangent=LINEAR, public=False, method=False)
def select_at(self: Array, dim: int, index: int) -> Array:
    """Take the slice at `index` along `dim`, without that dimension."""
    ndim = self.ndim
    try:
        if dim == 0 and ndim:
            return self[index, ...]
        if ndim == 0:
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        position = wrap_dim(dim, ndim)
        return self[(EVERYTHING,) * position + (index, ...)]
    except IndexError as error:
        if "-dim" in str(error) or "Dimension" in str(error):
            raise
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
            f"dimension {dim % ndim}"
        ) from None


@derivative(select_at, wrt="self")
def select_self(grad: Array, self_shape: Shape, dim: int, index: int) -> Array:
    return select_backward(grad, self_shape, dim, index)


@op(public=False, method=False, tangent=LINEAR)
def select_backward(self: Array, input_sizes: Shape, dim: int, index: int) -> Array:
    """Make zeros with `self` where the slice was."""
    result = np.zeros(input_sizes, self.dtype)
    if dim == 0:
        result[index] = self
    else:
        result[(EVERYTHING,) * wrap_dim(dim, len(input_sizes)) + (index,)] = self
    return result


@derivative(select_backward, wrt="self")
def select_backward_self(grad: Array, dim: int, index: int) -> Array:
    return select_at(grad, dim, index)


@composite(quick="selected(input, local.state, getframe(1), F_select, dim, index)")
def select(input: Any, dim: Any = ABSENT, index: Any = ABSENT, *, axis: Any = ABSENT) -> Any:
    """Take the slice at one index along a dimension.

    Args:
        input: a tensor.
        dim: dimension that disappears.
        index: which slice.
        axis: NumPy's name for `dim`.

    Shape: `input` without `dim`; the result is a view.

    Example:
        >>> import taper
        >>> taper.select(taper.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    if type(index) is not int or dim is ABSENT:
        dim = axis if dim is ABSENT else dim
        refuse_missing("select", {"dim": dim, "index": index})
        index = integer("select", "index", 2, index)
    return select_at(input, dim, index)


# --- slice and narrow ------------------------------------------------------------------------


@op(name="slice", view=True, tangent=LINEAR, public=False, method=False)
def slice_dim(
    self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """Take every `step`-th element along `dim` from `start` up to `end`."""
    if not self.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    cut = slice(start, end, step)
    part = self[cut] if dim == 0 else self[(EVERYTHING,) * dim + (cut,)]
    if part.size:
        return part
    # Where NumPy leaves a slice without elements at the start of the dimension.
    first, _, _ = cut.indices(self.shape[dim])
    return strided(self, part.shape, part.strides, first * self.strides[dim])


@derivative(slice_dim, wrt="self")
def slice_self(
    grad: Array, self_shape: Shape, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    return slice_backward(grad, self_shape, dim, start, end, step)


@op(public=False, method=False, tangent=LINEAR)
def slice_backward(
    self: Array, input_sizes: Shape, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    """Make zeros with `self` where the slice was."""
    result = np.zeros(input_sizes, self.dtype)
    slice_dim.op.kernel(result, dim, start, end, step)[...] = self
    return result


@derivative(slice_backward, wrt="self")
def slice_backward_self(
    grad: Array, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    return slice_dim(grad, dim, start, end, step)


@composite(quick="narrowed(input, local.state, getframe(1), F_slice, dim, start, length)")
def narrow(
    input: Any, dim: Any = ABSENT, start: Any = ABSENT, length: Any = ABSENT, *, axis: Any = ABSENT
) -> Any:
    """Take `length` slices along a dimension, beginning at `start`.

    Args:
        input: a tensor.
        dim: dimension to cut.
        start: index of the first slice; may be negative, or a 0-d integer tensor.
        length: how many slices.
        axis: NumPy's name for `dim`.

    Shape: `input` with `length` along `dim`; the result is a view.

    Example:
        >>> import taper
        >>> taper.narrow(taper.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    if dim is ABSENT or length is ABSENT:
        dim = axis if dim is ABSENT else dim
        refuse_missing("narrow", {"dim": dim, "start": start, "length": length})
    shape = input.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor):
        if start._array.ndim or start._array.dtype.kind not in "iu":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
    elif not all(map(is_integer, (dim, start, length))):
        overloads = ("(int dim, Tensor start, int length)", "(int dim, int start, int length)")
        raise invalid_combination("narrow", (dim, start, length), overloads)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[wrap_dim(dim, len(shape))]
    first = operator.index(start)
    if not -size <= first <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {first})"
        )
    if first < 0:
        first += size
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_dim(input, dim, first, first + length, 1)


# --- diagonal --------------------------------------------------------------------------------


@op(view=True, tangent=LINEAR)
def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """View the diagonal of two dimensions as a new last dimension.

    >>> import taper
    >>> taper.diagonal(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = self.ndim
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    shape, strides = self.shape, self.strides
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(shape[first] - down, shape[second] - right), 0)
    start = down * strides[first] + right * strides[second] if length else 0
    others = [dim for dim in range(ndim) if dim not in (first, second)]
    return strided(
        self,
        (*[shape[dim] for dim in others], length),
        (*[strides[dim] for dim in others], strides[first] + strides[second]),
        start,
    )


@derivative(diagonal, wrt="self")
def diagonal_self(grad: Array, self_shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
    return diagonal_backward(grad, self_shape, offset, dim1, dim2)


@op(public=False, method=False, tangent=LINEAR)
def diagonal_backward(self: Array, input_sizes: Shape, offset: int, dim1: int, dim2: int) -> Array:
    """Make zeros with `self` on the diagonal."""
    result = np.zeros(input_sizes, self.dtype)
    diagonal(result, offset, dim1, dim2)[...] = self
    return result


@derivative(diagonal_backward, wrt="self")
def diagonal_backward_self(grad: Array, offset: int, dim1: int, dim2: int) -> Array:
    return diagonal(grad, offset, dim1, dim2)


# --- unfold ----------------------------------------------------------------------------------


@op(view=True, tangent=LINEAR, public=False)
def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    """View all windows of length `size` along a dimension as a new last dimension.

    >>> import taper
    >>> taper.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    shape, strides = self.shape, self.strides
    position = wrap_dim(dimension, len(shape))
    longest = shape[position] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > longest:
        raise RuntimeError(
            f"maximum size for tensor at dimension {position} is {longest} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not shape:
        return strided(self, (size,), (self.itemsize,))
    windows = (*shape[:position], (longest - size) // step + 1, *shape[position + 1 :], size)
    along = strides[position]
    return strided(
        self, windows, (*strides[:position], along * step, *strides[position + 1 :], along)
    )


@derivative(unfold, wrt="self")
def unfold_self(grad: Array, self_shape: Shape, dimension: int, size: int, step: int) -> Array:
    return unfold_backward(grad, self_shape, dimension, size, step)


@op(public=False, method=False, tangent=LINEAR)
def unfold_backward(self: Array, input_sizes: Shape, dim: int, size: int, step: int) -> Array:
    """Sum for each place what its windows hold."""
    result = np.zeros(input_sizes, self.dtype)
    if not input_sizes:
        return self.sum() if size else result
    places = np.moveaxis(result, dim, -1)
    windows = np.moveaxis(self, wrap_dim(dim, len(input_sizes)), -2)
    count = windows.shape[-2]
    for offset in range(size):
        places[..., offset : offset + count * step : step] += windows[..., offset]
    return result


@derivative(unfold_backward, wrt="self")
def unfold_backward_self(grad: Array, dim: int, size: int, step: int) -> Array:
    return unfold(grad, dim, size, step)
