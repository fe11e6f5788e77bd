"""Small parameters that are updated together: only the clock may show the difference."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import taper
from taper import nn, optim
from taper.optim import packs, update

SHAPES = [(2, 3), (4,), (), (0,), (1, 1)]
KINDS = {
    "SGD": {},
    "SGD with momentum": {"momentum": 0.9, "dampening": 0.5},
    "Adam": {"amsgrad": True},
    "NAdam": {},
    "ASGD": {"t0": 1},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Rprop": {},
    "Adagrad": {"lr_decay": 0.1},
}


def made(name):
    random = np.random.default_rng(0)
    values = [taper.tensor(random.normal(size=shape), dtype=taper.float32) for shape in SHAPES]
    params = [nn.Parameter(value) for value in values]
    return params, getattr(optim, name.split()[0])(params, lr=0.1, **KINDS[name])


def set_grads(params, step, without=()):
    random = np.random.default_rng(100 + step)
    for number, param in enumerate(params):
        values = taper.tensor(random.normal(size=tuple(param.shape)), dtype=param.dtype)
        param.grad = None if number in without else values


def lists(params, optimizer):
    states = optimizer.state_dict()["state"]
    return [each.tolist() for each in params], {
        number: {name: value.tolist() for name, value in entry.items()}
        for number, entry in states.items()
    }


def run(name, each_step=lambda params, optimizer, step: None, without=lambda step: ()):
    params, optimizer = made(name)
    for step in range(6):
        set_grads(params, step, without(step))
        each_step(params, optimizer, step)
        optimizer.step()
    return params, optimizer


def alone(monkeypatch, *args, **kwargs):
    """Do the same run without packs."""
    with monkeypatch.context() as patched:
        patched.setattr(packs, "SMALL", -1)
        params, optimizer = run(*args, **kwargs)
    assert all(isinstance(each, packs.Alone) for each in optimizer._runs.values())
    return lists(params, optimizer)


def packed(optimizer):
    return [len(each.params) for each in optimizer._runs.values() if isinstance(each, packs.Pack)]


@pytest.mark.parametrize("name", KINDS)
def test_packed_and_alone_give_the_same_bits(name, monkeypatch):
    params, optimizer = run(name)
    assert packed(optimizer) == [5]
    assert lists(params, optimizer) == alone(monkeypatch, name)


@pytest.mark.parametrize("name", KINDS)
def test_missing_gradients(name, monkeypatch):
    """Parameters that were left out are at another step from then on."""

    def without(step):
        return {1: (2,), 3: (0, 1), 4: (4,)}.get(step, ())

    params, optimizer = run(name, without=without)
    assert lists(params, optimizer) == alone(monkeypatch, name, without=without)


def replace_data(params, optimizer, step):
    if step == 3:
        params[1].data = params[1].data.clone() + 1


def replace_state(params, optimizer, step):
    if step == 3:
        for state in list(optimizer.state.values())[:2]:
            for name, value in state.items():
                state[name] = value * 0.5


def take_state(params, optimizer, step):
    if step == 3:
        optimizer.state.pop(params[1], None)


def take_one_state(params, optimizer, step):
    """SGD starts its momentum again; for the others this is an error."""
    if step == 3 and isinstance(optimizer, optim.SGD):
        optimizer.state[params[1]].pop("momentum_buffer", None)


def change_in_place(params, optimizer, step):
    if step == 3:
        params[0].data.add_(1)
        for state in optimizer.state.values():
            for value in state.values():
                value.mul_(0.5)


def load(params, optimizer, step):
    if step == 3:
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def transpose_state(params, optimizer, step):
    """Give states another layout, as they may have when they come from a file."""
    if step == 3:
        for state in optimizer.state.values():
            for name, value in state.items():
                if value.ndim == 2:
                    state[name] = value.T.contiguous().T


def widen_state(params, optimizer, step):
    if step == 3 and params[0] in optimizer.state:
        state = optimizer.state[params[0]]
        for name, value in state.items():
            if name not in ("step", "mu", "eta", "mu_product"):
                state[name] = value.double()


def change_group(params, optimizer, step):
    if step == 3:
        optimizer.param_groups[0]["params"].reverse()
        optimizer.param_groups[0]["lr"] = 0.3


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "event",
    [
        replace_data,
        replace_state,
        take_state,
        take_one_state,
        change_in_place,
        load,
        transpose_state,
        widen_state,
        change_group,
    ],
)
def test_what_happens_between_steps_is_seen(name, event, monkeypatch):
    params, optimizer = run(name, event)
    assert lists(params, optimizer) == alone(monkeypatch, name, event)


def test_momentum_that_is_switched_on_later(monkeypatch):
    def switch(params, optimizer, step):
        if step == 2:
            optimizer.param_groups[0]["momentum"] = 0.9

    params, optimizer = run("SGD", switch)
    assert lists(params, optimizer) == alone(monkeypatch, "SGD", switch)
    assert set(optimizer.state) == set(params)


def test_states_are_tensors_of_their_own():
    params, optimizer = run("Adam")
    first, second = (optimizer.state[param]["exp_avg"] for param in params[:2])
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()
    assert first.untyped_storage().nbytes() == first.nbytes
    assert first._version == 6
    assert first._base is None


def test_writes_are_counted_and_the_line_named():
    params, optimizer = made("Adam")
    loss = sum((param * param).sum() for param in params)
    for _ in range(2):
        set_grads(params, 0)
        optimizer.step()
    assert [param._version for param in params] == [2] * len(params)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        loss.backward()
    assert "optimizer.step()" in str(caught.value)


def test_shared_memory_is_written_one_after_the_other():
    """Two parameters on one memory: a pack would lose the first of two updates."""
    data = taper.zeros(3)
    params = [nn.Parameter(data), nn.Parameter(data[1:])]
    optimizer = optim.SGD(params, lr=1.0)
    for param in params:
        param.grad = taper.ones(*param.shape)
    optimizer.step()
    assert data.tolist() == [-1.0, -2.0, -2.0]


def test_the_same_parameter_twice():
    param = nn.Parameter(taper.zeros(2))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([param, param], lr=1.0)
    param.grad = taper.ones(2)
    optimizer.step()
    assert param.tolist() == [-2.0, -2.0]


def test_dtypes_and_sizes_part_packs(monkeypatch):
    monkeypatch.setattr(packs, "SMALL", 8192)  # as without the native module
    monkeypatch.setattr(packs, "TOGETHER", update.BLOCK)
    kinds = [taper.float32, taper.float32, taper.float64, taper.float64, taper.float32]
    params = [nn.Parameter(taper.ones(2, dtype=kind)) for kind in kinds]
    params += [nn.Parameter(taper.ones(packs.SMALL + 1)), nn.Parameter(taper.ones(2))]
    params += [nn.Parameter(taper.ones(packs.SMALL)) for _ in range(6)]
    optimizer = optim.SGD(params, lr=0.5)
    for param in params:
        param.grad = taper.ones_like(param)
    optimizer.step()
    assert packed(optimizer) == [2, 2, 4, 3]
    assert all(param[0].item() == 0.5 for param in params)


def test_several_threads_have_their_own_vectors():
    params, optimizer = run("Adam")
    expected, twin = run("Adam")
    set_grads(params, 9)
    set_grads(expected, 9)
    twin.step()
    thread = threading.Thread(target=optimizer.step)
    thread.start()
    thread.join()
    assert lists(params, optimizer) == lists(expected, twin)
