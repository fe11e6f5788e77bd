"""Maps along one dimension: repeating and adding neighbours is what their entries say."""

from __future__ import annotations

import numpy as np
import pytest

from taper.arrays.interpolation import nearest

CASES = [(5, 2), (7, 3), (1, 4), (20, 2), (3, 40)]


@pytest.mark.parametrize(("length", "times"), CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_each_element_is_repeated(length: int, times: int, dtype: str) -> None:
    draw = np.random.default_rng(0)
    repeating = nearest(length, length * times, None, False)
    assert repeating.times == times
    for shape, axis in (((2, 3, length), 2), ((2, length, 30), 1), ((length,), 0)):
        array = draw.integers(0, 99, shape).astype(dtype)
        wanted = np.repeat(array, times, axis)
        np.testing.assert_array_equal(repeating.apply(array, axis), wanted)


@pytest.mark.parametrize(("length", "times"), CASES)
def test_neighbours_are_added_in_their_order(length: int, times: int) -> None:
    draw = np.random.default_rng(1)
    adding = nearest(length, length * times, None, False).transposed()
    assert adding.times == times
    for shape, axis in (((2, 3, length), 2), ((2, length, 30), 1), ((length,), 0)):
        wide = [count * (times if nr == axis else 1) for nr, count in enumerate(shape)]
        array = draw.normal(size=wide).astype("f4")
        found = adding.apply(array, axis)
        np.testing.assert_array_equal(found, adding._by_taps(array, axis))
        assert found.shape == shape


def test_other_maps_go_by_their_entries() -> None:
    for length, count in ((5, 7), (6, 4), (4, 6), (3, 3)):
        assert nearest(length, count, None, False).times == 0
    uneven = nearest(2, 4, 1.5, False)
    np.testing.assert_array_equal(uneven.apply(np.float32([1, 2]), 0), [1, 1, 2, 2])
    assert nearest(2, 4, 4.0, False).times == 0  # a scale that says otherwise than the sizes
