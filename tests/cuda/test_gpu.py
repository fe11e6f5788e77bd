"""CUDA tensors on a real GPU: the operator table, training curves, streams, random numbers."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import taper

if not taper.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

sys.path.insert(0, os.path.dirname(__file__))
import fake_program
import table

# Rows whose results differ on a GPU and may: see docs/architecture.md, D16.
OTHERWISE = frozenset(["Tensor.to", "Tensor.cpu"])


@pytest.mark.parametrize("case", table.ROWS, ids=lambda case: case.name)
def test_row_of_the_operator_table(case):
    if case.name in OTHERWISE:
        pytest.skip("the row asks for a device")
    assert not table.problems_of(case)


def _curve(device, steps=30, captures=False):
    taper.manual_seed(0)
    nn = taper.nn
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 49, 32),
        nn.LayerNorm(32),
        nn.GELU(),
        nn.Linear(32, 10),
    )
    x, y = taper.randn(32, 1, 14, 14), taper.arange(32).remainder(10)
    net, x, y = net.to(device), x.to(device), y.to(device)
    optimizer = taper.optim.Adam(net.parameters(), lr=1e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = taper.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = taper.capture(step) if captures else step
    return [run(x, y).item() for _ in range(steps)]


def test_a_network_trains_with_the_curve_of_the_cpu():
    np.testing.assert_allclose(_curve("cuda"), _curve("cpu"), rtol=1e-3)


_CAPTURES = [name for name in vars(fake_program) if name.startswith(("check_captured", "check_g"))]


@pytest.mark.parametrize("name", [*_CAPTURES, "check_held_gradients"])
def test_graphs(name):
    getattr(fake_program, name)()


def test_a_captured_step_draws_what_eager_steps_draw():
    x = taper.ones(1000, device="cuda")
    found = []
    for wrap in (taper.capture, lambda function: function):
        taper.manual_seed(3)
        run = wrap(lambda x: taper.nn.functional.dropout(x) + taper.rand_like(x))
        found.append([run(x).sum().item() for _ in range(8)])
    assert found[0] == found[1] and len(set(found[0])) == 8


def test_a_captured_network_trains_with_the_curve_of_the_cpu():
    np.testing.assert_allclose(_curve("cuda", captures=True), _curve("cpu"), rtol=1e-3)


def test_memory_does_not_grow():
    x = taper.randn(64, 64, device="cuda").requires_grad_()
    for step in range(200):
        (x @ x).tanh().sum().backward()
        x.grad = None
        if step == 20:
            before = taper.cuda.memory_reserved()
    assert taper.cuda.memory_reserved() == before


def test_out_of_memory_is_survived():
    with pytest.raises(taper.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        taper.empty(1 << 45, device="cuda")
    assert taper.ones(3, device="cuda").sum().item() == 3


def test_streams_and_events():
    stream = taper.cuda.Stream()
    begin, end = (taper.cuda.Event(enable_timing=True) for _ in range(2))
    x = taper.ones(1000, 1000, device="cuda")
    stream.wait_stream(taper.cuda.current_stream())
    with taper.cuda.stream(stream):
        assert taper.cuda.current_stream() == stream
        begin.record()
        y = x @ x
        end.record()
    taper.cuda.current_stream().wait_stream(stream)
    assert y[0, 0].item() == 1000
    end.synchronize()
    assert end.query() and begin.elapsed_time(end) > 0


def test_seeds_repeat_random_numbers():
    taper.manual_seed(3)
    state = taper.cuda.get_rng_state()
    first = taper.rand(1000, device="cuda")
    taper.cuda.set_rng_state(state)
    assert taper.equal(first, taper.rand(1000, device="cuda"))
    assert not taper.equal(first, taper.rand(1000, device="cuda"))
    normal = taper.randn(100_000, device="cuda")
    assert abs(normal.mean().item()) < 0.02 and abs(normal.std().item() - 1) < 0.02


def test_the_array_interface_is_read_by_others():
    cupy = pytest.importorskip("cupy")
    x = taper.arange(6.0, device="cuda").reshape(2, 3)
    assert cupy.asarray(x._array).sum().get() == 15
