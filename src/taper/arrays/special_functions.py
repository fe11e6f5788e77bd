"""Special functions that NumPy lacks, on arrays: erf, erfc, erfinv, lgamma, digamma, polygamma.

Accurate to a few units in the last place in float64; float32 is computed in float64 except for
`erf`, which `gelu` needs to be fast.  Knows arrays only.

The coefficients are Chebyshev interpolants of the functions named beside them, computed with fifty
digits and rewritten in powers of the variable; in float64 the interpolation error is below 1e-16.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import FLOAT32, ONE, in_blocks, select
from taper.arrays.native import curve, native
from taper.dtypes import get_default_dtype

_FEW = 200  # up to here Python's `math` is faster than forty array operations


def _coefficients(dtype: Any, *values: float) -> tuple[ndarray, ...]:
    """Return constants as 0-d arrays: NumPy takes 0.5 us longer for a Python number."""
    return tuple(np.array(value, dtype) for value in values)


def polynomial(coefficients: tuple[ndarray, ...], variable: ndarray) -> ndarray:
    """Return the value of a polynomial, coefficients in ascending order; makes one array."""
    if native is not None and (found := native.polynomial(coefficients, variable)) is not None:
        value: ndarray = found
        return value
    result = np.multiply(variable, coefficients[-1])
    result += coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result *= variable
        result += coefficient
    return result


def _by_math(function: Callable[[float], float], x: ndarray) -> ndarray:
    return np.array([function(each) for each in x.ravel().tolist()], x.dtype).reshape(x.shape)


def _in_double(function: Callable[[ndarray], ndarray], x: ndarray) -> ndarray:
    """Return a float64 function on an array of any real dtype; integers give the default dtype."""
    if x.dtype == np.float64:
        return function(x)
    dtype = get_default_dtype().numpy if x.dtype.kind in "biu" else x.dtype
    return np.asarray(function(np.asarray(x, np.float64))).astype(dtype)


# --- error function --------------------------------------------------------------------------

# fmt: off
# erf(x) / x in powers of x**2, for |x| up to 1.
_ERF_SMALL = _coefficients(
    np.float64,
    1.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
    0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05,
    1.6461000484121368e-06, -1.6350312701054695e-07, 1.4659775274047436e-08,
    -1.1372848856791674e-09, 5.957176147748911e-11,
)
# (x + 1/2) exp(x**2) erfc(x) in powers of 35/27 - (248/27) / (x + 3), for x from 1 to 28.
_ERFCX = _coefficients(
    np.float64,
    0.6157584221302197, -0.04657663820160324, -0.0005340982646817141, 0.009884745406805102,
    -0.0068214293286322095, 0.00285605721451939, -0.0007792143136482794, 0.0001056298207561161,
    1.2856454237280631e-05, -8.481669091217626e-06, 6.589957748355435e-07, 4.57726840900032e-07,
    -9.342637917047507e-08, -2.6126446889343945e-08, 8.531947904686708e-09,
    1.8478835655018018e-09, -7.262986899900834e-10, -1.5723689812735642e-10,
    5.764987644677005e-11, 1.0771357279339074e-11, -3.2808661892130997e-12,
)
# erf(x) / x in powers of x**2, for |x| up to 0.9, in float32.
_ERF32_SMALL = _coefficients(
    np.float32,
    1.1283791, -0.37612528, 0.112821944, -0.026780719, 0.0050144843, -0.0006102687,
)
# log(erfc(x)) in powers of x, for x from 0.9 to 3.95, in float32.
_ERF32_LARGE = _coefficients(
    np.float32,
    -0.0004513152, -1.1269656, -0.6376348, -0.10441488, 0.023099454, -0.0035578043, 0.00033410318,
    -1.425246e-05,
)
# erfinv(y) / y in powers of w / 2.5 - 1, with w = -log(1 - y**2) up to 5.
_ERFINV_CENTRE = _coefficients(
    np.float64,
    1.501409351110792, 0.6166006918604175, -0.02610823577739765, -0.019573561059547377,
    0.008525400950939892, -0.0004878983983252155, -0.0008341356436926482, 0.0002921906851342163,
    2.0472417839420812e-05, -4.1432071450377935e-05, 8.652721877484876e-06, 2.851652817060834e-06,
    -1.853870554105327e-06, 1.3583392473566449e-07, 1.9953933232996815e-07, -7.08985061397636e-08,
    -6.70810932648382e-09, 1.1040417909061025e-08, -1.9880707100189075e-09,
    -9.760204713196851e-10, 4.4650677608736676e-10, 3.867417238765463e-11,
    -3.9169363297916484e-11,
)
# The same in powers of sqrt(w), moved and scaled to [-1, 1], for w from 5 to 3.5**2.
_ERFINV_MIDDLE = _coefficients(
    np.float64,
    2.700973643423989, 0.6311602106478071, 0.005253598384194864, -0.00286055265452902,
    0.001343967994225687, -0.000478141034343199, 9.180477598525804e-05, 1.1619801285566978e-05,
    -1.402837142678291e-05, 3.7419556655919468e-06, 1.5337775117028418e-07,
    -4.069974628052543e-07, 1.1005789801623325e-07, 3.828216272196503e-09,
    -1.0838126721416024e-08, 2.8035359685091993e-09, 1.2661767063581844e-10,
    -2.42313680662062e-10, 4.458357197423573e-11,
)
# The same for w from 3.5**2 to 6.1**2; at 6.06**2 y is the last number below 1.
_ERFINV_TAIL = _coefficients(
    np.float64,
    4.647842608097513, 1.313425815668689, 1.7285160721871123e-05, -0.000625009916610863,
    0.0002818958482075728, -9.678233331645013e-05, 3.0074809806667677e-05, -9.381785328100278e-06,
    3.5153500496395724e-06, -1.8861330059536155e-06, 1.291726885606079e-06,
    -8.916652435025176e-07, 5.447657965873416e-07, -2.72796806284707e-07, 9.954831393091593e-08,
    -1.7846329790120313e-08, -6.8199146808055114e-09, 1.0269769235705527e-08,
    -7.203644936186972e-09, 1.8568525806120636e-09, 7.265449769464543e-10,
    -3.9194382695383387e-10,
)
# fmt: on
# Where float32 changes from one table to the other, and where erf has become 1.
_SPLIT32 = np.array(0.9, np.float32)
_LAST32 = np.array(3.95, np.float32)


_native_erf = curve("erf")


def erf(x: ndarray) -> ndarray:
    """Return the error function."""
    if x.size <= _FEW:
        return _by_math(math.erf, x)
    if (found := _native_erf(x)) is not None:
        return found
    return in_blocks(_erf32 if x.dtype == FLOAT32 else _erf64, x)


def _erf32(x: ndarray) -> ndarray:
    small = polynomial(_ERF32_SMALL, np.square(x))
    small *= x
    size = np.abs(x)
    large = polynomial(_ERF32_LARGE, np.minimum(size, _LAST32))
    np.subtract(ONE, np.exp(large, large), large)
    large *= np.sign(x)
    return select(size < _SPLIT32, small, large)


def _erf64(x: ndarray) -> ndarray:
    size = np.abs(x)
    small = polynomial(_ERF_SMALL, np.square(np.minimum(size, 1.0)))
    small *= x
    large = np.copysign(1.0 - _erfc_from_1(np.clip(size, 1.0, 6.5)), x)
    return np.where(size < 1.0, small, large)


def _erfc_from_1(x: ndarray) -> ndarray:
    """Return erfc for x from 1 to 28.

    exp(-x**2) would multiply the rounding error of x**2 by x**2: the square of the first half of
    the digits is exact, and the rest is small.
    """
    head = x.astype(np.float32).astype(np.float64)
    factor = np.exp(-head * head) * np.exp((head - x) * (head + x))
    return factor * polynomial(_ERFCX, 35 / 27 - (248 / 27) / (x + 3)) / (x + 0.5)


def erfc(x: ndarray) -> ndarray:
    """Return 1 - erf(x), without the cancellation."""
    if x.size <= _FEW:
        return _by_math(math.erfc, x)
    return in_blocks(_erfc, x)


def _erfc(x: ndarray) -> ndarray:
    return _in_double(_erfc64, x)


def _erfc64(x: ndarray) -> ndarray:
    size = np.abs(x)
    small = 1.0 - x * polynomial(_ERF_SMALL, np.square(np.minimum(size, 1.0)))
    large = _erfc_from_1(np.clip(size, 1.0, 28.0))
    return np.where(size < 1.0, small, np.where(x > 0.0, large, 2.0 - large))


def erfinv(y: ndarray) -> ndarray:
    """Return the inverse of erf; infinite at -1 and 1, nan beyond."""
    return _in_double(_erfinv64, y)


def _erfinv64(y: ndarray) -> ndarray:
    w = -np.log((1.0 - y) * (1.0 + y))
    root = np.sqrt(w)
    result = polynomial(_ERFINV_CENTRE, w * 0.4 - 1.0)
    if np.any(w > 5.0):
        low, high = math.sqrt(5), 3.5
        middle = polynomial(_ERFINV_MIDDLE, (2 * root - (low + high)) / (high - low))
        tail = polynomial(_ERFINV_TAIL, (root - 4.8) / 1.3)
        result = np.where(w > 5.0, np.where(root > 3.5, tail, middle), result)
    return np.where(np.abs(y) == 1.0, y * np.inf, result * y)


# --- gamma function --------------------------------------------------------------------------

# fmt: off
# log(gamma(2 + z)) / z in powers of z, for |z| up to 1/2.
_LGAMMA = _coefficients(
    np.float64,
    0.42278433509846713, 0.3224670334241132, -0.06735230105319814, 0.02058080842778457,
    -0.0073855510286681535, 0.002890510330738737, -0.0011927539120010226, 0.0005096695248853096,
    -0.00022315475074520367, 9.945750909889392e-05, -4.4926351103833334e-05,
    2.050726741605779e-05, -9.438458716242811e-06, 4.374374916915131e-06, -2.0449201467015115e-06,
    9.578663334114758e-07, -4.303558760359961e-07, 2.0304806751615227e-07,
    -1.3412819758517287e-07, 6.379047507619774e-08,
)
# digamma(x) / (x - root) in powers of 2 x - 3, for x from 1 to 2.
_DIGAMMA = _coefficients(
    np.float64,
    0.9510558760318328, -0.21181371064073024, 0.06013562106019684, -0.018550615381739702,
    0.005936795278301875, -0.0019350666647392832, 0.0006368880303847901, -0.00021074841284590126,
    6.99501882655044e-05, -2.325823275895313e-05, 7.741234441368395e-06, -2.578133701610713e-06,
    8.589062683365892e-07, -2.8621216825577647e-07, 9.543261570760428e-08,
    -3.1807298477301726e-08, 1.0528133851878114e-08, -3.509235492410718e-09,
    1.2466690231864029e-09, -4.1555064115551965e-10, 8.748420037436287e-11,
    -2.9161179626023815e-11, 2.916093601085364e-11, -9.720300404202244e-12,
)
_ROOT = 1.4616321449683622
_ROOT_REST = 9.549995429965697e-17
# fmt: on

# The terms of Stirling's series for log(gamma(x)): of 1/x, 1/x**3, 1/x**5 ...
_STIRLING = _coefficients(
    np.float64,
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)
# Those of digamma: of 1/x**2, 1/x**4 ...
_HARMONIC = _coefficients(
    np.float64, 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160
)
_LARGE = 10.0  # from here on eight terms of the series suffice


def lgamma(x: ndarray) -> ndarray:
    """Return the logarithm of the absolute value of the gamma function."""
    return _in_double(_lgamma64, x)


def _lgamma64(x: ndarray) -> ndarray:
    positive = _lgamma_positive(np.abs(x))
    if not np.any(x < 0.0):
        return positive
    distance = np.abs(x - np.round(x))
    reflected = math.log(math.pi) - np.log(np.abs(x) * np.sin(math.pi * distance)) - positive
    reflected = np.where(distance == 0.0, np.inf, reflected)
    return np.where(x < 0.0, np.where(np.isinf(x), np.inf, reflected), positive)


def _lgamma_positive(x: ndarray) -> ndarray:
    # lgamma vanishes at 1 and 2: there z must be the exact distance, and the factor x itself.
    whole = np.where(x < 0.5, 0.0, np.where(x < 1.5, 1.0, 2.0))
    factor = np.where(x < 0.5, x * (x + 1.0), np.where(x < 1.5, x, 1.0))
    shifted, product = np.minimum(x, _LARGE), np.ones_like(x)
    for _ in range(8):  # down to [1.5, 2.5)
        above = shifted >= 2.5
        shifted = np.where(above, shifted - 1.0, shifted)
        product = np.where(above, product * shifted, product)
    z = shifted - whole
    small = z * polynomial(_LGAMMA, z) + np.log(product) - np.log(factor)
    inverse = 1.0 / np.maximum(x, _LARGE)
    series = inverse * polynomial(_STIRLING, inverse * inverse)
    large = (x - 0.5) * (np.log(x) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + series
    return np.where(x < _LARGE, small, large)


def digamma(x: ndarray) -> ndarray:
    """Return the derivative of lgamma; nan at negative integers."""
    return _in_double(_digamma64, x)


def _digamma64(x: ndarray) -> ndarray:
    negative = x < 0.0
    result = _digamma_positive(np.where(negative, 1.0 - x, x))
    if np.any(negative):
        distance = x - np.round(x)
        reflected = result - math.pi / np.tan(math.pi * distance)
        result = np.where(negative, np.where(distance == 0.0, np.nan, reflected), result)
    return np.where(x == 0.0, np.copysign(np.inf, -x), result)


def _digamma_positive(x: ndarray) -> ndarray:
    shifted, total = np.minimum(x, _LARGE), np.zeros_like(x)
    below = shifted < 1.0
    total -= np.where(below, 1.0 / np.where(below, shifted, 1.0), 0.0)
    shifted = np.where(below, shifted + 1.0, shifted)
    for _ in range(9):
        above = shifted > 2.0
        shifted = np.where(above, shifted - 1.0, shifted)
        total += np.where(above, 1.0 / shifted, 0.0)
    small = total + ((shifted - _ROOT) - _ROOT_REST) * polynomial(_DIGAMMA, 2.0 * shifted - 3.0)
    inverse = 1.0 / np.maximum(x, _LARGE)
    square = inverse * inverse
    large = np.log(x) - 0.5 * inverse - square * polynomial(_HARMONIC, square)
    return np.where(x < _LARGE, small, large)


def polygamma(order: int, x: ndarray) -> ndarray:
    """Return the derivative of `order` of digamma."""
    if order == 0:
        return digamma(x)
    result = _in_double(lambda given: _polygamma64(order, given), x)
    return _trigamma_at_poles(x, result) if order == 1 else _polygamma_at_ends(order, x, result)


def _polygamma_at_ends(order: int, x: ndarray, result: ndarray) -> ndarray:
    """Return what PyTorch's sum over the poles gives at infinity: NaN; and below, as at a pole."""
    ends = np.isinf(x)
    if not np.any(ends):
        return result
    below = result.dtype.type(math.inf if order % 2 else -math.inf)
    return np.where(ends, np.where(x < 0, below, result.dtype.type(math.nan)), result)


def _trigamma_at_poles(x: ndarray, result: ndarray) -> ndarray:
    """Return PyTorch's trigamma at its poles: its sine of k pi is not zero, so it is finite."""
    poles = (x < 0) & np.isinf(result)
    if not np.any(poles):
        return result
    single = x if x.dtype == np.float64 else x.astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = np.square(single.dtype.type(math.pi) / np.sin(single.dtype.type(math.pi) * single))
    return np.where(poles, finite, result).astype(result.dtype)


def _polygamma64(order: int, x: ndarray) -> ndarray:
    sign = -1.0 if order % 2 == 0 else 1.0
    if order > 170:  # the factorial is infinite; NaN where the sum is zero, as in PyTorch
        with np.errstate(all="ignore"):
            return np.asarray(sign * np.inf * np.power(x, -(order + 1.0)))
    negative = x < 0.5
    result = sign * math.factorial(order) * _zeta(order + 1, np.where(negative, 1.0 - x, x))
    if np.any(negative):
        distance = x - np.round(x)
        with np.errstate(invalid="ignore", over="ignore"):
            reflected = math.pi * _cotangent_derivative(order, distance) - sign * result
        reflected = np.where(distance == 0.0, sign * np.inf, reflected)
        result = np.where(negative, reflected, result)
    return result


def _cotangent_derivative(order: int, x: ndarray) -> ndarray:
    """Return the derivative of -cot(pi x) in x, a polynomial of the cotangent."""
    derivative = np.polynomial.Polynomial([0.0, -1.0])
    for _ in range(order):
        derivative = derivative.deriv() * np.polynomial.Polynomial([-math.pi, 0.0, -math.pi])
    return derivative(1.0 / np.tan(math.pi * x))


def _zeta(power: int, start: ndarray) -> ndarray:
    """Return the sum of (start + k)**-power over k = 0, 1 ..., by Euler and Maclaurin."""
    total = np.zeros_like(start)
    limit = _LARGE + power
    for _ in range(int(limit) + 1):
        below = start < limit
        total += np.where(below, start**-power, 0.0)
        start = np.where(below, start + 1.0, start)
    total += start ** (1 - power) / (power - 1) + 0.5 * start**-power
    factor = float(power)
    for index, harmonic in enumerate(_HARMONIC, 1):
        # harmonic * 2k / (2k)! is the Bernoulli number over the factorial.
        term = float(harmonic) * 2 * index / math.factorial(2 * index) * factor
        total += term * start ** -(power + 2 * index - 1)
        factor *= (power + 2 * index - 1) * (power + 2 * index)
    return total


# --- logarithms of complex numbers ------------------------------------------------------------


def complex_log1p(x: ndarray) -> ndarray:
    """Return log(1 + x) of complex numbers; NumPy's loses the real part where x is small."""
    real, imag = x.real, x.imag
    excess = real * (real + 2) + imag * imag  # |1 + x|^2 - 1
    near = np.where(excess == 0, real, np.log1p(excess) / 2)
    result = np.empty_like(x)
    result.real = np.where(np.abs(x) < 0.5, near, np.log(np.hypot(real + 1, imag)))
    result.imag = np.arctan2(imag, real + 1)
    return result


def complex_logaddexp(x: ndarray, y: ndarray) -> ndarray:
    """Return log(exp(x) + exp(y)) of complex numbers; the angle of the larger is not wrapped."""
    rising = x.real < y.real
    low, high = np.where(rising, x, y), np.where(rising, y, x)
    result = high + complex_log1p(np.exp(low - high))
    infinite = np.isinf(low.real) & (low.real == high.real)
    if infinite.any():
        endless = np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high)))
        result = np.where(infinite, endless, result)
    return np.where(np.isnan(x) | np.isnan(y), complex(math.nan, math.nan), result).astype(x.dtype)
