"""Arrays made larger or smaller by copying the nearest elements; what all modes share.

Owns: the computation, a linear map along each dimension (`Resampling`) and backwards its transpose,
and the operators of the modes "nearest" and "nearest-exact" for each rank. Modes that interpolate
are in `smooth`, the function `interpolate` is in `interpolate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from taper.arrays.interpolation import nearest
from taper.arrays.layouts import laid_out_like
from taper.arrays.resampling import Resampling, resampled
from taper.arrays.strides import Shape
from taper.opdef import LINEAR, Array, derivative, op
from taper.ops.pool.checks import FLOATS, require_dtype

Scale: TypeAlias = float | None
MakeMap: TypeAlias = Callable[[int, int, Any, str], Resampling]

# --- the computation -------------------------------------------------------------------------


def _check(shape: Shape, lengths: Shape, output_size: Shape) -> None:
    rank = len(output_size)
    if min(lengths) <= 0 or min(output_size) <= 0:
        letters = "DHW"[-rank:]
        given, wanted = (
            "(" + ", ".join(f"{a}: {n}" for a, n in zip(letters, each, strict=True)) + ")"
            for each in (lengths, output_size)
        )
        joint = " and" if rank == 1 else ""
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{given}{joint} output {wanted}"
        )
    if 0 in shape[1:]:
        raise RuntimeError(
            f"Non-empty {rank + 2}D data tensor expected but got a tensor with sizes {list(shape)}"
        )


def _maps(
    make: MakeMap, lengths: Shape, counts: Shape, scales: Sequence[Scale], dtype: np.dtype
) -> list[Resampling]:
    kind: Any = "d" if dtype.kind == "u" else dtype  # bfloat16 has no letter
    given = zip(lengths, counts, scales, strict=True)
    return [make(length, count, scale, kind) for length, count, scale in given]


def upsampled(
    array: ndarray,
    kernel: str,
    allowed: Sequence[str],
    make: MakeMap,
    output_size: Shape,
    scales: Sequence[Scale],
) -> ndarray:
    lengths = array.shape[2:]
    _check(array.shape, lengths, output_size)
    require_dtype(kernel, array, allowed)
    maps = _maps(make, lengths, output_size, scales, array.dtype)
    if array.dtype == np.uint8 and maps[0].entries[2] is not None:
        result = _in_whole_numbers(array, maps)
    else:
        result = resampled(array, maps)
    return laid_out_like(result, array)


def AS_GRADIENT(result: Any, given: Sequence[Any]) -> Any:
    """Channels last where the gradient that comes in has them so."""
    return laid_out_like(result, given[0])


def transposed(grad: ndarray, make: MakeMap, input_size: Shape, scales: Sequence[Scale]) -> ndarray:
    maps = _maps(make, input_size[2:], grad.shape[2:], scales, grad.dtype)
    return resampled(grad, [each.transposed() for each in maps])


def _in_whole_numbers(array: ndarray, maps: Sequence[Resampling]) -> ndarray:
    """Resample bytes with 16-bit integer weights, rounding after each dimension, the last first."""
    for number, each in enumerate(reversed(maps), 1):
        weights = each.matrix(np.dtype(np.float64))
        largest = float(weights.max())
        bits = 0
        while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
            bits += 1
        whole = np.trunc(weights * (1 << bits) + np.copysign(0.5, weights))
        moved = np.moveaxis(array, -number, -1).astype(np.float64)
        sums = np.matmul(moved, whole.T) + (1 << (bits - 1))
        array = np.clip(np.floor(sums / (1 << bits)), 0, 255).astype(np.uint8)
        array = np.moveaxis(array, -1, -number)
    return np.ascontiguousarray(array)


WITH_BYTES = (*FLOATS, "uint8")


def _nearest(length: int, count: int, scale: Scale, kind: str) -> Resampling:
    return nearest(length, count, scale, False)


def _nearest_exact(length: int, count: int, scale: Scale, kind: str) -> Resampling:
    return nearest(length, count, scale, True)


def _nearest_kernel(rank: int) -> str:
    return "upsample_nearest2d_channels_last" if rank == 2 else "compute_indices_weights_nearest"


# --- copies of the nearest element -----------------------------------------------------------


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest1d(
    self: Array,
    output_size: Shape,
    scales: Scale = None,
) -> Array:
    """Copy the nearest elements in one dimension."""
    return upsampled(self, _nearest_kernel(1), WITH_BYTES, _nearest, output_size, (scales,))


@derivative(upsample_nearest1d, wrt="self")
def upsample_nearest1d_self(grad, self_shape, output_size, scales):
    return upsample_nearest1d_backward(grad, output_size, self_shape, scales)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest1d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    scales: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _nearest, input_size, (scales,))


@derivative(upsample_nearest1d_backward, wrt="grad_output")
def upsample_nearest1d_backward_grad(grad, output_size, scales):
    return upsample_nearest1d(grad, output_size, scales)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest2d(
    self: Array,
    output_size: Shape,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Copy the nearest elements in two dimensions."""
    return upsampled(
        self, _nearest_kernel(2), WITH_BYTES, _nearest, output_size, (scales_h, scales_w)
    )


@derivative(upsample_nearest2d, wrt="self")
def upsample_nearest2d_self(grad, self_shape, output_size, scales_h, scales_w):
    return upsample_nearest2d_backward(grad, output_size, self_shape, scales_h, scales_w)


@op(tangent=LINEAR, upcast=True, public=False, method=False, layout=AS_GRADIENT)
def upsample_nearest2d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _nearest, input_size, (scales_h, scales_w))


@derivative(upsample_nearest2d_backward, wrt="grad_output")
def upsample_nearest2d_backward_grad(grad, output_size, scales_h, scales_w):
    return upsample_nearest2d(grad, output_size, scales_h, scales_w)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest3d(
    self: Array,
    output_size: Shape,
    scales_d: Scale = None,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Copy the nearest elements in three dimensions."""
    return upsampled(
        self, _nearest_kernel(3), WITH_BYTES, _nearest, output_size, (scales_d, scales_h, scales_w)
    )


@derivative(upsample_nearest3d, wrt="self")
def upsample_nearest3d_self(grad, self_shape, output_size, scales_d, scales_h, scales_w):
    return upsample_nearest3d_backward(grad, output_size, self_shape, scales_d, scales_h, scales_w)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest3d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    scales_d: Scale,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _nearest, input_size, (scales_d, scales_h, scales_w))


@derivative(upsample_nearest3d_backward, wrt="grad_output")
def upsample_nearest3d_backward_grad(grad, output_size, scales_d, scales_h, scales_w):
    return upsample_nearest3d(grad, output_size, scales_d, scales_h, scales_w)


@op(name="_upsample_nearest_exact1d", tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest_exact1d(
    self: Array,
    output_size: Shape,
    scales: Scale = None,
) -> Array:
    """Copy the nearest elements in one dimension, measured from their middles."""
    return upsampled(self, _nearest_kernel(1), WITH_BYTES, _nearest_exact, output_size, (scales,))


@derivative(upsample_nearest_exact1d, wrt="self")
def upsample_nearest_exact1d_self(grad, self_shape, output_size, scales):
    return upsample_nearest_exact1d_backward(grad, output_size, self_shape, scales)


@op(
    name="_upsample_nearest_exact1d_backward",
    tangent=LINEAR,
    upcast=True,
    public=False,
    method=False,
)
def upsample_nearest_exact1d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    scales: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _nearest_exact, input_size, (scales,))


@derivative(upsample_nearest_exact1d_backward, wrt="grad_output")
def upsample_nearest_exact1d_backward_grad(grad, output_size, scales):
    return upsample_nearest_exact1d(grad, output_size, scales)


@op(name="_upsample_nearest_exact2d", tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest_exact2d(
    self: Array,
    output_size: Shape,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Copy the nearest elements in two dimensions, measured from their middles."""
    return upsampled(
        self, _nearest_kernel(2), WITH_BYTES, _nearest_exact, output_size, (scales_h, scales_w)
    )


@derivative(upsample_nearest_exact2d, wrt="self")
def upsample_nearest_exact2d_self(grad, self_shape, output_size, scales_h, scales_w):
    return upsample_nearest_exact2d_backward(grad, output_size, self_shape, scales_h, scales_w)


@op(
    name="_upsample_nearest_exact2d_backward",
    tangent=LINEAR,
    upcast=True,
    public=False,
    method=False,
    layout=AS_GRADIENT,
)
def upsample_nearest_exact2d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _nearest_exact, input_size, (scales_h, scales_w))


@derivative(upsample_nearest_exact2d_backward, wrt="grad_output")
def upsample_nearest_exact2d_backward_grad(grad, output_size, scales_h, scales_w):
    return upsample_nearest_exact2d(grad, output_size, scales_h, scales_w)


@op(name="_upsample_nearest_exact3d", tangent=LINEAR, upcast=True, public=False, method=False)
def upsample_nearest_exact3d(
    self: Array,
    output_size: Shape,
    scales_d: Scale = None,
    scales_h: Scale = None,
    scales_w: Scale = None,
) -> Array:
    """Copy the nearest elements in three dimensions, measured from their middles."""
    return upsampled(
        self,
        _nearest_kernel(3),
        WITH_BYTES,
        _nearest_exact,
        output_size,
        (scales_d, scales_h, scales_w),
    )


@derivative(upsample_nearest_exact3d, wrt="self")
def upsample_nearest_exact3d_self(grad, self_shape, output_size, scales_d, scales_h, scales_w):
    return upsample_nearest_exact3d_backward(
        grad, output_size, self_shape, scales_d, scales_h, scales_w
    )


@op(
    name="_upsample_nearest_exact3d_backward",
    tangent=LINEAR,
    upcast=True,
    public=False,
    method=False,
)
def upsample_nearest_exact3d_backward(
    grad_output: Array,
    output_size: Shape,
    input_size: Shape,
    scales_d: Scale,
    scales_h: Scale,
    scales_w: Scale,
) -> Array:
    """Compute what each element gets from those that were made of it."""
    return transposed(grad_output, _nearest_exact, input_size, (scales_d, scales_h, scales_w))


@derivative(upsample_nearest_exact3d_backward, wrt="grad_output")
def upsample_nearest_exact3d_backward_grad(grad, output_size, scales_d, scales_h, scales_w):
    return upsample_nearest_exact3d(grad, output_size, scales_d, scales_h, scales_w)
