"""Steps with Python in the middle: their code runs at each call, their operators as programs.

Each case runs a step often, in eager mode and captured: what it returns, prints, changes and draws
must be the same to the bit.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

import taper
from capture_tricks import shown
from taper import nn
from taper.nn import functional as F

Step = Callable[["Fit", taper.Tensor, int], Any]
FOLLOWED: dict[str, Step] = {}  # without ever being left
LEFT: dict[str, Step] = {}  # calls that do other things than the recorded ones
REFUSED: dict[str, Step] = {}  # eager mode's


def followed(step: Step) -> Step:
    FOLLOWED[step.__name__] = step
    return step


def left(step: Step) -> Step:
    LEFT[step.__name__] = step
    return step


def refused(step: Step) -> Step:
    REFUSED[step.__name__] = step
    return step


class Fit:
    """A small model, and everything that a step may change."""

    def __init__(self, norm: bool = False) -> None:
        taper.manual_seed(0)
        random.seed(0)
        parts = [nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)]
        if norm:
            parts[1:1] = [nn.BatchNorm1d(6), nn.Dropout(0.3)]
        self.net = nn.Sequential(*parts)
        self.optimizer = taper.optim.Adam(self.net.parameters(), lr=0.05)
        self.scheduler = taper.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.total: Any = 0.0
        self.nr = 0  # of the call
        self.said: list[Any] = []
        self.kept: list[Any] = []

    def loss(self, x: taper.Tensor) -> taper.Tensor:
        return F.mse_loss(self.net(x), x[:, :3])

    def fit(self, loss: taper.Tensor) -> None:
        loss.backward()
        self.optimizer.step()

    def state(self) -> list[Any]:
        tensors: list[Any] = [*self.net.state_dict().values()]
        for each in self.net.parameters():
            tensors += [each.grad, each._version, *self.optimizer.state[each].values()]
        drawn = taper.get_rng_state().tolist()
        return shown([*tensors, self.said, self.total, self.kept, random.random(), drawn])


@followed
def prints_before_backward(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(f"{loss.item():.3f} {loss}")
    fit.fit(loss)
    return loss


@followed
def adds_up(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    loss = fit.loss(x)
    fit.optimizer.zero_grad()
    fit.fit(loss)
    fit.total += loss.item() * len(x)
    fit.said.append(math.log(loss.item()))


@followed
def computes_with_numpy(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    out = fit.net(x)
    loss = F.cross_entropy(out, x[:, :3].argmax(1))
    fit.fit(loss)
    fit.total += float((out.detach().numpy().argmax(1) == 1).mean())
    return {"loss": loss, "out": [out.detach()]}


@followed
def compares_after_the_step(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.fit(loss)
    fit.said.append("large" if loss.item() > 0.3 else "small")
    fit.scheduler.step()
    fit.said.append(fit.scheduler.get_last_lr())
    return loss.detach() * 2


@followed
def clips_and_shows_the_norm(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.net.zero_grad()
    loss = fit.loss(x)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(fit.net.parameters(), 0.1)
    fit.optimizer.step()
    fit.said.append((norm.item(), [each.grad.abs().max().item() for each in fit.net.parameters()]))


@followed
def asks_for_gradients(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    params = list(fit.net.parameters())
    loss = fit.loss(x)
    grads = taper.autograd.grad(loss, params)
    fit.said.append(sum(each.square().sum().item() for each in grads))
    with taper.no_grad():
        for param, grad in zip(params, grads, strict=True):
            param.sub_(0.1 * grad)
    return grads[0]


@followed
def looks_at_shapes(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    out = fit.net(x)
    fit.said.append((out.shape, out.dtype, out.dim(), len(out), out.size(-1), out.requires_grad))
    fit.said.append((out.is_leaf, out.numel(), isinstance(out, taper.Tensor), out.device.type))
    loss = out.square().sum()
    fit.fit(loss)
    fit.said.append((loss.shape, float(loss.detach()), bool(loss > 1), loss.tolist()))


@followed
def two_losses(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    first = fit.net[:2](x).mean()
    first.backward()
    fit.said.append(first.item())
    second = fit.loss(x)
    second.backward(retain_graph=True)
    fit.said.append(second.tolist())
    fit.fit(second)
    return first.detach() + second.detach()


@followed
def gradients_add_up(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    for part in x.chunk(2):
        loss = fit.loss(part) / 2
        loss.backward()
        fit.total += loss.item()
    fit.optimizer.step()
    fit.optimizer.zero_grad(set_to_none=False)


@followed
def validates_in_between(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    with taper.no_grad():
        fit.said.append(fit.loss(x + 1).item())
    fit.fit(loss)
    fit.net.eval()
    with taper.no_grad():
        fit.kept.append(fit.net(x))
    fit.net.train()


@followed
def draws_numbers(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    noise = taper.randn(x.shape)
    loss = fit.loss(F.dropout(x, 0.5) + noise) * random.choice([1.0, 1.0])
    fit.said.append((loss.item(), taper.rand(1).item(), random.random()))
    loss = loss + F.dropout(x, 0.1).mean() * fit.net[0].bias.sum()
    fit.fit(loss)


@followed
def a_closure(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    def closure() -> Any:
        fit.optimizer.zero_grad()
        loss = fit.loss(x)
        loss.backward()
        fit.said.append(loss.item())
        return loss

    return fit.optimizer.step(closure)


@left
def picks_by_data(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    rows = taper.nonzero(x[:, 0] > -100).flatten()
    loss = fit.loss(x[rows])
    fit.fit(loss)
    fit.kept.append(x[x > 0.5].sum().item())


@followed
def writes_in_place(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    hidden = fit.net[0](x)
    hidden += 1
    hidden.relu_()
    out = fit.net[-1](hidden)
    fit.said.append(out.sum().item())
    fit.fit(out.square().mean())
    with taper.no_grad():
        fit.net[0].bias.mul_(0.9)
    fit.said.append(fit.net[0].bias.sum().item())


@followed
def a_module_tells(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    if not fit.kept:
        fit.kept.append(None)
        fit.net[0].register_forward_hook(
            lambda module, args, out: fit.said.append(out.sum().item())
        )
        fit.net[1].register_forward_hook(lambda module, args, out: out * 2)
    fit.fit(fit.loss(x))


@left
def goes_two_ways(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    if nr % 2:
        loss = loss * 2
    fit.fit(loss)
    return loss


@left
def sometimes_skips(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    if nr == 7:
        fit.kept.append(loss)
        return loss * 2
    fit.fit(loss)
    return None


@left
def writes_in_place_and_leaves(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    hidden = fit.net[0](x)
    hidden[:, 0] += 1
    hidden = F.relu(hidden, inplace=True)
    fit.said.append(hidden.sum().item())
    if nr > 6:
        hidden = hidden.sin()
    fit.fit(fit.net[-1](hidden).square().mean())


@left
def asks_for_the_graph(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    if nr > 6:
        fit.said.append(type(loss.grad_fn).__name__)
        fit.said.append(len(loss.grad_fn.next_functions))
    fit.fit(loss)


@left
def hooks_come_later(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    if nr == 6:
        fit.net[0].weight.register_hook(lambda grad: grad * 2)
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    fit.fit(loss)


@left
def a_layer_is_frozen(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.net[0].weight.requires_grad_(nr < 5 or nr > 8)
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    fit.fit(loss)


@left
def parameters_are_replaced(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    if nr == 5:
        fit.net[0].weight.data = taper.full((6, 4), 0.1)
    if nr == 7:
        fit.net[-1] = nn.Linear(6, 3)
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    fit.fit(loss)


@left
def a_weight_is_written_before_backward(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    if nr > 5:
        with taper.no_grad():
            fit.net[-1].weight.mul_(1.5)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        return
    fit.fit(loss)


@left
def shapes_change(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x[: 3 + nr % 3])
    fit.total += loss.item()
    fit.fit(loss)


@left
def it_raises(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    fit.said.append(loss.item())
    try:
        if nr in (4, 6):
            hidden = fit.net[0](x)
            fit.kept.append(hidden)
            raise KeyError(nr)
    except KeyError:
        fit.said.append(fit.kept[-1].sum().item())
    fit.fit(loss)
    if nr == 8:
        fit.net(x[:, :2])


@left
def hyperparameters_change(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    for group in fit.optimizer.param_groups:
        group["lr"] = 0.1 / (nr + 1)
    loss = fit.loss(x) * (1.0 if nr < 6 else 0.5)
    fit.said.append(loss.item())
    fit.fit(loss)


@left
def a_second_backward_is_an_error(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    out = fit.net(x)
    loss = out.square().mean()
    fit.said.append(loss.item())
    fit.fit(loss)
    if nr > 6:
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            loss.backward()
        fit.kept.append(copy.deepcopy(out.detach()))


class Doubled(taper.autograd.Function):
    """A custom Function that tells what it does."""

    @staticmethod
    def forward(ctx: Any, x: Any, said: Any) -> Any:
        said.append("forward")
        ctx.said = said
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        ctx.said.append(grad.sum().item())
        return grad * 2, None


@refused
def a_custom_function(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = Doubled.apply(fit.loss(x), fit.said)
    fit.fit(loss)


@refused
def writes_into_a_copy(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    other = x.clone()
    row = other[0]
    loss = fit.loss(x)
    other[1:] = 3.0
    other[:, 0] += 1
    fit.said.append((row.sum().item(), other.sum().item()))
    fit.fit(loss * other.mean())


@refused
def hooks_that_tell(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    out = fit.net(x)
    out.register_hook(lambda grad: fit.said.append(grad.sum().item()))
    fit.fit(out.square().mean())


@refused
def backward_hooks_of_modules(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    if not nr:
        hook = lambda module, inward, outward: fit.said.append(outward[0].sum().item())  # noqa: E731
        fit.net[-1].register_full_backward_hook(hook)
    fit.optimizer.zero_grad()
    fit.fit(fit.loss(x))


@refused
def a_history_goes_on(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    loss = fit.loss(x)
    fit.said.append(loss.item())
    fit.total = fit.total + loss
    return loss


@refused
def second_derivatives(fit: Fit, x: taper.Tensor, nr: int) -> Any:
    fit.optimizer.zero_grad()
    loss = fit.loss(x)
    (grad,) = taper.autograd.grad(loss, [fit.net[0].weight], create_graph=True)
    fit.said.append(loss.item())
    fit.fit(loss + grad.square().sum())


def outcome(step: Step, norm: bool, wrap: Any, calls: int = 11) -> tuple[list[Any], Any]:
    """What a step returns, prints and leaves behind, and the captured function."""
    fit = Fit(norm)
    function = wrap(lambda x: step(fit, x, fit.nr))
    found: list[Any] = []
    for number in range(calls):
        fit.nr = number
        x = (taper.arange(24.0).reshape(6, 4) * 0.3 + number).sin()
        try:
            found.append(shown(function(x)))
        except RuntimeError as error:
            found.append(str(error))
    return [found, fit.state()], function


def exact(function: Any) -> Any:
    return taper.capture(function, exact=True)


CASES = {**FOLLOWED, **LEFT, **REFUSED}
# Dropout draws, BatchNorm writes its running values: what is done once more must not be seen.
WITH_NORM = ("prints_before_backward", "adds_up", "draws_numbers", "validates_in_between",
             "goes_two_ways", "sometimes_skips", "it_raises", "hooks_come_later",
             "writes_in_place_and_leaves")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "norm"), [*[(each, False) for each in CASES], *[(each, True) for each in WITH_NORM]]
)
def test_a_step_with_python_in_it_ends_as_in_eager_mode(name: str, norm: bool) -> None:
    expected, _ = outcome(CASES[name], norm, lambda function: function)
    found, captured = outcome(CASES[name], norm, exact)
    assert found == expected
    following = captured._following
    if name in FOLLOWED:
        assert following.calls >= 6, captured.explain()
        assert following.departures == 0, captured.explain()
    elif name in LEFT:
        assert following.departures > 0, captured.explain()
    else:
        assert following.refusal is not None, captured.explain()


def test_explain_shows_the_pieces_and_the_line() -> None:
    _, captured = outcome(prints_before_backward, False, taper.capture)
    text = captured.explain()
    assert "runs in Python, what it computes in pieces: " in text
    assert "replayed 8 times, left for eager mode 0 times" in text
    assert text.count("up to ") == 2  # the loss, the parameters
    assert "return F.mse_loss(self.net(x), x[:, :3])" in text


def test_an_error_inside_a_piece_names_the_line() -> None:
    weight = taper.ones(3, 2, requires_grad=True)

    @taper.capture
    def step(x: Any) -> None:
        loss = F.nll_loss(x @ weight, x[:, 0].long())
        seen.append(loss.item())

    seen: list[float] = []
    for _ in range(5):
        step(taper.zeros(2, 3))
    with pytest.raises(IndexError) as error:
        step(taper.full((2, 3), 7.0))
    assert "Target 7 is out of bounds" in str(error.value)
    assert len(seen) == 5
    step(taper.zeros(2, 3))
    assert len(seen) == 6


def test_second_derivatives_use_the_numbers_that_were_drawn() -> None:
    weight = taper.ones(8, requires_grad=True)

    def dropped(x: Any) -> Any:
        return F.dropout(x * weight * weight, 0.5).sum()

    def found(function: Any) -> list[Any]:
        taper.manual_seed(1)
        lists = []
        for number in range(4):
            loss = function(taper.arange(8.0) + number)
            (first,) = taper.autograd.grad(loss, weight, create_graph=True)
            (second,) = taper.autograd.grad(first.sum(), weight)
            lists.append((first.tolist(), second.tolist()))
        return lists

    assert found(exact(dropped)) == found(dropped)


def test_recordings_leave_gradients_their_short_way() -> None:
    """Nobody holds on to the nodes behind leaves: eager calls would be slower ever after."""
    net = nn.Linear(2, 2)

    @taper.capture
    def step(x: Any) -> Any:
        loss = net(x).square().sum()
        loss.backward()
        return loss

    for _ in range(4):
        step(taper.ones(1, 2))
    assert net.weight._autograd_meta is not None
    assert net.weight._autograd_meta.accumulator() is None
