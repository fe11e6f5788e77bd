"""Convolutions: weights as PyTorch draws them, memory, blocks, what a layer adds to a function."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import taper
import taper.nn.functional as F
from taper import nn
from taper.arrays import convolution as kernels


def test_same_seed_gives_the_weights_of_pytorch():
    taper.manual_seed(0)
    layer = nn.Conv2d(1, 2, 2)
    expected = [-0.003743, 0.268222, -0.411523, -0.367970, -0.192577, 0.134079, -0.009907, 0.396445]
    np.testing.assert_allclose(layer.weight.detach().flatten().tolist(), expected, atol=1e-6)
    np.testing.assert_allclose(layer.bias.tolist(), [-0.044372, 0.132306], atol=1e-6)
    assert list(layer.state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize(
    "text",
    [
        "Conv1d(4, 6, kernel_size=(3,), stride=(1,))",
        "Conv2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=same, dilation=(2, 2), groups=2, "
        "bias=False, padding_mode=circular)",
        "ConvTranspose2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), "
        "output_padding=(1, 1))",
        "Fold(output_size=(4, 5), kernel_size=2, dilation=1, padding=0, stride=2)",
        "Unfold(kernel_size=(2, 3), dilation=1, padding=1, stride=1)",
    ],
)
def test_repr(text):
    call = text.replace("same", "'same'").replace("circular", "'circular'")
    call = call.replace("stride=(2, 2), padding='same'", "stride=(1, 1), padding='same'")
    expected = text.replace("stride=(2, 2), padding=same", "stride=(1, 1), padding=same")
    assert repr(eval(f"nn.{call}")) == expected


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_mode_is_a_border_of_the_image_itself(mode):
    layer = nn.Conv2d(1, 1, 3, padding=(2, 1), padding_mode=mode)
    x = taper.arange(20.0).view(1, 1, 4, 5)
    border = F.pad(x, (1, 1, 2, 2), mode=mode)
    assert layer(x).tolist() == F.conv2d(border, layer.weight, layer.bias).tolist()


def test_same_with_an_even_kernel_warns_once_and_pads_behind():
    x, w = taper.ones(1, 1, 3), taper.tensor([[[1.0, 10.0]]])
    taper.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="Using padding='same' with even kernel lengths"):
            assert F.conv1d(x, w, padding="same").tolist() == [[[11.0, 11.0, 1.0]]]
    finally:
        taper.set_warn_always(False)


def test_output_size_of_a_transposed_convolution():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
    x = taper.ones(1, 1, 5, 5)
    assert layer(x).shape == (1, 1, 9, 9)
    assert layer(x, output_size=(9, 10)).shape == (1, 1, 9, 10)
    with pytest.raises(ValueError, match=r"valid sizes range from \[9, 9\] to \[10, 10\]"):
        layer(x, output_size=(8, 9))


def test_only_the_gradients_that_are_needed_are_computed(monkeypatch):
    made = []
    for name in ("spread", "weight_gradient", "sum_of_channels"):
        original = getattr(kernels, name)

        def counted(*args, name=name, original=original):
            made.append(name)
            return original(*args)

        monkeypatch.setattr(kernels, name, counted)
    x, w, b = taper.ones(1, 2, 4, 4), taper.ones(3, 2, 3, 3), taper.ones(3)
    for leaf, kernel in ((x, "spread"), (w, "weight_gradient"), (b, "sum_of_channels")):
        made.clear()
        leaf.requires_grad_()
        F.conv2d(x, w, b).sum().backward()
        leaf.requires_grad_(False)
        assert made == [kernel]


@pytest.mark.parametrize("function", [F.conv2d, F.conv_transpose2d])
@pytest.mark.parametrize("dtype", [taper.float16, taper.bfloat16])
def test_half_precision_is_computed_in_single_and_rounded_once(function, dtype):
    taper.manual_seed(1)
    tensors = [taper.randn(2, 4, 5, 5), taper.randn(4, 4, 3, 3), taper.randn(4)]
    low = [each.to(dtype).requires_grad_() for each in tensors]
    wide = [each.detach().float().requires_grad_() for each in low]
    found, expected = function(*low), function(*wide)
    assert found.dtype is dtype
    assert found.tolist() == expected.to(dtype).tolist()
    grad = taper.randn(found.shape).to(dtype)
    grads = taper.autograd.grad(found, low, grad)
    for one, other in zip(grads, taper.autograd.grad(expected, wide, grad.float()), strict=True):
        assert one.dtype is dtype
        assert one.tolist() == other.to(dtype).tolist()


def test_node_shows_what_pytorch_shows():
    x = taper.ones(2, 3, 8, 8, requires_grad=True)
    node = F.conv2d(x, taper.ones(4, 3, 3, 3), stride=2, padding=1).grad_fn
    assert node.name() == "ConvolutionBackward0"
    assert node._saved_bias_sym_sizes_opt == (0,)
    assert (node._saved_stride, node._saved_padding, node._saved_groups) == ((2, 2), (1, 1), 1)
    assert node._saved_input is x and not node._saved_transposed


@pytest.mark.parametrize("block", [1, 100, 2000])
@pytest.mark.parametrize("places", [1, 8])
def test_blocks_do_not_change_the_result(monkeypatch, block, places):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((5, 4, 9, 8)), rng.standard_normal((6, 2, 3, 2))
    grad = rng.standard_normal((5, 6, 5, 5))

    def results():
        tensors = [taper.from_numpy(each).requires_grad_() for each in (x, w)]
        y = F.conv2d(*tensors, stride=2, padding=(1, 1), groups=2)
        return [y, *taper.autograd.grad(y, tensors, taper.from_numpy(grad))]

    expected = [each.detach().numpy() for each in results()]
    monkeypatch.setattr(kernels, "BLOCK", block)
    monkeypatch.setattr(kernels, "PLACES", places)
    monkeypatch.setattr(kernels, "FEWEST_PLACES", places)
    monkeypatch.setattr(kernels, "GRADIENTS", block)
    for found, array in zip(results(), expected, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), array, 1e-11, 1e-11)


LARGE = [
    ((8, 32, 64, 64), (32, 32, 3, 3), {"padding": 1}),
    ((16, 64, 32, 32), (64, 64, 3, 3), {"padding": 1}),
    ((2, 3, 224, 224), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
    ((8, 64, 48, 48), (64, 1, 5, 5), {"padding": 2, "groups": 64}),
    ((8, 16, 64, 64), (32, 16, 3, 3), {"padding": 4, "dilation": 4}),
]


def peak(action):
    tracemalloc.start()
    try:
        kept = action()
        return tracemalloc.get_traced_memory()[1], kept
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("shape", "kernel", "settings"), LARGE, ids=str)
def test_memory_is_bounded_by_input_and_output(shape, kernel, settings):
    x, w = taper.ones(shape), taper.ones(kernel)
    F.conv2d(x[:1, :, :16, :16], w, **settings)
    used, y = peak(lambda: F.conv2d(x, w, **settings))
    both = x._array.nbytes + y._array.nbytes
    assert used - y._array.nbytes < 3 * both
    x.requires_grad_()
    w.requires_grad_()
    y = F.conv2d(x, w, **settings)
    grad = taper.ones(y.shape)
    used, found = peak(lambda: taper.autograd.grad(y, (x, w), grad))
    assert used - sum(each._array.nbytes for each in found) < 3 * both


def test_a_layer_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"Invalid padding string 'full', should be one of \{"):
        nn.Conv2d(1, 1, 3, padding="full")
    with pytest.raises(ValueError, match=r"padding_mode must be one of \{.*padding_mode='mirror'"):
        nn.Conv2d(1, 1, 3, padding_mode="mirror")


def test_network_learns():
    taper.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
    x = taper.randn(8, 1, 6, 6)
    target = x.roll(1, 3)
    optimizer = taper.optim.Adam(net.parameters(), lr=0.03)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
