"""Special functions against values with fifteen digits, where they end, and the package itself."""

from __future__ import annotations

import numpy as np
import pytest

import taper

KNOWN = {
    "airy_ai": [
        (-40.0, -0.04593392343795725),
        (-7.3, 0.3357703705151473),
        (-2.3, 0.02670633305735697),
        (-0.5, 0.4757280916105396),
        (0.7, 0.18916240039815008),
        (2.9, 0.007886312304121233),
        (3.1, 0.005493996349186837),
        (12.0, 1.3931846888753607e-13),
    ],
    "bessel_j0": [
        (0.001, 0.9999997500000156),
        (0.5, 0.9384698072408129),
        (-3.2, -0.32018816965712293),
        (7.9, 0.19436184484127825),
        (8.1, 0.14751745404437766),
        (50.0, 0.055812327669251816),
    ],
    "bessel_j1": [
        (0.001, 0.0004999999375000026),
        (0.5, 0.2422684576748739),
        (-3.2, -0.26134324878050474),
        (7.9, 0.2191793999217512),
        (8.1, 0.24760776698159287),
        (50.0, -0.09751182812517514),
    ],
    "bessel_y0": [
        (0.001, -4.471416611375923),
        (0.5, -0.44451873350670656),
        (3.2, 0.30705325013240303),
        (7.8, 0.1872271733096245),
        (8.2, 0.2501180276190547),
        (50.0, -0.09806499547007708),
    ],
    "bessel_y1": [
        (0.001, -636.6221672311394),
        (0.5, -1.471472392670243),
        (3.2, 0.37071133844127474),
        (7.9, -0.18172107728057313),
        (8.1, -0.13314879595249593),
        (50.0, -0.05679566856201477),
    ],
    "i0": [
        (0.001, 1.0000002500000156),
        (-2.0, 2.2795853023360673),
        (7.9, 389.406283282158),
        (8.1, 469.5006067101215),
        (50.0, 2.9325537838493362e20),
    ],
    "i0e": [
        (0.001, 0.9990007495835156),
        (-2.0, 0.30850832255367105),
        (7.9, 0.14436986414104191),
        (8.1, 0.14251180948829528),
        (500.0, 0.017845706500153168),
    ],
    "i1": [
        (0.001, 0.0005000000625000026),
        (-2.0, -1.590636854637329),
        (7.9, 363.8539440845084),
        (8.1, 439.48430891035844),
        (50.0, 2.903078590103557e20),
    ],
    "i1e": [
        (0.001, 0.0004995003123542213),
        (-2.0, -0.21526928924893765),
        (7.9, 0.13489649943989376),
        (8.1, 0.13340068832583662),
        (500.0, 0.017827851852898056),
    ],
    "modified_bessel_k0": [
        (0.001, 7.023688800562382),
        (1.0, 0.42102443824070834),
        (1.9, 0.1288459792760475),
        (2.1, 0.10078374088996693),
        (40.0, 8.392861100099567e-19),
    ],
    "modified_bessel_k1": [
        (0.001, 999.9962381560856),
        (1.0, 0.6019072301972346),
        (1.9, 0.15966015303266762),
        (2.1, 0.12274641153350789),
        (40.0, 8.497131954861039e-19),
    ],
    "scaled_modified_bessel_k0": [
        (0.001, 7.030716002378251),
        (1.0, 1.144463079806895),
        (2.1, 0.8230171525316621),
        (400.0, 0.06264615129957811),
    ],
    "scaled_modified_bessel_k1": [
        (0.001, 1000.9967345590684),
        (1.0, 1.6361534862632583),
        (2.1, 1.0023680527405792),
        (400.0, 0.06272441016827716),
    ],
    "erfcx": [
        (-3.0, 16205.988853999586),
        (-0.2, 1.2726020284831958),
        (0.4, 0.6707877852947615),
        (1.2, 0.37853741692923976),
        (9.0, 0.06230772403777468),
        (1000.0, 0.0005641893014533876),
    ],
    "log_ndtr": [
        (-50.0, -1254.8313611394199),
        (-5.0, -15.064998393988725),
        (-0.9, -1.6924928065613383),
        (0.3, -0.4814101615884812),
        (4.0, -3.167174337748927e-05),
        (20.0, -2.7536241186062337e-89),
    ],
    "ndtri": [
        (1e-40, -13.31092137142517),
        (1e-09, -5.9978070150076865),
        (0.02, -2.053748910631823),
        (0.3, -0.5244005127080408),
        (0.9, 1.2815515655446006),
        (0.999, 3.090232306167813),
    ],
    "spherical_bessel_j0": [
        (1e-06, 0.9999999999998334),
        (0.3, 0.9850673555377986),
        (9.0, 0.04579094280463962),
    ],
    "entr": [
        (0.1, 0.23025850929940458),
        (2.0, -1.3862943611198906),
    ],
}
KNOWN_PAIRS = {
    "gammainc": [
        (0.01, 0.5, 0.9943732438060329),
        (2.0, 1.0, 0.26424111765711533),
        (5.0, 30.0, 0.999999996375699),
        (40.0, 35.0, 0.21980955482531797),
        (500.0, 520.0, 0.8153088509012564),
    ],
    "gammaincc": [
        (0.01, 0.5, 0.0056267561939671844),
        (2.0, 1.0, 0.7357588823428847),
        (5.0, 30.0, 3.6243009520614882e-09),
        (40.0, 35.0, 0.7801904451746821),
        (500.0, 520.0, 0.1846911490987436),
    ],
    "zeta": [
        (2.0, 1.0, 1.6449340668482264),
        (1.01, 0.3, 103.5425625034783),
        (5.5, 20.0, 3.4710167256251565e-07),
        (3.0, 100.0, 5.0502499916675e-05),
    ],
}


@pytest.mark.parametrize("name", KNOWN)
def test_values(name):
    points, expected = zip(*KNOWN[name], strict=True)
    found = getattr(taper.special, name)(taper.tensor(points, dtype=taper.float64))
    np.testing.assert_allclose(found.numpy(), expected, rtol=3e-14)


@pytest.mark.parametrize("name", KNOWN_PAIRS)
def test_values_of_two(name):
    first, second, expected = zip(*KNOWN_PAIRS[name], strict=True)
    function = getattr(taper.special, name)
    found = function(*(taper.tensor(each, dtype=taper.float64) for each in (first, second)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def test_incomplete_gamma_functions_add_up_to_one():
    rng = np.random.default_rng(0)
    a, x = (taper.from_numpy(10.0 ** rng.uniform(-3, 3, 500)) for _ in range(2))
    total = taper.igamma(a, x) + taper.igammac(a, x)
    np.testing.assert_allclose(total.numpy(), 1.0, rtol=1e-14)


def test_ndtri_is_the_inverse_of_ndtr():
    p = taper.linspace(0.001, 0.999, 101, dtype=taper.float64)
    np.testing.assert_allclose(taper.special.ndtr(taper.special.ndtri(p)).numpy(), p.numpy(), 1e-12)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions_have_one_gradient(name):
    function = getattr(taper, name)
    a = taper.tensor([0.5, 2.0, 30.0], dtype=taper.float64)
    x = taper.tensor([0.7, 3.0, 25.0], dtype=taper.float64, requires_grad=True)
    assert taper.autograd.gradcheck(lambda given: function(a, given), (x,))
    a.requires_grad_()
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}: input' is not"):
        function(a, x).sum().backward()


def test_zeta_has_the_gradient_of_its_second_argument():
    s = taper.tensor([2.0, 3.5], dtype=taper.float64)
    q = taper.tensor([0.6, 4.0], dtype=taper.float64, requires_grad=True)
    assert taper.autograd.gradcheck(lambda given: taper.special.zeta(s, given), (q,))
    with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented"):
        taper.special.zeta(s.requires_grad_(), q).sum().backward()


def test_every_listed_name_is_a_function():
    assert all(callable(getattr(taper.special, name)) for name in taper.special.__all__)
    assert len(set(taper.special.__all__)) == len(taper.special.__all__)
