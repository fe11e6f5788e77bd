"""Schedulers with a momentum, schedulers of schedulers, and averages of models."""

from __future__ import annotations

import copy

import pytest

import taper
from taper import nn, optim
from taper.optim import lr_scheduler, swa_utils


def optimizer_of(*rates, kind="SGD", **options):
    groups = [{"params": [nn.Parameter(taper.ones(1))], "lr": rate} for rate in rates]
    return getattr(optim, kind)(groups, **options)


def rates_of(scheduler, epochs):
    found = list(scheduler.get_last_lr())
    for _ in range(epochs):
        scheduler.optimizer.step()
        scheduler.step()
        found += scheduler.get_last_lr()
    return found


# -------------------------------------------------------------------------------------- cycles


def test_momentum_goes_the_other_way():
    optimizer = optimizer_of(1.0, momentum=0.5)
    scheduler = lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
    momenta = [optimizer.param_groups[0]["momentum"]]
    for _ in range(4):
        optimizer.step()
        scheduler.step()
        momenta.append(optimizer.param_groups[0]["momentum"])
    assert momenta == pytest.approx([0.9, 0.85, 0.8, 0.85, 0.9])


def test_momentum_of_adam_is_its_first_beta():
    optimizer = optimizer_of(1.0, kind="Adam")
    scheduler = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10, anneal_strategy="linear")
    assert optimizer.param_groups[0]["betas"] == (0.95, 0.999)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["betas"] == (pytest.approx(0.9), 0.999)
    assert scheduler.use_beta1


def test_own_scale_of_a_cycle_and_its_state():
    class Scale:
        def __init__(self):
            self.factor = 0.5

        def __call__(self, cycle):
            return self.factor**cycle

    def made():
        return lr_scheduler.CyclicLR(
            optimizer_of(1.0), 0.0, 1.0, step_size_up=1, scale_fn=Scale(), cycle_momentum=False
        )

    scheduler = made()
    assert rates_of(scheduler, 5) == [0.0, 0.5, 0.0, 0.25, 0.0, 0.125]
    state = scheduler.state_dict()
    assert state["_scale_fn_custom"] == {"factor": 0.5}
    state["_scale_fn_custom"]["factor"] = 0.1
    other = made()
    other.load_state_dict(state)
    assert other.scale_fn(1) == 0.1
    assert other.last_epoch == 5


def test_no_more_than_one_cycle():
    scheduler = lr_scheduler.OneCycleLR(optimizer_of(1.0), 1.0, total_steps=2)
    rates_of(scheduler, 2)
    with pytest.raises(ValueError, match="^Tried to step 3 times. The specified number of total"):
        scheduler.step()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, mode="x"), "mode is invalid and scale_fn is"),
        (lambda o: lr_scheduler.CyclicLR(o, [1, 2], 1.0), "base_lr must have the same length as"),
        (
            lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, max_momentum=[1, 2]),
            "max_momentum must have the same length as",
        ),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0), "You must define either total_steps OR"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0, 0), "Expected positive integer total_steps"),
        (
            lambda o: lr_scheduler.OneCycleLR(o, 1.0, 5, max_momentum=[1, 2]),
            "max_momentum must have the same length as",
        ),
        (
            lambda o: lr_scheduler.OneCycleLR(o, 1.0, 5, pct_start=1.5),
            "Expected float between 0 and 1 pct_start, but got 1.5",
        ),
        (
            lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 0),
            "Expected positive integer T_0, but got 0",
        ),
        (lambda o: lr_scheduler.ConstantLR(o, 2.0), "Constant multiplicative factor expected to"),
        (lambda o: lr_scheduler.LinearLR(o, 0.0), "Starting multiplicative factor expected to be"),
        (lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=-1), "anneal_epochs must be equal or"),
        (lambda o: swa_utils.SWALR(o, 0.1, anneal_strategy="x"), "anneal_strategy must be one of"),
    ],
)
def test_refusals_change_nothing(make, text):
    optimizer = optimizer_of(1.0, momentum=0.5)
    before = {**optimizer.param_groups[0]}
    with pytest.raises(ValueError) as caught:
        make(optimizer)
    assert str(caught.value).startswith(text)
    assert optimizer.param_groups[0] == before


# ------------------------------------------------------------------------------------ combined


def sequence(optimizer):
    parts = [
        lr_scheduler.ConstantLR(optimizer, 0.1, 2),
        lr_scheduler.ExponentialLR(optimizer, 0.9),
    ]
    return lr_scheduler.SequentialLR(optimizer, parts, [3])


def test_one_after_the_other():
    scheduler = sequence(optimizer_of(1.0))
    assert rates_of(scheduler, 5) == [0.1, 0.1, 1.0, 1.0, 0.9, 0.81]
    assert [each.last_epoch for each in scheduler._schedulers] == [2, 2]


def test_all_at_once():
    optimizer = optimizer_of(1.0)
    parts = [lr_scheduler.ConstantLR(optimizer, 0.5, 2), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    scheduler = lr_scheduler.ChainedScheduler(parts)
    assert rates_of(scheduler, 3) == [0.5, 0.25, 0.25, 0.125]


@pytest.mark.parametrize("as_tensor", [False, True])
def test_states_hold_those_inside(as_tensor):
    rate = taper.tensor(1.0) if as_tensor else 1.0
    scheduler = sequence(optimizer_of(rate))
    rates_of(scheduler, 4)
    state = copy.deepcopy(scheduler.state_dict())
    assert [each["last_epoch"] for each in state["_schedulers"]] == [2, 1]
    other = sequence(optimizer_of(1.0))
    other.load_state_dict(state)
    assert other.last_epoch == 4
    assert other._schedulers[1].last_epoch == 1
    assert other.get_last_lr() == scheduler.get_last_lr()


def test_strangers_and_plateaus_are_refused():
    optimizer = optimizer_of(1.0)
    stranger = lr_scheduler.ConstantLR(optimizer_of(1.0))
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer)
    for make in (
        lambda parts: lr_scheduler.SequentialLR(optimizer, parts, []),
        lambda parts: lr_scheduler.ChainedScheduler(parts, optimizer),
    ):
        with pytest.raises(ValueError, match="expects all schedulers to belong to the same optim"):
            make([stranger])
        with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau` scheduler as"):
            make([plateau])
        with pytest.raises(ValueError, match="expects at least one scheduler"):
            make([])
        with pytest.raises(TypeError, match="at index 0 should have `optimizer` as its attribute"):
            make([3])


# ------------------------------------------------------------------------------------ averages


def averaged(values, **options):
    model = nn.Linear(1, 1)
    average = swa_utils.AveragedModel(model, **options)
    for value in values:
        nn.init.constant_(model.bias, value)
        average.update_parameters(model)
    return model, average


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 3.0),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 3.0),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 3.75),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 3.75),
        ({"avg_fn": lambda average, value, count: average + value * count}, 15.0),
    ],
)
def test_averages(options, expected):
    model, average = averaged([1.0, 2.0, 6.0], **options)
    assert average.module.bias.item() == pytest.approx(expected)
    assert average.n_averaged.item() == 3
    assert average.module.bias is not model.bias
    assert average.module.bias.requires_grad
    average.module.bias.data.fill_(0.0)
    assert average(taper.zeros(1, 1)).item() == 0.0


def test_buffers_are_copied_or_averaged():
    norm = nn.BatchNorm1d(1)
    copying, averaging = (swa_utils.AveragedModel(norm, use_buffers=each) for each in (False, True))
    for value, count in ((1.0, 1), (4.0, 4)):
        norm.running_mean.fill_(value)
        norm.num_batches_tracked.fill_(count)
        for each in (copying, averaging):
            each.update_parameters(norm)
    assert copying.module.running_mean.item() == 4.0
    assert averaging.module.running_mean.item() == 2.5
    assert averaging.module.num_batches_tracked.item() == 2
    assert next(iter(copying.state_dict())) == "n_averaged"


def test_wrong_averages():
    with pytest.raises(AssertionError, match="^Only one of avg_fn and multi_avg_fn should be prov"):
        averaged([], avg_fn=len, multi_avg_fn=len)
    with pytest.raises(ValueError, match=r"^Invalid decay value 2 provided. Please provide a val"):
        swa_utils.get_ema_avg_fn(2)


def test_statistics_are_computed_anew():
    model = nn.Sequential(nn.BatchNorm1d(1))
    model.eval()
    model[0].running_mean.fill_(99.0)
    batches = [taper.tensor([[0.0], [2.0]]), (taper.tensor([[4.0], [6.0]]), "label")]
    swa_utils.update_bn(batches, model)
    assert model[0].running_mean.item() == 3.0
    assert model[0].momentum == 0.1
    assert not model.training


def test_swa_rates():
    scheduler = swa_utils.SWALR(optimizer_of(1.0), 0.2, 2, "linear")
    assert rates_of(scheduler, 3) == pytest.approx([1.0, 0.6, 0.2, 0.2])
    assert scheduler.optimizer.param_groups[0]["swa_lr"] == 0.2
    cosine = swa_utils.SWALR(optimizer_of(1.0), 0.2, 4)
    cosine.load_state_dict(scheduler.state_dict())
    assert cosine.state_dict() == scheduler.state_dict()


# ------------------------------------------------------------------------------------ swapping


def test_an_optimizer_on_other_parameters_for_a_while():
    own, other = nn.Parameter(taper.ones(1)), nn.Parameter(taper.zeros(1))
    own.grad = other.grad = taper.ones(1)
    optimizer = optim.Adam([own], lr=0.5)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    before = own.item()
    with (
        pytest.raises(KeyError),
        optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, state),
    ):
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 9
        raise KeyError
    assert own.item() == before
    assert other.item() == pytest.approx(-0.5)
    assert state["state"][0]["step"].item() == 2.0
    assert optimizer.state[own]["step"].item() == 1.0
    assert optimizer.param_groups[0]["lr"] == 0.5
    optimizer.step()
    assert optimizer.state[own]["step"].item() == 2.0


def test_swapping_needs_a_state_of_the_same_form():
    own = nn.Parameter(taper.ones(1))
    optimizer = optim.SGD([own], momentum=0.9)
    swap = optim.swap_in_optimizer_params_and_state
    with pytest.raises(RuntimeError, match="requires initialized optimizer state"):
        swap(optimizer, {"w": own}, optimizer.state_dict()).__enter__()
    own.grad = taper.ones(1)
    optimizer.step()
    with pytest.raises(RuntimeError, match="to match optimizer.param_groups ordering"):
        swap(optimizer, {}, optimizer.state_dict()).__enter__()
    with pytest.raises(RuntimeError, match="different number of parameter groups than the live"):
        swap(optimizer, {"w": own}, {"state": {}, "param_groups": []}).__enter__()
    assert optimizer.param_groups[0]["params"] == [own]
