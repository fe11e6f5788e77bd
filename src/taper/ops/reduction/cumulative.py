"""Running sums, products, extrema and differences along one dimension.

Sums and products are accumulated in float64 and rounded once, as PyTorch does on the CPU.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from taper import return_types
from taper.arrays.elements import FLOAT32, FLOAT64, INT64
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.native import native
from taper.arrays.reduction import converted
from taper.arrays.special_functions import complex_logaddexp
from taper.arrays.strides import copied_in_rows, wrap_dim
from taper.dtypes import no_kernel
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.opdef.writes import compute_into
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.unary import exp, log
from taper.ops.reduction.along import filled, put_along, take_along
from taper.ops.shape.split import cat
from taper.tensor import Tensor, array_of, is_complex, wrap


def _accumulated(ufunc: Any, array: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    """Run `ufunc.accumulate` along a dimension in PyTorch's result dtype and precision."""
    dim = wrap_dim(dim, array.ndim)
    if dtype is not None:
        target = dtype.numpy
        array = array if array.dtype is target else converted(array, target)
    else:
        target = array.dtype if array.dtype.kind in "fcV" else INT64
    if not array.ndim:
        return array.astype(target)
    if target.kind == "b" and array.size:
        raise no_kernel(f"cum{'sum' if ufunc is np.add else 'prod'}_out_cpu", target)
    if target.kind in "fV":
        if native is not None and ufunc is np.add:
            found: np.ndarray | None = native.running_sums(array, dim)
            if found is not None:
                return found
        return ufunc.accumulate(array, dim, FLOAT64).astype(target, copy=False)
    if target.kind == "c":
        return ufunc.accumulate(array, dim, np.complex128).astype(target, copy=False)
    return ufunc.accumulate(array, dim, target)


# --- cumsum ----------------------------------------------------------------------------------


@op(tangent=LINEAR, inplace=True, out=True, layout=ROW_MAJOR)
def cumsum(self: Array, dim: int, *, dtype: Any = None) -> Array:
    """Add up the elements from the first to each one, along a dimension.

    result[i] = input[0] + … + input[i]

    Args:
        input: a tensor; integers and bools are added in int64.
        dim: dimension to go along.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.cumsum(taper.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([1., 3., 6.])
    """
    if dtype is None and native is not None and self.dtype is FLOAT32:
        found: np.ndarray | None = native.running_sums(self, dim)
        if found is not None:
            return found  # 0.2 us less
    return _accumulated(np.add, self, dim, dtype)


@derivative(cumsum, wrt="self")
def cumsum_self(grad: Any, dim: int) -> Any:
    return reverse_cumsum(grad, dim)


@op(tangent=LINEAR, public=False, method=False)
def reverse_cumsum(self: Array, dim: int) -> Array:
    """Sum the elements from each one to the end."""
    if not self.ndim:
        return self.copy()
    total = _accumulated(np.add, copied_in_rows(np.flip(self, dim)), dim, None)
    return copied_in_rows(np.flip(total, dim))


@derivative(reverse_cumsum, wrt="self")
def reverse_cumsum_self(grad: Any, dim: int) -> Any:
    return cumsum(grad, dim)


# --- cumprod ---------------------------------------------------------------------------------


@op(inplace=True, out=True, layout=ROW_MAJOR)
def cumprod(self: Array, dim: int, *, dtype: Any = None) -> Array:
    """Multiply the elements up to each one along a dimension; integers in int64.

    >>> import taper
    >>> taper.cumprod(taper.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
    return _accumulated(np.multiply, self, dim, dtype)


@derivative(cumprod, wrt="self")
def cumprod_self(grad: Any, self: Any, result: Any, dim: int) -> Any:
    if not self.ndim or 0 in self.shape or self.shape[dim] == 1:
        return grad
    if not has_zero(self):
        return reverse_cumsum(grad * conj(result), dim) / conj(self)
    if isinstance(grad, Tensor):
        dim = wrap_dim(dim, self.ndim)
        others = conj(cumprod(leave_one_out(self, dim), dim + 1))
        return (others * _not_before(self, dim) * grad.unsqueeze(dim)).sum(dim + 1)
    # Before the first zero all is as above; the zero's gradient is that of the product without it.
    zeros_so_far = np.cumsum(self == 0, dim)
    first = (self == 0) & (zeros_so_far == 1)
    ordinary = reverse_cumsum(grad * conj(result), dim) / np.where(zeros_so_far, 1, conj(self))
    at_first = reverse_cumsum(grad * conj(cumprod(filled(self, first, 1), dim)), dim)
    return np.where(first, at_first, filled(ordinary, zeros_so_far > 0, 0))


@tangent_of(cumprod)
def cumprod_tangent(self: Tensor, self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    if not has_zero(self):
        return result * cumsum(self_t / self, dim)
    if not self.ndim:
        return self_t
    # From the first zero on, only its own tangent counts.
    zeros_so_far = (self == 0).cumsum(dim)
    behind = cumprod(self_t.where((self == 0) & (zeros_so_far == 1), self), dim)
    before = cumsum(self_t / filled(self, zeros_so_far > 0, 1), dim) * result
    return behind.where(zeros_so_far > 0, before)


def has_zero(values: Any) -> bool:
    """Tell whether there is a zero, where products cannot be divided by a factor."""
    array = array_of(values)
    return not array.all()


def leave_one_out(values: Tensor, dim: int) -> Tensor:
    """Add a dimension before `dim` whose entry i holds the values with a one in place i.

    Products over it are those without factor i, differentiable to any order even at zeros.
    """
    length = values._array.shape[dim]
    shape = values._array.shape
    copies = values.unsqueeze(dim).expand(*shape[:dim], length, *shape[dim:])
    return copies.masked_fill(_square(np.eye(length, dtype=bool), values, dim), 1.0)


def _not_before(values: Tensor, dim: int) -> Tensor:
    """Return one where the second of two equal dimensions is not before the first, else zero."""
    length = values._array.shape[dim]
    return _square(np.triu(np.ones((length, length), values._array.dtype)), values, dim)


def _square(matrix: np.ndarray, values: Tensor, dim: int) -> Tensor:
    return wrap(matrix.reshape(*matrix.shape, *(1,) * (values.ndim - dim - 1)))


# --- cummax, cummin --------------------------------------------------------------------------


def _running(ufunc: Any, name: str, array: np.ndarray, dim: int) -> tuple[Any, Any]:
    """Find running extrema and their places: of equal elements the last; NaN wins."""
    dim = wrap_dim(dim, array.ndim)
    if array.dtype.kind == "c" and array.ndim and array.size:
        raise no_kernel(f"{name}_cpu", array.dtype)
    if not array.ndim:
        return array.copy(), np.zeros_like(array, INT64)
    values = ufunc.accumulate(array, dim)
    shape = (-1,) + (1,) * (array.ndim - dim - 1)
    places = np.arange(array.shape[dim]).reshape(shape)
    reached = (array == values) | (array != array)
    return values, np.maximum.accumulate(np.where(reached, places, 0), dim)


@op(
    outputs=("values", "indices"),
    nondifferentiable=(1,),
    returns=return_types.cummax,
    complex_gradient=False,
    out=True,
    layout=ROW_MAJOR,
)
def cummax(self: Array, dim: int) -> tuple[Array, Array]:
    """Find the largest element up to each one along a dimension, and where it is.

    >>> import taper
    >>> taper.cummax(taper.tensor([1.0, 3.0, 2.0]), dim=0).indices
    tensor([0, 1, 1])
    """
    return _running(np.maximum, "cummax", self, dim)


@op(
    outputs=("values", "indices"),
    nondifferentiable=(1,),
    returns=return_types.cummin,
    complex_gradient=False,
    out=True,
    layout=ROW_MAJOR,
)
def cummin(self: Array, dim: int) -> tuple[Array, Array]:
    """Find the smallest element up to each one along a dimension, and where it is.

    >>> import taper
    >>> taper.cummin(taper.tensor([2.0, 3.0, 1.0]), dim=0).values
    tensor([2., 2., 1.])
    """
    return _running(np.minimum, "cummin", self, dim)


@derivative(cummax, wrt="self")
@derivative(cummin, wrt="self")
def running_self(grad_values: Any, self: Any, indices: Any, dim: int) -> Any:
    return put_along(grad_values, tuple(self.shape), dim, indices, True, False)


@tangent_of(cummax)
@tangent_of(cummin)
def running_tangent(self_t: Tensor, indices: Tensor, dim: int) -> tuple[Tensor, None]:
    return take_along(self_t, dim, indices), None


# --- logcumsumexp ----------------------------------------------------------------------------


@op(out=True, layout=ROW_MAJOR)
def logcumsumexp(self: Array, dim: int) -> Array:
    """Take the logarithm of the running sum of exponentials along a dimension, without overflow.

    >>> import taper
    >>> taper.logcumsumexp(taper.tensor([0.0, 0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931, 1.0986])
    """
    if self.dtype.kind not in "fcV":
        raise no_kernel("logcumsumexp_out_cpu", self.dtype)
    dim = wrap_dim(dim, self.ndim)
    if not self.ndim:
        return self.copy()
    if self.dtype.kind != "c":
        return np.logaddexp.accumulate(self, dim, FLOAT64).astype(self.dtype, copy=False)
    result = np.empty(self.shape, self.dtype)
    values, sums = np.moveaxis(self, dim, 0), np.moveaxis(result, dim, 0)
    total = np.full(values.shape[1:], -np.inf, np.complex128)
    for nr in range(len(values)):
        total = complex_logaddexp(values[nr].astype(np.complex128), total)
        sums[nr] = total
    return result


@derivative(logcumsumexp, wrt="self")
def logcumsumexp_self(grad: Any, self: Any, result: Any, dim: int) -> Any:
    if not self.ndim or 0 in self.shape:
        return grad
    if is_complex(self):
        remaining = logcumsumexp(_flipped(log(conj(grad)) - result, dim), dim)
        return conj(exp(_flipped(remaining, dim) + self))
    # Computed in logarithms, apart for positive and negative gradients, so that nothing overflows.
    positive = _flipped(_log_positive(grad) - result, dim)
    negative = _flipped(_log_positive(-grad) - result, dim)
    return exp(_flipped(logcumsumexp(positive, dim), dim) + self) - exp(
        _flipped(logcumsumexp(negative, dim), dim) + self
    )


@tangent_of(logcumsumexp)
def logcumsumexp_tangent(self: Tensor, self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    if is_complex(self):
        return exp(logcumsumexp(log(self_t) + self, dim) - result)
    positive = logcumsumexp(_log_positive(self_t) + self, dim)
    negative = logcumsumexp(_log_positive(-self_t) + self, dim)
    return exp(positive - result) - exp(negative - result)


def _log_positive(value: Any) -> Any:
    """Take the logarithm of positive elements; others give the lowest number and no gradient.

    The lowest number is finite, so that the difference of two of them is not NaN.
    """
    others = value <= 0
    array = array_of(value)
    lowest = float(ml_dtypes.finfo(array.dtype).min)
    return filled(log(filled(value, others, 1.0)), others, lowest)


def _flipped(value: Any, dim: int) -> Any:
    return value.flip(dim) if isinstance(value, Tensor) else np.flip(value, dim)


# --- diff ------------------------------------------------------------------------------------


@composite()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
    axis: int | None = None,
) -> Tensor:
    """Subtract neighbours along a dimension, `n` times over.

    `prepend` and `append` are joined to the input first.

    >>> import taper
    >>> taper.diff(taper.tensor([1, 3, 7]))
    tensor([2, 4])
    """
    dim = dim if axis is None else axis
    if out is not None:
        return compute_into("sub", diff, (input, n, dim, prepend, append), out)
    ndim = input.ndim
    if not ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    ends = [each for each in (prepend, append) if each is not None]
    position = wrap_dim(dim, ndim) if n or ends else 0
    for each in ends:
        _check_end(input, each, position)
    result = input
    if ends and n:  # as in PyTorch, not joined where the input is only copied
        parts = [each for each in (prepend, input, append) if each is not None]
        result = cat(parts, dim)
    return _differences(result, n, dim)


def _check_end(input: Tensor, end: Tensor, dim: int) -> None:
    if not isinstance(end, Tensor):
        raise TypeError(f"diff(): argument 'prepend' must be Tensor, not {type(end).__name__}")
    if end.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for nr, (length, other) in enumerate(zip(input.shape, end.shape, strict=True)):
        if nr != dim and length != other:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({nr}) = {length}, but got "
                f"tensor.size({nr}) = {other}"
            )


def _differences(values: Tensor, n: int, dim: int) -> Tensor:
    if n == 0:
        return values.detach().clone().copy_(values)
    length = values.shape[dim]
    if n >= length > 0:
        n = length
    for _ in range(n):
        length = values.shape[dim]
        if not length:
            break
        earlier, later = values.narrow(dim, 0, length - 1), values.narrow(dim, 1, length - 1)
        if values._array.dtype.kind == "b":
            values = later != earlier
        else:
            values = later - earlier
    return values
