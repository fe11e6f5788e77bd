"""Fusion with batch normalisation, modules without initial values, memory formats, clipping."""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn import utils


def trained(kind, count):
    norm = kind(count)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2.0)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("layer", "kind", "transpose"),
    [
        (nn.Conv1d, nn.BatchNorm1d, False),
        (nn.Conv2d, nn.BatchNorm2d, False),
        (nn.ConvTranspose2d, nn.BatchNorm2d, True),
    ],
)
def test_a_fused_convolution_does_both(layer, kind, transpose, bias):
    conv, norm = layer(2, 3, 2, bias=bias).eval(), trained(kind, 3)
    x = taper.randn(2, 2, *[4] * (conv.weight.dim() - 2))
    fused = utils.fuse_conv_bn_eval(conv, norm, transpose)
    np.testing.assert_allclose(
        fused(x).detach().numpy(), norm(conv(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )
    assert type(fused) is layer and fused is not conv


def test_a_fused_linear_does_both():
    linear, norm = nn.Linear(3, 4).eval(), trained(nn.BatchNorm1d, 4)
    x = taper.randn(5, 3)
    fused = utils.fuse_linear_bn_eval(linear, norm)
    np.testing.assert_allclose(
        fused(x).detach().numpy(), norm(linear(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_fusion_refuses():
    with pytest.raises(AssertionError, match="^Fusion only for eval!$"):
        utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3).eval())
    untracked = nn.BatchNorm2d(3, track_running_stats=False).eval()
    with pytest.raises(AssertionError, match="^bn.running_mean and bn.running_var must not be"):
        utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2).eval(), untracked)
    with pytest.raises(AssertionError, match="^To fuse, linear.out_features == bn.num_features"):
        utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(2).eval())


def test_skip_init_draws_no_numbers():
    before = taper.get_rng_state()
    layer = utils.skip_init(nn.Linear, 4, 5, dtype=taper.float64)
    assert taper.equal(before, taper.get_rng_state())
    assert layer.weight.shape == (5, 4) and layer.weight.dtype is taper.float64
    with pytest.raises(RuntimeError, match="^Expected a Module; got <class 'int'>$"):
        utils.skip_init(int)
    with pytest.raises(RuntimeError, match="^Module must support a 'device' arg to skip init"):
        utils.skip_init(nn.ReLU)


def test_memory_formats_of_weights():
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.ConvTranspose3d(2, 3, 2))
    weights = [each.weight for each in model]
    values = [each.tolist() for each in weights]
    assert utils.convert_conv2d_weight_memory_format(model, taper.channels_last) is model
    utils.convert_conv3d_weight_memory_format(model, taper.channels_last_3d)
    assert [each.weight.stride() for each in model] == [(8, 1, 4, 2), (24, 1, 12, 6, 3)]
    assert all(each.weight is weight for each, weight in zip(model, weights, strict=True))
    assert [each.tolist() for each in weights] == values
    with pytest.raises(RuntimeError, match="^Unsupported memory formatPreserve$"):
        utils.convert_conv2d_weight_memory_format(model, taper.preserve_format)
    with pytest.raises(RuntimeError, match="^required rank 5 tensor to use channels_last_3d"):
        utils.convert_conv2d_weight_memory_format(model, taper.channels_last_3d)


@pytest.mark.parametrize(
    ("order", "norm"), [(1, 19.0), (math.inf, 12.0), (-math.inf, 0.0), (0, 2.0), ("2", 13.0)]
)
def test_orders_of_the_norm_that_clips(order, norm):
    params = [nn.Parameter(taper.zeros(2)) for _ in range(2)]
    params[0].grad, params[1].grad = taper.tensor([3.0, 4.0]), taper.tensor([-12.0, 0.0])
    assert utils.clip_grad_norm_(params, 1.0, order).item() == norm
    factor = min(1.0, 1.0 / (norm + 1e-6))
    np.testing.assert_allclose(params[0].grad.numpy(), [3 * factor, 4 * factor], rtol=1e-6)


def test_an_infinity_norm_of_nothing():
    with pytest.raises(RuntimeError, match="^_foreach_norm cannot compute the infinity norm on"):
        utils.get_total_norm([taper.ones(0)], math.inf)


def test_the_rare_modules_load_on_demand():
    assert {"parametrizations", "prune"} <= set(dir(utils))
    with pytest.raises(AttributeError, match="^module 'taper.nn.utils' has no attribute 'other'$"):
        utils.other
