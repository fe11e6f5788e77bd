"""The incomplete gamma functions and the zeta function of Hurwitz on arrays."""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from taper.arrays import special_functions
from taper.arrays.chebyshev import in_double

_PRECISION = 2.0**-53
_MOST_STEPS = 100_000  # the series need about five times the root of the largest parameter
_NEAR = 1.1  # up to here the upper function has a series of its own


# --- incomplete gamma functions --------------------------------------------------------------


def _front(a: ndarray, x: ndarray) -> ndarray:
    """Return x**a exp(-x) / gamma(a); for large a by the distance from the peak, which is exact."""
    direct = np.exp(a * np.log(x) - x - special_functions.lgamma(a))
    large = np.maximum(a, 20.0)
    away = (x - large) / large
    inverse = 1 / (large * large)
    # What Stirling's formula lacks: log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2.
    rest = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / large
    peak = np.sqrt(large / (2 * math.pi)) * np.exp(-rest)
    return np.where(a < 20, direct, peak * np.exp(large * (np.log1p(away) - away)))


def _lower_series(a: ndarray, x: ndarray) -> ndarray:
    """Return the lower function for x below a + 1: the sum of x**k / (a (a + 1) ... (a + k))."""
    term = 1 / a
    total = term.copy()
    divisor = a.copy()
    for _ in range(_MOST_STEPS):
        divisor += 1
        term *= x / divisor
        total += term
        if not (np.abs(term) > np.abs(total) * _PRECISION).any():
            break
    return total * _front(a, x)


def _upper_fraction(a: ndarray, x: ndarray) -> ndarray:
    """Return the upper function for x above a + 1: a continued fraction, by the method of Lentz."""
    step = x + 1 - a
    ratio = 1 / np.full_like(x, 1e-300)
    inverse = 1 / step
    total = inverse.copy()
    for number in range(1, _MOST_STEPS):
        factor = -number * (number - a)
        step = step + 2
        inverse = 1 / (factor * inverse + step)
        ratio = step + factor / ratio
        change = inverse * ratio
        total = total * change
        if not (np.abs(change - 1) > _PRECISION * 4).any():
            break
    return total * _front(a, x)


def _upper_series(a: ndarray, x: ndarray) -> ndarray:
    """Return the upper function for small x, where one minus the lower one loses all digits."""
    term = np.ones_like(x)
    total = np.zeros_like(x)
    for number in range(1, _MOST_STEPS):
        term *= -x / number
        change = term / (a + number)
        total += change
        if not (np.abs(change) > np.abs(total) * _PRECISION).any():
            break
    logarithm = a * np.log(x)
    whole = -np.expm1(logarithm - special_functions.lgamma(1 + a))
    return whole - np.exp(logarithm - special_functions.lgamma(a)) * total


def _both(a: ndarray, x: ndarray) -> tuple[ndarray, ndarray]:
    """Return the lower and the upper function; each is computed where it is the smaller one."""
    lower, upper = np.full_like(a, np.nan), np.full_like(a, np.nan)
    usual = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    near = usual & (x <= _NEAR) & (a < x + 0.5)
    fraction = usual & ~near & (x > a + 1)
    series = usual & ~near & ~fraction
    for mask, function, computed, other in (
        (near, _upper_series, upper, lower),
        (fraction, _upper_fraction, upper, lower),
        (series, _lower_series, lower, upper),
    ):
        if mask.any():
            found = function(a[mask], x[mask])
            computed[mask], other[mask] = found, 1 - found
    # Beside NaN, zero and infinity decide as in PyTorch.
    nothing = ((x == 0) & ~(a <= 0)) | (np.isposinf(a) & ~(x < 0) & ~np.isinf(x))
    whole = ((a == 0) & (x > 0)) | (np.isposinf(x) & ~(a <= 0) & ~np.isinf(a))
    for mask, low, high in ((nothing, 0.0, 1.0), (whole, 1.0, 0.0)):
        lower[mask], upper[mask] = low, high
    return lower, upper


def _lower(a: ndarray, x: ndarray) -> ndarray:
    return _both(a, x)[0]


def _upper(a: ndarray, x: ndarray) -> ndarray:
    return _both(a, x)[1]


def igamma(a: ndarray, x: ndarray) -> ndarray:
    """Return the regularised lower incomplete gamma function."""
    return in_double(_lower, *np.broadcast_arrays(a, x))


def igammac(a: ndarray, x: ndarray) -> ndarray:
    """Return the regularised upper incomplete gamma function."""
    return in_double(_upper, *np.broadcast_arrays(a, x))


# --- zeta ------------------------------------------------------------------------------------

_DIRECT = 12  # terms that are added directly
# The Bernoulli numbers B2, B4 ... over the factorials of 2, 4 ...
_BERNOULLI = [
    1 / 6 / 2,
    -1 / 30 / 24,
    1 / 42 / 720,
    -1 / 30 / 40320,
    5 / 66 / math.factorial(10),
    -691 / 2730 / math.factorial(12),
    7 / 6 / math.factorial(14),
    -3617 / 510 / math.factorial(16),
    43867 / 798 / math.factorial(18),
    -174611 / 330 / math.factorial(20),
]


def _zeta(s: ndarray, q: ndarray) -> ndarray:
    """Return the sum of (q + k)**-s over k = 0, 1 ..., by Euler and Maclaurin."""
    lowest = float(np.where(np.isfinite(q), q, 0.0).min(initial=0.0))
    count = _DIRECT + min(int(max(0.0, -lowest)), 10_000)
    total = np.zeros_like(s)
    start = q.copy()
    for _ in range(count):
        total += start**-s
        start += 1
    tail = start**-s
    total += start * tail / (s - 1) + 0.5 * tail
    factor = s * tail / start
    for number, bernoulli in enumerate(_BERNOULLI):
        total += bernoulli * factor
        factor = factor * (s + 2 * number + 1) * (s + 2 * number + 2) / (start * start)
    whole = q == np.floor(q)
    total = np.where(q <= 0, np.where(whole, np.inf, _or_nan(s == np.floor(s), total)), total)
    total = np.where(np.isposinf(s) & (q >= 1), np.where(q == 1, 1.0, 0.0), total)
    total = np.where(np.isinf(q) & np.isinf(s), np.nan, total)
    return np.where(s == 1, np.inf, np.where((s < 1) | np.isnan(s) | np.isnan(q), np.nan, total))


def _or_nan(mask: ndarray, values: ndarray) -> ndarray:
    return np.where(mask, values, np.nan)


def zeta(s: ndarray, q: ndarray) -> ndarray:
    """Return the zeta function of Hurwitz."""
    return in_double(_zeta, *np.broadcast_arrays(s, q))
