"""Views with any strides, and view operators that change a tensor in place (`t_`, `squeeze_`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.foreign import is_foreign
from taper.arrays.reduction import combine_at
from taper.arrays.strides import Shape, extent, integers, overlaps, owner_of, within
from taper.autograd.accumulate import remember_former
from taper.autograd.conjugate import look_at, memory_of
from taper.autograd.state import local
from taper.autograd.tangents import outside_of_level
from taper.autograd.views import (
    bump_version,
    check_inplace,
    set_history,
    wants_grad,
)
from taper.opdef import LINEAR, Array, Op, composite, derivative, methods, op, tangent_of
from taper.opdef.numpy_names import with_numpy_names
from taper.opdef.recording import make_node
from taper.ops.shape.ones import squeeze_all, squeeze_dim, squeeze_dims, t, transpose, unsqueeze
from taper.ops.shape.parts import slice_backward, slice_dim
from taper.ops.shape.reshape import sizes
from taper.tensor import Tensor, element_strides, storage_offset
from taper.tensor import storage_offset as element_offset

# Shape, strides and offset in the storage, counted in elements.
Geometry = tuple[Shape, Shape, int]


@op(name="as_strided", view=True, tangent=LINEAR, public=False, method=False)
def strided_view(
    self: Array, size: Shape, stride: Shape, storage_offset: int | None = None
) -> Array:
    """View the tensor's whole storage with any shape and strides."""
    if is_foreign(self):
        start = element_offset(self) if storage_offset is None else storage_offset
        foreign: Any = self
        return foreign.place.on_storage(foreign.storage, self.dtype, start, size, stride)
    owner = owner_of(self)
    itemsize = self.itemsize
    if storage_offset is not None:
        offset = storage_offset * itemsize
    else:
        offset = 0 if owner is self else self.ctypes.data - owner.ctypes.data
    end = offset + extent(size, stride) * itemsize if len(size) == len(stride) else -1
    if not offset <= end <= owner.nbytes or offset < 0 or (stride and min(stride) < 0):
        _refuse_strides(size, stride, offset // itemsize, self.dtype, owner.nbytes)
    strides = tuple([step * itemsize for step in stride])
    return within(owner, size, strides, offset, self.dtype)


def _refuse_strides(
    size: Shape, stride: Shape, offset: int, dtype: np.dtype[Any], available: int
) -> None:
    """Raise if a view would leave the storage; an empty view may lie anywhere."""
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
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if 0 not in size:
        needed = (offset + extent(size, stride)) * dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {dtype.itemsize} requiring a storage size of {needed} are out of "
            f"bounds for storage of size {available}"
        )


@derivative(strided_view, wrt="self")
def as_strided_self(
    grad: Array, self_geometry: Geometry, size: Shape, stride: Shape, storage_offset: int | None
) -> Array:
    offset = self_geometry[2] if storage_offset is None else storage_offset
    return as_strided_backward(grad, (size, stride, offset), self_geometry)


@op(public=False, method=False, tangent=LINEAR)
def as_strided_backward(self: Array, view: Geometry, source: Geometry) -> Array:
    """Turn the gradient of a strided view into that of what it was made from."""
    return carry(self, view, source, source)


@derivative(as_strided_backward, wrt="self")
def as_strided_backward_self(grad: Array, view: Geometry, source: Geometry) -> Array:
    return as_strided_values(grad, view, source)


@op(public=False, method=False, tangent=LINEAR)
def as_strided_values(self: Array, view: Geometry, source: Geometry) -> Array:
    """Read what a strided view sees: the adjoint of `as_strided_backward`."""
    return carry(self, source, view, source)


@derivative(as_strided_values, wrt="self")
def as_strided_values_self(grad: Array, view: Geometry, source: Geometry) -> Array:
    return as_strided_backward(grad, view, source)


# --- slice_inverse ---------------------------------------------------------------------------


@op(view=True)
def slice_inverse(
    self: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """Recover the tensor that `self` is a slice of: its memory in shape and strides of `src`.

    >>> import taper
    >>> whole = taper.arange(5)
    >>> taper.slice_inverse(whole[1:3], whole, 0, 1, 3)
    tensor([0, 1, 2, 3, 4])
    """
    shape, strides, offset = geometry_of(src)
    return strided_view.op.kernel(self, shape, strides, offset)


@derivative(slice_inverse, wrt="self")
def slice_inverse_self(grad, dim, start, end, step):
    return slice_dim(grad, dim, start, end, step)


@derivative(slice_inverse, wrt="src")
def slice_inverse_src(grad, dim, start, end, step):
    part = slice_dim(grad, dim, start, end, step)
    return grad - slice_backward(part, tuple(grad.shape), dim, start, end, step)


@tangent_of(slice_inverse)
def slice_inverse_tangent(self_t, src_t, self, src, dim, start, end, step):
    whole = src * 0 if src_t is None else src_t
    if self_t is None:
        self_t = self * 0
    kept = slice_dim(whole, dim, start, end, step)
    shape = tuple(whole.shape)
    return whole + slice_backward(self_t - kept, shape, dim, start, end, step)


# --- what gradients of strided views are computed with ---------------------------------------


def geometry_of(array: ndarray) -> Geometry:
    """Return shape, strides and offset of an array in its storage."""
    return array.shape, element_strides(array), storage_offset(array)


def carry(values: ndarray, put: Geometry, read: Geometry, shared: Geometry) -> ndarray:
    """Add values in the places of `put`, then read the places of `read`, in a storage of zeros.

    What lands in a place that `shared` has n times is divided by n.
    """
    lowest = min(put[2], read[2])
    length = max(each[2] - lowest + extent(each[0], each[1]) for each in (put, read))
    storage = np.zeros(length, values.dtype)
    target = part_of(storage, put, lowest)
    if not overlaps(put[0], put[1]):
        target[...] = values
    elif values.size:
        places = part_of(np.arange(length), put, lowest)
        combine_at(np.add.at, storage, places.ravel(), values.ravel())
    if overlaps(shared[0], shared[1]):
        places = part_of(np.arange(length), shared, lowest)
        counts = np.bincount(places.ravel(), minlength=length)
        storage /= np.maximum(counts, 1).astype(values.dtype)
    return np.array(part_of(storage, read, lowest))


def part_of(storage: ndarray, geometry: Geometry, start: int) -> ndarray:
    """Make the described view of a storage whose first element has the number `start`."""
    shape, strides, offset = geometry
    itemsize = storage.itemsize
    steps = tuple([step * itemsize for step in strides])
    offset = 0 if 0 in shape else (offset - start) * itemsize
    return ndarray(shape, storage.dtype, storage, offset, steps)


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """View the tensor's whole storage with any shape and strides.

    >>> import taper
    >>> taper.as_strided(taper.arange(6), (2, 3), (1, 2))
    tensor([[0, 2, 4],
            [1, 3, 5]])
    """
    shape = integers("as_strided", "size", size, 1)
    return strided_view(input, shape, integers("as_strided", "stride", stride, 2), storage_offset)


# --- in place --------------------------------------------------------------------------------


def _inplace_twin(function: Any, node: str) -> Op:
    """Declare an entry of the same kernel and formula under another node name."""
    entry: Op = function.op
    declare = op(
        name=f"{entry.name}_", node=node, view=True, tangent=LINEAR, public=False, method=False
    )
    twin = declare(entry.kernel)
    for formula in entry.formulas:
        derivative(twin, wrt=formula.wrt)(formula.function)
    return twin.op


_t = _inplace_twin(t, "TBackward1")
_transpose = _inplace_twin(transpose, "TransposeBackward1")
_squeeze_all = _inplace_twin(squeeze_all, "SqueezeBackward3")
_squeeze_dim = _inplace_twin(squeeze_dim, "SqueezeBackward4")
_squeeze_dims = _inplace_twin(squeeze_dims, "SqueezeBackward5")
_unsqueeze = _inplace_twin(unsqueeze, "UnsqueezeBackward1")
_strided = _inplace_twin(strided_view, "AsStridedBackward1")


def change_view(tensor: Tensor, entry: Op, *arguments: Any) -> Tensor:
    """Let a tensor view its memory differently, in place (§V15)."""
    state = local.state
    recorded = check_inplace(tensor, False, state)
    memory = memory_of(tensor)
    array = entry.kernel(memory, *arguments)
    node = None
    if recorded:
        node = make_node(entry, (tensor, *arguments), {"self": True}, {})
        node._shape, node._dtype = array.shape, array.dtype
    if tensor._grad_fn is None and array.shape != memory.shape and wants_grad(tensor):
        remember_former(tensor, kept=True)
        tensor._autograd_meta.odd_layout = True
    look_at(tensor, array)
    bump_version(tensor)
    if node is not None:
        set_history(tensor, node)  # a retained gradient stays that of the old view, as in PyTorch
    meta = tensor._autograd_meta
    if meta is not None and meta.tangent is not None:
        meta.tangent = outside_of_level(entry.function)(meta.tangent, *arguments)
    record = tensor._view
    if record is not None:
        if recorded:
            record.version = tensor._counter.value
        record.replay = (record.replay, (entry.function, arguments))
    return tensor


def t_(self: Tensor) -> Tensor:
    """In-place version of `t`."""
    if self._array.ndim > 2:
        check_inplace(self, False, local.state)
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D"
        )
    return change_view(self, _t)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place version of `transpose`."""
    return change_view(self, _transpose, dim0, dim1)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """In-place version of `swapaxes`."""
    return change_view(self, _transpose, axis0, axis1)


def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place version of `swapdims`."""
    return change_view(self, _transpose, dim0, dim1)


def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """In-place version of `squeeze`."""
    if dim is None:
        return change_view(self, _squeeze_all)
    if isinstance(dim, (tuple, list)):
        return change_view(self, _squeeze_dims, sizes("squeeze_", "dim", (dim,)))
    return change_view(self, _squeeze_dim, dim)


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """In-place version of `unsqueeze`."""
    return change_view(self, _unsqueeze, dim)


@composite(name="as_strided_")
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """In-place version of `as_strided`.

    >>> import taper
    >>> taper.as_strided_(taper.arange(6), (3,), (2,))
    tensor([0, 2, 4])
    """
    shape = integers("as_strided_", "size", size, 1)
    steps = integers("as_strided_", "stride", stride, 2)
    return change_view(input, _strided, shape, steps, storage_offset)


for _function in (t_, transpose_, swapaxes_, swapdims_, squeeze_, unsqueeze_):
    methods[_function.__name__] = with_numpy_names(_function)
