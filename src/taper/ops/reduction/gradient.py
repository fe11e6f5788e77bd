"""gradient: the slope of sampled functions, by finite differences along each dimension."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from taper import dtypes
from taper.arrays.strides import wrap_dim
from taper.factory import refuse
from taper.opdef import composite
from taper.ops.elementwise.number import div_scalar, mul_scalar
from taper.ops.shape.join import cat
from taper.ops.shape.parts import select_at, slice_dim
from taper.ops.shape.reshape import view_as_shape
from taper.tensor import Tensor

_SIGNATURES = """
 * (Tensor input, *, tuple of ints dim, int edge_order = 1)
 * (Tensor input, *, Number spacing, tuple of ints dim, int edge_order = 1)
 * (Tensor input, *, Number spacing = None, int dim = None, int edge_order = 1)
 * (Tensor input, *, tuple of Scalars spacing, int dim = None, int edge_order = 1)
 * (Tensor input, *, tuple of Scalars spacing, tuple of ints dim, int edge_order = 1)
 * (Tensor input, *, tuple of Tensors spacing, int dim = None, int edge_order = 1)
 * (Tensor input, *, tuple of Tensors spacing, tuple of ints dim, int edge_order = 1)
"""


@composite(method=False, numpy_names=True)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimate the slope along each dimension, or along those of `dim`, from neighbours.

    `spacing` is the distance of neighbours: a number, one for each dimension, or for each a tensor
    of coordinates. At the edges `edge_order` 1 or 2 is the order of the error.

    >>> import taper
    >>> taper.gradient(taper.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    if not isinstance(input, Tensor):
        refuse("gradient", "input", 1, "Tensor", input)
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    steps = _steps(input, spacing, dims, dim is not None)
    _check(input, dims, edge_order)
    return tuple(
        _by_coordinates(input, each, step, edge_order)
        if isinstance(step, Tensor)
        else _by_distance(input, each, step, edge_order)
        for each, step in zip(dims, steps, strict=True)
    )


def _steps(input: Tensor, spacing: Any, dims: Sequence[int], chosen: bool) -> Sequence[Any]:
    """Return the distance or the coordinates for each dimension."""
    if spacing is None:
        spacing = 1.0
    elif isinstance(spacing, Tensor) and spacing.ndim == 0:
        spacing = spacing.item()
    if isinstance(spacing, numbers.Number):
        return [spacing] * len(dims)
    if not isinstance(spacing, (tuple, list)):
        raise TypeError(
            "gradient() received an invalid combination of arguments - got (Tensor, "
            f"spacing={type(spacing).__name__}), but expected one of:{_SIGNATURES}"
        )
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            "arguments to have the same length, but got a spacing argument of length "
            f"{len(spacing)} and a dim argument of length {len(dims)}."
            if chosen
            else "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {input.ndim}', since dim argument was not given, but got a "
            f"list of length {len(spacing)}"
        )
    for number, each in enumerate(spacing):
        if isinstance(each, Tensor) and each.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got "
                f"an element with {each.ndim} dimensions!"
            )
        if isinstance(spacing[-1], Tensor) and not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 1, but got {type(each).__name__}"
            )
    return spacing


def _check(input: Tensor, dims: Sequence[int], edge_order: int) -> None:
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    found: list[int] = []
    for each in dims:
        dim = wrap_dim(each, input.ndim)
        if dim in found:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        found.append(dim)
        if input.shape[dim] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )


def _by_distance(input: Any, dim: int, step: Any, edge_order: int) -> Any:
    """Compute the slope of samples at equal distances."""

    def part(start: int, end: int | None) -> Any:
        return slice_dim(input, dim, start, end)

    inner = div_scalar(_divided(part(2, None) - part(0, -2), step), 2)
    if edge_order == 1:
        first = part(1, 2) - part(0, 1)
        last = part(-1, None) - part(-2, -1)
    else:
        start = _times(part(0, 1), -1.5) + _times(part(1, 2), 2)
        first = start - _times(part(2, 3), 0.5)
        end = _times(part(-3, -2), 0.5) - _times(part(-2, -1), 2)
        last = end + _times(part(-1, None), 1.5)
    return cat([_divided(first, step), inner, _divided(last, step)], dim)


def _divided(value: Any, number: Any) -> Any:
    """Divide a tensor by a number with the node of PyTorch's C++, unless the dtype changes."""
    return div_scalar(value, number) if _keeps_dtype(value, number) else value / number


def _times(value: Any, number: Any) -> Any:
    """Multiply a tensor by a number, likewise."""
    return mul_scalar(value, number) if _keeps_dtype(value, number) else value * number


def _keeps_dtype(value: Any, number: Any) -> bool:
    dtype = value.dtype
    return dtype.is_complex or (dtype.is_floating_point and not isinstance(number, complex))


def _by_coordinates(input: Any, dim: int, coordinates: Any, edge_order: int) -> Any:
    """Compute the slope of samples at given places, by the parabola through three neighbours."""

    def part(start: int, end: int | None) -> Any:
        return slice_dim(input, dim, start, end)

    count = len(coordinates)
    apart = slice_dim(coordinates, 0, 1, count) - slice_dim(coordinates, 0, 0, count - 1)
    before, after = slice_dim(apart, 0, 0, -1), slice_dim(apart, 0, 1)
    both = before + after
    shape = [1] * input.ndim
    shape[dim] = -1
    weights = (
        -after / (before * both),
        (after - before) / (before * after),
        before / (after * both),
    )
    left, middle, right = (view_as_shape(each, tuple(shape)) for each in weights)
    inner = left * part(0, -2) + middle * part(1, -1) + right * part(2, None)
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / select_at(apart, 0, 0)
        last = (part(-1, None) - part(-2, -1)) / select_at(apart, 0, -1)
    else:
        near, far, sum_ = _edge(apart, 0, 1)
        first = (
            -(_times(near, 2.0) + far) / (near * sum_) * part(0, 1)
            + sum_ / (near * far) * part(1, 2)
            + -near / (far * sum_) * part(2, 3)
        )
        near, far, sum_ = _edge(apart, -1, -2)
        last = (
            near / (far * sum_) * part(-3, -2)
            + -sum_ / (near * far) * part(-2, -1)
            + (_times(near, 2) + far) / (near * sum_) * part(-1, None)
        )
    return cat([first, inner, last], dim)


def _edge(apart: Any, nearest: int, next_one: int) -> tuple[Any, Any, Any]:
    near, far = select_at(apart, 0, nearest), select_at(apart, 0, next_one)
    return near, far, near + far
