"""Learning-rate schedulers, the same epochs on taper and on PyTorch, equal to the last bit."""

from __future__ import annotations

import copy
import inspect
import itertools
import warnings

import numpy as np
import pytest
import torch

import taper


def optimizer_of(library, kind="SGD", as_tensor=False):
    """Return two groups, of rates 0.1 and 0.5."""
    groups = [
        {
            "params": [library.nn.Parameter(library.ones(1))],
            "lr": library.tensor(rate) if as_tensor else rate,
        }
        for rate in (0.1, 0.5)
    ]
    return getattr(library.optim, kind)(groups, **({"momentum": 0.9} if kind == "SGD" else {}))


def plain(value):
    """Tensors as their dtype and value, to compare those of two libraries."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return (str(value.dtype), value.tolist()) if hasattr(value, "detach") else value


class Halves:
    """A callable object, which a state can hold."""

    def __init__(self):
        self.base = 0.5

    def __call__(self, epoch):
        return self.base ** (epoch % 3)


def sequence(s, o):
    parts = [s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingLR(o, 4), s.StepLR(o, 2, 0.5)]
    return s.SequentialLR(o, parts, [3, 7])


def sequence_in_sequence(s, o):
    inner = s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2])
    return s.SequentialLR(o, [inner, s.StepLR(o, 2)], [4])


def chain_in_sequence(s, o):
    inner = s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])
    return s.SequentialLR(o, [inner, s.PolynomialLR(o, 5)], [3])


MAKERS = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [Halves(), lambda e: 1 / (e + 1)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, [lambda e: 0.9, Halves()]),
    "step": lambda s, o: s.StepLR(o, 3, 0.3),
    "milestones": lambda s, o: s.MultiStepLR(o, [2, 4, 4, 9], 0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.7, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.8),
    "polynomial": lambda s, o: s.PolynomialLR(o, 7, 1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.05),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    "equal restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3),
    "cyclic 2": lambda s, o: s.CyclicLR(o, [0.1, 0.2], [1.0, 3.0], 3, 2, "triangular2"),
    "cyclic exp": lambda s, o: s.CyclicLR(
        o, 0.1, 1.0, 2, 5, "exp_range", 0.95, base_momentum=[0.1, 0.2]
    ),
    "cyclic of a function": lambda s, o: s.CyclicLR(
        o, 0.1, 1.0, 2, scale_fn=lambda x: 1 / x, cycle_momentum=False
    ),
    "cyclic of an object": lambda s, o: s.CyclicLR(
        o, 0.1, 1.0, 2, scale_fn=Halves(), scale_mode="iterations"
    ),
    "one cycle": lambda s, o: s.OneCycleLR(o, 1.0, 12),
    "one cycle of three": lambda s, o: s.OneCycleLR(
        o,
        [1.0, 2.0],
        epochs=3,
        steps_per_epoch=4,
        three_phase=True,
        anneal_strategy="linear",
        base_momentum=[0.7, 0.6],
    ),
    "one cycle of rates": lambda s, o: s.OneCycleLR(
        o, 1.0, 16, pct_start=0.5, cycle_momentum=False, div_factor=5.0, final_div_factor=7.0
    ),
    "sequence": sequence,
    "sequence in sequence": sequence_in_sequence,
    "chain in sequence": chain_in_sequence,
    "restarts in sequence": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.CosineAnnealingWarmRestarts(o, 3)], [3]
    ),
    "cycle in sequence": lambda s, o: s.SequentialLR(
        o, [s.ExponentialLR(o, 0.9), s.OneCycleLR(o, 1.0, 9)], [4]
    ),
    "chain": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.LinearLR(o)]
    ),
}
WAYS = {
    "numbers": {},
    "tensors": {"as_tensor": True},
    "Adam": {"kind": "Adam"},
    "closed form": {"closed": True},
}


def epochs(library, make, kind="SGD", as_tensor=False, closed=False):
    optimizer = optimizer_of(library, kind, as_tensor)
    scheduler = make(library.optim.lr_scheduler, optimizer)
    found = [plain(scheduler.get_last_lr())]
    for epoch in range(14):
        optimizer.step()
        try:
            scheduler.step(*([epoch + 2] if closed else []))
        except (TypeError, ValueError) as error:
            found.append((type(error), str(error)))
            break
        found.append(plain(scheduler.get_last_lr()))
        for group in optimizer.param_groups:
            found.append(plain({name: group[name] for name in group if name != "params"}))
    return found, list(plain(scheduler.state_dict()).items())


# A scheduler made of others makes a first step with them; both libraries warn of that.
EARLY = "ignore:Detected call of `lr_scheduler.step:UserWarning"


@pytest.mark.filterwarnings("ignore:The epoch parameter:UserWarning", EARLY)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MAKERS)
def test_epochs(name, way):
    ours = epochs(taper, MAKERS[name], **WAYS[way])
    theirs = epochs(torch, MAKERS[name], **WAYS[way])
    assert ours == theirs


@pytest.mark.filterwarnings(EARLY)
@pytest.mark.parametrize("name", MAKERS)
def test_state_goes_on(name):
    """A fresh scheduler with the state of another continues with the same rates."""
    results = []
    for library in (taper, torch):
        optimizer = optimizer_of(library)
        scheduler = MAKERS[name](library.optim.lr_scheduler, optimizer)
        for _ in range(5):
            optimizer.step()
            scheduler.step()
        other_optimizer = optimizer_of(library)
        other = MAKERS[name](library.optim.lr_scheduler, other_optimizer)
        other_optimizer.load_state_dict(optimizer.state_dict())
        other.load_state_dict(copy.deepcopy(scheduler.state_dict()))
        rates = []
        for _ in range(4):
            other_optimizer.step()
            other.step()
            rates.append(other.get_last_lr())
        results.append((rates, list(plain(other.state_dict()).items())))
    assert results[0] == results[1]


def test_fractions_of_an_epoch():
    results = []
    for library in (taper, torch):
        for multiple in (1, 2):
            scheduler = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(
                optimizer_of(library), 3, multiple, 0.1
            )
            for epoch in (0, 0.5, 1.0, 2.9, 3.0, 3.1, 8.9, 9.0, 20.5, 21, None, 4.5):
                scheduler.step(epoch)
                results.append((library, scheduler.get_last_lr(), scheduler.state_dict()))
    half = len(results) // 2
    assert [each[1:] for each in results[:half]] == [each[1:] for each in results[half:]]


PLATEAU = [
    dict(zip(("mode", "threshold_mode", "cooldown", "patience"), values, strict=True))
    for values in itertools.product(("min", "max"), ("rel", "abs"), (0, 2), (0, 2))
]


@pytest.mark.parametrize("options", PLATEAU, ids=str)
def test_reduce_on_plateau(options):
    measures = np.random.default_rng(0).normal(size=30).tolist() + [5.0] * 10
    results = []
    for library in (taper, torch):
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, min_lr=[0.01, 0.1], **options
        )
        rates = []
        for measure in measures:
            scheduler.step(measure)
            rates.append([group["lr"] for group in optimizer.param_groups])
        results.append((rates, list(scheduler.state_dict().items())))
    assert results[0] == results[1]


# ----------------------------------------------------------------------- refusals and warnings


def outcome(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(action())
        except Exception as error:
            found = (type(error), str(error))
    return found, [(each.category, str(each.message)) for each in caught]


def with_scheduler(lib, name, *args, **kwargs):
    scheduler = getattr(lib.optim.lr_scheduler, name)(optimizer_of(lib), *args, **kwargs)
    return scheduler.get_last_lr()


def combined(lib, name, *parts):
    """Return a SequentialLR or ChainedScheduler of schedulers with optimizers of their own."""
    schedulers = lib.optim.lr_scheduler
    made = [getattr(schedulers, part)(optimizer_of(lib)) for part in parts]
    if name == "ChainedScheduler":
        return schedulers.ChainedScheduler(made)
    return schedulers.SequentialLR(optimizer_of(lib), made, [1] * (len(made) - 1))


def plateau_in(lib, name):
    schedulers, optimizer = lib.optim.lr_scheduler, optimizer_of(lib)
    plateau = schedulers.ReduceLROnPlateau(optimizer)
    if name == "ChainedScheduler":
        return schedulers.ChainedScheduler([plateau])
    return schedulers.SequentialLR(optimizer, [plateau], [])


def too_many_milestones(lib):
    optimizer = optimizer_of(lib)
    scheduler = lib.optim.lr_scheduler.ConstantLR(optimizer)
    return lib.optim.lr_scheduler.SequentialLR(optimizer, [scheduler], [1])


def stepped(scheduler, *args):
    scheduler.step(*args)
    return scheduler.get_last_lr()


REFUSALS = {
    "not an optimizer": lambda lib: lib.optim.lr_scheduler.StepLR(3, 1),
    "not an optimizer to cycle": lambda lib: lib.optim.lr_scheduler.CyclicLR(3, 0.1, 1),
    "not an optimizer for a cycle": lambda lib: lib.optim.lr_scheduler.OneCycleLR(3, 1),
    "no initial_lr": lambda lib: with_scheduler(lib, "StepLR", 1, last_epoch=3),
    "verbose": lambda lib: with_scheduler(lib, "StepLR", 1, verbose=True),
    "lambdas": lambda lib: with_scheduler(lib, "LambdaLR", [1, 2, 3]),
    "multiplicative lambdas": lambda lib: with_scheduler(lib, "MultiplicativeLR", [1]),
    "plateau factor": lambda lib: with_scheduler(lib, "ReduceLROnPlateau", factor=1.0),
    "plateau mode": lambda lib: with_scheduler(lib, "ReduceLROnPlateau", "x"),
    "constant above": lambda lib: with_scheduler(lib, "ConstantLR", 2.0),
    "constant below": lambda lib: with_scheduler(lib, "ConstantLR", -1),
    "linear start": lambda lib: with_scheduler(lib, "LinearLR", 0),
    "linear end": lambda lib: with_scheduler(lib, "LinearLR", 0.5, 2.0),
    "linear of nothing": lambda lib: with_scheduler(lib, "LinearLR", total_iters=0),
    "T_0": lambda lib: with_scheduler(lib, "CosineAnnealingWarmRestarts", 0),
    "T_0 float": lambda lib: with_scheduler(lib, "CosineAnnealingWarmRestarts", 1.5),
    "T_mult": lambda lib: with_scheduler(lib, "CosineAnnealingWarmRestarts", 2, 0),
    "eta_min": lambda lib: with_scheduler(lib, "CosineAnnealingWarmRestarts", 2, 1, "x"),
    "negative epoch": lambda lib: stepped(
        lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer_of(lib), 2), -1
    ),
    "cyclic mode": lambda lib: with_scheduler(lib, "CyclicLR", 0.1, 1.0, mode="x"),
    "cyclic bases": lambda lib: with_scheduler(lib, "CyclicLR", [0.1], 1.0),
    "cyclic tops": lambda lib: with_scheduler(lib, "CyclicLR", 0.1, [1.0]),
    "cyclic momenta": lambda lib: with_scheduler(lib, "CyclicLR", 0.1, 1.0, base_momentum=[1]),
    "cyclic without momentum": lambda lib: lib.optim.lr_scheduler.CyclicLR(
        optimizer_of(lib, "Adagrad"), 0.1, 1.0
    ),
    "one cycle without steps": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0),
    "one cycle of epochs only": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, epochs=1),
    "one cycle of -1": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, -1),
    "one cycle of 1.5": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, 1.5),
    "one cycle epochs": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, None, -1, 2),
    "one cycle steps": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, None, 2, -1),
    "one cycle start": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, 5, pct_start=2.0),
    "one cycle of one": lambda lib: with_scheduler(lib, "OneCycleLR", 1.0, 1),
    "one cycle strategy": lambda lib: with_scheduler(
        lib, "OneCycleLR", 1.0, 5, anneal_strategy="x"
    ),
    "one cycle without momentum": lambda lib: lib.optim.lr_scheduler.OneCycleLR(
        optimizer_of(lib, "Adagrad"), 1.0, 5
    ),
    "one cycle over": lambda lib: [
        stepped(scheduler)
        for scheduler in [lib.optim.lr_scheduler.OneCycleLR(optimizer_of(lib), 1.0, 2)]
        for _ in range(4)
    ],
    "empty sequence": lambda lib: lib.optim.lr_scheduler.SequentialLR(optimizer_of(lib), [], []),
    "sequence of numbers": lambda lib: lib.optim.lr_scheduler.SequentialLR(
        optimizer_of(lib), [3], []
    ),
    "sequence of strangers": lambda lib: combined(lib, "SequentialLR", "ConstantLR"),
    "plateau in sequence": lambda lib: plateau_in(lib, "SequentialLR"),
    "too many milestones": too_many_milestones,
    "empty chain": lambda lib: lib.optim.lr_scheduler.ChainedScheduler([]),
    "chain of numbers": lambda lib: lib.optim.lr_scheduler.ChainedScheduler([3], optimizer_of(lib)),
    "chain of strangers": lambda lib: combined(lib, "ChainedScheduler", "ConstantLR", "LinearLR"),
    "plateau in chain": lambda lib: plateau_in(lib, "ChainedScheduler"),
    "scheduler first": lambda lib: stepped(lib.optim.lr_scheduler.StepLR(optimizer_of(lib), 1)),
    "epoch of plateau": lambda lib: lib.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer_of(lib)
    ).step(1.0, epoch=3),
    "rate outside of step": lambda lib: [
        each.get_lr()
        for each in (
            lib.optim.lr_scheduler.CyclicLR(optimizer_of(lib), 0.1, 1.0),
            lib.optim.lr_scheduler.OneCycleLR(optimizer_of(lib), 1.0, 5),
            lib.optim.lr_scheduler.LinearLR(optimizer_of(lib)),
        )
    ],
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_and_warnings(name):
    assert outcome(lambda: REFUSALS[name](taper)) == outcome(lambda: REFUSALS[name](torch))


def test_names_and_signatures():
    ours, theirs = taper.optim.lr_scheduler, torch.optim.lr_scheduler
    assert ours.__all__ == theirs.__all__
    for name in [*theirs.__all__, "_LRScheduler"]:
        wanted = inspect.signature(getattr(theirs, name)).parameters.values()
        found = inspect.signature(getattr(ours, name)).parameters.values()
        assert [(p.name, p.default, p.kind) for p in found] == [
            (p.name, p.default, p.kind) for p in wanted
        ], name
