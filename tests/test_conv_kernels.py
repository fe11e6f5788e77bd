"""The ways in which a convolution is computed, by size, give the same numbers.

The convolution is compared with its definition, and its two gradients with the convolution: for all
arrays, sum(convolve(x, w) * g) = sum(x * spread(g, w)) = sum(w * weight_gradient(x, g)).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import taper
from taper.arrays import convolution as kernels
from taper.arrays.native import native

# Shape of the input, of the weight (groups, outputs, inputs, *kernel), stride, padding, dilation.
GEOMETRIES = {
    "rows": ((2, 3, 9, 8), (1, 4, 3, 3, 3), (1, 1), (1, 1), (1, 1)),
    "few places, many outputs": ((2, 3, 3, 2), (1, 40, 3, 3, 3), (1, 1), (1, 1), (1, 1)),
    "few places, stride": ((1, 4, 6, 5), (2, 20, 2, 3, 2), (2, 3), (1, 0), (1, 1)),
    "few places, padded far": ((1, 1, 2, 2), (1, 50, 1, 2, 2), (2, 2), (2, 2), (1, 1)),
    "few places, one dimension": ((2, 2, 7), (1, 30, 2, 3), (2,), (1,), (2,)),
    "groups and dilation": ((2, 6, 11, 10), (3, 2, 2, 3, 2), (2, 1), (2, 1), (1, 2)),
    "depthwise": ((2, 8, 7, 7), (8, 1, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
    "rest that no window sees": ((1, 2, 8, 9), (1, 3, 2, 2, 3), (3, 4), (0, 0), (1, 1)),
    "volumes": ((1, 2, 5, 4, 6), (1, 3, 2, 2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2)),
    "single places": ((2, 4, 5, 5), (2, 3, 2, 1, 1), (2, 1), (0, 0), (1, 1)),
}
# The number of elements from which work is cut into blocks; the usual one cuts none of these.
BLOCKS = (kernels.BLOCK, 400, 16)


def by_definition(array, weight, stride, padding, dilation):
    groups, outputs, inputs, *taps = weight.shape
    widths = [(width, width) for width in padding]
    array = np.pad(array, [(0, 0), (0, 0), *widths])
    array = array.reshape(len(array), groups, inputs, *array.shape[2:])
    sizes = [
        (length - (count - 1) * apart - 1) // step + 1
        for length, count, apart, step in zip(array.shape[3:], taps, dilation, stride, strict=True)
    ]
    result = np.zeros((len(array), groups, outputs, *sizes))
    for place in product(*map(range, sizes)):
        window = [
            slice(at * step, at * step + (count - 1) * apart + 1, apart)
            for at, step, count, apart in zip(place, stride, taps, dilation, strict=True)
        ]
        seen = array[(..., *window)]
        letters = "xyz"[: len(taps)]
        result[(..., *place)] = np.einsum(f"ngi{letters},goi{letters}->ngo", seen, weight)
    return result.reshape(len(array), groups * outputs, *sizes)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_convolution_and_both_gradients(name, block, monkeypatch):
    monkeypatch.setattr(kernels, "BLOCK", block)
    monkeypatch.setattr(kernels, "native", native if block == BLOCKS[0] else None)
    shape, weight_shape, stride, padding, dilation = GEOMETRIES[name]
    rng = np.random.default_rng(7)
    array, weight = rng.standard_normal(shape), rng.standard_normal(weight_shape)
    expected = by_definition(array, weight, stride, padding, dilation)
    settings = (stride, padding, dilation)
    found = kernels.convolve(array, weight, None, *settings, np.empty(expected.shape))
    np.testing.assert_allclose(found, expected, atol=1e-12)

    grad = rng.standard_normal(expected.shape)
    total = np.sum(expected * grad)
    of_array = kernels.spread(grad, weight, None, *settings, np.empty(shape))
    assert np.sum(of_array * array) == pytest.approx(total, abs=1e-10)
    of_weight = kernels.weight_gradient(array, grad, weight_shape, *settings)
    assert of_weight.shape == weight_shape
    assert np.sum(of_weight * weight) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("outputs", [3, 60])
def test_bias_is_added_once(outputs):
    rng = np.random.default_rng(1)
    grad, weight = (
        rng.standard_normal((2, outputs, 3, 3)),
        rng.standard_normal((1, outputs, 2, 3, 3)),
    )
    bias = rng.standard_normal(2)
    settings = ((2, 2), (1, 1), (1, 1), np.empty((2, 2, 6, 6)))
    without = kernels.spread(grad, weight, None, *settings).copy()
    found = kernels.spread(grad, weight, bias, *settings)
    np.testing.assert_allclose(found, without + bias[:, None, None], atol=1e-12)


def _random_geometry(rng):
    """Arrays and settings of a random convolution in one or two dimensions; None if it is empty."""
    rank, groups, images = (int(rng.choice(each)) for each in ([1, 2, 2], [1, 1, 2, 3], [1, 2, 9]))
    inputs, outputs = (int(rng.choice([1, 2, 5, 40])) for _ in range(2))
    kernel, stride, dilation = (tuple(rng.integers(1, most, rank).tolist()) for most in (5, 4, 3))
    padding, sizes = (
        tuple(rng.integers(low, most, rank).tolist()) for low, most in ((0, 4), (1, 40))
    )
    spans = zip(sizes, padding, dilation, kernel, stride, strict=True)
    places = [(s + 2 * p - d * (k - 1) - 1) // step + 1 for s, p, d, k, step in spans]
    if min(places) < 1:
        return None
    dtype = rng.choice([np.float32, np.float64])
    shapes = (images, groups * inputs, *sizes), (groups, outputs, inputs, *kernel)
    array, weight = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    grad = rng.standard_normal((images, groups * outputs, *places)).astype(dtype)
    return array, weight, grad, (stride, padding, dilation)


def _all_three(array, weight, grad, settings):
    biases = np.arange(grad.shape[1], dtype=grad.dtype), np.arange(array.shape[1], dtype=grad.dtype)
    return (
        kernels.convolve(array, weight, biases[0], *settings, np.empty_like(grad)),
        kernels.spread(grad, weight, biases[1], *settings, np.empty_like(array)),
        kernels.weight_gradient(array, grad, weight.shape, *settings),
    )


@pytest.mark.skipif(native is None, reason="the native module is not built")
@pytest.mark.parametrize("seed", range(100))
def test_the_native_module_agrees_with_its_twin_and_on_two_threads(seed, monkeypatch):
    given = _random_geometry(np.random.default_rng(seed))
    if given is None:
        return
    before = taper.get_num_threads()
    taper.set_num_threads(1)
    found = _all_three(*given)
    taper.set_num_threads(2)
    on_two = _all_three(*given)
    taper.set_num_threads(before)
    monkeypatch.setattr(kernels, "native", None)
    limit = 2e-6 if given[0].dtype == np.float32 else 1e-14
    for one, two, twin in zip(found, on_two, _all_three(*given), strict=True):
        assert one.tobytes() == two.tobytes()
        assert np.abs(one - twin).max() <= limit * max(1, np.abs(twin).max())


@pytest.mark.skipif(native is None, reason="the native module is not built")
@pytest.mark.parametrize(
    "change",
    [
        {"stride": (0, 1)},
        {"padding": (-1, 0)},
        {"dilation": (1, 1 << 40)},
        {"stride": (1,)},
        {"stride": [1, 1]},
        {"output": np.ones((2, 4, 9, 9), np.float32)},
        {"output": np.ones((2, 5, 7, 7), np.float32)},
        {"weight": np.ones((1, 4, 3, 3, 3), np.float64)},
        {"weight": np.ones((1, 4, 2, 3, 3), np.float32)},
        {"bias": np.ones(3, np.float32)},
        {"input": None},
        {"input": np.ones((2, 3, 9, 0), np.float32)},
    ],
)
def test_the_native_module_refuses_what_does_not_fit(change):
    given = {
        "input": np.ones((2, 3, 9, 9), np.float32),
        "weight": np.ones((1, 4, 3, 3, 3), np.float32),
        "output": np.ones((2, 4, 7, 7), np.float32),
        "stride": (1, 1),
        "padding": (0, 0),
        "dilation": (1, 1),
        "bias": None,
    }
    assert native.convolve(*given.values()) is True
    assert native.convolve(*{**given, **change}.values()) is None
