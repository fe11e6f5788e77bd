"""The native module and its twins give the same results, to the bit (D7)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import taper
from taper.arrays import special_functions
from taper.arrays.elements import BFLOAT16, FLOAT32, LOW_PRECISION, cast
from taper.arrays.native import native
from taper.autograd import engine
from taper.autograd.node import LEAF, Node
from taper.autograd.provenance import is_internal
from taper.autograd.state import local
from taper.optim import packs, programs

needs_native = pytest.mark.skipif(native is None, reason="the native module is not built, or off")

OPTIMIZERS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True},
    ],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"betas": (0.3, 0.4), "maximize": True}],
    "AdamW": [{}],
    "NAdam": [{}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{}],
    "Adamax": [{}],
    "Adadelta": [{}],
    "Adagrad": [{"lr_decay": 0.1}],
    "ASGD": [{"t0": 3.0}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.9}],
    "Rprop": [{}],
}
CASES = [(name, options) for name, each in OPTIMIZERS.items() for options in each]


def trained(name, options, dtype):
    """Return the bits of parameters and states after eight steps; one parameter exceeds a block."""
    generator = taper.Generator().manual_seed(1)
    shapes = [(3, 4), (5,), (), (2500,), (0, 3)]
    params = [
        taper.nn.Parameter(taper.randn(shape, generator=generator, dtype=dtype)) for shape in shapes
    ]
    optimizer = getattr(taper.optim, name)(params, **options)
    for _ in range(8):
        for param in params:
            param.grad = taper.randn(param.shape, generator=generator, dtype=dtype)
        optimizer.step()
    states = [
        value.tolist()
        for param in params
        for value in optimizer.state[param].values()
        if isinstance(value, taper.Tensor)
    ]
    return [param.tolist() for param in params], states, [param._version for param in params]


@needs_native
@pytest.mark.parametrize("dtype", [taper.float32, taper.float64], ids=str)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_an_update_rule_gives_the_bits_of_numpy(monkeypatch, name, options, dtype):
    calls = []
    run = programs.run_natively

    def counted(*args):
        calls.append(run(*args))
        return calls[-1]

    monkeypatch.setattr(packs, "run_natively", counted)
    natively = trained(name, options, dtype)
    assert calls and all(calls)
    monkeypatch.setattr(packs, "run_natively", lambda *args: False)
    assert natively == trained(name, options, dtype)


@needs_native
def test_arrays_that_are_not_plain_are_left_alone():
    program = bytes([2, 0, 0, 1, 0])  # the parameter times the gradient
    plain = np.ones((2, 3), np.float32)
    for grad in (np.ones((3, 2), np.float32).T, np.ones((2, 3)), np.ones(5, np.float32)):
        assert native.run_rule(program, ([plain], [grad]), (), 0) is False
    frozen = np.ones((2, 3), np.float32)
    frozen.flags.writeable = False
    assert native.run_rule(program, ([frozen], [plain]), (), 0) is False
    assert native.run_rule(program, ([plain.astype(np.int64)] * 1, [plain]), (), 0) is False
    assert plain.tolist() == np.ones((2, 3)).tolist()
    assert native.run_rule(program, ([plain], [plain * 3]), (), 0) is True
    assert plain.tolist() == (np.ones((2, 3)) * 3).tolist()


@needs_native
@pytest.mark.parametrize(
    ("program", "columns", "constants", "temporaries", "error"),
    [
        (bytes([2, 0, 0, 9, 0]), ([], []), (), 0, ValueError),  # no such register
        (bytes([2, 7, 0, 0, 0]), ([], []), (), 0, ValueError),  # no such target
        (bytes([99, 0, 0, 0, 0]), ([], []), (), 0, ValueError),  # no such operation
        (bytes([2, 1, 0, 0, 0]), ([],), (np.ones((), np.float32),), 0, ValueError),  # a constant
        (bytes([2, 0, 0]), ([],), (), 0, ValueError),  # half an instruction
        (b"", ([],), (), -1, ValueError),
        (b"", (), (), 0, ValueError),
        (b"", ([], [1]), (), 0, TypeError),
        ("", ([],), (), 0, TypeError),
    ],
)
def test_a_broken_program_is_refused(program, columns, constants, temporaries, error):
    with pytest.raises(error):
        native.run_rule(program, columns, constants, temporaries)


def test_a_rule_that_does_more_than_its_functions_has_no_program():
    class Numbers:
        dtype = np.dtype(np.float32)

    def rule(ops, numbers, spare, param, grad):
        return (param + grad,)

    assert not programs.run_natively(rule, Numbers(), ([], []))


@pytest.mark.parametrize("live", [True, False])
def test_a_rule_runs_itself_if_somebody_wants_to_see_it(monkeypatch, live):
    monkeypatch.setattr(programs, "live_rules", live)
    weight = taper.ones(3, requires_grad=True)
    optimizer = taper.optim.SGD([weight], lr=0.5)
    calls = []
    rule = taper.optim.SGD._rule

    def watched(*args):
        calls.append(args)
        return rule(*args)

    monkeypatch.setattr(taper.optim.SGD, "_rule", staticmethod(watched))
    for _ in range(3):
        weight.grad = taper.ones(3)
        optimizer.step()
    assert len(calls) == (3 if live or native is None else 1)
    assert weight.tolist() == [-0.5] * 3


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threshold_backward(dtype):
    values = np.array([-1.0, -0.0, 0.0, 1.0, np.nan, np.inf, -np.inf, 0.5], dtype)
    grad = np.array([1.0, 2.0, np.inf, np.inf, 5.0, np.nan, np.nan, 8.0], dtype)
    number = native.curve_number("threshold_backward")
    for threshold in (0, 0.5):
        found = native.curve(number, values, grad, threshold)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.where(values <= threshold, 0, grad))
    assert native.curve(number, values[::-1], grad, 0) is None
    assert native.curve(number, values[:3], grad, 0) is None
    assert native.curve(number, values.astype(np.float16), grad, 0) is None


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finite_numbers_are_told_from_others(dtype):
    limits = np.finfo(dtype)
    values = np.array([0.0, -0.0, limits.max, limits.min, limits.smallest_subnormal] * 9, dtype)
    assert native.all_finite(values) is True
    for wrong in (np.nan, np.inf, -np.inf):
        for place in (0, 17, 44):
            spoilt = values.copy()
            spoilt[place] = wrong
            assert native.all_finite(spoilt) is False
    assert native.all_finite(values[::2]) is None
    assert native.all_finite(values.astype(np.complex128)) is None
    assert native.all_finite(np.zeros((0, 3), dtype)) is True


@needs_native
def test_rows_are_picked_and_put():
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    target = np.array([3, 0, 2])
    assert native.pick_rows(matrix, target).tolist() == [3.0, 4.0, 10.0]
    put = native.put_rows(3, 4, target, np.asarray(-1.5))
    assert put.dtype == np.float64
    assert put.tolist() == [[0, 0, 0, -1.5], [-1.5, 0, 0, 0], [0, 0, -1.5, 0]]
    for wrong in ([4, 0, 0], [-1, 0, 0], [0, 0], []):
        assert native.pick_rows(matrix, np.array(wrong, np.int64)) is None
        assert native.put_rows(3, 4, np.array(wrong, np.int64), np.asarray(1.0)) is None
    assert native.pick_rows(matrix, target.astype(np.int32)) is None
    assert native.pick_rows(matrix.T, target) is None


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_polynomial_is_rounded_as_by_numpy(monkeypatch, dtype):
    values = np.random.default_rng(0).normal(size=(7, 111)).astype(dtype) * 3
    factors = tuple(np.array(each, dtype) for each in (0.3, -1.7, 2.9, 0.1, -0.01))
    found = special_functions.polynomial(factors, values)
    assert native.polynomial(factors, values.T) is None
    assert native.polynomial(factors, values.astype(np.float16)) is None
    assert native.polynomial(factors[:1], values) is None
    monkeypatch.setattr(special_functions, "native", None)
    np.testing.assert_array_equal(found, special_functions.polynomial(factors, values))
    assert found.dtype == dtype


@needs_native
def test_one_of_two_is_selected():
    first = np.array([1.0, np.nan, 3.0], np.float32)
    second = np.array([np.inf, 5.0, -0.0], np.float32)
    mask = np.array([True, False, False])
    assert native.select(mask, first, second).tolist() == [1.0, 5.0, 0.0]
    assert native.select(~mask, first, second)[1:].tobytes() == first[1:].tobytes()
    for wrong in (second[:2], second.astype(np.float64), second[::-1], None):
        assert native.select(mask, first, wrong) is None
    assert native.select(mask[:1], first, second) is None


@needs_native
def test_only_graphs_are_run():
    task = engine.GraphTask(False, False, True)
    task.look_around(local.state)
    functions = engine.fit, engine.evaluate_leaf, engine.run_late_hooks
    for roots in ([(object(), 0, None)], [5], 5, [(taper.ones(1, requires_grad=True), 0)]):
        task.roots = roots
        with pytest.raises(TypeError):
            native.run_pass(task, local.state, *functions)
    with pytest.raises(TypeError):
        native.run_pass(task, None, *functions)


class Returns(Node):
    """Gives the leaf that it leads to an array that a function makes, and keeps its address."""

    _shape, _dtype, _extra, _sequence = (), np.dtype(np.float32), None, 5

    def __init__(self, leaf, make):
        self._edges, self._edge_nrs, self.make = (leaf,), (LEAF,), make

    def _run(self, grads):
        made = self.make()
        self.address = made.ctypes.data
        return (made,)

    def run(self):
        engine.run([(self, 0, np.ones((), np.float32))], engine.GraphTask(True, False, True))


@pytest.mark.parametrize("native_too", [True, False])
def test_a_first_gradient_is_kept_only_if_nobody_else_has_it(native_too, monkeypatch):
    if not native_too:
        monkeypatch.setattr(engine, "run_pass", None)
    held = []

    def full(*shape):
        return np.full(shape, 2, np.float32)

    def holding():
        held.append(full(2, 3))
        return held[-1]

    makers = [
        (True, lambda: full(2, 3)),
        (True, lambda: full(6).reshape(2, 3)),
        (False, holding),
        (False, lambda: holding().reshape(3, 2).reshape(2, 3)),
        (False, lambda: full(3, 2).T),
        (False, lambda: full(4, 3)[:2]),
        (False, lambda: np.broadcast_to(full(1), (2, 3))),
    ]
    for kept, make in makers:
        leaf = taper.ones(2, 3, requires_grad=True)
        node = Returns(leaf, make)
        node.run()
        assert leaf.grad.tolist() == [[2.0] * 3] * 2
        assert leaf.grad.stride() == (3, 1)
        assert (leaf.grad.data_ptr() == node.address) is kept
        leaf.grad.zero_()
        assert all(each.sum() == 12 for each in held)
        node.run()  # it has one now
        assert leaf.grad.tolist() == [[2.0] * 3] * 2
        assert leaf.grad.data_ptr() != node.address
    leaf = taper.ones(2, 3, requires_grad=True)
    node = Returns(leaf, makers[0][1])
    leaf.requires_grad_(False)
    node.run()
    assert leaf.grad is None


@pytest.mark.parametrize("native_too", [True, False])
def test_h10_a_hook_registered_while_its_node_runs_sees_what_the_node_returned(
    native_too, monkeypatch
):
    if not native_too:
        monkeypatch.setattr(engine, "run_pass", None)
    leaf, seen = taper.ones(2, 3, requires_grad=True), []

    def make():
        node.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs)))
        return np.full((2, 3), 2, np.float32)

    node = Returns(leaf, make)
    node.run()
    assert seen == [([[2.0] * 3] * 2, ())]


def test_threads_that_meet_in_a_fresh_leaf_lose_no_gradient():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(40):
            leaf = taper.ones(3, requires_grad=True)
            losses = [(leaf * factor).sum() for factor in (1.0, 2.0, 3.0, 4.0)]
            threads = [threading.Thread(target=loss.backward) for loss in losses]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert leaf.grad.tolist() == [10.0] * 3
    finally:
        sys.setswitchinterval(before)


def test_an_absent_tensor_has_no_edge():
    leaf = taper.ones(2, requires_grad=True)
    result = taper.clamp(leaf, min=taper.zeros(2))
    assert [nr for _, nr in result.grad_fn.next_functions] == [0, 0, 0]
    assert [node is None for node, _ in result.grad_fn.next_functions] == [False, True, True]


@needs_native
def test_recording_wants_what_it_fills():
    with pytest.raises(TypeError):
        native.record(None, np.ones(1), None, None, None)
    with pytest.raises(TypeError):
        native.user_frame(1)


def test_the_users_line_is_found_through_the_package():
    weight = taper.ones(2, 2, requires_grad=True)
    node = taper.nn.Sequential(taper.nn.Linear(2, 2), taper.nn.ReLU())(weight).grad_fn
    assert not is_internal(node._code.co_filename)
    assert node._code.co_name == "test_the_users_line_is_found_through_the_package"


def test_the_twins_can_be_chosen():
    program = "import taper.arrays.native; print(taper.arrays.native.native)"
    environment = {**os.environ, "TAPER_NATIVE": "0"}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout == "None\n"


@needs_native
def test_half_precision_is_converted_as_by_numpy():
    halves = np.arange(2**16, dtype=np.uint16)
    patterns = [np.arange(0, 2**32, 9973, dtype=np.uint64), np.arange(0x38000000, 0x38900000, 97)]
    patterns += [(halves.astype(np.uint64) << 16) + low for low in (0, 0x7FFF, 0x8000, 0x8001)]
    singles = np.concatenate(patterns).astype(np.uint32).view(np.float32)
    for low in LOW_PRECISION:
        wide = native.cast_half(halves.view(low), FLOAT32, BFLOAT16)
        np.testing.assert_array_equal(wide, halves.view(low).astype(np.float32))
        with np.errstate(all="ignore"):
            wanted = singles.astype(low)
        found = native.cast_half(singles, low, BFLOAT16)
        assert found.dtype == low
        numbers = ~np.isnan(singles)
        np.testing.assert_array_equal(found.view("u2")[numbers], wanted.view("u2")[numbers])
        assert np.isnan(found[~numbers].astype(np.float32)).all()
        assert (np.signbit(cast(found, FLOAT32)) == np.signbit(singles)).all()
    for array, dtype in (
        (singles, FLOAT32),
        (halves.view(np.float16), BFLOAT16),
        (singles[::2], np.dtype(np.float16)),
        (singles.astype(">f4"), np.dtype(np.float16)),
        (np.ones(3), np.dtype(np.float16)),
        ([1.0], FLOAT32),
    ):
        assert native.cast_half(array, dtype, BFLOAT16) is None
    with pytest.raises(TypeError):
        native.cast_half(singles, "f2", BFLOAT16)
