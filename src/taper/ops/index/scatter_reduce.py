"""Elements combined where an index points: scatter_reduce and index_reduce.

Both have one derivative: an index along a dimension is an index for each element that repeats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.reduction import combine_at
from taper.arrays.strides import Shape, wrap_dim
from taper.autograd.probes import DelayedError
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.writes import run_inplace
from taper.ops.index.gather import (
    check_scatter,
    gather,
    gather_backward,
    part_for,
    places_along,
    scatter_add,
    scatter_value,
    through_flat,
)
from taper.ops.index.masked import masked_fill
from taper.ops.index.slices import check_index_vector
from taper.ops.linalg.matmul import same_dtype
from taper.tensor import Tensor, array_of, wrap
from taper.userwarning import warn_once


def combine(flat: ndarray, places: ndarray, values: ndarray, reduce: str, own: bool) -> None:
    """Combine values with what stands in their places; without `own` only the values count."""
    if not own:
        flat[places] = _neutral(flat.dtype, reduce)
    at = {"prod": np.multiply.at, "amax": np.maximum.at, "amin": np.minimum.at}
    combine_at(at.get(reduce, np.add.at), flat, places, values)
    if reduce != "mean":
        return
    counts = np.maximum(np.bincount(places, minlength=len(flat)) + own, 1).astype(flat.dtype)
    if flat.dtype.kind in "iu":
        np.floor_divide(flat, counts, out=flat)
    else:
        np.divide(flat, counts, out=flat)


def _neutral(dtype: np.dtype[Any], reduce: str) -> Any:
    """Return the number that changes nothing."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


# --- scatter_reduce --------------------------------------------------------------------------


def write_scatter_reduce(
    target: ndarray, dim: int, index: ndarray, src: ndarray, reduce: str, own: bool
) -> None:
    """Combine elements of `src` where `index` points, or raise and write nothing."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    position = check_scatter(target, dim, index, src)
    if target.dtype.kind == {"mean": "b", "amax": "c", "amin": "c"}.get(reduce):
        raise no_kernel(f"scatter_gather_tensor_cpu_reduce_{reduce}", target.dtype)
    values = part_for(src, index)
    places = places_along(target.shape, position, index).ravel()
    through_flat(target, lambda flat: combine(flat, places, values, reduce, own))


@op(out=same_dtype, complex_gradient=False)
def scatter_reduce(
    self: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Copy a tensor and combine elements of `src` by `reduce` where `index` points along `dim`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; without `include_self` the tensor's own
    elements do not count where something is written.

    >>> import taper
    >>> index = taper.tensor([0, 0, 1])
    >>> taper.scatter_reduce(taper.ones(3), 0, index, taper.tensor([2.0, 3.0, 4.0]), "prod")
    tensor([6., 4., 1.])
    """
    result = np.array(self, order="C")
    write_scatter_reduce(result, dim, index, src, reduce, include_self)
    return result


@composite(public=False, numpy_names=True)
def scatter_reduce_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """In-place version of `scatter_reduce`."""

    def write(target: ndarray) -> None:
        write_scatter_reduce(target, dim, index._array, src._array, reduce, include_self)

    arguments = (self, dim, index, src, reduce, include_self)
    return run_inplace(scatter_reduce.op, arguments, write)


@derivative(scatter_reduce, wrt=("self", "src"))
def scatter_reduce_both(
    grad: Array,
    self: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    include_self: bool,
    result: Array,
) -> tuple[Any, Any]:
    names = ("scatter_reduce", "src")
    return both_gradients(grad, self, dim, index, src, reduce, include_self, result, names)


def both_gradients(
    grad: Any,
    self: Any,
    dim: int,
    index: Any,
    src: Any,
    reduce: str,
    include_self: bool,
    result: Any,
    names: tuple[str, str],
) -> tuple[Any, Any]:
    """Compute the gradients of the tensor and of the source; arrays and Tensors."""
    if reduce == "sum":
        own, other = grad, gather(grad, dim, index)
    elif reduce == "mean":
        counts = reached(self, dim, index) + (1.0 if include_self else 0.0)
        shared = grad / masked_fill(counts, counts == 0, 1)
        own, other = shared, gather(shared, dim, index)
    elif reduce == "prod":
        own, other = product_gradients(grad, self, dim, index, src, include_self, result, names)
    else:
        own, other = extremum_gradients(grad, self, dim, index, src, result)
    if not include_self:
        own = scatter_value(own, dim, index, 0)
    return own, other


def reached(like: Any, dim: int, index: Any) -> Any:
    """Count how often `index` points at each element, as `like`; arrays and Tensors."""
    if not isinstance(like, Tensor):
        ones = np.ones(index.shape, like.dtype)
        return gather_backward(ones, like.shape, dim, index)
    ones = np.ones(index._array.shape, like._array.dtype)
    return wrap(gather_backward(ones, like._array.shape, dim, index._array))


def product_gradients(
    grad: Any,
    self: Any,
    dim: int,
    index: Any,
    src: Any,
    include_self: bool,
    result: Any,
    names: tuple[str, str],
) -> tuple[Any, Any]:
    """Compute the product of all others, even where one factor is zero.

    `names` of the function and its argument are for the error of differentiating two zeros again.
    """
    function, source = names
    nonzero = masked_fill(self, self == 0, 1)
    without_own = scatter_reduce(nonzero, dim, index, src, "prod", include_self=include_self)
    own = grad * without_own / nonzero
    zero = src == 0
    zeros = gather(scatter_add(_like(self != self, self), dim, index, _like(zero, src)), dim, index)
    single = zero & (zeros == 1)
    # Where one factor is zero, the product of the others is the product with the zero replaced by
    # 1.
    filled = masked_fill(src, single, 1)
    others = scatter_reduce(self, dim, index, filled, "prod", include_self=include_self)
    ordinary = gather(grad * result, dim, index) / masked_fill(src, zero, 1)
    lone = gather(grad * others, dim, index)
    other = masked_fill(ordinary, single, 0) + masked_fill(lone, ~single, 0)
    if isinstance(zeros, Tensor) and (zeros._array > 1).any():
        other = DelayedError(
            f"{function}(): Double backward is unsupported for {source} when >1 zeros in {source} "
            "are scattered to the same position in self",
            1,
        )(other)
    return own, other


def extremum_gradients(
    grad: Any, self: Any, dim: int, index: Any, src: Any, result: Any
) -> tuple[Any, Any]:
    """Share the gradient evenly among all elements that are the extremum.

    As in PyTorch, an own element that equals the extremum takes a share even where it does not
    count; and where NaN is the extremum, which nothing equals, all get NaN.
    """
    chosen = _like(src == gather(result, dim, index), src)
    own_chosen = _like(self == result, self)
    shared = grad / scatter_add(own_chosen, dim, index, chosen)
    return shared * own_chosen, chosen * gather(shared, dim, index)


def _shape(value: Any) -> Shape:
    return tuple(value.shape)


def _like(mask: Any, other: Any) -> Any:
    """Turn a mask into numbers in the dtype of another value; arrays and Tensors."""
    if isinstance(mask, Tensor):
        return wrap(mask._array.astype(other._array.dtype))
    return mask.astype(other.dtype)


@tangent_of(scatter_reduce)
def scatter_reduce_tangent(
    self: Any,
    self_t: Any,
    dim: int,
    index: Any,
    src: Any,
    src_t: Any,
    reduce: str,
    include_self: bool,
    result: Any,
) -> Any:
    ones = wrap(np.ones(result._array.shape, result._array.dtype))
    own, other = scatter_reduce_both(ones, self, dim, index, src, reduce, include_self, result)
    total = own * self_t if self_t is not None else own * 0.0
    return total if src_t is None else scatter_add(total, dim, index, other * src_t)


# --- index_reduce ----------------------------------------------------------------------------


def spread_index(index: Any, like: Any, dim: int) -> Any:
    """Turn an index along a dimension into one for each element; arrays and Tensors."""
    array = array_of(index)
    shape = _shape(like)
    position = wrap_dim(dim, len(shape))
    array = array.reshape(-1, *(1,) * (len(shape) - position - 1)) if shape else array.reshape(())
    array = np.broadcast_to(array, shape)
    return wrap(array) if isinstance(index, Tensor) else array


def write_index_reduce(
    target: ndarray, dim: int, index: ndarray, source: ndarray, reduce: str, own: bool
) -> None:
    """Combine slices of `source` where `index` points, or raise and write nothing."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    check_index_vector("index_reduce_", target, dim, index, source)
    warn_once("index_reduce() is in beta and the API may change at any time.")
    if target.dtype.kind in "bc":
        _check_index_reduce_kernel(target, index, reduce, own)
        if not index.size:
            return
    write_scatter_reduce(target, dim, spread_index(index, source, dim), source, reduce, own)


def _check_index_reduce_kernel(target: ndarray, index: ndarray, reduce: str, own: bool) -> None:
    """Raise where PyTorch lacks a kernel for bool or complex numbers.

    More than one dimension is combined slice by slice, with the kernels of pointwise operators.
    """
    missing = {"c": {"amax": "maximum_cpu", "amin": "minimum_cpu"}, "b": {"mean": "div_floor_cpu"}}
    kernel = missing[target.dtype.kind].get(reduce) if index.size else None
    if not own:
        kernel = "index_reduce_func_exclude_input_init"
    elif target.ndim < 2:
        kernel = "index_func_"
    if kernel:
        raise no_kernel(kernel, target.dtype)


@op(out=True, complex_gradient=False)
def index_reduce(
    self: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Copy a tensor and combine slices of `source` by `reduce` where `index` points along `dim`.

    >>> import taper
    >>> index = taper.tensor([0, 0])
    >>> taper.index_reduce(taper.ones(2), 0, index, taper.tensor([2.0, 3.0]), "amax")
    tensor([3., 1.])
    """
    result = np.array(self, order="C")
    write_index_reduce(result, dim, index, source, reduce, include_self)
    return result


@composite(public=False, numpy_names=True)
def index_reduce_(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """In-place version of `index_reduce`."""

    def write(target: ndarray) -> None:
        write_index_reduce(target, dim, index._array, source._array, reduce, include_self)

    arguments = (self, dim, index, source, reduce, include_self)
    return run_inplace(index_reduce.op, arguments, write)


@derivative(index_reduce, wrt=("self", "source"))
def index_reduce_both(
    grad: Array,
    self: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    include_self: bool,
    result: Array,
) -> tuple[Any, Any]:
    places = spread_index(index, source, dim)
    names = ("index_reduce", "source")
    return both_gradients(grad, self, dim, places, source, reduce, include_self, result, names)


@tangent_of(index_reduce)
def index_reduce_tangent(
    self: Any,
    self_t: Any,
    dim: int,
    index: Any,
    source: Any,
    source_t: Any,
    reduce: str,
    include_self: bool,
    result: Any,
) -> Any:
    places = spread_index(index, source, dim)
    return scatter_reduce_tangent(
        self, self_t, dim, places, source, source_t, reduce, include_self, result
    )
