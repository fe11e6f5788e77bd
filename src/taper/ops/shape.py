"""Views that change the shape: view, reshape, expand, transpose, permute, squeeze, as_strided.

Kernels return NumPy views of their first array, never with negative strides.  Formulas of other
families use `reshape`, `expand`, `unsqueeze`, `squeeze`, `transpose`, `permute` on arrays and
Tensors alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.autograd.views import alias
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.strides import (
    integers,
    owner_of,
    strided,
    view_strides,
    wanted_shape,
    within,
)
from taper.tensor import Tensor, element_strides, wrap_dim


def sizes(function: str, argument: str, given: tuple[Any, ...]) -> tuple[int, ...]:
    """`f(2, 3)` and `f((2, 3))` mean the same: the sizes as a tuple of Python integers."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    for each in given:
        if type(each) is not int:
            return integers(function, argument, given)
    return given


# --- view and reshape ------------------------------------------------------------------------


@op(name="view", view=True, tangent=LINEAR, public=False, method=False)
def view_as_shape(self: Array, size: tuple[int, ...]) -> Array:
    """The same elements in another shape, without a copy."""
    shape = wanted_shape(size, self.size)
    if self.flags.c_contiguous:
        return self.reshape(shape)
    strides = view_strides(self.shape, element_strides(self), shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    itemsize = self.itemsize
    return strided(self, shape, tuple([step * itemsize for step in strides]))


@derivative(view_as_shape, wrt="self")
def view_self(grad: Array, self_shape: tuple[int, ...]) -> Array:
    return reshape(grad, self_shape)


@op(name="_unsafe_view", node="UnsafeViewBackward0", tangent=LINEAR, public=False, method=False)
def unsafe_view(self: Array, size: tuple[int, ...]) -> Array:
    """As `view`, for a fresh copy that nobody else sees: the result is no tracked view."""
    return self.reshape(size)


@derivative(unsafe_view, wrt="self")
def unsafe_view_self(grad: Array, self_shape: tuple[int, ...]) -> Array:
    return reshape(grad, self_shape)


@composite(public=False)
def view(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same elements in another shape, or their bytes as another dtype; shares the memory.

    >>> import taper
    >>> taper.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if len(shape) == 1 and type(shape[0]) is dtypes.dtype:
        dtype = shape[0]
    if dtype is not None:
        return view_dtype(input, dtype)
    return view_as_shape(input, sizes("view", "size", shape or (size,)))


@op(name="view_dtype", view=True, public=False, method=False)
def view_dtype(self: Array, dtype: Any) -> Array:
    """The bytes of a tensor seen as another dtype."""
    return self.view(dtype.numpy)


@composite()
def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in another shape; a view where strides allow it, else a copy.

    >>> import taper
    >>> taper.reshape(taper.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    size = sizes("reshape", "shape", shape)
    if type(input) is ndarray:
        return input.reshape(size)
    if isinstance(input, np.generic):
        return np.reshape(input, size)
    array = input._array
    if array.flags.c_contiguous:
        return view_as_shape(input, size)
    size = wanted_shape(size, array.size)
    if view_strides(array.shape, element_strides(array), size) is not None:
        return view_as_shape(input, size)
    return unsafe_view(contiguous_copy(input), size)


def contiguous_copy(tensor: Tensor) -> Tensor:
    return tensor.contiguous()


# --- expand ----------------------------------------------------------------------------------


@op(name="expand", view=True, tangent=LINEAR, public=False, method=False)
def expand_to(self: Array, size: tuple[int, ...]) -> Array:
    """A tensor with dimensions of length 1 seen as longer ones."""
    if type(self) is not ndarray:
        self = np.asarray(self)
    shape = self.shape
    if shape == size:
        return self[...]
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({dtypes.type_name(dtypes.FROM_NUMPY[self.dtype])}{{{list(shape)}}}, "
            f"size={list(size)}): the number of sizes provided ({len(size)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({len(shape)})"
        )
    if not shape:
        return strided(self, size, (0,) * lead)
    old = self.strides
    result, strides = list(size), [0] * len(size)
    for dim in range(len(size) - 1, -1, -1):
        wanted = size[dim]
        if dim < lead:
            if wanted < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                    f"non-existing dimension {dim}"
                )
            strides[dim] = result[dim + 1] * strides[dim + 1] if wanted == 1 else 0
            continue
        length = shape[dim - lead]
        if wanted == -1:
            wanted = result[dim] = length
        if wanted == length:
            strides[dim] = old[dim - lead]
        elif length != 1 or wanted < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size "
                f"({length}) at non-singleton dimension {dim}.  Target sizes: {list(size)}.  "
                f"Tensor sizes: {list(shape)}"
            )
    return strided(self, tuple(result), tuple(strides))


@derivative(expand_to, wrt="self")
def expand_self(grad: Array, self_shape: tuple[int, ...]) -> Array:
    # The engine sums what broadcasting has added.
    return grad


@composite(public=False)
def expand(input: Any, *size: Any, implicit: bool = False) -> Any:
    """Dimensions of length 1 seen as longer ones, and new leading ones; shares the memory.

    >>> import taper
    >>> taper.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand_to(input, sizes("expand", "size", size))


# --- dimensions exchanged --------------------------------------------------------------------


@op(view=True, tangent=LINEAR)
def transpose(self: Array, dim0: int, dim1: int) -> Array:
    """Two dimensions exchanged; shares the memory.

    >>> import taper
    >>> taper.transpose(taper.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    ndim = self.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return self.swapaxes(first, second) if ndim else self.view()


@derivative(transpose, wrt="self")
def transpose_self(grad: Array, dim0: int, dim1: int) -> Array:
    return transpose(grad, dim0, dim1)


@op(view=True, tangent=LINEAR)
def t(self: Array) -> Array:
    """The transpose of a matrix; shares the memory.

    >>> import taper
    >>> taper.t(taper.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    if self.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D"
        )
    return self.T


@derivative(t, wrt="self")
def t_self(grad: Array) -> Array:
    return t(grad)


@op(name="permute", view=True, tangent=LINEAR, public=False, method=False)
def permute_dims(self: Array, dims: tuple[int, ...]) -> Array:
    """The dimensions in another order."""
    ndim = self.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired ordering of dimensions i.e. input.dim() = "
            f"{ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(dim, ndim) for dim in dims]
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return self.transpose(order)


@derivative(permute_dims, wrt="self")
def permute_self(grad: Array, dims: tuple[int, ...]) -> Array:
    back = [0] * len(dims)
    for position, dim in enumerate(dims):
        back[dim] = position
    return permute_dims(grad, tuple(back))


@composite()
def permute(input: Any, *dims: Any) -> Any:
    """The dimensions in another order; shares the memory.

    >>> import taper
    >>> taper.permute(taper.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    return permute_dims(input, sizes("permute", "dims", dims))


# --- dimensions of length 1 ------------------------------------------------------------------


@op(view=True, tangent=LINEAR)
def unsqueeze(self: Array, dim: int) -> Array:
    """A new dimension of length 1 at position `dim`; shares the memory.

    >>> import taper
    >>> taper.unsqueeze(taper.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    shape = self.shape
    ndim = len(shape)
    position = wrap_dim(dim, ndim + 1)
    wanted = (*shape[:position], 1, *shape[position:])
    if position == ndim and not self.flags.c_contiguous:
        return strided(self, wanted, (*self.strides, self.itemsize))
    return self.reshape(wanted)  # keeps the strides: a dimension of length 1 needs no copy


@derivative(unsqueeze, wrt="self")
def unsqueeze_self(grad: Array, dim: int) -> Array:
    return squeeze_dim(grad, dim)


@op(name="squeeze", view=True, tangent=LINEAR, public=False, method=False)
def squeeze_all(self: Array) -> Array:
    """Without its dimensions of length 1."""
    return self.squeeze() if 1 in self.shape else self.view()


@derivative(squeeze_all, wrt="self")
def squeeze_all_self(grad: Array, self_shape: tuple[int, ...]) -> Array:
    return reshape(grad, self_shape)


@op(name="squeeze_dim", node="SqueezeBackward1", view=True, tangent=LINEAR, public=False, method=False)
def squeeze_dim(self: Array, dim: int) -> Array:
    """Without the dimension `dim` if its length is 1."""
    ndim = self.ndim
    position = wrap_dim(dim, ndim)
    if ndim == 0 or self.shape[position] != 1:
        return self.view()
    return self.squeeze(position)


@derivative(squeeze_dim, wrt="self")
def squeeze_dim_self(grad: Array, dim: int, self_shape: tuple[int, ...]) -> Array:
    return reshape(grad, self_shape)


@op(name="squeeze_dims", node="SqueezeBackward2", view=True, tangent=LINEAR, public=False, method=False)
def squeeze_dims(self: Array, dim: tuple[int, ...]) -> Array:
    """Without those of the dimensions `dim` whose length is 1."""
    ndim = self.ndim
    positions = {wrap_dim(each, ndim) for each in dim}
    gone = tuple([each for each in positions if ndim and self.shape[each] == 1])
    return self.squeeze(gone)


@derivative(squeeze_dims, wrt="self")
def squeeze_dims_self(grad: Array, dim: tuple[int, ...], self_shape: tuple[int, ...]) -> Array:
    return reshape(grad, self_shape)


@composite()
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without its dimensions of length 1, or without those in `dim`; shares the memory.

    >>> import taper
    >>> taper.squeeze(taper.zeros(1, 2, 1)).shape
    torch.Size([2])
    """
    if dim is None:
        return squeeze_all(input)
    if isinstance(dim, tuple | list):
        return squeeze_dims(input, sizes("squeeze", "dim", (dim,)))
    return squeeze_dim(input, dim)


# --- parts -----------------------------------------------------------------------------------


@op(view=True, tangent=LINEAR)
def select(self: Array, dim: int, index: int) -> Array:
    """The slice at `index` along `dim`, without that dimension; shares the memory.

    >>> import taper
    >>> taper.select(taper.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    ndim = self.ndim
    if ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    position = wrap_dim(dim, ndim)
    length = self.shape[position]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
            f"dimension {position}"
        )
    if position == 0:
        return self[index, ...]
    return self[(slice(None),) * position + (index, ...)]


@derivative(select, wrt="self")
def select_self(grad: Array, self_shape: tuple[int, ...], dim: int, index: int) -> Array:
    return select_backward(grad, self_shape, dim, index)


@op(public=False, method=False, tangent=LINEAR)
def select_backward(self: Array, input_sizes: tuple[int, ...], dim: int, index: int) -> Array:
    """Zeros with the gradient in the place of the slice."""
    result = np.zeros(input_sizes, self.dtype)
    select(result, dim, index)[...] = self
    return result


@derivative(select_backward, wrt="self")
def select_backward_self(grad: Array, dim: int, index: int) -> Array:
    return select(grad, dim, index)


# --- any strides -----------------------------------------------------------------------------


Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def overlaps(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether two elements may lie in one place; errs on the side of True."""
    reach = 0
    for step, length in sorted(zip(strides, shape, strict=True)):
        if length > 1:
            if step <= reach:
                return True
            reach += step * (length - 1)
    return False


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many elements lie between the first and the end of the last; 0 if there are none."""
    if 0 in shape:
        return 0
    return 1 + sum([(length - 1) * step for length, step in zip(shape, strides, strict=True)])


def part_of(storage: ndarray, geometry: Geometry) -> ndarray:
    """The view of a one-dimensional array that a geometry describes."""
    shape, strides, offset = geometry
    if 0 in shape:
        return np.empty(shape, storage.dtype)
    itemsize = storage.itemsize
    steps = tuple([step * itemsize for step in strides])
    return ndarray(shape, storage.dtype, storage, offset * itemsize, steps)


def put_into(storage: ndarray, geometry: Geometry, values: ndarray) -> None:
    """Add values to the places of a geometry; places that it has twice get the sum."""
    if not overlaps(geometry[0], geometry[1]):
        part_of(storage, geometry)[...] = values
    elif values.size:
        places = part_of(np.arange(len(storage)), geometry)
        np.add.at(storage, places.ravel(), values.ravel())


def carry(values: ndarray, source: Geometry, target: Geometry, shared: bool) -> ndarray:
    """Put values where `source` says and read where `target` says, in a storage of zeros.

    With `shared`, what lands in a place that `target` has n times is divided by n.
    """
    lowest = min(source[2], target[2])
    source = (source[0], source[1], source[2] - lowest)
    target = (target[0], target[1], target[2] - lowest)
    length = max(each[2] + extent(each[0], each[1]) for each in (source, target))
    storage = np.zeros(length, values.dtype)
    put_into(storage, source, values)
    if shared and overlaps(target[0], target[1]):
        storage /= _counts(target, length, values.dtype)
    return np.array(part_of(storage, target))


def _counts(geometry: Geometry, length: int, dtype: np.dtype[Any]) -> ndarray:
    places = part_of(np.arange(length), geometry)
    counts = np.bincount(places.ravel(), minlength=length)
    return np.maximum(counts, 1).astype(dtype)


@op(name="as_strided", view=True, tangent=LINEAR, public=False, method=False)
def strided_view(
    self: Array, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None = None
) -> Array:
    """A view of the tensor's whole storage with any shape and strides."""
    owner = owner_of(self)
    itemsize = self.itemsize
    if storage_offset is not None:
        offset = storage_offset * itemsize
    else:
        offset = 0 if owner is self else self.ctypes.data - owner.ctypes.data
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if stride and min(stride) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    if size and min(size) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    end = offset + extent(size, stride) * itemsize
    if end > owner.nbytes and 0 not in size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
            f"{offset // itemsize}, and itemsize {itemsize} requiring a storage size of "
            f"{end} are out of bounds for storage of size {owner.nbytes}"
        )
    if 0 in size:
        return owner.ravel("K")[:0].reshape(size)
    return within(owner, size, tuple([step * itemsize for step in stride]), offset, self.dtype)


@derivative(strided_view, wrt="self")
def as_strided_self(
    grad: Array,
    self_geometry: Geometry,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    storage_offset: int | None,
) -> Array:
    offset = self_geometry[2] if storage_offset is None else storage_offset
    return strided_gradient(grad, (tuple(size), tuple(stride), offset), self_geometry)


@op(name="_as_strided_backward", node="AsStridedBackwardBackward0", public=False, method=False, tangent=LINEAR)
def strided_gradient(self: Array, view: Geometry, source: Geometry) -> Array:
    """The gradient of a strided view as gradient of what it was made from."""
    return carry(self, view, source, shared=True)


@derivative(strided_gradient, wrt="self")
def strided_gradient_self(grad: Array, view: Geometry, source: Geometry) -> Array:
    return strided_values(grad, view, source)


@op(name="_as_strided_values", public=False, method=False, tangent=LINEAR)
def strided_values(self: Array, view: Geometry, source: Geometry) -> Array:
    """What a strided view sees: the adjoint of `strided_gradient`."""
    return carry(self, source, view, shared=False)


@derivative(strided_values, wrt="self")
def strided_values_self(grad: Array, view: Geometry, source: Geometry) -> Array:
    return strided_gradient(grad, view, source)


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's whole storage with any shape and strides.

    >>> import taper
    >>> taper.as_strided(taper.arange(6), (2, 3), (1, 2))
    tensor([[0, 2, 4],
            [1, 3, 5]])
    """
    shape = integers("as_strided", "size", size, 2)
    return strided_view(input, shape, integers("as_strided", "stride", stride, 3), storage_offset)


@composite()
def detach(input: Tensor) -> Tensor:
    """The same memory and version counter without history and without tangent.

    >>> import taper
    >>> taper.ones(2, requires_grad=True).detach()
    tensor([1., 1.])
    """
    return alias(input)
