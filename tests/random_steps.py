"""Random training programs: models, optimizers, clipping, schedulers, events between the steps.

`run(seed, wrap)` trains with `wrap` around the step or the model and returns all that can be
compared.  As a program it compares many: `random_steps.py [--first N] [--count N] [--exact]`.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import taper
from random_layers import model
from taper import nn
from taper.nn import functional as F
from taper.optim import swa_utils

optim = taper.optim

OPTIMIZERS: tuple[Callable[[Any], Any], ...] = (
    lambda p: optim.SGD(p, lr=0.05),
    lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    lambda p: optim.SGD(p, lr=0.05, momentum=0.5, dampening=0.1, maximize=True),
    lambda p: optim.Adam(p, lr=0.01),
    lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    lambda p: optim.Adam(p, lr=taper.tensor(0.01)),
    lambda p: optim.Adam(p, lr=0.01, foreach=True),
    lambda p: optim.Adam(p, lr=0.01, fused=True),
    lambda p: optim.AdamW(p, lr=0.01),
    lambda p: optim.AdamW(p, lr=0.01, amsgrad=True, maximize=True),
    lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5),
    lambda p: optim.RMSprop(p, lr=0.01, centered=True, weight_decay=0.1),
    lambda p: optim.Adagrad(p, lr=0.05, lr_decay=0.1),
    lambda p: optim.Adadelta(p, lr=0.5),
    lambda p: optim.Adamax(p, lr=0.01),
    lambda p: optim.NAdam(p, lr=0.01),
    lambda p: optim.NAdam(p, lr=0.01, decoupled_weight_decay=True, weight_decay=0.1),
    lambda p: optim.RAdam(p, lr=0.01),
    lambda p: optim.ASGD(p, lr=0.01, t0=2),
    lambda p: optim.Rprop(p, lr=0.01),
    lambda p: optim.Adafactor(p, lr=0.01),
)

SCHEDULERS: tuple[Callable[[Any], Any], ...] = (
    lambda o: None,
    lambda o: schedulers.StepLR(o, 2, 0.5),
    lambda o: schedulers.MultiStepLR(o, [2, 4]),
    lambda o: schedulers.ExponentialLR(o, 0.9),
    lambda o: schedulers.CosineAnnealingLR(o, 5),
    lambda o: schedulers.CosineAnnealingWarmRestarts(o, 3),
    lambda o: schedulers.OneCycleLR(o, 0.1, 50, cycle_momentum=False),
    lambda o: schedulers.CyclicLR(o, 0.01, 0.1, 3, cycle_momentum=False),
    lambda o: schedulers.LambdaLR(o, lambda epoch: 0.9**epoch),
    lambda o: schedulers.MultiplicativeLR(o, lambda epoch: 0.9),
    lambda o: schedulers.LinearLR(o),
    lambda o: schedulers.ConstantLR(o),
    lambda o: schedulers.PolynomialLR(o, 10),
    lambda o: schedulers.SequentialLR(
        o, [schedulers.ConstantLR(o, 0.1), schedulers.ExponentialLR(o, 0.9)], milestones=[3]
    ),
    lambda o: schedulers.ChainedScheduler(
        [schedulers.ConstantLR(o, 0.5), schedulers.ExponentialLR(o, 0.9)]
    ),
)
schedulers = optim.lr_scheduler


def _one_hot(target: Any) -> Any:
    return F.one_hot(target, 3).float()


LOSSES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda output, target: F.cross_entropy(output, target),
    lambda output, target: F.cross_entropy(output, target, label_smoothing=0.1),
    lambda output, target: F.cross_entropy(output, target, taper.tensor([1.0, 2.0, 0.5])),
    lambda output, target: F.cross_entropy(output, target, ignore_index=1, reduction="sum"),
    lambda output, target: F.cross_entropy(output, _one_hot(target)),
    lambda output, target: F.nll_loss(F.log_softmax(output, 1), target),
    lambda output, target: F.mse_loss(output, _one_hot(target)),
    lambda output, target: F.l1_loss(output, _one_hot(target)),
    lambda output, target: F.huber_loss(output, _one_hot(target), delta=0.5),
    lambda output, target: F.smooth_l1_loss(output.sigmoid(), output.detach().tanh()),
    lambda output, target: F.binary_cross_entropy_with_logits(output, _one_hot(target)),
    lambda output, target: F.kl_div(
        output.log_softmax(1), output.detach().softmax(1) * 0.5, reduction="batchmean"
    ),
    lambda output, target: F.multi_margin_loss(output, target),
    lambda output, target: F.soft_margin_loss(output, 2 * _one_hot(target) - 1),
    lambda output, target: F.gaussian_nll_loss(
        output, _one_hot(target), F.softplus(output).mean(1, keepdim=True)
    ),
    lambda output, target: F.cosine_embedding_loss(
        output, _one_hot(target), taper.ones(len(target))
    ),
    lambda output, target: F.triplet_margin_loss(output, output.roll(1, 0), output.flip(0)),
    lambda output, target: output.square().mean() + output.exp().log1p().sum() * 0.01,
    lambda output, target: -output.softmax(1).gather(1, target[:, None]).log().mean(),
    lambda output, target: taper.logsumexp(output, 1).mean() - output.var() + output.std(0).sum(),
)

KINDS = ("step", "step", "step", "step", "module", "compiled", "loss", "grad")


class Trial:
    """One random program, before its first step."""

    def __init__(self, seed: int, tells: int = 0) -> None:
        self.tells = tells  # 1 and 2: the step keeps its loss as a number, early or late
        self.told: list[float] = []
        draw = self.draw = random.Random(seed)
        taper.manual_seed(seed)
        self.kind = draw.choice(KINDS)
        self.net = model(draw)
        self.parameters = [each for each in self.net.parameters() if each.requires_grad]
        self.optimizer = draw.choice(OPTIMIZERS)(self._groups(draw))
        self.scheduler = draw.choice(SCHEDULERS)(self.optimizer)
        self.loss_of = draw.choice(LOSSES)
        self.clip = draw.choice([None, "norm", "value", "inf", "foreach"])
        self.batches = draw.choice([[6], [6], [6], [6, 4], [5, 6, 3]])
        self.accumulates = draw.choice([0, 0, 0, 1, 2])
        self.to_none = draw.random() < 0.8
        self.retains = draw.random() < 0.1
        self.low = draw.random() < 0.1
        self.reads = draw.random() < 0.2
        self.zeroes = draw.choice(["optimizer", "optimizer", "module", "hand"])
        self.averaged = self._average(draw)
        self.events = {number: draw.choice(EVENTS) for number in range(2, 7)}
        self.called = self.net  # the model as it is called
        self.shake: Callable[[Any], None] | None = None  # disturbs gradients before the update

    def _groups(self, draw: random.Random) -> list[Any]:
        if len(self.parameters) < 2 or draw.random() < 0.7:
            return self.parameters
        half = len(self.parameters) // 2
        return [{"params": self.parameters[:half], "lr": 0.003}, {"params": self.parameters[half:]}]

    def _average(self, draw: random.Random) -> Any:
        if draw.random() < 0.85:
            return None
        rule = draw.choice([None, swa_utils.get_ema_multi_avg_fn(0.9)])
        return swa_utils.AveragedModel(self.net, multi_avg_fn=rule)

    def loss(self, x: Any, target: Any) -> Any:
        """The loss of a batch."""
        if self.low:
            with taper.autocast("cpu", taper.bfloat16):
                return self.loss_of(self.called(x).float(), target)
        return self.loss_of(self.called(x), target)

    def zero(self) -> None:
        """Forget the gradients, in one of the usual ways."""
        if self.zeroes == "optimizer":
            self.optimizer.zero_grad(set_to_none=self.to_none)
        elif self.zeroes == "module":
            self.net.zero_grad(set_to_none=self.to_none)
        else:
            for each in self.parameters:
                each.grad = None

    def differentiate(self, loss: Any, x: Any, target: Any) -> None:
        """Run the backward passes of a step."""
        if self.kind == "grad":
            wanted = [each for each in self.parameters if each.requires_grad]
            found = taper.autograd.grad(loss, wanted, allow_unused=True)
            for each, grad in zip(wanted, found, strict=True):
                each.grad = grad
            return
        if self.accumulates:
            loss = loss / (1 + self.accumulates)
        loss.backward(retain_graph=self.retains)
        if self.retains:
            (loss * 0.5).backward()
        for _ in range(self.accumulates):
            (self.loss_of(self.called(x * 0.5), target) / (1 + self.accumulates)).backward()

    def update(self) -> None:
        """Clip and step."""
        if self.shake is not None:
            self.shake([each.grad for each in self.parameters if each.grad is not None])
        if self.clip == "norm":
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        elif self.clip == "inf":
            nn.utils.clip_grad_norm_(self.parameters, 0.5, norm_type=float("inf"))
        elif self.clip == "foreach":
            nn.utils.clip_grad_norm_(self.parameters, 0.5, foreach=True)
        elif self.clip == "value":
            nn.utils.clip_grad_value_(self.net.parameters(), 0.1)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        if self.averaged is not None:
            self.averaged.update_parameters(self.net)

    def step(self, x: Any, target: Any) -> Any:
        """One step as users write it."""
        self.zero()
        loss = self.loss(x, target)
        if self.tells == 1:
            self.told.append(loss.item())
        self.differentiate(loss, x, target)
        self.update()
        if self.tells == 2:
            self.told.append(loss.item())
        return loss.item() if self.reads else loss.detach()

    def result(self) -> list[Any]:
        """All that two runs are compared by, after the last step."""
        state = self.optimizer.state_dict()["state"]
        return [
            *self.net.state_dict().values(),
            *[each.grad for each in self.net.parameters()],
            *[each for values in state.values() for each in values.values()],
            *(self.averaged.state_dict().values() if self.averaged is not None else ()),
            *[each._version for each in self.net.parameters()],
            *[float(group["lr"]) for group in self.optimizer.param_groups],
            *self.told,
            taper.get_rng_state(),
        ]


def _load(trial: Trial) -> None:
    other = {name: each * 0.5 for name, each in trial.net.state_dict().items()}
    trial.net.load_state_dict(other)


def _reload_optimizer(trial: Trial) -> None:
    trial.optimizer.load_state_dict(trial.optimizer.state_dict())


def _freeze(trial: Trial) -> None:
    trial.parameters[0].requires_grad_(False)


def _slow(trial: Trial) -> None:
    for group in trial.optimizer.param_groups:
        group["lr"] = group["lr"] * 0.5


def _infer(trial: Trial) -> None:
    with taper.no_grad():
        trial.net.eval()
        trial.called(taper.ones(4, 16))
        trial.net.train()


def _replace(trial: Trial) -> None:
    first = trial.parameters[0]
    first.data = first.data.clone() * 0.5


def _write(trial: Trial) -> None:
    with taper.no_grad():
        trial.parameters[-1].mul_(0.9)


EVENTS: tuple[Callable[[Trial], Any], ...] = (
    *(lambda trial: None,) * 6,
    lambda trial: trial.net.eval(),
    lambda trial: trial.net.train(),
    lambda trial: taper.manual_seed(7),
    lambda trial: taper.randn(3),
    lambda trial: trial.zero(),
    *(_load, _reload_optimizer, _freeze, _slow, _infer, _replace, _write),
)


def run(
    seed: int, wrap: Callable[[Any], Any], steps: int = 8, before: Any = None, tells: int = 0
) -> tuple[list[Any], Any]:
    """Train a random model; returns everything that can be compared, and what was wrapped.

    `before(trial, x)` is called before each step, and may disturb it.
    """
    trial = Trial(seed, tells)
    step: Any = trial.step
    if trial.kind in ("step", "grad"):
        made = step = wrap(step)
    elif trial.kind == "loss":
        made = trial.loss = wrap(trial.loss)  # type: ignore[method-assign]
    else:
        made = wrap(trial.net)
        trial.called = made
        if trial.kind == "compiled":
            trial.called = taper.compile(trial.net)
            trial.called.__dict__["_captured"] = made
    losses: list[Any] = []
    try:
        for number in range(steps):
            size = trial.batches[number % len(trial.batches)]
            x, target = taper.randn(size, 16), taper.randint(0, 3, (size,))
            if before is not None:
                before(trial, x)
            losses.append(step(x, target))
            trial.events.get(number, EVENTS[0])(trial)
    except RuntimeError as error:  # in-place activations may destroy what a backward needs
        losses.append(f"{type(error).__name__}: {str(error).partition(':')[0]}")
    return [*losses, *trial.result()], made


def jitter(seed: int) -> Callable[[Trial, Any], None]:
    """Return what disturbs a step: numbers change by one ulp, up or down or not.

    Those are parameters, the batch, and gradients: by an ulp of the largest, as sums may cancel.
    """
    generator = np.random.default_rng(seed)

    def shake(grads: Any) -> None:
        arrays = [each.numpy() for each in grads]
        largest = max([np.abs(each).max(initial=0) for each in arrays], default=0.0)
        for array in arrays:
            array += generator.integers(-1, 2, array.shape) * np.spacing(np.float32(largest))

    def disturb(trial: Trial, x: Any) -> None:
        trial.shake = shake
        for tensor in (x, *trial.net.parameters()):
            array = tensor.detach().numpy()
            signs = generator.integers(-1, 2, array.shape).astype(array.dtype)
            array += signs * np.spacing(np.abs(array))

    return disturb


def same(found: Any, expected: Any) -> bool:
    """Whether two results are equal to the bit."""
    if isinstance(expected, taper.Tensor) and isinstance(found, taper.Tensor):
        return found.dtype is expected.dtype and bool(
            np.array_equal(found.numpy(), expected.numpy(), equal_nan=found.is_floating_point())
        )
    if isinstance(expected, float) and expected != expected:
        return bool(found != found)
    return type(found) is type(expected) and found == expected


def distance(found: Any, expected: Any) -> float:
    """The largest difference of two results in units of the largest of the expected one."""
    one, other = (
        np.asarray(each.numpy() if isinstance(each, taper.Tensor) else each)
        for each in (found, expected)
    )
    if one.dtype.kind != "f":
        return 0.0 if np.array_equal(one, other) else np.inf
    with np.errstate(all="ignore"):
        if not np.array_equal(np.isfinite(one), np.isfinite(other)):
            return np.inf
        both = np.isfinite(other)
        size = np.abs(other, where=both, out=np.zeros_like(other)).max(initial=1e-30)
        return float(
            np.abs(one - other, where=both, out=np.zeros_like(other)).max(initial=0) / size
        )


def differences(seed: int, exact: bool, tells: int = 0) -> tuple[list[str], Any]:
    """What a captured run and an eager one disagree in; and the captured function.

    Without `exact` fusion may round otherwise.  How far that may lead is measured: of three eager
    runs whose parameters, batches and gradients are moved by one ulp at each step, the result that
    is moved most allows 32 times as much, and 64 ulp to those that are not moved.
    """
    steps = 12 if tells else 8
    eager, _ = run(seed, lambda function: function, steps, tells=tells)
    found, captured = run(
        seed, lambda function: taper.capture(function, exact=exact), steps, tells=tells
    )
    if len(found) != len(eager):
        return [f"{len(found)} results instead of {len(eager)}"], captured
    pairs = list(zip(found, eager, strict=True))
    if exact:
        return [f"result {nr}" for nr, pair in enumerate(pairs) if not same(*pair)], captured
    if all(same(*pair) for pair in pairs):
        return [], captured
    moved = [run(seed, lambda function: function, steps, jitter(nr), tells)[0] for nr in range(3)]
    wrong = []
    for nr, (one, other) in enumerate(pairs):
        if not isinstance(other, taper.Tensor | float):
            if not same(one, other):
                wrong.append(f"result {nr}: {one} and not {other}")
            continue
        if any(len(each) != len(eager) for each in moved):
            continue
        allowed = 32 * max(distance(each[nr], other) for each in moved) + 64 * 2.0**-23
        if distance(one, other) > allowed:
            wrong.append(f"result {nr}: {distance(one, other):.1e}, allowed {allowed:.1e}")
    return wrong, captured


def main() -> int:
    """Compare many programs; says which differ, and how many were replayed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument(
        "--tells",
        type=int,
        default=0,
        help="1, 2: steps keep their loss as a number, early or late",
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong = replayed = 0
    for seed in range(options.first, options.first + options.count):
        found, captured = differences(seed, options.exact, options.tells)
        text = captured.explain()
        replayed += "replayed" in text
        if found:
            wrong += 1
            print(f"{seed}: {'; '.join(found[:4])}")
        if "replayed" not in text:
            print(f"{seed}: {text.splitlines()[0]}")
    print(f"{options.count} programs, {replayed} replayed, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
