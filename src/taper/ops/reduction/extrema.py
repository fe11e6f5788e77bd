"""The largest and smallest elements, and where they are.

Full reductions and amax/amin share the gradient evenly among ties; max(dim) and min(dim) give it to
the first. NaN is larger and smaller than anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from taper import return_types
from taper.arrays.elements import FLOAT32, INT64
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.reduction import (
    ABSENT,
    LARGEST,
    SMALLEST,
    Dims,
    Shape,
    axes_of,
    dims_of,
    reduce_natively,
    refuse_empty,
    scalar_type,
)
from taper.arrays.strides import wrap_dim
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.operands import invalid_combination
from taper.opdef.writes import run_out
from taper.ops.elementwise.clamping import maximum, minimum
from taper.ops.reduction.along import filled, put_along, take_along
from taper.ops.reduction.sums import sum_all, sum_dim, viewed_unreduced
from taper.tensor import Tensor

_KINDS = {np.maximum: LARGEST, np.minimum: SMALLEST}


def _reduced(ufunc: Any, array: np.ndarray, axes: Any, keepdims: bool) -> Any:
    """Find the largest or smallest elements; `axes` is a tuple, or None for all."""
    found = reduce_natively(_KINDS[ufunc], array, axes, keepdims)
    return ufunc.reduce(array, axes, None, None, keepdims) if found is None else found


# --- the whole tensor ------------------------------------------------------------------------


def _whole(ufunc: Any, name: str, array: np.ndarray) -> Any:
    if array.dtype is FLOAT32 and array.size:
        return _reduced(ufunc, array, None, False)
    if not array.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    if array.dtype.kind == "c":
        raise no_kernel(f"{name}_all", array.dtype)
    return ufunc.reduce(array, None)


@op(label="max", node="MaxBackward1", out=True, public=False, method=False)
def max_all(self: Array) -> Array:
    """Find the largest element."""
    return _whole(np.maximum, "max", self)


@op(label="min", node="MinBackward1", out=True, public=False, method=False)
def min_all(self: Array) -> Array:
    """Find the smallest element."""
    return _whole(np.minimum, "min", self)


def share_evenly(grad: Any, values: Any, chosen: Any) -> Any:
    """Share the gradient of choosing one element among those equal to it (NaN equals NaN)."""
    mask = _equal_to(values, chosen)
    share = grad / mask.sum()
    if isinstance(mask, Tensor):
        return values.new_zeros(values.shape).masked_fill(mask, share)
    return np.where(mask, share, 0)


def share_tangent(values_t: Tensor, values: Tensor, chosen: Tensor) -> Tensor:
    """Average the tangents of the elements equal to the chosen one; no NaN is."""
    mask = values == chosen
    return sum_all(values_t * mask) / mask.sum()


def _equal_to(values: Any, chosen: Any) -> Any:
    number = chosen.item()
    return values == chosen if number == number else values != values


@derivative(max_all, wrt="self")
@derivative(min_all, wrt="self")
def whole_self(grad: Any, self: Any, result: Any) -> Any:
    return share_evenly(grad, self, result)


@tangent_of(max_all)
@tangent_of(min_all)
def whole_tangent(self: Tensor, self_t: Tensor, result: Tensor) -> Tensor:
    return share_tangent(self_t, self, result)


# --- along one dimension, with indices -------------------------------------------------------


def _along(
    ufunc: Any, argument: str, name: str, array: np.ndarray, dim: int, keepdim: bool
) -> tuple[Any, Any]:
    axis = wrap_dim(dim, array.ndim)
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")
    refuse_empty(array, axis, name)
    if not array.ndim:
        return array.copy(), np.zeros_like(array, INT64)
    indices = getattr(array, argument)(axis, keepdims=keepdim)
    return np.asarray(_reduced(ufunc, array, (axis,), keepdim)), np.asarray(indices)


@op(
    label="max",
    node="MaxBackward0",
    outputs=("values", "indices"),
    nondifferentiable=(1,),
    returns=return_types.max,
    out=True,
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def max_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the largest elements along a dimension, and where the first of them is."""
    return _along(np.maximum, "argmax", "max", self, dim, keepdim)


@op(
    label="min",
    node="MinBackward0",
    outputs=("values", "indices"),
    nondifferentiable=(1,),
    returns=return_types.min,
    out=True,
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def min_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the smallest elements along a dimension, and where the first of them is."""
    return _along(np.minimum, "argmin", "min", self, dim, keepdim)


@derivative(max_dim, wrt="self")
@derivative(min_dim, wrt="self")
def along_self(grad_values: Any, indices: Any, self_shape: Shape, dim: int, keepdim: bool) -> Any:
    return put_along(grad_values, self_shape, dim, indices, keepdim)


@tangent_of(max_dim)
@tangent_of(min_dim)
def along_tangent(self_t: Tensor, indices: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, None]:
    return take_along(self_t, dim, indices, keepdim), None


@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.max: ...
@overload
def max(
    input: Tensor, *, axis: int, keepdims: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@composite(
    quick="reduced(local.state, 2, input)"
    " if dim is other is axis is ABSENT and out is None else None"
)
def max(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    other: Any = ABSENT,
    out: Any = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Any:
    """Find the largest element, of all or along a dimension; nan is larger than any number.

    `max(input, other)` with a second tensor is `maximum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
        evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

    Example:
        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
    """
    if dim is ABSENT and other is ABSENT and axis is ABSENT and out is None:
        return max_all(input)  # 0.1 us less
    keepdim = keepdim or keepdims
    return _public(max_all, max_dim, maximum, input, dim, keepdim, other, out, axis)


@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None
) -> return_types.min: ...
@overload
def min(
    input: Tensor, *, axis: int, keepdims: bool = False, out: Sequence[Tensor] | None = None
) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@composite(
    quick="reduced(local.state, 3, input)"
    " if dim is other is axis is ABSENT and out is None else None"
)
def min(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    other: Any = ABSENT,
    out: Any = None,
    axis: Any = ABSENT,
    keepdims: bool = False,
) -> Any:
    """Find the smallest element, of all or along a dimension; nan is smaller than any number.

    `min(input, other)` with a second tensor is `minimum`.

    Args:
        input: a tensor.
        dim: dimension to search along; by default all elements are searched.
        keepdim: keep the reduced dimensions, with length 1.
        other: a tensor to compare with instead, element by element.
        out: tensor, or pair of tensors, that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`.

    Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
        shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
        with it.

    Example:
        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
    """
    if dim is ABSENT and other is ABSENT and axis is ABSENT and out is None:
        return min_all(input)  # 0.1 us less
    keepdim = keepdim or keepdims
    return _public(min_all, min_dim, minimum, input, dim, keepdim, other, out, axis)


_OVERLOADS = (
    "(Tensor input, *, Tensor out = None)",
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)",
)


def _public(
    whole: Any,
    along: Any,
    binary: Any,
    input: Tensor,
    dim: Any,
    keepdim: bool,
    other: Any,
    out: Any,
    axis: Any,
) -> Any:
    if dim is ABSENT:
        dim = axis if other is ABSENT else other
    if dim is ABSENT:
        return whole(input) if out is None else run_out(whole.op, (input,), out)
    if isinstance(dim, Tensor) and isinstance(input, Tensor):
        return binary(input, dim) if out is None else run_out(binary.op, (input, dim), out)
    if not isinstance(dim, int) or not isinstance(input, (Tensor, np.ndarray)):
        raise invalid_combination(whole.op.label, (input, dim), _OVERLOADS)
    if out is not None:
        return run_out(along.op, (input, dim, keepdim), out)
    return along(input, dim, keepdim)


# --- amax, amin, aminmax ---------------------------------------------------------------------


def _over(ufunc: Any, name: str, array: np.ndarray, dim: Dims, keepdim: bool) -> Any:
    axes = axes_of(dim, array.ndim)
    if not dim and not array.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    for each in dim or ():
        refuse_empty(array, each, name)
    if array.dtype.kind == "c":
        raise no_kernel("max_values_cpu" if name == "amax" else "min_values_cpu", array.dtype)
    return _reduced(ufunc, array, axes, keepdim)


@op(label="amax", node="AmaxBackward0", out=True, public=False, method=False, layout=ROW_MAJOR)
def amax_dim(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """Find the largest elements along dimensions."""
    return _over(np.maximum, "amax", self, dim, keepdim)


@op(label="amin", node="AminBackward0", out=True, public=False, method=False, layout=ROW_MAJOR)
def amin_dim(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """Find the smallest elements along dimensions."""
    return _over(np.minimum, "amin", self, dim, keepdim)


@derivative(amax_dim, wrt="self")
@derivative(amin_dim, wrt="self")
def over_self(grad: Any, self: Any, result: Any, dim: Dims, keepdim: bool) -> Any:
    mask = self == viewed_unreduced(result, self.shape, dim, keepdim)
    return mask * (viewed_unreduced(grad, self.shape, dim, keepdim) / sum_dim(mask, dim, True))


@tangent_of(amax_dim)
@tangent_of(amin_dim)
def over_tangent(self: Tensor, self_t: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    mask = self == viewed_unreduced(result, self.shape, dim, keepdim)
    return sum_dim(filled(self_t, ~mask, 0), dim, keepdim) / sum_dim(mask, dim, keepdim)


@composite()
def amax(
    input: Tensor,
    dim: Any = (),
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Any = (),
    keepdims: bool = False,
) -> Tensor:
    """Find the largest elements along dimensions, by default of all.

    Equal largest elements share the gradient evenly.

    >>> import taper
    >>> taper.amax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
    tensor([2., 3.])
    """
    dims = dims_of(axis if dim == () else dim, "amax") or ()
    keepdim = keepdim or keepdims
    if out is not None:
        return run_out(amax_dim.op, (input, dims, keepdim), out)
    return amax_dim(input, dims, keepdim)


@composite()
def amin(
    input: Tensor,
    dim: Any = (),
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Any = (),
    keepdims: bool = False,
) -> Tensor:
    """Find the smallest elements along dimensions, by default of all.

    Equal smallest elements share the gradient evenly.

    >>> import taper
    >>> taper.amin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
    tensor([1., 0.])
    """
    dims = dims_of(axis if dim == () else dim, "amin") or ()
    keepdim = keepdim or keepdims
    if out is not None:
        return run_out(amin_dim.op, (input, dims, keepdim), out)
    return amin_dim(input, dims, keepdim)


@op(outputs=("min", "max"), returns=return_types.aminmax, out=True, layout=ROW_MAJOR)
def aminmax(self: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """Find the smallest and the largest element, of all or along a dimension.

    >>> import taper
    >>> taper.aminmax(taper.tensor([1.0, 3.0, 2.0]))
    torch.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
    if dim is None and not self.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    axis = None if dim is None else wrap_dim(dim, self.ndim)
    if axis is not None and self.ndim and not self.shape[axis]:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    if self.dtype.kind == "c":
        if axis is not None and not self.ndim:
            raise RuntimeError(f"aminmax not implemented for {scalar_type(self.dtype)}")
        raise no_kernel("aminmax_cpu", self.dtype)
    if not self.ndim:
        axis = None
    low = np.minimum.reduce(self, axis=axis, keepdims=keepdim)  # type: ignore[call-overload]
    high = np.maximum.reduce(self, axis=axis, keepdims=keepdim)  # type: ignore[call-overload]
    return np.asarray(low), np.asarray(high)


@derivative(aminmax, wrt="self")
def aminmax_self(
    self: Any,
    min: Any,
    max: Any,
    dim: int | None,
    keepdim: bool,
    grad_min: Any = None,
    grad_max: Any = None,
) -> Any:
    dims = () if dim is None else (dim,)
    of_min = of_max = None
    if grad_min is not None:
        of_min = over_self(grad_min, self, min, dims, keepdim)
    if grad_max is not None:
        of_max = over_self(grad_max, self, max, dims, keepdim)
    if of_min is None or of_max is None:
        return of_max if of_min is None else of_min
    return of_min + of_max


@tangent_of(aminmax)
def aminmax_tangent(
    self: Tensor, self_t: Tensor, min: Tensor, max: Tensor, dim: int | None, keepdim: bool
) -> tuple[Tensor, Tensor]:
    dims = () if dim is None else (dim,)
    return (
        over_tangent(self, self_t, min, dims, keepdim),
        over_tangent(self, self_t, max, dims, keepdim),
    )


# --- argmax, argmin --------------------------------------------------------------------------


def _index(argument: str, array: np.ndarray, dim: int | None, keepdim: bool) -> Any:
    if array.dtype.kind in "bc":
        kind = "bool" if array.dtype.kind == "b" else "complex"
        raise RuntimeError(f"{argument}(): does not support {kind} input")
    if dim is None:
        if not array.size:
            raise IndexError(
                f"{argument}(): Expected reduction dim to be specified for input.numel() == 0."
            )
        place = getattr(array, argument)()
        return np.reshape(place, (1,) * array.ndim) if keepdim else place
    axis = wrap_dim(dim, array.ndim)
    refuse_empty(array, axis, argument)
    if not array.ndim:
        return np.zeros((), INT64)
    return getattr(array, argument)(axis, keepdims=keepdim)


@op(label="argmax", out=True, public=False, method=False)
def argmax_dim(self: Array, dim: int | None, keepdim: bool = False) -> Array:
    """Find the index of the largest element."""
    return _index("argmax", self, dim, keepdim)


@op(label="argmin", out=True, public=False, method=False)
def argmin_dim(self: Array, dim: int | None, keepdim: bool = False) -> Array:
    """Find the index of the smallest element."""
    return _index("argmin", self, dim, keepdim)


@composite()
def argmax(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Find the index of the largest element.

    Args:
        input: a tensor.
        dim: dimension to search along; by default the index counts in the flattened tensor.
        keepdim: keep the reduced dimensions, with length 1.
        out: tensor that receives the result.
        axis, keepdims: NumPy's names for `dim` and `keepdim`.

    Shape: `input` without the dimension `dim`, in int64; of equal elements the first counts.

    Example:
        >>> import taper
        >>> taper.argmax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
        tensor([1, 0])
    """
    dim, keepdim = _one_dim(axis if dim is None else dim, "argmax"), keepdim or keepdims
    if out is not None:
        return run_out(argmax_dim.op, (input, dim, keepdim), out)
    return argmax_dim(input, dim, keepdim)


@composite()
def argmin(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Find the index of the smallest element, in the flattened tensor or along a dimension.

    >>> import taper
    >>> taper.argmin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
    tensor([0, 1])
    """
    dim, keepdim = _one_dim(axis if dim is None else dim, "argmin"), keepdim or keepdims
    if out is not None:
        return run_out(argmin_dim.op, (input, dim, keepdim), out)
    return argmin_dim(input, dim, keepdim)


def _one_dim(dim: Any, function: str) -> int | None:
    if dim is not None and not isinstance(dim, int):
        raise TypeError(f"{function}(): argument 'dim' must be int, not {type(dim).__name__}")
    return dim
