"""make_tensor: random tensors for tests, with PyTorch's numbers for the same seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from taper import dtypes
from taper.ops.creation.filled import empty
from taper.ops.elementwise.complexes import view_as_real
from taper.ops.random.draws import randint
from taper.tensor import Tensor
from taper.userwarning import warn_user


def make_tensor(
    *shape: int | Sequence[int],
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of random numbers from `low` up to, not including, `high`.

    Args:
        shape: the sizes, as numbers or one sequence.
        dtype: the dtype.
        device: the device.
        low: the lower bound; by default -9.  Bounds are cut to what the dtype can hold.
        high: the upper bound; by default 9, or 10 for integers.
        requires_grad: whether the tensor requires a gradient.
        noncontiguous: leave gaps between the elements in memory.
        exclude_zero: put the smallest positive number instead of zeros.
        memory_format: the memory format.

    >>> import taper
    >>> taper.testing.make_tensor(2, 3, dtype=taper.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    size: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    size = tuple(size)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    known = isinstance(dtype, dtypes.dtype)
    whole = known and dtype.category <= dtypes.INTEGER
    if requires_grad and whole:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype}"
        )
    if not known:
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To "
            "request support, file an issue at: https://github.com/pytorch/pytorch/issues"
        )
    bounds = _bounds(dtype, low, high, whole)
    apart = noncontiguous and math.prod(size) > 1
    drawn = (*size[:-1], 2 * size[-1]) if apart else size
    if whole:
        result: Any = randint(*bounds, drawn, dtype=dtype, device=device)
    else:
        result = _uniform(empty(drawn, dtype=dtype, device=device), *bounds)
    if apart:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if whole else dtypes.finfo(dtype).tiny
    if not whole:
        result.requires_grad_(requires_grad)
    return result


def _bounds(dtype: dtypes.dtype, low: Any, high: Any, whole: bool) -> tuple[Any, Any]:
    """Return the bounds, cut to what the dtype holds; raise if nothing lies between them."""
    usual = (0, 2) if dtype is dtypes.bool_ else (-9, 10) if whole else (-9, 9)
    low, high = (
        given if given is not None else by for given, by in zip((low, high), usual, strict=True)
    )
    if any(isinstance(each, float) and math.isnan(each) for each in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    lowest, highest = _range_of(dtype, whole)
    if low == high and not whole:
        warn_user(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{lowest}, {highest})"
        )
    low, high = (min(max(each, lowest), highest) for each in (low, high))
    return (math.ceil(low), math.ceil(high)) if whole else (float(low), float(high))


def _range_of(dtype: dtypes.dtype, whole: bool) -> tuple[Any, Any]:
    """Return the least value of a dtype and the end of its values, where there is one."""
    if dtype is dtypes.bool_:
        return 0, 2
    if not whole:
        return dtypes.finfo(dtype).min, dtypes.finfo(dtype).max
    limits = dtypes.iinfo(dtype)
    # The drawing functions take their bounds as int64.
    return limits.min, limits.max + (dtype is not dtypes.int64)


def _uniform(result: Any, low: float, high: float) -> Any:
    """Fill a floating or complex tensor with numbers between the bounds."""
    parts = view_as_real(result) if result.is_complex() else result
    if high - low > dtypes.finfo(parts.dtype).max:  # the width of the interval would overflow
        parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        parts.uniform_(low, high)
    return result
