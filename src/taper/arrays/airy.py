"""The Airy function Ai on arrays."""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from taper.arrays.chebyshev import chebyshev, in_double
from taper.arrays.chebyshev import coefficients as _coefficients

# fmt: off
# Ai(x) in x / 3, for |x| up to 3.
_AIRY_MIDDLE = _coefficients(
    0.09012738455715785, 0.053940913526009576, -0.2969391528216673, 0.19369862876728744,
    -0.0023953683131233863, -0.054677767988676414, 0.026466807940476553, -0.0015272822794018765,
    -0.0033110315136980336, 0.0013706775830001126, -9.564896295781664e-05,
    -0.00010033407470915483, 3.7299570345339265e-05, -2.7222928524365062e-06,
    -1.8288062860468095e-06, 6.260103971504244e-07, -4.5742913431223385e-08,
    -2.2278092347306883e-08, 7.130612404404435e-09, -5.128609093012623e-10,
    -1.9427549609863267e-10, 5.875464402161978e-11, -4.129307525002218e-12,
    -1.2730474171456336e-12, 3.665579607167945e-13, -2.5094700341513603e-14,
    -6.498838258334547e-15, 1.7919158821260863e-15, -1.1936108365552879e-16,
    -2.657840511880498e-17, 7.049706654908702e-18,
)
# 2 sqrt(pi) x**(1/4) exp(z) Ai(x) with z = 2/3 x**(3/2), in 4 sqrt(3) / z - 1, for x from 3 on.
_AIRY_POSITIVE = _coefficients(
    0.9909253278629121, -0.008787979198916314, 0.0002708640061605207, -1.46317247353397e-05,
    1.0852260208359393e-06, -9.972552056312785e-08, 1.0739090386447278e-08,
    -1.309259653125608e-09, 1.765607635969083e-10, -2.5904351203535138e-11,
    4.084102938847913e-12, -6.853850259533148e-13, 1.2151224622938065e-13,
    -2.2621141137901326e-14, 4.399957412572512e-15, -8.904529694172307e-16,
    1.868404039422278e-16, -4.052458927104195e-17,
)
# The sine part of Ai(-x) sqrt(pi) x**(1/4), the same variable.
_AIRY_F = _coefficients(
    0.9989252223765029, -0.0014123335144014663, -0.0003232038176151208, 1.5396167351134327e-05,
    7.980992698131056e-07, -2.302455893095058e-07, 1.8152180441953645e-08,
    1.5640205434790012e-09, -7.31717741817943e-10, 1.1078838322158783e-10,
    -1.6252750344974199e-12, -3.855909092111863e-12, 1.1671838399812943e-12,
    -1.7209556925557874e-13, -4.994964618800058e-15, 1.1447104028956228e-14,
    -3.837795290598855e-15, 7.11462690110716e-16, -1.6921492481095684e-17,
    -4.474247595613145e-17, 2.029834461461959e-17,
)
# Its cosine part.
_AIRY_G = _coefficients(
    0.009778094293418171, 0.009661115533324126, -0.00013555258469378375,
    -1.6692534938025454e-05, 1.88944155682659e-06, -2.0932582046332535e-08,
    -2.4664855337457482e-08, 4.319522939522811e-09, -2.1061389148304612e-10,
    -8.065408448570078e-11, 2.638983010887189e-11, -3.802916709663302e-12,
    -6.064065744683525e-14, 2.003649109356678e-13, -6.199535843263234e-14,
    9.997553606357287e-15, 1.4770677420003176e-16, -7.037695629019284e-16,
    2.676600199891985e-16, -5.864600739525335e-17, 4.458399739256412e-18, 2.740565999046695e-18,
    -1.6124724573811362e-18, 5.111408170247291e-19,
)
# fmt: on

_SPLIT = 3.0
_SCALE = 4 * math.sqrt(3)  # twice 2/3 of 3 to the power 3/2
_LARGEST = 103.892  # beyond, Ai is below all float64 numbers


def _airy(x: ndarray) -> ndarray:
    middle = chebyshev(_AIRY_MIDDLE, np.clip(x, -_SPLIT, _SPLIT) / _SPLIT)
    size = np.maximum(np.abs(x), _SPLIT)
    z = size * np.sqrt(size) * (2 / 3)
    root = np.sqrt(math.pi * np.sqrt(size))
    variable = _SCALE / z - 1
    positive = chebyshev(_AIRY_POSITIVE, variable) * np.exp(-z) / (2 * root)
    cosine, sine = np.cos(z), np.sin(z)
    # sin(z + pi/4) and cos(z + pi/4), without rounding the sum
    waves = chebyshev(_AIRY_F, variable) * (sine + cosine)
    waves -= chebyshev(_AIRY_G, variable) * (cosine - sine)
    negative = waves / (root * math.sqrt(2))
    found = np.where(x > _SPLIT, positive, np.where(x < -_SPLIT, negative, middle))
    return np.where(np.isinf(x), np.nan, np.where(x > _LARGEST, 0.0, found))


def airy_ai(x: ndarray) -> ndarray:
    """Return the Airy function Ai: the solution of y'' = x y that goes to zero."""
    return in_double(_airy, x)
