"""Making tensors that are uninitialised or filled with one number, free or like another tensor.

What is read from data is in `data`, what counts or samples a curve in `ranges`.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.foreign import place_of
from taper.arrays.scalars import filler
from taper.arrays.strides import Shape, empty_with, extent, format_strides, row_major
from taper.device import CPU, META, contiguous_format, preserve_format, strided
from taper.device import device as Device
from taper.device import layout as Layout
from taper.factory import (
    allocate,
    array_like,
    check_flag,
    check_memory_format,
    fill_uninitialised,
    finish,
    integer,
    into,
    number,
    options,
    out_dtype,
    refuse_size,
    shape_argument,
    shape_of,
    tensor_argument,
)
from taper.opdef import NAMESPACE, composite
from taper.settings import settings
from taper.tensor import Tensor

NAMESPACE["settings"] = settings


def _filled(
    function: str,
    shape: Shape,
    value: Any,
    out: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
    like: Tensor | None = None,
    default: dtypes.dtype | None = None,
) -> Tensor:
    """Make a tensor with one number everywhere, or uninitialised if it is None.

    The dtype is `dtype`, that of `like`, `default` or the default one.
    """
    if like is not None:
        default = like.dtype
    if layout is not None and layout is not strided and isinstance(layout, Layout):
        if not function.endswith(("zeros", "empty")):
            raise RuntimeError("full(...) is not implemented for sparse layout")
        return _sparse_zeros(layout, shape, default if dtype is None else dtype, requires_grad)
    which, where = options(function, dtype, layout, device, pin_memory, default, like)
    if requires_grad:
        check_flag(function, requires_grad)
    if out is not None:
        which, where = out_dtype(function, out, dtype, requires_grad), out.device
    if value is not None:
        value = filler(value, which, math.prod(shape) == 1)
    array = allocate(shape, which.numpy, value, where)
    if out is not None:
        return into(out, array, requires_grad)
    return finish(array, requires_grad)


def _sparse_zeros(layout: Layout, shape: Shape, dtype: Any, requires_grad: Any) -> Tensor:
    # late: few tensors are sparse
    making = importlib.import_module("taper.ops.sparse.making")
    made: Tensor = making.zeros(layout, shape, dtype, requires_grad)
    return made


@composite(
    method=False,
    quick="new_filled(local.state, 0, sizes, dtype, requires_grad, False, size, out, layout,"
    " device, pin_memory)",
)
def zeros(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor of zeros.

    Args:
        sizes: the lengths, one by one or as one tuple; none make a 0-d tensor.
        size: the lengths, as a keyword.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
    shape = shape_of("zeros", sizes, size)
    if shape and min(shape) < 0:
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return _filled("zeros", shape, 0, out, dtype, layout, device, pin_memory, requires_grad)


@composite(
    method=False,
    quick="new_filled(local.state, 1, sizes, dtype, requires_grad, False, size, out, layout,"
    " device, pin_memory)",
)
def ones(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor of ones.

    Args:
        sizes: the lengths, one by one or as one tuple; none make a 0-d tensor.
        size: the lengths, as a keyword.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.ones((2,), dtype=taper.int64)
        tensor([1, 1])
    """
    shape = shape_of("ones", sizes, size)
    return _filled("ones", shape, 1, out, dtype, layout, device, pin_memory, requires_grad)


def _uninitialised(shape: Shape, strides: Shape, dtype: np.dtype, where: Device) -> np.ndarray:
    if where is not CPU:
        return place_of(where).empty(shape, strides, dtype, where)
    made: np.ndarray = empty_with(shape, strides, dtype)
    fill_uninitialised(made)
    return made


@composite(
    method=False,
    quick="new_filled(local.state, None, sizes, dtype, requires_grad, False, size, out, layout,"
    " device, pin_memory, memory_format, settings.fills_memory)",
)
def empty(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a tensor whose elements are whatever the memory held.

    Args:
        sizes: the lengths, one by one or as one tuple; none make a 0-d tensor.
        size: the lengths, as a keyword.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory, row-major by default.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.empty(2, 3).shape
        torch.Size([2, 3])
    """
    shape = shape_of("empty", sizes, size)
    check_memory_format("empty", memory_format)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    if memory_format is None or memory_format is contiguous_format:
        return _filled("empty", shape, None, out, dtype, layout, device, pin_memory, requires_grad)
    which, where = options("empty", dtype, layout, device, pin_memory)
    strides = format_strides(shape, memory_format._name)
    return finish(_uninitialised(shape, strides, which.numpy, where), requires_grad)


@composite(
    method=False,
    quick="new_filled(local.state, fill_value, size, dtype, requires_grad, True, out, layout,"
    " device, pin_memory)",
)
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor with one value everywhere.

    Args:
        size: the lengths.
        fill_value: the value, a number or a 0-d tensor.
        out: tensor that receives the result.
        dtype: dtype of the result; by default that of the value.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """
    shape = shape_argument("full", "size", 1, size)
    value = number("full", "fill_value", 2, fill_value)
    own = dtypes.result_type([value])
    return _filled(
        "full", shape, value, out, dtype, layout, device, pin_memory, requires_grad, default=own
    )


@composite(method=False)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make an uninitialised tensor with the given strides.

    >>> import taper
    >>> taper.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    which, where = options("empty_strided", dtype, layout, device, pin_memory)
    return _strided("empty_strided", size, stride, which, where, requires_grad)


@composite(method=False)
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make an uninitialised tensor whose dimensions lie in memory as `physical_layout` says.

    >>> import taper
    >>> taper.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    which, where = options("empty_permuted", dtype, layout, device, pin_memory)
    shape = shape_argument("empty_permuted", "size", 1, size)
    order = shape_argument("empty_permuted", "physical_layout", 2, physical_layout)
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for place, dim in enumerate(order):
        if not 0 <= dim < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got "
                f"{dim} at index {place}).  NB: negative dims not currently supported; file an "
                "issue if you want it."
            )
        if dim in order[:place]:
            raise RuntimeError("Duplicate dim not allowed")
    strides = dict(zip(order, row_major([shape[dim] for dim in order]), strict=True))
    steps = [strides[dim] for dim in range(len(shape))]
    return _strided("empty_permuted", shape, steps, which, where, requires_grad)


def _strided(
    function: str, size: Any, stride: Any, which: dtypes.dtype, where: Device, requires_grad: Any
) -> Tensor:
    shape = shape_argument(function, "size", 1, size)
    strides = shape_argument(function, "stride", 2, stride)
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if min(shape, default=0) < 0:
        allocate(shape, which.numpy)
    overflow = extent(shape, strides) * which.itemsize >= 2**63
    if overflow or min(strides, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    return finish(_uninitialised(shape, strides, which.numpy, where), requires_grad)


@composite(method=False)
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a 0-d tensor of a number, of the default dtype if none is given.

    >>> import taper
    >>> taper.scalar_tensor(3)
    tensor(3.)
    """
    value = number("scalar_tensor", "s", 1, s)
    return _filled(
        "scalar_tensor", (), value, None, dtype, layout, device, pin_memory, requires_grad
    )


@composite(
    method=False,
    quick="new_eye(local.state, n, m, dtype, requires_grad, out, layout, device, pin_memory)",
)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: number of rows.
        m: number of columns; `n` by default.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (n, m).

    Example:
        >>> import taper
        >>> taper.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    rows = integer("eye", "n", 1, n)
    columns = rows if m is None else integer("eye", "m", 2, m)
    for name, length in (("n", rows), ("m", columns)):
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    which, where = options("eye", dtype, layout, device, pin_memory)
    if where is META:
        return finish(allocate((rows, columns), which.numpy, None, where), requires_grad)
    refuse_size((rows, columns), which.numpy)
    if out is not None:
        which = out_dtype("eye", out, dtype, requires_grad)
        return into(out, np.eye(rows, columns, dtype=which.numpy), requires_grad)
    return finish(np.eye(rows, columns, dtype=which.numpy), requires_grad, where)


# Like another tensor.


def _like(
    function: str,
    input: Tensor,
    value: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
    memory_format: Any,
) -> Tensor:
    spread: Any = input
    if hasattr(type(input), "_local_tensor"):  # a tensor whose parts are in several processes
        others = (value, dtype, layout, device, pin_memory, requires_grad, memory_format)
        return spread._like(_like(function, spread._local_tensor, *others))
    array = tensor_argument(function, "input", input)
    check_memory_format(function, memory_format)
    own = dtypes.FROM_NUMPY[array.dtype]
    if function == "zeros_like" and isinstance(layout, Layout) and layout is not strided:
        return _sparse_zeros(layout, array.shape, own if dtype is None else dtype, requires_grad)
    which, where = options(function, dtype, layout, device, pin_memory, own, input)
    if value is not None:
        value = filler(value, which, array.size == 1)
    return finish(array_like(array, which.numpy, memory_format, value, where), requires_grad)


@composite(
    method=False,
    arrays=True,
    quick="new_like(local.state, 0, input, dtype, requires_grad, layout, device,"
    " pin_memory, memory_format)",
)
def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a tensor of zeros in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.zeros_like(taper.tensor([1, 2]))
        tensor([0, 0])
    """
    return _like(
        "zeros_like", input, 0, dtype, layout, device, pin_memory, requires_grad, memory_format
    )


@composite(
    method=False,
    arrays=True,
    quick="new_like(local.state, 1, input, dtype, requires_grad, layout, device,"
    " pin_memory, memory_format)",
)
def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a tensor of ones in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.ones_like(taper.tensor([5.0, 6.0]))
        tensor([1., 1.])
    """
    return _like(
        "ones_like", input, 1, dtype, layout, device, pin_memory, requires_grad, memory_format
    )


@composite(
    method=False,
    arrays=True,
    quick="new_like(local.state, None, input, dtype, requires_grad, layout, device,"
    " pin_memory, memory_format, settings.fills_memory)",
)
def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a tensor in the form of another; its elements are whatever the memory held.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.empty_like(taper.ones(2, 3).t()).stride()
        (1, 3)
    """
    return _like(
        "empty_like", input, None, dtype, layout, device, pin_memory, requires_grad, memory_format
    )


@composite(
    method=False,
    arrays=True,
    quick="new_like(local.state, fill_value, input, dtype, requires_grad, layout, device,"
    " pin_memory, memory_format)",
)
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Make a tensor with one value everywhere, in the form of another tensor.

    Args:
        input: tensor whose shape, dtype and order of dimensions in memory are taken.
        fill_value: the value, a number or a 0-d tensor.
        dtype: another dtype for the result.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.
        memory_format: order of the dimensions in memory; by default that of the input.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.full_like(taper.tensor([1, 2]), 7)
        tensor([7, 7])
    """
    value = number("full_like", "fill_value", 2, fill_value)
    return _like(
        "full_like", input, value, dtype, layout, device, pin_memory, requires_grad, memory_format
    )


@composite(public=False, arrays=True)
def new_zeros(
    input: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor of zeros in the dtype of this tensor.

    Args:
        sizes: the lengths, one by one or as one tuple.
        size: the lengths, as a keyword.
        dtype: dtype of the result; by default that of this tensor.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: the given lengths.

    Example:
        >>> import taper
        >>> taper.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
    """
    shape = shape_of("new_zeros", sizes, size)
    return _filled(
        "new_zeros", shape, 0, None, dtype, layout, device, pin_memory, requires_grad, input
    )


@composite(public=False, arrays=True)
def new_ones(
    input: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor of ones in the dtype of this tensor.

    >>> import taper
    >>> taper.tensor([1, 2]).new_ones(3)
    tensor([1, 1, 1])
    """
    shape = shape_of("new_ones", sizes, size)
    return _filled(
        "new_ones", shape, 1, None, dtype, layout, device, pin_memory, requires_grad, input
    )


@composite(public=False, arrays=True)
def new_empty(
    input: Tensor,
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make an uninitialised tensor in the dtype of this one.

    >>> import taper
    >>> taper.tensor([1, 2]).new_empty(3).dtype
    torch.int64
    """
    shape = shape_of("new_empty", sizes, size)
    return _filled(
        "new_empty", shape, None, None, dtype, layout, device, pin_memory, requires_grad, input
    )


@composite(public=False, arrays=True)
def new_full(
    input: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a tensor with one number everywhere, in the dtype of this tensor.

    >>> import taper
    >>> taper.tensor([1.0]).new_full((2,), 7)
    tensor([7., 7.])
    """
    shape = shape_argument("new_full", "size", 1, size)
    value = number("new_full", "fill_value", 2, fill_value)
    return _filled(
        "new_full", shape, value, None, dtype, layout, device, pin_memory, requires_grad, input
    )


@composite(public=False, arrays=True)
def new_empty_strided(
    input: Tensor,
    size: Any,
    stride: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make an uninitialised tensor with the given strides in the dtype of this one.

    >>> import taper
    >>> taper.tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    which, where = options(
        "new_empty_strided", dtype, layout, device, pin_memory, input.dtype, input
    )
    return _strided("new_empty_strided", size, stride, which, where, requires_grad)
