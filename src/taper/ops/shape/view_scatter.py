"""Copies of a tensor with one of its views replaced: select_scatter, slice_scatter, ..."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.strides import Shape, integers, overlaps, owner_of, row_major, within
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.ops.creation.copy import copied
from taper.ops.linalg.matmul import same_dtype
from taper.ops.shape.parts import diagonal, select_at, slice_dim
from taper.ops.shape.strided import (
    Geometry,
    as_strided_backward,
    as_strided_values,
    carry,
    strided_view,
)
from taper.tensor import Tensor, array_of, element_strides, geometry, wrap


def _written(array: ndarray, src: ndarray, view: Any, *arguments: Any) -> ndarray:
    """Copy `array` and write `src` into the view that an operator with these arguments makes."""
    apart = overlaps(array.shape, element_strides(array))
    result = copied(array, array.dtype) if apart else _copy_of_storage(array)
    part = view.op.kernel(result, *arguments)
    _check_part(part, src)
    np.copyto(part, src, casting="unsafe")
    return result


def _copy_of_storage(array: ndarray) -> ndarray:
    """Copy the whole storage, and view it with the same strides, as PyTorch does."""
    shape, strides, offset = _written_geometry(geometry(array))
    if strides == element_strides(array):  # otherwise elements overlap, and are written apart
        storage = np.array(owner_of(array))
    else:
        storage = np.array(array, order="C")
    steps = tuple([step * array.itemsize for step in strides])
    return within(storage, shape, steps, offset * array.itemsize, array.dtype)


def _check_part(part: ndarray, src: ndarray) -> None:
    if part.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )


def _cleared(grad: Any, view: Any, *arguments: Any) -> Any:
    """Set a gradient to zero where a view is; arrays and Tensors."""
    part = view(grad, *arguments)
    zeros = np.zeros(tuple(part.shape), array_of(grad).dtype)
    return wrap(zeros) if isinstance(grad, Tensor) else zeros


# --- select_scatter --------------------------------------------------------------------------


@op(tangent=LINEAR, complex_gradient=False)
def select_scatter(self: Array, src: Array, dim: int, index: int) -> Array:
    """Copy a tensor with `src` written to `select(dim, index)`.

    >>> import taper
    >>> taper.select_scatter(taper.zeros(2, 2), taper.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _written(self, src, select_at, dim, index)


@derivative(select_scatter, wrt="self")
def select_scatter_self(grad: Array, dim: int, index: int) -> Array:
    return select_scatter(grad, _cleared(grad, select_at, dim, index), dim, index)


@derivative(select_scatter, wrt="src")
def select_scatter_src(grad: Array, dim: int, index: int) -> Array:
    return select_at(grad, dim, index)


# --- slice_scatter ---------------------------------------------------------------------------


@op(tangent=LINEAR, out=same_dtype, complex_gradient=False)
def slice_scatter(
    self: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """Copy a tensor with `src` written to every `step`-th slice from `start` up to `end`.

    >>> import taper
    >>> taper.slice_scatter(taper.zeros(4), taper.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
    return _written(self, src, slice_dim, dim, start, end, step)


@derivative(slice_scatter, wrt="self")
def slice_scatter_self(
    grad: Array, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    zeros = _cleared(grad, slice_dim, dim, start, end, step)
    return slice_scatter(grad, zeros, dim, start, end, step)


@derivative(slice_scatter, wrt="src")
def slice_scatter_src(
    grad: Array, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    return slice_dim(grad, dim, start, end, step)


# --- diagonal_scatter ------------------------------------------------------------------------


@op(tangent=LINEAR)
def diagonal_scatter(
    self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """Copy a tensor with `src` written to a diagonal.

    >>> import taper
    >>> taper.diagonal_scatter(taper.zeros(2, 2), taper.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _written(self, src, diagonal, offset, dim1, dim2)


@derivative(diagonal_scatter, wrt="self")
def diagonal_scatter_self(grad: Array, offset: int, dim1: int, dim2: int) -> Array:
    zeros = _cleared(grad, diagonal, offset, dim1, dim2)
    return diagonal_scatter(grad, zeros, offset, dim1, dim2)


@derivative(diagonal_scatter, wrt="src")
def diagonal_scatter_src(grad: Array, offset: int, dim1: int, dim2: int) -> Array:
    return diagonal(grad, offset, dim1, dim2)


# --- as_strided_scatter ----------------------------------------------------------------------


@op(name="as_strided_scatter", public=False, method=False)
def strided_scatter(
    self: Array, src: Array, size: Shape, stride: Shape, storage_offset: int | None = None
) -> Array:
    """Copy a tensor with `src` written to `as_strided(size, stride, storage_offset)`."""
    result = _copy_of_storage(self)
    part = strided_view.op.kernel(result, size, stride, storage_offset)
    _check_part(part, src)
    np.copyto(part, src, casting="unsafe")
    return result


@derivative(strided_scatter, wrt="self")
def strided_scatter_self(
    grad: Array, self_geometry: Geometry, size: Shape, stride: Shape, storage_offset: int | None
) -> Array:
    return _kept(grad, *_places(self_geometry, size, stride, storage_offset))


@derivative(strided_scatter, wrt="src")
def strided_scatter_src(
    grad: Array, self_geometry: Geometry, size: Shape, stride: Shape, storage_offset: int | None
) -> Array:
    return as_strided_values(grad, *_places(self_geometry, size, stride, storage_offset))


@tangent_of(strided_scatter)
def strided_scatter_tangent(
    self_t: Any, src_t: Any, self: Any, size: Shape, stride: Shape, storage_offset: int | None
) -> Any:
    """Compute the tangent by places: its memory has another layout than the operand's."""
    places = _places(geometry(self._array), size, stride, storage_offset)
    kept = None if self_t is None else _kept(self_t, *places)
    if src_t is None:
        return kept
    written = as_strided_backward(src_t, *places)
    return written if kept is None else kept + written


def _places(
    source: Geometry, size: Shape, stride: Shape, storage_offset: int | None
) -> tuple[Geometry, Geometry]:
    """Return what is written, and what it is written into."""
    written = _written_geometry(source)
    return (size, stride, written[2] if storage_offset is None else storage_offset), written


def _kept(values: Any, view: Geometry, written: Geometry) -> Any:
    """Keep values but where the view is; arrays and Tensors."""
    mask = carry(np.ones(view[0], array_of(values).dtype), view, written, written) == 0
    return values * (wrap(mask) if isinstance(values, Tensor) else mask)


def _written_geometry(source: Geometry) -> Geometry:
    """Describe the copy that is written into: laid out as its source, unless elements overlap."""
    shape, strides, _ = source
    return (shape, row_major(shape), 0) if overlaps(shape, strides) else source


@composite()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """Copy a tensor with `src` written to `as_strided(size, stride, storage_offset)`.

    Differs from PyTorch: the gradient of `input` is zero where it was replaced; in PyTorch it is
    zero elsewhere.

    >>> import taper
    >>> taper.as_strided_scatter(taper.zeros(6), taper.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1., 0., 0.])
    """
    shape = integers("as_strided_scatter", "size", size, 3)
    steps = integers("as_strided_scatter", "stride", stride, 4)
    return strided_scatter(input, src, shape, steps, storage_offset)


@composite(public=False)
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal; with `wrap` it continues below in a tall matrix.

    >>> import taper
    >>> taper.zeros(2, 2).fill_diagonal_(1)
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape, ndim = self._array.shape, self._array.ndim
    if ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if ndim > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    steps = self.stride()
    main = strided_view(self, (min(shape),), (sum(steps),), self.storage_offset())
    main.fill_(fill_value)
    if wrap and ndim == 2 and shape[0] > shape[1] + 1:
        for start in range(shape[1] + 1, shape[0], shape[1] + 1):
            length = min(shape[0] - start, shape[1])
            offset = self.storage_offset() + start * steps[0]
            strided_view(self, (length,), (sum(steps),), offset).fill_(fill_value)
    return self
