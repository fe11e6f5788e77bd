"""Histograms with the edges of their bins: histogram, and histogramdd for points.

A bin holds its lower edge, the last one both edges. Nothing here has a derivative; as in PyTorch,
the backward pass says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from taper import dtypes, return_types
from taper.arrays.reduction import no_forward_mode
from taper.dtypes import C_NAMES, no_kernel
from taper.factory import is_integer
from taper.opdef import Array, Arrays, composite, derivative, op, tangent_of
from taper.opdef.operands import invalid_combination
from taper.opdef.writes import compute_into
from taper.ops.creation.ranges import evenly_spaced
from taper.ops.elementwise.arithmetic import no_derivative
from taper.tensor import Tensor

_HISTOGRAM = (
    "(Tensor input, Tensor bins, *, Tensor weight = None, bool density = False, tuple of Tensors "
    "out = None)",
    "(Tensor input, int bins = 100, *, tuple of floats range = None, Tensor weight = None, bool "
    "density = False, tuple of Tensors out = None)",
)
_HISTOGRAMDD = tuple(
    f"(Tensor input, {bins} bins, tuple of floats range = None, Tensor weight = None, bool "
    "density = False)"
    for bins in ("int", "tuple of ints", "tuple of Tensors")
)


# --- checks ----------------------------------------------------------------------------------


def _c_name(array: ndarray) -> str:
    return C_NAMES[dtypes.FROM_NUMPY[array.dtype]]


def _check_weight(points: ndarray, weight: ndarray | None) -> None:
    if weight is None:
        return
    prefix = "torch.histogramdd: if weight tensor is provided"
    if weight.dtype != points.dtype:
        raise RuntimeError(
            f"{prefix}, input tensor and weight tensor should have the same dtype, but got "
            f"input({_c_name(points)}), and weight({_c_name(weight)})"
        )
    if weight.shape != points.shape[:-1]:
        raise RuntimeError(
            f"{prefix} it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape {list(points.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


def _check_edges(points: ndarray, edges: Sequence[ndarray]) -> None:
    for dim, each in enumerate(edges):
        if each.dtype != points.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {_c_name(points)} and bins for dimension {dim} with dtype "
                f"{_c_name(each)}"
            )
        if each.ndim != 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension, but got "
                f"{each.ndim} dimensions in the bins tensor for dimension {dim}"
            )
        if not each.size:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 "
                f"elements in the bins tensor for dimension {dim}"
            )


def _check_counts(counts: Sequence[int]) -> None:
    for dim, count in enumerate(counts):
        if count <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}"
            )


def _outer_edges(points: ndarray, span: Sequence[float] | None) -> list[tuple[float, float]]:
    """Find the lowest and highest edge in each dimension: as given, or of the points."""
    width = points.shape[-1]
    if span is not None:
        if len(span) != 2 * width:
            raise RuntimeError(
                f"torch.histogramdd: for a {width}-dimensional histogram range should have "
                f"{2 * width} elements, but got {len(span)}"
            )
        found = [(float(span[2 * dim]), float(span[2 * dim + 1])) for dim in range(width)]
    elif points.size:
        flat = points.reshape(-1, width)
        found = list(zip(flat.min(0).tolist(), flat.max(0).tolist(), strict=True))
    else:
        found = [(0.0, 1.0)] * width
    for dim, (low, high) in enumerate(found):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(
                f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite"
            )
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
                f"for dimension {dim}"
            )
        if low == high:
            found[dim] = (low - 0.5, high + 0.5)
    return found


def _check_dtype(points: ndarray, span: Sequence[float] | None = None) -> None:
    """Refuse half precision, which has no kernel that finds the span of the points."""
    if span is None and (points.dtype.kind != "f" or points.itemsize < 4):
        raise no_kernel("histogramdd", points.dtype)
    if points.dtype.kind not in "fV":
        raise no_kernel("histogram_cpu", points.dtype)


# --- the kernels -----------------------------------------------------------------------------


def _even_edges(
    points: ndarray, counts: Sequence[int], span: Sequence[float] | None, weight: ndarray | None
) -> list[ndarray]:
    _check_weight(points, weight)
    _check_counts(counts)
    if points.dtype.kind == "c":
        _check_dtype(points)
    outer = _outer_edges(points, span)
    _check_dtype(points, span)
    kind = dtypes.FROM_NUMPY[points.dtype]
    return [
        evenly_spaced(low, high, count + 1, kind)
        for (low, high), count in zip(outer, counts, strict=True)
    ]


def _counted(
    points: ndarray, edges: Sequence[ndarray], weight: ndarray | None, density: bool
) -> ndarray:
    """Count the points, or add up the weights, in each bin."""
    shape = tuple([each.size - 1 for each in edges])
    rows = points.reshape(math.prod(points.shape[:-1]), points.shape[-1])
    inside = np.ones(len(rows), bool)
    places = np.zeros(len(rows), np.intp)
    rows = rows.astype(np.float32) if rows.itemsize == 2 else rows
    for dim, (each, count) in enumerate(zip(edges, shape, strict=True)):
        column = rows[:, dim]
        each = each.astype(rows.dtype)
        inside &= (column >= each[0]) & (column <= each[-1])
        found = np.minimum(np.searchsorted(each, column, "right") - 1, count - 1)
        places = places * count + found
    weights = None if weight is None else weight.reshape(-1)[inside]
    if points.itemsize == 2:  # every step is rounded
        total = np.zeros(math.prod(shape), points.dtype)
        np.add.at(total, places[inside], points.dtype.type(1) if weights is None else weights)
    else:
        total = np.bincount(places[inside], weights, math.prod(shape))
    result = total.astype(points.dtype).reshape(shape)
    if density:
        result /= result.sum(dtype=np.result_type(result, np.float32)).astype(points.dtype)
        for dim, each in enumerate(edges):
            result /= np.diff(each).reshape((-1,) + (1,) * (len(edges) - dim - 1))
    return result


def _as_column(self: ndarray) -> ndarray:
    return self.reshape(-1, 1)


@op(
    name="histogram_bin_ct",
    label="histogram",
    node="NotImplemented",
    outputs=("hist", "bin_edges"),
    returns=return_types.histogram,
    public=False,
    method=False,
)
def histogram_of_count(
    self: Array, bins: int, range: Any, weight: Array | None, density: bool
) -> tuple[Array, Array]:
    """Compute the histogram with so many bins of one width."""
    points = _as_column(self)
    flat = weight if weight is None or weight.shape != self.shape else weight.reshape(-1)
    edges = _even_edges(points, (bins,), range, flat)
    return _counted(points, edges, flat, density), edges[0]


@derivative(histogram_of_count, wrt=("self", "weight"))
def histogram_of_count_all(grad_hist, needs):
    raise no_derivative("histogram")


@tangent_of(histogram_of_count)
def histogram_of_count_tangent(self_t):
    raise no_forward_mode("histogram")


@op(
    name="histogram_bins_tensor",
    label="histogram",
    node="NotImplemented",
    outputs=("hist", "bin_edges"),
    returns=return_types.histogram,
    public=False,
    method=False,
)
def histogram_of_edges(
    self: Array, bins: Array, weight: Array | None, density: bool
) -> tuple[Array, Array]:
    """Compute the histogram with these edges."""
    points = _as_column(self)
    flat = weight if weight is None or weight.shape != self.shape else weight.reshape(-1)
    _check_edges(points, (bins,))
    _check_weight(points, flat)
    _check_counts((bins.size - 1,))
    _check_dtype(points, ())
    return _counted(points, (bins,), flat, density), bins.copy()


@derivative(histogram_of_edges, wrt=("self", "bins", "weight"))
def histogram_of_edges_all(grad_hist, needs):
    raise no_derivative("histogram")


@tangent_of(histogram_of_edges)
def histogram_of_edges_tangent(self_t):
    raise no_forward_mode("histogram")


# --- histogram -------------------------------------------------------------------------------


@composite()
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """Count the elements, or add up their weights, in each bin; also return the edges.

    `bins` is a tensor of edges, or a number of bins of one width in `range` (by default that of the
    elements). Elements outside are not counted. With `density` the integral is 1.

    >>> import taper
    >>> taper.histogram(taper.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 2.0)).hist
    tensor([0., 3.])
    """
    good = isinstance(input, Tensor) and isinstance(density, bool)
    good = good and (weight is None or isinstance(weight, Tensor))
    if isinstance(bins, Tensor):
        good = good and range is None
    else:
        good = good and is_integer(bins) and (range is None or isinstance(range, (list, tuple)))
    if not good:
        _refuse_histogram((input, bins), range=range, weight=weight, density=density)
    given: tuple[Any, ...] = (input, bins, weight, density)
    if isinstance(bins, Tensor):
        function, arguments = histogram_of_edges, given
    else:
        function, arguments = histogram_of_count, (input, int(bins), range, weight, density)
    if out is None:
        return function(*arguments)
    for name, each, where in zip(("hist", "bin_edges"), out, ("", " for dimension 0"), strict=True):
        if each.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.histogram: input tensor and {name} tensor should have the same dtype, but "
                f"got input {_c_name(input._array)} and {name} {_c_name(each._array)}{where}"
            )
    made = compute_into(None, function, arguments, tuple(out))
    return return_types.histogram_out(made)


def _refuse_histogram(positional: Sequence[Any], **keywords: Any) -> NoReturn:
    raise invalid_combination(
        "histogram",
        positional,
        _HISTOGRAM,
        {name: value for name, value in keywords.items() if value not in (None, False)},
    )


# --- histogramdd -----------------------------------------------------------------------------


@op(
    name="_histogramdd_bin_edges",
    node="NotImplemented",
    many_outputs=True,
    public=False,
    method=False,
)
def histogramdd_bin_edges(
    self: Array, bins: tuple[int, ...], range: Any, weight: Array | None, density: bool
) -> Array:
    """Find the edges of the bins in each dimension."""
    return _even_edges(self, bins, range, weight)


@derivative(histogramdd_bin_edges, wrt=("self", "weight"))
def histogramdd_bin_edges_all(grad, needs):
    raise no_derivative("_histogramdd_bin_edges")


@tangent_of(histogramdd_bin_edges)
def histogramdd_bin_edges_tangent(self_t):
    raise no_forward_mode("_histogramdd_bin_edges")


@op(name="_histogramdd_from_bin_cts", node="NotImplemented", public=False, method=False)
def histogramdd_from_bin_cts(
    self: Array, bins: tuple[int, ...], range: Any, weight: Array | None, density: bool
) -> Array:
    """Count the points in each of so many bins of one size."""
    return _counted(self, _even_edges(self, bins, range, weight), weight, density)


@derivative(histogramdd_from_bin_cts, wrt=("self", "weight"))
def histogramdd_from_bin_cts_all(grad, needs):
    raise no_derivative("_histogramdd_from_bin_cts")


@tangent_of(histogramdd_from_bin_cts)
def histogramdd_from_bin_cts_tangent(self_t):
    raise no_forward_mode("_histogramdd_from_bin_cts")


@op(name="_histogramdd_from_bin_tensors", node="NotImplemented", public=False, method=False)
def histogramdd_from_bin_tensors(
    self: Array, bins: Arrays, weight: Array | None, density: bool
) -> Array:
    """Count the points in each of the bins with these edges."""
    _check_edges(self, bins)
    _check_weight(self, weight)
    _check_counts([each.size - 1 for each in bins])
    _check_dtype(self, ())
    return _counted(self, bins, weight, density)


@derivative(histogramdd_from_bin_tensors, wrt=("self", "bins", "weight"))
def histogramdd_from_bin_tensors_all(grad, needs):
    raise no_derivative("_histogramdd_from_bin_tensors")


@tangent_of(histogramdd_from_bin_tensors)
def histogramdd_from_bin_tensors_tangent(self_t):
    raise no_forward_mode("_histogramdd_from_bin_tensors")


@composite(method=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Count the points, rows of the last dimension, in each bin of a grid.

    `bins` holds the edges in each dimension, or their numbers, or one number for all; `range` the
    lowest and highest edge of each dimension in turn.

    >>> import taper
    >>> taper.histogramdd(taper.tensor([[0.0, 0.0], [1.0, 1.0]]), 2).hist
    tensor([[1., 0.],
            [0., 1.]])
    """
    many = isinstance(bins, (list, tuple))
    if not isinstance(input, Tensor) or not (many or is_integer(bins)):
        raise invalid_combination("histogramdd", (input, bins), _HISTOGRAMDD)
    if not input.dim():
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    width = input.shape[-1]
    chosen = tuple(bins) if many else (int(bins),) * width
    by_edges = any(isinstance(each, Tensor) for each in chosen)
    for nr, each in enumerate(chosen):
        if not isinstance(each, Tensor) if by_edges else not is_integer(each):
            raise TypeError(
                f"expected Tensor as element {nr} in argument 1, but got {type(each).__name__}"
            )
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if len(chosen) != width:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if by_edges:
        edges: tuple[Any, ...] = chosen
        found = histogramdd_from_bin_tensors(input, chosen, weight, density)
    else:
        counts = tuple([int(each) for each in chosen])
        edges = tuple(histogramdd_bin_edges(input, counts, range, weight, density))
        found = histogramdd_from_bin_cts(input, counts, range, weight, density)
    return return_types.histogramdd((found, edges))
