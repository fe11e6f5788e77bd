"""The names of operators are PyTorch's: the overloads exist, calls are seen as the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch as real_torch
from torch.utils._python_dispatch import TorchDispatchMode

import taper
from taper.autograd.interception import intercepting
from taper.ops import identity
from taper.ops.identity import _overloads, overload_of


def test_every_overload_that_taper_names_is_one_of_pytorchs():
    wrong = []
    for name, overloads in _overloads().items():
        packet = getattr(real_torch.ops.aten, name, None)
        if packet is not None:
            known = packet.overloads()
            table = [each for each, entry in overloads.items() if entry is not None]
            wrong += [f"{name}.{each}" for each in table if each not in known]
    assert wrong == []


def test_names_that_taper_only_knows_are_pytorchs():
    lines = Path(identity.__file__).with_name("aten_names.txt").read_text().splitlines()
    known = {line.split()[0]: set(line.split()[1:]) for line in lines}
    for name, overloads in known.items():
        assert overloads == set(getattr(real_torch.ops.aten, name).overloads()), name
    assert taper.ops.aten._convolution.default.name() == "aten::_convolution"
    with pytest.raises(NotImplementedError, match="cannot be called here"):
        taper.ops.aten._convolution(taper.ones(1))


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls.append(str(function))
        return function(*args, **(kwargs or {}))


CALLS = {
    "arithmetic": lambda torch, x: (x * 3 + x / 2 - x) ** 2,
    "number first": lambda torch, x: 2 - 2 * x + 1 / x,
    "power": lambda torch, x: [x.pow(x), 2**x, x.sqrt(), x.rsqrt()],
    "alpha": lambda torch, x: x.add(x, alpha=2).sub(1, alpha=3),
    "comparison": lambda torch, x: [x == 1, x == x, x < 2, x >= x, ~(x > 1)],
    "bits": lambda torch, x: [x.int() & 3, x.int() | x.int(), torch.bitwise_left_shift(x.int(), 1)],
    "unary": lambda torch, x: x.sin().exp().abs().neg().sigmoid().tanh().relu(),
    "in place": lambda torch, x: x.clone().mul_(2).add_(x).sub_(1, alpha=2).sin_().clamp_(min=0),
    "power in place": lambda torch, x: x.clone().pow_(2).pow_(x),
    "sums": lambda torch, x: [x.sum(), x.sum(0), x.sum(dim=(0, 1), keepdim=True)],
    "means": lambda torch, x: [x.mean(), x.mean(1), x.var(), x.std(0), x.prod(), x.prod(0)],
    "extrema": lambda torch, x: [x.max(), x.max(dim=0), x.min(0), x.argmax(), x.amax(1)],
    "truth": lambda torch, x: [x.bool().all(), x.bool().any(0), x.isnan()],
    "clamp": lambda torch, x: [x.clamp(0, 1), x.clamp(min=x), x.clamp_max(3), x.clamp_min(x)],
    "shapes": lambda torch, x: [x.view(-1), x.t(), x.transpose(0, 1), x.permute(1, 0), x[0]],
    "more shapes": lambda torch, x: [x.unsqueeze(0).squeeze(0), x.expand(2, 2, 2), x[:, 1:]],
    "joining": lambda torch, x: [torch.cat([x, x]), torch.stack([x, x], 1)],
    "parting": lambda torch, x: [x.split(1), x.chunk(2, 1), x.unbind()],
    "products": lambda torch, x: [
        x @ x,
        x.mm(x),
        x.mv(x[0]),
        x[0].dot(x[1]),
        torch.bmm(x[None], x[None]),
    ],
    "linear": lambda torch, x: torch.nn.functional.linear(x, x, x[0]),
    "softmax": lambda torch, x: [x.softmax(0), x.log_softmax(-1), x.logsumexp(0)],
    "indexing": lambda torch, x: [x[torch.tensor([0, 1])], x.gather(0, x.long() * 0), x.sort()],
    "filling": lambda torch, x: [x.masked_fill(x > 1, 0.0), torch.where(x > 1, x, x * 2)],
    "writing": lambda torch, x: x.clone().fill_(2.0).copy_(x).zero_(),
    "dtypes": lambda torch, x: [x.double(), x.to(torch.int64)],
    "activation": lambda torch, x: [torch.nn.functional.gelu(x), torch.nn.functional.silu(x)],
    "losses": lambda torch, x: [
        torch.nn.functional.mse_loss(x, x),
        torch.nn.functional.cross_entropy(x, torch.tensor([0, 1])),
    ],
    "norms": lambda torch, x: torch.nn.functional.layer_norm(x, (2,), x[0], x[1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_seen_under_the_same_names(name):
    data = [[1.0, 2.0], [3.0, 4.0]]
    seen = Seen()
    tensor = real_torch.tensor(data)
    with seen:
        CALLS[name](real_torch, tensor)
    calls = []

    def note(call, run):
        calls.append(str(overload_of(call)))
        return run()

    tensor = taper.tensor(data)
    with intercepting(note):
        CALLS[name](taper, tensor)
    made = ("aten.lift_fresh.default", "aten.detach.default")  # data enters without an operator
    assert calls == [each for each in seen.calls if each not in made]
