"""Averages of models and swapped optimizers, the same on taper and on PyTorch."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest
import torch

import taper


def model_of(lib):
    lib.manual_seed(0)
    return lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))


def outcome(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = repr(action())
        except Exception as error:
            found = (type(error).__name__, str(error))
    return found, [(each.category, str(each.message)) for each in caught]


WAYS = {
    "mean": lambda w: {},
    "mean of buffers": lambda w: {"use_buffers": True},
    "ema": lambda w: {"avg_fn": w.get_ema_avg_fn(0.9)},
    "ema of lists": lambda w: {"multi_avg_fn": w.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "mean of one": lambda w: {"avg_fn": w.get_swa_avg_fn(), "use_buffers": True},
    "mean of lists": lambda w: {"multi_avg_fn": w.get_swa_multi_avg_fn()},
    "own": lambda w: {"avg_fn": lambda average, value, count: average + value * count},
}


@pytest.mark.parametrize("way", WAYS)
def test_averaged_model(way):
    results = []
    for lib in (taper, torch):
        model = model_of(lib)
        average = lib.optim.swa_utils.AveragedModel(model, **WAYS[way](lib.optim.swa_utils))
        for step in range(4):
            with lib.no_grad():
                for param in model.parameters():
                    param.add_(step)
            model(lib.arange(8.0).reshape(4, 2) * (step + 1))
            average.update_parameters(model)
        results.append((average.state_dict(), average.eval()(lib.ones(3, 2)), repr(average)))
    (ours, our_output, our_repr), (theirs, their_output, their_repr) = results
    assert our_repr == their_repr
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert str(ours[name].dtype) == str(value.dtype)
        np.testing.assert_allclose(ours[name].numpy(), value.numpy(), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(
        our_output.detach().numpy(), their_output.detach().numpy(), rtol=1e-4, atol=1e-5
    )


def integers(lib, maker, **options):
    """Average integer buffers, which are rounded towards zero."""
    module = lib.nn.Module()
    module.register_buffer("count", lib.tensor([0, 7]))
    module.register_buffer("value", lib.tensor(1.0, dtype=lib.float64))
    function = maker(lib.optim.swa_utils)
    average = lib.optim.swa_utils.AveragedModel(module, use_buffers=True, **function)
    average.update_parameters(module)
    module.count.fill_(100)
    module.value.fill_(3.0)
    average.update_parameters(module)
    return average.state_dict()


def statistics(lib):
    model = model_of(lib)
    model.eval()
    batches = [lib.arange(8.0).reshape(4, 2), (lib.ones(4, 2) * lib.arange(2.0), 3)]
    lib.optim.swa_utils.update_bn(batches, model, device="cpu")
    norm = model[1]
    found = [round(each, 4) for each in norm.running_mean.tolist() + norm.running_var.tolist()]
    return found, norm.num_batches_tracked, norm.momentum, model.training


def rates(lib, as_tensor=False, **options):
    groups = [
        {"params": [lib.ones(1)], "lr": lib.tensor(lr) if as_tensor else lr} for lr in (1.0, 2.0)
    ]
    optimizer = lib.optim.SGD(groups)
    scheduler = lib.optim.swa_utils.SWALR(optimizer, **options)
    found = [scheduler.get_last_lr()]
    for _ in range(5):
        optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr())
    other = lib.optim.swa_utils.SWALR(optimizer, 0.3, 7)
    other.load_state_dict(scheduler.state_dict())
    groups = [list(group.items())[1:] for group in optimizer.param_groups]
    return found, scheduler.state_dict(), other.state_dict(), groups


def lists(lib, maker, *values):
    averages = [lib.tensor(value) for value in values]
    maker(lib.optim.swa_utils)(averages, [lib.tensor(value) + 4 for value in values], 3)
    return averages


PROGRAMS = {
    "integer mean": lambda lib: integers(lib, lambda w: {}),
    "integer ema": lambda lib: integers(lib, lambda w: {"avg_fn": w.get_ema_avg_fn(0.9)}),
    "integer ema of lists": lambda lib: integers(
        lib, lambda w: {"multi_avg_fn": w.get_ema_multi_avg_fn(0.9)}
    ),
    "lists": lambda lib: lists(lib, lambda w: w.get_swa_multi_avg_fn(), 1.0, 2 + 1j),
    "lists, ema": lambda lib: lists(lib, lambda w: w.get_ema_multi_avg_fn(0.5), 1.0, 2 + 1j),
    "integers in lists": lambda lib: lists(lib, lambda w: w.get_swa_multi_avg_fn(), 1.0, 2),
    "both functions": lambda lib: lib.optim.swa_utils.AveragedModel(
        model_of(lib), avg_fn=len, multi_avg_fn=len
    ),
    "decay above": lambda lib: lib.optim.swa_utils.get_ema_avg_fn(2.0),
    "decay below": lambda lib: lib.optim.swa_utils.get_ema_multi_avg_fn(-1),
    "statistics": statistics,
    "no batch norm": lambda lib: lib.optim.swa_utils.update_bn([], lib.nn.Linear(1, 1)),
    "rates": lambda lib: rates(lib, swa_lr=0.1),
    "line of rates": lambda lib: rates(
        lib, swa_lr=[0.1, 0.2], anneal_epochs=3, anneal_strategy="linear"
    ),
    "rates at once": lambda lib: rates(lib, swa_lr=0.1, anneal_epochs=0),
    "rates as tensors": lambda lib: rates(lib, True, swa_lr=0.1, anneal_epochs=3),
    "strategy": lambda lib: rates(lib, swa_lr=0.1, anneal_strategy="x"),
    "epochs": lambda lib: rates(lib, swa_lr=0.1, anneal_epochs=-1),
    "half epochs": lambda lib: rates(lib, swa_lr=0.1, anneal_epochs=1.5),
    "too few rates": lambda lib: rates(lib, swa_lr=[0.1]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_outcome(name):
    assert outcome(lambda: PROGRAMS[name](taper)) == outcome(lambda: PROGRAMS[name](torch))


def test_names_and_signatures():
    ours, theirs = taper.optim.swa_utils, torch.optim.swa_utils
    assert ours.__all__ == theirs.__all__
    for name in theirs.__all__:
        wanted = inspect.signature(getattr(theirs, name)).parameters.values()
        found = inspect.signature(getattr(ours, name)).parameters.values()
        assert [(p.name, p.default) for p in found] == [(p.name, p.default) for p in wanted], name


# ---------------------------------------------------------- swap_in_optimizer_params_and_state


def swapped(lib, change=lambda lib, state, params: None, kind="Adam", step=True, body=None):
    """Swap other parameters and a changed state into an optimizer; return all of them."""
    own = [lib.nn.Parameter(lib.ones(2) * number) for number in (1, 2)]
    other = {name: lib.nn.Parameter(lib.zeros(2)) for name in "ab"}
    for param in (*own, *other.values()):
        param.grad = lib.ones(2)
    optimizer = getattr(lib.optim, kind)([("x", own[0]), ("y", own[1])])
    if step:
        optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    change(lib, state, other)
    groups = optimizer.param_groups
    with lib.optim.swap_in_optimizer_params_and_state(optimizer, other, state):
        inside = [optimizer.param_groups is groups, groups[0]["lr"], groups[0]["param_names"]]
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 77
    return own, other, state, inside, groups[0]["params"][0] is own[0], optimizer


def change_group(**values):
    return lambda lib, state, params: state["param_groups"][0].update(values)


CHANGES = {
    "nothing": lambda lib, state, params: None,
    "rate": change_group(lr=0.5),
    "order": change_group(params=[1, 0]),
    "fewer parameters": lambda lib, state, params: params.pop("a"),
    "more parameters": lambda lib, state, params: params.update(c=lib.zeros(1)),
    "no state": lambda lib, state, params: state.pop("state"),
    "no groups": lambda lib, state, params: state.pop("param_groups"),
    "more groups": lambda lib, state, params: state["param_groups"].append({}),
    "fewer numbers": change_group(params=[0]),
    "names for numbers": change_group(params=["a", "b"]),
    "number for numbers": change_group(params=3),
    "equal numbers": change_group(params=[0, 0]),
    "unknown option": change_group(unknown=1),
    "missing option": lambda lib, state, params: state["param_groups"][0].pop("lr"),
    "missing entry": lambda lib, state, params: state["state"].pop(1),
    "unknown entry": lambda lib, state, params: state["state"].update({9: {}}),
    "entry is a number": lambda lib, state, params: state["state"].update({0: 3}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_swapping_in(name):
    change = CHANGES[name]
    assert outcome(lambda: swapped(taper, change)) == outcome(lambda: swapped(torch, change))


def test_swapping_in_needs_a_state():
    for kind, step in (("Adam", False), ("SGD", True)):
        ours = outcome(lambda kind=kind, step=step: swapped(taper, kind=kind, step=step))
        theirs = outcome(lambda kind=kind, step=step: swapped(torch, kind=kind, step=step))
        assert ours == theirs
