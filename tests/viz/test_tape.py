"""The tape of a backward pass: what is recorded, when it stops, and that it changes nothing."""

from __future__ import annotations

import gc
import json
import math
import sys
import weakref

import numpy as np
import pytest

import taper
from taper import nn, viz
from taper.autograd import engine, natively
from taper.autograd.function import Function


@pytest.fixture(params=["native", "python"])
def both_engines(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(engine, "run_pass", None)
    elif natively.run_pass is None:
        pytest.skip("the native module is not there")


@pytest.fixture
def stops(monkeypatch):
    """Collect the local names of the frames in which a pass stops."""
    found = []
    monkeypatch.setattr(
        sys, "breakpointhook", lambda: found.append(dict(sys._getframe(1).f_locals))
    )
    return found


def recorded(loss, **options):
    with viz.debug_backward() as tape:
        loss.backward(**options)
    return tape


def test_a_step_has_gradients_in_and_out(both_engines):
    x = taper.tensor(3.0, requires_grad=True)
    y = taper.tensor(2.0, requires_grad=True)
    tape = recorded(x * y + x.sin())
    assert [step.name for step in tape] == [
        *["AddBackward0", "SinBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad"]
    ]
    assert [step.order for step in tape] == [0, 1, 2, 3, 4]
    mul = tape[2]
    assert [each.values for each in mul.inputs] == [1.0]
    assert [each.values for each in mul.outputs] == [2.0, 3.0]
    assert {step.leaf for step in tape} == {"", "x", "y"}
    assert tape[3].inputs[0].values == pytest.approx(2 + math.cos(3.0))
    assert mul.seconds > 0
    assert "tape = recorded(x * y + x.sin())" in mul.line
    assert x.grad.item() == pytest.approx(2 + math.cos(3.0))


def test_ids_are_those_of_the_graph(both_engines):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    loss = model(taper.ones(5, 4)).square().sum()
    graph = viz.graph(loss, model)
    tape = recorded(loss)
    assert len(tape) == len(graph.nodes) + len(graph.leaves)
    for step in tape:
        known = graph[step.node]
        if step.name == "AccumulateGrad":
            assert known.name == step.leaf
        else:
            assert known.name == step.name
    assert sorted(step.node for step in tape) == list(range(len(tape)))


def test_the_json_has_the_agreed_form(both_engines):
    x = taper.tensor([1.0, 2.0], requires_grad=True)
    data = json.loads(recorded((x * x).sum()).json())
    step = data["steps"][1]
    assert {"node", "order", "name", "inputs", "outputs", "seconds", "freed", "arithmetic"} <= set(
        step
    )
    assert set(step["outputs"][0]) == {
        *("shape", "dtype", "min", "max", "mean", "norm", "nan", "histogram", "values")
    }
    assert step["outputs"][0] == {
        "shape": [2],
        "dtype": "float32",
        "min": 1.0,
        "max": 2.0,
        "mean": 1.5,
        "norm": pytest.approx(math.sqrt(5)),
        "nan": 0,
        "histogram": [1, *[0] * 14, 1],
        "values": [1.0, 2.0],
    }


@pytest.mark.parametrize("size", [3, 1024, 1025, 16_384, 16_385, 70_001])
def test_a_summary_has_the_numbers_of_numpy(size):
    array = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    summary = viz.Summary(array)
    assert (summary.min, summary.max) == (array.min(), array.max())
    assert summary.mean == pytest.approx(array.mean(dtype=np.float64), rel=1e-4, abs=1e-6)
    assert summary.norm == pytest.approx(np.linalg.norm(array.astype(np.float64)), rel=1e-5)
    assert sum(summary.histogram) == min(size, 1024)
    if size <= 1024:
        assert summary.histogram == np.histogram(array, bins=16)[0].tolist()


def test_a_summary_of_odd_numbers():
    odd = viz.Summary(np.array([np.nan, 1.0, np.inf, -2.0]))
    assert (odd.min, odd.max, odd.nan) == (-2.0, math.inf, 1)
    assert odd.to_json()["values"] == ["nan", 1.0, "inf", -2.0]
    assert sum(odd.histogram) == 2
    assert viz.Summary(np.full(2, 1e30, np.float32)).norm == pytest.approx(math.sqrt(2) * 1e30)
    assert viz.Summary(np.full(1, 1e-30, np.float32)).norm == pytest.approx(1e-30)
    assert viz.Summary(np.array([3 + 4j])).max == 5.0
    assert viz.Summary(taper.ones(2, dtype=taper.bfloat16)).values == [1.0, 1.0]
    large = np.arange(50_000, dtype=np.float32)
    large[[20_000, 49_999]] = np.nan
    seen = viz.Summary(large)
    assert (seen.min, seen.max, seen.nan) == (0.0, 49_998.0, 2)
    assert math.isnan(seen.mean) and math.isnan(seen.norm)
    large[0] = large[49_999] = -np.inf
    assert (viz.Summary(large).min, viz.Summary(large[1:30_000]).min) == (-math.inf, 1.0)
    empty = viz.Summary(np.zeros((0, 3)))
    assert (empty.norm, empty.nan, empty.values) == (0.0, 0, [])
    json.dumps([odd.to_json(), empty.to_json()], allow_nan=False)


def test_arithmetic_is_written_out():
    x = taper.tensor(3.0, requires_grad=True)
    y = taper.tensor(-2.0, requires_grad=True)
    (x * x).backward()
    tape = recorded(x * y)
    assert tape[0].arithmetic.splitlines() == [
        "grad of self = grad * other = 1 * (-2) = -2",
        "grad of other = grad * self = 1 * 3 = 3",
    ]
    assert tape[1].arithmetic == ".grad = 6 + (-2) = 4"
    assert tape[2].arithmetic == ".grad = 3"
    w = taper.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tape = recorded(taper.tensor([[1.0, -1.0]]).mm(w) + taper.zeros(2), gradient=taper.ones(1, 2))
    assert tape[1].arithmetic == (
        "grad of mat2 = self.T @ grad = [[1, -1]].T @ [[1, 1]] = [[1, 1], [-1, -1]]"
    )
    wide = taper.ones(100, requires_grad=True)
    assert [step.arithmetic for step in recorded((wide * 2).sum())] == [None] * 3


def test_a_broadcast_gradient_is_seen_as_it_arrives(both_engines):
    rows, bias = taper.ones(3, 2), taper.zeros(2, requires_grad=True)
    tape = recorded((rows + bias).sum())
    assert tape[1].outputs[1].shape == (2,)
    assert tape[1].arithmetic.endswith("= summed over the copies [3, 3]")


def test_bytes_that_are_freed_are_counted_where_the_last_holder_lets_go(both_engines):
    x = taper.ones(1000, requires_grad=True)
    tape = recorded(x.exp().exp().sum())
    assert [step.freed for step in tape] == [0, 4000, 4000, 0]
    kept = x.exp()
    assert [step.freed for step in recorded(kept.sum())] == [0, 0, 0]
    loss = x.exp().sum()
    assert [step.freed for step in recorded(loss, retain_graph=True)] == [0, 0, 0]


def test_passes_hooks_and_recorded_passes(both_engines):
    x = taper.tensor(2.0, requires_grad=True)
    seen = []
    with viz.debug_backward() as tape:
        y = x * x
        y.register_hook(lambda grad: grad * 10)
        y.grad_fn.register_hook(lambda sent, arrived: seen.append(len(sent)))
        y.backward(retain_graph=True)
        (grad,) = taper.autograd.grad(x**3, x, create_graph=True)
        grad.backward()
    assert tape.passes == 3
    assert [step.run for step in tape][:2] == [0, 0]
    assert tape[0].inputs[0].values == 10.0  # what the node computed with
    assert seen == [2]
    assert {step.run for step in tape} == {0, 1, 2}
    assert x.grad.item() == 40 + 12


def test_a_pass_inside_a_pass(both_engines):
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with taper.enable_grad():
                inner = taper.tensor(1.0, requires_grad=True)
                inner.exp().backward()
            return grad * 2

    x = taper.tensor(1.0, requires_grad=True)
    tape = recorded(Twice.apply(x))
    assert [(step.run, step.name) for step in tape] == [
        *[(0, "TwiceBackward"), (1, "ExpBackward0"), (1, "AccumulateGrad"), (0, "AccumulateGrad")]
    ]


def test_a_failing_node_is_the_last_step(both_engines):
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("broken")

    with viz.debug_backward() as tape, pytest.raises(KeyError):
        Fails.apply(taper.ones(2, requires_grad=True)).sum().backward()
    assert tape[-1].error == "KeyError: 'broken'"
    assert "broken" in str(tape)
    assert tape[-1].inputs[0].values == [1.0, 1.0]


def test_gradients_are_the_same_with_a_tape(both_engines):
    taper.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 3))
    x = taper.randn(40, 20)
    grads = []
    for tape in (False, True):
        model.zero_grad()
        loss = model(x).square().mean()
        recorded(loss) if tape else loss.backward()
        grads.append([each.grad.numpy().copy() for each in model.parameters()])
    for one, other in zip(*grads, strict=True):
        assert (one == other).all()


def test_a_tape_keeps_no_graph_alive():
    x = taper.ones(3, requires_grad=True)
    y = x.exp()
    array = weakref.ref(y._array)
    tape = recorded(y.sum())
    del y
    gc.collect()
    assert array() is None
    assert len(tape) == 3


def test_the_block_ends(both_engines):
    x = taper.ones(3, requires_grad=True)
    with viz.debug_backward() as outer, viz.debug_backward() as inner:
        x.sum().backward()
    x.sum().backward()
    assert (len(outer), len(inner)) == (0, 2)
    assert "no backward pass" in str(outer)
    assert repr(inner) == "<Tape of 2 steps in 1 passes>"


def test_stopping_at_a_node(both_engines, stops, capsys):
    x = taper.tensor([3.0], requires_grad=True)
    y = x * x
    node = y.grad_fn
    loss = y.exp().sum()
    with viz.debug_backward() as tape:
        for each in ("ExpBackward0", 0, node, "x"):
            tape.break_on(each)
        loss.backward()
    assert [stop["step"].name for stop in stops] == [
        *["ExpBackward0", "MulBackward0", "AccumulateGrad"]
    ]
    assert stops[1]["node"] is node
    assert [each.tolist() for each in stops[1]["sent"]] == [stops[1]["step"].outputs[0].values] * 2
    said = capsys.readouterr().out
    assert said.startswith("stopped at step 1, ExpBackward0: you asked for it\nrecorded at ")


def test_stopping_at_a_nan_or_a_large_norm(stops, capsys):
    x = taper.tensor(0.0, requires_grad=True)
    with viz.debug_backward() as tape:
        tape.break_on(nan=True, norm=1e3)
        (x.sqrt() * 0).backward()
        (x * 1e4).backward()
        (x * 2).backward()
        tape.break_on("MulBackward0", norm=10)
        (x * 20).backward()
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("stopped")]
    assert said == [
        "stopped at step 1, SqrtBackward0: it sends a NaN",
        "stopped at step 2, AccumulateGrad: a NaN arrives",
        "stopped at step 3, MulBackward0: a gradient has the norm 1e+04",
        "stopped at step 4, AccumulateGrad: a gradient has the norm 1e+04",
        "stopped at step 7, MulBackward0: a gradient has the norm 20",
    ]


def test_a_debugger_can_end_the_pass(monkeypatch):
    def leave():
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "breakpointhook", leave)
    x = taper.tensor(1.0, requires_grad=True)
    with pytest.raises(KeyboardInterrupt), viz.debug_backward() as tape:
        tape.break_on("MulBackward0")
        (x * 2).backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"node": 1.5}, TypeError, "node is the id of a node"),
        ({"norm": "big"}, TypeError, "norm is a number; got str"),
        ({}, ValueError, "say where"),
    ],
)
def test_break_on_refuses(arguments, error, text):
    with viz.debug_backward() as tape, pytest.raises(error, match=text):
        tape.break_on(**arguments)


def test_the_limit_ends_the_recording_not_the_pass():
    with pytest.raises(ValueError, match="limit must be a positive int, got 0"):
        viz.debug_backward(limit=0)
    x = taper.ones(1, requires_grad=True)
    y = x
    for _ in range(20):
        y = y + 1
    with viz.debug_backward(limit=5) as tape:
        y.backward()
    assert (len(tape), tape.dropped) == (5, 16)
    assert "and 16 more steps, beyond the limit of the tape" in str(tape)
    assert x.grad.item() == 1.0


def test_without_a_graph_the_error_is_the_usual_one():
    with viz.debug_backward() as tape, pytest.raises(RuntimeError, match="does not require grad"):
        taper.ones(1).backward()
    assert len(tape) == 0


def test_forward_times_are_on_the_tape_if_asked_for() -> None:
    x = taper.ones(200, 200, requires_grad=True)
    with viz.debug_backward(forward=True) as tape:
        y = x @ x
        y.sum().backward()
    times = {step.name: step.forward for step in tape}
    assert times["MmBackward0"] > 0
    assert times["SumBackward0"] > 0
    assert times["AccumulateGrad"] == 0.0
    assert tape.to_json()["steps"][0]["forward"] == tape[0].forward
    with viz.debug_backward() as tape:
        (x @ x).sum().backward()
    assert {step.forward for step in tape} == {0.0}
    assert taper.autograd.state.local.state.interceptors == ()
