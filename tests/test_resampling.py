"""Maps along one dimension do what their entries say, natively too."""

from __future__ import annotations

import numpy as np
import pytest

from taper.arrays.interpolation import linear, nearest
from taper.arrays.native import native
from taper.arrays.resampling import Resampling

needs_native = pytest.mark.skipif(native is None, reason="the native module is not built, or off")

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


def random_map(draw: np.random.Generator, dtype: str) -> Resampling:
    """Return a map with up to six sources for a target, and with targets that have none."""
    targets, sources, count = (int(draw.integers(1, 40)) for _ in range(3))
    return Resampling(
        (targets, sources),
        draw.integers(0, targets, count),
        draw.integers(0, sources, count),
        draw.normal(size=count).astype(dtype),
    )


@needs_native
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_natively_a_map_gives_the_same_bits(dtype: str) -> None:
    draw = np.random.default_rng(2)
    for _ in range(300):
        made = random_map(draw, dtype)
        axis = int(draw.integers(0, 3))
        shape = [int(draw.choice([0, 1, 2, 5, 9, 130])) for _ in range(3)]
        shape[axis] = made.shape[1]
        array = draw.normal(size=shape).astype(dtype)
        array[draw.random(shape) < 0.02] = np.inf
        with np.errstate(invalid="ignore"):
            wanted = made._by_taps(array, axis)
            found = made.apply(array, axis)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == array.dtype


@needs_native
def test_threads_share_a_large_map() -> None:
    draw = np.random.default_rng(3)
    made = linear(100, 230, False, None, "float32")
    for shape, axis in (((300, 100), 1), ((3, 100, 300), 1), ((100, 70_000), 0)):
        array = draw.normal(size=shape).astype("f4")
        np.testing.assert_array_equal(made.apply(array, axis), made._by_taps(array, axis))


@needs_native
def test_a_native_map_checks_what_it_is_given() -> None:
    array, weights = np.ones((2, 3), "f4"), np.ones(2, "f4")
    starts, places = np.array([0, 1, 2]), np.array([0, 2], np.int32)
    assert native.resample(array, 1, starts, places, weights).tolist() == [[1, 1], [1, 1]]
    for other in (array.T, array.astype("f2"), array.astype("i4"), [1.0]):
        assert native.resample(other, 1, starts, places, weights) is None
    assert native.resample(array, 2, starts, places, weights) is None
    assert native.resample(array, -1, starts, places, weights) is None
    assert native.resample(array, 1, starts, places, weights.astype("f8")) is None
    for wrong in (
        (starts, np.array([0, 3], np.int32), weights),
        (starts, np.array([-1, 2], np.int32), weights),
        (np.array([0, 2, 1]), places, weights),
        (np.array([1, 1, 2]), places, weights),
        (np.array([0, 1, 3]), places, weights),
        (np.array([], np.int64), places, weights),
        (starts, places, np.ones(3, "f4")),
    ):
        with pytest.raises(ValueError, match="sources that are not there"):
            native.resample(array, 1, *wrong)
