"""Reductions and normalizations of tensors in which a mask leaves elements out.

An element that is left out is replaced by the number that changes nothing: 0 for sums, 1 for
products, -inf for maxima.  So gradients and node names follow from the operators used.

A function is written with all arguments by position; `_reduction` and `_along` give it the
signature of its family, and all of them get the same words about their arguments.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from taper import dtypes
from taper.device import sparse_coo, sparse_csr, strided
from taper.ops.creation.data import as_tensor
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.clamping import clamp_min, maximum
from taper.tensor import Tensor

Dims = int | tuple[int, ...] | list[int] | None
Function = TypeVar("Function", bound=Callable[..., Tensor])
Dim = TypeVar("Dim", contravariant=True)

_ARGUMENTS = {
    "input": "the tensor.",
    "ord": "order of the norm.",
    "dim": "the dimension.",
    "unbiased": "whether to divide by one less than the number of elements; True by default.",
    "correction": "what to subtract from the number of elements, in the place of `unbiased`.",
    "eps": "the smallest divisor.",
    "keepdim": "keep the reduced dimensions, with length 1.",
    "dtype": "dtype that `input` is converted to first.",
    "mask": "True for the elements that count; must broadcast to `input`.",
}
_DIM_BY_DEFAULT = {
    None: "dimension or dimensions to reduce; all by default.",
    -1: "dimension to reduce; the last by default.",
}
_EXAMPLE = """
Example:
    >>> import taper
    >>> x, mask = taper.tensor([1.0, 2.0, 4.0]), taper.tensor([True, False, True])
    >>> taper.masked.{call}
    {shown}
"""


class Reduction(Protocol[Dim]):
    """A function that leaves out dimensions."""

    def __call__(
        self,
        input: Tensor,
        dim: Dim = ...,
        *,
        keepdim: bool | None = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor: ...


class Along(Protocol):
    """A function along one dimension, which stays."""

    def __call__(
        self, input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor: ...


def _described(call: str, shown: str) -> Callable[[Function], Function]:
    """Add arguments and an example to what the docstring says: a call and what it shows."""

    def describe(function: Function) -> Function:
        lines = [function.__doc__, "", "Args:"]
        for name, parameter in inspect.signature(function).parameters.items():
            text = _ARGUMENTS[name]
            if name == "dim":
                text = _DIM_BY_DEFAULT.get(parameter.default, text)
            lines.append(f"    {name}: {text}")
        lines.append(_EXAMPLE.format(call=call, shown=shown))
        function.__doc__ = "\n".join(map(str, lines))
        return function

    return describe


def _named_after(body: Callable[..., Any], function: Callable[..., Any]) -> None:
    function.__name__ = function.__qualname__ = body.__name__
    function.__doc__ = body.__doc__


def _reduction(
    shown: str,
) -> Callable[[Callable[[Tensor, Dim, bool, Any, Tensor | None], Any]], Reduction[Dim]]:
    """Make a reduction of (input, dim, keepdim, dtype, mask); the example shows `shown`."""

    def make(body: Callable[[Tensor, Dim, bool, Any, Tensor | None], Any]) -> Reduction[Dim]:
        def reduce(
            input: Tensor,
            dim: Any = None,
            *,
            keepdim: bool | None = False,
            dtype: Any = None,
            mask: Tensor | None = None,
        ) -> Tensor:
            found: Tensor = body(input, dim, bool(keepdim), dtype, mask)
            return found

        _named_after(body, reduce)
        reduce.__annotations__["dim"] = body.__annotations__["dim"]
        return _described(f"{body.__name__}(x, mask=mask)", shown)(reduce)

    return make


def _along(shown: str) -> Callable[[Callable[[Tensor, int, Tensor | None], Any]], Along]:
    """Make a function along a dimension of (input, dim, mask); the example shows `shown`."""

    def make(body: Callable[[Tensor, int, Tensor | None], Any]) -> Along:
        def normalize(
            input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
        ) -> Tensor:
            found: Tensor = body(_dense(body.__name__, input, dtype), dim, mask)
            return found

        _named_after(body, normalize)
        return _described(f"{body.__name__}(x, 0, mask=mask)", shown)(normalize)

    return make


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


def _dense(name: str, input: Tensor, dtype: Any = None) -> Tensor:
    """Return the input in the dtype; refuse a sparse one."""
    given = _in_dtype(input, dtype)
    if given.layout is not strided:
        kinds = "strided or sparse_csr tensor" if name == "mean" else "strided tensor"
        raise ValueError(f"masked {name} expects {kinds} (got {given.layout} tensor)")
    return given


def _with_mask(name: str, input: Tensor, dtype: Any, mask: Tensor | None) -> Tensor:
    """Return the input in the dtype; refuse a sparse one, first for want of a mask."""
    given = _in_dtype(input, dtype)
    if mask is None and given.layout is sparse_csr:
        raise ValueError(f"masked {name} expects explicit mask for sparse_csr tensor input")
    return _dense(name, given)


def _least(name: str, input: Tensor, mask: Tensor | None) -> Any:
    """Return what is below every element of the dtype."""
    return -math.inf if input.dtype.is_floating_point else _limit(name, input, mask, "min")


def _most(name: str, input: Tensor, mask: Tensor | None) -> Any:
    """Return what is above every element of the dtype."""
    return math.inf if input.dtype.is_floating_point else _limit(name, input, mask, "max")


def _limit(name: str, input: Tensor, mask: Tensor | None, which: str) -> Any:
    """Return the limit of a dtype of integers; refuse others, if it is needed for a mask."""
    if mask is None:
        return 0
    if input.dtype.is_complex:
        raise TypeError(
            "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
        )
    if input.dtype is dtypes.bool_:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    return int(getattr(np.iinfo(input.dtype.numpy), which))


def _count(input: Tensor, mask: Tensor | None, axes: tuple[int, ...], keepdim: Any) -> Tensor:
    """Return how many elements count."""
    whole = _whole(mask, input)
    ones = input.new_ones(input.shape, dtype=dtypes.int64) if whole is None else whole
    found: Tensor = ones.sum(axes, bool(keepdim), dtype=dtypes.int64)
    return found


@_reduction("tensor(5.)")
def sum(input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Add up the elements that count."""
    given = _in_dtype(input, dtype)
    if given.layout in (sparse_coo, sparse_csr):
        chosen: Any = given if mask is None else given.sparse_mask(mask)
        return chosen.sum(_axes(dim, given), keepdim)
    _dense("sum", given)
    return _replaced(given, mask, 0).sum(_axes(dim, given), keepdim, dtype=dtype)


@_reduction("tensor(4.)")
def prod(input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Multiply the elements that count."""
    given = _in_dtype(
        input, dtypes.int64 if dtype is None and input.dtype is dtypes.bool_ else dtype
    )
    found = _dense("prod", _replaced(given, mask, 1))
    for axis in sorted({each % max(found.ndim, 1) for each in _axes(dim, found)}, reverse=True):
        found = found.prod(axis, keepdim=keepdim)
    return found


@_reduction("tensor(2.5000)")
def mean(input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Average the elements that count; none give NaN."""
    given = _in_dtype(input, dtype)
    if not (given.dtype.is_floating_point or given.dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {given.dtype}"
        )
    _dense("mean", given)
    axes = _axes(dim, given)
    return sum(given, axes, keepdim=keepdim, mask=mask) / _count(given, mask, axes, keepdim)


@_reduction("tensor(4.)")
def amax(input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Find the largest of the elements that count."""
    given = _with_mask("amax", input, dtype, mask)
    return _replaced(given, mask, _least("amax", given, mask)).amax(_axes(dim, given), keepdim)


@_reduction("tensor(1.)")
def amin(input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Find the smallest of the elements that count."""
    given = _with_mask("amin", input, dtype, mask)
    return _replaced(given, mask, _most("amin", given, mask)).amin(_axes(dim, given), keepdim)


@_reduction("tensor(2.)")
def argmax(input: Tensor, dim: int | None, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Find the index of the largest of the elements that count, in the dtype of `input`."""
    given = _dense("argmax", input, dtype)
    return (
        _replaced(given, mask, _least("argmax", given, mask)).argmax(dim, keepdim).to(given.dtype)
    )


@_reduction("tensor(0.)")
def argmin(input: Tensor, dim: int | None, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Find the index of the smallest of the elements that count, in the dtype of `input`."""
    given = _dense("argmin", input, dtype)
    return _replaced(given, mask, _most("argmin", given, mask)).argmin(dim, keepdim).to(given.dtype)


@_reduction("tensor(4.0486)")
def logsumexp(input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Tensor | None) -> Any:
    """Take the logarithm of the sum of the exponentials of the elements that count."""
    given = _dense("logsumexp", input, dtype)
    number = -math.inf if given.dtype.is_complex else _least("logsumexp", given, mask)
    found: Any = _replaced(given, mask, number)
    return found.logsumexp(_axes(dim, given), keepdim).to(given.dtype)


@_described("median(x, mask=mask)", "tensor(1.)")
def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Find the median of the elements that count, the lower of two."""
    given = _dense("median", input, dtype)
    whole = _whole(mask, given)
    floating = given
    if not given.dtype.is_floating_point:
        if whole is not None and not whole.any(dim).all():
            raise ValueError(
                "masked median expects no fully masked out rows if dtype is not floating point"
            )
        floating = given.to(dtypes.default.float)
    found: Any = _replaced(floating, mask, math.nan).nanmedian(dim, bool(keepdim)).values
    return found.to(given.dtype)


@_described("norm(x, mask=mask)", "tensor(4.1231)")
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Take the norm of the elements that count."""
    given = _dense("norm", input, dtype)
    order = 2.0 if ord is None else ord
    number = math.inf if order == -math.inf else 0
    found: Any = _replaced(given, mask, number)
    return found.norm(order, _axes(dim, given), bool(keepdim))


def _variance(
    input: Tensor, dim: Dims, correction: float, keepdim: Any, dtype: Any, mask: Tensor | None
) -> Tensor:
    given = _in_dtype(input, dtype)
    _dense("var", given)
    axes = _axes(dim, given)
    count = _count(given, mask, axes, True)
    distance = given - sum(given, axes, keepdim=True, mask=mask) / count
    total = sum(distance * distance.conj(), axes, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != int(correction):
        count = count.to(total.real.dtype)
    if correction:
        count = maximum(count - correction, count.new_zeros(()))
    return total / count


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if correction is not None:
        return correction
    return 0 if unbiased is False else 1


@_described("var(x, mask=mask)", "tensor(4.5000)")
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
    """Compute the variance of the elements that count."""
    return _variance(input, dim, _correction(unbiased, correction), keepdim, dtype, mask)


@_described("std(x, mask=mask)", "tensor(2.1213)")
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
    """Compute the standard deviation of the elements that count."""
    return _variance(input, dim, _correction(unbiased, correction), keepdim, dtype, mask).sqrt()


@_along("tensor([0.0474, 0.0000, 0.9526])")
def softmax(input: Tensor, dim: int, mask: Tensor | None) -> Any:
    """Take the softmax of the elements that count; the others give 0."""
    return _replaced(input, mask, _least("amax", input, mask)).softmax(dim)


@_along("tensor([-3.0486,    -inf, -0.0486])")
def log_softmax(input: Tensor, dim: int, mask: Tensor | None) -> Any:
    """Take the logarithm of the softmax of the elements that count."""
    return _replaced(input, mask, _least("amax", input, mask)).log_softmax(dim)


@_along("tensor([1., 1., 5.])")
def cumsum(input: Tensor, dim: int, mask: Tensor | None) -> Any:
    """Add up the elements that count, up to each one."""
    return _replaced(input, mask, 0).cumsum(dim, dtype=input.dtype)


@_along("tensor([1., 1., 4.])")
def cumprod(input: Tensor, dim: int, mask: Tensor | None) -> Any:
    """Multiply the elements that count, up to each one."""
    return _replaced(input, mask, 1).cumprod(dim, dtype=input.dtype)


@_along("tensor([0.9526, 0.0000, 0.0474])")
def softmin(input: Tensor, dim: int, mask: Tensor | None) -> Any:
    """Take the softmax of the negative elements that count; the others give 0."""
    return (-_replaced(input, mask, _most("amin", input, mask))).softmax(dim)


@_described("normalize(x, 2.0, 0, mask=mask)", "tensor([0.2425, 0.0000, 0.9701])")
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divide the elements that count by their norm; the others give 0."""
    given = _dense("normalize", input, dtype)
    size = clamp_min(norm(given, ord, dim, keepdim=True, mask=mask), eps)
    return _replaced(given, mask, 0) / size


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
    pair = ((_in_dtype(input, dtype), input_mask), (_in_dtype(other, dtype), other_mask))
    one, two = (_replaced(each, mask, _least("logaddexp", each, mask)) for each, mask in pair)
    found: Tensor = one.logaddexp(two)
    return found
