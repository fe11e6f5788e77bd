"""Captured functions that branch on numbers: every way is a program in pieces, as in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import taper
from taper import nn
from taper.nn import functional as F

Step = Callable[[taper.Tensor], Any]


class Net(nn.Module):
    """Dropout draws, BatchNorm writes its running values."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.last = nn.Linear(4, 2)

    def forward(self, x: taper.Tensor) -> taper.Tensor:
        y = self.first(x)
        return self.last(self.drop(y)) + self.norm(y)[:, :2] * 0.1


class Fit:
    """A small model with dropout and running values, and everything that a step changes."""

    def __init__(self, step: Callable[[Fit, taper.Tensor], Any]) -> None:
        taper.manual_seed(0)
        self.net = Net()
        self.optimizer = taper.optim.Adam(self.net.parameters(), lr=0.1)
        self.step: Any = lambda x: step(self, x)

    def state(self) -> list[Any]:
        tensors = [*self.net.state_dict().values()]
        for each in self.net.parameters():
            state = self.optimizer.state[each]
            tensors += [*state.values()]
            tensors += [taper.tensor(-1.0) if each.grad is None else each.grad]
        numbers = [each._version for each in self.net.parameters()]
        return [*[each.tolist() for each in tensors], numbers, taper.get_rng_state().tolist()]


def loss_before_backward(fit: Fit, x: taper.Tensor) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.net(x).square().mean()
    if loss.item() > 1:
        loss = loss.sqrt()
    loss.backward()
    fit.optimizer.step()
    return loss.detach()


def norm_after_backward(fit: Fit, x: taper.Tensor) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.net(x).square().mean()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(fit.net.parameters(), 100.0)
    if norm > 1:
        for each in fit.net.parameters():
            each.grad.mul_(0.5)
    fit.optimizer.step()
    return norm


def step_is_left_out(fit: Fit, x: taper.Tensor) -> Any:
    fit.net.zero_grad()
    loss = fit.net(x).square().mean()
    loss.backward()
    if loss.isnan() or loss > 2:
        return loss.item()
    fit.optimizer.step()
    return 0.0


def two_looks(fit: Fit, x: taper.Tensor) -> Any:
    fit.optimizer.zero_grad()
    out = fit.net(x)
    first, second = out.square().mean(), out.abs().mean()
    if first.item() > second.item():
        first = first * 2
    if 0.5 < second.item():
        first = first + second
    first.backward()
    fit.optimizer.step()
    return first.detach()


def loop(fit: Fit, x: taper.Tensor) -> Any:
    while x.abs().sum() > 3:
        x = x / 2
    fit.optimizer.zero_grad()
    fit.net(x).sum().backward()
    fit.optimizer.step()
    return x


STEPS = [loss_before_backward, norm_after_backward, step_is_left_out, two_looks, loop]


@pytest.mark.parametrize("step", STEPS, ids=lambda each: each.__name__)
def test_every_way_ends_as_eager_mode(step: Any) -> None:
    fits = Fit(step), Fit(step)
    captured = taper.capture(fits[0].step, exact=True)
    found: list[list[Any]] = [[], []]
    for fit, call, seen in zip(fits, (captured, fits[1].step), found, strict=True):
        taper.manual_seed(1)
        for nr in range(14):
            x = taper.arange(12.0).reshape(4, 3).cos() * (5.0 if nr % 3 == 2 else 0.4)
            result = call(x)
            seen.append(result if isinstance(result, float) else result.tolist())
            seen.append(fit.state())
    assert found[0] == found[1]
    (tree,) = captured._entries
    assert tree.refusal is None
    assert tree.replays >= 6
    assert len(list(tree.pieces())) > 2
    assert "pieces, replayed" in captured.explain()


def test_a_way_that_raises_leaves_what_eager_mode_leaves() -> None:
    def step(fit: Fit, x: taper.Tensor) -> Any:
        fit.optimizer.zero_grad()
        loss = fit.net(x).sum()
        loss.backward()
        if loss.item() > 1e6:
            raise ArithmeticError("too large")
        fit.optimizer.step()

    fits = Fit(step), Fit(step)
    captured = taper.capture(fits[0].step, exact=True)
    for call in (captured, fits[1].step):
        taper.manual_seed(1)
        for nr in range(6):
            x = taper.full((4, 3), 1e9 if nr == 4 else 1.0)
            x[0] = nr
            if nr == 4:
                x = x.abs() * taper.arange(4.0).reshape(4, 1)
                x[3] *= 1e9
            try:
                call(x)
            except ArithmeticError:
                assert nr == 4
    assert fits[0].state() == fits[1].state()


def test_a_forward_pass_with_a_branch_is_differentiated() -> None:
    weight = taper.ones(3, requires_grad=True)

    @taper.capture
    def forward(x: taper.Tensor) -> taper.Tensor:
        y = (weight * x).sum()
        return y * 2 if y.item() > 0 else y * y

    for nr in range(8):
        x = taper.full((3,), 1.0 if nr % 2 else -1.0)
        (grad,) = taper.autograd.grad(forward(x), weight)
        assert grad.tolist() == ([2.0] * 3 if nr % 2 else [6.0] * 3)
    assert forward._entries[0].replays >= 3


def test_what_cannot_be_taken_back_runs_eagerly() -> None:
    fit = Fit(lambda fit, x: None)

    @taper.capture
    def step(x: taper.Tensor) -> taper.Tensor:
        fit.optimizer.zero_grad()
        loss = fit.net(x).sum()
        loss.backward()
        fit.optimizer.step()
        return loss if loss.item() > 0 else loss * 2

    for _ in range(3):
        step(taper.ones(4, 3))
    assert "for good" in step.explain()
    strict = taper.capture(step.eager, strict=True)
    strict(taper.ones(4, 3))
    with pytest.raises(taper.CaptureError, match="for good"):
        strict(taper.ones(4, 3))


def test_many_ways_are_given_up() -> None:
    @taper.capture
    def count(x: taper.Tensor) -> taper.Tensor:
        y = x * 0
        while y < x:
            y = y + 1
        return y

    for number in [2.0] * 3 + [float(each) for each in range(14)]:
        assert count(taper.tensor(number)).item() == number
    assert "too many ways" in count.explain()


def test_numbers_that_are_computed_with_still_run_eagerly() -> None:
    scaled = taper.capture(lambda x: x / x.max().item())
    for number in (1.0, 2.0, 4.0):
        assert scaled(taper.tensor([number, 1.0])).tolist() == [1.0, 1 / number]
    assert "used in Python" in scaled.explain()


def test_cross_entropy_with_a_branch_without_exact() -> None:
    taper.manual_seed(0)
    net = nn.Linear(3, 4)
    twin = nn.Linear(3, 4)
    twin.load_state_dict(net.state_dict())

    def step(model: nn.Module, x: taper.Tensor) -> taper.Tensor:
        model.zero_grad()
        loss = F.cross_entropy(model(x), taper.tensor([0, 3]))
        if loss < 1.5:
            loss = loss * 3
        loss.backward()
        return loss.detach()

    captured = taper.capture(lambda x: step(net, x))
    for nr in range(8):
        x = taper.full((2, 3), float(nr % 3))
        taper.testing.assert_close(captured(x), step(twin, x))
        for one, other in zip(net.parameters(), twin.parameters(), strict=True):
            taper.testing.assert_close(one.grad, other.grad)
    assert captured._entries[0].replays >= 3


def test_tensors_from_elsewhere_are_looked_at() -> None:
    flag, limit = taper.tensor(True), taper.tensor(2.0)

    @taper.capture
    def chosen(x: taper.Tensor) -> Any:
        if flag and x.item() < 3 and limit.item() > 1:
            return x * 2
        return x * 5, limit.item()

    assert [chosen(taper.tensor(1.0)).item() for _ in range(4)] == [2.0] * 4
    assert chosen(taper.tensor(4.0))[1] == 2.0
    limit.fill_(0.5)
    assert [chosen(taper.tensor(1.0))[1] for _ in range(3)] == [0.5] * 3
    flag.fill_(False)
    assert [chosen(taper.tensor(1.0))[0].item() for _ in range(3)] == [5.0] * 3
    assert chosen._entries[0].replays >= 5
