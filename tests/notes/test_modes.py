"""Claims E1 to E5 of the notes: grad modes."""

from __future__ import annotations

import time

import pytest

import taper
from taper import nn


def test_e1_what_each_mode_records_and_what_may_be_used_later():
    x = taper.ones(2, requires_grad=True)
    assert (x * 2).requires_grad
    with taper.no_grad():
        without = x * 2
    assert not without.requires_grad and (x * without).requires_grad
    with taper.inference_mode():
        inference = x * 2
    assert not inference.requires_grad and inference.is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * inference


def test_e2_context_managers_and_decorators():
    x = taper.ones(2, requires_grad=True)

    @taper.no_grad()
    def quiet():
        return x * 2

    @taper.inference_mode()
    def fastest():
        return x * 2

    @taper.enable_grad()
    def loud():
        return x * 2

    assert not quiet().requires_grad
    assert fastest().is_inference()
    with taper.no_grad():
        assert loud().requires_grad
        assert taper.ones(2, requires_grad=True).requires_grad
        assert not taper.is_grad_enabled()
    with taper.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    taper.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        taper.set_grad_enabled(True)
    assert taper.is_grad_enabled()


def test_e3_inference_tensors_are_restricted_and_clone_is_normal():
    x = taper.ones(2, requires_grad=True)
    with taper.inference_mode():
        y = taper.ones(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
        y.add_(1)
    assert y.tolist() == [1.0, 1.0]
    assert (x * y.clone()).requires_grad


def test_e3_the_modes_differ_in_cost():
    """Recording costs more than not recording.

    Both are timed in turn, and the shortest times are compared, so that other load on the machine
    affects both.
    """
    x = taper.ones(5, 5, requires_grad=True)

    def turn():
        start = time.perf_counter()
        for _ in range(100):
            x * x
        return time.perf_counter() - start

    recorded = unrecorded = float("inf")
    for _ in range(100):
        recorded = min(recorded, turn())
        with taper.no_grad():
            unrecorded = min(unrecorded, turn())
    assert unrecorded < recorded


def test_e4_eval_is_not_a_grad_mode():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    x = taper.randn(8, 4)
    taper.manual_seed(0)
    model.train()
    before = model[1].running_mean.clone()
    assert (model(x) == 0).any()
    assert not taper.equal(model[1].running_mean, before)
    model.eval()
    before = model[1].running_mean.clone()
    first, second = model(x), model(x)
    assert taper.equal(first, second) and taper.equal(model[1].running_mean, before)
    assert first.requires_grad


def test_e5_variable_is_tensor_and_volatile_has_no_effect():
    x = taper.ones(2)
    assert isinstance(x, taper.autograd.Variable)
    v = taper.autograd.Variable(x, requires_grad=True)
    assert isinstance(v, taper.Tensor) and v.requires_grad
    with pytest.warns(UserWarning, match="volatile"):
        assert x.volatile is False
