"""Reductions and normalizations of tensors in which a mask leaves elements out.

An element that is left out is replaced by the number that changes nothing: 0 for sums, 1 for
products, -inf for maxima.  So gradients and node names follow from the operators used.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper import dtypes
from taper.device import sparse_coo, sparse_csr, strided
from taper.ops.creation.data import as_tensor
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.clamping import clamp_min, maximum
from taper.tensor import Tensor

Dims = int | tuple[int, ...] | list[int] | None


def _whole(mask: Tensor | None, input: Tensor) -> Tensor | None:
    """Return the mask in the shape of the input, as bools."""
    if mask is None:
        return None
    wide = mask if mask.shape == input.shape else mask.expand(input.shape)
    return wide if wide.dtype is dtypes.bool_ else wide.to(dtypes.bool_)


def _replaced(input: Tensor, mask: Tensor | None, number: Any) -> Tensor:
    """Return the input with a number where the mask leaves elements out."""
    whole = _whole(mask, input)
    if whole is None:
        return input
    found: Tensor = where(whole, input, as_tensor(number, dtype=input.dtype))
    return found


def _in_dtype(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else input.to(dtype)


def _axes(dim: Any, input: Tensor) -> tuple[int, ...]:
    """Return the dimensions to reduce; none given means all."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _dense(name: str, input: Tensor, also: Any = ()) -> None:
    if input.layout is not strided and input.layout not in also:
        kinds = "strided or sparse_csr tensor" if name == "mean" else "strided tensor"
        raise ValueError(f"masked {name} expects {kinds} (got {input.layout} tensor)")


def _smallest(dtype: dtypes.dtype) -> Any:
    if dtype.is_floating_point:
        return -math.inf
    return False if dtype is dtypes.bool_ else int(np.iinfo(dtype.numpy).min)


def _largest(dtype: dtypes.dtype) -> Any:
    if dtype.is_floating_point:
        return math.inf
    return True if dtype is dtypes.bool_ else int(np.iinfo(dtype.numpy).max)


def _count(input: Tensor, mask: Tensor | None, axes: tuple[int, ...], keepdim: Any) -> Tensor:
    """Return how many elements count."""
    whole = _whole(mask, input)
    ones = input.new_ones(input.shape, dtype=dtypes.int64) if whole is None else whole
    found: Tensor = ones.sum(axes, bool(keepdim), dtype=dtypes.int64)
    return found


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Add up the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.sum(x, mask=mask)
        tensor(5.)
    """
    given = _in_dtype(input, dtype)
    if given.layout in (sparse_coo, sparse_csr):
        chosen: Any = given if mask is None else given.sparse_mask(mask)
        total: Tensor = chosen.sum(_axes(dim, given), bool(keepdim))
        return total
    _dense("sum", given)
    found: Tensor = _replaced(given, mask, 0).sum(_axes(dim, given), bool(keepdim), dtype=dtype)
    return found


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Multiply the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.prod(x, mask=mask)
        tensor(4.)
    """
    found = _replaced(_in_dtype(input, dtype), mask, 1)
    _dense("prod", found)
    for axis in sorted({each % found.ndim for each in _axes(dim, found)}, reverse=True):
        found = found.prod(axis, keepdim=bool(keepdim))
    return found


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Average the elements that count; none give NaN.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.mean(x, mask=mask)
        tensor(2.5000)
    """
    given = _in_dtype(input, dtype)
    if not (given.dtype.is_floating_point or given.dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {given.dtype}"
        )
    _dense("mean", given)
    axes = _axes(dim, given)
    if mask is None:
        return given.mean(axes, bool(keepdim))
    total: Tensor = sum(given, axes, keepdim=keepdim, mask=mask)
    return total / _count(given, mask, axes, keepdim)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Find the largest of the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.amax(x, mask=mask)
        tensor(4.)
    """
    given = _in_dtype(input, dtype)
    if given.layout is sparse_csr and mask is None:
        raise ValueError("masked amax expects explicit mask for sparse_csr tensor input")
    _dense("amax", given)
    found: Tensor = _replaced(given, mask, _smallest(given.dtype)).amax(
        _axes(dim, given), bool(keepdim)
    )
    return found


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Find the smallest of the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.amin(x, mask=mask)
        tensor(1.)
    """
    given = _in_dtype(input, dtype)
    if given.layout is sparse_csr and mask is None:
        raise ValueError("masked amin expects explicit mask for sparse_csr tensor input")
    _dense("amin", given)
    found: Tensor = _replaced(given, mask, _largest(given.dtype)).amin(
        _axes(dim, given), bool(keepdim)
    )
    return found


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Find the index of the largest of the elements that count, in the dtype of `input`.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.argmax(x, mask=mask)
        tensor(2.)
    """
    given = _in_dtype(input, dtype)
    _dense("argmax", given)
    found: Tensor = _replaced(given, mask, _smallest(given.dtype)).argmax(dim, bool(keepdim))
    return found.to(given.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Find the index of the smallest of the elements that count, in the dtype of `input`.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.argmin(x, mask=mask)
        tensor(0.)
    """
    given = _in_dtype(input, dtype)
    _dense("argmin", given)
    found: Tensor = _replaced(given, mask, _largest(given.dtype)).argmin(dim, bool(keepdim))
    return found.to(given.dtype)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Find the median of the elements that count, the lower of two.

    Args:
        input: the tensor.
        dim: dimension to reduce; the last by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.median(x, mask=mask)
        tensor(1.)
    """
    given = _in_dtype(input, dtype)
    _dense("median", given)
    if not given.dtype.is_floating_point and mask is not None:
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating")
    found: Any = _replaced(given, mask, math.nan if given.dtype.is_floating_point else 0)
    return found.nanmedian(dim, bool(keepdim)).values


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Take the norm of the elements that count.

    Args:
        input: the tensor.
        ord: order of the norm.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.norm(x, mask=mask)
        tensor(4.1231)
    """
    given = _in_dtype(input, dtype)
    _dense("norm", given)
    order = 2.0 if ord is None else ord
    number = math.inf if order == -math.inf else 0
    found: Any = _replaced(given, mask, number)
    return found.norm(order, _axes(dim, given), bool(keepdim))


def _variance(
    input: Tensor, dim: Dims, correction: float, keepdim: Any, dtype: Any, mask: Tensor | None
) -> Tensor:
    given = _in_dtype(input, dtype)
    if not (given.dtype.is_floating_point or given.dtype.is_complex):
        given = given.to(dtypes.default.float)
    _dense("var", given)
    axes = _axes(dim, given)
    count = _count(given, mask, axes, True)
    distance = given - sum(given, axes, keepdim=True, mask=mask) / count
    total = sum(distance * distance.conj(), axes, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction:
        count = maximum(count - correction, count.new_zeros(()))
    return total / count


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if correction is not None:
        return correction
    return 0 if unbiased is False else 1


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the variance of the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        unbiased: whether to divide by one less than the number of elements; True by default.
        correction: what to subtract from the number of elements, in the place of `unbiased`.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.var(x, mask=mask)
        tensor(4.5000)
    """
    return _variance(input, dim, _correction(unbiased, correction), keepdim, dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the standard deviation of the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        unbiased: whether to divide by one less than the number of elements; True by default.
        correction: what to subtract from the number of elements, in the place of `unbiased`.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.std(x, mask=mask)
        tensor(2.1213)
    """
    return _variance(input, dim, _correction(unbiased, correction), keepdim, dtype, mask).sqrt()


def softmax(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Take the softmax of the elements that count; the others give 0.

    Args:
        input: the tensor.
        dim: the dimension.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.softmax(x, 0, mask=mask)
        tensor([0.0474, 0.0000, 0.9526])
    """
    given = _in_dtype(input, dtype)
    _dense("softmax", given)
    found: Tensor = _replaced(given, mask, -math.inf).softmax(dim)
    return found


def log_softmax(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Take the logarithm of the softmax of the elements that count.

    Args:
        input: the tensor.
        dim: the dimension.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.log_softmax(x, 0, mask=mask)
        tensor([-3.0486,    -inf, -0.0486])
    """
    given = _in_dtype(input, dtype)
    _dense("log_softmax", given)
    found: Tensor = _replaced(given, mask, -math.inf).log_softmax(dim)
    return found


def cumsum(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Add up the elements that count, up to each one.

    Args:
        input: the tensor.
        dim: the dimension.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.cumsum(x, 0, mask=mask)
        tensor([1., 1., 5.])
    """
    given = _in_dtype(input, dtype)
    _dense("cumsum", given)
    found: Tensor = _replaced(given, mask, 0).cumsum(dim)
    return found


def cumprod(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Multiply the elements that count, up to each one.

    Args:
        input: the tensor.
        dim: the dimension.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.cumprod(x, 0, mask=mask)
        tensor([1., 1., 4.])
    """
    given = _in_dtype(input, dtype)
    _dense("cumprod", given)
    found: Tensor = _replaced(given, mask, 1).cumprod(dim)
    return found


def softmin(
    input: Tensor,
    dim: int,
    *,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Take the softmax of the negative elements that count; the others give 0.

    Args:
        input: the tensor.
        dim: the dimension.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.softmin(x, 0, mask=mask)
        tensor([0.9526, 0.0000, 0.0474])
    """
    given = _in_dtype(input, dtype)
    _dense("softmin", given)
    found: Tensor = (-_replaced(given, mask, math.inf)).softmax(dim)
    return found


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divide the elements that count by their norm; the others give 0.

    Args:
        input: the tensor.
        ord: order of the norm.
        dim: the dimension.
        eps: the smallest divisor.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.normalize(x, 2.0, 0, mask=mask)
        tensor([0.2425, 0.0000, 0.9701])
    """
    given = _in_dtype(input, dtype)
    _dense("normalize", given)
    size = clamp_min(norm(given, ord, dim, keepdim=True, mask=mask), eps)
    return _replaced(given, mask, 0) / size


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Take the logarithm of the sum of the exponentials of the elements that count.

    Args:
        input: the tensor.
        dim: dimension or dimensions to reduce; all by default.
        keepdim: keep the reduced dimensions, with length 1.
        dtype: dtype that `input` is converted to first.
        mask: True for the elements that count; must broadcast to `input`.

    Example:
        >>> import taper
        >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
        >>> taper.masked.logsumexp(x, mask=mask)
        tensor(4.0486)
    """
    given = _in_dtype(input, dtype)
    _dense("logsumexp", given)
    found: Tensor = _replaced(given, mask, -math.inf).logsumexp(_axes(dim, given), bool(keepdim))
    return found


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Take the logarithm of the sum of two exponentials, of those that count.

    Args:
        input: the first tensor.
        other: the second tensor.
        dtype: dtype that both are converted to first.
        input_mask, other_mask: True for the elements that count.

    Example:
        >>> import taper
        >>> x = taper.zeros(2)
        >>> taper.masked.logaddexp(x, x, other_mask=taper.tensor([True, False]))
        tensor([0.6931, 0.0000])
    """
    one = _replaced(_in_dtype(input, dtype), input_mask, -math.inf)
    two = _replaced(_in_dtype(other, dtype), other_mask, -math.inf)
    found: Tensor = one.logaddexp(two)
    return found
