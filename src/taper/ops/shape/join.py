"""Larger tensors out of smaller ones: repeat, tile, meshgrid, block_diag, kron, cross.

`cat` and `stack` stand in `split`, beside their derivatives.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.foreign import has_elements
from taper.arrays.reduction import sum_array
from taper.arrays.scalars import type_name
from taper.arrays.strides import Shape, existing_dim, wrap_dim
from taper.autograd.meta import INFERENCE_COUNTER
from taper.device import contiguous_format
from taper.dtypes import no_kernel
from taper.factory import finish
from taper.opdef import LINEAR, MULTILINEAR, Array, Arrays, composite, derivative, op
from taper.opdef.writes import compute_into
from taper.ops.creation.copy import clone
from taper.ops.elementwise.complexes import conj
from taper.ops.index.masked import masked_select
from taper.ops.index.slices import index_select
from taper.ops.linalg.matmul import not_tensors
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.reshape import (
    expand_to,
    flatten,
    missing,
    reshape,
    sizes,
    unsafe_view,
    view_as_shape,
)
from taper.ops.shape.split import cat, common_dtype, stack
from taper.tensor import Tensor
from taper.userwarning import warn_once

__all__ = ["cat", "stack"]


# --- repeat and tile -------------------------------------------------------------------------


def _interleaved(shape: Shape, repeats: Shape) -> Shape:
    """Return (r0, s0, r1, s1, ...), the shape in which a repeated tensor is an expanded one."""
    padded = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    return tuple([each for pair in zip(repeats, padded, strict=True) for each in pair])


@op(name="repeat", tangent=LINEAR, public=False, method=False)
def repeat_dims(self: Array, repeats: Shape) -> Array:
    """Repeat the tensor along each dimension."""
    if len(repeats) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    padded = (1,) * (len(repeats) - self.ndim) + self.shape
    result = tuple([times * length for times, length in zip(repeats, padded, strict=True)])
    if result and min(result) < 0:
        wrong = next(length for length in result if length < 0)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {wrong}: {list(result)}"
        )
    source = self.reshape(_interleaved(self.shape, (1,) * len(repeats)))
    wide = np.broadcast_to(source, _interleaved(self.shape, repeats))
    return np.array(wide, order="C").reshape(result)


@derivative(repeat_dims, wrt="self")
def repeat_self(grad: Array, self_shape: Shape, repeats: Shape) -> Array:
    return repeat_backward(grad, self_shape, repeats)


@op(public=False, method=False, tangent=LINEAR)
def repeat_backward(self: Array, input_sizes: Shape, repeats: Shape) -> Array:
    """Sum over all copies."""
    wide = self.reshape(_interleaved(input_sizes, repeats))
    axes = tuple(range(0, wide.ndim, 2))
    return np.asarray(sum_array(wide, axes, False, wide.dtype)).reshape(input_sizes)


@derivative(repeat_backward, wrt="self")
def repeat_backward_self(grad: Array, repeats: Shape) -> Array:
    return repeat_dims(grad, repeats)


@composite(public=False)
def repeat(input: Any, *times: Any, repeats: Any = None) -> Any:
    """Copy the tensor so many times along each dimension.

    Args:
        times: repetitions of each dimension, one by one or as one tuple; more numbers than there
            are dimensions stand for new leading dimensions.
        repeats: the repetitions, as a keyword.

    Shape: each length is multiplied by its number of repetitions.

    Example:
        >>> import taper
        >>> taper.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    if not times:
        if repeats is None:
            raise missing("repeat", "repeats")
        times = (repeats,)
    return _as_view(input, repeat_dims(input, sizes("repeat", "repeats", times)))


def _as_view(input: Any, result: Any) -> Any:
    """Show copies of an inference tensor as a view of them, which PyTorch's are."""
    if (
        input.__class__ is ndarray
        or input._counter is not INFERENCE_COUNTER
        or result._counter is INFERENCE_COUNTER
        or not result._array.size
    ):
        return result
    return view_as_shape(result, result._array.shape)


@composite()
def tile(input: Any, *times: Any, dims: Any = None) -> Any:
    """Repeat the tensor along its last dimensions.

    >>> import taper
    >>> taper.tile(taper.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    if not times:
        if dims is None:
            raise missing("tile", "dims")
        times = (dims,)
    wanted = sizes("tile", "dims", times)
    return _as_view(input, repeat_dims(input, (1,) * (input._array.ndim - len(wanted)) + wanted))


@composite(arrays=True)
def repeat_interleave(
    input: Tensor,
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    axis: int | None = None,
) -> Tensor:
    """Repeat each slice along `dim`; `repeats` is a number, or one number for each slice.

    Without `dim` the flattened tensor is used. A single argument is taken as the numbers; the
    result then says for each place which slice stands there.

    >>> import taper
    >>> taper.repeat_interleave(taper.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return finish(_places(input._array, output_size), where=input.device)
    dim = dim if axis is None else axis
    if isinstance(repeats, Tensor):
        return _interleave_each(input, repeats, dim, output_size)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    source = flatten(input) if dim is None else input
    shape = source._array.shape
    position = wrap_dim(dim or 0, len(shape))
    wide = unsqueeze(source, position + 1)
    length = shape[position]
    wide = expand_to(wide, (*shape[: position + 1], repeats, *shape[position + 1 :]))
    wide = clone(wide, memory_format=contiguous_format)
    return view_as_shape(wide, (*shape[:position], length * repeats, *shape[position + 1 :]))


def _places(repeats: ndarray, output_size: int | None) -> ndarray:
    if repeats.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
        name = dtypes.FROM_NUMPY[repeats.dtype].scalar_type
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{name}'")
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if not has_elements(repeats):
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return np.empty(output_size, repeats.dtype)
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(len(repeats), dtype=repeats.dtype), repeats)


def _interleave_each(
    tensor: Tensor, repeats: Tensor, dim: int | None, output_size: int | None
) -> Tensor:
    if dim is None:
        tensor, dim = flatten(tensor), 0
    times = repeats._array
    if times.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if not tensor._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    length = tensor._array.shape[wrap_dim(dim, tensor._array.ndim)]
    if times.size == 1:
        times = np.broadcast_to(times.reshape(-1), (length,))
    elif len(times) != length:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{len(times)} and input.size({dim}) = {length}"
        )
    places = finish(_places(times, output_size), where=tensor.device)
    return index_select(tensor, dim, places)


# --- all combinations ------------------------------------------------------------------------


@composite(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Make the coordinates of a grid: each vector expanded along the dimensions of the others.

    >>> import taper
    >>> taper.meshgrid(taper.tensor([1, 2]), taper.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument."
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for each in tensors:
        if each._array.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {each!r}"
            )
        if each._array.dtype != tensors[0]._array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) >= 2:
        order[:2] = [1, 0]
    shape = [0] * len(order)
    for each, dim in zip(tensors, order, strict=True):
        shape[dim] = each._array.size
    grids = []
    for each, dim in zip(tensors, order, strict=True):
        line = [1] * len(order)
        line[dim] = -1 if each._array.size else 0
        grids.append(expand_to(view_as_shape(each, tuple(line)), tuple(shape)))
    return tuple(grids)


@composite(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """List all combinations of elements of the vectors, one row each.

    >>> import taper
    >>> taper.cartesian_prod(taper.tensor([1, 2]), taper.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    for each in tensors:
        if each._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(each._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(each) for each in meshgrid(*tensors, indexing="ij")], 1)


@composite(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """List all choices of `r` elements of the vector in order, one row each.

    >>> import taper
    >>> taper.combinations(taper.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return finish(np.empty(0, input._array.dtype), where=input.device)
    count = input._array.size
    places = np.indices((count,) * r)
    kept = np.ones((count,) * r, bool)
    for left, right in itertools.pairwise(places):
        kept &= left <= right if with_replacement else left < right
    mask = finish(kept, where=input.device)
    return stack([masked_select(each, mask) for each in meshgrid(*[input] * r, indexing="ij")], 1)


# --- block_diag ------------------------------------------------------------------------------


@op(name="block_diag", tangent=LINEAR, public=False, method=False)
def blocks_on_diagonal(tensors: Arrays) -> Array:
    """Make a matrix with the tensors along its diagonal, zero elsewhere."""
    if not tensors:
        return np.zeros((1, 0), dtypes.default.float_numpy)
    for number, each in enumerate(tensors):
        if each.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{number} has {each.ndim} dimensions"
            )
    places = block_places([each.shape for each in tensors])
    rows, columns = places[-1][0].stop, places[-1][1].stop
    result = np.zeros((rows, columns), common_dtype(tensors))
    for each, place in zip(tensors, places, strict=True):
        result[place] = each
    return result


def block_places(shapes: list[Shape]) -> list[tuple[slice, slice]]:
    """Find where each block stands."""
    found = []
    row = column = 0
    for shape in shapes:
        height, width = (1,) * (2 - len(shape)) + tuple(shape)
        found.append((slice(row, row + height), slice(column, column + width)))
        row, column = row + height, column + width
    return found


@derivative(blocks_on_diagonal, wrt="tensors")
def block_diag_tensors(grad: Array, tensors_shape: list[Shape]) -> Any:
    places = block_places(tensors_shape)
    return [reshape(grad[place], shape) for place, shape in zip(places, tensors_shape, strict=True)]


@composite(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """Make a matrix with the tensors along its diagonal, zero elsewhere.

    >>> import taper
    >>> taper.block_diag(taper.tensor([[1]]), taper.tensor([2, 3]))
    tensor([[1, 0, 0],
            [0, 2, 3]])
    """
    return blocks_on_diagonal(tensors)


# --- products --------------------------------------------------------------------------------


@composite()
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Replace each element of `input` by `other` times that element: Kronecker's product.

    >>> import taper
    >>> taper.kron(taper.tensor([1, 10]), taper.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise not_tensors("kron", input=input, other=other)
    if out is not None:
        return compute_into("mul", kron, (input, other), out)
    ndim = max(input._array.ndim, other._array.ndim)
    first = (1,) * (ndim - input._array.ndim) + input._array.shape
    second = (1,) * (ndim - other._array.ndim) + other._array.shape
    left = _spaced(input, tuple([n for a in first for n in (a, 1)]))
    right = _spaced(other, tuple([n for b in second for n in (1, b)]))
    shape = tuple([a * b for a, b in zip(first, second, strict=True)])
    return unsafe_view(left * right, shape)


def _spaced(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    # A view of an inference tensor is one, which may not be saved.
    view: Any = Tensor.reshape if tensor.is_inference() else unsafe_view
    return view(tensor, shape)


@op(tangent=MULTILINEAR, public=False, method=False)
def linalg_cross(self: Array, other: Array, dim: int = -1) -> Array:
    """Compute the cross product of vectors of length 3 along `dim`; other dimensions broadcast."""
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    position = existing_dim(dim, self.ndim)
    if self.shape[position] != 3 or other.shape[position] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{self.shape[position]} and {other.shape[position]}"
        )
    if self.dtype != other.dtype:
        names = [dtypes.FROM_NUMPY[each.dtype].scalar_type for each in (self, other)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    if self.dtype.kind == "b":
        raise no_kernel("cross", self.dtype)
    a, b = np.moveaxis(self, position, 0), np.moveaxis(other, position, 0)
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return np.ascontiguousarray(np.stack(parts, position))


@derivative(linalg_cross, wrt="self")
def linalg_cross_self(grad: Array, other: Array, dim: int) -> Array:
    return linalg_cross(conj(other), grad, dim)


@derivative(linalg_cross, wrt="other")
def linalg_cross_other(grad: Array, self: Array, dim: int) -> Array:
    return linalg_cross(grad, conj(self), dim)


_DIM_OF_CROSS = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
    "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
    "change to agree with that of linalg.cross in a future release."
)


@composite(numpy_names=True)
def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Compute the cross product of vectors of length 3, by default along the first such dimension.

    >>> import taper
    >>> taper.cross(taper.tensor([1, 0, 0]), taper.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    if not isinstance(other, Tensor):
        raise TypeError(
            f"cross(): argument 'other' (position 2) must be Tensor, not {type_name(other)}"
        )
    if dim is None:
        if out is None:
            warn_once(_DIM_OF_CROSS)
        if 3 not in input._array.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input._array.shape.index(3)
    if out is not None:
        return compute_into("linalg_cross", linalg_cross, (input, other, dim), out)
    return linalg_cross(input, other, dim)
