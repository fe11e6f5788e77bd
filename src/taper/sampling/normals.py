"""Standard normal numbers, made from a generator's uniform ones as PyTorch makes them.

Owns the uniform numbers in [0, 1), the fused multiply-add and the three ways to pairs of
normals: one after the other (`serial`), and blocks of sixteen in single and in double precision
(`blocks`). Knows generators and NumPy arrays; must not know Tensor, means, or layouts.

The last bit depends on how a logarithm, a sine and a cosine are computed, so they are computed
as PyTorch does: in double precision by the C library (which ``math`` calls; NumPy's own loops
differ in one value of a thousand), in single precision by the polynomials below.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from taper.arrays.native import native
from taper.sampling.generator import Generator

BLOCK = 16
"""How many normals are made together; fewer are made one after the other."""

_CHUNK = 8192  # pairs at a time: intermediate arrays stay in the cache


def uniform24(generator: Generator, count: int) -> np.ndarray:
    """Return the next uniform numbers in float32: one output each, its low 24 bits."""
    values = np.empty(count, np.float32)
    if generator.fill("uniform", values, 0.0, 1.0):
        return values
    for start in range(0, count, 4 * _CHUNK):
        part = values[start : start + 4 * _CHUNK]
        bits = generator.random32(part.size)
        bits &= np.uint64(2**24 - 1)
        part[...] = bits.view(np.int64)
        part *= np.float32(2.0**-24)
    return values


def uniform53(generator: Generator, count: int) -> np.ndarray:
    """Return the next uniform numbers in float64: two outputs each, the low 53 bits of the 64."""
    values = np.empty(count, np.float64)
    if generator.fill("uniform", values, 0.0, 1.0):
        return values
    bits = generator.random64(count)
    bits &= np.uint64(2**53 - 1)
    values[...] = bits.view(np.int64)
    values *= 2.0**-53
    return values


def c_library(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """Apply a `function` of ``math`` to each element of a float64 array of one dimension."""
    if native is not None:
        applied = values.copy()
        if native.apply_function(function.__name__, applied):
            return applied
    return np.fromiter(map(function, values.tolist()), np.float64, values.size)


def fused32(a: np.ndarray, b: np.ndarray | np.float32, c: np.ndarray | np.float32) -> np.ndarray:
    """Return ``a * b + c`` in float32 rounded once: in float64 the product is exact."""
    wide = a.astype(np.float64)
    wide *= b
    wide += c
    return wide.astype(np.float32)


@np.errstate(over="ignore", invalid="ignore")
def fused64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """Return ``a * b + c`` in float64 rounded once, from the rounding errors of both steps."""
    product = a * b
    a_high, b_high = _high_half(a), _high_half(np.array(b))
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    total = product + c
    rest = total - product
    lost = (product - (total - rest)) + (c - rest)
    fused = total + (lost + error)
    # Splitting a huge number overflows even if the plain formula does not.
    np.copyto(fused, total, where=~np.isfinite(fused))
    return fused


def _high_half(value: np.ndarray) -> np.ndarray:
    shifted = value * 134217729.0
    return shifted - (shifted - value)


def serial(
    out: np.ndarray, count: int, mean: float, std: float, generator: Generator
) -> np.ndarray:
    """Return the next `count` normals, one after the other: PyTorch's way to a few of them.

    They come in pairs; when the last one of a pair is not asked for, the generator keeps it. They
    are put into `out` if native code can, else into an array of float64.
    """
    kept = generator.fill("pairs", out, mean, std, generator.next_normal)
    if kept is False:
        out = np.empty(count, np.float64)
        kept = generator.fill("pairs", out, mean, std, generator.next_normal)
    if kept is False:
        values = _serial(generator, count)
        return values if (mean, std) == (0.0, 1.0) else fused64(values, std, mean)
    generator.next_normal = kept
    return out


def _serial(generator: Generator, count: int) -> np.ndarray:
    values = []
    if count and generator.next_normal is not None:
        values.append(generator.next_normal)
        generator.next_normal = None
    pairs = (count - len(values) + 1) // 2
    uniforms = uniform53(generator, 2 * pairs).tolist()
    for first, second in zip(uniforms[0::2], uniforms[1::2], strict=True):
        radius = math.sqrt(-2.0 * math.log1p(-second))
        angle = 2.0 * math.pi * first
        values.append(radius * math.cos(angle))
        values.append(radius * math.sin(angle))
    if len(values) > count:
        generator.next_normal = values.pop()
    return np.array(values, np.float64)


def blocks(
    out: np.ndarray, count: int, dtype: np.dtype, mean: float, std: float, generator: Generator
) -> np.ndarray:
    """Return the next `count` (16 or more) normals for elements of `dtype`.

    Every sixteen uniforms become sixteen normals. When `count` is no multiple, the last sixteen
    normals are made from sixteen uniforms more; half precision has not drawn any for the rest.
    They are put into `out` if native code can, else into an array of float64 or float32.
    """
    half = dtype.itemsize == 2
    if generator.fill("normal", out, mean, std, half):
        return out
    values: np.ndarray = np.empty(count, np.float64 if dtype == np.float64 else np.float32)
    if not generator.fill("normal", values, mean, std, half):
        _fill_blocks(values, half, generator)
        if (mean, std) == (0.0, 1.0):
            values += 0.0  # adding the mean leaves no -0.0
        else:
            _scale(values, mean, std)
    return values


def _fill_blocks(values: np.ndarray, half: bool, generator: Generator) -> None:
    full = values.size // BLOCK * BLOCK
    single = values.dtype != np.float64
    draw, transform = (uniform24, _blocks32) if single else (uniform53, _blocks64)
    for start in range(0, full, 2 * _CHUNK):
        part = values[start : min(start + 2 * _CHUNK, full)]
        part[...] = transform(draw(generator, part.size))
    rest = values.size - full
    if rest:
        values[-BLOCK:] = transform(draw(generator, BLOCK if half else rest + BLOCK)[-BLOCK:])


@np.errstate(over="ignore", invalid="ignore")
def _scale(values: np.ndarray, mean: float, std: float) -> None:
    if values.dtype == np.float64:
        values[...] = fused64(values, std, mean)
        return
    for start in range(0, values.size, 4 * _CHUNK):
        some = values[start : start + 4 * _CHUNK]
        some[...] = fused32(some, np.float32(std), np.float32(mean))


def _blocks64(uniforms: np.ndarray) -> np.ndarray:
    first, second = _halves(uniforms)
    radius = np.sqrt(-2.0 * c_library(math.log, 1.0 - first))
    angle = 2.0 * math.pi * second
    return _joined(radius * c_library(math.cos, angle), radius * c_library(math.sin, angle))


def _blocks32(uniforms: np.ndarray) -> np.ndarray:
    first, second = _halves(uniforms)
    radius = np.sqrt(np.float32(-2.0) * _log32(np.float32(1.0) - first))
    sine, cosine = _sincos32(np.float32(2.0 * math.pi) * second)
    return _joined(radius * cosine, radius * sine)


def _halves(uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first eight of every sixteen, and the second eight."""
    pairs = uniforms.reshape(-1, 2, BLOCK // 2)
    return pairs[:, 0].ravel(), pairs[:, 1].ravel()


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    shape = (-1, BLOCK // 2)
    return np.stack([first.reshape(shape), second.reshape(shape)], axis=1).ravel()


# Single precision: the well-known polynomials of the Cephes library, each step one fused
# multiply-add, in the order in which PyTorch's vector code does them. The order matters: another
# one is as accurate, but differs in the last bit of one value of a hundred.

_LOG = [
    np.float32(coefficient)
    for coefficient in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
]
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_PI_4 = [np.float32(part) for part in (0.78515625, 2.4187564849853515625e-4, 3.77489497744594e-8)]
_SIN = [np.float32(part) for part in (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)]
_COS = [np.float32(part) for part in (2.443315711809948e-5, -1.388731625493765e-3, 4.1666645683e-2)]
_HALF, _ONE = np.float32(0.5), np.float32(1.0)


def _polynomial(coefficients: list[np.float32], x: np.ndarray) -> np.ndarray:
    """Apply Horner's rule with the steps of `fused32` in two arrays (1.7 times as fast)."""
    wide = x.astype(np.float64)
    total, value = wide * coefficients[0], np.empty_like(x)
    for coefficient in coefficients[1:-1]:
        total += coefficient
        value[...] = total
        total[...] = value
        total *= wide
    total += coefficients[-1]
    value[...] = total
    return value


def _log32(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithm of float32 numbers in (0, 1]."""
    bits = x.view(np.int32)
    mantissa = ((bits & 0x7FFFFF) | 0x3F000000).view(np.float32)  # in [0.5, 1)
    small = (mantissa < np.float32(math.sqrt(0.5))).astype(np.int32)
    exponent = ((bits >> 23) - 126 - small).astype(np.float32)
    x = (mantissa - _ONE) + (mantissa.view(np.int32) & -small).view(np.float32)
    square = x * x
    y = _polynomial(_LOG, x) * x
    y = fused32(y, square, exponent * _LN2_LOW)
    y = fused32(square, -_HALF, y)
    return fused32(exponent, _LN2_HIGH, x + y)


def _sincos32(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sine and cosine of float32 angles in [0, 2 pi]."""
    octant = ((angle * np.float32(4.0 / math.pi)).astype(np.int32) + 1) & ~1
    distance = octant.astype(np.float32)
    for part in _PI_4:
        angle = fused32(distance, -part, angle)
    square = angle * angle
    cosine = _polynomial(_COS, square) * square
    cosine = fused32(cosine, square, -(square * _HALF)) + _ONE
    sine = fused32(_polynomial(_SIN, square) * square, angle, angle)
    # The two are exchanged in every second quadrant, then get their signs, without a branch.
    exchanged = (sine.view(np.int32) ^ cosine.view(np.int32)) & -(octant >> 1 & 1)
    sine_bits = sine.view(np.int32) ^ exchanged ^ ((octant & 4) << 29)
    cosine_bits = cosine.view(np.int32) ^ exchanged ^ ((octant + 2 & 4) << 29)
    return sine_bits.view(np.float32), cosine_bits.view(np.float32)
