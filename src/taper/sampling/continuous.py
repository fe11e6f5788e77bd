"""Distributions of real and complex numbers: uniform, normal, exponential, Cauchy, log-normal.

Knows generators and NumPy arrays; must not know Tensor. Names and errors are PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from taper import dtypes
from taper.arrays.foreign import is_foreign
from taper.dtypes import C_NAMES, no_kernel
from taper.sampling.fill import dtype_of, elsewhere, source, write
from taper.sampling.generator import Generator
from taper.sampling.normals import (
    BLOCK,
    blocks,
    c_library,
    fused64,
    serial,
    uniform24,
    uniform53,
)

_LARGEST = {
    dtype: dtypes.finfo(dtype).max
    for dtype in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
}

_CHUNK = 1 << 15  # numbers at a time: intermediate arrays stay in the cache, 7 times as fast


def uniform(
    shape: Sequence[int],
    dtype: np.dtype,
    low: float = 0.0,
    high: float = 1.0,
    generator: Generator | None = None,
) -> np.ndarray:
    """Return a new array of numbers evenly distributed over [low, high).

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import uniform
    >>> uniform((3,), np.dtype("float32"), generator=Generator().manual_seed(0))
    array([0.4962566 , 0.7682218 , 0.08847743], dtype=float32)
    """
    return uniform_(np.empty(shape, dtype), low, high, generator)


def uniform_(
    out: np.ndarray, low: float = 0.0, high: float = 1.0, generator: Generator | None = None
) -> np.ndarray:
    """Fill with numbers evenly distributed over [low, high), both parts of complex ones.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import uniform_
    >>> uniform_(np.empty(2), -1.0, 1.0, Generator().manual_seed(0))
    array([0.940106  , 0.41563973])
    """
    if is_foreign(out):
        return elsewhere(uniform_, out, low, high, generator)
    dtype = dtype_of(out)
    if dtype.is_complex and not out.size:
        return out
    part = dtype.to_real()
    _check_uniform(dtype, part, low, high)
    if source(generator).fill("uniform", out, low, high):
        return out
    count = out.size * (2 if dtype.is_complex else 1)
    draw = _uniform64 if part is dtypes.float64 else _uniform32
    values = draw(source(generator), count, low, high)
    if part.itemsize == 2 or (low, high) != (0.0, 1.0):
        # Rounding can reach the bound that is excluded.
        values = values.astype(part.numpy, copy=False)
        values[values == part.numpy.type(high)] = low
    return write(out, values.view(out.dtype))


def _uniform32(generator: Generator, count: int, low: float, high: float) -> np.ndarray:
    if (low, high) == (0.0, 1.0):
        return uniform24(generator, count)
    values = np.empty(count, np.float32)
    if generator.fill("uniform", values, low, high):
        return values
    first = np.float32(low)
    # This is a fused multiply-add, whose factor includes the scale of the 24 bits.
    factor = float(np.float32(high) - first) * 2.0**-24
    for start in range(0, count, _CHUNK):
        part = values[start : start + _CHUNK]
        bits = generator.random32(part.size)
        bits &= np.uint64(2**24 - 1)
        wide = bits.view(np.int64).astype(np.float64)
        wide *= factor
        wide += first
        part[...] = wide
    return values


def _uniform64(generator: Generator, count: int, low: float, high: float) -> np.ndarray:
    if (low, high) == (0.0, 1.0):
        return uniform53(generator, count)
    values = np.empty(count, np.float64)
    if generator.fill("uniform", values, low, high):
        return values
    return fused64(uniform53(generator, count), high - low, low)


def _check_uniform(dtype: dtypes.dtype, part: dtypes.dtype, low: float, high: float) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise no_kernel("check_uniform_bounds", dtype)
    limit = _LARGEST[part]
    for name, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[part]}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{part.scalar_type}>::max(), but "
            f"found to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def normal(
    shape: Sequence[int],
    dtype: np.dtype,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | None = None,
) -> np.ndarray:
    """Return a new array of normally distributed numbers.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import normal
    >>> normal((3,), np.dtype("float32"), generator=Generator().manual_seed(0))
    array([ 1.5409961, -0.2934289, -2.1787894], dtype=float32)
    """
    return normal_(np.empty(shape, dtype), mean, std, generator)


def normal_(
    out: np.ndarray, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> np.ndarray:
    """Fill with normally distributed numbers.

    A complex number has `mean` in both parts, and `std` is that of the whole number.  Sixteen or
    more numbers in a contiguous array are made in blocks, which gives other numbers than one by
    one.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import normal_
    >>> normal_(np.empty(2), 10.0, 0.1, Generator().manual_seed(0))
    array([10.15409961,  9.97065711])
    """
    if is_foreign(out):
        return elsewhere(normal_, out, mean, std, generator)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if not out.size:
        return out
    dtype = dtype_of(out)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise no_kernel("normal_kernel_cpu", dtype)
    count = out.size
    if dtype.is_complex:
        count, std = 2 * count, std / math.sqrt(2.0)
    part = dtype.to_real().numpy
    if count < BLOCK or not out.flags.c_contiguous:
        values = serial(out, count, mean, std, source(generator))
    else:
        values = blocks(out, count, part, mean, std, source(generator))
    if values is out:
        return out
    with np.errstate(over="ignore", invalid="ignore"):
        return write(out, values.astype(part).view(out.dtype) if dtype.is_complex else values)


def check_deviations(std: np.ndarray) -> None:
    """Refuse standard deviations that are complex or negative."""
    if std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")


def normal_from(
    mean: np.ndarray | float,
    std: np.ndarray | float,
    generator: Generator | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return normally distributed numbers, each with its own mean and standard deviation.

    At least one of the two is an array, and they broadcast.  The result has the dtype of `mean` if
    that is an array, else that of `std`; with `out` it is drawn in the dtype of `out`.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import normal_from
    >>> normal_from(np.array([0.0, 100.0]), 1.0, Generator().manual_seed(0))
    array([ 1.54099611, 99.70657109])
    """
    if isinstance(std, np.ndarray):
        check_deviations(std)
    like = mean if isinstance(mean, np.ndarray) else std
    if not isinstance(like, np.ndarray):
        raise TypeError("normal_from: expected an array for 'mean' or 'std', got two numbers")
    if out is None:
        out = np.empty(np.broadcast_shapes(np.shape(mean), np.shape(std)), like.dtype)
    normal_(out, 0.0, 1.0 if isinstance(std, np.ndarray) else std, generator)
    if isinstance(std, np.ndarray):
        out = _rounded(np.multiply, out, std)
    if not isinstance(mean, np.ndarray):
        mean = np.float32(mean).astype(out.dtype) if out.dtype.itemsize == 2 else mean
    return _rounded(np.add, out, mean)


def _rounded(function: np.ufunc, out: np.ndarray, other: np.ndarray | float) -> np.ndarray:
    """Apply `function` in the dtype of `out`; half precision computes in single precision."""
    left = out.astype(np.float32) if out.dtype.itemsize == 2 else out
    if isinstance(other, np.ndarray) and other.dtype.itemsize == 2:
        other = other.astype(np.float32)
    return np.asarray(function(left, other)).astype(out.dtype, copy=False)


@np.errstate(over="ignore")
def exponential_(
    out: np.ndarray, lambd: float = 1.0, generator: Generator | None = None
) -> np.ndarray:
    """Fill with exponentially distributed numbers of rate `lambd`.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import exponential_
    >>> exponential_(np.empty(2), 2.0, Generator().manual_seed(0))
    array([1.75416309, 0.61519238])
    """
    if is_foreign(out):
        return elsewhere(exponential_, out, lambd, generator)
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if not out.size:
        return out
    if not dtype_of(out).is_floating_point:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {dtype_of(out).scalar_type}"
        )
    negated = -uniform53(source(generator), out.size)
    # NumPy's logarithm is eight times as fast and may differ in the last bit of double precision;
    # once in a billion numbers that shows in single precision.  `multinomial` depends on this
    # speed.
    exact = out.dtype == np.float64
    logarithms = c_library(math.log1p, negated) if exact else np.log1p(negated)
    return write(out, -1.0 / lambd * logarithms)


@np.errstate(over="ignore")
def cauchy_(
    out: np.ndarray, median: float = 0.0, sigma: float = 1.0, generator: Generator | None = None
) -> np.ndarray:
    """Fill with numbers of the Cauchy distribution.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import cauchy_
    >>> cauchy_(np.empty(2), generator=Generator().manual_seed(0))
    array([10.59772933,  0.76476726])
    """
    if is_foreign(out):
        return elsewhere(cauchy_, out, median, sigma, generator)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not dtype_of(out).is_floating_point:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {C_NAMES[dtype_of(out)]}"
        )
    uniforms = uniform53(source(generator), out.size)
    tangents = c_library(math.tan, math.pi * (uniforms - 0.5))
    return write(out, fused64(tangents, sigma, median))


@np.errstate(over="ignore")
def log_normal_(
    out: np.ndarray, mean: float = 1.0, std: float = 2.0, generator: Generator | None = None
) -> np.ndarray:
    """Fill with numbers whose logarithms are normally distributed.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.continuous import log_normal_
    >>> log_normal_(np.empty(2), 0.0, 1.0, Generator().manual_seed(0))
    array([4.66923902, 0.74570224])
    """
    if is_foreign(out):
        return elsewhere(log_normal_, out, mean, std, generator)
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not out.size:
        return out
    if not dtype_of(out).is_floating_point:
        raise no_kernel("log_normal_cpu", dtype_of(out))
    logarithms = serial(np.empty(out.size), out.size, mean, std, source(generator))
    values = c_library(math.exp, np.minimum(logarithms, 709.0))
    large = logarithms > 709.0
    values[large] = np.exp(logarithms[large])
    return write(out, values)
