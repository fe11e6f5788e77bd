"""Tensors that count or sample a curve: arange, linspace, logspace and the window functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper import dtypes
from taper.device import META, strided
from taper.dtypes import no_kernel
from taper.factory import (
    allocate,
    finish,
    integer,
    into,
    number,
    options,
    out_dtype,
    refuse_size,
    tensor_argument,
)
from taper.opdef import composite
from taper.opdef.operands import invalid_combination
from taper.tensor import Tensor
from taper.userwarning import warn_user

_UNCOUNTABLE = (dtypes.bool_, dtypes.uint16, dtypes.uint32, dtypes.uint64)


def _rounded(values: np.ndarray, which: dtypes.dtype) -> np.ndarray:
    """Convert float64 values to a dtype; half precision is rounded from float32."""
    if which.itemsize == 2 and which.is_floating_point:
        values = values.astype(np.float32)
    return values.astype(which.numpy)


# Counting.


def _real(value: Any) -> Any:
    """Check that a number is real."""
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError(
            "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
        )
    return value


def _count(start: Any, end: Any, step: Any, which: dtypes.dtype) -> int:
    """Count the values that `arange` gives."""
    if which in _UNCOUNTABLE or which.is_complex:
        raise no_kernel("arange_cpu", which)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if which is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
        return max(-((start - end) // step), 0)
    if math.isinf(step):
        return 0
    count = (float(end) - float(start)) / float(step)
    if not abs(count) < 2.0**63:
        raise RuntimeError("invalid size, possible overflow?")
    return math.ceil(count)


def _steps(start: Any, step: Any, count: int, which: dtypes.dtype) -> np.ndarray:
    """Compute `start`, `start + step` ..., each from the start, not from the one before."""
    refuse_size((count,), which.numpy)
    indices = np.arange(count)
    if which.is_floating_point:
        return _rounded(float(start) + indices * float(step), which)
    return (int(start) + indices * int(step)).astype(which.numpy)


def _arange_arguments(start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return first value, limit and step; one number alone is the limit, wherever it stands."""
    width = 1 if step is None else _real(number("arange", "step", 3, step))
    if step is None and (start is None or end is None):
        return 0, _real(number("arange", "end", 1, start if end is None else end)), width
    if start is None or end is None:
        raise TypeError("arange() received an invalid combination of arguments")
    first = _real(number("arange", "start", 1, start))
    return first, _real(number("arange", "end", 2, end)), width


@composite(
    method=False,
    quick="new_range(local.state, start, end, step, dtype, requires_grad, out, layout, device,"
    " pin_memory)",
)
def arange(
    start: Any = None,
    end: Any = None,
    step: Any = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a vector of numbers at equal distances, `end` excluded.

    result = start, start + step, start + 2·step, … below `end`

    Args:
        start: first number; 0 if only one number is given, which is then `end`.
        end: bound that is not reached.
        step: distance of neighbours, 1 by default; negative to count down.
        out: tensor that receives the result.
        dtype: dtype of the result; by default int64, or the default dtype if a number is a float.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (⌈(end - start) / step⌉,)

    Example:
        >>> import taper
        >>> taper.arange(3), taper.arange(1, 2, 0.5)
        (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    first, last, width = _arange_arguments(start, end, step)
    floating = isinstance(first, float) or isinstance(last, float) or isinstance(width, float)
    natural = dtypes.default.float if floating else dtypes.int64
    which, where = options("arange", dtype, layout, device, pin_memory, natural)
    if out is not None:
        which = out_dtype("arange", out, dtype, requires_grad)
    if where is META and out is None:
        count = _count(first, last, width, which)
        return finish(allocate((count,), which.numpy, None, where), requires_grad)
    if not floating and which is dtypes.int64 and 0 < width * (last - first) < 2**31:
        array = np.arange(first, last, width)  # the common case, in one call
    else:
        array = _steps(first, width, _count(first, last, width, which), which)
    if out is None:
        return finish(array, requires_grad, where)
    count = array.size
    if out._array.size and out._array.size != count:
        warn_user(
            f"The number of elements in the out tensor of shape {list(out._array.shape)} is "
            f"{out._array.size} which does not match the computed number of elements {count}. "
            "Note that this may occur as a result of rounding error. The out tensor will be "
            f"resized to a tensor of shape ({count},)."
        )
    return _range_into(out, array, requires_grad)


def _range_into(out: Tensor, array: np.ndarray, requires_grad: Any) -> Tensor:
    """Put values into an `out=` tensor, which keeps its shape if it has as many elements."""
    fits = out._array.size == array.size
    return into(out, array.reshape(out._array.shape) if fits else array, requires_grad)


def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a vector of numbers from `start` up to and including `end`; deprecated: use `arange`.

    >>> import taper, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     taper.range(1, 3)
    tensor([1., 2., 3.])
    """
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior "
        "is inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end)."
    )
    first = _real(number("range", "start", 1, start))
    last = _real(number("range", "end", 2, end))
    width = _real(number("range", "step", 3, step))
    which, where = options("range", dtype, layout, device, pin_memory)
    if out is not None:
        which = out_dtype("range", out, dtype, requires_grad)
    _count(first, last, width, dtypes.float64)
    count = math.floor((last - first) / width) + 1
    array = _steps(first, width, count, which)
    if out is not None:
        return _range_into(out, array, requires_grad)
    return finish(array, requires_grad, where)


# Sampling a line.


def _end_points(function: str, start: Any, end: Any) -> tuple[Any, Any]:
    """Return start and end as numbers; they may be tensors without dimensions."""
    tensors = {"start": start, "end": end}
    tensors = {name: each for name, each in tensors.items() if isinstance(each, Tensor)}
    if any(each._array.ndim for each in tensors.values()):
        found = [f"{name} with {each._array.ndim} dimension(s)" for name, each in tensors.items()]
        raise RuntimeError(
            f"{function} only supports 0-dimensional start and end tensors, but got "
            f"{' and '.join(found)}."
        )
    first, last = (
        each._array.item() if isinstance(each, Tensor) else number(function, name, position, each)
        for position, (name, each) in enumerate((("start", start), ("end", end)), 1)
    )
    return first, last


def evenly_spaced(start: Any, end: Any, steps: int, which: dtypes.dtype) -> np.ndarray:
    """Space values evenly, counted from the start in the first half and from the end after it.

    The step is rounded to the dtype; product and sum are rounded once, as a processor's fused
    multiply-add does, but half precision is rounded after each of them.
    """
    if which.category == dtypes.INTEGER:
        start, end = int(start), int(end)
        return evenly_spaced(start, end, steps, dtypes.float64).astype(which.numpy)
    if steps < 2:
        return np.array([start] * steps, which.numpy)
    refuse_size((steps,), which.numpy)
    exact: np.dtype = np.dtype(np.clongdouble if which.is_complex else np.longdouble)
    if which.itemsize == 2:
        exact = which.numpy
    elif which is dtypes.float32:
        exact = np.dtype(np.float64)  # holds the product, too, and is six times as fast
    scalar = which.numpy.type
    first, last = scalar(start), scalar(end)
    step = exact.type(scalar((last - first) / scalar(steps - 1)))
    half = steps // 2
    result = np.empty(steps, which.numpy)
    # Half precision and complex numbers cannot count.
    number = exact if exact.kind == "f" and exact.itemsize > 2 else np.dtype(np.int64)
    for part, counted, end, way in (
        (slice(half), np.arange(half, dtype=number), first, step),
        (slice(half, None), np.arange(steps - half - 1, -1, -1, dtype=number), last, -step),
    ):
        line = counted.astype(exact, copy=False)
        line *= way
        line += exact.type(end)
        result[part] = line
    return result


def _overloads(base: float | None) -> list[str]:
    """List the signatures of linspace or, with a base, those of logspace."""
    options = (
        "Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device "
        "device = None, bool pin_memory = False, bool requires_grad = False"
    )
    more = "" if base is None else ", float base = 10.0"
    kinds = (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))
    return [f"({start} start, {end} end, int steps{more}, *, {options})" for start, end in kinds]


def _sampled(
    function: str,
    start: Any,
    end: Any,
    steps: Any,
    base: float | None,
    out: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    requires_grad: Any,
) -> Tensor:
    try:
        first, last = _end_points(function, start, end)
        count = integer(function, "steps", 3, steps)
    except TypeError:
        raise invalid_combination(function, (start, end, steps), _overloads(base)) from None
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    complex_ends = isinstance(first, complex) or isinstance(last, complex)
    natural = dtypes.default.complex if complex_ends else dtypes.default.float
    which, where = options(function, dtype, layout, device, pin_memory, natural)
    if complex_ends and not which.is_complex:
        parts = "double" if natural is dtypes.complex128 else "float"
        raise RuntimeError(
            f"torch.{function}(): inferred dtype c10::complex<{parts}> can't be safely cast to "
            f"passed dtype {which.scalar_type}"
        )
    if out is not None:
        which = out_dtype(function, out, dtype, requires_grad)
    if which is dtypes.bool_:
        raise NotImplementedError(f"\"{function}_cpu\" not implemented for 'Bool'")
    array = (
        evenly_spaced(first, last, count, which)
        if base is None
        else _powers(first, last, count, base, which)
    )
    if out is not None:
        return _range_into(out, array, requires_grad)
    return finish(array, requires_grad, where)


def _powers(start: Any, end: Any, steps: int, base: float, which: dtypes.dtype) -> np.ndarray:
    if which.category == dtypes.INTEGER:
        if steps != 1:  # PyTorch cuts the ends to integers, but not a single one
            start, end = int(start), int(end)
        line = evenly_spaced(start, end, steps, dtypes.float64)
    else:
        line = evenly_spaced(start, end, steps, which)
        if line.dtype.itemsize == 2:
            line = line.astype(np.float32)
    return np.power(line.dtype.type(base), line).astype(which.numpy)


@composite(
    method=False,
    quick="new_line(local.state, start, end, steps, dtype, requires_grad, out, layout, device,"
    " pin_memory)",
)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a vector of `steps` numbers at equal distances, both ends included.

    Args:
        start: first number, or a 0-d tensor.
        end: last number, or a 0-d tensor.
        steps: how many numbers.
        out: tensor that receives the result.
        dtype: dtype of the result; by default the default floating dtype.
        layout, device, pin_memory: how and where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Shape: (steps,)

    Example:
        >>> import taper
        >>> taper.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    return _sampled(
        "linspace", start, end, steps, None, out, dtype, layout, device, pin_memory, requires_grad
    )


@composite(method=False)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Make a vector of `steps` numbers from `base**start` to `base**end`, evenly in exponents.

    >>> import taper
    >>> taper.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    return _sampled(
        "logspace", start, end, steps, base, out, dtype, layout, device, pin_memory, requires_grad
    )


# Powers.


@composite(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Make a matrix of powers of a vector, the highest first unless `increasing`.

    Differs from PyTorch: it can be differentiated; PyTorch's backward fails.

    >>> import taper
    >>> taper.vander(taper.tensor([1, 2, 3]), increasing=True)
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    array = tensor_argument("vander", "x", x)
    if array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    columns = array.size if N is None else integer("vander", "N", 2, N)
    if columns < 0:
        raise RuntimeError("N must be non-negative.")
    if dtypes.FROM_NUMPY[array.dtype].category < dtypes.FLOATING:
        x = x.to(dtypes.int64)
    allocate((columns,), np.dtype(np.int64))  # refuses as PyTorch what is too large
    exponents = np.arange(columns) if increasing else np.arange(columns)[::-1].copy()
    return x.unsqueeze(1) ** finish(exponents, where=x.device)
