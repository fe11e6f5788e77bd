"""`taper.capture` as users meet it: what it returns, says, refuses and promises."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn import functional as F
from taper.program.watching import Watcher


def times_two(x: Any) -> Any:
    return x * 2


def called(captured: Any, count: int, *args: Any) -> list[Any]:
    return [captured(*args) for _ in range(count)]


def test_the_third_call_is_replayed():
    captured = taper.capture(lambda x: x + 1)
    results = called(captured, 4, taper.ones(2))
    assert [each.tolist() for each in results] == [[2.0, 2.0]] * 4
    assert captured.explain().startswith("1 instruction, replayed 2 times")


def test_it_is_a_decorator_with_and_without_options():
    @taper.capture
    def first(x: Any) -> Any:
        """Say something."""
        return x + 1

    @taper.capture(exact=True)
    def second(x: Any) -> Any:
        return x + 2

    assert first.__name__ == "first"
    assert first.__doc__ == "Say something."
    assert first(taper.zeros(1)).item() == 1.0
    assert second(taper.zeros(1)).item() == 2.0


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: taper.capture(3), TypeError, "needs a function, not int"),
        (lambda: taper.capture(times_two, limit=0), ValueError, "limit of at least 1, not 0"),
    ],
)
def test_wrong_arguments_are_refused(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong()


def test_a_method_is_captured_with_its_object():
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @taper.capture
        def apply(self, x: Any) -> Any:
            return x * self.factor

    one, other = Scale(2.0), Scale(3.0)
    for _ in range(4):
        assert one.apply(taper.ones(1)).item() == 2.0
        assert other.apply(taper.ones(1)).item() == 3.0


def test_strict_raises_with_the_line():
    def looks(x: Any) -> Any:
        if float(x.sum()) > 1:  # the line
            return x
        return x * 2

    captured = taper.capture(looks, strict=True)
    captured(taper.ones(3))
    with pytest.raises(taper.CaptureError, match=r"__float__.*if float\(x.sum\(\)\) > 1:  # the"):
        captured(taper.ones(3))


def test_explain_says_why_a_function_runs_eagerly():
    captured = taper.capture(lambda x: x * x.sum().item())
    assert captured.explain().startswith("nothing has been recorded yet")
    called(captured, 3, taper.ones(3))
    assert "runs in Python" in captured.explain()
    assert "item(): the number is used in Python" in captured.explain()


def test_explain_shows_shapes_and_lines():
    captured = taper.capture(lambda x: x.exp().sum(0))  # here
    called(captured, 2, taper.ones(2, 3))
    text = captured.explain()
    assert "float32 (2, 3) = exp" in text
    assert "float32 (3,) = sum" in text
    assert "test_capture.py" in text
    assert "# here" in text


def test_profile_measures_instructions():
    captured = taper.capture(lambda x: x.exp().sum(0))
    with pytest.raises(ValueError, match="no program holds for these arguments"):
        captured.profile(taper.ones(2))
    called(captured, 2, taper.ones(2, 3))
    lines = captured.profile(taper.ones(2, 3)).splitlines()
    assert len(lines) == 4
    assert all(float(line.split()[0]) >= 0 for line in lines[1:])


def test_profile_measures_what_runs_in_pieces():
    weight, seen = taper.ones(3, requires_grad=True), []

    @taper.capture
    def step(x: Any) -> None:
        loss = (x * weight).exp().sum()
        seen.append(loss.item())
        loss.backward()

    @taper.capture
    def branch(x: Any) -> Any:
        return x.exp() if x.sum() > 0 else x.sin()

    called(step, 5, taper.ones(2, 3))
    text = step.profile(taper.ones(2, 3))
    assert len(seen) == 6
    assert "exp" in text and "accumulate" in text
    called(branch, 3, taper.ones(2, 3))
    assert "exp" in branch.profile(taper.ones(2, 3))


def test_more_kinds_of_calls_than_the_limit_run_eagerly_with_one_warning():
    captured = taper.capture(times_two, limit=2)
    called(captured, 2, taper.ones(1))
    called(captured, 2, taper.ones(2))
    with pytest.warns(UserWarning, match="2 kinds of calls .* run eagerly from now on") as found:
        assert called(captured, 3, taper.ones(3))[-1].tolist() == [2.0, 2.0, 2.0]
    assert len(found) == 1


def test_an_error_in_a_replay_names_the_line():
    def pick(values: Any, index: Any) -> Any:
        return values.index_select(0, index)  # the pick

    captured = taper.capture(pick, exact=True)
    called(captured, 3, taper.arange(3.0), taper.tensor([0, 2]))
    with pytest.raises(IndexError) as found:
        captured(taper.arange(3.0), taper.tensor([0, 7]))
    assert "the pick" in "\n".join(found.value.__notes__)


def test_anomaly_mode_runs_eagerly():
    x = taper.zeros(1, requires_grad=True)

    def step(x: Any) -> Any:
        (x.sqrt() * 0).backward()

    captured = taper.capture(step)
    called(captured, 3, x)
    with (
        taper.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in MulBackward0|SqrtBackward0"),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        captured(x)


def test_an_exception_in_the_function_is_the_functions_own():
    def wrong(x: Any) -> Any:
        raise KeyError("mine")

    captured = taper.capture(wrong)
    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            captured(taper.ones(1))
    assert captured.eager is wrong


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_records_anew(copied):
    captured = taper.capture(times_two)
    called(captured, 3, taper.ones(1))
    again = copied(captured)
    assert again.explain().startswith("nothing")
    assert again(taper.ones(1)).item() == 2.0


def test_a_compiled_module_trains_as_the_plain_one():
    def trained(compiles: bool) -> list[Any]:
        taper.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        if compiles:
            net.compile()
        optimizer = taper.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            F.cross_entropy(net(taper.randn(3, 4)), taper.tensor([0, 1, 1])).backward()
            optimizer.step()
        return [each.tolist() for each in net.parameters()]

    np.testing.assert_allclose(
        np.concatenate([np.ravel(each) for each in trained(True)]),
        np.concatenate([np.ravel(each) for each in trained(False)]),
        rtol=1e-5,
    )


def test_a_captured_forward_pass_gives_gradients_to_arguments_with_a_history():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    captured = taper.capture(net, exact=True)
    for _ in range(4):
        x = taper.randn(2, 3, requires_grad=True)
        found = taper.autograd.grad(captured(x * 2).square().sum(), [x, *net.parameters()])
        expected = taper.autograd.grad(net(x * 2).square().sum(), [x, *net.parameters()])
        assert all(taper.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert captured(x * 2).grad_fn.name() == "CapturedBackward"


def test_a_captured_forward_pass_has_second_derivatives():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    captured = taper.capture(net, exact=True)
    for _ in range(4):
        x = taper.randn(2, 3, requires_grad=True)
        found = []
        for function in (captured, net):
            (first,) = taper.autograd.grad(function(x).sum(), x, create_graph=True)
            found.append(taper.autograd.grad(first.square().sum(), x)[0])
        assert taper.equal(*found)


def test_the_backward_of_a_replay_runs_once():
    captured = taper.capture(lambda x: (x * x).sum())
    x = taper.ones(2, requires_grad=True)
    called(captured, 2, x)
    loss = captured(x)
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_write_between_forward_and_backward_is_refused():
    weight = taper.ones(2, requires_grad=True)
    captured = taper.capture(lambda x: (x * weight * weight).sum())
    called(captured, 2, taper.ones(2))
    loss = captured(taper.ones(2))
    with taper.no_grad():
        weight.add_(1)
    with pytest.raises(
        RuntimeError, match="modified by an inplace operation.*version 1; expected version 0"
    ):
        loss.backward()


def test_a_function_that_keeps_numbers_is_followed():
    losses: list[float] = []
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())

    def step(x: Any) -> Any:
        loss = net(x).sum()
        losses.append(loss.item())
        loss.backward()

    captured = taper.capture(step, exact=True)
    called(captured, 6, taper.ones(2, 3))
    assert len(losses) == 6
    assert "what it computes in pieces" in captured.explain()
    assert "replayed 3 times" in captured.explain()
    assert net[0].weight.grad is not None


def test_threads_share_a_captured_function():
    captured = taper.capture(lambda x: (x * 2).sum())
    found: list[float] = []

    def work(number: int) -> None:
        for _ in range(50):
            found.append(captured(taper.full((3,), float(number))).item() - 6.0 * number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [0.0] * 200


def test_profilers_and_transforms_see_the_function_itself():
    captured = taper.capture(lambda x: x.sin().sum())
    called(captured, 3, taper.ones(2))
    with taper.profiler.profile() as profile:
        captured(taper.ones(2))
    assert "aten::sin" in {each.key for each in profile.key_averages()}
    gradient = taper.func.grad(captured)(taper.zeros(2))
    assert gradient.tolist() == [1.0, 1.0]


def test_a_leaf_that_no_used_result_leads_to_has_no_gradient():
    one, other = taper.ones(2, requires_grad=True), taper.ones(2, requires_grad=True)
    captured = taper.capture(lambda x: ((x * one).sum(), (x * other).sum()))
    for _ in range(4):
        one.grad = other.grad = None
        captured(taper.ones(2))[0].backward()
        assert one.grad.tolist() == [1.0, 1.0]
        assert other.grad is None


@pytest.mark.parametrize("exact", [True, False])
def test_a_list_of_one_result_is_one_result(exact):
    def function(x: Any) -> Any:
        (row,) = x.unbind(0)
        (copy,) = taper.unbind_copy(x, 0)
        return row.mm(copy) + taper.split(row, 2)[0]

    captured = taper.capture(function, exact=exact)
    for number in range(4):
        x = taper.randn(1, 2, 2) + number
        assert taper.allclose(captured(x), function(x))
    assert "replayed 2 times" in captured.explain()


def test_a_list_of_one_result_in_python():
    net = nn.RNN(3, 3, batch_first=True)

    def function(x: Any) -> Any:
        with taper.autocast("cpu", taper.bfloat16):  # bfloat16 runs in Python
            return net(x)[0]

    captured = taper.capture(function, exact=True)
    for number in range(4):
        x = taper.randn(2, 2, 3) + number
        assert taper.equal(captured(x), function(x))
    assert "replayed 2 times" in captured.explain()


def test_a_module_in_pieces_has_its_modules_captured_once_each():
    class Telling(taper.nn.Module):
        def forward(self, x: Any) -> Any:
            told.append(len(told))
            return x

    told: list[int] = []
    net = taper.nn.Sequential(taper.nn.Linear(2, 2), Telling(), taper.nn.Linear(2, 2))

    def step(x: Any) -> Any:
        told.append(len(told))
        return net(x)

    captured = taper.capture(step)
    x = taper.ones(1, 2)
    for _ in range(8):
        assert captured(x).tolist() == net(x).tolist()
    assert told == list(range(24))
    heads = [each.split(":")[0] for each in captured.explain().splitlines()]
    named = [each for each in heads if each in ("Sequential", "Linear", "Telling")]
    assert named == ["Sequential", "Linear", "Telling", "Linear"]


def test_what_the_collector_finalizes_is_not_the_functions_doing():
    """A finalizer that runs in the middle of a recording made the function one with effects."""
    seen = []

    class Garbage:
        def __init__(self):
            self.itself = self

        def __del__(self):
            seen.append(time.time())

    garbage = [Garbage() for _ in range(3)]
    with Watcher() as watcher:
        garbage.clear()
        lists = [[] for _ in range(100_000)]
    assert watcher.effect is None
    assert not seen
    del lists
    gc.collect()
    assert len(seen) == 3
