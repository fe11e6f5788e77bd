"""Recomputing in captured programs: less memory, the same bits with exact=True."""

import gc

import numpy as np
import pytest

import taper
from taper import nn
from taper.arrays.native import native

needs_native = pytest.mark.skipif(native is None, reason="there is no native module")


def network(kind):
    taper.manual_seed(0)
    layers = []
    for _ in range(4):
        if kind == "images":
            layers += [nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
        else:
            layers += [nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)]
    return nn.Sequential(*layers)


def data(kind):
    taper.manual_seed(1)
    return taper.randn(4, 8, 32, 32) if kind == "images" else taper.randn(512, 64)


def trained(kind, steps, **options):
    """Train; returns the losses, the parameters and buffers, and the step."""
    net, x = network(kind), data(kind)
    optimizer = taper.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    run = taper.capture(step, strict=True, **options) if options else step
    losses = [run() for _ in range(steps)]
    state = [each.detach().numpy() for each in (*net.parameters(), *net.buffers())]
    return losses, state, run


@pytest.mark.parametrize("kind", ["images", "rows"])
def test_a_step_that_recomputes_trains_as_eager(kind):
    losses, state, _ = trained(kind, 6)
    own, found, _ = trained(kind, 6, exact=True)
    assert own == losses
    assert [each.tobytes() for each in found] == [each.tobytes() for each in state]
    own, found, _ = trained(kind, 6, exact=False)
    np.testing.assert_allclose(own, losses, rtol=1e-4)
    for one, two in zip(found, state, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)


@needs_native
@pytest.mark.parametrize(
    ("kind", "names"),
    [("images", {"relu", "native_batch_norm"}), ("rows", {"gelu", "native_layer_norm"})],
)
def test_activations_and_norms_run_twice(kind, names):
    _, _, captured = trained(kind, 3, exact=True)
    runner = captured._entries[0].runner
    twice = [each.name for nr, each in enumerate(runner.origins) if each in runner.origins[:nr]]
    assert set(twice) == names
    assert len(twice) >= 6  # of four layers, not those where backward begins
    assert captured.explain() == captured.explain()  # each instruction has a note


@needs_native
@pytest.mark.parametrize("exact", [True, False])
def test_a_batch_norm_that_runs_again_knows_its_statistics(exact):
    _, _, captured = trained("images", 3, exact=exact)
    program = captured._entries[0].runner.trace.program
    again = [each for each in program.instructions if each.is_again]
    norms = [each.arguments[5] for each in again if each.name == "native_batch_norm"]
    assert len(norms) >= 3
    assert set(norms) == {exact}


@needs_native
@pytest.mark.parametrize("kind", ["images", "rows"])
def test_the_peak_of_a_step_is_lower_than_in_eager_mode(kind):
    def added(**options):
        *_, run = trained(kind, 3, **options)
        gc.collect()  # what other tests left must not go meanwhile
        before = native.memory_counts(True)[1]
        run()
        return native.memory_counts()[2] - before

    assert added(exact=False) < 0.85 * added()


@needs_native
def test_what_is_written_in_between_is_not_recomputed():
    taper.manual_seed(0)
    weight = taper.randn(256, 256, requires_grad=True)
    shift = taper.zeros(256, 256)

    @taper.capture(exact=True, strict=True)
    def step():
        weight.grad = None
        before = weight + shift
        out = nn.functional.gelu(before.detach() + 1.0) * weight
        for _ in range(20):
            out = out * 1.01
        shift.add_(1.0)
        out.sum().backward()
        return weight.grad.clone()

    found = [step().numpy().copy() for _ in range(4)]
    with taper.no_grad():
        for nr, each in enumerate(found):
            wanted = nn.functional.gelu(weight + float(nr) + 1.0)
            for _ in range(20):
                wanted = wanted * 1.01
            np.testing.assert_allclose(each, wanted.numpy(), rtol=1e-4, atol=1e-5)


@needs_native
def test_a_recording_keeps_no_more_alive_than_eager_mode():
    net, x = network("rows"), data("rows")

    def step():
        net.zero_grad()
        net(x).square().mean().backward()

    captured = taper.capture(step, strict=True)
    peaks = []
    for run in (step, captured, captured):  # eagerly, eagerly and seen, recorded
        gc.collect()
        before = native.memory_counts(True)[1]
        run()
        peaks.append(native.memory_counts()[2] - before)
    assert captured._entries  # it has been recorded
    assert peaks[2] < 1.2 * peaks[1]


@needs_native
def test_what_only_eager_mode_needed_goes_back_when_a_program_is_there():
    net, x = network("rows"), data("rows")

    @taper.capture(strict=True)
    def step():
        net.zero_grad()
        net(x).square().mean().backward()

    step()
    kept = native.memory_counts()[0]
    step()  # is recorded, and computed as eager mode does
    assert step._entries
    assert native.memory_counts()[0] == 0 < kept


@needs_native
def test_scratch_memory_takes_a_kept_block_of_any_size():
    taper.manual_seed(0)
    conv = nn.Conv2d(32, 32, 3, padding=1, bias=False)
    x = taper.randn(4, 32, 16, 16)

    @taper.capture(strict=True)
    def convolved(x):
        with taper.no_grad():
            return conv(x)

    for _ in range(3):
        convolved(x)
    native.drop_memory()
    room = [taper.empty(1 << 20) for _ in range(4)]
    del room  # 4 blocks of 4 MB are free from now on
    fresh = native.memory_counts()[5]
    convolved(x)
    # The result has a block of its own size; what the kernel needs besides finds that room.
    assert native.memory_counts()[5] <= fresh + 1
