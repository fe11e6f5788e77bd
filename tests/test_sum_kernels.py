"""Sums, means, extremes, variances, log-sums in C, and products with a bias: exact and strict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays import reduction
from taper.arrays.native import native
from taper.ops.linalg import addmm as products

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")

SHAPES = [(), (1,), (5, 5), (15,), (16,), (3, 17), (700, 33), (40_000,), (100_003,)]
SHAPES += [(9_000, 3), (64, 700), (3, 4, 5, 6), (2, 600, 7), (33, 2, 300), (1, 1, 1)]


def values(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(2).normal(0.3, 2.0, shape).astype(np.float32)


def ranges_of(ndim: int) -> list[Any]:
    """All neighbouring dimensions, and None for all."""
    pairs = [(first, last) for last in range(ndim) for first in range(last + 1)]
    return [None, *[tuple(range(first, last + 1)) for first, last in pairs]]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_range_of_dimensions(shape: tuple[int, ...]) -> None:
    x = values(shape)
    wide = x.astype(np.float64)
    for axes in ranges_of(x.ndim):
        for keepdims in (False, True):
            size = np.abs(wide).sum(axes, keepdims=keepdims)
            wanted = wide.sum(axes, keepdims=keepdims)
            found = native.reduce(reduction.SUM, x, axes, keepdims)
            assert found.shape == wanted.shape and found.dtype == np.float32
            assert (np.abs(found - wanted) <= 3e-7 * size).all()
            mean = native.reduce(reduction.MEAN, x, axes, keepdims)
            count = x.size // max(wanted.size, 1)
            assert (np.abs(mean - wanted / count) <= 3e-7 * size / count).all()
            variance, means = native.variance(x, axes, keepdims, count)
            assert (np.abs(means - wanted / count) <= 3e-7 * size / count).all()
            np.testing.assert_allclose(variance, wide.var(axes, keepdims=keepdims), rtol=1e-6)
            for kind, ufunc in ((reduction.LARGEST, np.maximum), (reduction.SMALLEST, np.minimum)):
                found = native.reduce(kind, x, axes, keepdims)
                if axes is None or axes[-1] == x.ndim - 1:
                    np.testing.assert_array_equal(found, ufunc.reduce(x, axes, keepdims=keepdims))
            total = native.reduce(reduction.LOG_TOTAL, x, axes, keepdims)
            wanted = np.logaddexp.reduce(wide, axes, keepdims=keepdims)
            assert total.shape == wanted.shape and total.dtype == np.float32
            np.testing.assert_allclose(total, wanted, rtol=3e-7, atol=3e-7)


@pytest.mark.parametrize("length", [1, 3, 16, 40, 100, 50_000])
def test_nan_and_infinities(length: int) -> None:
    for place in {0, length // 2, length - 1}:
        x = values((2, length))
        x[0, place] = np.inf
        assert native.reduce(reduction.LARGEST, x, (1,), False)[0] == np.inf
        assert native.reduce(reduction.LARGEST, x, None, False) == np.inf
        assert native.reduce(reduction.SUM, x, (1,), False)[0] == np.inf
        assert native.reduce(reduction.SMALLEST, -x, None, False) == -np.inf
        np.testing.assert_array_equal(native.reduce(reduction.SMALLEST, x, (1,), False), x.min(1))
        x[1, place] = np.nan
        for kind in range(5):
            assert np.isnan(native.reduce(kind, x, None, False))
            assert np.isnan(native.reduce(kind, x, (1,), False)).tolist() == [False, True]


@pytest.mark.parametrize("shape", [(3, 5), (3, 300), (3, 40_000)])
def test_log_sums_beyond_the_range_of_exp(shape: tuple[int, int]) -> None:
    def log_sum(array: np.ndarray, axes: Any) -> np.ndarray:
        return native.reduce(reduction.LOG_TOTAL, array, axes, False)

    x, infinity = values(shape), np.float32(np.inf)
    for moved in (x + 1000, x - 1000, x * 1e30):
        wanted = np.logaddexp.reduce(moved.astype(np.float64), 1)
        np.testing.assert_allclose(log_sum(moved, (1,)), wanted, rtol=3e-7)
        np.testing.assert_allclose(log_sum(moved.T.copy(), (0,)), wanted, rtol=3e-7)
        np.testing.assert_allclose(log_sum(moved[0], None), wanted[0], rtol=3e-7)
    x[0], x[1, 2], x[2, 0], x[2, 1] = -infinity, infinity, -infinity, -infinity
    rest = np.logaddexp.reduce(x[2].astype(np.float64))
    for found in (log_sum(x, (1,)), log_sum(x.T.copy(), (0,))):
        np.testing.assert_allclose(found, [-np.inf, np.inf, rest], rtol=3e-7)
    assert log_sum(x[0], None) == -infinity and log_sum(x[1], None) == infinity


def test_a_sum_of_many_small_numbers_is_exact() -> None:
    x = np.full(10_000_000, 0.1, np.float32)
    exact = float(np.float64(x[0]) * x.size)
    assert taper.from_numpy(x).sum().item() == pytest.approx(exact, rel=5e-7)
    columns = taper.from_numpy(x.reshape(-1, 10)).sum(0).numpy()
    np.testing.assert_allclose(columns, exact / 10, rtol=5e-7)
    moved = taper.from_numpy(values((1_000_000,)) + 1000)
    assert moved.var().item() == pytest.approx(moved.double().var().item(), rel=1e-6)


def test_operators_agree_with_their_twins() -> None:
    x = taper.from_numpy(values((30, 20, 50)))
    calls = {
        "sum": lambda v: v.sum(),
        "sum of several": lambda v: v.sum((0, 2)),
        "mean": lambda v: v.mean(-1),
        "var": lambda v: v.var(1),
        "std": lambda v: v.std(),
        "amax": lambda v: v.amax((1, 2)),
        "min": lambda v: v.min(2).values,
        "max": lambda v: v.max(),
        "logsumexp": lambda v: v.logsumexp(1),
        "logsumexp of all": lambda v: v.logsumexp((0, 1, 2)),
    }
    turned = x.transpose(0, 2).contiguous().transpose(0, 2)  # left to the twins
    for name, call in calls.items():
        np.testing.assert_allclose(call(x), call(turned), rtol=1e-5, atol=1e-5, err_msg=name)


def test_threads_do_not_change_a_bit() -> None:
    x, before, results = values((300, 7, 100)), taper.get_num_threads(), []
    for count in (1, 2):
        taper.set_num_threads(count)
        found = [native.reduce(0, x, axes, False) for axes in ranges_of(3)]
        found += [native.reduce(4, x, axes, False) for axes in ranges_of(3)]
        found += [each for axes in ranges_of(3) for each in native.variance(x, axes, False, 2)]
        results.append([each.tobytes() for each in found])
    taper.set_num_threads(before)
    assert results[0] == results[1]


@pytest.mark.parametrize("sizes", [(2, 1, 2), (5, 5, 5), (33, 7, 65), (300, 200, 150)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_with_a_bias(
    sizes: tuple[int, int, int], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, inner, columns = sizes
    draw = np.random.default_rng(0)
    left, right = draw.normal(size=(rows, inner)), draw.normal(size=(columns, inner))
    bias = draw.normal(size=columns)
    tensors = [taper.from_numpy(each.astype(dtype)) for each in (bias, left, right)]
    found = taper.addmm(tensors[0], tensors[1], tensors[2].t()).numpy()
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(found, left @ right.T + bias, atol=tolerance * inner)
    monkeypatch.setattr(products, "two_matrices", lambda *_: None)
    twin = taper.addmm(tensors[0], tensors[1], tensors[2].t()).numpy()
    np.testing.assert_allclose(found, twin, atol=tolerance)


def test_operands_that_do_not_fit_are_left_to_the_twin() -> None:
    x = values((3, 4, 5))
    for array, axes in (
        (x, (0, 2)),
        (x, (1, 0)),
        (x, ()),
        (x, (3,)),
        (x, (-1,)),
        (x, (True,)),
        (x, (1 << 70,)),
        (x, [0]),
        (x[:0], None),
        (x[:, ::2], None),
        (x.T, None),
        (x.astype(np.float64), None),
        ([1.0], None),
    ):
        assert native.reduce(0, array, axes, False) is None
        assert native.variance(array, axes, False, 2) is None
    for axes in ((0,), (0, 1), (1,)):
        assert native.reduce(reduction.LARGEST, x, axes, False) is None
    matrix = x[0]
    for bias in (x[0, 0, :3], x[0], x[0, 0].astype(np.float64), None, x[0, :, 0]):
        assert native.product(matrix, matrix.T, bias) is None


@pytest.mark.parametrize(
    "shape", [(1,), (15,), (1000,), (100_003,), (7, 33), (300, 200), (2, 3, 5)]
)
def test_lengths_of_vectors_are_close_to_the_truth(shape: tuple[int, ...]) -> None:
    x = values(shape)
    for axes in (None, (len(shape) - 1,)):
        for keep in (False, True):
            found = native.reduce(5, x, axes, keep)
            squares = np.square(x.astype(np.float64))
            wanted = np.sqrt(np.sum(squares, axis=axes, keepdims=keep))
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=3e-7)
    if len(shape) > 1:
        assert native.reduce(5, x, (0,), False) is None
    np.testing.assert_array_equal(native.reduce(5, np.float32([np.inf, 1]), None, False), np.inf)


def test_what_is_no_call_is_refused() -> None:
    x = values((3, 4))
    for wrong in ((), (0, x), ("x", x, None, False), (6, x, None, False), (-1, x, None, False)):
        with pytest.raises((TypeError, ValueError)):
            native.reduce(*wrong)
    for wrong in ((x,), (x, None, False, "x"), (x, None, False, 1, 1)):
        with pytest.raises(TypeError):
            native.variance(*wrong)
    with pytest.raises(TypeError):
        native.product(x, x, x, x)
