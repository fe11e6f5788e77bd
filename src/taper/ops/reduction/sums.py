"""Sums, means, products and their kin over all or some dimensions.

Owns: the reductions that add, multiply or count.  PyTorch's overloads are separate primitives with
nodes of their own (`SumBackward0` over everything, `SumBackward1` over dimensions); the public
function picks one.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, INT64, LOW_PRECISION
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.reduction import (
    ABSENT,
    LOG_TOTAL,
    MEAN,
    Dims,
    Shape,
    axes_of,
    converted,
    count_of,
    dims_of,
    given_axis,
    is_expandable,
    kept_shape,
    reduce_natively,
    scalar_type,
    sum_array,
    total_of,
)
from taper.arrays.strides import wrap_dim
from taper.autograd.state import local
from taper.autograd.views import requires_grad
from taper.opdef import FLOAT, LINEAR, Array, composite, derivative, op, tangent_of
from taper.opdef.overloads import declare_overloads
from taper.opdef.writes import compute_into, run_out
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.number import div_scalar
from taper.ops.elementwise.unary import exp
from taper.ops.reduction.along import filled, in_dtype_of
from taper.ops.reduction.cumulative import has_zero, leave_one_out
from taper.ops.shape.ones import expand_to, reshape, sizes, unsqueeze
from taper.tensor import Tensor

_ALONG: Any = {"public": False, "method": False, "layout": ROW_MAJOR}
_add: Any = np.add.reduce
_multiply: Any = np.multiply.reduce

_LARGE = 8192
_ROW = 1024


# --- gradients of reductions -----------------------------------------------------------------


def unreduced(grad: Any, shape: Shape, dim: Dims, keepdim: bool) -> Any:
    """Put reduced dimensions back with length 1, so that a gradient broadcasts to `shape`."""
    if keepdim or not shape or not grad.ndim:
        return grad
    if not isinstance(grad, Tensor):
        return reshape(grad, kept_shape(shape, dim))
    for axis in sorted(axes_of(dim, len(shape))):
        grad = unsqueeze(grad, axis)
    return grad


def viewed_unreduced(grad: Any, shape: Shape, dim: Dims, keepdim: bool) -> Any:
    """Do so by a single view, as PyTorch does for extrema."""
    return grad if keepdim or not grad.ndim else reshape(grad, kept_shape(shape, dim))


def spread(grad: Any, shape: Shape, dim: Dims, keepdim: bool) -> Any:
    """Repeat the gradient of a sum along what was reduced."""
    if not shape:
        return grad
    if grad.__class__ is ndarray and grad.flags.c_contiguous and 0 not in grad.strides:
        axes = axes_of(dim, len(shape))
        strides = [0] * len(shape)
        step = grad.itemsize
        for axis in range(len(shape) - 1, -1, -1):
            if axis not in axes or shape[axis] == 1:
                strides[axis] = step
                step *= shape[axis]
        return ndarray(shape, grad.dtype, grad, 0, strides)
    return expand_to(unreduced(grad, shape, dim, keepdim), tuple(shape))


# --- sum -------------------------------------------------------------------------------------


@op(label="sum", node="SumBackward0", tangent=LINEAR, public=False, method=False)
def sum_all(self: Array, dtype: Any = None) -> Array:
    """Sum all elements."""
    if dtype is None and self.dtype is FLOAT32:
        return total_of(self)
    return sum_array(self, None, False, dtype and dtype.numpy)


@derivative(sum_all, wrt="self")
def sum_all_self(grad: Any, self_shape: Shape) -> Any:
    if grad.__class__ is ndarray:
        # All elements are the same one: 0.4 us, where np.broadcast_to takes 3.
        return ndarray(self_shape, grad.dtype, grad, 0, (0,) * len(self_shape))
    return expand_to(grad, self_shape)


@op(label="sum", node="SumBackward1", tangent=LINEAR, out=True, **_ALONG)
def sum_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: Any = None) -> Array:
    """Sum along dimensions."""
    return sum_array(self, axes_of(dim, self.ndim), keepdim, dtype and dtype.numpy)


@derivative(sum_dim, wrt="self")
def sum_dim_self(grad: Any, self_shape: Shape, dim: Dims, keepdim: bool) -> Any:
    return spread(grad, self_shape, dim, keepdim)


@composite()
def sum(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Tensor:
    """Add up all elements, or those along dimensions.

    Args:
        input: a tensor; integers and bools are added in int64.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.sum(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([4., 6.])
    """
    if dim is ABSENT:
        if axis is ABSENT and out is None:
            return sum_all(input, dtype and checked_dtype(dtype, input))
        dim = axis
    arguments = (input, dims_of(_given(dim, "sum"), "sum"), keepdim or keepdims)
    if out is not None:
        return run_out(sum_dim.op, (*arguments, out_dtype(dtype, out)), out)
    return sum_dim(*arguments, dtype and checked_dtype(dtype, input))


def _given(dim: Any, function: str) -> Any:
    if dim is ABSENT:
        raise TypeError(f'{function}() with out= needs "dim"')
    return dim


def checked_dtype(dtype: Any, input: Tensor) -> Any:
    """Check a `dtype` argument; integers have no gradient."""
    if dtype.category < dtypes.FLOATING and not local.state.mode and requires_grad(input):
        converted(input._array, dtype.numpy)  # PyTorch has computed, and warned, before it fails
        raise RuntimeError(f"Autograd not support dtype: {dtype.scalar_type}")
    return dtype


def out_dtype(dtype: Any, out: Tensor) -> Any:
    """Return the dtype to compute in for an `out=` tensor: its own; another is refused."""
    if dtype is not None and dtype is not out.dtype:
        names = {dtypes.float64: "double", dtypes.float32: "float", dtypes.int64: "long int"}
        wanted, got = (names.get(each, each.name) for each in (dtype, out.dtype))
        raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {got} instead")
    return out.dtype


@composite(public=False)
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum over what broadcasting would add to `size`, so that the result has that shape.

    >>> import taper
    >>> taper.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    wanted = sizes("sum_to_size", "size", size)
    if not wanted:
        return sum_all(input)
    shape = input._array.shape
    lead = len(shape) - len(wanted)
    if not is_expandable(wanted, shape):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    added = tuple(range(lead)) + tuple(
        lead + nr for nr, want in enumerate(wanted) if want == 1 != shape[lead + nr]
    )
    total = sum_dim(input, added, True) if added else input
    return reshape(total, wanted) if lead else total


# --- nansum, nanmean -------------------------------------------------------------------------


@op(label="nansum", node="NansumBackward0", out=True, **_ALONG)
def nansum_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: Any = None) -> Array:
    """Sum along dimensions, counting NaN as zero."""
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if self.dtype.kind in "fV":
        if dtype is not None and dtype.category < dtypes.FLOATING:
            raise dtypes.no_kernel("nansum_cpu", dtype)
        self = filled(self, self != self, 0)
    return sum_array(self, axes_of(dim, self.ndim), keepdim, dtype and dtype.numpy)


@derivative(nansum_dim, wrt="self")
def nansum_self(grad: Any, self: Any, dim: Dims, keepdim: bool) -> Any:
    return unreduced(grad, self.shape, dim, keepdim) * (self == self)


@tangent_of(nansum_dim)
def nansum_tangent(self: Tensor, self_t: Tensor, dim: Dims, keepdim: bool, dtype: Any) -> Tensor:
    return sum_dim(filled(self_t, self != self, 0.0), dim, keepdim, dtype)


@composite()
def nansum(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Sum all elements, or along dimensions, counting NaN as zero.

    >>> import taper
    >>> taper.nansum(taper.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    dims, keepdim = dims_of(dim if axis is None else axis, "nansum"), keepdim or keepdims
    if out is not None:
        _refuse_dtype_of(out, dtype)
        return run_out(nansum_dim.op, (input, dims, keepdim, out.dtype), out)
    return nansum_dim(input, dims, keepdim, dtype and checked_dtype(dtype, input))


def _refuse_dtype_of(out: Tensor, dtype: Any) -> None:
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(
            "nansum: provided dtype must match dtype of result. Got "
            f"{out.dtype.scalar_type} and {dtype.scalar_type}."
        )


@composite()
def nanmean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Average the elements that are not NaN, of all or along dimensions.

    >>> import taper
    >>> taper.nanmean(taper.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    dims, keepdim = dims_of(dim if axis is None else axis, "nanmean"), keepdim or keepdims
    if input._array.dtype.kind not in "fcV":
        raise RuntimeError(
            "nanmean(): integral types and 'Bool' are not supported for nanmean, even for empty "
            "tensors."
            if out is not None
            else "nanmean(): expected input to have floating point or complex dtype but got "
            f"{scalar_type(input._array.dtype)}"
        )
    if out is not None:
        _refuse_dtype_of(out, dtype)
        arguments = input, dims, keepdim, out.dtype
        return compute_into("nansum", _mean_of_present, arguments, out)
    if dtype is not None and dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {dtype.scalar_type}"
        )
    return _mean_of_present(input, dims, keepdim, dtype)


def _mean_of_present(input: Tensor, dims: Dims, keepdim: bool, dtype: Any) -> Tensor:
    present = input.detach()
    count = sum_dim(present == present, dims, keepdim)
    return nansum_dim(input, dims, keepdim, dtype) / count


# --- mean ------------------------------------------------------------------------------------


def _averaged_dtype(array: np.ndarray, dtype: Any) -> np.dtype[Any]:
    """Return the dtype of a mean; refuse integers."""
    target: np.dtype[Any] = array.dtype if dtype is None else dtype.numpy
    if target.kind not in "fcV":
        raise RuntimeError(
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} "
            f"dtype must be either a floating point or complex dtype. Got: {scalar_type(target)}"
        )
    return target


def mean_array(array: np.ndarray, axes: Any, keepdims: bool, dtype: Any) -> Any:
    """Average an array; float16 and bfloat16 are averaged in float32."""
    if dtype is None:
        found = reduce_natively(MEAN, array, axes, keepdims)
        if found is not None:
            return found
    target = _averaged_dtype(array, dtype)
    count = array.size if axes is None else count_of(array.shape, axes) if array.ndim else 1
    if target in LOW_PRECISION:
        total = sum_array(array, axes, keepdims, FLOAT32)
        return (total / FLOAT32.type(count)).astype(target)
    return sum_array(array, axes, keepdims, target) / target.type(count)


@op(label="mean", node="MeanBackward0", tangent=LINEAR, out=True, public=False, method=False)
def mean_all(self: Array, dtype: Any = None) -> Array:
    """Average all elements."""
    return mean_array(self, None, False, dtype)


@derivative(mean_all, wrt="self")
def mean_all_self(grad: Any, self_shape: Shape, self_numel: int) -> Any:
    if grad.__class__ is ndarray and self_numel:
        result = np.empty(self_shape, grad.dtype)  # not one element repeated: users write to it
        result.fill(grad.item() / self_numel)
        return result
    return div_scalar(expand_to(grad, self_shape), self_numel)


@op(label="mean", node="MeanBackward1", tangent=LINEAR, out=True, **_ALONG)
def mean_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: Any = None) -> Array:
    """Average along dimensions."""
    try:
        axes = axes_of(dim, self.ndim)
    except (RuntimeError, IndexError):
        _averaged_dtype(self, dtype)  # PyTorch looks at it before the dimensions
        raise
    return mean_array(self, axes, keepdim, dtype)


@derivative(mean_dim, wrt="self")
def mean_dim_self(grad: Any, self_shape: Shape, self_numel: int, dim: Dims, keepdim: bool) -> Any:
    count = count_of(self_shape, dim)
    if grad.__class__ is not ndarray or not grad.flags.c_contiguous:
        return div_scalar(spread(grad, self_shape, dim, keepdim), count)
    result = np.empty(self_shape, grad.dtype)
    result[...] = spread(grad / count, self_shape, dim, keepdim)  # fewer quotients
    return result


@composite()
def mean(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Tensor:
    """Average all elements, or those along dimensions.

    result = (1/n) Σ x

    Args:
        input: a floating point or complex tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.mean(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([2., 3.])
    """
    if dim is ABSENT:
        if axis is ABSENT:
            if out is None:
                return mean_all(input, dtype)
            return run_out(mean_all.op, (input, out_dtype(dtype, out)), out)
        dim = axis
    arguments = (input, dims_of(dim, "mean"), keepdim or keepdims)
    if out is not None:
        return run_out(mean_dim.op, (*arguments, out_dtype(dtype, out)), out)
    return mean_dim(*arguments, dtype)


# --- prod ------------------------------------------------------------------------------------


def _product(array: np.ndarray, axis: int | None, keepdims: bool, dtype: Any) -> Any:
    target = dtype.numpy if dtype is not None else array.dtype
    if dtype is None and target.kind not in "fcV":
        target = INT64
    if array.dtype is not target:
        array = converted(array, target)
    if axis is None and array.size >= _LARGE and array.flags.c_contiguous:
        # Along rows NumPy multiplies vectors: eight times faster.
        flat = array.reshape(-1)
        whole = flat.size - flat.size % _ROW
        columns = _multiply(flat[:whole].reshape(-1, _ROW), 0, target)
        array = np.append(columns, flat[whole:])
    return _multiply(array, axis, target, None, keepdims)


@op(label="prod", node="ProdBackward0", public=False, method=False)
def prod_all(self: Array, dtype: Any = None) -> Array:
    """Multiply all elements."""
    return _product(self, None, False, dtype)


@op(label="prod", node="ProdBackward1", out=True, **_ALONG)
def prod_dim(self: Array, dim: int, keepdim: bool = False, dtype: Any = None) -> Array:
    """Multiply along a dimension."""
    axis = wrap_dim(dim, self.ndim)
    return _product(self, axis if self.ndim else None, keepdim, dtype)


@derivative(prod_all, wrt="self")
def prod_all_self(grad: Any, self: Any, result: Any) -> Any:
    if not self.ndim:
        return grad
    self = in_dtype_of(self, grad)
    if not has_zero(self):
        return grad * conj(result / self)
    if isinstance(self, np.ndarray) and np.count_nonzero(self) < self.size - 1:
        return np.zeros_like(self)  # also beside infinite elements
    return reshape(prod_dim_self(grad, reshape(self, (-1,)), result, 0, False), self.shape)


@derivative(prod_dim, wrt="self")
def prod_dim_self(grad: Any, self: Any, result: Any, dim: int, keepdim: bool) -> Any:
    if not self.ndim:
        return grad
    self, grad = in_dtype_of(self, grad), unreduced(grad, self.shape, (dim,), keepdim)
    if not has_zero(self):
        return grad * conj(unreduced(result, self.shape, (dim,), keepdim) / self)
    axis = wrap_dim(dim, self.ndim)
    if self.shape[axis] == 1:
        return reshape(grad, self.shape)
    if isinstance(self, Tensor):
        return grad * conj(prod_dim(leave_one_out(self, axis), axis + 1))
    return grad * conj(_product_of_others(self, axis))


def _product_of_others(array: np.ndarray, axis: int) -> np.ndarray:
    """Multiply all elements but each one, those before it by those behind it."""
    before, behind = np.ones_like(array), np.ones_like(array)
    lead = (slice(None),) * axis
    first, rest, turned = (
        (*lead, slice(-1)),
        (*lead, slice(1, None)),
        (*lead, slice(None, None, -1)),
    )
    np.multiply.accumulate(array[first], axis, None, before[rest])
    np.multiply.accumulate(array[turned][first], axis, None, behind[turned][rest])
    return before * behind


@tangent_of(prod_all)
def prod_all_tangent(self: Tensor, self_t: Tensor, result: Tensor) -> Tensor:
    return sum_all(conj(prod_all_self(result.new_ones(result.shape), self, result)) * self_t)


@tangent_of(prod_dim)
def prod_dim_tangent(
    self: Tensor, self_t: Tensor, result: Tensor, dim: int, keepdim: bool
) -> Tensor:
    partial = prod_dim_self(result.new_ones(result.shape), self, result, dim, keepdim)
    return sum_dim(conj(partial) * self_t, (dim,), keepdim)


@composite()
def prod(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Tensor:
    """Multiply all elements, or those along a dimension.

    Args:
        input: a tensor; integers and bools are multiplied in int64.
        dim: dimension to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Example:
        >>> import taper
        >>> taper.prod(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
        tensor([ 2., 12.])
    """
    if axis is not ABSENT or keepdims:
        dim, keepdim = (axis if dim is ABSENT else dim), keepdim or keepdims
    if dim is ABSENT and out is None:
        return prod_all(input, dtype and checked_dtype(dtype, input))
    if isinstance(dim, (tuple, list)) or dim is None or dim is ABSENT:
        raise TypeError("prod() received an invalid combination of arguments: dim must be int")
    if out is not None:
        return run_out(prod_dim.op, (input, dim, keepdim, out_dtype(dtype, out)), out)
    return prod_dim(input, dim, keepdim, dtype and checked_dtype(dtype, input))


# --- logsumexp -------------------------------------------------------------------------------


@op(promote=FLOAT, label="logsumexp", node="LogsumexpBackward0", out=True, **_ALONG)
def logsumexp_dim(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """Take the logarithm of the sum of exponentials along dimensions; half rounds every step."""
    axes = axes_of(dim, self.ndim)
    found = reduce_natively(LOG_TOTAL, self, axes, keepdim)
    if found is not None:
        return found
    real = self.real if self.dtype.kind == "c" else self
    high = np.maximum.reduce(real, axes, keepdims=True, initial=real.dtype.type(-np.inf))
    high = filled(high, np.isinf(high), 0)
    total = sum_array(np.exp(self - high), axes, keepdim, None)
    return np.log(total) + (high if keepdim else high.reshape(np.shape(total)))


@derivative(logsumexp_dim, wrt="self")
def logsumexp_self(grad: Any, self: Any, result: Any, dim: Dims, keepdim: bool) -> Any:
    grad = unreduced(grad, self.shape, dim, keepdim)
    return grad * conj(exp(self - unreduced(result, self.shape, dim, keepdim)))


@tangent_of(logsumexp_dim)
def logsumexp_tangent(
    self: Tensor, self_t: Tensor, result: Tensor, dim: Dims, keepdim: bool
) -> Tensor:
    share = exp(self - unreduced(result, self.shape, dim, keepdim))
    total = sum_dim(share * self_t, dim, keepdim)
    return total if self.numel() else total + (result - result)  # the logarithm of 0 has none


@composite()
def logsumexp(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Tensor:
    """Take the logarithm of the sum of exponentials along dimensions, without overflow.

    result = ln Σ eˣ

    Args:
        input: a tensor; integers give the default floating dtype.
        dim: dimension or dimensions to reduce.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`.

    Example:
        >>> import taper
        >>> taper.logsumexp(taper.tensor([1000.0, 1000.0]), dim=0)
        tensor(1000.6932)
    """
    if dim is ABSENT:
        dim = given_axis("logsumexp", axis)
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be tuple of ints, not NoneType")
    dims, keepdim = dims_of(dim, "logsumexp"), keepdim or keepdims
    if out is not None:
        return run_out(logsumexp_dim.op, (input, dims, keepdim), out)
    return logsumexp_dim(input, dims, keepdim)


# --- any, all, count_nonzero -----------------------------------------------------------------


def _truth(ufunc: Any, array: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """Reduce logically; uint8 stays uint8, and over no dimension it works element by element."""
    if dim is None and not keepdim and array.ndim == 1 and array.dtype.char == "?":
        return ufunc.reduce(array)  # 0.6 us less
    axes = () if dim == () else axes_of(dim, array.ndim)
    found = ufunc.reduce(array, axes, bool, None, keepdim)
    return np.asarray(found).astype(np.uint8) if array.dtype.char == "B" else found


def _only_bool(name: str) -> Any:
    def check(out: np.ndarray, result: np.ndarray) -> None:
        if out.dtype.kind != "b" and out.dtype != np.uint8:
            raise RuntimeError(
                f"{name} only supports bool tensor for result, got: {scalar_type(out.dtype)}"
            )

    return check


@op(label="any", out=_only_bool("any"), **_ALONG)
def any_dim(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """Tell whether an element is true along dimensions."""
    return _truth(np.logical_or, self, dim, keepdim)


@op(label="all", out=_only_bool("all"), **_ALONG)
def all_dim(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """Tell whether all elements are true along dimensions."""
    return _truth(np.logical_and, self, dim, keepdim)


@composite()
def any(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Tell whether any element is true (not zero).

    Args:
        input: a tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`; the result is bool (uint8 for uint8).

    Example:
        >>> import taper
        >>> taper.any(taper.tensor([[False, True], [False, False]]), dim=1)
        tensor([ True, False])
    """
    dims, keepdim = dims_of(axis if dim is None else dim, "any"), keepdim or keepdims
    if out is not None:
        return run_out(any_dim.op, (input, dims, keepdim), out)
    return any_dim(input, dims, keepdim)


@composite(
    quick="all_true(local.state, input)"
    " if dim is out is axis is None and keepdim is keepdims is False else None"
)
def all(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """Tell whether all elements are true (not zero).

    Args:
        input: a tensor.
        dim: dimension or dimensions to reduce; all of them by default.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimensions in `dim`; the result is bool (uint8 for uint8).

    Example:
        >>> import taper
        >>> taper.all(taper.tensor([[True, True], [False, True]]), dim=1)
        tensor([ True, False])
    """
    dims, keepdim = dims_of(axis if dim is None else dim, "all"), keepdim or keepdims
    if out is not None:
        return run_out(all_dim.op, (input, dims, keepdim), out)
    return all_dim(input, dims, keepdim)


@op(label="count_nonzero", **_ALONG)
def count_nonzero_dim(self: Array, dim: Dims) -> Array:
    """Count the elements that are not zero along dimensions."""
    return _add(self != 0, axes_of(dim, self.ndim), INT64)


@composite()
def count_nonzero(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Count the elements that are not zero, of all or along dimensions.

    >>> import taper
    >>> taper.count_nonzero(taper.tensor([0, 3, 0, 4]))
    tensor(2)
    """
    return count_nonzero_dim(input, dims_of(dim if axis is None else axis, "count_nonzero"))


declare_overloads(count_nonzero, "int dim = None", "tuple of ints dim")
