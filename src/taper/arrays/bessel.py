"""Bessel functions of order 0 and 1 on arrays: J, Y, the modified I and K, and the spherical j0.

Each is a Chebyshev series near zero and another, of its slowly varying part, beyond.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import ndarray

from taper.arrays.chebyshev import chebyshev, in_double
from taper.arrays.chebyshev import coefficients as _coefficients

_TWO_OVER_PI = 2 / math.pi

# --- J and Y ---------------------------------------------------------------------------------

# fmt: off
# J0(x) in x**2 / 32 - 1, for x up to 8.
_J0_SMALL = _coefficients(
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977,
    0.15806710233209725, -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504,
    3.246032882100508e-05, -1.7619469077621507e-06, 7.608163592418782e-08,
    -2.679253530557673e-09, 7.848696314479465e-11, -1.9438346867370164e-12,
    4.125320595634374e-14, -7.588508125447546e-16, 1.2218515873961411e-17,
)
# J1(x) / x, the same.
_J1_SMALL = _coefficients(
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791,
    0.022213639654966037, -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05,
    1.9858774049915165e-06, -9.521984756750436e-08, 3.687133759097148e-09,
    -1.178026622695885e-10, 3.160154580348003e-12, -7.221755239651773e-14,
    1.4232144003513942e-15, -2.4441972916190464e-17,
)
# Y0(x) - 2 / pi log(x) J0(x), the same.
_Y0_SMALL = _coefficients(
    -0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663,
    -0.17730201278114358, 0.04719668959576339, -0.007287962479552079, 0.0007531135932577742,
    -5.632079141056987e-05, 3.206532537654801e-06, -1.44072332740187e-07, 5.248794787330516e-09,
    -1.5837552541812015e-10, 4.02633081830612e-12, -8.747341203310769e-14,
    1.6434898714919468e-15, -2.6977881152566837e-17,
)
# (Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x, the same.
_Y1_SMALL = _coefficients(
    0.0025380132357417816, -0.01608717304766875, -0.09591204536083074, 0.08445197259652346,
    -0.028328123944594365, 0.005289897544167113, -0.0006414551451326356, 5.505982873338744e-05,
    -3.53808001868935e-06, 1.7707804556154404e-07, -7.11055004989928e-09, 2.344337905911516e-10,
    -6.4651518414115946e-12, 1.51429151205002e-13, -3.0511859694473254e-15,
    5.34668038572867e-17,
)
# The cosine part of J0(x) sqrt(pi x / 2) in 128 / x**2 - 1, for x from 8 on.
_P0 = _coefficients(
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08,
    1.6306464635151382e-09, -7.86409137723707e-11, 5.168262387349193e-12,
    -4.3045788699253914e-13, 4.3265957431549404e-14, -5.069034095935236e-15,
    6.748072215733873e-16, -1.0011513723467786e-16,
)
# The sine part, times x.
_Q0 = _coefficients(
    -0.12444683684269607, 0.0005470815954089319, -5.9315987288485175e-06,
    1.4377965798375193e-07, -5.817532749493056e-09, 3.376097523734991e-10,
    -2.565397936797308e-11, 2.404916100281365e-12, -2.6690625482579414e-13,
    3.4041800321963686e-14, -4.87994410531204e-15, 7.729703176242605e-16,
    -1.3348852171502517e-16, 2.4865952389390515e-17, -4.952892629886516e-18,
)
# The cosine part of J1(x) sqrt(pi x / 2) in 128 / x**2 - 1, for x from 8 on.
_P1 = _coefficients(
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12,
    4.699195515230542e-13, -4.6842237839904895e-14, 5.452674896044717e-15,
    -7.221180842274018e-16, 1.0667689114335412e-16,
)
# The sine part, times x.
_Q1 = _coefficients(
    0.3742222965562826, -0.0007702178839325664, 7.3108922063643636e-06, -1.676782510726674e-07,
    6.583354662120443e-09, -3.749090950541556e-10, 2.8121750359748866e-11,
    -2.61145253946232e-12, 2.8774212663332235e-13, -3.649001916061838e-14,
    5.206626366226707e-15, -8.215318025458595e-16, 1.4141084390211833e-16,
    -2.626761589838529e-17,
)
# fmt: on

_SPLIT = 8.0  # from here on the series of the slowly varying parts


def _near(series: tuple[ndarray, ...], x: ndarray) -> ndarray:
    small = np.minimum(x, _SPLIT)
    return chebyshev(series, small * small / 32 - 1)


def _waves(x: ndarray, order: int) -> tuple[ndarray, ndarray]:
    """Return J and Y of x from 8 on.

    cos(x - pi/4) is computed as (cos x + sin x) / sqrt 2: the difference would be rounded.
    """
    large = np.maximum(x, _SPLIT)
    variable = 128 / (large * large) - 1
    cosine_part = chebyshev(_P1 if order else _P0, variable)
    sine_part = chebyshev(_Q1 if order else _Q0, variable) / large
    cosine, sine = np.cos(large), np.sin(large)
    first, second = cosine + sine, sine - cosine
    if order:
        first, second = second, -first
    scale = 1 / np.sqrt(math.pi * large)
    j = scale * (cosine_part * first - sine_part * second)
    y = scale * (cosine_part * second + sine_part * first)
    return j, y


def _j0(x: ndarray) -> ndarray:
    size = np.abs(x)
    found = np.where(size < _SPLIT, _near(_J0_SMALL, size), _waves(size, 0)[0])
    return np.where(size == 0, 1.0, found)


def _j1(x: ndarray) -> ndarray:
    size = np.abs(x)
    found = np.where(size < _SPLIT, _near(_J1_SMALL, size) * size, _waves(size, 1)[0])
    return np.copysign(1.0, x) * found


def _y0(x: ndarray) -> ndarray:
    near = _near(_Y0_SMALL, x) + _TWO_OVER_PI * np.log(x) * _near(_J0_SMALL, x)
    found = np.where(x < _SPLIT, near, _waves(x, 0)[1])
    return np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))


def _y1(x: ndarray) -> ndarray:
    logarithm = np.log(x) * _near(_J1_SMALL, x) * x
    near = _near(_Y1_SMALL, x) * x + _TWO_OVER_PI * (logarithm - 1 / x)
    found = np.where(x < _SPLIT, near, _waves(x, 1)[1])
    return np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))


def bessel_j0(x: ndarray) -> ndarray:
    """Return the Bessel function of the first kind of order 0."""
    return in_double(_j0, x)


def bessel_j1(x: ndarray) -> ndarray:
    """Return the Bessel function of the first kind of order 1."""
    return in_double(_j1, x)


def bessel_y0(x: ndarray) -> ndarray:
    """Return the Bessel function of the second kind of order 0."""
    return in_double(_y0, x)


def bessel_y1(x: ndarray) -> ndarray:
    """Return the Bessel function of the second kind of order 1."""
    return in_double(_y1, x)


# --- modified --------------------------------------------------------------------------------

# fmt: off
# exp(-x) I0(x), in x / 4 - 1, for x up to 8.
_I0_SMALL = _coefficients(
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764,
    0.04930528423967071, -0.02373741480589947, 0.010546460394594998, -0.004324309995050576,
    0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165,
    -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06,
    1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08,
    -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10,
    9.675809035373237e-11, -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15,
    -2.431279846547955e-16, 3.3307945188222384e-17,
)
# sqrt(x) exp(-x) I0(x) in 16 / x - 1, for x from 8 on.
_I0_LARGE = _coefficients(
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13,
    1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15,
    3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17,
)
# exp(-x) I1(x) / x, in x / 4 - 1, for x up to 8.
_I1_SMALL = _coefficients(
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499,
    0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532,
    0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05,
    -1.3273163656039436e-05, 3.4702513081376785e-06, -8.568720264695455e-07,
    2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09,
    -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13,
    -5.042185504727912e-14, 7.600684294735408e-15, -1.1055969477353862e-15,
    1.5536319577362005e-16, -2.111421214358166e-17,
)
# sqrt(x) exp(-x) I1(x) in 16 / x - 1, for x from 8 on.
_I1_LARGE = _coefficients(
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09,
    -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13,
    -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15,
    3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17,
    -4.6503053684893586e-17,
)
# K0(x) + log(x / 2) I0(x) in x**2 / 2 - 1, for x up to 2.
_K0_SMALL = _coefficients(
    -0.2676636966169514, 0.3442898999246285, 0.0359799365153615, 0.001264615411446926,
    2.286212103119452e-05, 2.5347910790261494e-07, 1.904516377220209e-09,
    1.0349695257633625e-11, 4.2598161427910826e-14, 1.3744654358807508e-16,
)
# x (K1(x) - log(x / 2) I1(x)), the same.
_K1_SMALL = _coefficients(
    0.7626501136694739, -0.3531559607765449, -0.12261118082265715, -0.006975723859639864,
    -0.0001730288957513052, -2.4334061415659684e-06, -2.213387630734726e-08,
    -1.4114883926335278e-10, -6.666901694199329e-13, -2.427449850519366e-15,
)
# sqrt(x) exp(x) K0(x) in 4 / x - 1, for x from 2 on.
_K0_LARGE = _coefficients(
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802,
    1.39498137188765e-05, -1.8317555227191195e-06, 2.766813639445015e-07,
    -4.660489897687948e-08, 8.574034017414225e-09, -1.6975345093890614e-09,
    3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13,
    8.032890775068375e-14, -2.2275133267462965e-14, 6.340076476276646e-15,
    -1.848593377920907e-15, 5.5120559994043335e-16, -1.6782311257549006e-16,
    5.2103917776435543e-17,
)
# sqrt(x) exp(x) K1(x) in 4 / x - 1, for x from 2 on.
_K1_LARGE = _coefficients(
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162,
    -1.936197974166083e-05, 2.406484947837217e-06, -3.5019606030878126e-07,
    5.7410841254500495e-08, -1.0345762465678097e-08, 2.0150497551970347e-09,
    -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13,
    -8.976705182010146e-14, 2.4771544242195988e-14, -7.0198370892147685e-15,
    2.038703166239861e-15, -6.057047270643018e-16, 1.8380935752430455e-16,
    -5.689462849193648e-17,
)
# fmt: on

_ZEROS = 2.0  # K is computed with logarithms up to here


def _i0e(x: ndarray) -> ndarray:
    size = np.abs(x)
    near = chebyshev(_I0_SMALL, np.minimum(size, _SPLIT) / 4 - 1)
    large = np.maximum(size, _SPLIT)
    far = chebyshev(_I0_LARGE, 16 / large - 1) / np.sqrt(large)
    return np.where(size == 0, 1.0, np.where(size <= _SPLIT, near, far))


def _i1e(x: ndarray) -> ndarray:
    size = np.abs(x)
    near = chebyshev(_I1_SMALL, np.minimum(size, _SPLIT) / 4 - 1) * size
    large = np.maximum(size, _SPLIT)
    far = chebyshev(_I1_LARGE, 16 / large - 1) / np.sqrt(large)
    return np.where(size <= _SPLIT, near, far) * np.where(x < 0, -1.0, 1.0)


def _i0(x: ndarray) -> ndarray:
    return np.exp(np.abs(x)) * _i0e(x)


def _i1(x: ndarray) -> ndarray:
    return np.exp(np.abs(x)) * _i1e(x)


def _k0e(x: ndarray) -> ndarray:
    small = np.clip(x, 0.0, _ZEROS)
    near = chebyshev(_K0_SMALL, small * small / 2 - 1) - np.log(small / 2) * _i0(small)
    large = np.maximum(x, _ZEROS)
    far = chebyshev(_K0_LARGE, 4 / large - 1) / np.sqrt(large)
    return _positive(x, np.where(x <= _ZEROS, near * np.exp(small), far))


def _k1e(x: ndarray) -> ndarray:
    small = np.clip(x, 0.0, _ZEROS)
    near = chebyshev(_K1_SMALL, small * small / 2 - 1) / small + np.log(small / 2) * _i1(small)
    large = np.maximum(x, _ZEROS)
    far = chebyshev(_K1_LARGE, 4 / large - 1) / np.sqrt(large)
    return _positive(x, np.where(x <= _ZEROS, near * np.exp(small), far))


def _positive(x: ndarray, values: ndarray) -> ndarray:
    return np.where(x > 0, values, np.where(x == 0, np.inf, np.nan))


def _k0(x: ndarray) -> ndarray:
    return np.exp(-x) * _k0e(x)


def _k1(x: ndarray) -> ndarray:
    return np.exp(-x) * _k1e(x)


def modified_bessel_i0(x: ndarray) -> ndarray:
    """Return the modified Bessel function of the first kind of order 0."""
    return in_double(_i0, x)


def modified_bessel_i1(x: ndarray) -> ndarray:
    """Return the modified Bessel function of the first kind of order 1."""
    return in_double(_i1, x)


def scaled_modified_bessel_i0(x: ndarray) -> ndarray:
    """Return exp(-|x|) times the modified Bessel function of the first kind of order 0."""
    return in_double(_i0e, x)


def scaled_modified_bessel_i1(x: ndarray) -> ndarray:
    """Return exp(-|x|) times the modified Bessel function of the first kind of order 1."""
    return in_double(_i1e, x)


def modified_bessel_k0(x: ndarray) -> ndarray:
    """Return the modified Bessel function of the second kind of order 0."""
    return in_double(_k0, x)


def modified_bessel_k1(x: ndarray) -> ndarray:
    """Return the modified Bessel function of the second kind of order 1."""
    return in_double(_k1, x)


def scaled_modified_bessel_k0(x: ndarray) -> ndarray:
    """Return exp(x) times the modified Bessel function of the second kind of order 0."""
    return in_double(_k0e, x)


def scaled_modified_bessel_k1(x: ndarray) -> ndarray:
    """Return exp(x) times the modified Bessel function of the second kind of order 1."""
    return in_double(_k1e, x)


# --- spherical -------------------------------------------------------------------------------


def _spherical_j0(x: ndarray) -> ndarray:
    found = np.where(np.abs(x) < 1e-4, 1 - x * x / 6, np.sin(x) / x)
    return np.where(np.isinf(x), 0.0, found)


def spherical_bessel_j0(x: ndarray) -> ndarray:
    """Return the spherical Bessel function of the first kind of order 0: sin(x) / x."""
    return in_double(_spherical_j0, x)
