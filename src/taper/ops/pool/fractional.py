"""Pooling with windows at random distances: `fractional_max_pool2d`, `fractional_max_pool3d`.

Owns: these operators, their gradients and the public functions.  The numbers that place the
windows are PyTorch's for the same seed (D8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.strides import Shape, wrap_dim
from taper.arrays.windows import added_at, flat_places, lowest, row_major
from taper.autograd.state import local
from taper.autograd.views import requires_grad
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.unary import zeros_like
from taper.ops.pool.checks import FLOATS, require_dtype, whole_numbers
from taper.ops.pool.max import at_indices
from taper.ops.random.draws import rand
from taper.tensor import Tensor

_SIDES = ("time", "height", "width")

# --- the computation -------------------------------------------------------------------------


def _starts(samples: ndarray, length: int, count: int, size: int) -> ndarray:
    """Find where the windows along one dimension start, for each sample of a plane."""
    result = np.empty((*samples.shape, count), np.int64)
    if count > 1:
        step = (np.asarray(length - size, samples.dtype) / (count - 1)).astype(samples.dtype)
        numbers = np.arange(count - 1, dtype=samples.dtype)
        moved = ((samples[..., None] + numbers) * step).astype(np.int64)
        result[..., :-1] = moved - (samples * step).astype(np.int64)[..., None]
    result[..., count - 1 :] = length - size
    return result


def _check(shape: Shape, rank: int, kernel: Shape, output_size: Shape, samples: ndarray) -> None:
    name = "fractional_max_pool2d()" if rank == 2 else "fractional_max_pool3d_out()"
    ndim = len(shape)
    if ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"{name}: Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}"
        )
    for dim in range(ndim - rank - 1, ndim):
        if shape[dim] == 0:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got"
                f"{list(shape)} with dimension {dim} being empty."
            )
    lengths = shape[ndim - rank :]
    given = zip(_SIDES[-rank:], lengths, kernel, output_size, strict=True)
    for side, length, size, count in given:
        if count + size - 1 > length - (rank == 3):
            raise RuntimeError(
                f"{name}: pool {side} {size} too large relative to input {side} {length}"
            )
    wanted = (*shape[: ndim - rank], *output_size)
    for count in output_size:
        if count < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {count}: {list(wanted)}"
            )
    _check_samples(shape, rank, samples)


def _check_samples(shape: Shape, rank: int, samples: ndarray) -> None:
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = shape[0] if len(shape) == rank + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != shape[len(shape) - rank - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != rank:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {rank}; got {samples.shape[2]}."
        )


def _pooled(
    array: ndarray, rank: int, kernel: Shape, output_size: Shape, samples: ndarray
) -> tuple[ndarray, ndarray]:
    """Find the largest elements and their places, one place of the windows after the other."""
    _check(array.shape, rank, kernel, output_size, samples)
    require_dtype(f"fractional_max_pool{rank}d_out_frame", array, FLOATS)
    lead, lengths = array.shape[: array.ndim - rank], array.shape[array.ndim - rank :]
    batch = lead[0] if len(lead) == 2 else 1
    numbers = samples[:batch].reshape(*lead, rank)
    if rank == 2:
        numbers = numbers[..., ::-1]  # the first sample is for the width
    starts = np.zeros((*lead, *output_size), np.int64)
    for dim, (length, count, size) in enumerate(zip(lengths, output_size, kernel, strict=True)):
        along = _starts(numbers[..., dim], length, count, size)
        shape = (*lead, *[count if dim == other else 1 for other in range(rank)])
        starts = starts * length + along.reshape(shape)
    values = np.full(starts.shape, lowest(array.dtype), array.dtype)
    places = starts.copy()
    flat = row_major(array).reshape(-1)
    for tap in np.ndindex(*[max(size, 0) for size in kernel]):
        offset = int(np.ravel_multi_index(tap, lengths))
        at = starts + offset
        found = flat.take(flat_places(at, rank, int(np.prod(lengths)))).reshape(at.shape)
        larger = (found > values) | np.isnan(found)
        np.copyto(values, found, where=larger)
        np.copyto(places, at, where=larger)
    return values, places


# --- the operators ---------------------------------------------------------------------------


@op(
    name="fractional_max_pool2d",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    upcast=True,
    unpromoted=("random_samples",),
    public=False,
    method=False,
)
def fractional2d(
    self: Array, kernel_size: Shape, output_size: Shape, random_samples: Array
) -> tuple[Array, Array]:
    """Find the largest elements of windows at random distances, and their places in the plane."""
    return _pooled(self, 2, kernel_size, output_size, random_samples)


@derivative(fractional2d, wrt="self")
def fractional2d_self(grad, self, kernel_size, output_size, result1):
    return fractional_max_pool2d_backward(grad, self, kernel_size, output_size, result1)


@tangent_of(fractional2d)
def fractional2d_tangent(self_t, result1):
    return at_indices(self_t, result1, 2), None


@op(tangent=LINEAR, upcast=True, unpromoted=("indices",), public=False, method=False)
def fractional_max_pool2d_backward(
    grad_output: Array, self: Array, kernel_size: Shape, output_size: Shape, indices: Array
) -> Array:
    """Make zeros in the shape of `self`; add the gradient where the largest elements are."""
    return added_at(grad_output, indices, 2, self.shape)


@derivative(fractional_max_pool2d_backward, wrt="grad_output")
def fractional_max_pool2d_backward_grad(grad, indices):
    return at_indices(grad, indices, 2)


@derivative(fractional_max_pool2d_backward, wrt="self")
def fractional_max_pool2d_backward_self(grad):
    return zeros_like(grad)


@op(
    name="fractional_max_pool3d",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    upcast=True,
    unpromoted=("random_samples",),
    public=False,
    method=False,
)
def fractional3d(
    self: Array, kernel_size: Shape, output_size: Shape, random_samples: Array
) -> tuple[Array, Array]:
    """Find the largest elements of windows at random distances, and their places in the volume."""
    return _pooled(self, 3, kernel_size, output_size, random_samples)


@derivative(fractional3d, wrt="self")
def fractional3d_self(grad, self, kernel_size, output_size, result1):
    return fractional_max_pool3d_backward(grad, self, kernel_size, output_size, result1)


@tangent_of(fractional3d)
def fractional3d_tangent(self_t, result1):
    return at_indices(self_t, result1, 3), None


@op(tangent=LINEAR, upcast=True, unpromoted=("indices",), public=False, method=False)
def fractional_max_pool3d_backward(
    grad_output: Array, self: Array, kernel_size: Shape, output_size: Shape, indices: Array
) -> Array:
    """Make zeros in the shape of `self`; add the gradient where the largest elements are."""
    return added_at(grad_output, indices, 3, self.shape)


@derivative(fractional_max_pool3d_backward, wrt="grad_output")
def fractional_max_pool3d_backward_grad(grad, indices):
    return at_indices(grad, indices, 3)


@derivative(fractional_max_pool3d_backward, wrt="self")
def fractional_max_pool3d_backward_self(grad):
    return zeros_like(grad)


# --- the functions ---------------------------------------------------------------------------


def _output_size(input: Any, rank: int, output_size: Any, output_ratio: Any) -> Any:
    """Return the number of windows along each dimension, given or as a part of the length."""
    if output_size is not None:
        return output_size
    if output_ratio is None:
        raise ValueError(
            f"fractional_max_pool{rank}d requires specifying either an output_size or an "
            "output_ratio"
        )
    if rank == 3 and isinstance(output_ratio, (int, float)):
        output_ratio = (output_ratio,) * 3
    if rank == 2 and len(output_ratio) > 2:
        raise ValueError(
            "fractional_max_pool2d requires output_ratio to either be a single Int or tuple of "
            "Ints."
        )
    return [int(input.size(dim - rank) * output_ratio[dim]) for dim in range(rank)]


def _fractional(
    rank: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{rank}d"
    ndim = input.dim()
    wanted = _output_size(input, rank, output_size, output_ratio)
    if samples is None:
        batch = 1 if ndim == rank + 1 else input.size(0)
        channels = input._array.shape[wrap_dim(-rank - 1, ndim)]
        samples = rand(batch, channels, rank, dtype=input.dtype)
    kernel = whole_numbers(name, "kernel_size", 2, kernel_size, rank)
    sizes = whole_numbers(name, "output_size", 3, wanted, rank)
    words = "Ints" if rank == 2 else "three Ints"
    for label, numbers in (("kernel_size", kernel), ("output_size", sizes)):
        if len(numbers) != rank:
            raise RuntimeError(f"{name}: {label} must either be a single Int or tuple of {words}")
    return fractional_by_samples(rank, input, kernel, sizes, samples)


def fractional_by_samples(
    rank: int, input: Tensor, kernel: Shape, sizes: Shape, samples: Tensor
) -> tuple[Tensor, Tensor]:
    """Find the maxima of windows whose places `samples` decides, and their places."""
    name = f"fractional_max_pool{rank}d"
    if local.state.mode == 0 and requires_grad(samples):
        raise RuntimeError(
            f"The function '{name}' is not differentiable with respect to argument "
            "'random_samples'. This input cannot have requires_grad True."
        )
    if samples._array.ndim == 3 and samples._array.dtype != input._array.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    found: tuple[Tensor, Tensor]
    found = (fractional2d if rank == 2 else fractional3d)(input, kernel, sizes, samples)
    return found


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows at random distances, and their indices.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size of a window, a number or a pair.
        output_size: number of windows, one for both or a pair.
        output_ratio: pair of numbers in (0, 1) that multiply H and W, instead of `output_size`.
        return_indices: has no effect.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 2).

    Returns: the elements and their indices in the plane, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool2d_with_indices(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
        (tensor([[[3.]]]), tensor([[[3]]]))
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Take the largest elements of windows at random distances, and their indices.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size of a window, a number or a triple.
        output_size: number of windows, one for all or a triple.
        output_ratio: triple of numbers in (0, 1) that multiply D, H and W, instead of
            `output_size`.
        return_indices: has no effect.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 3).

    Returns: the elements and their indices in the volume, both (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool3d_with_indices(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
        (tensor([[[[26.]]]]), tensor([[[[26]]]]))
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


@composite(method=False, public=False)
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Take the largest elements of windows at random distances in the last two dimensions.

    Args:
        input: a tensor (N, C, H, W) or (C, H, W).
        kernel_size: size of a window, a number or a pair.
        output_size: number of windows, one for both or a pair.
        output_ratio: pair of numbers in (0, 1) that multiply H and W, instead of `output_size`.
        return_indices: also return where the largest elements are, counted in the plane.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 2).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool2d(taper.arange(4.0).reshape(1, 2, 2), 2, 1)
        tensor([[[3.]]])
    """
    found = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


@composite(method=False, public=False)
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Take the largest elements of windows at random distances in the last three dimensions.

    Args:
        input: a tensor (N, C, D, H, W) or (C, D, H, W).
        kernel_size: size of a window, a number or a triple.
        output_size: number of windows, one for all or a triple.
        output_ratio: triple of numbers in (0, 1) that multiply D, H and W, instead of
            `output_size`.
        return_indices: also return where the largest elements are, counted in the volume.
        _random_samples: numbers in [0, 1) that decide the distances, (N, C, 3).

    Shape: (N, C, *output_size).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.fractional_max_pool3d(taper.arange(27.0).reshape(1, 3, 3, 3), 2, 1)
        tensor([[[[26.]]]])
    """
    found = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]
