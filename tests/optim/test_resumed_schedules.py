"""Schedulers that continue from another epoch, or get tensors; NAdam, LBFGS; PyTorch's numbers."""

from __future__ import annotations

import pytest

import taper
from taper import nn, optim
from taper.optim import lr_scheduler
from taper.optim.nadam import nadam
from taper.optim.swa_utils import SWALR


def optimizer_of(lr=1.0):
    return optim.SGD([{"params": [nn.Parameter(taper.ones(1))], "initial_lr": 1.0}], lr, 0.9)


def rates_of(scheduler, epochs):
    found = [float(scheduler.get_last_lr()[0])]
    for _ in range(epochs):
        scheduler.optimizer.step()
        scheduler.step()
        found.append(float(scheduler.get_last_lr()[0]))
    return found


@pytest.mark.parametrize("last_epoch", [-1, 0, 2, 5])
def test_found_w9_swalr_counts_its_own_steps(last_epoch):
    scheduler = SWALR(optimizer_of(), 0.1, anneal_epochs=3, last_epoch=last_epoch)
    assert rates_of(scheduler, 4) == pytest.approx([1.0, 0.775, 0.325, 0.1, 0.1])
    assert scheduler.last_epoch == last_epoch + 5


@pytest.mark.parametrize(
    ("options", "last_epoch", "expected"),
    [
        ({"T_0": 4}, 7, [(0, 4), (1, 4), (2, 4), (3, 4), (0, 4)]),
        ({"T_0": 4, "T_mult": 2}, 7, [(0, 8), (1, 8), (2, 8), (3, 8), (4, 8)]),
        ({"T_0": 4}, 20, [(1, 4), (2, 4), (3, 4), (0, 4), (1, 4)]),
    ],
)
def test_found_w10_a_restart_from_far_beyond_the_first_round(options, last_epoch, expected):
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(
        optimizer_of(), **options, last_epoch=last_epoch
    )
    found = []
    for _ in range(5):
        found.append((scheduler.T_cur, scheduler.T_i))
        scheduler.step()
    assert found == expected


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (
            lr_scheduler.CyclicLR,
            {"base_lr": 0.1, "max_lr": 1.0, "base_momentum": 0.8, "max_momentum": 0.9},
            [0.55, 1.0, 0.55, 0.1, 0.55],
        ),
        (
            lr_scheduler.OneCycleLR,
            {"max_lr": 1.0, "base_momentum": 0.8, "max_momentum": 0.9},
            [0.81928, 0.97194, 0.81175, 0.55598, 0.28306],
        ),
        (SWALR, {"swa_lr": 0.5}, [0.875, 0.625, 0.5, 0.5, 0.5]),
    ],
)
def test_found_w11_tensors_given_to_a_scheduler_stay_the_callers(kind, options, expected):
    given = {name: taper.tensor(value) for name, value in options.items()}
    sizes = {"CyclicLR": {"step_size_up": 2}, "OneCycleLR": {"total_steps": 8}}
    rest = sizes.get(kind.__name__, {"anneal_epochs": 3})
    scheduler = kind(optimizer_of(taper.tensor(1.0)), **given, **rest)
    rates = rates_of(scheduler, 2)
    for value in given.values():
        value.mul_(3)
    assert [*rates[1:], *rates_of(scheduler, 3)[1:]] == pytest.approx(expected, abs=1e-5)
    assert {name: float(value) / 3 for name, value in given.items()} == pytest.approx(options)


def test_found_w11_a_factor_must_be_a_function():
    for given in (0.95, [0.95]):
        with pytest.raises(TypeError, match="lr_lambda should be a function, but got float"):
            lr_scheduler.MultiplicativeLR(optimizer_of(), given)


@pytest.mark.parametrize(
    ("max_eval", "calls"),
    [(1, [2, 4, 6]), (2, [3, 5, 7]), (3, [3, 6, 9]), (6, [6, 12, 18]), (9, [9, 18, 27])],
)
def test_found_w27_a_line_search_keeps_to_max_eval(max_eval, calls):
    weight = nn.Parameter(taper.tensor([-1.5, 2.0]))
    optimizer = optim.LBFGS([weight], max_iter=8, max_eval=max_eval, line_search_fn="strong_wolfe")
    count = 0

    def closure():
        nonlocal count
        count += 1
        optimizer.zero_grad()
        loss = (1 - weight[0]) ** 2 + 100 * (weight[1] - weight[0] ** 2) ** 2
        loss.backward()
        return loss

    found = []
    for _ in range(3):
        optimizer.step(closure)
        found.append(count)
    assert found == calls


def nadam_step(product):
    param, grad, mean, square = (
        taper.tensor(values, requires_grad=True)
        for values in ([1.0, 2.0], [0.3, -0.4], [0.1, 0.2], [0.01, 0.02])
    )
    updated = param.clone()
    nadam(
        [updated], [grad], [mean.clone()], [square.clone()], [product], [taper.tensor(3.0)],
        differentiable=True, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.01,
        momentum_decay=0.004, eps=1e-8,
    )  # fmt: skip
    return updated


def test_found_w4_nadam_is_differentiable_by_its_product_of_momenta():
    product = taper.tensor(0.7, requires_grad=True)
    kept = product.clone()
    updated = nadam_step(kept)
    assert kept.item() == pytest.approx(0.3152, abs=1e-4)
    updated.sum().backward()
    assert product.grad.item() == pytest.approx(-0.0091, abs=5e-5)


def test_found_w4_the_optimizer_keeps_the_history_of_the_product():
    first = nn.Parameter(taper.ones(2))
    optimizer = optim.NAdam([first], differentiable=True, lr=0.1)
    param = first.clone()
    optimizer.param_groups[0]["params"] = [param]
    param.grad = taper.ones(2)
    optimizer.step()
    product = taper.tensor(0.45, requires_grad=True)
    optimizer.state[param]["mu_product"] = product.clone()
    param.grad = taper.ones(2)
    optimizer.step()
    (grad,) = taper.autograd.grad(param.sum(), product)
    assert grad.item() == pytest.approx(-0.0820, abs=5e-5)
    assert optimizer.state[param]["mu_product"].grad_fn is not None


def test_found_w4_a_leaf_as_product_is_refused_and_nothing_has_changed():
    first = nn.Parameter(taper.ones(2))
    optimizer = optim.NAdam([first], differentiable=True, lr=0.1)
    param = first.clone()
    optimizer.param_groups[0]["params"] = [param]
    param.grad = taper.ones(2)
    optimizer.step()
    before = param.tolist()
    optimizer.state[param]["mu_product"].requires_grad_()
    param.grad = taper.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        optimizer.step()
    assert param.tolist() == before
