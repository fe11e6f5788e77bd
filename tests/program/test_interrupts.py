"""Errors and interrupts in replayed steps: the state of the moment stays, the line is named."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

import taper
from taper import nn


def replayed(function: Any, *args: Any, **options: Any) -> Any:
    """A captured function whose next call is replayed."""
    captured = taper.capture(function, **options)
    captured(*args)
    captured(*args)
    return captured


@pytest.mark.parametrize("exact", [True, False])
def test_ctrl_c_ends_between_instructions(exact):
    began, ended = taper.zeros(()), taper.zeros(())

    def function(x: Any) -> Any:
        began.add_(1)
        for _ in range(300):
            x = x @ x
        ended.add_(1)
        return x

    x = taper.zeros(256, 256)
    captured = replayed(function, x, exact=exact)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000):  # a fast machine needs several
                captured(x)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert began.item() == ended.item() + 1
    captured(x)
    assert began.item() == ended.item() + 1


def trained(wrap: Any, fails: Any) -> list[Any]:
    """What a step has done whose optimizer has a hook that fails at the fifth call."""
    taper.manual_seed(0)
    layer = nn.Linear(3, 1)
    optimizer = taper.optim.SGD(layer.parameters(), lr=0.1, momentum=0.5)
    optimizer.register_step_pre_hook(fails)
    after = taper.zeros(())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        optimizer.step()
        after.add_(1)
        return loss.detach()

    captured = wrap(step)
    found: list[Any] = []
    for number in range(7):
        try:
            found.append(captured(taper.ones(2, 3) * number).item())
        except KeyError as error:
            found.append(str(error))
    momentum = [optimizer.state[each]["momentum_buffer"] for each in layer.parameters()]
    grads = [each.grad for each in layer.parameters()]
    return [*found, after.item(), *[x.tolist() for x in (*layer.parameters(), *grads, *momentum)]]


def test_an_exception_in_a_python_piece_leaves_the_state_of_the_moment():
    def fails_at(number: int) -> Any:
        count = 0

        def fail(*_: Any) -> None:
            nonlocal count
            count += 1
            if count == number:
                raise KeyError("mine")

        return fail

    expected = trained(lambda step: step, fails_at(5))
    assert "'mine'" in expected
    assert trained(lambda step: taper.capture(step, exact=True), fails_at(5)) == expected


def test_an_error_after_an_update_leaves_the_update():
    state = taper.zeros(3)

    def step(index: Any) -> Any:
        state.add_(1)
        found = state.index_select(0, index)  # the pick
        state.mul_(2)
        return found

    captured = replayed(step, taper.tensor([0, 1]))
    before = state.clone()
    with pytest.raises(IndexError) as found:
        captured(taper.tensor([0, 9]))
    assert "the pick" in "\n".join(found.value.__notes__)
    assert taper.equal(state, before + 1)
    assert taper.equal(captured(taper.tensor([0, 1])), (before + 2)[:2])


def test_an_error_in_a_fused_step_names_the_line():
    table = taper.arange(6.0).requires_grad_()

    def step(index: Any) -> Any:
        table.grad = None
        loss = table[index].sum()
        loss.backward()
        return loss.detach()

    captured = replayed(step, taper.tensor([1, 2]))
    with pytest.raises(IndexError) as found:
        captured(taper.tensor([1, 66]))
    assert "test_interrupts.py" in "\n".join(found.value.__notes__)


def test_the_first_replay_comes_soon_after_the_second_call():
    net = nn.Sequential(
        nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    optimizer = taper.optim.Adam(net.parameters())

    @taper.capture
    def step(x: Any, target: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x, target = taper.randn(16, 32), taper.zeros(16, dtype=taper.int64)
    step(x, target)
    start = time.thread_time()  # what others do on this machine does not count
    step(x, target)
    step(x, target)
    assert "replayed 1 time" in step.explain()
    assert time.thread_time() - start < 0.2
