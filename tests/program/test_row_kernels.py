"""Kernels of captured programs over rows: attention, norms, slices, LSTM layers; eager's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import taper
from taper import nn
from taper.arrays.native import native
from taper.nn import functional as F
from taper.program.plan import CALL

pytestmark = pytest.mark.skipif(native is None, reason="kernels are native")
needs_tiles = pytest.mark.skipif(
    native is None or not native.has_kernel("attention"), reason="there is no AVX-512"
)


def compared(make: Callable[[], tuple[Callable[[], Any], list[Any]]]) -> list[str]:
    """Compare a captured step with an eager one; returns the kernels of its program.

    `make` returns a step and the tensors whose gradients are compared, with the same numbers
    each time.
    """
    taper.manual_seed(0)
    eager, expected = make()
    taper.manual_seed(0)
    step, found = make()
    captured = taper.capture(step, strict=True)
    for _ in range(4):
        one, two = captured(), eager()
        np.testing.assert_allclose(one.numpy(), two.detach().numpy(), rtol=1e-5, atol=1e-6)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), two.grad.numpy(), rtol=1e-4, atol=2e-6)
    entry = captured._entries[0]
    assert entry.replays == 2
    return [each[1][3] for each in entry.runner.plan.steps if each[0] == CALL and each[1][3]]


def fresh(tensors: list[Any]) -> None:
    for each in tensors:
        each.grad = None


@needs_tiles
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("shape", [(2, 64, 3, 32), (1, 37, 2, 20), (3, 100, 1, 64), (2, 5, 2, 7)])
def test_attention(shape: tuple[int, ...], causal: bool) -> None:
    def make() -> Any:
        given = [taper.randn(*shape, requires_grad=True) for _ in range(3)]
        grad = taper.randn(shape[0], shape[2], shape[1], shape[3])

        def step() -> Any:
            fresh(given)
            parts = [each.transpose(1, 2) for each in given]
            out = F.scaled_dot_product_attention(*parts, is_causal=causal)
            out.backward(grad)
            return out.detach()

        return step, given

    assert compared(make) == ["attention", "attention_backward"]


@needs_tiles
def test_attention_of_long_heads_is_left_to_the_call() -> None:
    def make() -> Any:
        given = [taper.randn(1, 2, 200, 16, requires_grad=True) for _ in range(3)]

        def step() -> Any:
            fresh(given)
            out = F.scaled_dot_product_attention(*given)
            out.sum().backward()
            return out.detach()

        return step, given

    assert compared(make) == []


@needs_tiles
@pytest.mark.parametrize("length", [128, 50, 7])
def test_layer_norm(length: int) -> None:
    def make() -> Any:
        norm = nn.LayerNorm(length)
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
        x = taper.randn(3, 70, length, requires_grad=True)
        grad = taper.randn(3, 70, length)

        def step() -> Any:
            fresh([x, norm.weight, norm.bias])
            out = norm(x)
            out.backward(grad)
            return out.detach()

        return step, [x, norm.weight, norm.bias]

    assert compared(make) == ["layer_norm", "layer_norm_backward"]


def test_parts_and_slices() -> None:
    def make() -> Any:
        x = taper.randn(40, 30, 60, requires_grad=True)

        def step() -> Any:
            fresh([x])
            first, second, third = x.split([10, 20, 30], dim=2)
            out = (first * 2).tanh().sum() + (second * second).sum() + third[:, -2].exp().sum()
            out.backward()
            return out.detach()

        return step, [x]

    assert compared(make) == ["select_backward", "join"]


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("batch", [1, 5, 16, 30, 49])
def test_lstm_layers(batch: int, reverse: bool) -> None:
    def make() -> Any:
        net = nn.LSTM(6, 20, batch_first=True, bidirectional=reverse)
        width = 40 if reverse else 20
        x, grad = taper.randn(batch, 9, 6), taper.randn(batch, 9, width)
        state = [taper.randn(1 + reverse, batch, 20, requires_grad=True) for _ in range(2)]
        weights = list(net.parameters())

        def step() -> Any:
            fresh([*weights, *state])
            out, (last, cell) = net(x, (state[0], state[1]))
            ((out * grad).sum() + last.sum() + cell.exp().sum()).backward()
            return out.detach()

        return step, [*weights, *state]

    compared(make)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("frozen", ["weight_ih_l0", "weight_hh_l0", "bias_hh_l0"])
def test_lstm_layers_of_which_a_part_is_frozen(frozen: str, bias: bool) -> None:
    def make() -> Any:
        net, x = nn.LSTM(70, 33, bias=bias), taper.randn(25, 7, 70)
        for name, each in net.named_parameters():
            each.requires_grad_(name != frozen)
        weights = [each for each in net.parameters() if each.requires_grad]

        def step() -> Any:
            fresh(weights)
            out = net(x)[0]
            out.square().sum().backward()
            return out.detach()

        return step, weights

    compared(make)


@pytest.mark.parametrize("momentum", [0.1, 0.37])
@pytest.mark.parametrize("dtype", [taper.float32, taper.float64])
@pytest.mark.parametrize("shape", [(2, 1), (5, 7), (3, 65, 4), (2, 6, 5, 3)])
def test_running_values_of_a_batch_norm(shape: Any, dtype: Any, momentum: float) -> None:
    nets: list[Any] = []

    def make() -> Any:
        kind = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d)[len(shape) - 1]
        net = kind(shape[1], momentum=momentum, dtype=dtype)
        nets.append(net)
        x = taper.randn(*shape, dtype=dtype)

        def step() -> Any:
            fresh(list(net.parameters()))
            out = net(x)
            out.square().sum().backward()
            return out.detach()

        return step, list(net.parameters())

    assert compared(make) == ["running_values"]
    for one, two in zip(nets[0].buffers(), nets[1].buffers(), strict=True):
        assert one.numpy().tobytes() == two.numpy().tobytes()
        assert one._version == two._version


def test_running_values_without_weights() -> None:
    values = [taper.ones(3), taper.ones(3)]
    x = taper.randn(2, 3)

    @taper.capture(strict=True)
    def step() -> Any:
        with taper.no_grad():
            return F.batch_norm(x, values[0], values[1], training=True, momentum=0.5)

    for _ in range(4):
        step()
    expected = [taper.ones(3), taper.ones(3)]
    for _ in range(4):
        F.batch_norm(x, expected[0], expected[1], training=True, momentum=0.5)
    for one, two in zip(values, expected, strict=True):
        assert one.numpy().tobytes() == two.numpy().tobytes()


def test_gelu_and_its_slope_are_fused() -> None:
    def make() -> Any:
        x = taper.linspace(-6, 6, 5000).requires_grad_()

        def step() -> Any:
            fresh([x])
            out = F.gelu(x)
            (out * out).sum().backward()
            return out.detach()

        return step, [x]

    assert compared(make) == []
