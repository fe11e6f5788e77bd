"""CUDA tensors on a real GPU: the operator table, training curves, streams, random numbers."""

from __future__ import annotations

import os
import sys
import time

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


_KINDS = ("check_capt", "check_g", "check_held", "check_loaded", "check_arrays", "check_batches")
_CHECKS = [name for name in vars(fake_program) if name.startswith(_KINDS)]


@pytest.mark.parametrize("name", _CHECKS)
def test_checks_of_the_fake_device(name):
    getattr(fake_program, name)()


def test_copies_of_pinned_memory_are_not_waited_for():
    x = taper.arange(1 << 26).float().pin_memory()  # 256 MB: 5 ms at least
    times = []
    for wanted in (False, True, False, True):
        taper.cuda.synchronize()
        began = time.perf_counter()
        y = x.to("cuda", non_blocking=wanted)
        times.append(time.perf_counter() - began)
        taper.cuda.synchronize()
        assert taper.equal(y[-5:].cpu(), x[-5:])
    assert times[3] < times[2] / 4, times
    began = time.perf_counter()
    z = y.to("cpu", non_blocking=True)
    taken = time.perf_counter() - began
    taper.cuda.synchronize()
    assert z.is_pinned() and taper.equal(z, x), taken


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


_SHAPES = [  # batch, heads, rows, length, width
    (2, 3, 5, 5, 16),
    (1, 2, 64, 64, 64),
    (2, 2, 100, 130, 20),
    (1, 1, 130, 70, 128),
    (2, 12, 512, 512, 64),
]


def _attention(device, shape, dtype, is_causal):
    batch, heads, rows, length, width = shape
    taper.manual_seed(1)
    given = [
        taper.randn(batch, count, heads, width).to(dtype).to(device).requires_grad_()
        for count in (rows, length, length)
    ]
    query, key, value = [each.transpose(1, 2) for each in given]
    attend = taper.nn.functional.scaled_dot_product_attention
    out = attend(query, key, value, is_causal=is_causal)
    (out.float() * taper.arange(float(width)).cos().to(device)).sum().backward()
    return [out.detach(), *[each.grad for each in given]]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", [taper.float32, taper.bfloat16, taper.float16], ids=str)
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_attention(shape, dtype, is_causal):
    if dtype is not taper.float32 and shape[2] > 200:
        pytest.skip("slow on the CPU")
    tolerance = 2e-5 if dtype is taper.float32 else 0.06 if dtype is taper.bfloat16 else 0.01
    here, there = (_attention(device, shape, dtype, is_causal) for device in ("cpu", "cuda"))
    for one, other in zip(here, there, strict=True):
        assert one.stride() == other.stride()
        one, other = one.float().numpy(), other.float().cpu().numpy()
        assert np.abs(one - other).max() <= tolerance * max(1, np.abs(one).max())


def test_gradients_of_parts_of_one_array():
    found = []
    for device in ("cpu", "cuda"):
        taper.manual_seed(2)
        whole = taper.randn(2, 40, 3 * 48).to(device).requires_grad_()
        parts = [each.view(2, 40, 3, 16).transpose(1, 2) for each in whole.split(48, 2)]
        out = taper.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        (out * taper.arange(16.0).cos().to(device)).sum().backward()
        found.append(whole.grad)
    assert found[0].stride() == found[1].stride()
    np.testing.assert_allclose(found[0].numpy(), found[1].cpu().numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_of_tables_are_sums_in_order():
    taper.manual_seed(0)
    rows, grad = taper.randint(0, 50, (3000,)), taper.randn(3000, 300)
    found = []
    for device in ("cpu", "cuda"):
        table = taper.zeros(50, 300, device=device, requires_grad=True)
        out = taper.nn.functional.embedding(rows.to(device), table, padding_idx=3)
        out.backward(grad.to(device))
        found.append(table.grad.cpu().numpy())
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-4)


def test_products_take_their_bias_along():
    taper.manual_seed(0)
    for dtype, tolerance in ((taper.float32, 1e-5), (taper.float64, 1e-12), (taper.bfloat16, 0.02)):
        x, weight, bias = (taper.randn(*s).to(dtype) for s in ((7, 33), (33, 20), (20,)))
        wanted = taper.addmm(bias, x, weight).double().numpy()
        for turned in (False, True):
            there = weight.t().contiguous().cuda().t() if turned else weight.cuda()
            found = taper.addmm(bias.cuda(), x.cuda(), there).cpu().double().numpy()
            np.testing.assert_allclose(found, wanted, tolerance, tolerance * 10)


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
