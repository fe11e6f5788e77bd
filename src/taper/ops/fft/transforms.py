"""The three Fourier transforms under all of `fft`: complex to complex, real to complex and back.

Owns: the operators. `dim` is a tuple of dimensions counted from the front, `normalization` is 0 for
none, 1 for the root of the number of points, 2 for that number. The memory of a result is laid out
as PyTorch's: the transformed dimensions innermost.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from taper.opdef import LINEAR, Array, derivative, op
from taper.ops.shape.parts import slice_backward

Dims: TypeAlias = tuple[int, ...]

# NumPy's words for `normalization`; it counts from what undoes the other direction.
_FORWARD: Any = ("backward", "ortho", "forward")
_INVERSE: Any = ("forward", "ortho", "backward")


def _inward(array: ndarray, dim: Dims, keep_last: bool) -> tuple[ndarray, list[int]]:
    """Copy with the dimensions `dim` innermost, in one piece; also return their order.

    Apart from that, and from the last of `dim` where half of it is left out, larger strides come
    first.
    """
    strides = [-step for step in array.strides]
    rest = _others(array.ndim, dim)
    first, last = (list(dim[:-1]), list(dim[-1:])) if keep_last else (list(dim), [])
    order = sorted(rest, key=strides.__getitem__) + sorted(first, key=strides.__getitem__) + last
    return np.ascontiguousarray(array.transpose(order)), order


def _others(count: int, dim: Dims) -> list[int]:
    """Return the dimensions beside `dim`, the last ones in the places of `dim` among them.

    So PyTorch parts the two kinds, and of equal strides the first comes first.
    """
    rest, last = [], count
    for each in range(count):
        if each in dim:
            last -= 1
            while last > each and last in dim:
                last -= 1
        if each >= last:
            break
        rest.append(last if each in dim else each)
    return rest


def _outward(array: ndarray, order: list[int], dtype: str) -> ndarray:
    """Undo `_inward`; NumPy's transforms keep the precision of their input."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return array.astype(dtype, copy=False).transpose(back)


def _axes(count: int) -> tuple[int, ...]:
    return tuple(range(-count, 0))


@op(name="_fft_c2c", tangent=LINEAR, public=False, method=False)
def fft_c2c(self: Array, dim: tuple[int, ...], normalization: int, forward: bool) -> Array:
    """Transform complex numbers, or undo that."""
    if not dim:
        return self.copy()
    inner, order = _inward(self, dim, False)
    norm = (_FORWARD if forward else _INVERSE)[normalization]
    transform: Any = np.fft.fftn if forward else np.fft.ifftn
    with np.errstate(invalid="ignore"):
        found = transform(inner, axes=_axes(len(dim)), norm=norm)
    return _outward(found, order, self.dtype.char)


@derivative(fft_c2c, wrt="self")
def fft_c2c_self(grad, dim, normalization, forward):
    return fft_c2c(grad, dim, normalization, not forward)


@op(name="_fft_r2c", tangent=LINEAR, public=False, method=False)
def fft_r2c(self: Array, dim: tuple[int, ...], normalization: int, onesided: bool) -> Array:
    """Transform real numbers; `onesided` leaves out what is the conjugate of the rest."""
    inner, order = _inward(self, dim, True)
    transform: Any = np.fft.rfftn if onesided else np.fft.fftn
    with np.errstate(invalid="ignore"):
        found = transform(inner, axes=_axes(len(dim)), norm=_FORWARD[normalization])
    return _outward(found, order, "F" if self.dtype.char == "f" else "D")


@derivative(fft_r2c, wrt="self")
def fft_r2c_self(grad, self, dim, normalization, onesided):
    if onesided:
        last = dim[-1]
        grad = slice_backward(grad, tuple(self.shape), last, 0, grad.shape[last], 1)
    return fft_c2c(grad, dim, normalization, False).real


@op(name="_fft_c2r", tangent=LINEAR, public=False, method=False)
def fft_c2r(self: Array, dim: tuple[int, ...], normalization: int, last_dim_size: int) -> Array:
    """Undo the transform of real numbers, of which one half, the conjugate, is missing.

    The sign of the exponent does not change the result's size: it is real.
    """
    inner, order = _inward(self, dim, True)
    norm = _INVERSE[normalization]
    with np.errstate(invalid="ignore"):
        if len(dim) > 1:
            axes = tuple(range(-len(dim), -1))
            inner = np.fft.ifftn(inner, axes=axes, norm=norm)
        found = np.fft.irfft(inner, last_dim_size, norm=norm)
    return _outward(found, order, "f" if self.dtype.char == "F" else "d")


@derivative(fft_c2r, wrt="self")
def fft_c2r_self(grad, dim, normalization):
    found = fft_r2c(grad, dim, normalization, True)
    last = dim[-1]
    return doubled_inside(found, last, grad.shape[last] - found.shape[last])


@op(name="_fft_doubled", tangent=LINEAR, public=False, method=False)
def doubled_inside(self: Array, dim: int, length: int) -> Array:
    """Double the elements 1 to `length` along a dimension: those whose conjugates were left out."""
    result = self.copy()
    result[(slice(None),) * dim + (slice(1, 1 + length),)] *= 2
    return result


@derivative(doubled_inside, wrt="self")
def doubled_inside_self(grad, dim, length):
    return doubled_inside(grad, dim, length)
