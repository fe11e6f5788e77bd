"""Pooling, padding and resizing as modules and functions; numbers from PyTorch 2.13."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn import functional as F


def numbers(*shape):
    """Return 0, 1, 2, ... in a shape."""
    return taper.arange(float(np.prod(shape))).reshape(shape)


LAYERS = [
    (nn.MaxPool1d(2), numbers(1, 5), [[1.0, 3.0]]),
    (nn.MaxPool2d(2, 1), numbers(1, 3, 3), [[[4.0, 5.0], [7.0, 8.0]]]),
    (nn.MaxPool2d(2, ceil_mode=True), numbers(1, 3, 3), [[[4.0, 5.0], [7.0, 8.0]]]),
    (nn.MaxPool3d(2), numbers(1, 2, 2, 2), [[[[7.0]]]]),
    (nn.AvgPool1d(2, padding=1), numbers(1, 4), [[0.0, 1.5, 1.5]]),
    (nn.AvgPool1d(2, padding=1, count_include_pad=False), numbers(1, 4), [[0.0, 1.5, 3.0]]),
    (nn.AvgPool2d(2, divisor_override=2), numbers(1, 2, 2), [[[3.0]]]),
    (nn.AvgPool3d(2), numbers(1, 2, 2, 2), [[[[3.5]]]]),
    (nn.LPPool1d(1, 2), numbers(1, 4), [[1.0, 5.0]]),
    (nn.AdaptiveAvgPool1d(2), numbers(1, 3), [[0.5, 1.5]]),
    (nn.AdaptiveAvgPool2d((1, 2)), numbers(1, 2, 3), [[[2.0, 3.0]]]),
    (nn.AdaptiveMaxPool1d(2), numbers(1, 3), [[1.0, 2.0]]),
    (nn.Upsample(scale_factor=2), numbers(1, 1, 2), [[[0.0, 0.0, 1.0, 1.0]]]),
    (nn.Upsample(3, mode="linear", align_corners=True), numbers(1, 1, 2), [[[0.0, 0.5, 1.0]]]),
    (nn.UpsamplingNearest2d(1), numbers(1, 1, 2, 2), [[[[0.0]]]]),
    (nn.UpsamplingBilinear2d((1, 3)), numbers(1, 1, 1, 2), [[[[0.0, 0.5, 1.0]]]]),
    (nn.ConstantPad1d((1, 0), 9.0), numbers(1, 2), [[9.0, 0.0, 1.0]]),
    (nn.ZeroPad2d((1, -1, 0, 0)), numbers(1, 1, 2), [[[0.0, 0.0]]]),
    (nn.ReflectionPad1d((2, 1)), numbers(1, 3), [[2.0, 1.0, 0.0, 1.0, 2.0, 1.0]]),
    (nn.ReplicationPad1d((2, 1)), numbers(1, 3), [[0.0, 0.0, 0.0, 1.0, 2.0, 2.0]]),
    (nn.CircularPad1d((2, 1)), numbers(1, 3), [[1.0, 2.0, 0.0, 1.0, 2.0, 0.0]]),
    (nn.PixelShuffle(2), numbers(4, 1, 1), [[[0.0, 1.0], [2.0, 3.0]]]),
    (nn.PixelUnshuffle(2), numbers(1, 2, 2), [[[0.0]], [[1.0]], [[2.0]], [[3.0]]]),
    (nn.ChannelShuffle(2), numbers(1, 4, 1), [[[0.0], [2.0], [1.0], [3.0]]]),
]


@pytest.mark.parametrize(("layer", "given", "expected"), LAYERS, ids=lambda v: type(v).__name__)
def test_layer_gives_the_numbers(layer, given, expected):
    assert layer(given).tolist() == expected


@pytest.mark.parametrize(("layer", "given", "expected"), LAYERS, ids=lambda v: type(v).__name__)
def test_layer_can_be_copied_and_pickled(layer, given, expected):
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        assert other(given).tolist() == expected


def test_the_first_of_equal_elements_is_chosen_and_gets_the_gradient():
    x = taper.ones(1, 4, 4, requires_grad=True)
    values, places = F.max_pool2d(x, 2, return_indices=True)
    assert places.tolist() == [[[0, 2], [8, 10]]]
    values.sum().backward()
    assert x.grad.flatten().nonzero().flatten().tolist() == [0, 2, 8, 10]


def test_nan_wins_and_the_last_one_is_chosen():
    nan = float("nan")
    values, places = F.max_pool2d(taper.tensor([[[nan, 1.0], [nan, 2.0]]]), 2, return_indices=True)
    assert taper.isnan(values).all() and places.tolist() == [[[2]]]


def test_padding_is_never_chosen():
    values, places = F.max_pool2d(taper.full((1, 3, 3), -5.0), 3, 1, 1, return_indices=True)
    assert values.tolist() == [[[-5.0] * 3] * 3]
    assert places.tolist() == [[[0, 0, 1], [0, 0, 1], [3, 3, 4]]]


def test_places_are_the_same_whether_or_not_they_are_asked_for():
    rng = np.random.default_rng(0)
    x = taper.from_numpy(rng.standard_normal((2, 3, 11, 9)))
    values, places = F.max_pool2d(x, 3, 2, 1, 2, True, True)
    assert taper.equal(F.max_pool2d(x, 3, 2, 1, 2, True), values)
    assert taper.equal(x.flatten(2).gather(2, places.flatten(2)).reshape(values.shape), values)


def test_unpooling_undoes_pooling():
    x = numbers(1, 2, 4, 4)
    values, places = nn.MaxPool2d(2, return_indices=True)(x)
    restored = nn.MaxUnpool2d(2)(values, places)
    assert restored.shape == x.shape
    assert taper.equal(nn.MaxPool2d(2)(restored), values)
    assert restored.sum() == values.sum()


def test_unpooling_checks_the_wanted_size():
    with pytest.raises(ValueError, match="dim 0 must be between 2 and 6"):
        nn.MaxUnpool1d(2)(taper.ones(1, 2), taper.tensor([[0, 2]]), output_size=(9,))


def test_fractional_pooling_repeats_with_the_seed():
    x = numbers(1, 1, 7, 7)
    found = []
    for _ in range(2):
        taper.manual_seed(3)
        found.append(nn.FractionalMaxPool2d(2, output_size=3, return_indices=True)(x)[1])
    assert taper.equal(*found)
    assert found[0].tolist() == [[[[8, 10, 13], [22, 24, 27], [43, 45, 48]]]]


def test_fractional_pooling_keeps_given_samples_as_a_buffer():
    layer = nn.FractionalMaxPool2d(2, 3, _random_samples=taper.full((1, 1, 2), 0.5))
    assert list(layer.state_dict()) == ["_random_samples"]
    assert taper.equal(layer(numbers(1, 1, 7, 7)), layer(numbers(1, 1, 7, 7)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.FractionalMaxPool2d(2), "requires specifying either an output size"),
        (lambda: nn.FractionalMaxPool3d(2, 3, 0.5), "only one of output_size and output_ratio"),
        (lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), "must be between 0 and 1"),
    ],
)
def test_fractional_pooling_refuses_wrong_sizes(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_circular_padding_checks_the_dimensions():
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 1D input\)"):
        nn.CircularPad1d(1)(taper.ones(3))


def test_channels_last_in_memory_stay_so():
    x = taper.ones(2, 3, 8, 8).to(memory_format=taper.channels_last)
    for layer in (nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Upsample(scale_factor=2), nn.ZeroPad2d(1)):
        assert layer(x).is_contiguous(memory_format=taper.channels_last)
        assert layer(x.transpose(2, 3).contiguous()).is_contiguous()


def test_resizing_back_is_the_identity_where_nothing_is_lost():
    x = numbers(1, 2, 3, 4)
    assert taper.equal(F.interpolate(F.interpolate(x, scale_factor=3), scale_factor=1 / 3), x)
    assert taper.equal(F.interpolate(x, size=(3, 4), mode="bilinear"), x)


def test_infinite_elements_do_not_spread():
    x = taper.zeros(1, 1, 6)
    x[0, 0, 0] = float("inf")
    for found in (
        F.interpolate(x, scale_factor=2, mode="linear", align_corners=True),
        F.adaptive_avg_pool1d(x, 4),
    ):
        assert not found.flatten()[0].isfinite()
        assert found.flatten()[3:].tolist() == [0.0] * (found.numel() - 3)


def test_sampling_at_the_identity_grid_returns_the_picture():
    x = taper.from_numpy(np.random.default_rng(0).standard_normal((2, 3, 4, 5)))
    identity = taper.eye(2, 3, dtype=taper.float64).expand(2, 2, 3)
    for aligned in (True, False):
        grid = F.affine_grid(identity, x.shape, align_corners=aligned)
        for mode in ("bilinear", "nearest", "bicubic"):
            found = F.grid_sample(x, grid, mode, align_corners=aligned)
            np.testing.assert_allclose(found.numpy(), x.numpy(), 1e-12, 1e-12)


def test_outside_the_picture_is_what_the_padding_says():
    x = numbers(1, 1, 1, 3) + 1
    far = taper.tensor([[[[-9.0, 0.0], [9.0, 0.0]]]])
    for padding, expected in (("zeros", [0.0, 0.0]), ("border", [1.0, 3.0])):
        found = F.grid_sample(x, far, padding_mode=padding, align_corners=True)
        assert found.flatten().tolist() == expected
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        F.grid_sample(x, far)


def test_old_names_warn():
    x = numbers(1, 1, 2, 2)
    with pytest.warns(UserWarning, match="upsample_nearest` is deprecated"):
        found = F.upsample_nearest(x, scale_factor=2)
    assert taper.equal(found, F.interpolate(x, scale_factor=2))
    with pytest.warns(UserWarning, match="upsample_bilinear` is deprecated"):
        found = F.upsample_bilinear(x, 3)
    assert taper.equal(found, F.interpolate(x, 3, mode="bilinear", align_corners=True))
    with pytest.warns(UserWarning, match="nn.functional.upsample` is deprecated"):
        assert F.upsample(x, 3).shape == (1, 1, 3, 3)


def test_bytes_are_interpolated_in_whole_numbers():
    x = taper.tensor([[[[0, 100], [200, 255]]]], dtype=taper.uint8)
    found = F.interpolate(x, size=(3, 3), mode="bilinear")
    assert found.dtype == taper.uint8
    assert found.tolist() == [[[[0, 50, 100], [100, 139, 178], [200, 228, 255]]]]


def test_max_pool_is_recorded_only_where_a_gradient_is_wanted():
    x = taper.ones(1, 1, 4, 4, requires_grad=True)
    assert type(F.max_pool2d(x, 2).grad_fn).__name__ == "MaxPool2DWithIndicesBackward0"
    with taper.no_grad():
        assert F.max_pool2d(x, 2).grad_fn is None
    with taper.inference_mode():
        assert F.max_pool2d(x, 2).is_inference()


@pytest.mark.parametrize(
    ("dtype", "expected"), [("float32", (140, 857.5)), ("float64", (105, 833))]
)
def test_at_the_identity_the_last_bit_decides_between_which_pixels_a_place_lies(dtype, expected):
    dtype = getattr(taper, dtype)
    theta = taper.eye(2, 3, dtype=dtype)[None].requires_grad_()
    ramp = (taper.arange(7, dtype=dtype) ** 2).expand(1, 1, 7, 7)
    grid = F.affine_grid(theta, (1, 1, 7, 7), align_corners=False)
    F.grid_sample(ramp, grid, align_corners=False, padding_mode="border").sum().backward()
    assert (theta.grad[0, 0, 0].item(), theta.grad[0, 0, 2].item()) == pytest.approx(expected)
