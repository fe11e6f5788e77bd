"""The ways in which a convolution is computed, by size, give the same numbers.

The convolution is compared with its definition, and its two gradients with the convolution: for all
arrays, sum(convolve(x, w) * g) = sum(x * spread(g, w)) = sum(w * weight_gradient(x, g)).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from taper.arrays import convolution as kernels

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
