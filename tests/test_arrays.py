"""The helpers of kernels: selecting by a mask, the logistic function, working in blocks."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from taper.arrays import elements as arrays
from taper.arrays import strides

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128, int]


def example(dtype, rng, shape):
    values = rng.standard_normal(shape).astype(np.float32).astype(dtype)
    if np.dtype(dtype).kind == "f":
        values.reshape(-1)[:4] = [np.inf, -np.inf, np.nan, -0.0]
    return values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 5), (40, 50)])  # below and above the size for bit patterns
def test_masked_and_select_choose_whole_elements(dtype, shape):
    rng = np.random.default_rng(0)
    first, second = example(dtype, rng, shape), example(dtype, rng, shape)
    mask = rng.random(shape) > 0.5
    zero = np.zeros((), dtype)
    for one, other, chosen in [
        (first, second, mask),
        (first.T, second.T, mask.T),
        (first, second[0], mask),
        (first[0], second[0], mask),
        (first, second[0, 0].reshape(()), mask),
    ]:
        found = arrays.select(chosen, one, other)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.where(chosen, one, other))
        kept = arrays.masked(one, chosen)
        assert kept.dtype == dtype
        np.testing.assert_array_equal(kept, np.where(chosen, one, zero))


def test_logistic():
    points = np.array([-200.0, -1.0, 0.0, 1.0, 200.0])
    expected = [1.3838965267367376e-87, 0.2689414213699951, 0.5, 0.7310585786300049, 1.0]
    np.testing.assert_allclose(arrays.logistic(points), expected, rtol=1e-15)
    assert arrays.logistic(np.array(0.0)) == 0.5
    assert arrays.logistic(np.zeros(2, np.float32)).dtype == np.float32


@pytest.mark.parametrize("shape", [(5,), (200, 300), (3 * arrays.BLOCK + 7,)])
def test_blocks_make_no_difference(shape):
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((2, *shape))
    found = arrays.in_blocks(np.hypot, first, second)
    np.testing.assert_array_equal(found, np.hypot(first, second))
    turned = arrays.in_blocks(np.hypot, first.T, second.T)
    np.testing.assert_array_equal(turned, np.hypot(first, second).T)


def test_zero_is_of_the_dtype():
    for dtype in DTYPES:
        assert arrays.zero_of(np.dtype(dtype)).dtype == dtype


@pytest.mark.parametrize("takes_copy", [True, False])
def test_reshaped_is_a_view_or_refuses(monkeypatch, takes_copy):
    """NumPy 2.0 has no `copy` argument: both ways give the same views."""
    if not strides._RESHAPE_TAKES_COPY and takes_copy:
        pytest.skip("NumPy 2.0 cannot be told not to copy")
    monkeypatch.setattr(strides, "_RESHAPE_TAKES_COPY", takes_copy)
    x = np.arange(24.0).reshape(4, 6)
    for wanted, order in (((2, 12), "C"), (-1, "C"), ((3, -1, 2), "C"), ((8, 3), "F")):
        source = x if order == "C" else x.T
        found = strides.reshaped(source, wanted, order)
        assert np.array_equal(found, source.reshape(wanted, order=order))
        assert np.shares_memory(found, x)
    with pytest.raises(ValueError, match="copy"):
        strides.reshaped(x[:, :3], (2, 6))
    with pytest.raises(ValueError, match="reshape"):
        strides.reshaped(x, (5, 5))
