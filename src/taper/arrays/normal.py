"""The normal distribution on arrays: scaled erfc, the logarithm of its integral, its inverse."""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from taper.arrays import special_functions
from taper.arrays.chebyshev import chebyshev, in_double
from taper.arrays.chebyshev import coefficients as _coefficients

# fmt: off
# (x + 1) exp(x**2) erfc(x) in (x - 3) / (x + 3), for x from 0 on.
_ERFCX = _coefficients(
    0.7537126744747984, -0.2241538079990932, 0.03331141869936043, 0.004729202203160197,
    -0.004667584028574755, 0.001505458991859158, -0.00026627940185075776,
    1.4873372028813451e-05, 4.608056130651462e-06, -9.67680229240609e-07,
    -4.580496022124677e-08, 3.4038358406649055e-08, -2.5183402321088003e-10,
    -1.196647748122592e-09, 3.1644331342470195e-11, 4.632116431593776e-11,
    -8.079023772750313e-13, -1.9623983388071805e-12, -3.400898692320869e-14,
    8.654948920148094e-14, 6.547144419461956e-15, -3.68386699004775e-15, -6.061358545645179e-16,
    1.3272667148417876e-16, 4.3934481379971293e-17,
)
# fmt: on

_ROOT_HALF = math.sqrt(0.5)
_TAIL = 0.1  # smaller probabilities are inverted through their logarithm
_STEPS = 4


def _erfcx(x: ndarray) -> ndarray:
    size = np.abs(x)
    positive = chebyshev(_ERFCX, np.where(size > 1e30, 1.0, (size - 3) / (size + 3))) / (size + 1)
    return np.where(x < 0, 2 * np.exp(x * x) - positive, positive)


def _log_ndtr(x: ndarray) -> ndarray:
    scaled = x * _ROOT_HALF
    low = np.log(_erfcx(np.maximum(-scaled, 0.0)) / 2) - scaled * scaled
    high = np.log1p(-special_functions.erfc(np.maximum(scaled, -1.0)) / 2)
    return np.where(np.isnan(x), np.nan, np.where(x < -1, low, high))


def _ndtri(p: ndarray) -> ndarray:
    middle = special_functions.erfinv(2 * p - 1) * math.sqrt(2)
    side = np.minimum(p, 1 - p)
    if not (side < _TAIL).any():
        return middle
    logarithm = np.log(np.where(side > 0, side, 0.5))
    # Newton's method for log_ndtr(x) = logarithm, started where the density alone would put x.
    x = -np.sqrt(np.maximum(-2 * logarithm - np.log(np.maximum(-4 * math.pi * logarithm, 1.0)), 0))
    for _ in range(_STEPS):
        value = _log_ndtr(x)
        slope = np.exp(-0.5 * x * x - value) / math.sqrt(2 * math.pi)
        x = x - (value - logarithm) / slope
    tail = np.where(p < 0.5, x, -x)
    found = np.where(side < _TAIL, tail, middle)
    found = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, found))
    return np.where((p >= 0) & (p <= 1), found, np.nan)


def erfcx(x: ndarray) -> ndarray:
    """Return exp(x**2) erfc(x), which neither vanishes nor overflows for positive x."""
    return in_double(_erfcx, x)


def log_ndtr(x: ndarray) -> ndarray:
    """Return the logarithm of the probability that a standard normal deviate is below x."""
    return in_double(_log_ndtr, x)


def ndtri(p: ndarray) -> ndarray:
    """Return the number below which a standard normal deviate is with probability p."""
    return in_double(_ndtri, p)
