"""Pooling to a given size: `adaptive_avg_pool1d/2d/3d`, `adaptive_max_pool1d/2d/3d`.

Owns: these operators, their gradients and the public functions.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import channels_are_last, laid_out_like
from taper.arrays.resampling import Resampling, resampled
from taper.arrays.strides import Shape, integers
from taper.arrays.windows import (
    adaptive_bounds,
    added_at,
    combined_all,
    maxima_with_places,
    native_spread,
    native_sums,
    row_major,
    sized_windows,
    spread_all,
)
from taper.factory import refuse, refuse_size
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.unary import zeros_like
from taper.ops.pool.checks import FLOATS, one_number, require_dtype, require_range, whole_numbers
from taper.ops.pool.max import at_indices
from taper.ops.reduction.sums import mean
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.tensor import Tensor

# --- averages --------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def averaging(length: int, count: int, dtype: np.dtype) -> Resampling:
    """Make the map from a dimension to the averages of `count` windows that cover it."""
    starts, ends = adaptive_bounds(length, count)
    sizes = ends - starts
    targets = np.repeat(np.arange(count), sizes)
    sources = np.arange(len(targets)) - np.repeat(np.cumsum(sizes) - sizes - starts, sizes)
    return Resampling((count, length), targets, sources, (1.0 / sizes[targets]).astype(dtype))


def _maps(lengths: Shape, counts: Shape, dtype: np.dtype) -> list[Resampling]:
    pairs = zip(lengths, counts, strict=True)
    return [averaging(length, count, dtype) for length, count in pairs]


def _divide_evenly(lengths: Shape, counts: Shape) -> bool:
    return all(count and length % count == 0 for length, count in zip(lengths, counts, strict=True))


def _averages(array: ndarray, rank: int, output_size: Shape) -> ndarray:
    lead = array.ndim - rank
    lengths = array.shape[lead:]
    if not array.size or 0 in output_size:
        result = np.zeros((*array.shape[:lead], *output_size), array.dtype)
    else:
        windows, sizes = sized_windows(lengths, tuple(output_size), array.dtype)
        if _divide_evenly(lengths, output_size):
            sums: ndarray | None = combined_all(np.add, array, windows)
        else:
            sums = native_sums(row_major(array), windows)
        if sums is None:
            result = resampled(array, _maps(lengths, output_size, array.dtype))
        else:
            result = np.divide(sums, sizes, out=sums)
    return laid_out_like(result, array) if rank == 2 else result


def _averages_backward(grad: ndarray, array: ndarray, rank: int) -> ndarray:
    _check_grad(f"adaptive_avg_pool{rank}d_backward", grad.shape)
    lead = array.ndim - rank
    lengths, counts = array.shape[lead:], grad.shape[lead:]
    if not grad.size:
        return np.zeros(array.shape, grad.dtype)
    windows, sizes = sized_windows(lengths, counts, grad.dtype)
    shares = row_major(grad) / sizes
    if _divide_evenly(lengths, counts):
        result: ndarray | None = spread_all(shares, windows)
    else:
        result = native_spread(shares, windows)
    if result is None:
        maps = [each.transposed() for each in _maps(lengths, counts, grad.dtype)]
        result = resampled(grad, maps)
    return laid_out_like(result, array) if rank == 2 else result


def _check_grad(name: str, shape: Shape) -> None:
    for dim in range(1, len(shape)):
        if shape[dim] == 0:
            raise RuntimeError(
                f"{name}(): Expected grad_output to have non-zero size for non-batch dimensions, "
                f"but grad_output has sizes {list(shape)} with dimension {dim} being empty"
            )


def _check_average(shape: Shape, rank: int, output_size: Shape) -> None:
    name = f"adaptive_avg_pool{rank}d"
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(shape)}"
        )
    for dim in range(len(shape) - rank, len(shape)):
        if shape[dim] == 0:
            raise _empty(name, shape, dim)
    refuse_size((*shape[: len(shape) - rank], *output_size), _SINGLE)


_SINGLE = np.dtype(np.float32)


def _empty(name: str, shape: Shape, dim: int) -> RuntimeError:
    return RuntimeError(
        f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has "
        f"sizes {list(shape)} with dimension {dim} being empty"
    )


@op(
    name="_adaptive_avg_pool2d",
    tangent=LINEAR,
    upcast=True,
    public=False,
    method=False,
)
def adaptive_average2d(self: Array, output_size: Shape) -> Array:
    """Average windows that cover the last two dimensions."""
    _check_average(self.shape, 2, output_size)
    if self.size and math.prod(output_size):
        require_dtype("adaptive_avg_pool2d", self, FLOATS)
    return _averages(self, 2, output_size)


@derivative(adaptive_average2d, wrt="self")
def adaptive_average2d_self(grad, self):
    return adaptive_average2d_backward(grad, self)


@op(
    name="_adaptive_avg_pool2d_backward",
    tangent=LINEAR,
    upcast=True,
    saved_sizes={"grad_output": (-1, -2)},
    public=False,
    method=False,
)
def adaptive_average2d_backward(grad_output: Array, self: Array) -> Array:
    """Compute what each element of `self` gets from the windows it lies in."""
    return _averages_backward(grad_output, self, 2)


@derivative(adaptive_average2d_backward, wrt="grad_output")
def adaptive_average2d_backward_grad(grad, grad_output_shape):
    return adaptive_average2d(grad, grad_output_shape[-2:])


@derivative(adaptive_average2d_backward, wrt="self")
def adaptive_average2d_backward_self(grad):
    return zeros_like(grad)


@op(
    name="_adaptive_avg_pool3d",
    tangent=LINEAR,
    upcast=True,
    public=False,
    method=False,
)
def adaptive_average3d(self: Array, output_size: Shape) -> Array:
    """Average windows that cover the last three dimensions."""
    _check_average(self.shape, 3, output_size)
    require_dtype("adaptive_avg_pool3d_cpu", self, FLOATS)
    return _averages(self, 3, output_size)


@derivative(adaptive_average3d, wrt="self")
def adaptive_average3d_self(grad, self):
    return adaptive_average3d_backward(grad, self)


@op(
    name="_adaptive_avg_pool3d_backward",
    tangent=LINEAR,
    upcast=True,
    saved_sizes={"grad_output": (-1, -2, -3)},
    public=False,
    method=False,
)
def adaptive_average3d_backward(grad_output: Array, self: Array) -> Array:
    """Compute what each element of `self` gets from the windows it lies in."""
    return _averages_backward(grad_output, self, 3)


@derivative(adaptive_average3d_backward, wrt="grad_output")
def adaptive_average3d_backward_grad(grad, grad_output_shape):
    return adaptive_average3d(grad, grad_output_shape[-3:])


@derivative(adaptive_average3d_backward, wrt="self")
def adaptive_average3d_backward_self(grad):
    return zeros_like(grad)


# --- the largest elements --------------------------------------------------------------------


def _maxima(array: ndarray, rank: int, output_size: Shape) -> tuple[ndarray, ndarray]:
    lead = array.ndim - rank
    if not array.size or 0 in output_size:
        shape = (*array.shape[:lead], *output_size)
        return np.zeros(shape, array.dtype), np.zeros(shape, np.int64)
    lengths = array.shape[lead:]
    windows = sized_windows(lengths, tuple(output_size), array.dtype)[0]
    values, places = maxima_with_places(array, windows)
    if rank == 3:
        return values, places
    return laid_out_like(values, array), laid_out_like(places, array)


def _check_maximum(shape: Shape, rank: int, output_size: Shape) -> None:
    name = f"adaptive_max_pool{rank}d"
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}"
        )
    for dim in range(1, len(shape)):
        if shape[dim] == 0:
            raise _empty(name, shape, dim)
    if len(output_size) != rank:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {rank}")
    wanted = (*shape[: len(shape) - rank], *output_size)
    for length in output_size:
        if length < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {length}: {list(wanted)}"
            )
    refuse_size(wanted, _SINGLE)


@op(
    name="adaptive_max_pool2d",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    upcast=True,
    public=False,
    method=False,
)
def adaptive_maximum2d(self: Array, output_size: Shape) -> tuple[Array, Array]:
    """Find the largest elements of windows that cover two dimensions, and their places."""
    _check_maximum(self.shape, 2, output_size)
    require_dtype("adaptive_max_pool2d", self, FLOATS)
    return _maxima(self, 2, output_size)


@derivative(adaptive_maximum2d, wrt="self")
def adaptive_maximum2d_self(grad, self, result1):
    return adaptive_max_pool2d_backward(grad, self, result1)


@tangent_of(adaptive_maximum2d)
def adaptive_maximum2d_tangent(self_t, result1):
    return at_indices(self_t, result1, 2), None


@op(tangent=LINEAR, upcast=True, unpromoted=("indices",), public=False, method=False)
def adaptive_max_pool2d_backward(grad_output: Array, self: Array, indices: Array) -> Array:
    """Make zeros in the shape of `self`; add the gradient where the largest elements are."""
    _check_grad("adaptive_max_pool2d_backward", grad_output.shape)
    return laid_out_like(added_at(grad_output, indices, 2, self.shape), self)


@derivative(adaptive_max_pool2d_backward, wrt="grad_output")
def adaptive_max_pool2d_backward_grad(grad, indices):
    return at_indices(grad, indices, 2)


@derivative(adaptive_max_pool2d_backward, wrt="self")
def adaptive_max_pool2d_backward_self(grad):
    return zeros_like(grad)


@op(
    name="adaptive_max_pool3d",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    upcast=True,
    public=False,
    method=False,
)
def adaptive_maximum3d(self: Array, output_size: Shape) -> tuple[Array, Array]:
    """Find the largest elements of windows that cover three dimensions, and their places."""
    _check_maximum(self.shape, 3, output_size)
    require_dtype("adaptive_max_pool3d_cpu", self, FLOATS)
    return _maxima(self, 3, output_size)


@derivative(adaptive_maximum3d, wrt="self")
def adaptive_maximum3d_self(grad, self, result1):
    return adaptive_max_pool3d_backward(grad, self, result1)


@tangent_of(adaptive_maximum3d)
def adaptive_maximum3d_tangent(self_t, result1):
    return at_indices(self_t, result1, 3), None


@op(tangent=LINEAR, upcast=True, unpromoted=("indices",), public=False, method=False)
def adaptive_max_pool3d_backward(grad_output: Array, self: Array, indices: Array) -> Array:
    """Make zeros in the shape of `self`; add the gradient where the largest elements are."""
    _check_grad("adaptive_max_pool3d_backward", grad_output.shape)
    return added_at(grad_output, indices, 3, self.shape)


@derivative(adaptive_max_pool3d_backward, wrt="grad_output")
def adaptive_max_pool3d_backward_grad(grad, indices):
    return at_indices(grad, indices, 3)


@derivative(adaptive_max_pool3d_backward, wrt="self")
def adaptive_max_pool3d_backward_self(grad):
    return zeros_like(grad)


# --- the functions ---------------------------------------------------------------------------


def _sizes(function: str, input: Any, output_size: Any, rank: int) -> Shape:
    """Return the wanted lengths; None stands for the length that the input has."""
    shape = input.size()
    if isinstance(output_size, int):
        return whole_numbers(function, "output_size", 2, output_size, rank)
    if len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    given = zip(output_size, shape[len(shape) - len(output_size) :], strict=True)
    lengths = [length if wanted is None else wanted for wanted, length in given]
    return integers(function, "output_size", lengths, 2)


def _average(input: Tensor, rank: int, output_size: Shape) -> Tensor:
    name = f"adaptive_avg_pool{rank}d"
    if len(output_size) != rank:
        raise RuntimeError(f"{name}: output_size must be {rank}")
    if min(output_size) < 0:
        # The missing space is PyTorch's.
        listed = ", ".join(map(str, output_size[:2])) + "".join(f",{n}" for n in output_size[2:])
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{listed}}}"
        )
    if output_size == (1,) * rank:
        result: Tensor = mean(input, tuple(range(-1, -rank - 1, -1)), True)
        array = input._array
        if array.ndim == rank + 2 and channels_are_last(array.shape, array.strides):
            channels = array.shape[1]
            result.as_strided_(result.shape, (channels, 1, *(channels,) * rank))
        return result
    found: Tensor = (adaptive_average2d if rank == 2 else adaptive_average3d)(input, output_size)
    return found


def _one_size(function: str, input: Any, output_size: Any) -> int:
    """Return the wanted length of a one-dimensional pooling."""
    if not isinstance(input, Tensor):
        refuse(function, "input", 1, "Tensor", input)
    sizes = whole_numbers(function, "output_size", 2, output_size, 1)
    require_range(function, input._array.shape)
    return one_number(function, "output_size", sizes)


@composite(method=False)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Average windows whose number is given and that together cover the last dimension.

    Window i of n goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.

    Shape: (N, C, output_size).

    Example:
        >>> import taper
        >>> taper.adaptive_avg_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[1.5000, 2.5000]])
    """
    size = _one_size("adaptive_avg_pool1d", input, output_size)
    return squeeze_dim(_average(unsqueeze(input, -2), 2, (1, size)), -2)


@composite(method=False, public=False)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Average windows whose number is given and that together cover the last two dimensions.

    Window i of n goes from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉, and likewise along W.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_avg_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[1.5000]]])
    """
    return _average(input, 2, _sizes("adaptive_avg_pool2d", input, output_size, 2))


@composite(method=False, public=False)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Average windows whose number is given and that together cover the last three dimensions.

    Window i of n goes from ⌊i · D / n⌋ to ⌈(i + 1) · D / n⌉, and likewise along H and W.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_avg_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
    return _average(input, 3, _sizes("adaptive_avg_pool3d", input, output_size, 3))


@composite(method=False, name="adaptive_max_pool1d")
def plain_adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Find the largest elements of windows that cover the last dimension, and their places.

    >>> import taper
    >>> taper.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
    (tensor([[2., 3.]]), tensor([[1, 2]]))
    """
    size = _one_size("adaptive_max_pool1d", input, output_size)
    shape = input._array.shape
    for dim in range(1, len(shape)):
        if shape[dim] == 0:
            raise _empty("adaptive_max_pool1d", shape, dim)
    values, places = adaptive_maximum2d(unsqueeze(input, -2), (1, size))
    return squeeze_dim(values, -2), squeeze_dim(places, -2)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that cover the last dimension, and their indices.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.
        return_indices: has no effect.

    Returns: the elements and their indices in L, both (N, C, output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool1d_with_indices(taper.tensor([[1.0, 2.0, 3.0]]), 1)
        (tensor([[3.]]), tensor([[2]]))
    """
    return plain_adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that cover the last two dimensions, and their indices.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.
        return_indices: has no effect.

    Returns: the elements and their indices in the plane, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 1)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
    sizes = _sizes("adaptive_max_pool2d", input, output_size, 2)
    found: tuple[Tensor, Tensor] = adaptive_maximum2d(input, sizes)
    return found


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows that cover the last three dimensions, and their indices.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.
        return_indices: has no effect.

    Returns: the elements and their indices in the volume, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool3d_with_indices(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    sizes = _sizes("adaptive_max_pool3d", input, output_size, 3)
    found: tuple[Tensor, Tensor] = adaptive_maximum3d(input, sizes)
    return found


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Take the largest elements of windows that together cover the last dimension.

    Window i of n goes from ⌊i · L / n⌋ to ⌈(i + 1) · L / n⌉.

    Args:
        input: a tensor (N, C, L) or (C, L).
        output_size: number of windows.
        return_indices: also return where the largest elements are.

    Shape: (N, C, output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool1d(taper.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[2., 3.]])
    """
    found = plain_adaptive_max_pool1d(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Take the largest elements of windows that together cover the last two dimensions.

    Window i of n goes from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉, and likewise along W.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        output_size: number of windows, one for both or a pair; None keeps a length.
        return_indices: also return where the largest elements are, counted in the plane.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 1)
        tensor([[[3.]]])
    """
    found = adaptive_max_pool2d_with_indices(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Take the largest elements of windows that together cover the last three dimensions.

    Window i of n goes from ⌊i · D / n⌋ to ⌈(i + 1) · D / n⌉, and likewise along H and W.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        output_size: number of windows, one for all or a triple; None keeps a length.
        return_indices: also return where the largest elements are, counted in the volume.

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.adaptive_max_pool3d(taper.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[7.]]]])
    """
    found = adaptive_max_pool3d_with_indices(input, output_size)
    return found if return_indices else found[0]
