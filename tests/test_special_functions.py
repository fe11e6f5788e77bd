"""The special functions against values with thirty digits, and where they end."""

from __future__ import annotations

import numpy as np
import pytest

from taper.arrays import special_functions

KNOWN = {
    "erf": [
        (1e-10, 1.1283791670955126e-10),
        (0.3, 0.3286267594591274),
        (-0.95, -0.8208908072732779),
        (1.05, 0.8624361060900967),
        (3.0, 0.9999779095030014),
    ],
    "erfc": [
        (-2.0, 1.9953222650189528),
        (0.5, 0.4795001221869535),
        (1.5, 0.033894853524689274),
        (5.0, 1.537459794428035e-12),
        (20.0, 5.395865611607901e-176),
    ],
    "erfinv": [
        (1e-08, 8.86226925452758e-09),
        (-0.4, -0.37080715859355795),
        (0.95, 1.3859038243496777),
        (0.999, 2.3267537655135246),
        (1 - 1e-13, 5.261483331372676),
    ],
    "lgamma": [
        (1e-05, 11.512919692895826),
        (0.7, 0.26086724653166654),
        (1.0001, -5.771334222047127e-05),
        (1.9999, -4.227520877215346e-05),
        (5.5, 3.9578139676187165),
        (30.0, 71.25703896716801),
        (-0.5, 1.2655121234846454),
        (-3.7, -1.3797399049658245),
        (1e10, 220258509288.81058),
    ],
    "digamma": [
        (0.1, -10.423754940411076),
        (1.4616, -3.110625123034165e-05),
        (3.0, 0.9227843350984671),
        (20.0, 2.970523992242149),
        (-0.5, 0.03648997397857652),
        (-3.7, -0.8450768588704194),
    ],
}
ENDS = {
    "erf": [(np.inf, 1), (-np.inf, -1), (np.nan, np.nan), (0, 0)],
    "erfc": [(np.inf, 0), (-np.inf, 2), (np.nan, np.nan), (0, 1), (40, 0)],
    "erfinv": [(1, np.inf), (-1, -np.inf), (1.5, np.nan), (np.nan, np.nan), (0, 0)],
    "lgamma": [(0, np.inf), (-2, np.inf), (np.inf, np.inf), (-np.inf, np.inf), (np.nan, np.nan)],
    "digamma": [(0.0, -np.inf), (-0.0, np.inf), (-2, np.nan), (np.inf, np.inf)],
}
MANY = 1000  # few elements are computed one by one with `math`


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("repeats", [1, MANY])
def test_values_are_exact_to_the_last_digits(name, repeats):
    points, expected = np.array(KNOWN[name]).T
    function = getattr(special_functions, name)
    found = function(np.tile(points, repeats))
    np.testing.assert_allclose(found, np.tile(expected, repeats), rtol=2e-14)
    single = function(np.tile(points, repeats).astype(np.float32))
    assert single.dtype == np.float32
    usual = np.abs(points) > 1e-3
    exact = np.array([function(np.array([p]))[0] for p in points.astype(np.float32).astype(float)])
    ends = np.isfinite(exact) & usual & (np.abs(exact) > 1e-30)
    np.testing.assert_allclose(single[: len(points)][ends], exact[ends], rtol=4e-7)


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("repeats", [1, MANY])
def test_the_ends_of_the_domain(name, repeats):
    points, expected = np.array(ENDS[name], dtype=float).T
    found = getattr(special_functions, name)(np.tile(points, repeats))
    np.testing.assert_array_equal(found, np.tile(expected, repeats))


def test_polygamma():
    points = np.array([0.2, 3.0, -1.5])
    first = [26.267377205423777, 0.39493406684822646, 9.379246644989124]
    third = [3753.244994864725, 0.11893940226682916, 194.59427621918763]
    np.testing.assert_allclose(special_functions.polygamma(1, points), first, rtol=1e-14)
    np.testing.assert_allclose(special_functions.polygamma(3, points), third, rtol=1e-14)
    zero = special_functions.polygamma(0, points)
    np.testing.assert_array_equal(zero, special_functions.digamma(points))
    pole = special_functions.polygamma(1, np.array([0.0, -2.0]))
    np.testing.assert_allclose(pole, [np.inf, 1.6451975368302367e32])
    assert special_functions.polygamma(2, np.array([0.0])) == -np.inf


def test_few_and_many_elements_agree():
    points = np.linspace(-3, 3, MANY)
    for name in ("erf", "erfc"):
        function = getattr(special_functions, name)
        apart = np.concatenate([function(each) for each in np.split(points, 10)])
        np.testing.assert_allclose(function(points), apart, rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3, 400)])
def test_shapes_are_kept(shape):
    for name in KNOWN:
        found = getattr(special_functions, name)(np.full(shape, 0.5, np.float32))
        assert np.shape(found) == shape
        assert np.asarray(found).dtype == np.float32
