"""Random training steps: models of random layers, optimizers, clipping, schedulers, batch sizes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import taper
from taper import nn
from taper.nn import functional as F


def dense(draw: random.Random, width: int) -> tuple[nn.Module, int]:
    """A layer for (batch, width), and the width after it."""
    wider = draw.choice([3, 4, 8, 16])
    layers: list[tuple[Callable[[], nn.Module], int]] = [
        (lambda: nn.Linear(width, wider, bias=draw.random() < 0.8), wider),
        (nn.ReLU, width),
        (nn.GELU, width),
        (nn.Tanh, width),
        (nn.Sigmoid, width),
        (nn.SiLU, width),
        (lambda: nn.LeakyReLU(0.1), width),
        (nn.Softplus, width),
        (lambda: nn.Dropout(draw.choice([0.1, 0.5])), width),
        (lambda: nn.BatchNorm1d(width), width),
        (lambda: nn.LayerNorm(width), width),
        (lambda: nn.RMSNorm(width), width),
        (lambda: nn.Softmax(-1), width),
        (lambda: nn.PReLU(), width),
        (lambda: _Residual(width), width),
    ]
    make, after = draw.choice(layers)
    return make(), after


class _Residual(nn.Module):
    """Add a layer to what goes around it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.scale = nn.Parameter(taper.ones(1))

    def forward(self, x: Any) -> Any:
        return x + self.scale * F.relu(self.inner(x))


class Pictures(nn.Module):
    """Convolutions and pooling before the dense layers."""

    def __init__(self, draw: random.Random, width: int) -> None:
        super().__init__()
        channels = draw.choice([2, 4])
        parts: list[nn.Module] = [nn.Conv2d(1, channels, 3, padding=1)]
        if draw.random() < 0.5:
            parts.append(nn.BatchNorm2d(channels))
        parts.append(nn.ReLU())
        parts.append(draw.choice([nn.MaxPool2d(2), nn.AvgPool2d(2)]))
        self.parts = nn.Sequential(*parts)
        self.last = nn.Linear(channels * 4, width)

    def forward(self, x: Any) -> Any:
        x = self.parts(x.view(x.shape[0], 1, 4, 4))
        return self.last(x.flatten(1))


class Sequences(nn.Module):
    """Embedding or recurrence or attention before the dense layers."""

    def __init__(self, draw: random.Random, width: int) -> None:
        super().__init__()
        self.kind = draw.choice(["lstm", "gru", "attention"])
        self.first = nn.Linear(4, 8)
        if self.kind == "attention":
            self.inner: Any = nn.TransformerEncoderLayer(8, 2, 16, 0.1, batch_first=True)
        else:
            self.inner = (nn.LSTM if self.kind == "lstm" else nn.GRU)(8, 8, batch_first=True)
        self.last = nn.Linear(8, width)

    def forward(self, x: Any) -> Any:
        x = self.inner(self.first(x.view(x.shape[0], 4, 4)))
        if self.kind != "attention":
            x = x[0]
        return self.last(x.mean(1))


def model(draw: random.Random) -> nn.Module:
    """A random model from (batch, 16) to (batch, 3)."""
    width = 16
    parts: list[nn.Module] = []
    kind = draw.random()
    if kind < 0.2:
        parts.append(Pictures(draw, 8))
        width = 8
    elif kind < 0.4:
        parts.append(Sequences(draw, 8))
        width = 8
    for _ in range(draw.randint(1, 6)):
        part, width = dense(draw, width)
        parts.append(part)
    return nn.Sequential(*parts, nn.Linear(width, 3))


def optimizer(draw: random.Random, parameters: list[Any]) -> Any:
    """A random optimizer."""
    optim = taper.optim
    return draw.choice(
        [
            lambda: optim.SGD(parameters, lr=0.05),
            lambda: optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
            lambda: optim.Adam(parameters, lr=0.01),
            lambda: optim.Adam(parameters, lr=0.01, amsgrad=True, weight_decay=0.1),
            lambda: optim.AdamW(parameters, lr=0.01),
            lambda: optim.RMSprop(parameters, lr=0.01, momentum=0.5),
            lambda: optim.Adagrad(parameters, lr=0.05),
            lambda: optim.NAdam(parameters, lr=0.01),
        ]
    )()


def scheduler(draw: random.Random, made: Any) -> Any:
    """A random scheduler, or none."""
    schedulers = taper.optim.lr_scheduler
    return draw.choice(
        [
            lambda: None,
            lambda: schedulers.StepLR(made, 2, 0.5),
            lambda: schedulers.CosineAnnealingLR(made, 5),
            lambda: schedulers.OneCycleLR(made, 0.1, 50, cycle_momentum=False),
            lambda: schedulers.LambdaLR(made, lambda epoch: 0.9**epoch),
        ]
    )()


LOSSES = (
    lambda output, target: F.cross_entropy(output, target),
    lambda output, target: F.nll_loss(F.log_softmax(output, 1), target),
    lambda output, target: F.mse_loss(output, F.one_hot(target, 3).float()),
    lambda output, target: F.smooth_l1_loss(output.sigmoid(), output.detach().tanh()),
    lambda output, target: output.square().mean() + output.exp().log1p().sum() * 0.01,
)


def run(seed: int, wrap: Callable[[Any], Any], steps: int = 7) -> tuple[list[Any], Any]:
    """Train a random model; returns everything that can be compared, and the step itself."""
    draw = random.Random(seed)
    taper.manual_seed(seed)
    net = model(draw)
    parameters = list(net.parameters())
    optim = optimizer(draw, parameters)
    schedule = scheduler(draw, optim)
    loss_of = LOSSES[draw.randrange(len(LOSSES))]
    clip = draw.choice([None, "norm", "value"])
    batches = draw.choice([[6], [6], [6, 4], [5, 6, 3]])
    accumulates = draw.random() < 0.2
    to_none = draw.random() < 0.8

    def step(x: Any, target: Any) -> Any:
        optim.zero_grad(set_to_none=to_none)
        loss = loss_of(net(x), target)
        loss.backward()
        if accumulates:
            loss_of(net(x * 0.5), target).backward()
        if clip == "norm":
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        elif clip == "value":
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
        optim.step()
        if schedule is not None:
            schedule.step()
        return loss.detach()

    made = wrap(step)
    losses = []
    for number in range(steps):
        size = batches[number % len(batches)]
        x, target = taper.randn(size, 16), taper.randint(0, 3, (size,))
        losses.append(made(x, target))
        if number == 4 and seed % 3 == 0:
            net.eval()
    state = optim.state_dict()["state"]
    return [
        *losses,
        *net.state_dict().values(),
        *[each.grad for each in parameters],
        *[each for values in state.values() for each in values.values()],
        *[each._version for each in parameters],
        [group["lr"] for group in optim.param_groups],
        taper.get_rng_state(),
    ], made
