"""`taper.quasirandom`: PyTorch's points of Sobol sequences."""

import pytest

import taper
from taper.quasirandom import SobolEngine
from taper.sampling import sobol


def test_points_are_pytorchs():
    engine = SobolEngine(4)
    assert engine.draw(4).tolist() == [
        [0.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25, 0.25],
        [0.25, 0.75, 0.75, 0.75],
    ]
    assert engine.draw(1).tolist() == [[0.375, 0.375, 0.625, 0.875]]
    assert engine.num_generated == 5
    assert repr(engine) == "SobolEngine(dimension=4)"


def test_scrambled_points_are_pytorchs():
    engine = SobolEngine(3, scramble=True, seed=1234)
    assert engine.shift.tolist() == [218124171, 452292137, 5635186]
    assert engine.sobolstate[:, 0].tolist() == [897110745, 992651535, 727121799]
    assert repr(engine) == "SobolEngine(dimension=3, scramble=True, seed=1234)"


def test_skipped_points_are_the_same():
    drawn = SobolEngine(7).draw(20)
    assert taper.equal(SobolEngine(7).fast_forward(5).draw(3), drawn[5:8])
    engine = SobolEngine(7)
    engine.draw(4)
    assert taper.equal(engine.fast_forward(2).draw(2), drawn[6:8])
    assert taper.equal(engine.reset().draw_base2(3, dtype=taper.float64), drawn[:8].double())


def test_mistakes():
    with pytest.raises(ValueError, match=r"Supported range of dimensionality .* is \[1, 21201\]"):
        SobolEngine(0)
    with pytest.raises(NotImplementedError, match="for 1111 dimensions are provided, not for 1112"):
        SobolEngine(1112)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"then: n=3\+2\*\*2=7"):
        engine.draw_base2(2)
    assert engine.num_generated == 3


def test_polynomials_are_primitive_ones():
    counts = [len(sobol.primitive_polynomials(degree)) for degree in range(1, 11)]
    assert counts == [1, 1, 2, 2, 6, 6, 18, 16, 48, 60]  # phi(2^n - 1) / n
    assert sobol.primitive_polynomials(3) == [0b1011, 0b1101]
