"""Modules that few use: adaptive softmax, linear cross entropy, response norms, old names."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn import functional as F
from taper.nn.attention import SDPBackend, bias, sdpa_kernel


@pytest.fixture(autouse=True)
def seed():
    taper.manual_seed(0)


def close(one, other, rtol=1e-5):
    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=rtol, atol=1e-6)


# ------------------------------------------------------------------------------------ the softmax


def test_adaptive_softmax_is_a_distribution():
    module = nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], div_value=2.0)
    x = taper.randn(4, 6)
    target = taper.tensor([0, 3, 9, 4])
    every = module.log_prob(x)
    close(every.exp().sum(1), taper.ones(4))
    result = module(x, target)
    close(result.output, every[range(4), target])
    close(result.loss, -result.output.mean())


def test_adaptive_softmax_predicts():
    module = nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], div_value=2.0)
    x = taper.randn(40, 6) * 9
    head = module.head(x).argmax(1)
    found = module.predict(x)
    common = head < 2
    assert bool(common.any()) and not bool(common.all())
    assert found[common].tolist() == head[common].tolist()
    assert found[~common].tolist() == module.log_prob(x)[~common].argmax(1).tolist()


def test_adaptive_softmax_refuses_what_is_no_class():
    module = nn.AdaptiveLogSoftmaxWithLoss(6, 10, [2, 5], div_value=2.0)
    with pytest.raises(RuntimeError, match=r"in \[0, 9\], but values in range \[0, 10\] were"):
        module(taper.randn(2, 6), taper.tensor([0, 10]))


# --------------------------------------------------------------------------- linear cross entropy


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("size", [1, 2, 5, None])
def test_chunks_give_what_the_whole_gives(size, reduction):
    shapes = ((5, 4), (7, 4), (7,))
    target, weight = taper.tensor([0, 6, -100, 3, 3]), taper.rand(7)
    outcomes = []
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=size)):
        taper.manual_seed(1)
        leaves = [taper.randn(shape, requires_grad=True) for shape in shapes]
        loss = F.linear_cross_entropy(
            *(leaves[0], leaves[1], target),
            linear_bias=leaves[2],
            weight=weight,
            reduction=reduction,
            options=options,
        )
        (loss * taper.arange(1.0, 1 + loss.numel()).reshape(loss.shape)).sum().backward()
        outcomes.append([loss, *[each.grad for each in leaves]])
    for one, other in zip(*outcomes, strict=True):
        close(one, other)


def test_options_that_cannot_be_used_are_said():
    arguments = (taper.ones(3, 4), taper.ones(5, 4), taper.full((3, 5), 0.2))
    with pytest.warns(UserWarning, match="``options`` ignored; chunked path needs reduction in"):
        found = F.linear_cross_entropy(*arguments, options=nn.LinearCrossEntropyOptions())
    close(found, F.linear_cross_entropy(*arguments))


def test_linear_cross_entropy_loss_with_places():
    module = nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True)
    x, target = taper.randn(5, 4), taper.randint(3, (5, 2))
    logits = module.linear(x).view(5, 3, 2)
    close(module(x, target), F.cross_entropy(logits, target))


# ----------------------------------------------------------------------------------------- others


def test_local_response_norm_is_the_formula():
    x = taper.randn(2, 5, 3)
    found = nn.LocalResponseNorm(3, alpha=0.3, beta=0.7, k=2.0)(x)
    squares = F.pad((x * x).unsqueeze(1), (0, 0, 1, 1)).squeeze(1)
    mean = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    close(found, x / (2.0 + 0.3 * mean) ** 0.7)


def test_cross_map_norm_has_the_first_channel_in_every_window():
    """As in PyTorch; with few channels there is no difference."""
    x = taper.randn(2, 2, 2, 2)
    settings = (3, 0.3, 0.7, 2.0)
    close(nn.CrossMapLRN2d(*settings)(x), nn.LocalResponseNorm(*settings)(x))
    wide = taper.randn(2, 6, 2, 2)
    ours, usual = nn.CrossMapLRN2d(*settings)(wide), nn.LocalResponseNorm(*settings)(wide)
    close(ours[:, :2], usual[:, :2])
    assert not bool(ours[:, 2:].allclose(usual[:, 2:]))


def test_sync_batch_norm_takes_the_place_of_batch_norm():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.BatchNorm1d(4)))
    norm = model[1]
    x = taper.randn(5, 3)
    expected = model.eval()(x)
    found = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(found[1]) is type(found[2][0]) is nn.SyncBatchNorm
    assert found[1].weight is norm.weight and found[1].running_mean is norm.running_mean
    close(found(x), expected)


@pytest.mark.parametrize("name", ["Container", "NLLLoss2d"])
def test_old_names_warn_when_used_and_when_subclassed(name):
    kind = getattr(nn, name)
    with pytest.warns(FutureWarning, match=f"{name}` .*deprecated"):
        kind()
    with pytest.warns(FutureWarning, match=f"{name}` .*deprecated"):
        type("Mine", (kind,), {})


def test_options_for_factories():
    assert nn.factory_kwargs({"dtype": taper.float64}) == {"dtype": taper.float64}
    with pytest.raises(TypeError, match="unexpected kwargs {'a'}"):
        nn.factory_kwargs({"a": 1})


def test_gradients_of_a_convolution():
    input = taper.randn(2, 3, 6, requires_grad=True)
    weight = taper.randn(4, 3, 2, requires_grad=True)
    output = F.conv1d(input, weight, stride=2)
    grad = taper.randn(output.shape)
    output.backward(grad)
    close(nn.grad.conv1d_input(input.shape, weight, grad, stride=2), input.grad)
    close(nn.grad.conv1d_weight(input, weight.shape, grad, stride=2), weight.grad)


# ------------------------------------------------------------------------------------ nn.attention


def heads(*lengths):
    return [taper.randn(1, 2, length, 4, requires_grad=True) for length in lengths]


def test_the_ways_through_attention_give_the_same():
    query, key = heads(3, 5)
    results = []
    for way in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel(way):
            results.append(F.scaled_dot_product_attention(query, key, key))
    close(*results)
    assert [each.grad_fn.name() for each in results] == [
        "UnsafeViewBackward0",
        "ScaledDotProductFlashAttentionForCpuBackward0",
    ]


def test_no_way_is_an_error_and_the_switches_are_set_back():
    query, key = heads(3, 5)
    with pytest.raises(RuntimeError, match="No viable backend"):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            F.scaled_dot_product_attention(query, key, key)
    assert taper.backends.cuda.flash_sdp_enabled() and taper.backends.cuda.math_sdp_enabled()


@pytest.mark.parametrize("kind", [bias.causal_upper_left, bias.causal_lower_right])
def test_a_causal_bias_is_its_mask(kind):
    query, key = heads(3, 5)
    causal = kind(3, 5)
    expected = F.scaled_dot_product_attention(query, key, key, causal._materialize())
    close(F.scaled_dot_product_attention(query, key, key, causal), expected)
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(query, key, key, causal, is_causal=True)


def test_classes_are_found_in_pytorchs_files():
    from taper.nn.modules.activation import MultiheadAttention
    from taper.nn.modules.batchnorm import SyncBatchNorm
    from taper.nn.modules.normalization import LocalResponseNorm

    assert MultiheadAttention is nn.MultiheadAttention
    assert SyncBatchNorm is nn.SyncBatchNorm
    assert LocalResponseNorm is nn.LocalResponseNorm
