"""Tensors with a border of their own elements: `reflection_pad1d/2d/3d`, `replication_pad1d/2d/3d`.

Owns: these operators and their gradients.  The function `pad` is in `padding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import laid_out_like
from taper.arrays.strides import Shape
from taper.arrays.windows import at, row_major
from taper.opdef import LINEAR, Array, derivative, op
from taper.ops.elementwise.unary import zeros_like
from taper.ops.pool.checks import NUMBERS, require_dtype

_DTYPES = (*NUMBERS, "complex64", "complex128")
_BACKWARDS = slice(None, None, -1)

# --- the computation -------------------------------------------------------------------------


def _pairs(padding: Shape, ndim: int) -> list[tuple[int, int, int]]:
    """List (dimension, width in front, width behind) from the last dimension on."""
    return [
        (ndim - 1 - number, padding[2 * number], padding[2 * number + 1])
        for number in range(len(padding) // 2)
    ]


def _check(array: ndarray, padding: Shape, reflecting: bool) -> None:
    shape, ndim, rank = array.shape, array.ndim, len(padding) // 2
    if ndim not in (rank + 1, rank + 2) or 0 in shape[ndim - rank - 1 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(shape)}"
        )
    pairs = _pairs(padding, ndim)
    for number, (dim, front, back) in enumerate(pairs):
        if reflecting and (front >= shape[dim] or back >= shape[dim]):
            raise RuntimeError(
                f"Argument #{4 + 2 * number}: Padding size should be less than the corresponding "
                f"input dimension, but got: padding ({front}, {back}) at dimension {dim} of input "
                f"{list(shape)}"
            )
    wanted = list(shape)
    for dim, front, back in pairs:
        wanted[dim] += front + back
    if all(wanted[dim] < 1 for dim, _, _ in pairs):
        letters = "DHW"[3 - rank :]
        given, found = (
            [f"{a}: {n}" for a, n in zip(letters, each, strict=True)]
            for each in (shape[ndim - rank :], wanted[ndim - rank :])
        )
        before = ", ".join([" ".join(given[:-1]), given[-1]] if rank > 1 else given)
        space = " " if rank == 2 and not reflecting else ""  # as in PyTorch
        raise RuntimeError(
            f"input ({before}{space}) is too small. Calculated output {' '.join(found)}"
        )
    for length in wanted:
        if length < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {length}: {wanted}"
            )
    name = "reflection" if reflecting else "replication"
    require_dtype(f"{name}_pad{rank}d", array, _DTYPES)


def _places(length: int, front: int, back: int, reflecting: bool) -> ndarray:
    """Find which element each place along a padded dimension shows; widths may be negative."""
    places = np.arange(-front, length + back)
    if not reflecting:
        return np.clip(places, 0, length - 1)
    places = np.abs(places)
    return np.where(places >= length, 2 * (length - 1) - places, places)


def _bordered(array: ndarray, padding: Shape, reflecting: bool) -> ndarray:
    _check(array, padding, reflecting)
    pairs = _pairs(padding, array.ndim)
    if min(padding) < 0:
        result = array
        for dim, front, back in pairs:
            result = result.take(_places(array.shape[dim], front, back, reflecting), dim)
        return laid_out_like(result, array)
    shape, inner = list(array.shape), [slice(None)] * array.ndim
    for dim, front, back in pairs:
        inner[dim] = slice(front, front + shape[dim])
        shape[dim] += front + back
    result = np.empty(shape, array.dtype)
    result[tuple(inner)] = array
    for dim, front, back in pairs:
        end = front + array.shape[dim]
        if front:
            source = slice(front + 1, 2 * front + 1) if reflecting else slice(front, front + 1)
            result[at(dim, slice(front))] = _turned(result[at(dim, source)], dim, reflecting)
        if back:
            source = slice(end - 1 - back, end - 1) if reflecting else slice(end - 1, end)
            result[at(dim, slice(end, None))] = _turned(result[at(dim, source)], dim, reflecting)
    return laid_out_like(result, array)


def _turned(part: ndarray, dim: int, reflecting: bool) -> ndarray:
    return part[at(dim, _BACKWARDS)] if reflecting else part


def _backward(grad: ndarray, array: ndarray, padding: Shape, reflecting: bool) -> ndarray:
    """Add what lies in the border to where it came from."""
    if min(padding) < 0:
        return laid_out_like(_backward_by_places(grad, array.shape, padding, reflecting), array)
    work = row_major(grad).copy()
    for dim, front, back in reversed(_pairs(padding, array.ndim)):
        end = front + array.shape[dim]
        if front:
            border = work[at(dim, slice(front))]
            target = slice(front + 1, 2 * front + 1) if reflecting else slice(front, front + 1)
            work[at(dim, target)] += _folded(border, dim, reflecting)
        if back:
            border = work[at(dim, slice(end, None))]
            target = slice(end - 1 - back, end - 1) if reflecting else slice(end - 1, end)
            work[at(dim, target)] += _folded(border, dim, reflecting)
        work = work[at(dim, slice(front, end))]
    return laid_out_like(np.ascontiguousarray(work), array)


def _folded(border: ndarray, dim: int, reflecting: bool) -> Any:
    return border[at(dim, _BACKWARDS)] if reflecting else border.sum(dim, keepdims=True)


def _backward_by_places(grad: ndarray, shape: Shape, padding: Shape, reflecting: bool) -> ndarray:
    for dim, front, back in reversed(_pairs(padding, grad.ndim)):
        places = _places(shape[dim], front, back, reflecting)
        moved = np.moveaxis(grad, dim, 0)
        result = np.zeros((shape[dim], *moved.shape[1:]), grad.dtype)
        np.add.at(result, places, moved)
        grad = np.moveaxis(result, 0, dim)
    return np.ascontiguousarray(grad)


# --- the operators ---------------------------------------------------------------------------


@op(tangent=LINEAR, public=False, method=False)
def reflection_pad1d(self: Array, padding: Shape) -> Array:
    """Add a border that mirrors the last dimension."""
    return _bordered(self, padding, True)


@derivative(reflection_pad1d, wrt="self")
def reflection_pad1d_self(grad, self, padding):
    return reflection_pad1d_backward(grad, self, padding)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def reflection_pad1d_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    """Add what lies in the border to where it came from."""
    return _backward(grad_output, self, padding, True)


@derivative(reflection_pad1d_backward, wrt="grad_output")
def reflection_pad1d_backward_grad(grad, padding):
    return reflection_pad1d(grad, padding)


@derivative(reflection_pad1d_backward, wrt="self")
def reflection_pad1d_backward_self(grad):
    return zeros_like(grad)


@op(tangent=LINEAR, public=False, method=False)
def reflection_pad2d(self: Array, padding: Shape) -> Array:
    """Add a border that mirrors the last two dimensions."""
    return _bordered(self, padding, True)


@derivative(reflection_pad2d, wrt="self")
def reflection_pad2d_self(grad, self, padding):
    return reflection_pad2d_backward(grad, self, padding)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def reflection_pad2d_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    """Add what lies in the border to where it came from."""
    return _backward(grad_output, self, padding, True)


@derivative(reflection_pad2d_backward, wrt="grad_output")
def reflection_pad2d_backward_grad(grad, padding):
    return reflection_pad2d(grad, padding)


@derivative(reflection_pad2d_backward, wrt="self")
def reflection_pad2d_backward_self(grad):
    return zeros_like(grad)


@op(tangent=LINEAR, public=False, method=False)
def reflection_pad3d(self: Array, padding: Shape) -> Array:
    """Add a border that mirrors the last three dimensions."""
    return _bordered(self, padding, True)


@derivative(reflection_pad3d, wrt="self")
def reflection_pad3d_self(grad, self, padding):
    return reflection_pad3d_backward(grad, self, padding)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def reflection_pad3d_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    """Add what lies in the border to where it came from."""
    return _backward(grad_output, self, padding, True)


@derivative(reflection_pad3d_backward, wrt="grad_output")
def reflection_pad3d_backward_grad(grad, padding):
    return reflection_pad3d(grad, padding)


@derivative(reflection_pad3d_backward, wrt="self")
def reflection_pad3d_backward_self(grad):
    return zeros_like(grad)


@op(tangent=LINEAR, public=False, method=False)
def replication_pad1d(self: Array, padding: Shape) -> Array:
    """Add a border that repeats the edge of the last dimension."""
    return _bordered(self, padding, False)


@derivative(replication_pad1d, wrt="self")
def replication_pad1d_self(grad, self, padding):
    return replication_pad1d_backward(grad, self, padding)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def replication_pad1d_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    """Add what lies in the border to where it came from."""
    return _backward(grad_output, self, padding, False)


@derivative(replication_pad1d_backward, wrt="grad_output")
def replication_pad1d_backward_grad(grad, padding):
    return replication_pad1d(grad, padding)


@derivative(replication_pad1d_backward, wrt="self")
def replication_pad1d_backward_self(grad):
    return zeros_like(grad)


@op(tangent=LINEAR, public=False, method=False)
def replication_pad2d(self: Array, padding: Shape) -> Array:
    """Add a border that repeats the edge of the last two dimensions."""
    return _bordered(self, padding, False)


@derivative(replication_pad2d, wrt="self")
def replication_pad2d_self(grad, self, padding):
    return replication_pad2d_backward(grad, self, padding)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def replication_pad2d_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    """Add what lies in the border to where it came from."""
    return _backward(grad_output, self, padding, False)


@derivative(replication_pad2d_backward, wrt="grad_output")
def replication_pad2d_backward_grad(grad, padding):
    return replication_pad2d(grad, padding)


@derivative(replication_pad2d_backward, wrt="self")
def replication_pad2d_backward_self(grad):
    return zeros_like(grad)


@op(tangent=LINEAR, public=False, method=False)
def replication_pad3d(self: Array, padding: Shape) -> Array:
    """Add a border that repeats the edge of the last three dimensions."""
    return _bordered(self, padding, False)


@derivative(replication_pad3d, wrt="self")
def replication_pad3d_self(grad, self, padding):
    return replication_pad3d_backward(grad, self, padding)


@op(tangent=LINEAR, upcast=True, public=False, method=False)
def replication_pad3d_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    """Add what lies in the border to where it came from."""
    return _backward(grad_output, self, padding, False)


@derivative(replication_pad3d_backward, wrt="grad_output")
def replication_pad3d_backward_grad(grad, padding):
    return replication_pad3d(grad, padding)


@derivative(replication_pad3d_backward, wrt="self")
def replication_pad3d_backward_self(grad):
    return zeros_like(grad)
