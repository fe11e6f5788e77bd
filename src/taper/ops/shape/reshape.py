"""Views of all elements in another shape: view, reshape, flatten, expand, detach.

Kernels return NumPy views of their first array, never with negative strides. Formulas of other
families use `reshape` and `expand` on arrays and Tensors alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import Zeros, lasting_zeros
from taper.arrays.foreign import ForeignArray, as_array
from taper.arrays.strides import (
    Shape,
    in_rows,
    integers,
    not_viewable,
    row_major,
    strided,
    view_strides,
    wanted_shape,
    wrap_dim,
)
from taper.autograd.conjugate import memory_of
from taper.autograd.cuts import cut_here, cut_of
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import INFERENCE, local
from taper.autograd.views import alias as same_memory
from taper.autograd.views import wants_grad
from taper.device import contiguous_format
from taper.factory import refuse, tensor_argument
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.opdef.operands import broadcast_clash
from taper.size import Size
from taper.tensor import Tensor, element_strides, storage_offset


def sizes(function: str, argument: str, given: tuple[Any, ...]) -> Shape:
    """Return the sizes as a tuple of Python integers: `f(2, 3)` and `f((2, 3))` mean the same."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    for each in given:
        if type(each) is not int:
            return integers(function, argument, given, 1)
    return given


def missing(function: str, argument: str) -> TypeError:
    return TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')


# --- view and reshape ------------------------------------------------------------------------


@op(name="view", view=True, tangent=LINEAR, public=False, method=False)
def view_as_shape(self: Array, size: Shape) -> Array:
    """View the same elements in another shape."""
    if self.flags.c_contiguous and (1 not in self.shape or in_rows(self)):
        try:
            result = self.reshape(size)
        except ValueError:
            result = self.reshape(wanted_shape(size, self.size))
        if result.shape != size and min(size) < -1:
            wanted_shape(size, self.size)  # NumPy takes any negative length as -1
        return result
    shape = wanted_shape(size, self.size)
    strides = view_strides(self.shape, element_strides(self), shape)
    if strides is None:
        raise not_viewable()
    return strided(self, shape, tuple([step * self.itemsize for step in strides]))


@derivative(view_as_shape, wrt="self")
def view_self(grad: Array, self_shape: Shape) -> Array:
    return reshape(grad, self_shape)


@op(name="_reshape_alias", view=True, tangent=LINEAR, public=False, method=False)
def reshape_alias(self: Array, size: Shape) -> Array:
    """View in another shape, as `reshape` records it for a tensor that is not contiguous."""
    return view_as_shape(self, size)


@derivative(reshape_alias, wrt="self")
def reshape_alias_self(grad: Array, self_shape: Shape) -> Array:
    return reshape(grad, self_shape)


@op(name="_unsafe_view", node="UnsafeViewBackward0", tangent=LINEAR, public=False, method=False)
def unsafe_view(self: Array, size: Shape) -> Array:
    """View a fresh copy that nobody else sees: the result is no tracked view."""
    return view_as_shape(self, size)


@derivative(unsafe_view, wrt="self")
def unsafe_view_self(grad: Array, self_shape: Shape) -> Array:
    return reshape(grad, self_shape)


@composite(
    public=False,
    quick="reshaped(input, local.state, getframe(1), F_view, shape) if shape else None",
)
def view(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """Look at the same memory in another shape or, byte by byte, as another dtype.

    A shape that the strides do not allow is an error: `reshape` copies instead. A view as another
    dtype has no history.

    Args:
        shape: the new lengths, one by one or as one tuple, of which one may be -1 and is computed;
            or a dtype.
        size: the new lengths, as a keyword.
        dtype: the new dtype, as a keyword.

    Returns: a view; another dtype changes the last length by the ratio of the element sizes.

    Example:
        >>> import taper
        >>> taper.arange(6).view(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    for each in shape:
        if type(each) is not int:
            break
    else:
        if shape:
            return view_as_shape(input, shape)
    return _general_view(input, shape, size, dtype)


def _general_view(input: Tensor, shape: tuple[Any, ...], size: Any, dtype: Any) -> Tensor:
    """Call `view` with a tuple, a list, a dtype, keywords, or something wrong."""
    given: Any = shape[0] if len(shape) == 1 else shape
    if not shape:
        if size is None and dtype is None:
            raise _no_such_view("")
        given = dtype if size is None else size
    if type(given) is dtypes.dtype or isinstance(given, type):
        return _as_dtype(input, given)
    return view_as_shape(input, _view_sizes(given))


def _no_such_view(kind: str) -> TypeError:
    reason = ""
    if kind:
        reason = (
            f"\n      didn't match because some of the arguments have invalid types: (!{kind}!)"
        )
    return TypeError(
        f"view() received an invalid combination of arguments - got ({kind}), but expected one "
        f"of:\n * (torch.dtype dtype){reason}\n * (tuple of ints size){reason}\n"
    )


def _view_sizes(given: Any) -> Shape:
    if not isinstance(given, (tuple, list)):
        if not hasattr(given, "__index__"):
            raise _no_such_view(type(given).__name__)
        given = (given,)
    return integers("view", "size", given)


def _as_dtype(tensor: Tensor, dtype: Any) -> Tensor:
    which = dtypes.as_dtype(dtype, "view", "dtype", 1)
    if tensor._change is not None:
        bit = "conjugate view tensors" if tensor.is_conj() else "tensors with negative bit set"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {bit} when converting to a different dtype."
        )
    result = same_memory(tensor)
    result._array = bytes_as(tensor._array, which)
    if local.state.mode & INFERENCE:
        result._counter = INFERENCE_COUNTER
    elif tensor.is_inference():
        result._counter = None
    return result


def bytes_as(array: ndarray, dtype: dtypes.dtype) -> ndarray:
    """View the memory of an array as another dtype."""
    old, new = array.itemsize, dtype.itemsize
    if old == new:
        return array.view(dtype.numpy)
    names = f"{dtypes.FROM_NUMPY[array.dtype].scalar_type} as {dtype.scalar_type}"
    reason = "(different element sizes)"
    if not array.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 to view {names} {reason}")
    strides = element_strides(array)
    joined = array.shape[-1] % max(new // old, 1) == 0  # which PyTorch looks at first
    if strides[-1] != 1 and joined:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {names} {reason}, but got {strides[-1]}"
        )
    if new > old:
        times = new // old
        for what, value in _to_divide(array, strides):
            if value % times:
                raise RuntimeError(
                    f"self.{what} must be divisible by {times} to view {names} {reason}, but got "
                    f"{value}"
                )
    shape = (*array.shape[:-1], array.shape[-1] * old // new)
    if not array.size:
        return np.empty(shape, dtype.numpy)
    return strided(array, shape, (*array.strides[:-1], new), 0, dtype.numpy)


def _to_divide(array: ndarray, strides: Shape) -> list[tuple[str, int]]:
    """Name what must be a multiple if elements are joined into larger ones."""
    found = [("size(-1)", array.shape[-1]), ("storage_offset()", storage_offset(array))]
    return found + [(f"stride({dim})", step) for dim, step in enumerate(strides[:-1])]


@composite(public=False)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Look at the same memory in the shape of another tensor.

    Args:
        other: tensor whose shape is taken.

    Returns: `self.view(other.size())`.

    Example:
        >>> import taper
        >>> taper.arange(4).view_as(taper.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    if not isinstance(other, Tensor):
        refuse("view_as", "other", 1, "Tensor", other)
    return view_as_shape(input, other._array.shape)


_OTHER_ARRAYS: tuple[Any, ...] = (np.generic, ndarray, ForeignArray)  # beside ndarray itself


@composite(quick="reshaped(input, local.state, getframe(1), F_view, dims) if dims else None")
def reshape(input: Any, *dims: Any, shape: Any = None) -> Any:
    """Give a tensor another shape; the elements keep their row-major order.

    Args:
        input: a tensor.
        dims: the new lengths, one by one or as one tuple; one of them may be -1 and is computed.
        shape: the new lengths, as a keyword.

    Returns: a view of `input` where its strides allow one, else a copy.

    Example:
        >>> import taper
        >>> taper.reshape(taper.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    if len(dims) == 1 and type(dims[0]) is tuple:
        size = dims[0]
    else:
        size = dims
        if not dims:
            if shape is None:
                raise missing("reshape", "shape")
            size = (shape,)
    for each in size:
        if type(each) is not int:
            size = sizes("reshape", "shape", size)
            break
    if type(input) is ndarray:
        return input.reshape(size)
    if isinstance(input, _OTHER_ARRAYS):
        return input.reshape(size)
    array = memory_of(input)
    if not array.flags.c_contiguous:
        size = wanted_shape(size, array.size)
        if view_strides(array.shape, element_strides(array), size) is None:
            return unsafe_view(input.clone(memory_format=contiguous_format), size)
        return reshape_alias(input, size)
    return view_as_shape(input, size)


@composite(public=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Give the tensor the shape of another; a view where strides allow it, else a copy."""
    if not isinstance(other, Tensor):
        refuse("reshape_as", "other", 1, "Tensor", other)
    return reshape(input, other._array.shape)


@composite(
    quick="reshaped(input, local.state, getframe(1), F_view, None)"
    " if start_dim == 0 and end_dim == -1 else None"
)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one.

    Args:
        input: a tensor.
        start_dim: first dimension to merge.
        end_dim: last dimension to merge.

    Shape: (*, a, b, c, *) gives (*, a·b·c, *); the result is a view where strides allow one.

    Example:
        >>> import taper
        >>> taper.flatten(taper.zeros(2, 3, 4), 1).shape
        torch.Size([2, 12])
    """
    shape = input._array.shape
    ndim = len(shape)
    first, last = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if ndim == 0:
        return reshape(input, (1,))
    if first == last:
        return input
    joined = math.prod(shape[first : last + 1])
    return reshape(input, (*shape[:first], joined, *shape[last + 1 :]))


@composite(numpy_names=True)
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Cut one dimension into several, whose product is its length.

    >>> import taper
    >>> taper.unflatten(taper.zeros(4, 3), 0, (2, -1)).shape
    torch.Size([2, 2, 3])
    """
    shape = input._array.shape
    position = wrap_dim(dim, len(shape))
    parts = integers("unflatten", "sizes", sizes, 2)
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        raise RuntimeError(
            "unflatten got an unexpected error:\n"
            f"Dimension specified as {dim} but tensor has no dimensions"
        )
    try:
        parts = wanted_shape(parts, shape[position])
    except RuntimeError as error:
        if "invalid for input" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {dim} "
            f"({shape[position]}) in the input tensor"
        ) from None
    return view_as_shape(input, (*shape[:position], *parts, *shape[position + 1 :]))


@composite()
def ravel(input: Tensor) -> Tensor:
    """Flatten all elements into one dimension; a view if the tensor is contiguous.

    >>> import taper
    >>> taper.ravel(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return view_as_shape(input.contiguous(), (-1,))


@op(name="alias", view=True, tangent=LINEAR, public=False, method=False)
def alias(self: Array) -> Array:
    """Return the tensor itself as a view."""
    return self


@derivative(alias, wrt="self")
def alias_self(grad: Array) -> Array:
    return grad


@composite(arrays=True, quick="detached(local.state, input)")
def detach(input: Tensor) -> Tensor:
    """Look at the same memory without history: no gradient flows through the result.

    Writing in place into the result changes `input` too, and autograd notices it.

    Args:
        input: a tensor.

    Returns: a tensor that does not require a gradient and shares the memory of `input`.

    Example:
        >>> import taper
        >>> taper.ones(2, requires_grad=True).detach()
        tensor([1., 1.])
    """
    result = same_memory(input)
    if input._requires_grad is not False:
        result._requires_grad = cut_here("detach()") if wants_grad(input) else cut_of(input)
    return result


@composite(method=False)
def detach_(input: Tensor) -> Tensor:
    """Cut a tensor from its graph, in place: it becomes a leaf without gradient.

    Args:
        input: the tensor that is changed; views cannot be cut in place.

    Returns: `input`.

    Example:
        >>> import taper
        >>> taper.detach_(taper.ones(2, requires_grad=True) * 2)
        tensor([2., 2.])
    """
    tensor_argument("detach_", "input", input)
    result: Tensor = input.detach_()
    return result


# --- expand ----------------------------------------------------------------------------------


@op(name="expand", view=True, tangent=LINEAR, public=False, method=False)
def expand_to(self: Array, size: Shape) -> Array:
    """Expand dimensions of length 1."""
    if type(self) is not ndarray:
        if isinstance(self, Zeros):
            return lasting_zeros(size, self.dtype)
        self = as_array(self)
    shape = self.shape
    lead = len(size) - len(shape)
    if lead >= 0 and self.size and (not lead or 1 not in size):
        strides = [0] * lead
        old = self.strides
        for dim, length in enumerate(shape, lead):
            if length == size[dim]:
                strides.append(old[dim - lead])
            elif length == 1 and size[dim] >= 0:
                strides.append(0)
            else:
                break
        else:
            if lead and min(size) < 0:
                return _expanded(self, size, lead)
            if self.flags.c_contiguous:
                return ndarray(size, self.dtype, self, 0, strides)
            return strided(self, size, tuple(strides))
    return _expanded(self, size, lead)


def _expanded(array: ndarray, size: Shape, lead: int) -> ndarray:
    """Expand to any sizes, with -1, new dimensions of length 1 and errors."""
    shape = array.shape
    if not shape:
        if size and min(size) < 0:
            raise RuntimeError("numel: integer multiplication overflow")
        return strided(array, size, (0,) * lead)
    if lead < 0:
        name = dtypes.backend_type_name(dtypes.FROM_NUMPY[array.dtype])
        raise RuntimeError(
            f"expand({name}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    old = array.strides if array.size else row_major(shape, array.itemsize)
    result, strides = list(size), [0] * len(size)
    for dim in range(len(size) - 1, -1, -1):
        wanted = size[dim]
        if dim >= lead:
            length = shape[dim - lead]
            if wanted == -1:
                wanted = result[dim] = length
            if wanted == length:
                strides[dim] = old[dim - lead]
            elif length != 1 or wanted < 0:
                raise _cannot_expand(wanted, length, dim, size, shape)
        elif wanted == 1:
            strides[dim] = result[dim + 1] * strides[dim + 1]
        elif wanted < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                f"non-existing dimension {dim}"
            )
    return strided(array, tuple(result), tuple(strides))


def _cannot_expand(wanted: int, length: int, dim: int, size: Shape, shape: Shape) -> RuntimeError:
    return RuntimeError(
        f"The expanded size of the tensor ({wanted}) must match the existing size ({length}) at "
        f"non-singleton dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
    )


@derivative(expand_to, wrt="self")
def expand_self(grad: Array, self_shape: Shape) -> Array:
    return grad  # the engine sums over what broadcasting has added


@composite(public=False)
def expand(input: Any, *sizes_given: Any, size: Any = None, implicit: bool = False) -> Any:
    """Repeat dimensions of length 1 without copying.

    Args:
        sizes_given: the new lengths, one by one or as one tuple; -1 keeps a length, and more
            lengths than there are dimensions add leading ones.
        size: the new lengths, as a keyword.
        implicit: has no effect.

    Returns: a view in which all repetitions share memory; `clone` it before writing in place.

    Example:
        >>> import taper
        >>> taper.tensor([[1], [2]]).expand(2, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    if not sizes_given:
        if size is None:
            raise missing("expand", "size")
        sizes_given = (size,)
    return expand_to(input, sizes("expand", "size", sizes_given))


@composite(public=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Repeat dimensions of length 1 until the shape is that of another tensor.

    Args:
        other: tensor whose shape is taken.

    Returns: `self.expand(other.size())`, a view.

    Example:
        >>> import taper
        >>> taper.tensor([1, 2]).expand_as(taper.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    if not isinstance(other, Tensor):
        refuse("expand_as", "other", 1, "Tensor", other)
    return expand_to(input, other._array.shape)


@composite()
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expand the tensor to `size`, as a view.

    >>> import taper
    >>> taper.broadcast_to(taper.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand_to(input, integers("broadcast_to", "size", size, 1))


@composite(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand all tensors to their common shape, as views.

    >>> import taper
    >>> taper.broadcast_tensors(taper.zeros(2, 1), taper.zeros(3))[1].shape
    torch.Size([2, 3])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shapes = [each._array.shape for each in tensors]
    if not shapes:
        return ()
    clash = broadcast_clash(shapes)
    if clash is not None:
        raise clash
    common = np.broadcast_shapes(*shapes)
    return tuple(
        [each if each._array.shape == common else expand_to(each, common) for each in tensors]
    )


@composite(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """Compute the shape that tensors of these shapes broadcast to.

    >>> import taper
    >>> taper.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for number, given in enumerate(shapes):
        shape = given if isinstance(given, (tuple, list)) else (given,)
        if any(length < 0 for length in shape):
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        result = [1] * (len(shape) - len(result)) + result
        for dim in range(-1, -1 - len(shape), -1):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! "
                    f"Mismatching argument at index {number} had {shape}; but expected shape "
                    f"should be broadcastable to {result}"
                )
    return Size(result)
