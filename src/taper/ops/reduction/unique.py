"""Distinct elements: unique, unique_consecutive.

Results have nodes, but PyTorch has no derivative for them: backward raises.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from taper.arrays.elements import INT64
from taper.arrays.reduction import no_forward_mode
from taper.arrays.strides import wrap_dim
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.reduction.order import order_along
from taper.tensor import Tensor

_TRIPLE: Any = {
    "outputs": ("output", "inverse", "counts"),
    "nondifferentiable": (1, 2),
    "public": False,
    "method": False,
}


# --- kernels ---------------------------------------------------------------------------------


def _groups(fresh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number and count groups of equal neighbours, from flags at the first of each."""
    numbers = np.cumsum(fresh, dtype=INT64) - 1
    starts = np.flatnonzero(fresh)
    return numbers, np.diff(np.append(starts, fresh.size))


def _fresh_rows(rows: np.ndarray) -> np.ndarray:
    """Tell which rows differ from the one before; NaN differs from itself."""
    fresh = np.ones(len(rows), bool)
    if len(rows) > 1:
        fresh[1:] = (rows[1:] != rows[:-1]).reshape(len(rows) - 1, -1).any(1)
    return fresh


def _check_rows(array: np.ndarray, dim: int) -> int:
    if not array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, array.ndim)
    rest = array.shape[:axis] + array.shape[axis + 1 :]
    if 0 in rest:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return axis


@op(name="_unique2", node="Unique2Backward0", **_TRIPLE)
def unique_elements(self: Array) -> tuple[Array, Array, Array]:
    """Find the distinct elements in order, where each element is among them, and how often."""
    if self.dtype.kind == "c":
        raise no_kernel("unique", self.dtype)
    flat = self.reshape(-1)
    order = order_along(flat, 0, False)
    values = flat[order]
    fresh = _fresh_rows(values)
    numbers, counts = _groups(fresh)
    inverse = np.empty(flat.size, INT64)
    inverse[order] = numbers
    return values[fresh], inverse.reshape(self.shape), counts


_FEW_ROWS = 16  # as many as a C++ library sorts by insertion


def _row_order(rows: np.ndarray) -> np.ndarray:
    """Find the indices that sort rows, comparing first elements first.

    Few rows with NaN are ordered as in PyTorch, for which NaN equals any number.
    """
    if not len(rows) <= _FEW_ROWS or not (rows != rows).any():
        return np.lexsort(rows.T[::-1])
    order: list[int] = []
    for nr, row in enumerate(rows):
        place = nr
        if nr and _comes_before(row, rows[order[0]]):
            place = 0
        while place and _comes_before(row, rows[order[place - 1]]):
            place -= 1
        order.insert(place, nr)
    return np.array(order)


def _comes_before(row: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether a row is smaller where two rows first differ by being larger or smaller."""
    differing = np.flatnonzero((row < other) | (row > other))
    return differing.size > 0 and bool(row[differing[0]] < other[differing[0]])


@op(name="unique_dim", node="UniqueDimBackward0", **_TRIPLE)
def unique_slices(self: Array, dim: int) -> tuple[Array, Array, Array]:
    """Find the distinct slices along a dimension in order, as `unique_elements`."""
    if self.dtype.kind == "c":
        raise no_kernel("unique_dim", self.dtype)
    axis = _check_rows(self, dim)
    rows = np.ascontiguousarray(np.moveaxis(self, axis, 0))
    keys = rows.reshape(len(rows), -1) if rows.size else np.empty((0, 1))
    order = _row_order(keys.astype(np.float32) if keys.dtype.kind == "V" else keys)
    fresh = _fresh_rows(keys[order])
    numbers, counts = _groups(fresh)
    inverse = np.empty(len(rows), INT64)
    inverse[order] = numbers
    return np.moveaxis(rows[order[fresh]], 0, axis), inverse, counts


@op(name="unique_consecutive_slices", node="UniqueConsecutiveBackward0", **_TRIPLE)
def unique_neighbours(self: Array, dim: int | None) -> tuple[Array, Array, Array]:
    """Keep elements, or slices along a dimension, that differ from the one before."""
    if self.dtype.kind == "c":
        raise no_kernel("unique", self.dtype)
    if dim is None:
        flat = self.reshape(-1)
        fresh = _fresh_rows(flat)
        numbers, counts = _groups(fresh)
        return flat[fresh], numbers.reshape(self.shape), counts
    axis = _check_rows(self, dim)
    rows = np.ascontiguousarray(np.moveaxis(self, axis, 0))
    fresh = _fresh_rows(rows)
    numbers, counts = _groups(fresh)
    return np.moveaxis(rows[fresh], 0, axis), numbers, counts


@derivative(unique_elements, wrt="self")
def unique_elements_self(grad_output: Any) -> Any:
    raise NotImplementedError("the derivative for '_unique2' is not implemented.")


@derivative(unique_slices, wrt="self")
def unique_slices_self(grad_output: Any) -> Any:
    raise NotImplementedError("the derivative for 'unique_dim' is not implemented.")


@derivative(unique_neighbours, wrt="self")
def unique_neighbours_self(grad_output: Any) -> Any:
    raise NotImplementedError("the derivative for 'unique_consecutive' is not implemented.")


@tangent_of(unique_elements)
def unique_elements_tangent(self_t: Any) -> Any:
    raise no_forward_mode("_unique2")


@tangent_of(unique_slices)
def unique_slices_tangent(self_t: Any) -> Any:
    raise no_forward_mode("unique_dim")


@tangent_of(unique_neighbours)
def unique_neighbours_tangent(self_t: Any) -> Any:
    raise no_forward_mode("unique_consecutive")


# --- the public functions --------------------------------------------------------------------


def _wanted(results: tuple[Tensor, ...], inverse: bool, counts: bool) -> Any:
    chosen = [results[0]]
    if inverse:
        chosen.append(results[1])
    if counts:
        chosen.append(results[2])
    return tuple(chosen) if len(chosen) > 1 else chosen[0]


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    *,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@composite()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

    Every NaN is distinct. The inverse tells where each element is in the result.

    >>> import taper
    >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    results = unique_elements(input) if dim is None else unique_slices(input, dim)
    return _wanted(results, return_inverse, return_counts)


@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    *,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@composite()
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Drop elements, or slices along `dim`, that equal the one before.

    >>> import taper
    >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _wanted(unique_neighbours(input, dim), return_inverse, return_counts)
