"""Cutting apart and joining along one dimension: split, chunk, unbind; cat, stack and relatives.

Long because: they stand in one file, since each is the other's derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.layouts import channels_are_last, laid_out_like
from taper.arrays.native import native
from taper.arrays.strides import EVERYTHING, Shape, integers, wrap_dim
from taper.factory import is_integer
from taper.opdef import LINEAR, Array, Arrays, composite, derivative, op
from taper.opdef.operands import invalid_combination, refuse_sequence
from taper.opdef.out_rules import refuse_cast_of
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.parts import narrow, slice_dim
from taper.ops.shape.reshape import reshape
from taper.tensor import Tensor

_SEVERAL = (tuple, list)  # to write `tuple | list` in a call costs it 0.15 us

# --- split -----------------------------------------------------------------------------------


def pieces(array: ndarray, lengths: Any, dim: int) -> list[ndarray]:
    """Cut a dimension into views of consecutive parts."""
    lead = (EVERYTHING,) * dim
    found = []
    start = 0
    for length in lengths:
        if length:
            found.append(array[(*lead, slice(start, start + length))])
        else:
            found.append(slice_dim.op.kernel(array, dim, start, start))
        start += length
    return found


def _equal_lengths(size: int, part: int) -> list[int]:
    if part < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={part}")
    if part == 0:
        if size:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
            )
        return [0]
    count = max((size + part - 1) // part, 1)
    return [part] * (count - 1) + [size - part * (count - 1)]


def split_equally(self: Array, split_size: int, dim: int = 0) -> Array:
    """Cut into consecutive parts of equal length, the last one perhaps shorter."""
    if native is not None:
        quick = native.cut(self, dim, split_size, False)  # 0.2 us less a part
        if quick is not None:
            return quick
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    position = wrap_dim(dim, self.ndim)
    return pieces(self, _equal_lengths(self.shape[position], split_size), position)


def split_by_sizes(self: Array, split_sizes: Shape, dim: int = 0) -> Array:
    """Cut into consecutive parts of given lengths."""
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    position = wrap_dim(dim, self.ndim)
    size = self.shape[position]
    if any(length < 0 for length in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size "
            f"at dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    return pieces(self, split_sizes, position)


def _declare_split(kernel: Any, name: str, node: str, view: bool) -> Any:
    declare = op(
        name=name,
        node=node,
        view=view,
        many_outputs=True,
        tangent=LINEAR,
        public=False,
        method=False,
    )
    return declare(kernel)


_split = _declare_split(split_equally, "split", "SplitBackward0", True)
_split_with_sizes = _declare_split(
    split_by_sizes, "split_with_sizes", "SplitWithSizesBackward0", True
)
_unsafe_split = _declare_split(split_equally, "unsafe_split", "UnsafeSplitBackward0", False)
_unsafe_split_with_sizes = _declare_split(
    split_by_sizes, "unsafe_split_with_sizes", "UnsafeSplitWithSizesBackward0", False
)


@derivative(_split, wrt="self")
@derivative(_unsafe_split, wrt="self")
def split_self(grad: Any, self_shape: Shape, split_size: int, dim: int) -> Array:
    return _put_together(cat_along, grad, dim)


def _put_together(function: Any, parts: list[Any], dim: int) -> Any:
    """Join what arrives at the parts; an operator takes 2 us for each array in a list."""
    return (function.op.forward if parts[0].__class__ is ndarray else function)(parts, dim)


@derivative(_split_with_sizes, wrt="self")
@derivative(_unsafe_split_with_sizes, wrt="self")
def split_with_sizes_self(grad: Any, self_shape: Shape, split_sizes: Shape, dim: int) -> Array:
    return _put_together(cat_along, grad, dim)


@composite(name="split", method=False)
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor into consecutive parts along a dimension.

    Args:
        tensor: the tensor to cut.
        split_size_or_sections: length of each part (the last may be shorter), or a list of lengths.
        dim: dimension to cut.

    Returns: a tuple of views.

    Example:
        >>> import taper
        >>> taper.split(taper.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if isinstance(split_size_or_sections, _SEVERAL):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    return _split(tensor, operator.index(split_size_or_sections), dim)


@composite(name="split", public=False)
def split_method(self: Any, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut the tensor into consecutive parts along a dimension.

    Args:
        split_size: length of each part (the last may be shorter), or a list of lengths.
        dim: dimension to cut.

    Returns: a tuple of views.

    Example:
        >>> import taper
        >>> taper.arange(5).split([4, 1])
        (tensor([0, 1, 2, 3]), tensor([4]))
    """
    return split(self, split_size, dim)


@composite()
def split_with_sizes(
    input: Any, split_sizes: Any, dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """Cut into consecutive parts of given lengths along `dim`, as views.

    >>> import taper
    >>> taper.split_with_sizes(taper.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
    lengths = integers("split_with_sizes", "split_sizes", split_sizes, 1)
    return _split_with_sizes(input, lengths, dim if axis is None else axis)


@composite(name="unsafe_split", numpy_names=True)
def unsafe_split(input: Any, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut as `split`, without the check that parts written in place stand alone.

    >>> import taper
    >>> taper.unsafe_split(taper.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return _unsafe_split(input, split_size, dim)


@composite(name="unsafe_split_with_sizes", numpy_names=True)
def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut as `split_with_sizes`, without the check that parts written in place stand alone.

    >>> import taper
    >>> taper.unsafe_split_with_sizes(taper.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
    lengths = integers("unsafe_split_with_sizes", "split_sizes", split_sizes, 1)
    return _unsafe_split_with_sizes(input, lengths, dim)


def _chunk_length(tensor: Tensor, chunks: int, dim: int) -> tuple[int, int]:
    """Return the dimension and the length of a part."""
    ndim = tensor._array.ndim
    if ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = tensor._array.shape[wrap_dim(dim, ndim)]
    return size, (size + chunks - 1) // chunks


@composite()
def chunk(
    input: Tensor, chunks: int, dim: int = 0, *, axis: int | None = None
) -> tuple[Tensor, ...]:
    """Cut a tensor into at most `chunks` parts of equal length.

    Args:
        input: the tensor to cut.
        chunks: how many parts are wanted; there are fewer where the length does not allow so many.
        dim: dimension to cut.
        axis: NumPy's name for `dim`.

    Returns: a tuple of views, each ⌈length / chunks⌉ long, the last perhaps shorter.

    Example:
        >>> import taper
        >>> taper.chunk(taper.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    dim = dim if axis is None else axis
    size, length = _chunk_length(input, chunks, dim)
    if size == 0:
        return _split_with_sizes(input, (0,) * chunks, dim)
    return _split(input, length, dim)


@composite(numpy_names=True)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut as `chunk`, without the check that parts written in place stand alone.

    >>> import taper
    >>> taper.unsafe_chunk(taper.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    size, length = _chunk_length(input, chunks, dim)
    if size == 0:
        return _unsafe_split_with_sizes(input, (0,) * chunks, dim)
    return _unsafe_split(input, length, dim)


_SPLITS = ("(Tensor input, int sections)", "(Tensor input, tuple of ints indices)")


def _one_of(function: str, tensor: Any, *given: Any) -> Any:
    """Return the argument that was given, under whichever of its names."""
    found = [each for each in given if each is not None]
    if len(found) != 1:
        raise TypeError(f'{function}() missing 1 required positional arguments: "sections"')
    several = isinstance(found[0], (tuple, list, Tensor))
    if not isinstance(tensor, Tensor) or not (several or is_integer(found[0])):
        raise invalid_combination(function, (tensor, found[0]), _SPLITS)
    return found[0]


# A part takes 0.5 kB, so that many parts take more memory than there is (§M6).
_MOST_PARTS = 2**31


@composite()
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
    tensor_indices_or_sections: Any = None,
    axis: int | None = None,
) -> tuple[Tensor, ...]:
    """Cut into so many parts of lengths that differ by at most 1, or at given places.

    >>> import taper
    >>> taper.tensor_split(taper.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    given = (indices_or_sections, indices, sections, tensor_indices_or_sections)
    how = _split_places(_one_of("tensor_split", input, *given))
    ndim = input._array.ndim
    if ndim == 0:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    position = wrap_dim(dim if axis is None else axis, ndim)
    size = input._array.shape[position]
    if not isinstance(how, int):
        starts, ends = (0, *how), (*how, size)
        return tuple(
            [slice_dim(input, position, a, b, 1) for a, b in zip(starts, ends, strict=True)]
        )
    if how <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {how}")
    if how >= _MOST_PARTS:
        raise RuntimeError("std::bad_alloc")
    length, longer = divmod(size, how)
    result, start = [], 0
    for number in range(how):
        end = start + length + (number < longer)
        result.append(slice_dim(input, position, start, end, 1))
        start = end
    return tuple(result)


def _split_places(given: Any) -> Any:
    """Return an integer or a tuple of integers; tensors count as their values."""
    if isinstance(given, Tensor):
        if given._array.dtype != np.int64 or given._array.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given._array.ndim} dims"
                if given._array.ndim > 1
                else "tensor_split expected tensor_indices_or_sections to have dtype of long, but "
                f"got {given.dtype.scalar_type}"
            )
        given = given.tolist()
    if isinstance(given, (tuple, list)):
        return integers("tensor_split", "indices", given, 1)
    return operator.index(given)


def _split_along(name: str, tensor: Tensor, how: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    """Cut as `hsplit`, `vsplit` and `dsplit` do."""
    ndim = tensor._array.ndim
    if ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
            f"with {ndim} dimensions!"
        )
    size = tensor._array.shape[dim]
    if isinstance(how, int) and (how == 0 or size % how):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the "
            f"dimension {size} is not divisible by the split_size {how}!"
        )
    return tensor_split(tensor, how, dim)


@composite()
def hsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut along the second dimension; a vector along its only one.

    >>> import taper
    >>> taper.hsplit(taper.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    how = _one_of("hsplit", input, indices_or_sections, sections, indices)
    return _split_along("hsplit", input, how, int(input._array.ndim > 1), 1)


@composite()
def vsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut along the first dimension.

    >>> import taper
    >>> taper.vsplit(taper.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    how = _one_of("vsplit", input, indices_or_sections, sections, indices)
    return _split_along("vsplit", input, how, 0, 2)


@composite()
def dsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut along the third dimension.

    >>> import taper
    >>> taper.dsplit(taper.zeros(2, 2, 4), 2)[0].shape
    torch.Size([2, 2, 2])
    """
    how = _one_of("dsplit", input, indices_or_sections, sections, indices)
    return _split_along("dsplit", input, how, 2, 3)


@op(view=True, many_outputs=True, tangent=LINEAR)
def unbind(self: Array, dim: int = 0) -> Array:
    """Take a tensor apart into its slices along a dimension.

    Args:
        input: a tensor.
        dim: dimension to take apart.

    Returns: a tuple of views without `dim`.

    Example:
        >>> import taper
        >>> taper.unbind(taper.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    if native is not None:
        quick = native.cut(self, dim, 1, True)
        if quick is not None:
            return quick
    ndim = self.ndim
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    position = wrap_dim(dim, ndim)
    if position:
        self = np.moveaxis(self, position, 0)
    return [self[index, ...] for index in range(len(self))]


@derivative(unbind, wrt="self")
def unbind_self(grad: Any, dim: int) -> Array:
    return _put_together(stack, grad, dim)


def iterate(self: Tensor) -> Any:
    """Iterate over the slices along the first dimension."""
    if self._array.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


Tensor.__iter__ = iterate  # type: ignore[assignment,method-assign]


# --- cat and stack ---------------------------------------------------------------------------


def common_dtype(arrays: list[ndarray]) -> np.dtype[Any]:
    """Find the dtype of a result that holds the elements of all arrays."""
    first = arrays[0].dtype
    for each in arrays:
        if each.dtype is not first and each.dtype != first:
            return dtypes.result_type(arrays).numpy
    return first


@op(name="cat", public=False, method=False, tangent=LINEAR, out=True)
def cat_along(tensors: Arrays, dim: int = 0) -> Array:
    """Join tensors along a dimension."""
    if native is not None:
        quick = native.joined(tensors, dim, False)
        if quick is not None:
            return quick
    dtype = tensors[0].dtype
    for each in tensors:
        if each.dtype is not dtype or not each.flags.c_contiguous or each.shape == (0,):
            return _cat_unlike(tensors, dim)
    try:
        return np.concatenate(tensors, dim)
    except ValueError:
        return _cat_unlike(tensors, dim)


def _cat_unlike(tensors: list[ndarray], dim: int) -> ndarray:
    """Join arrays of several dtypes or layouts, and empty vectors; raise errors."""
    # An empty vector fits anything: a rule from before tensors could have other empty shapes.
    arrays = [each for each in tensors if each.shape != (0,)]
    dtype = common_dtype(tensors)
    if not arrays:
        return np.empty(0, dtype)
    ndim = arrays[0].ndim
    if ndim == 0:
        raise _unlike(tensors, 0)
    position = wrap_dim(dim, ndim)
    try:
        result = np.concatenate(arrays, position, dtype=dtype, casting="unsafe")
    except ValueError:
        raise _unlike(tensors, position) from None
    if all([channels_are_last(each.shape, each.strides) for each in tensors]):
        return laid_out_like(result, *arrays)
    return np.ascontiguousarray(result)


@composite(method=False, quick="joined_tensors(local.state, tensors, dim, axis, out)")
def cat(
    tensors: Any, dim: int = 0, *, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """Join tensors along a dimension that they have already.

    Args:
        tensors: sequence of tensors; their shapes agree except along `dim`.
        dim: dimension to join along.
        out: tensor that receives the result.
        axis: NumPy's name for `dim`.

    Shape: (*, n, *) and (*, m, *) give (*, n + m, *); the result has the common dtype.

    Example:
        >>> import taper
        >>> taper.cat([taper.tensor([1, 2]), taper.tensor([3])])
        tensor([1, 2, 3])
    """
    if not isinstance(tensors, _SEVERAL):
        refuse_sequence("cat", "tensors", 1, tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    try:
        return cat_along(tensors, dim if axis is None else axis, out=out)
    except RuntimeError as error:
        if out is not None and str(error).startswith(_SHAPES_DIFFER):
            # PyTorch looks at the dtype of `out` first.
            dtype = common_dtype([each._array for each in tensors])
            refuse_cast_of("cat", out._array, np.empty(0, dtype))
        raise


_SHAPES_DIFFER = ("Tensors must have same number of dimensions", "Sizes of tensors must match")


def _unlike(tensors: list[ndarray], dim: int) -> RuntimeError:
    """Say why the shapes cannot be joined."""
    kept = [each for each in tensors if each.shape != (0,)]
    first = kept[0].shape
    for number, each in enumerate(tensors):
        if each.shape == (0,):
            continue
        if each.ndim == 0:
            return RuntimeError(
                f"zero-dimensional tensor (at position {number}) cannot be concatenated"
            )
        if each.ndim != len(first):
            return RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {each.ndim}"
            )
        for which, (wanted, length) in enumerate(zip(first, each.shape, strict=True)):
            if which != dim and wanted != length:
                return RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size "
                    f"{wanted} but got size {length} for tensor number {number} in the list."
                )
    return RuntimeError("the tensors cannot be concatenated")


@derivative(cat_along, wrt="tensors")
def cat_tensors(grad: Array, tensors_shape: list[Shape], dim: int, needs: Any) -> Any:
    found: list[Any] = []
    start = 0
    for shape, wanted in zip(tensors_shape, needs[0], strict=True):
        length = 0 if shape == (0,) else shape[dim]
        if not wanted:
            found.append(None)
        elif shape == (0,):
            found.append(reshape(narrow(grad, 0, 0, 0), (-1,))[:0])
        elif grad.__class__ is ndarray:  # `narrow` takes 5 us for its checks
            before = (EVERYTHING,) * wrap_dim(dim, grad.ndim)
            found.append(grad[(*before, slice(start, start + length))])
        else:
            found.append(narrow(grad, dim, start, length))
        start += length
    return found


@composite(method=False)
def concat(
    tensors: Any, dim: int = 0, *, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """Join tensors along a dimension: another name of `cat`.

    >>> import taper
    >>> taper.concat([taper.tensor([1, 2]), taper.tensor([3])])
    tensor([1, 2, 3])
    """
    return cat(tensors, dim, out=out, axis=axis)


composite(method=False, name="concatenate")(concat)


@op(method=False, tangent=LINEAR, out=True)
def stack(tensors: Arrays, dim: int = 0) -> Array:
    """Join tensors of one shape along a new dimension.

    Args:
        tensors: sequence of tensors of one shape.
        dim: position of the new dimension in the result.
        out: tensor that receives the result.

    Shape: k tensors (*) give (*, k, *).

    Example:
        >>> import taper
        >>> taper.stack([taper.tensor([1, 2]), taper.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    if native is not None:
        quick = native.joined(tensors, dim, True)
        if quick is not None:
            return quick
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].shape
    position = wrap_dim(dim, len(first) + 1)
    for number, each in enumerate(tensors):
        if each.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(each.shape)} at entry {number}"
            )
    if position < len(first):
        joined = cat_along.op.kernel(tensors, position)
        shape = (*first[:position], len(tensors), *first[position:])
        # PyTorch views the joined tensor this way, so that the channels stay last.
        return joined.reshape(shape)
    where = (*(EVERYTHING,) * position, None)
    result = np.concatenate(
        [each[where] for each in tensors],
        position,
        dtype=common_dtype(tensors),
        casting="unsafe",
    )
    return np.ascontiguousarray(result)


@derivative(stack, wrt="tensors")
def stack_tensors(grad: Array, dim: int) -> Any:
    return unbind(grad, dim)


@composite(method=False)
def hstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the second dimension, vectors along the first.

    >>> import taper
    >>> taper.hstack([taper.tensor([1, 2]), taper.tensor([3])])
    tensor([1, 2, 3])
    """
    refuse_sequence("hstack", "tensors", 1, tensors)
    each = atleast_1d(tensors)
    if not each:
        raise RuntimeError("hstack expects a non-empty TensorList")
    return cat(each, int(each[0]._array.ndim > 1), out=out)


@composite(method=False)
def vstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the first dimension, vectors as rows.

    >>> import taper
    >>> taper.vstack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    refuse_sequence("vstack", "tensors", 1, tensors)
    each = atleast_2d(tensors)
    if not each:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat(each, 0, out=out)


@composite(method=False)
def row_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the first dimension: another name of `vstack`.

    >>> import taper
    >>> taper.row_stack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    refuse_sequence("row_stack", "tensors", 1, tensors)
    return vstack(tensors, out=out)


@composite(method=False)
def dstack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the third dimension.

    >>> import taper
    >>> taper.dstack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    refuse_sequence("dstack", "tensors", 1, tensors)
    each = atleast_3d(tensors)
    if not each:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return cat(each, 2, out=out)


@composite(method=False)
def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the second dimension, vectors as columns.

    >>> import taper
    >>> taper.column_stack([taper.tensor([1, 2]), taper.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    refuse_sequence("column_stack", "tensors", 1, tensors)
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = []
    for each in tensors:
        array = each._array
        columns.append(reshape(each, (array.size, 1)) if array.ndim < 2 else each)
    return cat(columns, 1, out=out)


# --- at least so many dimensions -------------------------------------------------------------


def _for_each(name: str, tensors: tuple[Any, ...], function: Any) -> Any:
    """Apply a function to a tensor, to several arguments, or to a list of tensors."""
    if len(tensors) == 1:
        if isinstance(tensors[0], Tensor):
            return function(tensors[0])
        if not isinstance(tensors[0], (tuple, list)):
            raise invalid_combination(
                name, tensors, ("(Tensor input)", "(tuple of Tensors tensors)")
            )
        tensors = tuple(tensors[0])
    return tuple([function(each) for each in tensors])


@overload
def atleast_1d(tensors: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@composite(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Give tensors at least one dimension.

    >>> import taper
    >>> taper.atleast_1d(taper.tensor(1))
    tensor([1])
    """

    def widened(tensor: Tensor) -> Tensor:
        return tensor if tensor._array.ndim else reshape(tensor, (1,))

    return _for_each("atleast_1d", tensors, widened)


@overload
def atleast_2d(tensors: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@composite(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Give tensors at least two dimensions; vectors become rows.

    >>> import taper
    >>> taper.atleast_2d(taper.tensor([1, 2]))
    tensor([[1, 2]])
    """

    def widened(tensor: Tensor) -> Tensor:
        ndim = tensor._array.ndim
        if ndim == 0:
            return reshape(tensor, (1, 1))
        return unsqueeze(tensor, 0) if ndim == 1 else tensor

    return _for_each("atleast_2d", tensors, widened)


@overload
def atleast_3d(tensors: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]: ...
@composite(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Give tensors at least three dimensions; vectors become rows of one column each.

    >>> import taper
    >>> taper.atleast_3d(taper.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """

    def widened(tensor: Tensor) -> Tensor:
        ndim = tensor._array.ndim
        if ndim == 0:
            return reshape(tensor, (1, 1, 1))
        if ndim == 1:
            return unsqueeze(unsqueeze(tensor, 0), -1)
        return unsqueeze(tensor, -1) if ndim == 2 else tensor

    return _for_each("atleast_3d", tensors, widened)
