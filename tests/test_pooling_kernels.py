"""Native pooling: equal to its twin over random windows, equal on all threads, strict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays import windows
from taper.arrays.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")


def random_windows(draw: np.random.Generator, length: int) -> windows.Windows:
    if draw.random() < 0.3:
        return windows.adaptive_windows(length, int(draw.integers(1, length + 3)))
    kernel, stride, dilation = (int(draw.integers(1, high)) for high in (5, 6, 3))
    padding = int(draw.integers(0, kernel // 2 + 1))
    count = max((length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1, 1)
    return windows.regular_windows(length, kernel, stride, padding, dilation, count)


def random_case(seed: int) -> tuple[np.ndarray, list[windows.Windows]]:
    draw = np.random.default_rng(seed)
    rank = int(draw.integers(1, 4))
    lengths = draw.integers(5, 12 if rank == 3 else 40, rank)
    shape = (*draw.integers(1, 4, int(draw.integers(0, 3))), *lengths)
    array = draw.normal(size=shape).astype(draw.choice(["f4", "f8"]))
    if seed % 3 == 0:
        array = np.round(array)  # equal elements: the first one counts
    if seed % 4 == 0:
        array[draw.random(shape) < 0.1] = draw.choice([np.nan, np.inf, -np.inf])
    if seed % 5 == 0:
        array = np.moveaxis(array, 0, -1).copy().transpose(array.ndim - 1, *range(array.ndim - 1))
    return array, [random_windows(draw, int(length)) for length in lengths]


def with_twin(monkeypatch: pytest.MonkeyPatch, function: Any, *arguments: Any) -> tuple[Any, Any]:
    found = function(*arguments)
    with monkeypatch.context() as patch:
        patch.setattr(windows, "native", None)
        return found, function(*arguments)


@pytest.mark.parametrize("seed", range(60))
def test_maxima_and_places_are_those_of_the_twin(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    array, over = random_case(seed)
    found, wanted = with_twin(monkeypatch, windows.maxima_with_places, array, over)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    alone = windows.combined_all(np.maximum, array, over)
    np.testing.assert_array_equal(alone, wanted[0])
    if all((each.reach[1] > 0).all() for each in over):
        grad = np.random.default_rng(seed).normal(size=found[0].shape).astype(array.dtype)
        given = (grad, found[1], len(over), array.shape)
        one, other = with_twin(monkeypatch, windows.added_at, *given)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_of_the_twin(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    array, over = random_case(seed)
    array = np.nan_to_num(array, posinf=1.0, neginf=2.0)
    near = 2e-6 if array.dtype == np.float32 else 1e-14
    found, wanted = with_twin(monkeypatch, windows.combined_all, np.add, array, over)
    np.testing.assert_allclose(found, wanted, near, 10 * near)
    if not all(isinstance(source, slice) for each in over for source, _ in each.taps):
        return  # the twin of spreading takes windows at equal distances only
    found, wanted = with_twin(monkeypatch, windows.spread_all, found, over)
    np.testing.assert_allclose(found, wanted, near, 20 * near)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    array = np.random.default_rng(1).normal(size=(6, 16, 40, 40)).astype(np.float32)
    over = [windows.regular_windows(40, 3, 2, 1, 1, 20)] * 2
    before = taper.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            taper.set_num_threads(threads)
            values, places = windows.maxima_with_places(array, over)
            results.append(
                (
                    values,
                    places,
                    windows.combined_all(np.add, array, over),
                    windows.spread_all(values, over),
                    windows.added_at(values, places, 2, array.shape),
                )
            )
    finally:
        taper.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


REACH = np.array([[0, 2], [2, 2]])


@pytest.mark.parametrize(
    ("array", "reach", "step"),
    [
        (np.ones((2, 4), np.int64), REACH, 1),
        (np.ones((2, 8), np.float32)[:, ::2], REACH, 1),
        (np.ones((2, 3), np.float32), REACH, 1),  # the last window stands out
        (np.ones((2, 4), np.float32), REACH, 2),
        (np.ones((2, 4), np.float32), REACH, 0),
        (np.ones((2, 4), np.float32), REACH - [[1], [0]], 1),
        (np.ones((2, 4), np.float32), REACH * [[1], [0]], 1),  # no tap inside
        (np.ones((2, 4), np.float32), REACH.astype(np.int32), 1),
        (np.ones((2, 4), np.float32), REACH[0], 1),
        (np.ones((0, 4), np.float32), REACH, 1),
        (np.ones(()), REACH, 1),
        ([1.0], REACH, 1),
    ],
)
def test_what_is_not_plain_is_left_to_the_twin(array: Any, reach: Any, step: int) -> None:
    assert native.pool_maxima(array, True, reach, step) is None
    assert native.pool_sums(array, reach, step) is None


def test_gradients_that_do_not_fit_are_left_to_the_twin() -> None:
    grad = np.ones((2, 2), np.float32)
    places = np.zeros((2, 2), np.int64)
    assert native.pool_back(grad, (2, 4), REACH, 1) is not None
    assert native.pool_back(grad, (3, 4), REACH, 1) is None
    assert native.pool_back(grad, (2, 3), REACH, 1) is None
    assert native.pool_back(grad[:, :1].copy(), (2, 4), REACH, 1) is None
    assert native.pool_add(grad, places, 1, (2, 4)) is not None
    for wrong in (-1, 4):
        assert native.pool_add(grad, places + wrong, 1, (2, 4)) is None
    assert native.pool_add(grad, places, 1, (3, 4)) is None
    assert native.pool_add(grad, places[:1], 1, (2, 4)) is None
    assert native.pool_add(grad, places.astype(np.int32), 1, (2, 4)) is None
    assert native.pool_add(grad, places, 3, (2, 4)) is None
