"""The way back from pooling: `max_unpool1d/2d/3d` put elements where indices say, zeros elsewhere.

Owns: these operators, their gradients and the public functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.layouts import laid_out_like
from taper.arrays.strides import Shape, integers
from taper.arrays.windows import flat_places
from taper.factory import refuse
from taper.opdef import LINEAR, Array, composite, derivative, op
from taper.ops.pool.checks import FLOATS, require_dtype
from taper.ops.pool.max import at_indices
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.tensor import Tensor

# --- the operators ---------------------------------------------------------------------------


def _check(array: ndarray, indices: ndarray, rank: int) -> None:
    if indices.dtype != np.int64:
        kind = f" but got: {dtypes.FROM_NUMPY[indices.dtype].scalar_type}" if rank == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{kind}")
    if array.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but "
            f"got a tensor with {array.ndim} dimensions."
        )
    if array.shape != indices.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(array.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    for dim in range(1, array.ndim):
        if array.shape[dim] == 0:
            raise RuntimeError(
                f"max_unpooling{rank}d_forward_out_cpu(): Expected input to have non-zero size for "
                f"non-batch dimensions, but got {list(array.shape)} with dimension {dim} being "
                "empty."
            )


def _unpooled(array: ndarray, indices: ndarray, rank: int, output_size: Shape) -> ndarray:
    """Put elements at their places; where two have one place, the later one stays."""
    _check(array, indices, rank)
    require_dtype(f"max_unpool{rank}d", array, FLOATS)
    size = int(np.prod(output_size))
    if indices.size and indices.view(np.uint64).max() >= size:
        wrong = indices[(indices < 0) | (indices >= size)].flat[0]
        raise RuntimeError(
            f"Found an invalid max index: {wrong} (output volumes are of size "
            f"{'x'.join(map(str, output_size))})"
        )
    result = np.zeros((*array.shape[: array.ndim - rank], *output_size), array.dtype)
    result.reshape(-1)[flat_places(indices, rank, size)] = array.reshape(-1)
    return laid_out_like(result, array) if rank == 2 else result


@op(name="max_unpool2d", tangent=LINEAR, public=False, method=False)
def unpool2d(self: Array, indices: Array, output_size: Shape) -> Array:
    """Put elements at their indices in planes of zeros."""
    return _unpooled(self, indices, 2, output_size)


@derivative(unpool2d, wrt="self")
def unpool2d_self(grad, indices):
    return at_indices(grad, indices, 2)


@op(name="max_unpool3d", tangent=LINEAR, public=False, method=False)
def unpool3d(self: Array, indices: Array, output_size: Shape) -> Array:
    """Put elements at their indices in volumes of zeros."""
    return _unpooled(self, indices, 3, output_size)


@derivative(unpool3d, wrt="self")
def unpool3d_self(grad, indices):
    return at_indices(grad, indices, 3)


# --- the functions ---------------------------------------------------------------------------


def _numbers(value: Any, rank: int) -> Sequence[Any]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * rank


def _output_size(
    input: Any, kernel: Sequence[Any], stride: Sequence[Any], padding: Sequence[Any], wanted: Any
) -> list[Any]:
    """Compute the lengths that were pooled, as the settings tell; `wanted` may differ a little."""
    shape = input.size()
    rank = len(kernel)
    if len(shape) < rank or min(len(stride), len(padding)) < rank:
        raise IndexError("tuple index out of range")  # as in PyTorch
    usual = [
        (shape[len(shape) - rank + dim] - 1) * stride[dim] + kernel[dim] - 2 * padding[dim]
        for dim in range(rank)
    ]
    if wanted is None:
        return usual
    if len(wanted) == rank + 2:
        wanted = wanted[2:]
    if len(wanted) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it "
            f"has a length of '{len(wanted)}'"
        )
    for dim in range(rank):
        low, high = usual[dim] - stride[dim], usual[dim] + stride[dim]
        if not low < wanted[dim] < high:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {dim} must be between {low} and {high})'
            )
    return list(wanted)


def _settings(
    rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[list[Any], Sequence[Any]]:
    kernel = _numbers(kernel_size, rank)
    steps = kernel if stride is None else _numbers(stride, rank)
    return _output_size(input, kernel, steps, _numbers(padding, rank), output_size), steps


def _arguments(function: str, indices: Any, sizes: list[Any]) -> Shape:
    if not isinstance(indices, Tensor):
        refuse(function, "indices", 2, "Tensor", indices)
    return integers(function, "output_size", sizes, 3)


@composite(method=False, public=False)
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Put the elements that `max_pool1d` chose back in their places, among zeros.

    Args:
        input: the chosen elements (N, C, L) or (C, L).
        indices: their indices, as `max_pool1d` returned them.
        kernel_size: length K of a window.
        stride: step from window to window; K by default.
        padding: padding of `max_pool1d`.
        output_size: size of the result, where several fit.

    Shape: (N, C, (L - 1) · stride - 2·padding + K).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_unpool1d(taper.tensor([[3.0, 2.0]]), taper.tensor([[1, 2]]), 2)
        tensor([[0., 3., 2., 0.]])
    """
    sizes, _ = _settings(1, input, kernel_size, stride, padding, output_size)
    lengths = (*_arguments("max_unpool2d", indices, sizes), 1)
    return squeeze_dim(unpool2d(unsqueeze(input, -1), unsqueeze(indices, -1), lengths), -1)


@composite(method=False, public=False)
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Put the elements that `max_pool2d` chose back in their places, among zeros.

    Args:
        input: the chosen elements (N, C, H, W) or (C, H, W).
        indices: their indices, as `max_pool2d` returned them.
        kernel_size: size K of a window, a number or a pair.
        stride: step from window to window, a number or a pair; K by default.
        padding: padding of `max_pool2d`.
        output_size: size of the result, where several fit.

    Shape: (N, C, H', W'), with H' = (H - 1) · stride - 2·padding + K and W' alike.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_unpool2d(taper.tensor([[[3.0]]]), taper.tensor([[[3]]]), 2)
        tensor([[[0., 0.],
                 [0., 3.]]])
    """
    sizes, _ = _settings(2, input, kernel_size, stride, padding, output_size)
    lengths = _arguments("max_unpool2d", indices, sizes)
    if len(lengths) != 2:
        raise RuntimeError(
            "There should be exactly two elements (height, width) in output_size, but got "
            f"{len(lengths)} elements."
        )
    return unpool2d(input, indices, lengths)


@composite(method=False, public=False)
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Put the elements that `max_pool3d` chose back in their places, among zeros.

    Args:
        input: the chosen elements (N, C, D, H, W) or (C, D, H, W).
        indices: their indices, as `max_pool3d` returned them.
        kernel_size: size K of a window, a number or a triple.
        stride: step from window to window, a number or a triple; K by default.
        padding: padding of `max_pool3d`.
        output_size: size of the result, where several fit.

    Shape: (N, C, D', H', W'), with D' = (D - 1) · stride - 2·padding + K, and so on.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.max_unpool3d(taper.tensor([[[[3.0]]]]), taper.tensor([[[[7]]]]), 2).sum()
        tensor(3.)
    """
    sizes, steps = _settings(3, input, kernel_size, stride, padding, output_size)
    lengths = _arguments("max_unpool3d", indices, sizes)
    if len(lengths) != 3:
        raise RuntimeError(
            "There should be exactly three elements (depth, height, width) in output_size, but "
            f"got {len(lengths)} elements."
        )
    if min(steps) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(steps)}")
    return unpool3d(input, indices, lengths)
