"""Learning-rate schedulers; numbers from PyTorch 2.13."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest

import taper
from taper import nn, optim
from taper.optim import lr_scheduler


def optimizer_of(*rates):
    groups = [{"params": [nn.Parameter(taper.ones(1))], "lr": rate} for rate in rates]
    return optim.SGD(groups, momentum=0.9)


def rates_of(scheduler, epochs):
    found = [scheduler.get_last_lr()[0]]
    for _ in range(epochs):
        scheduler.optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


CASES = [
    ("StepLR", {"step_size": 2}, [1.0, 1.0, 0.1, 0.1, 0.010000000000000002, 0.010000000000000002]),
    (
        "MultiStepLR",
        {"milestones": [1, 1, 3]},
        [1.0, 0.010000000000000002, 0.010000000000000002] + [0.0010000000000000002] * 3,
    ),
    ("ExponentialLR", {"gamma": 0.5}, [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125]),
    (
        "CosineAnnealingLR",
        {"T_max": 3, "eta_min": 0.1},
        [1.0, 0.775, 0.3250000000000001, 0.1, 0.32499999999999996, 0.7750000000000005],
    ),
    (
        "LambdaLR",
        {"lr_lambda": lambda epoch: 1 / (1 + epoch)},
        [1.0, 0.5, 0.3333333333333333, 0.25, 0.2, 0.16666666666666666],
    ),
    (
        "MultiplicativeLR",
        {"lr_lambda": lambda epoch: 0.5},
        [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125],
    ),
    ("ConstantLR", {"factor": 0.5, "total_iters": 2}, [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]),
    ("LinearLR", {"start_factor": 0.5, "total_iters": 2}, [0.5, 0.75, 1.0, 1.0, 1.0, 1.0]),
    ("PolynomialLR", {"total_iters": 4, "power": 2.0}, [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]),
    (
        "CosineAnnealingWarmRestarts",
        {"T_0": 2, "T_mult": 2},
        [1.0, 0.5, 1.0, 0.8535533905932737, 0.5, 0.14644660940672627],
    ),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2},
        [0.1, 0.55, 1.0, 0.55, 0.1, 0.55],
    ),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 1, "mode": "triangular2"},
        [0.1, 1.0, 0.1, 0.55, 0.1, 0.325],
    ),
    (
        "OneCycleLR",
        {"max_lr": 1.0, "total_steps": 6},
        [
            0.040000000000000036,
            0.9944154354509117,
            0.811745653949763,
            0.46263710266697505,
            0.1334775301888306,
            4e-06,
        ],
    ),
    (
        "OneCycleLR",
        {"max_lr": 1.0, "total_steps": 6, "three_phase": True, "anneal_strategy": "linear"},
        [
            0.04,
            0.7599999999999998,
            0.03529458823529411,
            0.02353105882352941,
            0.011767529411764701,
            3.9999999999970615e-06,
        ],
    ),
]
WITH_CLOSED_FORM = [case for case in CASES if case[0][:3] not in ("Mul", "Cyc", "One")]


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=lambda value: str(value)[:14])
def test_rates(kind, options, expected):
    scheduler = getattr(lr_scheduler, kind)(optimizer_of(1.0), **options)
    assert rates_of(scheduler, 5) == expected


@pytest.mark.parametrize(
    ("kind", "options", "expected"), WITH_CLOSED_FORM, ids=lambda value: str(value)[:14]
)
def test_closed_form_agrees_with_steps(kind, options, expected):
    scheduler = getattr(lr_scheduler, kind)(optimizer_of(1.0), **options)
    scheduler.optimizer.step()
    if kind == "CosineAnnealingWarmRestarts":  # its epoch is meant to be given
        scheduler.step(5)
    else:
        with pytest.warns(UserWarning, match="^The epoch parameter in `scheduler.step"):
            scheduler.step(5)
    assert scheduler.get_last_lr()[0] == pytest.approx(expected[5], rel=1e-12)
    assert scheduler.last_epoch == 5


def test_one_function_for_each_group():
    optimizer = optimizer_of(1.0, 2.0)
    scheduler = lr_scheduler.LambdaLR(optimizer, [lambda e: 1.0, lambda e: 0.5**e])
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [1.0, 1.0]
    with pytest.raises(ValueError, match="^Expected 2 lr_lambdas, but got 1$"):
        lr_scheduler.LambdaLR(optimizer, [lambda e: 1.0])


def test_schedulers_chain():
    optimizer = optimizer_of(1.0)
    first = lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    second = lr_scheduler.ExponentialLR(optimizer, 0.1)
    optimizer.step()
    first.step()
    second.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


def test_rate_as_tensor_is_changed_in_place():
    rate = taper.tensor(1.0)
    optimizer = optimizer_of(rate)
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.1)
    assert scheduler.base_lrs[0].item() == 1.0


def test_state():
    scheduler = lr_scheduler.StepLR(optimizer_of(1.0), 2)
    rates_of(scheduler, 3)
    state = copy.deepcopy(scheduler.state_dict())
    assert "optimizer" not in state
    other = lr_scheduler.StepLR(optimizer_of(1.0), 7)
    other.load_state_dict(state)
    assert other.last_epoch == 3
    assert other.step_size == 2
    assert other.get_last_lr() == scheduler.get_last_lr()


def test_state_of_callable_objects_is_saved():
    class Factor:
        def __init__(self, base):
            self.base = base

        def __call__(self, epoch):
            return self.base**epoch

    optimizer = optimizer_of(1.0, 1.0)
    scheduler = lr_scheduler.LambdaLR(optimizer, [Factor(0.5), lambda e: 1.0])
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"base": 0.5}, None]
    other = lr_scheduler.LambdaLR(optimizer_of(1.0, 1.0), [Factor(0.9), lambda e: 1.0])
    other.load_state_dict(state)
    assert other.lr_lambdas[0].base == 0.5


def test_resuming_needs_the_initial_rate():
    optimizer = optimizer_of(0.1)
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        lr_scheduler.StepLR(optimizer, 1, last_epoch=3)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3)
    assert scheduler.last_epoch == 4
    assert scheduler.base_lrs == [1.0]
    assert scheduler.get_last_lr() == [0.1]


def test_wrong_order_warns_once():
    optimizer = optimizer_of(1.0)
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="^Detected call of `lr_scheduler.step..` before"):
        scheduler.step()
    scheduler.step()
    other = optimizer_of(1.0)
    scheduler = lr_scheduler.StepLR(other, 1)
    other.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden after learning rate scheduler"):
        scheduler.step()


def test_get_lr_outside_of_step_warns():
    scheduler = lr_scheduler.StepLR(optimizer_of(1.0), 1)
    with pytest.warns(UserWarning, match="please use `get_last_lr..`"):
        scheduler.get_lr()


def test_base_class():
    with pytest.raises(NotImplementedError):
        lr_scheduler.LRScheduler(optimizer_of(1.0))
    with pytest.raises(TypeError, match="^int is not an Optimizer$"):
        lr_scheduler.StepLR(3, 1)


def test_watched_optimizer_is_freed():
    optimizer = optimizer_of(1.0)
    lr_scheduler.StepLR(optimizer, 1)
    reference = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert reference() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------------------- ReduceLROnPlateau


def test_plateau():
    optimizer = optimizer_of(1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(
        optimizer, "max", factor=0.5, patience=0, cooldown=2, min_lr=0.2, threshold_mode="abs"
    )
    seen = []
    for measure in (1, 1, 1, 1, 2, 1, 1, 1, 1):
        scheduler.step(measure)
        seen.append((optimizer.param_groups[0]["lr"], scheduler.in_cooldown))
    assert seen == [
        (1.0, False),
        (0.5, True),
        (0.5, True),
        (0.5, False),
        (0.5, False),
        (0.25, True),
        (0.25, True),
        (0.25, False),
        (0.2, True),
    ]


def test_plateau_follows_new_groups():
    optimizer = optimizer_of(1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    strict = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1])
    optimizer.add_param_group({"params": [nn.Parameter(taper.ones(1))], "lr": 4.0})
    scheduler.step(1.0)
    scheduler.step(1.0)
    assert scheduler.get_last_lr() == [0.5, 2.0]
    strict.step(1.0)
    with pytest.raises(RuntimeError, match="^The number of param groups in the `optimizer` .2."):
        strict.step(1.0)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"factor": 1.0}, "Factor should be < 1.0."),
        ({"mode": "x"}, "mode x is unknown!"),
        ({"threshold_mode": "x"}, "threshold mode x is unknown!"),
        ({"min_lr": [1, 2]}, "expected 1 min_lrs, got 2"),
    ],
)
def test_plateau_refusals(options, text):
    with pytest.raises(ValueError) as caught:
        lr_scheduler.ReduceLROnPlateau(optimizer_of(1.0), **options)
    assert str(caught.value) == text


def test_plateau_state():
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer_of(1.0), patience=3)
    scheduler.step(taper.tensor(2.0))
    other = lr_scheduler.ReduceLROnPlateau(optimizer_of(1.0))
    other.load_state_dict(scheduler.state_dict())
    assert other.best == 2.0
    assert other.patience == 3
