"""How a random number of the gamma or beta distribution moves with the distribution's parameters.

Owns: the derivatives at a fixed probability, `-(d cdf / d parameter) / density`, on NumPy arrays of
float64.  They have no closed form.  PyTorch approximates them to about three digits in regions,
each with its own series or formula.  The same approximations are used here, so that gradients are
PyTorch's: power series where the number is near the end of its range, saddle-point expansions where
the parameters are large, and a rational function in the middle.  The coefficients of the rational
functions and of the polynomial were fitted to PyTorch's values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from taper.arrays.special_functions import digamma

# PyTorch writes the borders of regions in single precision.
_0_8, _0_9, _1_1, _0_1 = (float(np.float32(border)) for border in (0.8, 0.9, 1.1, 0.1))


def standard_gamma_gradient(alpha: ndarray, x: ndarray) -> ndarray:
    """Return the derivative of the gamma number `x` with respect to its concentration `alpha`."""
    series = x < _0_8
    large = ~series & (alpha > 8.0)
    near = large & (x >= _0_9 * alpha) & (x <= _1_1 * alpha)
    regions = [
        (series, _gamma_series),
        (near, _gamma_near_mean),
        (large & ~near, _gamma_large),
        (~series & ~large, _gamma_rational),
    ]
    return _by_region(regions, alpha, x)


def dirichlet_gradient(x: ndarray, alpha: ndarray, total: ndarray) -> ndarray:
    """Return the derivative of the beta number `x` with respect to `alpha`, divided by `1 - x`.

    `total` is the sum of both parameters; the other parameter is fixed.
    """
    beta = total - alpha
    boundary = total * x * (1.0 - x)
    left = (x <= 0.5) & (boundary < 2.5)
    right = ~left & (x >= 0.5) & (boundary < 0.75)
    middle = ~left & ~right
    large = middle & (alpha > 6.0) & (beta > 6.0)
    with np.errstate(all="ignore"):
        mean = alpha / total
        deviation = np.sqrt(alpha * beta / (total + 1.0)) / total
    near = large & (np.abs(x - mean) <= _0_1 * deviation)
    regions = [
        (left, _beta_left),
        (right, _beta_right),
        (near, _beta_near_mean),
        (large & ~near, _beta_large),
        (middle & ~large, _beta_rational),
    ]
    return _by_region(regions, x, alpha, beta)


def _by_region(
    regions: list[tuple[ndarray, Callable[..., ndarray]]], *arguments: ndarray
) -> ndarray:
    result = np.empty(arguments[0].shape, np.float64)
    with np.errstate(all="ignore"):
        for region, function in regions:
            if region.any():
                result[region] = function(*(each[region] for each in arguments))
    return result


def _zero_for_nan(values: ndarray) -> ndarray:
    return np.where(np.isnan(values), 0.0, values)


# --- gamma -----------------------------------------------------------------------------------


def _gamma_series(alpha: ndarray, x: ndarray) -> ndarray:
    """Return the power series of the cumulative distribution at zero, to the fifth power."""
    factor = np.ones_like(x)
    denominator = alpha
    sums, squares = 1.0 / denominator, 1.0 / denominator**2
    for number in range(1, 6):
        factor = factor * (-x / number)
        denominator = denominator + 1.0
        sums = sums + factor / denominator
        squares = squares + factor / denominator**2
    power = x**alpha
    density = x ** (alpha - 1.0) * np.exp(-x)
    by_alpha = (np.log(x) - digamma(alpha)) * (power * sums) - power * squares
    return _zero_for_nan(-by_alpha / density)


def _gamma_near_mean(alpha: ndarray, x: ndarray) -> ndarray:
    """Return the saddle-point formula as a Taylor expansion, where its terms would cancel."""
    stirling = 1.0 + 24.0 * alpha * (1.0 + 12.0 * alpha)
    expansion = (
        1440.0 * alpha * alpha
        + 6.0 * x * (53.0 - 120.0 * x)
        - 65.0 * x * x / alpha
        + alpha * (107.0 + 3600.0 * x)
    )
    return stirling * expansion / (1244160.0 * alpha**4)


def _gamma_large(alpha: ndarray, x: ndarray) -> ndarray:
    """Return Rice's saddle-point expansion of the cumulative distribution, differentiated."""
    root = np.sqrt(8.0 * alpha)
    distance = (x - alpha - alpha * np.log(x / alpha)) ** -1.5
    sign = np.where(x < alpha, -1.0, 1.0)
    slope = np.log(x / alpha) * (root / (alpha - x) + sign * distance)
    slope = slope - np.sqrt(2.0 / alpha) * (alpha + x) / (alpha - x) ** 2
    stirling = 1.0 + 1.0 / (12.0 * alpha) * (1.0 + 1.0 / (24.0 * alpha))
    return -stirling * x * slope / root


# Rows: powers of log(x / alpha); columns: powers of log(alpha).
_GAMMA_ABOVE = np.array(
    [
        [0.16009398, -0.094634809, 0.025146376, -0.0030648343],
        [0.53487893, 0.1298071, 0.065735949, -0.0015649758],
        [0.040121004, -0.0065914022, -0.0026286047, -0.0013441777],
    ]
)
_GAMMA_BELOW = np.array(
    [
        [1.0, 0.32668115, 0.10406089, 0.0014179084],
        [0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
        [0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07],
    ]
)


def _gamma_rational(alpha: ndarray, x: ndarray) -> ndarray:
    variables = np.log(x / alpha), np.log(alpha)
    return np.exp(_polynomial(_GAMMA_ABOVE, *variables) / _polynomial(_GAMMA_BELOW, *variables))


def _polynomial(coefficients: ndarray, *variables: ndarray) -> ndarray:
    """Return the sum of `coefficients[i, j, ...]` times the powers `i, j, ...` of the variables."""
    if not variables:
        return coefficients
    total: ndarray = np.zeros(())
    for part in coefficients[::-1]:
        total = total * variables[0] + _polynomial(part, *variables[1:])
    return total


# --- beta ------------------------------------------------------------------------------------


def _beta_left(x: ndarray, alpha: ndarray, beta: ndarray) -> ndarray:
    """Return the power series of the cumulative distribution at zero, to the tenth power."""
    common = digamma(alpha) - digamma(alpha + beta) - np.log(x)
    factor = np.ones_like(x)
    series = 1.0 / alpha * (common + 1.0 / alpha)
    for number in range(1, 11):
        factor = factor * ((number - beta) * x / number)
        denominator = alpha + number
        series = series + factor / denominator * (common + 1.0 / denominator)
    return _zero_for_nan(x * (1.0 - x) ** -beta * series)


def _beta_right(x: ndarray, alpha: ndarray, beta: ndarray) -> ndarray:
    """Return the series at one, to the eighth power, where `alpha` is in its exponent."""
    rest = 1.0 - x
    common = digamma(alpha + beta) - digamma(alpha)
    factor, product, slope = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    series = common / beta
    for number in range(1, 9):
        factor = factor * (-rest / number)
        slope = slope * (alpha - number) + product
        product = product * (alpha - number)
        series = series + factor / (beta + number) * (slope + common * product)
    return -_zero_for_nan(-((1.0 - rest) ** (1.0 - alpha)) * series)


def _beta_near_mean(x: ndarray, alpha: ndarray, beta: ndarray) -> ndarray:
    """Return the saddle-point formula as a Taylor expansion, where its terms would cancel."""
    rest = 1.0 - x
    expansion = alpha * 8.0 * (135.0 * beta - 11.0) * rest
    expansion = alpha * (expansion + beta * (453.0 - 455.0 * x + 1620.0 * beta * rest))
    expansion = alpha * (expansion + beta**2 * (177.0 - 270.0 * x + 540.0 * beta))
    expansion = alpha * (expansion + beta**3 * (43.0 + 20.0 * (16.0 + 27.0 * beta) * x))
    expansion = expansion + 47.0 * x * beta**4
    total = alpha + beta
    above = (1.0 + 12.0 * alpha) * (1.0 + 12.0 * beta) / (total * total)
    below = 12960.0 * alpha**3 * beta**2 * (1.0 + 12.0 * total)
    return above / rest * expansion / below


def _beta_large(x: ndarray, alpha: ndarray, beta: ndarray) -> ndarray:
    """Return the saddle-point expansion of the cumulative distribution, differentiated."""
    total = alpha + beta
    offset = alpha * (x - 1.0) + beta * x
    slope = 2.0 * alpha**2 * (x - 1.0) + alpha * beta * (x - 1.0) - x * beta**2
    slope = slope / (np.sqrt(2.0 * alpha / beta) * total**1.5 * offset**2)
    logarithm = np.log(alpha / (total * x))
    distance = (beta * np.log(beta / (total * (1.0 - x))) + alpha * logarithm) ** -1.5
    sign = np.where(x < alpha / total, 1.0, -1.0)
    slope = slope + 0.5 * logarithm * (
        np.sqrt(8.0 * alpha * beta / total) / offset + sign * distance
    )
    stirling = _stirling(alpha) * _stirling(beta) / _stirling(total)
    return -x / np.sqrt(2.0 * alpha * beta / total) * stirling * slope


def _stirling(value: ndarray) -> ndarray:
    return 1.0 + 1.0 / (12.0 * value) + 1.0 / (288.0 * value * value)


# Powers of log(x), of log(alpha / x), and of log(total) - log(alpha / x).
_BETA_ABOVE = np.array(
    [
        [
            [1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
            [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
            [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013],
        ],
        [
            [0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
            [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
            [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05],
        ],
        [
            [-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
            [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
            [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05],
        ],
    ]
)
_BETA_BELOW = np.array(
    [
        [
            [1.0, -0.02924021934, -0.04438342661, 0.007285809825],
            [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
            [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149],
        ],
        [
            [0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
            [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
            [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05],
        ],
        [
            [0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
            [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
            [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06],
        ],
    ]
)


def _beta_rational(x: ndarray, alpha: ndarray, beta: ndarray) -> ndarray:
    """Return what the formula for small parameters gives, times a rational function."""
    total = alpha + beta
    first = np.log(x)
    second = np.log(alpha) - first
    variables = first, second, np.log(total) - second
    correction = _polynomial(_BETA_ABOVE, *variables) / _polynomial(_BETA_BELOW, *variables)
    return correction * (x * (digamma(total) - digamma(alpha)) / beta)
